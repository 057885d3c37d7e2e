//! Frames in chunks, and chains of them.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

use super::*;

fn pool(chunks: u32) -> FramePool {
    FramePool::new(PoolOptions { chunks, chunk_bytes: 2048 }).unwrap()
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 256) as u8).collect()
}

#[test]
fn bytes_survive_copy_in_and_out_at_every_chain_length() {
    let mut pool = pool(16);
    let mut out = Vec::new();
    for length in [0, 1, 60, 1514, 1791, 1792, 1793, 3584, 3585, 9022] {
        let bytes = pattern(length);
        let frame = pool.copy_in(&bytes).unwrap();
        assert_eq!(pool.frame_length(frame), length);
        assert_eq!(pool.segments(frame).count(), pool.chunks_for(length));
        pool.copy_out(frame, &mut out);
        assert_eq!(out, bytes);
        pool.release(frame);
        assert_eq!(pool.available(), 16);
    }
}

#[test]
fn header_is_prepended_without_moving_the_payload() {
    let mut pool = pool(4);
    let frame = pool.copy_in(&pattern(100)).unwrap();
    let payload = pool.head(frame)[20..].as_ptr();
    let head = pool.push_front(frame, 8);
    head.copy_within(8..20, 0);
    assert_eq!(pool.head(frame).len(), 108);
    assert_eq!(pool.head(frame)[..12], pattern(12));
    assert_eq!(pool.head(frame)[28..].as_ptr(), payload);
    pool.pull_front(frame, 8);
    assert_eq!(pool.head(frame).len(), 100);
}

#[test]
fn exhaustion_is_an_answer_and_leaks_nothing() {
    let mut pool = pool(4);
    assert!(pool.copy_in(&pattern(9000)).is_none());
    assert_eq!(pool.available(), 4);
    let frames: Vec<_> = (0..4).map(|_| pool.allocate().unwrap()).collect();
    assert!(pool.allocate().is_none());
    frames.into_iter().for_each(|frame| pool.release(frame));
    assert_eq!(pool.available(), 4);
}

#[test]
fn each_completion_drops_one_reference_of_one_chunk() {
    let mut pool = pool(8);
    let frame = pool.copy_in(&pattern(4000)).unwrap();
    let mut addresses = Vec::new();
    pool.for_each_descriptor(frame, |address, _, _| addresses.push(address));
    assert_eq!(addresses.len(), 3);
    // The frame is in flight twice when its owner releases it.
    pool.retain(frame);
    pool.retain(frame);
    pool.release(frame);
    for address in addresses.iter().chain(&addresses) {
        assert!(pool.complete(*address));
    }
    assert_eq!(pool.available(), 8);
    assert!(!pool.complete(addresses[0]), "nothing is in flight any more");
}

#[test]
fn descriptors_of_the_kernel_are_checked() {
    let mut pool = pool(4);
    let address = pool.lend_to_kernel().unwrap();
    assert!(pool.take_from_kernel(address + 256, 1793).is_none(), "past its chunk");
    assert!(pool.take_from_kernel(4 * 2048, 60).is_none(), "no such chunk");
    assert!(pool.take_from_kernel(u64::MAX, 60).is_none(), "no such chunk");
    assert!(pool.take_from_kernel(2 * 2048, 60).is_none(), "not lent");
    let frame = pool.take_from_kernel(address + 256, 60).unwrap();
    assert!(pool.take_from_kernel(address + 256, 60).is_none(), "twice");
    assert!(!pool.complete(3 * 2048));
    pool.release(frame);
    assert_eq!(pool.available(), 4);
}

#[test]
#[should_panic(expected = "not in use")]
fn released_handle_is_refused() {
    let mut pool = pool(2);
    let frame = pool.copy_in(&[1, 2, 3]).unwrap();
    pool.release(frame);
    let _ = pool.head(frame);
}

#[test]
fn chunk_size_follows_the_mtu() {
    assert_eq!(PoolOptions::for_mtu(1500, 1).chunk_bytes, 2048);
    assert_eq!(PoolOptions::for_mtu(9000, 1).chunk_bytes, 4096);
    assert!(FramePool::new(PoolOptions { chunks: 1, chunk_bytes: 1024 }).is_err());
    assert!(FramePool::new(PoolOptions { chunks: 0, chunk_bytes: 2048 }).is_err());
}
