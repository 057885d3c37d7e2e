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
    /// Segments or packets sent again.
    pub retransmissions: u32,
    /// Expirations of the retransmission timer.
    pub timeouts: u32,
    /// Whether the transport gave up.
    pub failed: bool,
}

impl FlowRecord {
    /// Flow completion time: from the write until everything is acknowledged, which is what a trace at the sender shows.
    pub fn completion_time(&self) -> Time {
        Time(self.acknowledged.0 - self.began.0)
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
    /// Bytes that have not arrived in order.
    pub(crate) missing: u64,
    /// Whether everything is acknowledged.
    pub(crate) is_acknowledged: bool,
}
