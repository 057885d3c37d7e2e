//! The published program's protocol, which has no sessions ([`Format::Linkguardian`](crate::Format::Linkguardian)).
//!
//! It differs from a link between two Linkmend ends as follows:
//!
//! - Numbers begin at 0 when an end starts, and continue for as long as it runs; both modes share them.
//! - The leading ACK is the latest number seen, whatever is missing before it. A loss notification carries the frame
//!   that revealed the hole as its leading ACK, is sent once, and asks for at most five frames, because the authors'
//!   sender has that many registers. A longer hole takes several notifications, whose leading ACK is the end of each
//!   piece.
//! - A requested frame comes back once, in N copies, and is then forgotten: there are no further rounds. Numbers
//!   continue in the meantime, so the receiver's window slides over what is still missing.
//! - Pause and resume are priority flow control frames of class 1 (IEEE 802.1Qbb).
//!
//! The authors' receiver answers only frames, so an end that wants to send *probes* it: a dummy that announces one
//! number more than was sent makes any such receiver report that number missing. Only then are frames protected. A peer
//! that has been silent for half its timeout is probed in the same way. The number is skipped.
//!
//! Originals arrive in the order of their numbers, because a link is a queue. An original that steps back, or a dummy
//! that announces less than has been seen, therefore means that the peer has started again, and its numbers are
//! believed.

use crate::session::SessionNumber;

/// Stands for the session of a peer that has no sessions.
pub(super) const NO_SESSION: SessionNumber = SessionNumber(0);
