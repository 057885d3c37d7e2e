//! What is compared, from the frames of a run.

use crate::log::{Run, Timer};
use linkmend_kernel_guest::record::Frame;
use linkmend_kernel_guest::scenario::TICK_NS;

const SYN: u8 = 0x02;
const MS: f64 = 1e6;
/// Acknowledgements that leave earlier than this were not delayed.
const AT_ONCE_MS: f64 = 2.0;
/// Phases of a sender, as `tcp_info` numbers them.
const OPEN: u8 = 0;
const RECOVERY: u8 = 3;

/// A kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// From the first loss to the first retransmission, in ms.
    Retransmission,
    /// From the first retransmission to the next one of the same data, in ms.
    NextRetransmission,
    /// From the first loss to the acknowledgement of everything, in ms.
    AllAcknowledged,
    /// From one SYN to the next, or from one SYN with ACK to the next, in ms.
    Syn(u8),
    SynAck,
    /// Segments whose acknowledgement was not delayed, before the first that was.
    QuickAcks,
    /// Of the others, the delay in ms.
    AckDelay,
    /// Retransmission timeout in ms: after the handshake, and at the end.
    FirstTimeout,
    LastTimeout,
    /// Segments: window before a recovery, threshold of it, and window at its end.
    WindowBefore,
    Threshold,
    WindowAfter,
    /// Ticks from the last one before a timer was set to its end, without its length.
    TimerTicks,
}

impl Quantity {
    /// What a row calls it.
    pub fn name(self) -> String {
        match self {
            Quantity::Retransmission => "first retransmission, ms after the loss".to_owned(),
            Quantity::NextRetransmission => {
                "second retransmission of that segment, ms after the first".to_owned()
            }
            Quantity::AllAcknowledged => "everything acknowledged, ms after the loss".to_owned(),
            Quantity::Syn(number) => format!("SYN {number}, ms after the previous one"),
            Quantity::SynAck => "second SYN-ACK, ms after the first".to_owned(),
            Quantity::QuickAcks => "undelayed ACKs at the start".to_owned(),
            Quantity::AckDelay => "delay of the later ACKs, ms".to_owned(),
            Quantity::FirstTimeout => "RTO after the handshake, ms".to_owned(),
            Quantity::LastTimeout => "RTO at the end, ms".to_owned(),
            Quantity::WindowBefore => "window before recovery, segments".to_owned(),
            Quantity::Threshold => "slow-start threshold during recovery, segments".to_owned(),
            Quantity::WindowAfter => "window after recovery, segments".to_owned(),
            Quantity::TimerTicks => {
                "ticks in addition to its length, counted from the last tick before it was set".to_owned()
            }
        }
    }

    /// How far a mean may be from those of the kernels: half a tick, or a segment, and 2 %.
    pub fn tolerance(self, value: f64) -> f64 {
        let least = match self {
            Quantity::QuickAcks | Quantity::WindowBefore | Quantity::Threshold | Quantity::WindowAfter => 1.0,
            Quantity::TimerTicks => 0.25,
            _ => TICK_NS as f64 / MS / 2.0,
        };
        f64::max(least, value * 0.02)
    }
}

/// The values of one quantity in all phases of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub scenario: String,
    pub quantity: Quantity,
    pub samples: Vec<f64>,
}

impl Row {
    /// The mean of all phases.
    pub fn mean(&self) -> Option<f64> {
        (!self.samples.is_empty()).then(|| self.samples.iter().sum::<f64>() / self.samples.len() as f64)
    }
}

/// All values of a kernel, or of the simulator.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub name: String,
    pub rows: Vec<Row>,
}

impl Column {
    /// The row of this scenario and quantity.
    pub fn row(&self, of: &Row) -> Option<&Row> {
        self.rows.iter().find(|row| row.scenario == of.scenario && row.quantity == of.quantity)
    }

    fn push(&mut self, scenario: &str, quantity: Quantity, sample: f64) {
        let found = self.rows.iter_mut().find(|row| row.scenario == scenario && row.quantity == quantity);
        if let Some(row) = found {
            return row.samples.push(sample);
        }
        let scenario = scenario.to_owned();
        self.rows.push(Row { scenario, quantity, samples: vec![sample] });
    }
}

