//! Replays the committed fuzz corpora with the bodies of the fuzz targets.

mod fuzz_bodies;

use std::fs;
use std::path::Path;

fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut count = 0;
    for entry in entries {
        let path = entry.expect("readable").path();
        eprintln!("{}", path.display());
        body(&fs::read(path).expect("readable"));
        count += 1;
    }
    assert!(count > 0, "no corpus for {target}");
}

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
