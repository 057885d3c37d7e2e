//! Replays the corpus of the fuzz target.
#![cfg(feature = "reed-solomon")]

mod fuzz_bodies;
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[test]
fn parity() {
    replay::replay("parity", fuzz_bodies::parity);
}
