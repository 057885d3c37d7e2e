//! Ultra Ethernet's Link Layer Retry: the state machines of [`linkmend_llr`] behind a port of the simulator.
//!
//! Numbers travel in the preamble, and control ordered sets between frames, so frames do not grow. Frames of both
//! classes are eligible. A receiver sees damaged frames unless it is configured not to. If loss rates are given per
//! frame, an ordered set is lost less often, in proportion to its length.

mod steady;

use super::{
    Account, Acknowledgement, ControlFrames, FastForward, Header, Insertion, LinkRetry, PortSeed, Reception,
    Scheme, SchemeContext, Shown,
};
use crate::link::frame::Frame;
use crate::link::slots::Slots;
use crate::time::{Rate, Time};
use linkmend_llr::config::ControlInsertion;
use linkmend_llr::{
    Admits, Control, Counters, FrameHandle, Instant, Integrity, Port, SequenceNumber, TransmitState, Verdict,
};
use linkmend_protocol::{Admission, ConfigError, Mode};
use std::convert::Infallible;

/// Configuration of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlrConfig {
    /// Its registers, and the answers to the questions that public texts leave open.
    pub registers: linkmend_llr::Config,
    /// Rate of the line, which determines the spacing of ACKs.
    pub rate: Rate,
    /// Whether a receiver sees damaged frames, whose preamble contains their number. If not, only the next frame
    /// reveals a loss.
    pub sees_damaged: bool,
}

/// A port with LLR in both directions.
#[derive(Debug)]
pub struct Llr {
    port: Port,
    space: linkmend_llr::SequenceSpace,
    /// Frames in the replay buffer.
    kept: Slots<Frame>,
    /// The port's timer fires at this time, or earlier.
    timer: Time,
    sees_damaged: bool,
}

/// The number of a frame, in its preamble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlrHeader {
    sequence: SequenceNumber,
    is_replayed: bool,
}

/// A control ordered set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderedSet(Control);

impl Llr {
    /// The counters of its state machines.
    pub fn counters(&self) -> Counters {
        self.port.counters()
    }

    /// The state of its transmitter.
    pub fn transmit_state(&self) -> TransmitState {
        self.port.transmitter().state()
    }

    /// Sets the timer for the next timeout, unless it fires before that anyway.
    fn set_timer<C: SchemeContext>(&mut self, context: &mut C) {
        // Progress only postpones deadlines.
        if self.timer <= context.now()
            && let Some(at) = self.next_timeout()
        {
            context.wake_at(at.max(context.now()));
            // The end of a replay starts the replay timer, which may expire before everything that runs now.
            let is_replaying = self.transmit_state() == TransmitState::Replay;
            self.timer = if is_replaying { Time::ZERO } else { at };
        }
    }

    /// Forgets frames that were acknowledged or given up.
    fn release<C: SchemeContext>(&mut self, context: &mut C) {
        let mut any = false;
        while let Some((FrameHandle(slot), _)) = self.port.transmitter_mut().poll_release() {
            self.kept.free(slot as u32);
            any = true;
        }
        if any {
            context.tx_level(self.port.transmitter().outstanding_bytes());
        }
    }
}

impl Scheme for Llr {
    type Config = LlrConfig;
    type Header = LlrHeader;
    type Ack = OrderedSet;
    type Control = Infallible;

    fn new(config: &LlrConfig, _: &LlrConfig, _: PortSeed) -> Result<Llr, ConfigError> {
        let refused = |parameter, value: f64, requirement| ConfigError { parameter, value, requirement };
        let registers = config.registers;
        let mut port = Port::new(registers, config.rate.bits_per_second()).map_err(|error| {
            refused(error.parameter, error.value as f64, "is outside of the register's range")
        })?;
        port.transmitter_mut().enable(Instant(0));
        Ok(Llr {
            port,
            space: registers.space(),
            kept: Slots::new(),
            timer: Time::ZERO,
            sees_damaged: config.sees_damaged,
        })
    }

    #[inline(always)]
    fn header_bytes(&self) -> u32 {
        0
    }

