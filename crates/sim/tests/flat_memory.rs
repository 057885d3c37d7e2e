//! No frame costs an allocation once a run has warmed up, so that memory stays flat however long it takes.

use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::config::{Buffering, Mode};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::stress::run;
use linkmend_sim::time::Rate;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A delay longer than any before lengthens a histogram, and a queue longer than any before grows; both are bounded.
const RECORDS_MAX: u64 = 8;

/// Allocations between the first call of the progress function, after about a million frames, and the last.
fn allocations_after_warm_up(config: &LinksConfig) -> u64 {
    let mut counts = Vec::with_capacity(64);
    run(config, &mut |_| {
        counts.push(ALLOCATIONS.get());
        true
    })
    .expect("valid parameters");
    assert!(counts.len() >= 2, "the run is long enough to have warmed up: {counts:?}");
    counts[counts.len() - 1] - counts[0]
}

#[test]
fn a_run_with_every_event_allocates_nothing_for_a_frame_after_its_warm_up() {
    let rate = Rate::from_bits_per_second(100_000_000_000).expect("a byte lasts whole picoseconds");
    for mode in Mode::ALL.map(Some).into_iter().chain([None]) {
        for buffering in [Buffering::Recirculating, Buffering::Direct] {
            for (loss, reverse) in [(0.0, 0.0), (1e-3, 0.0), (1e-3, 1e-3)] {
                let paper = LinksConfig::paper(rate, loss, mode.unwrap_or(Mode::Ordered));
                let config = LinksConfig {
                    // The progress function is called after each 2^20 frames.
                    frames: 2 * (1 << 20) + 1,
                    full: true,
                    ..paper
                };
                let config = config.with_link(|link| {
                    link.buffering = buffering;
                    link.reverse_corruption = Corruption::iid(reverse);
                    link.protection = link.protection.filter(|_| mode.is_some());
                });
                let allocations = allocations_after_warm_up(&config);
                let bound = if loss == 0.0 { 0 } else { RECORDS_MAX };
                let case = format!("{mode:?}, {buffering:?}, loss {loss}, reverse {reverse}");
                assert!(allocations <= bound, "{case}: {allocations} allocations in a million frames");
            }
        }
    }
}
