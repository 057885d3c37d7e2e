//! When a link end acts on its own initiative: all its timers in one table, and the actions when they are due.

use super::LinkEnd;
use crate::time::Instant;

impl LinkEnd {
    /// When everything is due that a driver does whether or not its port is idle. [`LinkEnd::handle_timeout`] does the
    /// first group, polling [`Priority::High`](super::Priority::High) the second.
    fn urgent_timers(&self) -> [Option<Instant>; 12] {
        let LinkEnd { shared, sending, receiving } = self;
        [
            receiving.next_recovery_timeout(),
            receiving.silence_ends_at(shared),
            receiving.asks_at(shared),
            sending.fallback_timeout(),
            sending.pause_ends_at,
            shared.peer_forgotten_at(),
            // Both the peer's silence, and the next frame of the handshake.
            sending.session_timeout(shared),
            receiving.urgent_feedback_due_at(shared),
            sending.copies_due_at(shared),
            sending.withdrawal_due_at(shared),
            sending.dummy_overdue_at(shared),
            shared.hello_due_at(),
        ]
    }

    /// When everything is due that waits for an idle port, and that polling [`Priority::Low`](super::Priority::Low)
    /// does.
    fn idle_timers(&self) -> [Option<Instant>; 2] {
        [self.sending.dummy_due_at(&self.shared), self.receiving.idle_ack_at(&self.shared)]
    }

    /// When [`LinkEnd::handle_timeout`] or a poll has something to do, if nothing else happens first. A time in the
    /// past means that it is due now.
    pub fn next_timeout(&self) -> Option<Instant> {
        let [dummy, ack] = self.idle_timers();
        self.earliest([self.first_urgent(), dummy, ack])
    }

    /// The same without what waits for an idle port ([`Priority::Low`](super::Priority::Low)), for a driver whose port
    /// is busy.
    pub fn next_urgent_timeout(&self) -> Option<Instant> {
        self.earliest([self.first_urgent(), None, None])
    }

    fn first_urgent(&self) -> Option<Instant> {
        self.urgent_timers().into_iter().flatten().min()
    }

    /// The earliest of these times, by the driver's clock.
    fn earliest(&self, times: [Option<Instant>; 3]) -> Option<Instant> {
        times.into_iter().flatten().min().map(|at| at - self.shared.clock_lead)
    }

    /// Does what is due: gives up overdue frames, ends sessions of silent peers, changes the fallback level.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.advance(now);
        self.receiving.handle_timeout(&mut self.shared, now);
        self.sending.handle_timeout(&mut self.shared, now);
        self.shared.forget_silent_peer(now);
    }
}
