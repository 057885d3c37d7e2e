//! What two link ends tell each other, and its representation on the wire.

use super::LinkGuardian;
use crate::link::frame::{FCS_BYTES, Frame};
use crate::link::scheme::context::OUT_OF_REACH;
use crate::link::scheme::{
    Acknowledgement, ControlFrame, ControlFrames, ControlPlace, Header, Idle, SchemeContext, Shown, Urgent,
};
use crate::time::Time;
use linkmend_protocol::paths::Probe;
use linkmend_protocol::wire::{CONTROL_FRAME_MAX, emit_control};
use linkmend_protocol::{
    Control, DataHeader, FrameHandle, Instant, Mode, PiggybackAck, Priority, SequenceNumber, Ticks, Transmit,
    TransmitState,
};

impl ControlFrames<SequenceNumber, Control> for LinkGuardian {
    #[inline(always)]
    fn handle_ack<C: SchemeContext>(&mut self, context: &mut C, next: SequenceNumber) {
        // It belongs to the lane in use: the authors' header does not name one.
        self.end.handle_ack(Instant(context.now().0), PiggybackAck { mode: Mode::Ordered, next });
        self.release(context);
    }

    #[inline(never)]
    fn handle_control<C: SchemeContext>(&mut self, context: &mut C, control: &Control) {
        self.end.handle_control(Instant(context.now().0), control);
        let paused = self.end.is_paused();
        if self.paused != paused {
            self.paused = paused;
            context.pause_obeyed(paused);
        }
        context.request_service();
        self.release(context);
    }

    fn send_plain<C: SchemeContext>(&mut self, context: &mut C, frame: &Frame) {
        self.schedule_housekeeping(context);
        // This only counts the frame.
        self.end.send(Instant(context.now().0), frame.mode, FrameHandle::default(), u32::from(frame.bytes));
        self.arm_dummy(&mut context.reborrow());
    }

    #[inline(always)]
    fn poll_urgent<C: SchemeContext>(
        &mut self,
        context: &mut C,
        store: impl FnOnce(Control) -> ControlPlace,
    ) -> Option<Urgent> {
        let now = context.now();
        let control = self.end.poll_urgent(Instant(now.0))?;
        let (mut ready_at, mut overtakes) = (now, false);
        if let Control::Feedback(feedback) = &control {
            let paused = feedback.lanes[Mode::Ordered].paused;
            if paused != self.told_paused {
                self.told_paused = paused;
                overtakes = true;
                context.pause_decided(paused);
                // Pause and resume frames are made from timer packets (section 3.5).
                if let Some(ticks) = now.0.checked_next_multiple_of(self.timer_interval.0.max(1)) {
                    ready_at = Time(ticks);
                }
            }
        }
        Some(Urgent { place: store(control), ready_at, overtakes })
    }

    #[inline(always)]
    fn poll_ack(&mut self, now: Time) -> Option<SequenceNumber> {
        self.end.poll_compact_ack(Instant(now.0))
    }

    #[inline(always)]
    fn poll_idle(
        &mut self,
        now: Time,
        store: impl FnOnce(Control) -> ControlPlace,
    ) -> Option<Idle<SequenceNumber>> {
        match self.end.poll_transmit(Instant(now.0), Priority::Low)? {
            Transmit::Control(Control::CompactAck { next }) => Some(Idle::Ack(next)),
            Transmit::Control(control) => Some(Idle::Control(store(control))),
            Transmit::Retransmission { .. } => None,
        }
    }

    #[inline(always)]
    fn has_more(&mut self) -> bool {
        self.end.outstanding() > 0 || self.end.owes_ack()
    }

    fn idle_until(&mut self, now: Time) -> Option<Time> {
        let waits = self.is_opening()
            || self.has_more()
            || self.end.steady_state(Instant(now.0), Ticks(OUT_OF_REACH)).is_none();
        waits.then(|| self.end.next_timeout()).flatten().map(|at| Time(at.0))
    }

    fn is_opening(&mut self) -> bool {
        let status = self.end.status();
        status.protection_requested && status.transmit != TransmitState::Active
    }

    #[inline(always)]
    fn fills_idle_slots(&mut self) -> bool {
        true
    }
}

impl Header for DataHeader {
    #[inline(always)]
    fn is_copy(&self) -> bool {
        self.retransmitted
    }

    fn show(&self, frame: &Frame) -> String {
        let what = if self.retransmitted { "copy of" } else { "data" };
        format!("LinkGuardian: {what} {} {}", frame.mode, self.sequence)
    }
}

impl Acknowledgement for SequenceNumber {
    fn show(&self, source: [u8; 6]) -> Shown {
        ControlFrame::show(&Control::CompactAck { next: *self }, source)
    }
}

impl ControlFrame for Control {
    fn bytes(&self) -> u32 {
        emit_control(self, [0; 6], &mut [0; CONTROL_FRAME_MAX]) as u32 + FCS_BYTES
    }

    fn replenishes(&self) -> bool {
        matches!(self, Control::CompactAck { .. } | Control::Feedback(_)) || self.announces()
    }

    #[inline(always)]
    fn announces(&self) -> bool {
        matches!(self, Control::Dummy { .. } | Control::CompactDummy { .. })
    }

    fn probe(&self) -> Option<&Probe> {
        match self {
            Control::Probe(probe) => Some(probe),
            _ => None,
        }
    }

    fn of_probe(probe: Probe) -> Option<Control> {
        Some(Control::Probe(probe))
    }

    fn show(&self, source: [u8; 6]) -> Shown {
        let mut frame = [0; CONTROL_FRAME_MAX];
        let bytes = emit_control(self, source, &mut frame);
        Shown { text: format!("LinkGuardian: {self}"), bytes: Some(frame[..bytes].to_vec()) }
    }
}
