//! See `fuzz_bodies` for what is checked.
#![no_main]
#![allow(dead_code, reason = "each target uses one of the bodies")]

#[path = "../../crates/fleet/tests/fuzz_bodies/mod.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(
    init: forgive_the_library(),
    |data: &[u8]| fuzz_bodies::trace_parquet(data)
);

/// Panics inside the Parquet library are caught by the reader, and no finding of ours.
fn forgive_the_library() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map_or("", std::panic::Location::file);
        if !place.contains("/parquet-") {
            report(panic);
        }
    }));
}
