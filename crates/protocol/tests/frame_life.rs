//! The benchmark in small, and the proof that nothing is allocated after the start.

#[path = "../benches/life/mod.rs"]
mod life;

use life::FrameLifecycle;
use linkmend_protocol::Mode;
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

#[test]
fn every_frame_is_delivered_and_released_without_an_allocation() {
    for mode in Mode::ALL {
        for loss in [0.0, 1e-3, 0.3] {
            let mut life = FrameLifecycle::new(mode, loss);
            let frames = 1_000 * life::BATCH;
            let before = ALLOCATIONS.get();
            life.run(frames);
            life.finish();
            assert_eq!(ALLOCATIONS.get(), before, "{mode:?} at loss {loss}");
            assert_eq!((life.delivered, life.released), (frames, frames), "{mode:?} at loss {loss}");
        }
    }
}
