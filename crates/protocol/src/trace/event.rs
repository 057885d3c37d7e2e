//! What happened, in protocol terms.

use super::step::{CorruptedFrame, Step};
use crate::event::Event;
use crate::frame::{Feedback, FrameHandle, SequenceRange};
use crate::link_end::{Control, Reception, Transmit};
use crate::mode::{Mode, PerMode};
use crate::sequence::SequenceNumber;
use alloc::collections::BTreeMap;
use core::fmt;

/// The direction of a control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// It left this end.
    Sent,
    /// It arrived at this end.
    Received,
}

/// Something that happened at a link end. Lengths are in bytes, without headers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TraceEvent {
    /// A frame from the inner port joined the normal queue.
    Offered {
        /// Lane its class asks for.
        mode: Mode,
        /// Its length in bytes.
        bytes: u32,
    },
    /// A protected frame left for the first time.
    Sent {
        /// The lane of the frame.
        mode: Mode,
        /// The number of the frame.
        sequence: SequenceNumber,
        /// Its length in bytes.
        bytes: u32,
    },
    /// A copy of a frame left.
    CopySent {
        /// The lane of the frame.
        mode: Mode,
        /// The number of the frame.
        sequence: SequenceNumber,
    },
    /// A protected frame arrived.
    Received {
        /// The lane of the frame.
        mode: Mode,
        /// The number of the frame.
        sequence: SequenceNumber,
        /// Whether it is a copy.
        copy: bool,
    },
    /// A protected frame did not arrive, because it was corrupted.
    Corrupted {
        /// The lane of the frame.
        mode: Mode,
        /// The number of the frame.
        sequence: SequenceNumber,
        /// Whether it is a copy.
        copy: bool,
    },
    /// Another frame was corrupted.
    OtherCorrupted {
        /// A control frame, or an unprotected one.
        control: bool,
    },
    /// A loss notification names this run of missing frames; one event for each run.
    Notification {
        /// Whether it was sent or received.
        direction: Direction,
        /// The lane that it reports on.
        mode: Mode,
        /// The run of missing frames.
        hole: SequenceRange,
    },
    /// A cumulative acknowledgement, explicit or on another frame; one event for each lane on which it says more than
    /// the previous one.
    Ack {
        /// Whether it was sent or received.
        direction: Direction,
        /// The lane that it reports on.
        mode: Mode,
        /// Everything before this has arrived or was given up.
        next: SequenceNumber,
    },
    /// The receiver asks its sender to hold the lane, or to resume.
    Pause {
        /// Whether it was sent or received.
        direction: Direction,
        /// The lane to hold.
        mode: Mode,
        /// `true` to hold it, `false` to resume.
        paused: bool,
    },
    /// A dummy frame.
    Dummy {
        /// Whether it was sent or received.
        direction: Direction,
    },
    /// A frame of the handshake, or a hello.
    Handshake {
        /// Whether it was sent or received.
        direction: Direction,
        /// The name of the frame.
        name: &'static str,
    },
    /// A protected frame went to the inner port.
    Delivered {
        /// The lane of the frame.
        mode: Mode,
        /// The number of the frame.
        sequence: SequenceNumber,
    },
    /// A protected frame was dropped: it had been delivered or given up, or did not fit.
    Discarded {
        /// The lane of the frame.
        mode: Mode,
        /// The number of the frame.
        sequence: SequenceNumber,
    },
    /// Missing frames were given up (`ackNoTimeout`).
    GivenUp {
        /// The number of frames.
        frames: u64,
    },
    /// The sender's buffer of a frame is free.
    Released {
        /// The lane of the frame.
        mode: Mode,
        /// The number of the frame.
        sequence: SequenceNumber,
    },
    /// An event for the operator's log.
    Log(Event),
}

/// The place of a frame.
type Place = (Mode, SequenceNumber);

/// Describes the steps of one link end as [`TraceEvent`]s. It remembers the frame of each handle.
#[derive(Debug, Clone, Default)]
pub struct Tracer {
    in_tx_buffer: BTreeMap<FrameHandle, Place>,
    in_rx_buffer: BTreeMap<FrameHandle, Place>,
    sent: LastFeedback,
    received: LastFeedback,
    /// Lane of the latest frame, for the compact format, whose notifications name none.
    lane_received: Option<Mode>,
    lane_sent: Option<Mode>,
}

