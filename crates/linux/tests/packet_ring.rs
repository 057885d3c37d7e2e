//! The ring of a packet socket on the loopback interface of a network namespace of its own.

use linkmend_linux::packet_ring::{Arrival, PacketRing};
use linkmend_linux::packet_socket::SendBatch;
use linkmend_linux::veth;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use std::io::Write;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

const FRAME_BYTES: usize = 1_000;
/// A ring of one block.
const RING_BYTES: usize = 128 << 10;
const SLOTS: usize = RING_BYTES / 2048;
/// The EtherType of the test's frames, which distinguishes them from the kernel's own.
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];

/// Runs `test` with a ring on an empty network. Without the privilege it is skipped.
fn with_ring(test: impl FnOnce(PacketRing) + Send) {
    let run = || {
        if unshare(CloneFlags::CLONE_NEWNET).is_err() {
            // Written directly, because the test harness swallows what passing tests print.
            let text = "SKIPPED: the ring of a packet socket; run as root: sudo -E make test";
            let _ = writeln!(std::io::stderr(), "\n######## {text} ########\n");
            return;
        }
        veth::bring_up("lo", 65_536).expect("it is there");
        let ring = PacketRing::open(FRAME_BYTES, RING_BYTES).expect("root may");
        ring.bind(nix::net::if_::if_nametoindex("lo").expect("it is there")).expect("it is up");
        test(ring);
    };
    // Only the thread that asks for it gets into the new namespace.
    std::thread::scope(|scope| scope.spawn(run).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn frame(number: u8) -> Vec<u8> {
    let mut bytes = vec![number; FRAME_BYTES];
    bytes[..12].fill(0);
    bytes[12..14].copy_from_slice(&ETHERTYPE);
    bytes
}

fn send(ring: &PacketRing, numbers: impl Iterator<Item = u8>) {
    let mut batch = SendBatch::default();
    for number in numbers {
        let bytes = frame(number);
        assert_eq!(batch.send(ring.as_fd(), [bytes.chunks(300)]).expect("loopback takes all"), 1);
    }
}

/// Takes what has arrived, at most `count` frames of the test. Releases nothing.
fn take(ring: &mut PacketRing, count: usize) -> Vec<Arrival> {
    let mut arrivals = Vec::new();
    while arrivals.len() < count {
        match ring.take() {
            Some(arrival) if ring.bytes(arrival.frame)[12..14] == ETHERTYPE => arrivals.push(arrival),
            Some(_) => {}
            None => {
                let mut fds = [PollFd::new(ring.as_fd(), PollFlags::POLLIN)];
                let readable = poll(&mut fds, PollTimeout::from(500u16)).expect("it may wait");
                if readable == 0 {
                    break;
                }
            }
        }
    }
    arrivals
}

#[test]
fn frames_stay_as_they_arrived_until_they_are_released_and_a_full_ring_drops() {
    with_ring(|mut ring| {
        send(&ring, 0..100);
        let first = take(&mut ring, SLOTS);
        assert_eq!(first.len(), SLOTS);
        assert!(ring.take().is_none(), "the ring is full of held frames");
        assert_eq!(ring.take_drops().expect("it counts"), 100 - SLOTS as u64);
        for _ in 0..10 {
            ring.release_oldest();
        }
        send(&ring, 200..210);
        let second = take(&mut ring, 10);
        for (arrival, number) in first[10..].iter().chain(&second).zip((10..SLOTS as u8).chain(200..210)) {
            assert_eq!(ring.bytes(arrival.frame), frame(number), "frame {number}");
            assert_eq!((arrival.frame.length(), arrival.truncated), (FRAME_BYTES, false));
        }
        assert_eq!(second.len(), 10);
        assert!(first.iter().chain(&second).is_sorted_by_key(|arrival| arrival.at_epoch_ns));
        assert_eq!(ring.take_drops().expect("it counts"), 0);
    });
}

#[test]
fn a_frame_cannot_be_read_once_its_place_is_the_kernels() {
    with_ring(|mut ring| {
        send(&ring, 1..3);
        let arrivals = take(&mut ring, 2);
        ring.release_oldest();
        let readable =
            |arrival: &Arrival| catch_unwind(AssertUnwindSafe(|| ring.bytes(arrival.frame).len())).is_ok();
        assert_eq!([readable(&arrivals[0]), readable(&arrivals[1])], [false, true]);
    });
}
