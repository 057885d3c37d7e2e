//! Replays the committed fuzz corpora with the bodies of the fuzz targets.

mod fuzz_bodies;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn topologies() {
    replay("topology", fuzz_bodies::topology);
    replay("lldp", fuzz_bodies::lldp);
}
