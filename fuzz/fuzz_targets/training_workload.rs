//! See `fuzz_bodies` for what is checked.
#![no_main]
#![allow(dead_code, reason = "each target uses one of the bodies")]

#[path = "../../crates/collective/tests/fuzz_bodies/mod.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_bodies::training_workload(data));
