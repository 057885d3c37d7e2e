//! All messages arrive once and in order, whatever the link does, as long as the retry counter is not exhausted.

use crate::pair::{Draw, Fate, Pair, Sent};
use linkmend_transport::Nanos;
use linkmend_transport::roce::{
    Body, Completion, Config, Dcqcn, Opcode, QueuePair, Recovery, Request, RequestId, State,
};
use proptest::prelude::*;

/// Faults between two steps of progress: with those before the first, fewer than the eight that end a connection.
const FAULTS_MAX: u32 = 4;
/// Longest delay of a packet that is late; shorter than any timeout.
const LATE_NS: f64 = 30_000.0;

/// Draws a fate for each packet, but spends no more than [`FAULTS_MAX`] on a requester until it has made progress.
struct Link {
    draw: Draw,
    fault_share: f64,
    mark_share: f64,
    unacknowledged: [u64; 2],
    spent: [u32; 2],
}

impl Link {
    fn new(seed: u64, fault_share: f64, mark_share: f64) -> Link {
        Link { draw: Draw(seed), fault_share, mark_share, unacknowledged: [0; 2], spent: [0; 2] }
    }

    fn fate(&mut self, sent: &Sent, ends: &[QueuePair; 2]) -> Fate {
        let concerned = if matches!(sent.packet.body, Body::Response(_) | Body::ReadResponse(_)) {
            1 - sent.from
        } else {
            sent.from
        };
        let unacknowledged = ends[concerned].info().unacknowledged;
        if unacknowledged != self.unacknowledged[concerned] {
            self.unacknowledged[concerned] = unacknowledged;
            self.spent[concerned] = 0;
        }
        let (whether, which, how_late) = (self.draw.uniform(), self.draw.uniform(), self.draw.uniform());
        if whether >= self.fault_share || self.spent[concerned] >= FAULTS_MAX {
            return if which < self.mark_share { Fate::IsMarked } else { Fate::Arrives };
        }
        self.spent[concerned] += 1;
        match which {
            ..0.6 => Fate::IsLost,
            ..0.8 => Fate::IsLate(Nanos((how_late * LATE_NS) as u64)),
            _ => Fate::ArrivesTwice,
        }
    }
}

fn run(config: Config, mut link: Link, messages: &[Vec<(Opcode, u32)>; 2]) -> Pair {
    let mut pair = Pair::with_faults(config, move |sent, ends| link.fate(sent, ends));
    for (end, messages) in messages.iter().enumerate() {
        for &(opcode, bytes) in messages {
            pair.ends[end].post(Request { opcode, bytes }).expect("there is room");
        }
    }
    pair.run();
    pair
}

/// Both ends have completed what they posted, in order, and the other end has received just that.
fn check(pair: &Pair, messages: &[Vec<(Opcode, u32)>; 2]) -> Result<(), TestCaseError> {
    for (end, messages) in messages.iter().enumerate() {
        prop_assert_eq!(pair.ends[end].info().state, State::ReadyToSend);
        let of = |end: usize, wanted: fn(&Completion) -> bool| -> Vec<Completion> {
            pair.completions[end].iter().map(|(_, done)| *done).filter(wanted).collect()
        };
        let posted =
            messages.iter().enumerate().map(|(number, (opcode, bytes))| (number as u64, *opcode, *bytes));
        let (sent, received): (Vec<_>, Vec<_>) = posted
            .map(|(number, opcode, bytes)| {
                let id = RequestId(number);
                (Completion::Sent { id, opcode, bytes }, Completion::Received { number, opcode, bytes })
            })
            .unzip();
        prop_assert_eq!(of(end, |done| !matches!(done, Completion::Received { .. })), sent);
        // The host whose memory is read learns nothing of it.
        let is_read = |done: &Completion| matches!(done, Completion::Received { opcode: Opcode::Read, .. });
        let received: Vec<_> = received.into_iter().filter(|done| !is_read(done)).collect();
        prop_assert_eq!(of(1 - end, |done| matches!(done, Completion::Received { .. })), received);
        let written = messages.iter().filter(|(opcode, _)| *opcode != Opcode::Read);
        let bytes = written.map(|(_, bytes)| u64::from(*bytes)).sum::<u64>();
        prop_assert_eq!(pair.ends[1 - end].info().received_bytes, bytes);
        prop_assert_eq!(pair.ends[end].next_timeout(), None);
    }
    Ok(())
}

