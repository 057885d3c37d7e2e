//! Two ends of a path that delays and loses messages, in virtual time.

use linkmend_parity::exchange::{Exchange, OVERHEAD_MAX, TARGET};
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
const ONE_WAY_NS: u64 = 50 * MS;
const DEADLINE_NS: u64 = 150 * MS;
/// Between two frames.
const SPACING_NS: u64 = 5 * MS;

/// A generator that is good enough to choose what is lost.
struct Random(u64);

impl Random {
    fn loses(&mut self, rate: f64) -> bool {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64) < rate * (1u64 << 31) as f64
    }
}

struct World {
    ends: [Exchange; 2],
    /// By time and number: to whom, and what.
    waiting: BTreeMap<(u64, u64), (usize, Vec<u8>)>,
    number: u64,
    now_ns: u64,
    loss: f64,
    random: Random,
    /// Frames that the right end has delivered, and when.
    delivered: Vec<(u64, u32)>,
    messages: u64,
    bytes: u64,
}

impl World {
    fn new(loss: f64) -> World {
        let mut left = Exchange::new(7);
        left.set_classes(&[DEADLINE_NS]);
        World {
            ends: [left, Exchange::new(9)],
            waiting: BTreeMap::new(),
            number: 0,
            now_ns: 0,
            loss,
            random: Random(3),
            delivered: Vec::new(),
            messages: 0,
            bytes: 0,
        }
    }

    fn post(&mut self, from: usize, message: Vec<u8>) {
        self.messages += 1;
        self.bytes += message.len() as u64;
        if !self.random.loses(self.loss) {
            self.number += 1;
            self.waiting.insert((self.now_ns + ONE_WAY_NS, self.number), (1 - from, message));
        }
    }

    /// Delivers and sends what the ends have.
    fn poll(&mut self) {
        for end in 0..2 {
            self.ends[end].handle_timeout(self.now_ns);
            while let Some(frame) = self.ends[end].poll_deliver(self.now_ns) {
                let number = u32::from_be_bytes(frame[..4].try_into().expect("4 bytes"));
                assert_eq!(frame, contents(number));
                self.delivered.push((self.now_ns, number));
            }
            let mut message = Vec::new();
            while self.ends[end].poll_message(self.now_ns, &mut message) {
                self.post(end, std::mem::take(&mut message));
            }
        }
    }

    /// Runs to a time.
    fn run_until(&mut self, until_ns: u64) {
        loop {
            self.poll();
            let arrival = self.waiting.first_key_value().map(|((at, _), _)| *at);
            let timeouts = self.ends.iter().filter_map(Exchange::next_timeout);
            let next = timeouts.chain(arrival).min().unwrap_or(u64::MAX);
            if next > until_ns {
                break;
            }
            self.now_ns = next.max(self.now_ns);
            while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= self.now_ns) {
                let (to, message) = first.remove();
                self.ends[to].handle(self.now_ns, &message);
            }
        }
        self.now_ns = until_ns;
    }

    /// Sends a frame from the left end if it may.
    fn send(&mut self, number: u32) -> bool {
        let is_ready = self.ends[0].is_ready(self.now_ns, 0);
        if is_ready {
            let mut message = Vec::new();
            self.ends[0].send(self.now_ns, 0, &contents(number), &mut message);
            self.post(0, message);
        }
        is_ready
    }

    /// Sends frames and returns when each was sent.
    fn stream(&mut self, count: u32) -> Vec<Option<u64>> {
        let sent = (0..count).map(|number| {
            let at = self.now_ns;
            let sent = self.send(number).then_some(at);
            self.run_until(at + SPACING_NS);
            sent
        });
        let sent = sent.collect();
        self.run_until(self.now_ns + 1_000 * MS);
        sent
    }
}

/// Frames of different lengths.
fn contents(number: u32) -> Vec<u8> {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(60 + (number % 200) as usize, number as u8);
    bytes
}

