//! The path: a thread that takes frames from one link end, and sends each to the other one when it is due, if at all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use linkmend_linux::clock::monotonic_ns;
use linkmend_linux::packet_ring::PacketRing;
use linkmend_protocol::paths::Path as Link;
use linkmend_random::Random;
use nix::sys::socket::{MsgFlags, getsockopt, send, sockopt};

use super::{PathReport, WanError, WanOptions};
use crate::delay_line::{DelayLineError, Schedule, open_ring, wait_for_frames};
use crate::stop::StopFlag;
use crate::topology::{Lab, WireInterface};

/// The shortest time between two rounds of a busy path.
const ROUND: Duration = Duration::from_micros(200);
/// How long an idle path waits for a frame before it checks whether it should stop.
const IDLE_WAIT_MS: u16 = 50;
/// Real-time priority of the thread, above that of the link ends' loops.
const PRIORITY: i32 = 2;
/// Frames that may wait for the thread at each end. What is on the way is kept elsewhere.
const RING_FRAMES: usize = 4_096;
/// Frames on the way in each direction: 200 ms of 1 Gbit/s.
const ON_THE_WAY_MAX: usize = 16_384;

/// A running path. Dropping this stops it.
pub(super) struct Path {
    counters: Arc<Counters>,
    stop: StopFlag,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Counters {
    frames: AtomicU64,
    lost: AtomicU64,
    reordered: AtomicU64,
    duplicated: AtomicU64,
    queue_drops: AtomicU64,
}

impl Path {
    /// Joins the link ends of a laboratory whose link has a rate or a delay.
    pub(super) fn start(lab: &Lab, options: &WanOptions) -> Result<Path, WanError> {
        let wires = lab.wires().ok_or(DelayLineError::NoLine)?;
        let pair = WireInterface::of_link(Link::Primary);
        let frame_bytes = pair[0].mtu(lab.options().host_mtu) as usize + 14 + 8;
        let [left, right] = pair.map(|wire| open_ring(wires, wire, frame_bytes, RING_FRAMES));
        let mut rings = [left?, right?];
        let mut ways = ["rightwards", "leftwards"].map(|name| Way::new(options, name));
        let (counters, stop) = (Arc::new(Counters::default()), StopFlag::new());
        let (counting, stopping) = (Arc::clone(&counters), stop.clone());
        let thread = std::thread::Builder::new().name("path".to_owned()).spawn(move || {
            // Ordinary users may not do this; frames are then late while the machine is busy.
            let _ = linkmend_linux::thread::set_real_time(PRIORITY);
            let _ = nix::sys::prctl::set_timerslack(1);
            while !stopping.is_stopped() {
                carry(&mut rings, &mut ways, &counting);
            }
        });
        let failed =
            |source| DelayLineError::System { action: "start", interface: "path".to_owned(), source };
        Ok(Path { counters, stop, thread: Some(thread.map_err(failed)?) })
    }

    pub(super) fn report(&self) -> PathReport {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PathReport {
            frames: of(&self.counters.frames),
            lost: of(&self.counters.lost),
            reordered: of(&self.counters.reordered),
            duplicated: of(&self.counters.duplicated),
            queue_drops: of(&self.counters.queue_drops),
        }
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread shows as frames that do not arrive.
            let _ = thread.join();
        }
    }
}

/// One round in both directions, and the wait for the next.
fn carry(rings: &mut [PacketRing; 2], ways: &mut [Way; 2], counters: &Counters) {
    for (way, input) in ways.iter_mut().zip(rings.iter_mut()) {
        way.take(input, monotonic_ns(), counters);
    }
    for (way, output) in ways.iter_mut().zip(rings.iter().rev()) {
        way.send(output, monotonic_ns());
    }
    if ways.iter().any(|way| !way.waiting.is_empty()) {
        std::thread::sleep(ROUND);
        return;
    }
    for ring in &*rings {
        // The kernel notes that an interface was set down as an error, and would not wait before it is taken.
        let _ = getsockopt(ring, sockopt::SocketError);
    }
    wait_for_frames(&[rings[0].as_fd(), rings[1].as_fd()], IDLE_WAIT_MS);
}

/// A frame on its way. Those that are due at the same time leave in the order of their numbers.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due_ns: u64,
    number: u64,
    bytes: Vec<u8>,
}

/// What one direction of the path does to frames, and those that are on it.
struct Way {
    schedule: Schedule,
    waiting: BinaryHeap<Reverse<Waiting>>,
    random: Random,
    number: u64,
    loss: f64,
    reordered: f64,
    late_ns: f64,
    duplicated: f64,
}

