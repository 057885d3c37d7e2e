//! The state of a queue pair that can be queried.

/// Whether a queue pair works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    #[default]
    ReadyToSend,
    /// A retry counter ran out, or a request was refused: nothing is sent or received any more (section 9.9).
    Error,
}

/// The state and the counters of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Info {
    pub state: State,
    /// Messages posted, and messages completed without an error.
    pub posted: u64,
    pub completed: u64,
    /// The first packet that is not acknowledged.
    pub unacknowledged: u64,
    /// The first packet that was never sent.
    pub next: u64,
    /// The packet that the responder expects (ePSN).
    pub expected: u64,
    /// Whether the responder has seen a later packet, and has reported this in a NAK that may still be in flight or
    /// lost.
    pub misses_expected: bool,
    /// The packet that the last NAK of a sequence error asked for, or the first of a READ's response that was missed.
    pub asked_for: Option<u64>,
    /// The first packet that a READ waits for.
    pub unread: Option<u64>,
    /// Messages that the responder has completed (MSN).
    pub received_messages: u64,
    /// Bytes of payload in the packets that the responder has accepted in order.
    pub received_bytes: u64,
    /// Requests sent, including retransmissions.
    pub requests_sent: u64,
    pub requests_resent: u64,
    /// Times the transport timer expired.
    pub timeouts: u64,
    /// NAKs of sequence errors that made the requester retransmit.
    pub sequence_naks: u64,
    /// Times that a missing packet of a READ's response made the requester ask again (implied NAK, section 9.7.5.2).
    pub implied_naks: u64,
    /// RNR NAKs that made the requester wait.
    pub rnr_naks: u64,
    pub acks_sent: u64,
    /// Packets of responses to READs.
    pub read_responses_sent: u64,
    /// NAKs sent, RNR NAKs among them.
    pub naks_sent: u64,
    /// Requests that arrived again.
    pub duplicates: u64,
    /// Requests that arrived ahead of the expected one.
    pub out_of_order: u64,
    pub cnps_sent: u64,
    pub cnps_received: u64,
    /// DCQCN's rate in bits per second, as of the last packet sent or CNP received.
    pub rate: Option<u64>,
}
