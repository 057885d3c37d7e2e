//! A sender and a receiver over a path that loses, delays, reorders and duplicates, in virtual time.
#![cfg(feature = "reed-solomon")]

mod fuzz_bodies;

use linkmend_parity::{
    Code, Feedback, Header, Limits, Losses, ParityFrame, Path, Plan, Receiver, ReceiverConfig, ReedSolomon,
    STAMP_NS, Sender, SenderConfig, plan,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;

enum Packet {
    Frame(Header, Vec<u8>),
    Parity(ParityFrame<Vec<u8>>),
    Feedback(Feedback),
}

/// What the path does to the next packet: nothing if `None`, else its additional delay, and whether it arrives twice.
type Fate = Option<(u64, bool)>;

struct Run {
    frames: u64,
    spacing_ns: u64,
    round_trip_ns: u64,
    deadline_ns: u64,
    losses: Losses,
    fixed: Option<Plan>,
}

struct Outcome {
    /// Numbers and delays, in the order of delivery.
    delivered: Vec<(u64, u64)>,
    counters: linkmend_parity::ReceiverCounters,
    sent: linkmend_parity::SenderCounters,
}

/// A frame's content, from which its number can be told.
fn content(number: u64) -> Vec<u8> {
    let length = 8 + (number * 37 % 90) as usize;
    let mut frame = vec![number as u8; length];
    frame[..8].copy_from_slice(&number.to_be_bytes());
    frame
}

impl Run {
    fn limits(&self) -> Limits {
        Limits { deadline_ns: self.deadline_ns, overhead_max: 1.0, target: 1e-4 }
    }

    fn ends(&self) -> (Sender<ReedSolomon>, Receiver<ReedSolomon>) {
        let (losses, round_trip_ns) = (self.losses, self.round_trip_ns);
        let frame_rate = 1e9 / self.spacing_ns as f64;
        let first =
            self.fixed.unwrap_or_else(|| plan(&Path { losses, round_trip_ns, frame_rate }, &self.limits()));
        let sender = SenderConfig {
            deadline_ns: self.deadline_ns,
            one_way_ns: round_trip_ns / 2,
            group: first.group,
            parity: first.parity,
            age_ns: first.age_ns,
        };
        let limits = self.limits();
        let receiver = ReceiverConfig {
            limits,
            round_trip_ns,
            losses,
            frame_rate,
            prior_frames: 256.0,
            fixed: self.fixed,
        };
        (Sender::new(sender, ReedSolomon), Receiver::new(receiver, ReedSolomon))
    }

    /// Runs until everything has been delivered or given up. The two clocks differ.
    fn outcome(&self, mut fate: impl FnMut(bool) -> Fate) -> Outcome {
        const RECEIVER_CLOCK: u64 = 77_777_777_777;
        let (mut sender, mut receiver) = self.ends();
        let mut flying: BTreeMap<(u64, u64), Packet> = BTreeMap::new();
        let (mut serial, mut sent, mut delivered) = (0, 0, Vec::new());
        loop {
            let next_frame = (sent < self.frames).then_some(sent * self.spacing_ns);
            let arrival = flying.keys().next().map(|(at, _)| *at);
            let theirs = receiver.next_timeout().map(|at| at.saturating_sub(RECEIVER_CLOCK));
            let times = [next_frame, arrival, sender.next_timeout(), theirs];
            let Some(now) = times.into_iter().flatten().min() else { break };
            let mut leaving = Vec::new();
            if next_frame == Some(now) {
                let header = sender.send(now, content(sent));
                leaving.push(Packet::Frame(header, content(sent)));
                sent += 1;
            }
            sender.handle_timeout(now);
            while let Some(packet) = flying.first_entry().filter(|entry| entry.key().0 <= now) {
                match packet.remove() {
                    Packet::Frame(header, frame) => {
                        receiver.handle_frame(now + RECEIVER_CLOCK, header, frame)
                    }
                    Packet::Parity(parity) => receiver.handle_parity(now + RECEIVER_CLOCK, parity),
                    Packet::Feedback(feedback) => sender.handle_feedback(now, feedback),
                }
            }
            receiver.handle_timeout(now + RECEIVER_CLOCK);
            while let Some(frame) = receiver.poll_deliver(now + RECEIVER_CLOCK) {
                assert_eq!(frame.frame, content(frame.number));
                delivered.push((frame.number, now - frame.number * self.spacing_ns));
            }
            leaving.extend(std::iter::from_fn(|| sender.poll_parity()).map(Packet::Parity));
            let copies = std::iter::from_fn(|| sender.poll_retransmission());
            leaving.extend(copies.map(|(header, frame)| Packet::Frame(header, frame)));
            leaving.extend(std::iter::from_fn(|| receiver.poll_feedback()).map(Packet::Feedback));
            for packet in leaving {
                let Some((delay, twice)) = fate(!matches!(packet, Packet::Feedback(_))) else { continue };
                let at = now + self.round_trip_ns / 2 + delay;
                if let (true, Packet::Frame(header, frame)) = (twice, &packet) {
                    serial += 1;
                    flying.insert((at + MS, serial), Packet::Frame(*header, frame.clone()));
                }
                serial += 1;
                flying.insert((at, serial), packet);
            }
        }
        Outcome { delivered, counters: receiver.counters(), sent: sender.counters() }
    }
}

impl Outcome {
    /// In order, each once, in time, and none forgotten in the counters.
    fn check(&self, run: &Run) {
        assert!(self.delivered.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order, each once");
        let longest = self.delivered.iter().map(|(_, delay)| *delay).max().unwrap_or(0);
        assert!(longest <= run.deadline_ns + 3 * STAMP_NS, "{longest} ns after {} ns", run.deadline_ns);
        let counters = self.counters;
        assert_eq!(counters.delivered, self.delivered.len() as u64);
        let known = counters.delivered + counters.given_up + counters.late;
        assert!(known <= run.frames, "{counters:?}");
    }
}

/// Random numbers by a linear congruence (Knuth's MMIX).
fn generator(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn run(round_trip_ms: u64, deadline_ms: u64, loss: f64) -> Run {
    Run {
        frames: 20_000,
        spacing_ns: MS / 2,
        round_trip_ns: round_trip_ms * MS,
        deadline_ns: deadline_ms * MS,
        losses: Losses::independent(loss),
        fixed: None,
    }
}

#[test]
fn without_losses_every_frame_is_delivered_as_it_arrives() {
    let run = run(100, 120, 0.0);
    let outcome = run.outcome(|_| Some((0, false)));
    outcome.check(&run);
    assert_eq!(outcome.delivered.len() as u64, run.frames);
    assert!(outcome.delivered.iter().all(|(_, delay)| *delay == 50 * MS));
    assert_eq!((outcome.sent.parity_frames, outcome.sent.copies), (0, 0));
}

#[test]
fn the_target_is_met_on_paths_of_all_kinds() {
    for (round_trip_ms, deadline_ms) in [(20, 100), (100, 150), (100, 200), (200, 200)] {
        for loss in [0.01, 0.05, 0.1, 0.25] {
            let run = run(round_trip_ms, deadline_ms, loss);
            let mut random = generator(round_trip_ms + (loss * 1e3) as u64);
            let outcome = run.outcome(|_| (random() >= loss).then_some((0, false)));
            outcome.check(&run);
            let missing = run.frames - outcome.delivered.len() as u64;
            // The target is 2 of 20,000. What is planned for changes with what was measured.
            assert!(missing <= 40, "{missing} of {} at {loss}, {round_trip_ms} ms", run.frames);
            let sent = outcome.sent;
            assert!(sent.parity_frames + sent.copies <= sent.frames, "{sent:?}");
        }
    }
}

#[test]
fn a_path_that_loses_more_than_expected_is_noticed() {
    let run = Run { losses: Losses::independent(0.001), ..run(200, 200, 0.0) };
    let mut random = generator(5);
    let outcome = run.outcome(|_| (random() >= 0.1).then_some((0, false)));
    outcome.check(&run);
    let late = outcome.delivered.iter().filter(|(number, _)| *number >= run.frames / 2).count() as u64;
    assert!(run.frames / 2 - late <= 20, "{late} of {}", run.frames / 2);
}

proptest! {
    /// Any k of n frames restore the others, whatever their lengths.
    #[test]
    fn any_k_of_n_restore_the_others(
        lengths in prop::collection::vec(0_usize..200, 1..40),
        parity in 1_u8..30,
        order in any::<u64>(),
    ) {
        let frame = |(place, length): (usize, &usize)| (place as u16, vec![place as u8 + 1; *length]);
        let frames: Vec<(u16, Vec<u8>)> = lengths.iter().enumerate().map(frame).collect();
        let shards = ReedSolomon.encode(&frames, parity);
        prop_assert_eq!(shards.len(), usize::from(parity));
        let mut random = generator(order);
        let mut all: Vec<usize> = (0..frames.len() + shards.len()).collect();
        all.sort_by_cached_key(|_| (random() * 1e9) as u64);
        all.truncate(frames.len());
        let present = |place: usize| all.contains(&place).then(|| frames[place].clone());
        let arrived: Vec<_> = (0..frames.len()).map(present).collect();
        let kept: Vec<(u8, Vec<u8>)> = shards.into_iter().enumerate()
            .filter(|(index, _)| all.contains(&(frames.len() + index)))
            .map(|(index, shard)| (index as u8, shard)).collect();
        let restored = ReedSolomon.decode(&arrived, &kept, parity);
        prop_assert_eq!(restored.len(), arrived.iter().filter(|frame| frame.is_none()).count());
        for (place, stamp, bytes) in restored {
            prop_assert_eq!(&(stamp, bytes), &frames[place]);
        }
    }

    /// Whatever the path does, frames are delivered in order, once, unchanged and in time.
    #[test]
    fn any_path_keeps_order_and_deadline(
        seed in any::<u64>(),
        loss in 0.0..0.5_f64,
        jitter_ms in 0_u64..40,
        duplicates in 0.0..0.3_f64,
        round_trip_ms in 1_u64..200,
        slack_ms in 1_u64..150,
        group in prop::option::of((1_u8..20, 0_u8..20)),
    ) {
        let fixed = group.map(|(frames, parity)| Plan::fixed(frames, parity, 20 * MS));
        let deadline_ms = round_trip_ms / 2 + slack_ms;
        let run = Run { frames: 400, fixed, ..run(round_trip_ms, deadline_ms, 0.02) };
        let mut random = generator(seed);
        let outcome = run.outcome(|_| {
            let kept = random() >= loss;
            kept.then(|| ((random() * jitter_ms as f64) as u64 * MS, random() < duplicates))
        });
        // Without a frame that was not delayed, its delay is not known.
        let shift = jitter_ms * MS;
        Outcome { delivered: outcome.delivered.iter().map(|(number, delay)| (*number, delay.saturating_sub(shift))).collect(), ..outcome }.check(&run);
    }

    /// Groups may overlap, and contents and numbers may be anything.
    #[test]
    fn hostile_input_is_survived(data in prop::collection::vec(any::<u8>(), 0..2_000)) {
        fuzz_bodies::parity(&data);
    }
}