    #[inline]
    fn admission(&self, _: Mode, bytes: u32) -> Admission {
        match self.port.transmitter().admits(bytes) {
            Admits::Numbered => Admission::Protected,
            // A frame that will be discarded leaves the queue like one that is sent.
            Admits::Ineligible | Admits::Discarded => Admission::Unprotected,
            Admits::Blocked(_) => Admission::Held,
        }
    }

    fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> LlrHeader {
        let handle = FrameHandle(self.kept.put(frame).into());
        let sent = linkmend_llr::Frame { handle, bytes: frame.bytes.into(), poisoned: false };
        let offered = self.port.transmitter_mut().handle_frame(Instant(context.now().0), sent);
        let linkmend_llr::Admission::Numbered(sequence) = offered else {
            unreachable!("the port has asked whether the frame gets a number")
        };
        context.tx_level(self.port.transmitter().outstanding_bytes());
        self.set_timer(context);
        LlrHeader { sequence, is_replayed: false }
    }

    #[inline]
    fn handle_data<C: SchemeContext>(&mut self, context: &mut C, header: &LlrHeader, _: Frame) -> Reception {
        let now = Instant(context.now().0);
        match self.port.receiver_mut().handle_frame(now, header.sequence, Integrity::Good) {
            Verdict::Deliver => Reception::Deliver,
            Verdict::DropBad | Verdict::DropDuplicate | Verdict::DropAfterGap => Reception::Dropped,
        }
    }

    fn handle_timeout<C: SchemeContext>(&mut self, context: &mut C) {
        self.timer = Time::ZERO;
        self.port.transmitter_mut().handle_timeout(Instant(context.now().0));
        self.release(context);
    }

    fn next_timeout(&self) -> Option<Time> {
        self.port.transmitter().deadline().map(|at| Time(at.0))
    }

    fn is_drained(&self) -> bool {
        self.port.transmitter().outstanding_frames() == 0
    }

    #[inline(always)]
    fn control_frames(&mut self) -> Option<&mut impl ControlFrames<OrderedSet, Infallible>> {
        Some(self)
    }

    #[inline(always)]
    fn link_retry(&mut self) -> Option<&mut impl LinkRetry<LlrHeader>> {
        Some(self)
    }

    fn fast_forward(&mut self) -> Option<&mut impl FastForward<LlrHeader, OrderedSet>> {
        Some(self)
    }

    fn account(&self) -> Option<&impl Account<LlrHeader>> {
        Some(self)
    }
}

impl ControlFrames<OrderedSet, Infallible> for Llr {
    fn handle_ack<C: SchemeContext>(&mut self, context: &mut C, OrderedSet(control): OrderedSet) {
        self.port.handle_control(Instant(context.now().0), control);
        self.release(context);
        self.set_timer(context);
    }

    /// Counts a frame that is sent without a number.
    fn send_plain<C: SchemeContext>(&mut self, _: &mut C, _: &Frame) {
        self.port.transmitter_mut().handle_ineligible();
    }

    #[inline]
    fn poll_ack(&mut self, now: Time) -> Option<OrderedSet> {
        self.port.poll_control(Instant(now.0)).map(OrderedSet)
    }

    fn has_more(&mut self) -> bool {
        self.port.transmitter().outstanding_frames() > 0 || self.port.control_due().is_some()
    }

    fn idle_until(&mut self, now: Time) -> Option<Time> {
        self.next_timeout().filter(|at| *at > now)
    }

    fn is_opening(&mut self) -> bool {
        self.transmit_state() == TransmitState::Init
    }
}

impl LinkRetry<LlrHeader> for Llr {
    #[inline]
    fn poll_retry(&mut self, now: Time) -> Option<(LlrHeader, Frame)> {
        let replayed = self.port.transmitter_mut().poll_replay(Instant(now.0))?;
        let FrameHandle(slot) = replayed.frame.handle;
        let header = LlrHeader { sequence: replayed.sequence, is_replayed: true };
        Some((header, *self.kept.get(slot as u32)))
    }

