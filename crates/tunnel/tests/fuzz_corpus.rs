//! Replays the committed fuzz corpus with the body of the fuzz target.

mod fuzz_bodies;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn tunnel() {
    replay("tunnel", fuzz_bodies::tunnel);
}