fn messages() -> impl Strategy<Value = Vec<(Opcode, u32)>> {
    let opcode = prop_oneof![Just(Opcode::Write), Just(Opcode::Send), Just(Opcode::Read)];
    prop::collection::vec((opcode, prop_oneof![0_u32..3_000, 0_u32..40_000]), 0..6)
}

/// READs as WRITEs, with selective repeat.
fn as_possible(config: &Config, messages: Vec<(Opcode, u32)>) -> Vec<(Opcode, u32)> {
    let is_possible = |opcode| config.recovery == Recovery::GoBackN || opcode != Opcode::Read;
    let possible = |opcode| if is_possible(opcode) { opcode } else { Opcode::Write };
    messages.into_iter().map(|(opcode, bytes)| (possible(opcode), bytes)).collect()
}

fn recovery() -> impl Strategy<Value = Recovery> {
    let selective = |window_packets| Recovery::SelectiveRepeat { window_packets, short_timeout: None };
    prop_oneof![
        Just(Recovery::GoBackN),
        prop_oneof![Just(1_u32), Just(2), Just(7), Just(64), Just(300)].prop_map(selective)
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let windows = prop_oneof![Just(1_u32), Just(3), Just(40), Just((1 << 23) - 1)];
    let intervals = prop_oneof![Just(0_u32), Just(1), Just(5), Just(16)];
    (recovery(), windows, intervals, any::<bool>(), any::<bool>()).prop_map(
        |(recovery, window_packets, ack_interval, is_large, is_controlled)| Config {
            path_mtu: if is_large { 4_096 } else { 1_024 },
            // At DCQCN's lowest rate 16 packets take 57 ms, and the timer must not expire meanwhile.
            timeout_exponent: if is_controlled { 14 } else { 8 },
            recovery,
            window_packets,
            ack_interval,
            dcqcn: is_controlled.then_some(Dcqcn::of_paper(8_000_000_000)),
            ..Config::default()
        },
    )
}

proptest! {
    #[test]
    fn all_messages_arrive_once_and_in_order_under_any_bounded_faults(
        seed: u64,
        config in config(),
        fault_share in 0.0..0.6_f64,
        mark_share in 0.0..0.3_f64,
        (first, second) in (messages(), messages()),
    ) {
        let messages = [first, second].map(|messages| as_possible(&config, messages));
        let pair = run(config, Link::new(seed, fault_share, mark_share), &messages);
        check(&pair, &messages)?;
    }

    #[test]
    fn the_same_seed_gives_the_same_packets_at_the_same_times(
        seed: u64,
        config in config(),
        messages in messages(),
    ) {
        let messages = as_possible(&config, messages);
        let messages = [messages.clone(), messages];
        let once = run(config, Link::new(seed, 0.2, 0.2), &messages);
        let twice = run(config, Link::new(seed, 0.2, 0.2), &messages);
        prop_assert_eq!(once.sent, twice.sent);
        prop_assert_eq!(once.completions, twice.completions);
    }

    /// Selective repeat sends no packet again that the link has delivered, if nothing is late and no answer is lost.
    #[test]
    fn selective_repeat_sends_again_only_what_was_lost(seed: u64, share in 0.0..0.3_f64) {
        let recovery = Recovery::SelectiveRepeat { window_packets: 64, short_timeout: None };
        let config = Config { recovery, timeout_exponent: 8, ack_interval: 1, ..Config::default() };
        let mut draw = Draw(seed);
        let mut next = 0;
        let mut pair = Pair::with_faults(config, move |sent, _| {
            // Each packet's retransmission arrives, also that of the last, which a timeout sends: no retries run out.
            let is_first = sent.from == 0 && sent.packet.psn == next;
            next += u64::from(is_first);
            let is_lost = draw.uniform() < share && is_first;
            if is_lost { Fate::IsLost } else { Fate::Arrives }
        });
        pair.write(200_000);
        pair.run();
        let lost = pair.sent.iter().filter(|sent| sent.fate == Fate::IsLost).count() as u64;
        prop_assert_eq!(pair.ends[0].info().requests_resent, lost);
        prop_assert_eq!(pair.ends[1].info().duplicates, 0);
        prop_assert_eq!(pair.completions[1].len(), 1);
    }
}
