//! The connections that are measured.

/// Payload of a full segment: packets of 1,500 B with IPv4 and timestamps.
pub const MSS: u32 = 1_448;
/// Nanoseconds of a millisecond and a microsecond.
const MS: u64 = 1_000_000;
const US: u64 = 1_000;
/// A tick of a kernel with 250 a second, which all of Debian's are.
pub const TICK_NS: u64 = 4 * MS;
/// Each scenario is played in so many phases, spread evenly over a tick.
pub const PHASES: u64 = 8;

/// One connection from host 0 to host 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    pub name: String,
    /// Name of the congestion control, as Linux knows it.
    pub algorithm: &'static str,
    /// From one host to the other, without the way back.
    pub delay_ns: u64,
    /// When the sender writes how many bytes, from its first call (which opens the connection) on.
    pub writes: Vec<(u64, u32)>,
    /// Which of the sender's frames with data are lost, counted from 1, retransmissions included.
    pub lost: Vec<u64>,
    /// How many SYN, and how many SYN with ACK, are lost at first.
    pub lost_syns: [u64; 2],
    /// Whether the receiver reads at once what arrives, and not at all.
    pub reads: bool,
    pub duration_ns: u64,
    pub phases: u64,
}

impl Scenario {
    /// A flow of full segments, written after the handshake.
    fn flow(name: impl Into<String>, delay_ns: u64, segments: u32, lost: &[u64]) -> Scenario {
        Scenario {
            name: name.into(),
            algorithm: "cubic",
            delay_ns,
            writes: vec![(300 * MS, segments * MSS)],
            lost: lost.to_vec(),
            lost_syns: [0; 2],
            reads: true,
            duration_ns: 1_500 * MS,
            phases: PHASES,
        }
    }
}

/// One-way delays and how the names call the round trips they make.
const PATHS: [(u64, &str); 4] = [(25 * US, "50us"), (500 * US, "1ms"), (5 * MS, "10ms"), (25 * MS, "50ms")];

/// All scenarios, in the order in which they are played.
pub fn all() -> Vec<Scenario> {
    let mut all = Vec::new();
    for (delay, rtt) in PATHS {
        all.push(Scenario::flow(format!("lone {rtt}"), delay, 1, &[1]));
        all.push(Scenario::flow(format!("last {rtt}"), delay, 10, &[10]));
        all.push(Scenario::flow(format!("last-two {rtt}"), delay, 10, &[9, 10]));
        all.push(Scenario::flow(format!("last-two-and-probe {rtt}"), delay, 10, &[9, 10, 11]));
        all.push(Scenario::flow(format!("one-later {rtt}"), delay, 10, &[9]));
        all.push(Scenario::flow(format!("two-later {rtt}"), delay, 10, &[8]));
        all.push(Scenario::flow(format!("three-later {rtt}"), delay, 10, &[7]));
        all.push(Scenario::flow(format!("retransmission {rtt}"), delay, 10, &[5, 11]));
    }
    for (name, lost_syns) in [("syn", [1, 0]), ("three-syns", [3, 0]), ("syn-ack", [0, 1])] {
        let duration_ns = 12_000 * MS;
        all.push(Scenario {
            lost_syns,
            duration_ns,
            writes: Vec::new(),
            ..Scenario::flow(name, 5 * MS, 1, &[])
        });
    }
    // Single segments, none of which waits for the acknowledgement of the one before.
    for (kind, reads) in [("read", true), ("unread", false)] {
        for gap in [60, 150] {
            let writes: Vec<_> = (0..60).map(|n| ((300 + n * gap) * MS, 100)).collect();
            let duration_ns = (1_000 + 60 * gap) * MS;
            let flow = Scenario::flow(format!("{kind} {gap}ms"), 5 * MS, 1, &[]);
            all.push(Scenario { writes, reads, duration_ns, phases: 1, ..flow });
        }
    }
    for algorithm in ["reno", "cubic", "dctcp", "bbr"] {
        let flow = Scenario::flow(format!("window {algorithm}"), 5 * MS, 600, &[100]);
        all.push(Scenario { algorithm, phases: 1, ..flow });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_everything_written_can_arrive_in_time() {
        let all = all();
        let names: BTreeSet<_> = all.iter().map(|scenario| &scenario.name).collect();
        assert_eq!(names.len(), all.len());
        for scenario in &all {
            assert!(scenario.phases > 0, "{}", scenario.name);
            let last = scenario.writes.last().map_or(0, |(at, _)| *at);
            assert!(last + 100 * MS < scenario.duration_ns, "{}", scenario.name);
        }
    }
}
