//! What a scenario leaves behind: lines of text, in the order of time.

use std::fmt;

/// What begins every line; the kernel's own messages share the console.
const MARK: &str = "@";

/// A frame when its sender gave it to the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// From the call that opened the connection on.
    pub at_ns: u64,
    /// Which host has sent it; 0 opens the connection and sends the data.
    pub from: u8,
    pub is_lost: bool,
    /// As in the header of TCP.
    pub flags: u8,
    /// Both count from the SYN of their stream.
    pub sequence: u32,
    pub acknowledgement: u32,
    pub bytes: u32,
    /// Number of SACK blocks.
    pub sacks: u8,
}

/// The sender, after it has heard something: fields of `tcp_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    pub at_ns: u64,
    /// 0: open, 1: disorder, 2: window reduced, 3: recovery, 4: loss.
    pub phase: u8,
    pub window: u32,
    pub threshold: u32,
    pub rto_us: u32,
    pub rtt_us: u32,
    pub deviation_us: u32,
    pub retransmitted: u32,
}

/// What one line of the console says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// Release of the kernel, and its clock source.
    Kernel(String),
    /// A scenario begins, in this phase.
    Begin {
        name: String,
        phase: u64,
    },
    /// How long after the latest tick it began.
    SinceTick(u64),
    Frame(Frame),
    Sender(Sender),
    /// A socket's timeout of so many ticks: how long after a tick it was set, and how long it took.
    Timer {
        ticks: u32,
        since_tick_ns: u64,
        took_ns: u64,
    },
    /// It could not be played.
    Failed(String),
    /// Everything was played.
    Complete,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK} ")?;
        match self {
            Record::Kernel(release) => write!(f, "kernel {release}"),
            Record::Begin { name, phase } => write!(f, "begin {phase} {name}"),
            Record::SinceTick(ns) => write!(f, "tick {ns}"),
            Record::Frame(frame) => write!(
                f,
                "frame {} {} {} {} {} {} {} {}",
                frame.at_ns,
                frame.from,
                u8::from(frame.is_lost),
                frame.flags,
                frame.sequence,
                frame.acknowledgement,
                frame.bytes,
                frame.sacks
            ),
            Record::Sender(sender) => write!(
                f,
                "sender {} {} {} {} {} {} {} {}",
                sender.at_ns,
                sender.phase,
                sender.window,
                sender.threshold,
                sender.rto_us,
                sender.rtt_us,
                sender.deviation_us,
                sender.retransmitted
            ),
            Record::Timer { ticks, since_tick_ns, took_ns } => {
                write!(f, "timer {ticks} {since_tick_ns} {took_ns}")
            }
            Record::Failed(why) => write!(f, "failed {why}"),
            Record::Complete => write!(f, "complete"),
        }
    }
}

impl Record {
    /// The record in a line of the console; `None` if it has none, or a damaged one.
    pub fn parse(line: &str) -> Option<Record> {
        // The kernel may have begun a line of its own before.
        let (_, record) = line.trim_end().split_once(&format!("{MARK} "))?;
        let (kind, rest) = record.split_once(' ').unwrap_or((record, ""));
        match kind {
            "kernel" => Some(Record::Kernel(rest.to_owned())),
            "begin" => {
                let (phase, name) = rest.split_once(' ')?;
                Some(Record::Begin { name: name.to_owned(), phase: phase.parse().ok()? })
            }
            "failed" => Some(Record::Failed(rest.to_owned())),
            "complete" => Some(Record::Complete),
            _ => Record::of_numbers(kind, &numbers(rest)?),
        }
    }

    fn of_numbers(kind: &str, numbers: &[u64]) -> Option<Record> {
        let small = |number: u64| u32::try_from(number).ok();
        let byte = |number: u64| u8::try_from(number).ok();
        Some(match (kind, numbers) {
            ("tick", &[ns]) => Record::SinceTick(ns),
            ("frame", &[at_ns, from, lost, flags, sequence, acknowledgement, bytes, sacks]) => {
                Record::Frame(Frame {
                    at_ns,
                    from: byte(from)?,
                    is_lost: lost == 1,
                    flags: byte(flags)?,
                    sequence: small(sequence)?,
                    acknowledgement: small(acknowledgement)?,
                    bytes: small(bytes)?,
                    sacks: byte(sacks)?,
                })
            }
            ("sender", &[at_ns, phase, window, threshold, rto, rtt, deviation, retransmitted]) => {
                Record::Sender(Sender {
                    at_ns,
                    phase: byte(phase)?,
                    window: small(window)?,
                    threshold: small(threshold)?,
                    rto_us: small(rto)?,
                    rtt_us: small(rtt)?,
                    deviation_us: small(deviation)?,
                    retransmitted: small(retransmitted)?,
                })
            }
            ("timer", &[ticks, since_tick_ns, took_ns]) => {
                Record::Timer { ticks: small(ticks)?, since_tick_ns, took_ns }
            }
            _ => return None,
        })
    }
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    text.split(' ').map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Vec<Record> {
        let frame = Frame {
            at_ns: 1,
            from: 1,
            is_lost: true,
            flags: 0x12,
            sequence: 2,
            acknowledgement: 3,
            bytes: 4,
            sacks: 5,
        };
        let sender = Sender {
            at_ns: 1,
            phase: 3,
            window: 10,
            threshold: 2_147_483_647,
            rto_us: 4,
            rtt_us: 5,
            deviation_us: 6,
            retransmitted: 7,
        };
        vec![
            Record::Kernel("6.1.0 tsc".to_owned()),
            Record::Begin { name: "last-two 10ms".to_owned(), phase: 7 },
            Record::SinceTick(17),
            Record::Frame(frame),
            Record::Sender(sender),
            Record::Timer { ticks: 50, since_tick_ns: 17, took_ns: 200_000_001 },
            Record::Failed("no module".to_owned()),
            Record::Complete,
        ]
    }

    #[test]
    fn a_line_says_all_that_a_record_holds() {
        for record in examples() {
            assert_eq!(Record::parse(&record.to_string()), Some(record.clone()));
            assert_eq!(Record::parse(&format!("[ 1.5] a message{record}\r\n")), Some(record));
        }
    }

    #[test]
    fn other_lines_and_damaged_ones_have_none() {
        for line in
            ["", "[    1.0] TCP: cubic registered", "@ frame 1 2", "@ tick x", "@ unknown 1", "@ begin 1"]
        {
            assert_eq!(Record::parse(line), None, "{line}");
        }
    }
}
