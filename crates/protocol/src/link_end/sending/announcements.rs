//! Dummies: when they leave, and their content.

use super::SendingSide;
use crate::link_end::Control;
use crate::link_end::shared::Shared;
use crate::mode::{Mode, PerMode};
use crate::sequence::LongSequenceNumber;
use crate::session::TransmitState;
use crate::time::Instant;

impl SendingSide {
    /// A dummy for an idle port.
    pub(in crate::link_end) fn poll_dummy(&mut self, shared: &mut Shared, now: Instant) -> Option<Control> {
        (now >= self.dummy_due_at(shared)?).then(|| self.compose_dummy(shared, now))
    }

    /// A dummy that has found no idle port for too long.
    pub(in crate::link_end) fn poll_overdue_dummy(
        &mut self,
        shared: &mut Shared,
        now: Instant,
    ) -> Option<Control> {
        (now >= self.dummy_overdue_at(shared)?).then(|| self.compose_dummy(shared, now))
    }

    fn compose_dummy(&mut self, shared: &mut Shared, now: Instant) -> Control {
        shared.stats.dummies_sent += 1;
        let lanes = self.lanes_outstanding();
        if shared.is_sessionless() {
            self.dummies.left(now, lanes, &shared.config);
            return self.sessionless_dummy(shared, now);
        }
        if shared.is_compact()
            && let Some(mode) = self.dummies.first_burst(now, lanes, &shared.config)
        {
            let lane = PerMode(Mode::ALL.map(|other| other == mode));
            self.dummies.left(now, lane, &shared.config);
            let next = self.senders[mode].next_sequence();
            return Control::CompactDummy { mode, next };
        }
        self.dummies.left(now, lanes, &shared.config);
        self.compose_whole_dummy(now)
    }

    /// A dummy with all content, whatever the format.
    fn compose_whole_dummy(&mut self, now: Instant) -> Control {
        let stamp = self.dummies.next_stamp(now);
        let next = Mode::ALL.map(|mode| self.senders[mode].next());
        Control::Dummy {
            session: self.transmit.session,
            stamp,
            next: PerMode(next.map(LongSequenceNumber::from_absolute)),
            held_from: PerMode(Mode::ALL.map(|mode| self.senders[mode].announce_held())),
        }
    }

    /// When a withdrawal must go: immediately.
    pub(in crate::link_end) fn withdrawal_due_at(&self, shared: &Shared) -> Option<Instant> {
        self.withdrawal.then_some(shared.now)
    }

    /// A dummy that cannot wait, because the receiver waits for frames that the sender no longer holds.
    pub(in crate::link_end) fn poll_withdrawal(
        &mut self,
        shared: &mut Shared,
        now: Instant,
    ) -> Option<Control> {
        core::mem::take(&mut self.withdrawal).then(|| {
            shared.stats.dummies_sent += 1;
            self.compose_whole_dummy(now)
        })
    }

    /// When the next dummy may take an idle port: soon while something is unacknowledged, as a keepalive otherwise.
    #[inline]
    pub(in crate::link_end) fn dummy_due_at(&self, shared: &Shared) -> Option<Instant> {
        match self.transmit.state {
            TransmitState::Dormant | TransmitState::Opening => None,
            TransmitState::Active | TransmitState::Draining => {
                let due_at = self.dummies.due_at(self.lanes_outstanding(), &shared.config);
                // The authors' receiver answers no dummy that announces nothing new.
                let keeps_alive = self.transmit.state == TransmitState::Active && !shared.is_sessionless();
                due_at.or_else(|| keeps_alive.then(|| self.dummies.keepalive_at(&shared.config)))
            }
        }
    }

    /// See [`LinkEnd::dummy_overdue_at`](crate::LinkEnd::dummy_overdue_at).
    #[inline]
    pub(in crate::link_end) fn dummy_overdue_at(&self, shared: &Shared) -> Option<Instant> {
        Some(self.dummy_due_at(shared)? + shared.config.dummy_interval_min)
    }
}
