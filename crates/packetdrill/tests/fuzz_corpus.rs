//! Replays the committed fuzz corpora with the bodies of the fuzz targets.

mod fuzz_bodies;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn scripts() {
    replay("packetdrill", fuzz_bodies::packetdrill);
}
