//! The published program's protocol, which has no sessions ([`Format::Linkguardian`](crate::Format::Linkguardian)).
//!
//! What is different from a link between two Linkmend ends:
//!
//! - Numbers begin at 0 when an end starts, and go on for as long as it runs; both modes share them.
//! - The leading ACK is the latest number seen, whatever is missing before it. A loss notification carries the frame
//!   that revealed the hole as its leading ACK, is sent once, and asks for at most five frames: their sender has
//!   that many registers. A longer hole is asked for in pieces, whose leading ACK is the end of the piece.
//! - A frame that is asked for comes back once, in N copies, and is forgotten: there are no further rounds.
//! - Pause and resume are priority flow control frames of class 1 (IEEE 802.1Qbb).
//!
//! Their receiver answers nothing but frames, so an end that is to send *knocks*: a dummy that announces one number more
//! than was sent makes any receiver of theirs report that number missing. Only then are frames protected, and a peer that
//! has been silent for half its timeout is asked in the same way. The number is skipped.
//!
//! Originals arrive in the order of their numbers, because a link is a queue. So one that steps back, or a dummy that
//! announces less than has been seen, means that the peer has started again: its numbers are believed.

use crate::session::SessionNumber;

/// Stands for the session of a peer that knows none.
pub(super) const NO_SESSION: SessionNumber = SessionNumber(0);
