//! Moving a link end ahead as if undisturbed traffic had gone on, for simulators.
//!
//! Between losses a link end that sends or receives without pause does the same thing over and over: only its numbers
//! and its clock move. [`LinkEnd::steady_state`] says all that could tell one moment of that from another; when it comes
//! round to the same value, everything between was one cycle, and [`LinkEnd::fast_forward`] adds further cycles at once.

use super::LinkEnd;
use crate::frame::{Mode, PerMode};
use crate::time::Nanos;

/// What determines the behaviour of an undisturbed link end, apart from its clock: distances between its sequence
/// numbers, and what it owes its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SteadyState {
    /// Sender: frames outstanding, and how many of those no feedback has covered; Tx buffer, bytes.
    pub outstanding: PerMode<(u64, u64, u64)>,
    /// Receiver: frames between the next delivery and the highest number seen; Rx buffer, bytes.
    pub buffered: PerMode<(u64, u64)>,
    /// Lanes with arrivals that have not been acknowledged.
    pub pending: PerMode<bool>,
    /// The dummies to send when the normal queue runs empty: whether they start anew, how many, whether they repeat.
    pub dummies: (bool, u8, bool),
}

/// What happened at one link end in the time that is added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Undisturbed {
    /// How long it took.
    pub elapsed: Nanos,
    /// Frames sent and acknowledged, by lane.
    pub sent: PerMode<u64>,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Frames received and delivered, by lane.
    pub received: PerMode<u64>,
    /// Their bytes.
    pub received_bytes: u64,
    /// Explicit ACKs sent.
    pub acks_sent: u64,
}

impl LinkEnd {
    /// The state that returns when nothing disturbs the traffic; `None` while anything is missing, paused, or to be
    /// repeated, and always in the transparent format, whose ACKs count themselves, and with keepalives, which come with
    /// time and not with traffic.
    ///
    /// Timeouts from `out_of_reach` on are ignored: the driver says that it will not wait so long.
    pub fn steady_state(&self, out_of_reach: Nanos) -> Option<SteadyState> {
        let disturbed = |mode: Mode| {
            let (sender, receiver) = (&self.senders[mode], &self.receivers[mode]);
            sender.paused || sender.is_repairing() || receiver.missing() > 0 || receiver.is_paused()
        };
        let keeps_alive = self.config.keepalive < out_of_reach;
        if keeps_alive
            || !self.is_compact()
            || self.acks.has_more_to_say(self.config.ack_interval, out_of_reach)
            || Mode::ALL.into_iter().any(disturbed)
        {
            return None;
        }
        Some(SteadyState {
            outstanding: PerMode(Mode::ALL.map(|mode| self.senders[mode].steady_state())),
            buffered: PerMode(Mode::ALL.map(|mode| self.receivers[mode].steady_state())),
            pending: self.acks.pending(),
            dummies: self.dummies.steady_state(),
        })
    }

    /// Adds undisturbed traffic of a whole number of cycles: numbers and clocks move on, distances stay. Only between two
    /// moments with the same [`LinkEnd::steady_state`], and not beyond a timeout that is not renewed by the traffic
    /// itself (hello, handshake, fallback): the driver sets those out of reach.
    pub fn fast_forward(&mut self, ahead: &Undisturbed) {
        for mode in Mode::ALL {
            self.senders[mode].fast_forward(ahead.sent[mode]);
            self.receivers[mode].fast_forward(ahead.received[mode]);
        }
        self.stats.protected_frames += ahead.sent.0.iter().sum::<u64>();
        self.stats.protected_bytes += ahead.sent_bytes;
        let received: u64 = ahead.received.0.iter().sum();
        self.stats.received_frames += received;
        self.stats.delivered_frames += received;
        self.stats.delivered_bytes += ahead.received_bytes;
        self.stats.acks_sent += ahead.acks_sent;
        self.now = self.now + ahead.elapsed;
        self.dummies.fast_forward(ahead.elapsed);
        self.acks.fast_forward(ahead.elapsed);
        self.transmit.heard_at = self.transmit.heard_at + ahead.elapsed;
        self.receive.heard_at = self.receive.heard_at + ahead.elapsed;
        if let Some(at) = &mut self.peer_heard_at {
            *at = *at + ahead.elapsed;
        }
    }
}