#[test]
fn frames_arrive_in_time_and_order_whatever_is_lost() {
    // At 25 %, the ceiling of the overhead leaves more than the target.
    let cases =
        [(0.0, 0.05, 0.0), (0.01, 0.2, TARGET), (0.1, 0.7, 5.0 * TARGET), (0.25, 1.01 * OVERHEAD_MAX, 5e-3)];
    for (loss, overhead, residual) in cases {
        let mut world = World::new(loss);
        world.run_until(3_000 * MS);
        assert!(world.ends[0].is_ready(world.now_ns, 0), "loss {loss}");
        // It learns what the path loses.
        world.stream(10_000);
        world.delivered.clear();
        let sender = |world: &World| world.ends[0].sent(world.now_ns)[0].sender;
        let before = (world.messages, sender(&world));
        let sent = world.stream(20_000);
        assert!(sent.iter().all(Option::is_some), "it stays ready");
        let (mut last, mut late) = (None, 0);
        for &(at, number) in &world.delivered {
            assert!(last.is_none_or(|last| last < number), "in order");
            last = Some(number);
            late += u64::from(at - sent[number as usize].expect("sent") > DEADLINE_NS + MS);
        }
        assert_eq!(late, 0, "loss {loss}");
        let lost = 20_000 - world.delivered.len();
        let after = sender(&world);
        assert_eq!(after.frames - before.1.frames, 20_000);
        let parity = after.parity_frames - before.1.parity_frames;
        let extra = (parity + after.copies - before.1.copies) as f64 / 20_000.0;
        println!("loss {loss}: {lost} lost, {extra} more, {} messages", world.messages - before.0);
        assert!((lost as f64) <= 20_000.0 * residual, "loss {loss}: {lost}");
        assert!(extra <= overhead, "loss {loss}: {extra}");
        assert!(world.messages - before.0 < 60_000, "loss {loss}");
    }
}

#[test]
fn a_peer_that_says_nothing_gets_no_frame() {
    let mut world = World::new(1.0);
    assert!(world.stream(2_000).iter().all(Option::is_none));
    // An offer in 250 ms is all that it gets.
    assert!((40..=50).contains(&world.messages), "{}", world.messages);
}

#[test]
fn a_restarted_peer_loses_hardly_more_than_a_round_trip() {
    let mut world = World::new(0.01);
    world.run_until(2_000 * MS);
    world.stream(1_000);
    world.ends[1] = Exchange::new(11);
    world.delivered.clear();
    let sent = world.stream(1_000);
    // What was sent while neither knew of it, and the frames that are not sent until the peer is ready again.
    let missing = 1_000 - world.delivered.len();
    let unsent = sent.iter().filter(|at| at.is_none()).count();
    assert!((20..=200).contains(&missing) && unsent > 0, "{missing} missing, {unsent} not sent");
    assert!(world.delivered.is_sorted_by_key(|(_, number)| *number));
}

#[test]
fn a_restarted_sender_and_other_classes_begin_anew() {
    let mut world = World::new(0.0);
    world.run_until(2_000 * MS);
    world.stream(100);
    for deadlines in [&[DEADLINE_NS][..], &[300 * MS, DEADLINE_NS], &[]] {
        world.ends[0].set_classes(deadlines);
        assert!(!world.send(0), "the peer has not accepted them");
        world.run_until(world.now_ns + 2_000 * MS);
        world.delivered.clear();
        let sent = world.stream(200);
        assert_eq!(sent.iter().flatten().count(), if deadlines.is_empty() { 0 } else { 200 });
        assert_eq!(world.delivered.len(), sent.iter().flatten().count());
    }
}

#[test]
fn a_silent_peer_is_not_ready_for_long() {
    let mut world = World::new(0.0);
    world.run_until(2_000 * MS);
    world.loss = 1.0;
    world.run_until(world.now_ns + 4_000 * MS);
    assert!(!world.ends[0].is_ready(world.now_ns, 0));
    world.loss = 0.0;
    world.run_until(world.now_ns + 2_000 * MS);
    assert!(world.ends[0].is_ready(world.now_ns, 0));
}

#[test]
fn any_bytes_can_arrive() {
    let mut random = Random(5);
    let mut end = Exchange::new(1);
    end.set_classes(&[DEADLINE_NS, 20 * MS]);
    let mut kinds = [0; 6];
    for now_ns in (0..200_000u64).map(|step| step * 10_000) {
        let mut bytes: Vec<u8> = (0..32)
            .map(|_| {
                random.loses(0.5);
                (random.0 >> 40) as u8
            })
            .collect();
        bytes[0] %= 6;
        bytes[1] %= 5;
        // Of few sessions, its own among them.
        let session = bytes[5] % 4;
        bytes[2..6].copy_from_slice(&[0, 0, 0, session]);
        if bytes[0] == 2 {
            bytes[6..8].fill(0);
        }
        kinds[usize::from(bytes[0])] += 1;
        end.handle(now_ns, &bytes[..(random.0 >> 50) as usize % 33]);
        end.handle_timeout(now_ns);
        let mut message = Vec::new();
        let mut messages = 0;
        while end.poll_message(now_ns, &mut message) {
            messages += 1;
            assert!(messages < 10_000, "it sends without end");
            message.clear();
        }
        while end.poll_deliver(now_ns).is_some() {}
    }
    assert!(kinds.iter().all(|kind| *kind > 1_000));
}