/// The content of the latest feedback in one direction, so that only changes are emitted.
#[derive(Debug, Clone, Copy, Default)]
struct LastFeedback {
    next: PerMode<Option<SequenceNumber>>,
    paused: PerMode<bool>,
}

impl Tracer {
    /// A tracer for a fresh link end.
    pub fn new() -> Tracer {
        Tracer::default()
    }

    /// Hands every event of a step to `emit`, in order.
    pub fn trace(&mut self, step: &Step, emit: &mut impl FnMut(TraceEvent)) {
        match *step {
            Step::Offered { mode, bytes } => emit(TraceEvent::Offered { mode, bytes }),
            Step::Send { frame, bytes, header: Some(header), .. } => {
                let (mode, sequence) = (header.mode, header.sequence);
                self.in_tx_buffer.insert(frame, (mode, sequence));
                self.lane_sent = Some(mode);
                emit(TraceEvent::Sent { mode, sequence, bytes });
                if let Some(ack) = header.ack {
                    self.trace_ack(Direction::Sent, ack.mode, ack.next, emit);
                }
            }
            Step::PollTransmit { transmit: Some(Transmit::Retransmission { header, .. }), .. } => {
                emit(TraceEvent::CopySent { mode: header.mode, sequence: header.sequence });
            }
            Step::PollTransmit { transmit: Some(Transmit::Control(ref control)), .. } => {
                self.trace_control(Direction::Sent, control, emit);
            }
            Step::Control { ref control, accepted: true } => {
                self.trace_control(Direction::Received, control, emit)
            }
            Step::Ack { ack, accepted: true } => {
                self.trace_ack(Direction::Received, ack.mode, ack.next, emit)
            }
            Step::PollPiggyback { ack: Some(ack) } => {
                self.trace_ack(Direction::Sent, ack.mode, ack.next, emit)
            }
            Step::Data { .. } => self.trace_data(step, emit),
            Step::PollDeliver { frame: Some(frame) } => {
                if let Some((mode, sequence)) = self.in_rx_buffer.remove(&frame) {
                    emit(TraceEvent::Delivered { mode, sequence });
                }
            }
            Step::Released { frame } => {
                if let Some((mode, sequence)) = self.in_tx_buffer.remove(&frame) {
                    emit(TraceEvent::Released { mode, sequence });
                }
            }
            Step::Timeout { given_up: frames @ 1.. } => emit(TraceEvent::GivenUp { frames }),
            Step::Event { event } => emit(TraceEvent::Log(event)),
            Step::Corrupted { frame } => emit(match frame {
                CorruptedFrame::Data(header) => TraceEvent::Corrupted {
                    mode: header.mode,
                    sequence: header.sequence,
                    copy: header.retransmitted,
                },
                CorruptedFrame::Control(_) => TraceEvent::OtherCorrupted { control: true },
                CorruptedFrame::Unprotected => TraceEvent::OtherCorrupted { control: false },
            }),
            _ => {}
        }
    }

    fn trace_data(&mut self, step: &Step, emit: &mut impl FnMut(TraceEvent)) {
        let Step::Data { header, frame, reception, .. } = *step else { return };
        let (mode, sequence) = (header.mode, header.sequence);
        self.lane_received = Some(mode);
        emit(TraceEvent::Received { mode, sequence, copy: header.retransmitted });
        if let Some(ack) = header.ack.filter(|_| !header.retransmitted) {
            self.trace_ack(Direction::Received, ack.mode, ack.next, emit);
        }
        match reception {
            Reception::Deliver => emit(TraceEvent::Delivered { mode, sequence }),
            Reception::Buffered => {
                self.in_rx_buffer.insert(frame, (mode, sequence));
            }
            Reception::Drop => emit(TraceEvent::Discarded { mode, sequence }),
        }
    }

