//! Advances a link end as if undisturbed traffic had continued, for simulators.
//!
//! Between losses, a link end that sends or receives without a pause repeats itself: only its numbers and its clock
//! change. [`LinkEnd::steady_state`] returns everything that could distinguish one such moment from another; when it
//! returns the same value again, [`LinkEnd::fast_forward`] adds further cycles at once.
//!
//! A link end alone cannot recognise a cycle: that takes a driver that compares everything, at both ends. Two moments
//! are a cycle apart if the following are equal, with clocks and numbers relative to the moment:
//!
//! - the steady states of both ends;
//! - what is on the wires, and how far each receiver is behind its sender: a frame that was lost and is not missed yet
//!   is on no wire and in no steady state;
//! - the driver's own queues and timers;
//!
//! and if only frames of [`LinkEnd::send`] and [`Control::CompactAck`](super::Control::CompactAck) were sent between
//! them, and nothing was lost.

use super::LinkEnd;
use crate::mode::{Mode, PerMode};
use crate::time::{Instant, Ticks};

/// What determines the behaviour of an undisturbed link end, apart from its clock: distances between its sequence
/// numbers, what it owes its peer, and how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SteadyState {
    /// Sender: frames outstanding, and how many of those no feedback has covered; Tx buffer, bytes.
    pub outstanding: PerMode<(u64, u64, u64)>,
    /// Receiver: frames between the next delivery and the highest number seen; Rx buffer, bytes.
    pub buffered: PerMode<(u64, u64)>,
    /// Lanes with arrivals that have not been acknowledged.
    pub pending: PerMode<bool>,
    /// The dummies to send when a lane has nothing to send: whether they start again, how many, whether they repeat.
    pub dummies: PerMode<(bool, u8, bool)>,
    /// How long an ACK that is or will be owed waits for an idle port, and how long each lane's for any; zero when it
    /// need not wait.
    pub ack_wait: (Ticks, PerMode<Ticks>),
    /// How long the next dummy waits for an idle port while frames are outstanding, and how long for any; zero when it
    /// need not wait.
    pub dummy_wait: (Ticks, Ticks),
}

/// What happened at one link end in the time that is skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Undisturbed {
    /// Length of that time.
    pub elapsed: Ticks,
    /// Frames sent and acknowledged, by lane.
    pub sent: PerMode<u64>,
    pub sent_bytes: u64,
    /// Frames received and delivered, by lane.
    pub received: PerMode<u64>,
    pub received_bytes: u64,
    /// Explicit ACKs sent.
    pub acks_sent: u64,
}

impl LinkEnd {
    /// The state that recurs while nothing disturbs the traffic. `None` while anything is missing, paused, or to be
    /// repeated; always in the transparent format, whose ACKs count themselves; and with keepalives, which depend on
    /// time and not on traffic.
    ///
    /// Timeouts from `out_of_reach` on are ignored: the driver promises not to wait so long.
    pub fn steady_state(&self, now: Instant, out_of_reach: Ticks) -> Option<SteadyState> {
        let now = now + self.shared.clock_lead;
        let disturbed = |mode: Mode| {
            let (sender, receiver) = (&self.sending.senders[mode], &self.receiving.receivers[mode]);
            sender.paused || sender.is_repairing() || receiver.missing() > 0 || receiver.is_paused()
        };
        let keeps_alive = self.shared.config.keepalive < out_of_reach;
        if keeps_alive
            || !self.shared.is_compact()
            || self.shared.is_sessionless()
            || !self.sending.is_lane_confirmed()
            || self.receiving.acks.owes_more_than_ack(self.shared.config.ack_interval, out_of_reach)
            || Mode::ALL.into_iter().any(disturbed)
        {
            return None;
        }
        Some(SteadyState {
            outstanding: PerMode(Mode::ALL.map(|mode| self.sending.senders[mode].steady_state())),
            buffered: PerMode(Mode::ALL.map(|mode| self.receiving.receivers[mode].steady_state())),
            pending: self.receiving.acks.pending(),
            dummies: self.sending.dummies.steady_state(),
            ack_wait: self.receiving.acks.waits(now, &self.shared.config, out_of_reach),
            dummy_wait: self.dummy_wait(now, out_of_reach),
        })
    }

    /// With nothing outstanding the next dummy is a keepalive, which is out of reach.
    fn dummy_wait(&self, now: Instant, out_of_reach: Ticks) -> (Ticks, Ticks) {
        let outstanding = self.outstanding() > 0;
        let wait = |at: Option<Instant>| {
            at.filter(|_| outstanding).map_or(Ticks::ZERO, |at| at.since(now).min(out_of_reach))
        };
        (wait(self.sending.dummy_due_at(&self.shared)), wait(self.dummy_overdue_at()))
    }

    /// Adds undisturbed traffic of a whole number of cycles: numbers advance, and so do the clocks that this traffic
    /// renews; distances stay. Call it only between two moments a cycle apart (see the module), and not beyond a
    /// timeout that the traffic does not renew (hello, handshake, fallback, keepalive): the driver sets those out of
    /// reach.
    pub fn fast_forward(&mut self, ahead: &Undisturbed) {
        let (sent, received): (u64, u64) = (ahead.sent.0.iter().sum(), ahead.received.0.iter().sum());
        for mode in Mode::ALL {
            self.sending.senders[mode].fast_forward(ahead.sent[mode]);
            self.receiving.receivers[mode].fast_forward(ahead.received[mode]);
        }
        self.shared.stats.protected_frames += sent;
        self.shared.stats.protected_bytes += ahead.sent_bytes;
        self.shared.stats.received_frames += received;
        self.shared.stats.delivered_frames += received;
        self.shared.stats.delivered_bytes += ahead.received_bytes;
        self.shared.stats.acks_sent += ahead.acks_sent;
        self.shared.now = self.shared.now + ahead.elapsed;
        if sent > 0 {
            self.sending.dummies.fast_forward(ahead.elapsed, ahead.sent);
            // As many frames were acknowledged.
            self.sending.transmit.heard_at = self.sending.transmit.heard_at + ahead.elapsed;
        }
        if received > 0 {
            self.receiving.receive.heard_at = self.receiving.receive.heard_at + ahead.elapsed;
        }
        if ahead.acks_sent > 0 {
            self.receiving.acks.fast_forward(ahead.elapsed);
            self.shared.peer.hello_at = self.shared.peer.hello_at + ahead.elapsed;
        }
    }
}
