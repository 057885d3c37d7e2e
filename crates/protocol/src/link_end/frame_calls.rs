//! The calls that a driver makes for each frame. One of the two sides handles them, or both.

use super::{Admission, Control, LinkEnd, Reception, RoundTrips, Transmit};
use crate::frame::{DataHeader, FrameHandle, PiggybackAck};
use crate::mode::Mode;
use crate::sequence::SequenceNumber;
use crate::session::SessionNumber;
use crate::time::Instant;

/// Calls of the sending direction.
impl LinkEnd {
    /// Whether a frame of `bytes` for `mode` may leave now.
    #[inline]
    pub fn admission(&self, mode: Mode, bytes: u32) -> Admission {
        self.sending.admission(&self.shared, mode, bytes)
    }

    /// Whether a frame that is held in `mode` waits until everything in the other lane is acknowledged, because the
    /// authors' headers name no lane. That never happens if more and more is sent there.
    pub fn waits_for_lane(&self, mode: Mode) -> bool {
        self.sending.waits_for_lane(&self.shared, mode)
    }

    /// Numbers a frame and keeps its handle until [`LinkEnd::poll_release`] returns it. `None` means that it goes
    /// unprotected, and its handle stays with the driver. Ask [`LinkEnd::admission`] first; a frame that is held is
    /// treated as unprotected here, which loses its place.
    #[inline]
    pub fn send(&mut self, now: Instant, mode: Mode, frame: FrameHandle, bytes: u32) -> Option<DataHeader> {
        if self.admission(mode, bytes) != Admission::Protected {
            self.advance(now);
            self.shared.stats.unprotected_frames += 1;
            return None;
        }
        Some(self.send_admitted(now, mode, frame, bytes))
    }

    /// The same for a frame for which [`LinkEnd::admission`] has just returned [`Admission::Protected`], without asking
    /// it again.
    ///
    /// # Panics
    /// In debug builds, if it is not admitted as protected.
    #[inline(always)]
    pub fn send_admitted(&mut self, now: Instant, mode: Mode, frame: FrameHandle, bytes: u32) -> DataHeader {
        debug_assert_eq!(self.admission(mode, bytes), Admission::Protected, "ask for admission first");
        let now = self.advance(now);
        let LinkEnd { shared, sending, receiving } = self;
        let (mode, sequence) = sending.send(shared, now, mode, frame, bytes);
        let ack = if shared.is_compact() { None } else { receiving.take_piggyback(shared, now) };
        DataHeader { sequence, mode, retransmitted: false, ack }
    }

    /// The next copy of [`Priority::High`](crate::Priority::High), for drivers that cannot retransmit at every moment.
    pub fn poll_retransmission(&mut self) -> Option<Transmit> {
        self.sending.poll_retransmission(&mut self.shared)
    }

    /// The next copy of `frame`, if it waits for retransmission. For drivers that can reach a frame of the Tx buffer
    /// only at certain times: on the Tofino, when it returns from recirculation (appendix A.2).
    #[inline]
    pub fn poll_retransmission_of(&mut self, frame: FrameHandle) -> Option<Transmit> {
        self.sending.poll_retransmission_of(&mut self.shared, frame)
    }

    /// A frame whose buffer the link end no longer needs.
    #[inline]
    pub fn poll_release(&mut self) -> Option<FrameHandle> {
        self.sending.released.pop_front()
    }

    /// Handles an acknowledgement that travelled on a frame.
    #[inline]
    pub fn handle_ack(&mut self, now: Instant, ack: PiggybackAck) -> bool {
        let now = self.advance(now);
        self.sending.acknowledged(&mut self.shared, now, ack)
    }

