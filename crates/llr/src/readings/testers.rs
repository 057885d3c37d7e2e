//! What testers (OTG, Xena) show beyond SAI's counters.

use crate::receiver::{RECEIVE_STATES, ReceiveState};
use crate::time::{Instant, Span};
use crate::transmitter::{TRANSMIT_STATES, TransmitState};
use crate::{Port, SequenceNumber};

/// A tester's counters for one port. CtlOS spacing errors and the PHY's mean time between errors are not modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TesterCounters {
    pub replayed_frames: u64,
    pub replayed_bytes: u64,
    /// The number of the next new frame.
    pub tx_seq: SequenceNumber,
    pub outstanding_frames: u64,
    pub outstanding_bytes: u64,
    /// The number that the receiver expects.
    pub rx_next_seq: SequenceNumber,
    pub init_echo_mismatches: u64,
    /// Time from INIT to its echo; `None` if more than one INIT was needed.
    pub round_trip: Option<Span>,
    /// Time in each state, in the order of [`TRANSMIT_STATES`].
    pub transmit_times: [(TransmitState, Span); 5],
    /// Time in each state, in the order of [`RECEIVE_STATES`].
    pub receive_times: [(ReceiveState, Span); 4],
}

impl Port {
    /// What a tester would show of this port.
    pub fn testers(&self, now: Instant) -> TesterCounters {
        let (transmitter, receiver) = (self.transmitter(), self.receiver());
        let counters = transmitter.counters();
        TesterCounters {
            replayed_frames: counters.replayed_frames,
            replayed_bytes: counters.replayed_bytes,
            tx_seq: transmitter.next_sequence(),
            outstanding_frames: transmitter.outstanding_frames(),
            outstanding_bytes: transmitter.outstanding_bytes(),
            rx_next_seq: receiver.expected_sequence(),
            init_echo_mismatches: counters.init_echo_mismatches,
            round_trip: transmitter.round_trip(),
            transmit_times: TRANSMIT_STATES.map(|state| (state, transmitter.time_in(now, state))),
            receive_times: RECEIVE_STATES.map(|state| (state, receiver.time_in(now, state))),
        }
    }
}
