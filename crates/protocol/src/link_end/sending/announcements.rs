//! Dummies: when one leaves, and what it says.

use crate::frame::{Mode, PerMode};
use crate::link_end::{Control, LinkEnd};
use crate::sequence::LongSequenceNumber;
use crate::session::TransmitState;
use crate::time::Instant;

impl LinkEnd {
    /// A dummy for an idle port.
    pub(in crate::link_end) fn poll_dummy(&mut self, now: Instant) -> Option<Control> {
        (now >= self.dummy_due_at()?).then(|| self.compose_dummy(now))
    }

    /// A dummy that has found no idle port for too long.
    pub(in crate::link_end) fn poll_overdue_dummy(&mut self, now: Instant) -> Option<Control> {
        (now >= self.dummy_overdue_at()?).then(|| self.compose_dummy(now))
    }

    pub(in crate::link_end) fn compose_dummy(&mut self, now: Instant) -> Control {
        self.stats.dummies_sent += 1;
        let lanes = self.lanes_outstanding();
        if self.is_sessionless() {
            self.dummies.left(now, lanes, &self.config);
            return self.sessionless_dummy(now);
        }
        if self.is_compact()
            && let Some(mode) = self.dummies.first_burst(now, lanes, &self.config)
        {
            let lane = PerMode(Mode::ALL.map(|other| other == mode));
            self.dummies.left(now, lane, &self.config);
            let next = self.senders[mode].next_sequence();
            return Control::CompactDummy { mode, next };
        }
        self.dummies.left(now, lanes, &self.config);
        self.compose_whole_dummy(now)
    }

    /// A dummy that says everything, whatever the format.
    pub(in crate::link_end) fn compose_whole_dummy(&mut self, now: Instant) -> Control {
        let stamp = self.dummies.next_stamp(now);
        let next = Mode::ALL.map(|mode| self.senders[mode].next());
        Control::Dummy {
            session: self.transmit.session,
            stamp,
            next: PerMode(next.map(LongSequenceNumber::from_absolute)),
            held_from: PerMode(Mode::ALL.map(|mode| self.senders[mode].announce_held())),
        }
    }

    /// A dummy that cannot wait: the receiver waits for what there is no more.
    pub(in crate::link_end) fn poll_withdrawal(&mut self, now: Instant) -> Option<Control> {
        core::mem::take(&mut self.withdrawal).then(|| {
            self.stats.dummies_sent += 1;
            self.compose_whole_dummy(now)
        })
    }

    /// When the next dummy may take an idle port: soon while something is unacknowledged, as a keepalive otherwise.
    #[inline]
    pub(in crate::link_end) fn dummy_due_at(&self) -> Option<Instant> {
        match self.transmit.state {
            TransmitState::Dormant | TransmitState::Opening => None,
            TransmitState::Active | TransmitState::Draining => {
                let due_at = self.dummies.due_at(self.lanes_outstanding(), &self.config);
                // The authors' receiver answers no dummy that announces nothing new.
                let keeps_alive = self.transmit.state == TransmitState::Active && !self.is_sessionless();
                due_at.or_else(|| keeps_alive.then(|| self.dummies.keepalive_at(&self.config)))
            }
        }
    }

    /// When the next dummy no longer waits for an idle port. Drivers that poll [`Priority::High`](crate::Priority::High)
    /// only when there is reason to, and whose port may be busy without end, do so then.
    #[inline]
    pub fn dummy_overdue_at(&self) -> Option<Instant> {
        Some(self.dummy_due_at()? + self.config.dummy_interval_min)
    }
}