    fn next_service(&mut self) -> Option<Time> {
        if self.transmit_state() == TransmitState::Replay {
            return Some(Time::ZERO);
        }
        self.port.control_due().map(|at| Time(at.0))
    }

    fn discards(&mut self, now: Time, frame: &Frame) -> bool {
        let transmitter = self.port.transmitter_mut();
        if transmitter.admits(frame.bytes.into()) != Admits::Discarded {
            return false;
        }
        let handle = FrameHandle(frame.id);
        let discarded = linkmend_llr::Frame { handle, bytes: frame.bytes.into(), poisoned: false };
        transmitter.handle_frame(Instant(now.0), discarded);
        true
    }

    fn handle_plain(&mut self) {
        self.port.receiver_mut().handle_ineligible(Integrity::Good);
    }

    fn insertion(&mut self) -> Option<Insertion> {
        match self.port.config().choices.control_insertion {
            ControlInsertion::BetweenFrames => None,
            ControlInsertion::InsideFrames { first_after_octets, apart_octets } => {
                Some(Insertion { first_after_octets, apart_octets })
            }
        }
    }

    fn ordered_set_due(&mut self) -> Option<Time> {
        self.port.control_due().map(|at| Time(at.0))
    }

    fn handle_damaged<C: SchemeContext>(&mut self, context: &mut C, header: &LlrHeader) {
        if self.sees_damaged {
            let now = Instant(context.now().0);
            self.port.receiver_mut().handle_frame(now, header.sequence, Integrity::Bad);
        }
    }
}

impl Account<LlrHeader> for Llr {
    /// It replays until a frame arrives, or gives up many at a time.
    fn copies(&self) -> Option<u8> {
        None
    }

    fn copies_sent(&self) -> u64 {
        self.port.transmitter().counters().replayed_frames
    }

    /// SAI's counters, and six that testers and operators ask for. Growing numbers of ineligible frames mean that LLR does not
    /// protect the link (FBOSS).
    fn counters(&self) -> Vec<(&'static str, u64)> {
        let counters = self.port.counters();
        let mut all = counters.sai().to_vec();
        all.extend([
            ("replayed frames", counters.transmit.replayed_frames),
            ("replays after a NACK", counters.transmit.nack_replays),
            ("replays of the timer", counters.transmit.timer_replays),
            ("frames given up", counters.transmit.flushed),
            ("ineligible frames sent", counters.transmit.tx_ineligible),
            ("ineligible frames received", counters.receive.rx_ineligible),
        ]);
        all
    }

    /// As sender: the outstanding frames at a FLUSH.
    fn given_up(&self) -> u64 {
        self.port.transmitter().counters().flushed
    }

    fn discarded(&self) -> u64 {
        self.port.transmitter().counters().tx_discard
    }

    fn has_moved_past(&self, header: &LlrHeader) -> bool {
        let ahead = self.space.ahead(self.port.receiver().expected_sequence().0.into(), header.sequence);
        ahead >= self.space.outstanding_max().into()
    }
}

impl Header for LlrHeader {
    #[inline(always)]
    fn is_copy(&self) -> bool {
        self.is_replayed
    }

    fn show(&self, _: &Frame) -> String {
        let what = if self.is_replayed { "copy of frame" } else { "frame" };
        format!("LLR: {what} {}", self.sequence)
    }
}

impl Acknowledgement for OrderedSet {
    #[inline(always)]
    fn is_ordered_set(&self) -> bool {
        true
    }

    fn show(&self, _: [u8; 6]) -> Shown {
        let text = match self.0 {
            Control::Ack(sequence) => format!("LLR: ACK {sequence}"),
            Control::Nack(sequence) => format!("LLR: NACK {sequence}"),
            Control::Init { first, .. } => format!("LLR: INIT from {first}"),
            Control::InitEcho { first, .. } => format!("LLR: INIT_ECHO from {first}"),
        };
        Shown { text: format!("{text} (an ordered set of 8 octets)"), bytes: None }
    }
}
