//! Replays the committed fuzz corpora with the bodies of the fuzz targets.

mod fuzz_bodies;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn recordings() {
    replay("recording", fuzz_bodies::recording);
}
