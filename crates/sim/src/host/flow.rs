//! The flows of a run: who they are between, and what became of them.

use crate::time::Time;

/// What became of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowRecord {
    /// Numbers of the hosts that sent and received it.
    pub source: u32,
    pub destination: u32,
    /// Bytes that its application wrote.
    pub bytes: u64,
    /// When the application wrote them.
    pub began: Time,
    /// When the last of them had arrived in order at the other host's application.
    pub delivered: Time,
    /// When the sender knew that all had arrived.
    pub acknowledged: Time,
    /// Segments or packets retransmitted.
    pub retransmissions: u32,
    /// Expirations of the retransmission timer.
    pub timeouts: u32,
    /// Whether the transport gave up.
    pub failed: bool,
    /// Number of the traffic that it is one of.
    pub traffic: u16,
    pub disturbance: Disturbance,
}

impl FlowRecord {
    /// Flow completion time: from the write until everything is acknowledged, which is what a trace at the sender shows.
    pub fn completion_time(&self) -> Time {
        Time(self.acknowledged.0 - self.began.0)
    }

    /// From the write until everything had arrived.
    pub fn delivery_time(&self) -> Time {
        Time(self.delivered.0 - self.began.0)
    }
}

/// What disturbed a flow, and how its sender reacted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Disturbance {
    /// Frames of its data that links corrupted, copies not counted.
    pub frames_corrupted: u32,
    /// Frames, in either direction, that a failed link lost, or that waited because it had failed.
    pub frames_failed: u32,
    /// Whether one of its last three packets was among those corrupted.
    pub tail_corrupted: bool,
    /// The largest number of bytes that an acknowledgement reported beyond a hole (SACK).
    pub sacked_bytes_max: u64,
    /// Bytes that the sender had not sent yet when that number first exceeded two segments.
    pub pending_bytes: u64,
    /// Whether the sender took a packet for lost because of it, and reduced its window.
    pub recovered: bool,
}

/// The groups of Figure 13, for flows whose sender received a SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// At most two segments were SACKed: the missing one arrived in time.
    A,
    /// The same for a loss among the last three packets, behind which there is little to be SACKed.
    B,
    /// More were SACKed, after everything had been sent: a smaller window slows nothing down.
    C,
    /// More were SACKed before everything had been sent.
    D,
}

impl Disturbance {
    /// Packets at the end of a flow that make a tail loss (section 4.4).
    pub(crate) const TAIL_PACKETS: u64 = 3;
    /// A sender reduces its window when more segments than this are SACKed.
    pub(crate) const TOLERATED_SEGMENTS: u64 = 2;

    /// The group of a flow with segments of this length; `None` if nothing was SACKed.
    pub fn group(&self, mss: u32) -> Option<Group> {
        if self.sacked_bytes_max == 0 {
            return None;
        }
        let is_much = self.sacked_bytes_max > Self::TOLERATED_SEGMENTS * u64::from(mss);
        Some(match (is_much, self.tail_corrupted, self.pending_bytes > 0) {
            (false, false, _) => Group::A,
            (false, true, _) => Group::B,
            (true, _, false) => Group::C,
            (true, _, true) => Group::D,
        })
    }

    /// Takes note of what an acknowledgement reports beyond holes, when so much was not sent yet.
    pub(crate) fn note_sack(&mut self, sacked_bytes: u64, pending_bytes: u64, mss: u32) {
        let enough = Self::TOLERATED_SEGMENTS * u64::from(mss);
        if sacked_bytes > enough && self.sacked_bytes_max <= enough {
            self.pending_bytes = pending_bytes;
        }
        self.sacked_bytes_max = self.sacked_bytes_max.max(sacked_bytes);
    }
}

/// Who a flow is between, and which one it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowIdentity {
    /// Its number among all flows of the network, in the order in which they began.
    pub number: u64,
    /// Numbers of the hosts that send and receive it.
    pub source: u32,
    pub destination: u32,
}

/// The number of an end of a flow. The two ends of a flow follow each other, and the first one, which is even, sends the
/// data; the frames of an end have its number as the number of their flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End(pub(crate) u32);

impl End {
    /// The sending and the receiving end of a pair.
    pub(crate) fn of_pair(pair: u32) -> [End; 2] {
        [End(2 * pair), End(2 * pair + 1)]
    }

    /// The end at the other host.
    pub(crate) fn other(self) -> End {
        let [sending, receiving] = End::of_pair(self.pair());
        if self == sending { receiving } else { sending }
    }

    /// The number of its pair.
    pub(crate) fn pair(self) -> u32 {
        self.0 / 2
    }

    /// Whether it sends the data.
    pub(crate) fn is_sending(self) -> bool {
        self.0.is_multiple_of(2)
    }
}

/// A flow under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Active {
    pub(crate) record: FlowRecord,
    /// Its number among the flows of its traffic, in the order in which they began.
    pub(crate) number: u64,
    /// Bytes that have not arrived in order.
    pub(crate) missing: u64,
    /// Whether everything is acknowledged.
    pub(crate) is_acknowledged: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_grouped_by_what_was_sacked_and_what_was_left_to_send() {
        let of = |sacks: &[(u64, u64)], tail_corrupted| {
            let mut disturbance = Disturbance { tail_corrupted, ..Disturbance::default() };
            sacks.iter().for_each(|(sacked, pending)| disturbance.note_sack(*sacked, *pending, 1_000));
            disturbance.group(1_000)
        };
        assert_eq!(of(&[], true), None);
        assert_eq!(of(&[(1_000, 0), (2_000, 5_000)], false), Some(Group::A));
        assert_eq!(of(&[(2_000, 0)], true), Some(Group::B));
        assert_eq!(of(&[(1_000, 5_000), (2_001, 0), (3_000, 9_000)], false), Some(Group::C));
        assert_eq!(of(&[(1_000, 5_000), (2_001, 1), (3_000, 0)], true), Some(Group::D));
    }
}
