//! LinkGuardian (SIGCOMM 2023): the protocol's link end, and the buffers that a switch has for it.
//!
//! The state machine is that of [`linkmend_protocol`]. This is the one place where the simulator's driver differs from
//! the others: where buffers recirculate, a copy or a buffered frame is available only when its loop brings it back.

mod buffers;
mod steady;

use super::context::OUT_OF_REACH;
use super::{
    Buffer, ControlPlace, Cycles, Idle, PortSeed, Reception, Round, Scheme, SchemeContext, Shown, Urgent,
};
use crate::link::frame::{COMPACT_HEADER_BYTES, FCS_BYTES, Frame};
use crate::link::slots::Slots;
use crate::random::Random;
use crate::time::Time;
use buffers::TxFrame;
use linkmend_protocol::wire::{CONTROL_FRAME_MAX, HEADER_GROWTH_MAX, emit_control};
use linkmend_protocol::{
    Admission, Config, ConfigError, Control, Copies, DataHeader, Format, FrameHandle, Instant, LinkEnd, Mode,
    PiggybackAck, Priority, Protection, SEQUENCE_SPACE, SequenceNumber, Ticks, Transmit, TransmitState,
};

/// Configuration of a link end.
#[derive(Debug, Clone)]
pub struct LinkGuardianConfig {
    /// The link end's parameters, in picoseconds instead of nanoseconds.
    pub protocol: Config,
    /// Whether it protects what it sends, and with how many copies.
    pub protect: Option<Copies>,
    /// Whether it waits for [`LinkGuardian::protect`] until it protects.
    pub begins_dormant: bool,
    /// The recirculation port that holds its buffered frames; `None` for direct buffering.
    pub recirculation: Option<usize>,
    /// Time between the timer packets that carry timeouts, pause and resume (section 3.5); zero for none.
    pub timer_interval: Time,
}

/// A link end and its buffers.
#[derive(Debug)]
pub struct LinkGuardian {
    end: LinkEnd,
    /// With how many copies it protects when it does.
    protect: Option<Copies>,
    recirculation: Option<usize>,
    timer_interval: Time,
    /// How often the link end must be served while its port is busy; an idle port serves it anyway.
    housekeeping: Option<Time>,
    /// Bytes that a data header adds to a frame.
    header_bytes: u32,
    /// As sender: the pause state. As receiver: the pause state that it last requested.
    paused: bool,
    told_paused: bool,
    /// Whether the frame that has returned is being sent again.
    copied: bool,
    tx: Slots<TxFrame>,
    rx: Slots<Frame>,
    tx_bytes: u64,
    /// The largest level of the Tx buffer, if its frames circle: a frame keeps its place until it returns, even if it
    /// was acknowledged before.
    tx_bytes_max: u64,
    rx_bytes: u64,
}

impl LinkGuardian {
    /// The state machine.
    pub fn link_end(&self) -> &LinkEnd {
        &self.end
    }

    /// Begins to protect, if it began dormant. The link stays dormant until the peer has answered.
    pub fn protect(&mut self, now: Time) {
        if let Some(copies) = self.protect {
            self.end.protect(Instant(now.0), Protection { copies });
        }
    }

    /// How often an end must be served while it sends. A port that is never idle sends no ACK, repeats no handshake,
    /// and retries no fallback, so an end that may have to is served as often as its ACKs are due.
    fn housekeeping(config: &LinkGuardianConfig, peer: &LinkGuardianConfig) -> Option<Time> {
        let fallback = config.protect.is_some() && config.protocol.fallback.enabled;
        let needed = fallback || config.begins_dormant || peer.protect.is_some();
        let interval = config.protocol.ack_interval;
        (needed && interval.0 < OUT_OF_REACH).then_some(Time(interval.0))
    }

    /// Has an end served that sends without a break, if that may be necessary.
    #[inline(always)]
    fn schedule_housekeeping<C: SchemeContext>(&self, context: &mut C) {
        if let Some(interval) = self.housekeeping {
            context.wake_at(context.now() + interval);
        }
    }