    fn trace_control(&mut self, direction: Direction, control: &Control, emit: &mut impl FnMut(TraceEvent)) {
        let lane = match direction {
            Direction::Sent => self.lane_received,
            Direction::Received => self.lane_sent,
        };
        // The authors' ACK concerns the one lane in use.
        let lane = lane.unwrap_or(Mode::Ordered);
        let name = match *control {
            Control::Feedback(ref feedback) => return self.trace_feedback(direction, feedback, emit),
            Control::CompactNotification { next, hole } => {
                self.trace_ack(direction, lane, next, emit);
                return emit(TraceEvent::Notification { direction, mode: lane, hole });
            }
            Control::CompactAck { next } => return self.trace_ack(direction, lane, next, emit),
            Control::Dummy { .. } | Control::CompactDummy { .. } => {
                return emit(TraceEvent::Dummy { direction });
            }
            Control::PriorityPause { paused } => {
                return emit(TraceEvent::Pause { direction, mode: Mode::Ordered, paused });
            }
            // They say how paths are, and are as frequent as the time that a failure takes to be noticed.
            Control::Probe(_) => return,
            Control::Hello { .. } | Control::OldHello => "hello",
            Control::Init { .. } => "init",
            Control::InitEcho { .. } => "init echo",
            Control::Start { .. } => "start",
            Control::Fin { .. } => "fin",
            Control::FinEcho { .. } => "fin echo",
        };
        emit(TraceEvent::Handshake { direction, name });
    }

    fn trace_feedback(
        &mut self,
        direction: Direction,
        feedback: &Feedback,
        emit: &mut impl FnMut(TraceEvent),
    ) {
        for mode in Mode::ALL {
            let lane = &feedback.lanes[mode];
            self.trace_ack(direction, mode, lane.cumulative.short(), emit);
            for hole in lane.missing() {
                emit(TraceEvent::Notification { direction, mode, hole });
            }
            let last_feedback = self.last_feedback(direction);
            if core::mem::replace(&mut last_feedback.paused[mode], lane.paused) != lane.paused {
                emit(TraceEvent::Pause { direction, mode, paused: lane.paused });
            }
        }
    }

    fn trace_ack(
        &mut self,
        direction: Direction,
        mode: Mode,
        next: SequenceNumber,
        emit: &mut impl FnMut(TraceEvent),
    ) {
        if self.last_feedback(direction).next[mode].replace(next) != Some(next) {
            emit(TraceEvent::Ack { direction, mode, next });
        }
    }

    fn last_feedback(&mut self, direction: Direction) -> &mut LastFeedback {
        match direction {
            Direction::Sent => &mut self.sent,
            Direction::Received => &mut self.received,
        }
    }
}

impl fmt::Display for TraceEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copy = |copy: bool| if copy { "copy of " } else { "" };
        match *self {
            TraceEvent::Offered { mode, bytes } => write!(f, "offered a frame of {bytes} bytes, {mode}"),
            TraceEvent::Sent { mode, sequence, bytes } => write!(f, "sent {mode} {sequence}, {bytes} bytes"),
            TraceEvent::CopySent { mode, sequence } => write!(f, "sent copy of {mode} {sequence}"),
            TraceEvent::Received { mode, sequence, copy: is_copy } => {
                write!(f, "received {}{mode} {sequence}", copy(is_copy))
            }
            TraceEvent::Corrupted { mode, sequence, copy: is_copy } => {
                write!(f, "corrupted {}{mode} {sequence}", copy(is_copy))
            }
            TraceEvent::OtherCorrupted { control: true } => write!(f, "corrupted a control frame"),
            TraceEvent::OtherCorrupted { control: false } => write!(f, "corrupted an unprotected frame"),
            TraceEvent::Notification { direction, mode, hole } => {
                write!(f, "{direction} notification of {mode} {} and {} behind", hole.first, hole.length - 1)
            }
            TraceEvent::Ack { direction, mode, next } => write!(f, "{direction} ACK of {mode} before {next}"),
            TraceEvent::Pause { direction, mode, paused } => {
                write!(f, "{direction} {} of {mode}", if paused { "pause" } else { "resume" })
            }
            TraceEvent::Dummy { direction } => write!(f, "{direction} dummy"),
            TraceEvent::Handshake { direction, name } => write!(f, "{direction} {name}"),
            TraceEvent::Delivered { mode, sequence } => write!(f, "delivered {mode} {sequence}"),
            TraceEvent::Discarded { mode, sequence } => write!(f, "discarded {mode} {sequence}"),
            TraceEvent::GivenUp { frames } => write!(f, "gave up {frames}"),
            TraceEvent::Released { mode, sequence } => write!(f, "released {mode} {sequence}"),
            TraceEvent::Log(event) => write!(f, "{event:?}"),
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Sent => "sent",
            Direction::Received => "received",
        })
    }
}
