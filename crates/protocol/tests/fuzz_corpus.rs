//! Replays the committed fuzz corpora with the bodies of the fuzz targets.

mod fuzz_bodies;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn wire() {
    replay("wire", fuzz_bodies::wire);
}

#[test]
fn classify() {
    replay("classify", fuzz_bodies::classify);
}

#[test]
fn pair() {
    replay("pair", fuzz_bodies::pair);
}