    /// Sends overdue dummies. A port that other traffic keeps busy has no idle slot for the dummies of a lane that has
    /// nothing to send.
    #[inline(never)]
    fn arm_dummy<C: SchemeContext>(&self, context: &mut C) {
        if self.end.outstanding() == 0 {
            return;
        }
        let Some(at) = self.end.dummy_overdue_at() else { return };
        if at.0 <= context.now().0 {
            context.request_service();
        } else {
            context.wake_at(Time(at.0));
        }
    }
}

impl Scheme for LinkGuardian {
    type Config = LinkGuardianConfig;
    type Header = DataHeader;
    type Ack = SequenceNumber;
    type Control = Control;

    fn new(
        config: &LinkGuardianConfig,
        peer: &LinkGuardianConfig,
        port_seed: PortSeed,
    ) -> Result<Self, ConfigError> {
        let session = Random::new(port_seed.seed, &format!("end {} session", port_seed.port)).next_u64();
        let mut end = LinkEnd::new(config.protocol, session)?;
        if let Some(copies) = config.protect
            && !config.begins_dormant
        {
            end.protect(Instant(0), Protection { copies });
        }
        Ok(LinkGuardian {
            end,
            protect: config.protect,
            recirculation: config.recirculation,
            timer_interval: config.timer_interval,
            housekeeping: LinkGuardian::housekeeping(config, peer),
            header_bytes: match config.protocol.format {
                Format::Compact | Format::Linkguardian => COMPACT_HEADER_BYTES,
                Format::Transparent => HEADER_GROWTH_MAX as u32,
            },
            paused: false,
            told_paused: false,
            copied: false,
            tx: Slots::new(),
            rx: Slots::new(),
            tx_bytes: 0,
            tx_bytes_max: config.recirculation.map_or(u64::MAX, |_| config.protocol.window_bytes),
            rx_bytes: 0,
        })
    }

    #[inline(always)]
    fn header_bytes(&self) -> u32 {
        self.header_bytes
    }

    #[inline(always)]
    fn admission(&self, mode: Mode, bytes: u32) -> Admission {
        if self.tx_bytes + u64::from(bytes) > self.tx_bytes_max {
            return Admission::Held;
        }
        self.end.admission(mode, bytes)
    }

    fn waits_for_lane(&self, mode: Mode) -> bool {
        self.end.waits_for_lane(mode)
    }

    #[inline(always)]
    fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> DataHeader {
        self.schedule_housekeeping(context);
        let circling = self.recirculation.is_some();
        let slot = self.tx.put(TxFrame { frame, released: false, circling });
        let bytes = u32::from(frame.bytes);
        let header = self.end.send_admitted(Instant(context.now().0), frame.mode, FrameHandle(slot), bytes);
        let other_lane_waits = self.end.outstanding() > self.end.outstanding_in(header.mode);
        self.tx_bytes += u64::from(bytes);
        if let Some(at) = self.recirculation {
            context.circulate(at, Buffer::Tx, slot, &frame, self.header_bytes);
        }
        context.tx_level(self.tx_bytes);
        if other_lane_waits {
            self.arm_dummy(&mut context.reborrow());
        }
        header
    }

    fn send_plain<C: SchemeContext>(&mut self, context: &mut C, frame: &Frame) {
        self.schedule_housekeeping(context);
        // This only counts the frame.
        self.end.send(Instant(context.now().0), frame.mode, FrameHandle::default(), u32::from(frame.bytes));
        self.arm_dummy(&mut context.reborrow());
    }

    #[inline(always)]
    fn handle_data<C: SchemeContext>(
        &mut self,
        context: &mut C,
        header: &DataHeader,
        frame: Frame,
    ) -> Reception {
        // Reserves a slot of the Rx buffer, in case the link end keeps the frame.
        let slot = self.rx.next();
        let bytes = u32::from(frame.bytes);
        let reception = self.end.handle_data(Instant(context.now().0), header, FrameHandle(slot), bytes);
        if self.end.is_urgent() {
            context.request_service();
        }
        if header.ack.is_some() {
            self.release(context);
        }
        let reception = match reception {
            linkmend_protocol::Reception::Deliver if self.rx_bytes > 0 => Reception::DeliverMore,
            linkmend_protocol::Reception::Deliver => Reception::Deliver,
            linkmend_protocol::Reception::Drop => Reception::Dropped,
            linkmend_protocol::Reception::Buffered => {
                self.hold(&mut context.reborrow(), slot, frame);
                // A circling frame is passed on when its circulation brings it back.
                if self.recirculation.is_some() { Reception::Buffered } else { Reception::BufferedMore }
            }
        };
        if self.end.missing() > 0 {
            self.set_timer(&mut context.reborrow());
        }
        reception
    }