/// What a kernel or the simulator did.
pub fn column(name: String, runs: &[Run], timers: &[Timer]) -> Column {
    let mut column = Column { name, rows: Vec::new() };
    for timer in timers {
        let ticks = (timer.since_tick_ns + timer.took_ns) as f64 / TICK_NS as f64;
        let length = timer.ticks;
        let plural = if length == 1 { "" } else { "s" };
        column.push(
            &format!("timer of {length} tick{plural}"),
            Quantity::TimerTicks,
            ticks - f64::from(length),
        );
    }
    for run in runs {
        for (quantity, sample) in values(run) {
            column.push(&run.name, quantity, sample);
        }
    }
    column
}

/// The values of a run, by what its name says it is about.
fn values(run: &Run) -> Vec<(Quantity, f64)> {
    let kind = run.name.split(' ').next().unwrap_or_default();
    let mut values = Vec::new();
    let mut push = |quantity, value: Option<f64>| values.extend(value.map(|value| (quantity, value)));
    match kind {
        "syn" | "three-syns" | "syn-ack" => {
            let gaps = |from| gaps(run.frames.iter().filter(move |f| f.from == from && f.flags & SYN != 0));
            for (number, gap) in (2..).zip(gaps(0)) {
                push(Quantity::Syn(number), Some(gap));
            }
            push(Quantity::SynAck, gaps(1).first().copied().filter(|_| kind == "syn-ack"));
        }
        "read" | "unread" => {
            let delays = ack_delays(run);
            let quick = delays.iter().take_while(|delay| **delay < AT_ONCE_MS).count();
            push(Quantity::QuickAcks, Some(quick as f64));
            for delay in delays.iter().filter(|delay| **delay >= AT_ONCE_MS) {
                push(Quantity::AckDelay, Some(*delay));
            }
            let timeout = |sender: &linkmend_kernel_guest::record::Sender| f64::from(sender.rto_us) / 1e3;
            push(Quantity::FirstTimeout, run.senders.first().map(timeout));
            push(Quantity::LastTimeout, run.senders.last().map(timeout));
        }
        "window" => {
            if let Some(begin) = run.senders.iter().position(|sender| sender.phase == RECOVERY) {
                let end = run.senders[begin..].iter().find(|sender| sender.phase == OPEN);
                let before = run.senders[..begin].last();
                push(Quantity::WindowBefore, before.map(|sender| f64::from(sender.window)));
                push(Quantity::Threshold, Some(f64::from(run.senders[begin].threshold)));
                push(Quantity::WindowAfter, end.map(|sender| f64::from(sender.window)));
            }
        }
        _ => {
            let retransmissions = retransmissions(run);
            let loss = run.frames.iter().find(|frame| frame.is_lost);
            if let (Some(loss), Some(first)) = (loss, retransmissions.first()) {
                push(Quantity::Retransmission, Some((first.at_ns - loss.at_ns) as f64 / MS));
                let again = retransmissions.iter().skip(1).find(|next| next.sequence == first.sequence);
                if matches!(kind, "last-two-and-probe" | "retransmission") {
                    push(
                        Quantity::NextRetransmission,
                        again.map(|again| (again.at_ns - first.at_ns) as f64 / MS),
                    );
                }
                push(Quantity::AllAcknowledged, acknowledged(run).map(|at| (at - loss.at_ns) as f64 / MS));
            }
        }
    }
    values
}

/// Times between consecutive frames, in ms.
fn gaps<'a>(frames: impl Iterator<Item = &'a Frame>) -> Vec<f64> {
    let times: Vec<_> = frames.map(|frame| frame.at_ns).collect();
    times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / MS).collect()
}

/// Frames with data that the sender had sent before.
fn retransmissions(run: &Run) -> Vec<Frame> {
    let mut highest = 0;
    let mut found = Vec::new();
    for frame in run.frames.iter().filter(|frame| frame.from == 0 && frame.bytes > 0) {
        if frame.sequence < highest {
            found.push(*frame);
        }
        highest = highest.max(frame.sequence + frame.bytes);
    }
    found
}

/// When the receiver had acknowledged all data.
fn acknowledged(run: &Run) -> Option<u64> {
    let end = run.frames.iter().filter(|f| f.from == 0 && f.bytes > 0).map(|f| f.sequence + f.bytes).max()?;
    run.frames.iter().find(|frame| frame.from == 1 && frame.acknowledgement >= end).map(|frame| frame.at_ns)
}