impl Way {
    fn new(options: &WanOptions, name: &str) -> Way {
        let impairments = &options.impairments;
        let delay_ns = u64::try_from(impairments.link_delay.as_nanos()).unwrap_or(u64::MAX);
        Way {
            schedule: Schedule::new(impairments.rate_bps, delay_ns, impairments.queue_bytes().unwrap_or(0)),
            waiting: BinaryHeap::new(),
            random: Random::new(options.seed, name),
            number: 0,
            loss: options.loss,
            reordered: options.reordered,
            late_ns: options.late.as_nanos() as f64,
            duplicated: options.duplicated,
        }
    }

    fn take(&mut self, input: &mut PacketRing, now_ns: u64, counters: &Counters) {
        while let Some(arrival) = input.take() {
            self.admit(input.bytes(arrival.frame), now_ns, counters);
            input.release_oldest();
        }
    }

    /// Loses, delays or duplicates a frame. A lost one occupies the path as long as any other.
    fn admit(&mut self, bytes: &[u8], now_ns: u64, counters: &Counters) {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        count(&counters.frames);
        let has_room = self.waiting.len() < ON_THE_WAY_MAX;
        let Some(due_ns) = self.schedule.admit(now_ns, bytes.len()).filter(|_| has_room) else {
            count(&counters.queue_drops);
            return;
        };
        if self.random.uniform() < self.loss {
            count(&counters.lost);
            return;
        }
        let is_twice = self.random.uniform() < self.duplicated;
        if is_twice {
            count(&counters.duplicated);
        }
        for _ in 0..1 + u8::from(is_twice) {
            let is_late = self.random.uniform() < self.reordered;
            if is_late {
                count(&counters.reordered);
            }
            let late_ns = if is_late { self.random.uniform() * self.late_ns } else { 0.0 };
            let due_ns = due_ns.saturating_add(late_ns as u64);
            self.number += 1;
            self.waiting.push(Reverse(Waiting { due_ns, number: self.number, bytes: bytes.to_vec() }));
        }
    }

    /// Sends what is due. What the interface refuses is lost, as on any path.
    fn send(&mut self, output: &impl AsFd, now_ns: u64) {
        while let Some(bytes) = self.due(now_ns) {
            let _ = send(output.as_fd().as_raw_fd(), &bytes, MsgFlags::MSG_DONTWAIT).map_err(io::Error::from);
        }
    }

    fn due(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        self.waiting.peek().filter(|Reverse(next)| next.due_ns <= now_ns)?;
        self.waiting.pop().map(|Reverse(next)| next.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: u32 = 20_000;

    #[test]
    fn frames_are_lost_late_and_twice_as_often_as_asked_and_never_early() {
        let options = WanOptions::default();
        let (mut way, counters) = (Way::new(&options, "rightwards"), Counters::default());
        let (delay_ns, late_ns) =
            (options.impairments.link_delay.as_nanos() as u64, options.late.as_nanos() as u64);
        let mut arrived = Vec::new();
        for number in 0..FRAMES {
            let now_ns = u64::from(number) * 1_000_000;
            way.admit(&number.to_be_bytes(), now_ns, &counters);
            while let Some(bytes) = way.due(now_ns) {
                let number = u32::from_be_bytes(bytes.try_into().expect("4 bytes"));
                let took_ns = now_ns - u64::from(number) * 1_000_000;
                assert!((delay_ns..=delay_ns + late_ns + 2_000_000).contains(&took_ns), "{took_ns}");
                arrived.push(number);
            }
        }
        let share = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64 / f64::from(FRAMES);
        assert!((0.045..0.055).contains(&share(&counters.lost)), "{}", share(&counters.lost));
        for counter in [&counters.reordered, &counters.duplicated] {
            assert!((0.015..0.025).contains(&share(counter)), "{}", share(counter));
        }
        assert_eq!(share(&counters.queue_drops), 0.0);
        assert!(arrived.windows(2).any(|pair| pair[0] > pair[1]), "out of order");
    }

    #[test]
    fn a_path_that_is_sent_more_than_its_rate_drops_the_rest() {
        let (mut way, counters) = (Way::new(&WanOptions::default(), "rightwards"), Counters::default());
        for _ in 0..2_000 {
            way.admit(&[0; 1_500], 0, &counters);
        }
        let dropped = counters.queue_drops.load(Ordering::Relaxed);
        // The queue holds one bandwidth-delay product: 625 kB at 50 Mbit/s and 100 ms.
        assert!((1_580..1_600).contains(&dropped), "{dropped}");
    }
}