    /// Whether the peer holds the ordered lane back (Algorithm 2).
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.sending.is_paused()
    }

    /// The session and the whole number of a frame that was sent with this header, which its tag covers.
    /// `None` if it is not of this session's window.
    pub fn number_sent(&self, header: &DataHeader) -> Option<(SessionNumber, u64)> {
        let next = self.sending.senders[header.mode].next();
        Some((self.sending.transmit.session, header.sequence.expand(next)?))
    }

    /// The same for a frame that arrived, by what was received before. `None` without a session, too.
    pub fn number_received(&self, header: &DataHeader) -> Option<(SessionNumber, u64)> {
        let highest = self.receiving.receivers[header.mode].highest();
        Some((self.receiving.receive.active?, header.sequence.expand(highest)?))
    }

    /// The session and the whole number of an ACK that leaves. `None` as above.
    pub fn number_acknowledging(&self, ack: PiggybackAck) -> Option<(SessionNumber, u64)> {
        let highest = self.receiving.receivers[ack.mode].highest();
        Some((self.receiving.receive.active?, ack.next.expand(highest)?))
    }

    /// The same for an ACK that arrived.
    pub fn number_acknowledged(&self, ack: PiggybackAck) -> Option<(SessionNumber, u64)> {
        let next = self.sending.senders[ack.mode].next();
        Some((self.sending.transmit.session, ack.next.expand(next)?))
    }

    /// Frames sent and not yet acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.sending.outstanding()
    }

    /// Frames of one lane that were sent and not yet acknowledged.
    #[inline]
    pub fn outstanding_in(&self, mode: Mode) -> u64 {
        self.sending.outstanding_in(mode)
    }

    /// When the next dummy no longer waits for an idle port. Drivers that poll
    /// [`Priority::High`](crate::Priority::High) only when there is reason to, and whose port may always be busy, do so
    /// then.
    #[inline]
    pub fn dummy_overdue_at(&self) -> Option<Instant> {
        self.sending.dummy_overdue_at(&self.shared)
    }

    /// Round trips measured in this session.
    pub const fn round_trips(&self) -> RoundTrips {
        self.sending.round_trips
    }
}

/// Calls of the receiving direction.
impl LinkEnd {
    /// Handles a frame with a data header from the link, including its acknowledgement, if it carries one.
    #[inline]
    pub fn handle_data(
        &mut self,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        let now = self.advance(now);
        let LinkEnd { shared, sending, receiving } = self;
        let strays = shared.stats.strays();
        let reception = receiving.handle_data(shared, now, header, frame, bytes);
        // A copy repeats the ACK of its first sending, which may speak of an ended session. So does a frame of another
        // time, of which somebody may have kept back a repetition until the numbers repeat.
        if let Some(ack) = header.ack
            && !header.retransmitted
            && shared.stats.strays() == strays
        {
            sending.acknowledged(shared, now, ack);
        }
        reception
    }

    /// The next buffered frame whose turn has come.
    #[inline]
    pub fn poll_deliver(&mut self) -> Option<FrameHandle> {
        self.receiving.poll_deliver(&mut self.shared)
    }

    /// The buffered frame that [`LinkEnd::poll_deliver`] would return. For drivers that can reach a buffered frame only
    /// at certain times: on the Tofino, when it returns from recirculation (section 3.3).
    #[inline]
    pub fn next_delivery(&self) -> Option<FrameHandle> {
        self.receiving.next_delivery()
    }

    /// The first number of a lane that the receiver misses or has not seen. Everything before it has arrived or was
    /// given up.
    pub fn next_expected(&self, mode: Mode) -> SequenceNumber {
        self.receiving.next_expected(mode)
    }

    /// Number of frames missing now.
    #[inline]
    pub fn missing(&self) -> u64 {
        self.receiving.missing()
    }

    /// When the receiver gives up on missing frames (`ackNoTimeout`).
    pub fn next_recovery_timeout(&self) -> Option<Instant> {
        self.receiving.next_recovery_timeout()
    }

    /// Whether something waits that [`LinkEnd::poll_urgent`] returns immediately.
    #[inline]
    pub fn is_urgent(&self) -> bool {
        self.receiving.is_urgent()
    }

    /// Whether an acknowledgement is owed that an idle port may send. Drivers that poll only when there is reason to do
    /// so when the port has nothing else to send.
    #[inline]
    pub fn owes_ack(&self) -> bool {
        self.receiving.owes_ack()
    }

    /// An acknowledgement to put on an unprotected frame, if one is owed (section 3.1: reverse traffic need not be
    /// protected to carry ACKs).
    pub fn poll_piggyback(&mut self, now: Instant) -> Option<PiggybackAck> {
        let now = self.advance(now);
        self.receiving.take_piggyback(&mut self.shared, now)
    }

    /// The ACK of [`Priority::Low`](crate::Priority::Low), if it is one in the authors' format, which is only a number.
    /// For drivers to whom the size of a [`Control`](crate::Control) matters: it is the one control frame that is as
    /// frequent as data.
    #[inline]
    pub fn poll_compact_ack(&mut self, now: Instant) -> Option<SequenceNumber> {
        let now = self.advance(now);
        let LinkEnd { shared, sending, receiving } = self;
        if sending.dummy_due_at(shared).is_some_and(|at| now >= at) {
            return None;
        }
        let next = receiving.compact_ack(shared, now)?;
        shared.postpone_hello(now, &Control::CompactAck { next });
        Some(next)
    }
}
