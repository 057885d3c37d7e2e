//! See `fuzz_bodies` for what is checked.
#![no_main]

#[path = "../../crates/parity/tests/fuzz_bodies/mod.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_bodies::parity(data));
