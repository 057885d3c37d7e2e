//! A call of a link end and its answer.

use crate::config::Config;
use crate::event::Event;
use crate::frame::{DataHeader, FrameHandle, PiggybackAck};
use crate::link_end::{Control, LinkEnd, Priority, Protection, Reception, Transmit};
use crate::mode::Mode;
use crate::paths::Path;
use crate::time::Instant;
use crate::wire::LinkFrame;
use alloc::boxed::Box;

/// A step and its time.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Record {
    /// The driver's clock, in its ticks. Calls that take no time have that of the call before.
    pub at: Instant,
    /// The call and its answer.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub step: Step,
}

/// One call of a [`LinkEnd`]'s method with its answer, or something that its driver noted beside it ([`Step::Offered`],
/// [`Step::Corrupted`]). All calls that change a link end are here, but for those that end in `None` without looking at
/// anything ([`LinkEnd::poll_release`], [`LinkEnd::poll_event`]) and those that only change its statistics.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", tag = "step")
)]
pub enum Step {
    /// [`LinkEnd::protect`].
    Protect {
        /// The requested protection.
        protection: Protection,
    },
    /// [`LinkEnd::unprotect`].
    Unprotect,
    /// [`LinkEnd::reconfigure`] with parameters that can be used.
    Reconfigure {
        /// The new parameters.
        config: Box<Config>,
    },
    /// [`LinkEnd::handle_stall`].
    Stall,
    /// [`LinkEnd::leave`].
    Leave,
    /// [`LinkEnd::handle_stop`].
    Stop,
    /// [`LinkEnd::change_path`].
    ChangePath {
        /// Number of frames that are retransmitted.
        resent: u64,
    },
    /// [`LinkEnd::set_clean_other`], if it changes something.
    CleanOther {
        /// Whether another path would carry frames without much loss.
        is_clean: bool,
    },
    /// [`LinkEnd::handle_timeout`].
    Timeout {
        /// Number of frames that this call gave up.
        given_up: u64,
    },
    /// [`LinkEnd::handle_control`].
    Control {
        /// The frame that arrived.
        control: Control,
        /// Whether the link end accepted it.
        accepted: bool,
    },
    /// [`LinkEnd::handle_ack`].
    Ack {
        /// The acknowledgement that arrived.
        ack: PiggybackAck,
        /// Whether the link end accepted it.
        accepted: bool,
    },
    /// [`LinkEnd::handle_data`].
    Data {
        /// The header of the frame.
        header: DataHeader,
        /// The driver's handle of the frame.
        frame: FrameHandle,
        /// Its length without the header.
        bytes: u32,
        /// What to do with the frame.
        reception: Reception,
    },
    /// [`LinkEnd::send`].
    Send {
        /// The mode that its class asks for.
        mode: Mode,
        /// The driver's handle of the frame.
        frame: FrameHandle,
        /// Its length without a header.
        bytes: u32,
        /// Its header; `None` if it leaves unprotected.
        header: Option<DataHeader>,
    },
    /// [`LinkEnd::left_on`].
    LeftOn {
        path: Path,
        /// The header of the frame or copy.
        header: DataHeader,
    },
    /// [`LinkEnd::poll_transmit`].
    PollTransmit {
        /// The requested priority.
        priority: Priority,
        /// What to send, if anything.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        transmit: Option<Transmit>,
    },
    /// [`LinkEnd::poll_piggyback`].
    PollPiggyback {
        /// The ACK to send, if any.
        ack: Option<PiggybackAck>,
    },
    /// [`LinkEnd::poll_deliver`].
    PollDeliver {
        /// The frame to deliver, if any.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        frame: Option<FrameHandle>,
    },
    /// [`LinkEnd::poll_release`].
    Released {
        /// The frame whose buffer is free.
        frame: FrameHandle,
    },
    /// [`LinkEnd::poll_event`].
    Event {
        /// An event for the operator's log.
        event: Event,
    },
    /// No call: a frame from the inner port joined the normal queue.
    Offered {
        /// The mode that its class asks for.
        mode: Mode,
        /// Its length in bytes.
        bytes: u32,
    },
    /// No call: the link, or a driver that injects losses, corrupted a frame that would have arrived now.
    Corrupted {
        /// The corrupted frame.
        frame: CorruptedFrame,
    },
}

/// A corrupted frame. A real link does not tell; one that drops frames on purpose does.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[expect(clippy::large_enum_variant, reason = "made one at a time, and handed on by reference")]
pub enum CorruptedFrame {
    /// A protected frame or a copy.
    Data(DataHeader),
    /// A control frame.
    Control(Control),
    /// An unprotected frame.
    Unprotected,
}

impl From<&LinkFrame> for CorruptedFrame {
    fn from(frame: &LinkFrame) -> CorruptedFrame {
        match *frame {
            LinkFrame::Data { header, .. } => CorruptedFrame::Data(header),
            LinkFrame::Control(control) => CorruptedFrame::Control(control),
            LinkFrame::Acknowledging { .. }
            | LinkFrame::Escaped(_)
            | LinkFrame::Foreign
            | LinkFrame::InTime
            | LinkFrame::Malformed => CorruptedFrame::Unprotected,
        }
    }
}

impl Step {
    /// Makes the same call with the same arguments, and returns the step with the current answer; `None` if there was
    /// none (nothing to release, no event, parameters refused). A step that is not a call is returned unchanged.
    pub fn repeat(&self, end: &mut LinkEnd, at: Instant) -> Option<Step> {
        let mut step = self.clone();
        match &mut step {
            Step::Protect { protection } => end.protect(at, *protection),
            Step::Unprotect => end.unprotect(at),
            Step::Reconfigure { config } => end.reconfigure(**config).ok()?,
            Step::Stall => end.handle_stall(at),
            Step::Leave => end.leave(at),
            Step::Stop => end.handle_stop(at),
            Step::ChangePath { resent } => *resent = end.change_path(at),
            Step::CleanOther { is_clean } => _ = end.set_clean_other(*is_clean),
            Step::Timeout { given_up } => *given_up = handle_timeout(end, at),
            Step::Control { control, accepted } => *accepted = end.handle_control(at, control),
            Step::Ack { ack, accepted } => *accepted = end.handle_ack(at, *ack),
            Step::Data { header, frame, bytes, reception } => {
                *reception = end.handle_data(at, header, *frame, *bytes);
            }
            Step::Send { mode, frame, bytes, header } => *header = end.send(at, *mode, *frame, *bytes),
            Step::LeftOn { path, header } => end.left_on(*path, header),
            Step::PollTransmit { priority, transmit } => *transmit = end.poll_transmit(at, *priority),
            Step::PollPiggyback { ack } => *ack = end.poll_piggyback(at),
            Step::PollDeliver { frame } => *frame = end.poll_deliver(),
            Step::Released { frame } => *frame = end.poll_release()?,
            Step::Event { event } => *event = end.poll_event()?,
            Step::Offered { .. } | Step::Corrupted { .. } => {}
        }
        Some(step)
    }
}

/// Calls [`LinkEnd::handle_timeout`]; returns how many frames it gave up.
pub(super) fn handle_timeout(end: &mut LinkEnd, at: Instant) -> u64 {
    let before = end.stats().recovery_timeouts;
    end.handle_timeout(at);
    end.stats().recovery_timeouts - before
}