/// How long the receiver took to acknowledge each segment, which are alone: from the shortest time of any on.
fn ack_delays(run: &Run) -> Vec<f64> {
    let data = run.frames.iter().filter(|frame| frame.from == 0 && frame.bytes > 0);
    let times: Vec<f64> = data
        .filter_map(|data| {
            let is_answer = |ack: &&Frame| ack.from == 1 && ack.acknowledgement >= data.sequence + data.bytes;
            run.frames.iter().find(is_answer).map(|ack| (ack.at_ns - data.at_ns) as f64 / MS)
        })
        .collect();
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    times.into_iter().map(|time| time - least).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_kernel_guest::record::Sender;

    fn frame(at_ms: u64, from: u8, sequence: u32, bytes: u32, acknowledgement: u32) -> Frame {
        let at_ns = at_ms * 1_000_000;
        Frame { at_ns, from, is_lost: false, flags: 0x10, sequence, acknowledgement, bytes, sacks: 0 }
    }

    fn run(name: &str, frames: Vec<Frame>) -> Run {
        Run { name: name.to_owned(), frames, ..Run::default() }
    }

    #[test]
    fn a_retransmission_is_timed_from_the_loss_and_a_second_one_from_the_first() {
        let lost = |frame| Frame { is_lost: true, ..frame };
        let run = run(
            "last-two-and-probe 10ms",
            vec![
                frame(0, 0, 1, 100, 1),
                lost(frame(1, 0, 101, 100, 1)),
                frame(10, 1, 1, 0, 101),
                lost(frame(31, 0, 101, 100, 1)),
                frame(91, 0, 101, 100, 1),
                frame(100, 1, 1, 0, 201),
            ],
        );
        assert_eq!(
            values(&run),
            [
                (Quantity::Retransmission, 30.0),
                (Quantity::NextRetransmission, 60.0),
                (Quantity::AllAcknowledged, 99.0)
            ]
        );
    }

    #[test]
    fn acknowledgements_are_quick_until_one_is_delayed() {
        let mut frames = Vec::new();
        for (number, delay) in [10, 10, 50, 10, 53].into_iter().enumerate() {
            let (at, sequence) = (number as u64 * 300, number as u32 * 100 + 1);
            frames.extend([frame(at, 0, sequence, 100, 1), frame(at + delay, 1, 1, 0, sequence + 100)]);
        }
        let run = run("unread 300ms", frames);
        assert_eq!(
            values(&run),
            [(Quantity::QuickAcks, 2.0), (Quantity::AckDelay, 40.0), (Quantity::AckDelay, 43.0)]
        );
    }

    #[test]
    fn syns_are_told_from_those_of_the_other_side() {
        let syn = |at, from| Frame { flags: SYN, ..frame(at, from, 0, 0, 0) };
        let run = run("syn-ack", vec![syn(0, 0), syn(5, 1), syn(1_000, 0), syn(1_005, 1)]);
        assert_eq!(values(&run), [(Quantity::Syn(2), 1_000.0), (Quantity::SynAck, 1_000.0)]);
    }

    #[test]
    fn windows_are_those_around_a_recovery() {
        let sender = |phase, window, threshold| Sender {
            at_ns: 0,
            phase,
            window,
            threshold,
            rto_us: 0,
            rtt_us: 0,
            deviation_us: 0,
            retransmitted: 0,
        };
        let senders = vec![
            sender(0, 20, 900),
            sender(1, 21, 900),
            sender(3, 20, 14),
            sender(3, 14, 14),
            sender(0, 15, 14),
            sender(0, 16, 14),
        ];
        let run = Run { name: "window cubic".to_owned(), senders, ..Run::default() };
        let wanted =
            [(Quantity::WindowBefore, 21.0), (Quantity::Threshold, 14.0), (Quantity::WindowAfter, 15.0)];
        assert_eq!(values(&run), wanted);
    }

    #[test]
    fn a_timer_is_counted_from_the_tick_before_it() {
        let timer = Timer { ticks: 2, since_tick_ns: TICK_NS / 4, took_ns: TICK_NS * 11 / 4 };
        let column = column("kernel".to_owned(), &[], &[timer, timer]);
        assert_eq!(column.rows[0].samples, [1.0, 1.0]);
    }
}
