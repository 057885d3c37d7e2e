//! Replays the committed fuzz corpora with the bodies of the fuzz targets.

mod fuzz_bodies;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn readers() {
    replay("connection_matrix", fuzz_bodies::connection_matrix);
    replay("goal", fuzz_bodies::goal);
    replay("training_workload", fuzz_bodies::training_workload);
}
