//! When a link end has something to do by itself.

use super::LinkEnd;
use crate::frame::Mode;
use crate::time::Instant;

impl LinkEnd {
    /// When [`LinkEnd::handle_timeout`] or a poll has something to do, if nothing else happens first. May lie in the
    /// past: then it is due now.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.earliest([self.next_urgent(), self.idle_ack_at(), self.dummy_due_at()])
    }

    /// The same without what waits for an idle port ([`Priority::Low`](super::Priority::Low)): for a driver whose port
    /// is busy.
    pub fn next_urgent_timeout(&self) -> Option<Instant> {
        self.earliest([self.next_urgent(), None, None])
    }

    fn earliest(&self, times: [Option<Instant>; 3]) -> Option<Instant> {
        times.into_iter().flatten().min().map(|at| at - self.clock_lead)
    }

    fn next_urgent(&self) -> Option<Instant> {
        let peer_gone = self.peer_heard_at.map(|at| at + self.peer_memory());
        let hello = (!self.is_sessionless()).then_some(self.hello_at);
        [hello, peer_gone, self.next_receive_timeout(), self.next_transmit_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    fn next_receive_timeout(&self) -> Option<Instant> {
        let active = self.receive.active.is_some();
        let feedback = active.then(|| self.feedback_due_at()).flatten();
        [self.next_recovery_timeout(), feedback, self.silence_ends_at()].into_iter().flatten().min()
    }

    fn next_transmit_timeout(&self) -> Option<Instant> {
        let session = self.transmit.next_timeout(self.is_drained(), &self.config);
        let fallback = self.fallback.next_timeout().filter(|_| self.protection.is_some());
        let copies =
            Mode::ALL.iter().any(|&mode| self.senders[mode].has_retransmissions()).then_some(self.now);
        let withdrawal = self.withdrawal.then_some(self.now);
        let pause = self.sessionless.pause_ends_at;
        [session, fallback, copies, withdrawal, self.dummy_overdue_at(), pause].into_iter().flatten().min()
    }
}
