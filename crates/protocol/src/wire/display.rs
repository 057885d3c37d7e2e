//! Frames on the link as text, for captures.

use super::LinkFrame;
use crate::frame::{Feedback, LaneFeedback, SequenceRange};
use crate::link_end::Control;
use crate::mode::Mode;
use crate::paths::Probe;
use core::fmt;

/// Uses the vocabulary of the design; numbers are written as in the protocol log, number and era as one.
impl fmt::Display for LinkFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkFrame::Data { header, .. } => {
                let what = if header.retransmitted { "copy of" } else { "data" };
                write!(f, "{what} {} {}", header.mode, header.sequence)?;
                match header.ack {
                    Some(ack) => write!(f, ", ACK of {} before {}", ack.mode, ack.next),
                    None => Ok(()),
                }
            }
            LinkFrame::Acknowledging { ack, .. } => {
                write!(f, "unprotected, ACK of {} before {}", ack.mode, ack.next)
            }
            LinkFrame::Control(control) => control.fmt(f),
            LinkFrame::Escaped(_) => f.write_str("unprotected, escaped"),
            LinkFrame::InTime => f.write_str("in time"),
            LinkFrame::Foreign => f.write_str("unprotected"),
            LinkFrame::Malformed => f.write_str("malformed"),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Control::Hello { nonce, echo: 0 } => write!(f, "hello of {nonce:016x}"),
            Control::Hello { nonce, echo } => write!(f, "hello of {nonce:016x} to {echo:016x}"),
            Control::OldHello => f.write_str("hello of an older version"),
            Control::Init { session, .. } => write!(f, "init of session {}", session.0),
            Control::InitEcho { session, window_frames, .. } => {
                write!(f, "init-echo of session {}, window {window_frames} frames", session.0)
            }
            Control::Start { session, .. } => write!(f, "start of session {}", session.0),
            Control::Feedback(feedback) => feedback.fmt(f),
            Control::Dummy { session, stamp, next, held_from } => {
                write!(f, "dummy {stamp} of session {}:", session.0)?;
                for (index, mode) in Mode::ALL.into_iter().enumerate() {
                    write!(f, "{} {mode} before {}", if index == 0 { "" } else { "," }, next[mode])?;
                    if held_from[mode] != next[mode] {
                        write!(f, " held from {}", held_from[mode])?;
                    }
                }
                Ok(())
            }
            Control::Fin { session } => write!(f, "fin of session {}", session.0),
            Control::FinEcho { session } => write!(f, "fin-echo of session {}", session.0),
            Control::Probe(probe) => {
                let Probe { writer, path, number, decision, takes, is_full, .. } = probe;
                let size = if *is_full { "full-size probe" } else { "probe" };
                write!(f, "{size} {number} of {writer:08x} on the {path} link: ")?;
                write!(f, "decision {} uses the {} link, takes by {takes}", decision.number, decision.active)
            }
            Control::CompactAck { next } => write!(f, "ACK before {next} (compact)"),
            Control::CompactNotification { next, hole } => {
                write!(f, "loss notification (compact): ACK before {next}, missing {hole}")
            }
            Control::PriorityPause { paused: true } => f.write_str("pause of class 1"),
            Control::PriorityPause { paused: false } => f.write_str("resume of class 1"),
            Control::CompactDummy { mode, next } => write!(f, "dummy (compact): {mode} before {next}"),
        }
    }
}

impl fmt::Display for Feedback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = Mode::ALL.iter().any(|&mode| self.lanes[mode].missing().len() > 0);
        let what = if missing { "loss notification" } else { "ACK" };
        write!(f, "{what} {} of session {}:", self.number, self.session.0)?;
        for (index, mode) in Mode::ALL.into_iter().enumerate() {
            write!(f, "{} {mode} {}", if index == 0 { "" } else { ";" }, self.lanes[mode])?;
        }
        Ok(())
    }
}

impl fmt::Display for LaneFeedback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before {}", self.cumulative)?;
        if self.from != self.cumulative.short() {
            write!(f, ", of {} to before {}", self.from, self.covered)?;
        }
        for (index, range) in self.missing().enumerate() {
            write!(f, "{}{range}", if index == 0 { ", missing " } else { " " })?;
            f.write_str(if self.is_overflowed(index) { " (no room)" } else { "" })?;
        }
        f.write_str(if self.paused { ", paused" } else { "" })
    }
}

impl fmt::Display for SequenceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length {
            0 | 1 => write!(f, "{}", self.first),
            length => write!(f, "{}-{}", self.first, self.first.plus(u64::from(length) - 1)),
        }
    }
}
