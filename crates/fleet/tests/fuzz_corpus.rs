//! Replays the committed fuzz corpora with the bodies of the fuzz targets.

mod fuzz_bodies;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn traces() {
    replay("trace_csv", fuzz_bodies::trace_csv);
    replay("trace_authors", fuzz_bodies::trace_authors);
}

#[test]
fn reported_links() {
    replay("reported_links", fuzz_bodies::reported_links);
}

#[test]
fn settings() {
    replay("repair_delays", fuzz_bodies::repair_delays);
    replay("protection_table", fuzz_bodies::protection_table);
}