    #[inline(always)]
    fn handle_ack<C: SchemeContext>(&mut self, context: &mut C, next: SequenceNumber) {
        // Its lane is the one in use: the authors' header names none.
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
                // Pause and resume are made from timer packets (section 3.5).
                if let Some(ticks) = now.0.checked_next_multiple_of(self.timer_interval.0.max(1)) {
                    ready_at = Time(ticks);
                }
            }
        }
        Some(Urgent { place: store(control), ready_at, overtakes })
    }

    fn poll_retransmission(&mut self) -> Option<(DataHeader, Frame)> {
        if self.recirculation.is_some() {
            return None;
        }
        match self.end.poll_retransmission()? {
            Transmit::Retransmission { frame: FrameHandle(slot), header } => {
                Some((header, self.tx.at(slot).frame))
            }
            Transmit::Control(_) => None,
        }
    }

    #[inline(always)]
    fn poll_retransmission_of(&mut self, slot: u32) -> Option<(DataHeader, Frame)> {
        let held = *self.tx.at(slot);
        if held.released {
            return None;
        }
        match self.end.poll_retransmission_of(FrameHandle(slot))? {
            Transmit::Retransmission { header, .. } => {
                self.copied = true;
                Some((header, held.frame))
            }
            Transmit::Control(_) => None,
        }
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

    /// With direct buffering, delivers all frames whose turn has come. Where frames circle, it only passes over what
    /// was given up behind the last of them, which would otherwise close the window for good.
    fn poll_deliver<C: SchemeContext>(&mut self, context: &mut C) -> Option<Frame> {
        if self.recirculation.is_some() && self.rx.used() > 0 {
            return None;
        }
        let FrameHandle(slot) = self.end.poll_deliver()?;
        let frame = self.rx.free(slot);
        self.rx_bytes -= u64::from(frame.bytes);
        context.rx_level(self.rx_bytes);
        if self.end.is_urgent() {
            context.request_service();
        }
        Some(frame)
    }

    fn handle_timeout<C: SchemeContext>(&mut self, context: &mut C) {
        self.end.handle_timeout(Instant(context.now().0));
        context.request_service();
        self.release(context);
    }

    /// The receiver gives up missing frames with the timer packet after `ackNoTimeout`.
    fn set_timer<C: SchemeContext>(&mut self, context: &mut C) {
        let Some(at) = self.end.next_recovery_timeout() else { return };
        let at = Time(at.0.next_multiple_of(self.timer_interval.0.max(1)));
        context.wake_at(at.max(context.now()));
    }

    #[inline(always)]
    fn handle_round<C: SchemeContext>(&mut self, context: &mut C, buffer: Buffer, slot: u32) -> Round {
        match buffer {
            Buffer::Tx => self.tx_round(context, slot),
            Buffer::Rx => self.rx_round(context, slot),
        }
    }

    fn keeps_circulating(&self, now: Time, buffer: Buffer, slot: u32) -> bool {
        match buffer {
            Buffer::Tx => {
                let due = self.end.next_timeout();
                !self.tx.get(slot).released && due.is_none_or(|at| at.0 > now.0)
            }
            Buffer::Rx => self.end.next_delivery() != Some(FrameHandle(slot)),
        }
    }

    #[inline(always)]
    fn fills_idle_slots(&self) -> bool {
        true
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        self.end.outstanding() > 0 || self.end.owes_ack()
    }

    fn idle_until(&self, now: Time) -> Option<Time> {
        let steady = || self.end.steady_state(Instant(now.0), Ticks(OUT_OF_REACH)).is_some();
        let waits = self.is_opening() || self.has_more() || !steady();
        waits.then(|| self.end.next_timeout()).flatten().map(|at| Time(at.0))
    }

    fn is_opening(&self) -> bool {
        let status = self.end.status();
        status.protection_requested && status.transmit != TransmitState::Active
    }

    fn is_drained(&self) -> bool {
        self.rx.used() == 0 && self.end.outstanding() == 0 && self.end.missing() == 0
    }

    fn copies(&self) -> u8 {
        self.end.status().copies
    }

    /// The number comes before the one that its lane waits for; both are within one window.
    fn has_moved_past(&self, header: &DataHeader) -> bool {
        let next_expected = self.end.next_expected(header.mode);
        let era_space = 2 * SEQUENCE_SPACE;
        let reference =
            era_space + u64::from(next_expected.era()) * SEQUENCE_SPACE + u64::from(next_expected.number());
        header.sequence.expand(reference).is_some_and(|sequence| sequence < reference)
    }

    /// Frames that arrive while the window is full of circling frames find no room, either.
    fn given_up(&self) -> u64 {
        let stats = self.end.stats();
        stats.recovery_timeouts + stats.withdrawn_frames + stats.unrecovered_frames
    }

    fn overflows(&self) -> u64 {
        let stats = self.end.stats();
        stats.rx_buffer_overflows + stats.overflowed_copies + stats.out_of_window_frames
    }

    #[inline(always)]
    fn is_copy(header: &DataHeader) -> bool {
        header.retransmitted
    }

    fn control_bytes(control: &Control) -> u32 {
        emit_control(control, [0; 6], &mut [0; CONTROL_FRAME_MAX]) as u32 + FCS_BYTES
    }

    fn show_header(header: &DataHeader, frame: &Frame) -> String {
        let what = if header.retransmitted { "copy of" } else { "data" };
        format!("LinkGuardian: {what} {} {}", frame.mode, header.sequence)
    }

    fn show_ack(next: &SequenceNumber, source: [u8; 6]) -> Shown {
        Self::show_control(&Control::CompactAck { next: *next }, source)
    }

    fn show_control(control: &Control, source: [u8; 6]) -> Shown {
        let mut frame = [0; CONTROL_FRAME_MAX];
        let bytes = emit_control(control, source, &mut frame);
        Shown { text: format!("LinkGuardian: {control}"), bytes: Some(frame[..bytes].to_vec()) }
    }

    fn replenishes(control: &Control) -> bool {
        matches!(control, Control::CompactAck { .. } | Control::Feedback(_))
            || LinkGuardian::announces(control)
    }

    #[inline(always)]
    fn announces(control: &Control) -> bool {
        matches!(control, Control::Dummy { .. } | Control::CompactDummy { .. })
    }

    fn steady_state(&self, now: Time, state: &mut Vec<u64>) -> Option<()> {
        self.describe(now, state)
    }

    fn header_state(header: &DataHeader, frame: &Frame, state: &mut Vec<u64>) {
        let sequence = u64::from(header.sequence.number().wrapping_sub(frame.id as u16));
        state.extend([sequence, u64::from(header.retransmitted), header.mode as u64]);
    }

    fn ack_state(next: &SequenceNumber, arriving: u64) -> u64 {
        u64::from(next.number().wrapping_sub(arriving as u16))
    }

    fn circling_state(&self, buffer: Buffer, slot: u32, produced: u64, arriving: u64) -> u64 {
        match buffer {
            Buffer::Tx => {
                let held = self.tx.get(slot);
                held.frame.id.wrapping_sub(produced) << 1 | u64::from(held.released)
            }
            Buffer::Rx => self.rx.get(slot).id.wrapping_sub(arriving) << 1,
        }
    }

    fn skip(&mut self, cycles: &Cycles) {
        self.advance(cycles);
    }

    fn skip_header(header: &mut DataHeader, frames: u64) {
        header.sequence = header.sequence.plus(frames);
    }

    fn skip_ack(next: &mut SequenceNumber, frames: u64) {
        *next = next.plus(frames);
    }
}
