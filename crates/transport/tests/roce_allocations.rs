//! No packet of go-back-N costs an allocation once a connection has warmed up.

use linkmend_transport::Instant;
use linkmend_transport::roce::{Config, Opcode, QueuePair, Request};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

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

/// Sends messages until this many packets were sent; each hundredth is lost. Time goes on by 100 ns with each packet.
fn exchange(ends: &mut [QueuePair; 2], now: &mut Instant, packets: u64) {
    let goal = ends[0].info().requests_sent + packets;
    let mut count = 0_u64;
    while ends[0].info().requests_sent < goal {
        let _ = ends[0].post(Request { opcode: Opcode::Write, bytes: 24_387 });
        while let Some(packet) = ends[0].poll_transmit(*now) {
            *now = Instant(now.0 + 100);
            count += 1;
            if !count.is_multiple_of(100) {
                ends[1].handle_packet(*now, &packet);
            }
            while let Some(answer) = ends[1].poll_transmit(*now) {
                ends[0].handle_packet(*now, &answer);
            }
            for end in ends.iter_mut() {
                while end.poll_completion().is_some() {}
            }
        }
        if let Some(deadline) = ends[0].next_timeout() {
            *now = deadline;
            ends[0].handle_timeout(deadline);
        }
    }
}

#[test]
fn a_connection_that_has_warmed_up_allocates_nothing_for_a_packet() {
    let config = Arc::new(Config { send_queue: 64, ..Config::default() });
    let end = || QueuePair::new(Arc::clone(&config)).expect("a good configuration");
    let mut ends = [end(), end()];
    let mut now = Instant(0);
    exchange(&mut ends, &mut now, 10_000);
    let before = ALLOCATIONS.get();
    exchange(&mut ends, &mut now, 200_000);
    assert_eq!(ALLOCATIONS.get() - before, 0);
    let info = ends[0].info();
    assert!(info.requests_resent > 2_000 && info.timeouts > 10, "{info:?}");
}
