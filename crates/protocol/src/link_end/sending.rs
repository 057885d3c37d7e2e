//! The sending side of a link end: normal frames, copies, dummies, and what the peer's feedback changes.

mod announcements;
mod dummies;
mod frames;
mod reports;
mod session;
mod sessionless;

pub use reports::RoundTrips;

use super::Protection;
use crate::config::Config;
use crate::fallback::Fallback;
use crate::frame::FrameHandle;
use crate::loss_window::LossWindow;
use crate::mode::{Mode, PerMode};
use crate::sender::Sender;
use crate::session::TransmitSession;
use crate::time::Instant;
use alloc::collections::VecDeque;
use dummies::Dummies;
use reports::LastFeedback;

/// What a link end knows about the frames that it sends.
#[derive(Debug)]
pub(super) struct SendingSide {
    /// The protection that the operator requests.
    pub(super) protection: Option<Protection>,
    pub(super) copies: u8,
    pub(super) fallback: Fallback,
    pub(super) loss: LossWindow,
    /// Whether another path would carry frames without much loss.
    has_clean_other: bool,
    pub(super) transmit: TransmitSession,
    /// Whether the session ends because the peer has asked for it.
    pub(super) peer_leaves: bool,
    pub(super) senders: PerMode<Sender>,
    pub(super) dummies: Dummies,
    /// The lane in use in the authors' headers, whose ACKs do not name one.
    compact_lane: Mode,
    /// Compact format: the first number of the lane in use, until the receiver is known to have seen that lane.
    lane_begins_at: Option<u64>,
    /// Whether a dummy must tell the receiver that it waits in vain.
    pub(super) withdrawal: bool,
    pub(super) paused_since: Option<Instant>,
    /// Without sessions: when a pause that is not renewed ends.
    pub(super) pause_ends_at: Option<Instant>,
    last_feedback: LastFeedback,
    pub(super) round_trips: RoundTrips,
    pub(super) released: VecDeque<FrameHandle>,
}

impl SendingSide {
    pub(super) fn new(config: &Config) -> SendingSide {
        SendingSide {
            protection: None,
            copies: 1,
            fallback: Fallback::new(config.fallback),
            loss: LossWindow::new(config.loss_window_frames),
            has_clean_other: false,
            transmit: TransmitSession::new(),
            peer_leaves: false,
            senders: PerMode(Mode::ALL.map(|mode| Sender::new(mode, config))),
            dummies: Dummies::default(),
            compact_lane: Mode::Ordered,
            lane_begins_at: None,
            withdrawal: false,
            paused_since: None,
            pause_ends_at: None,
            last_feedback: LastFeedback::default(),
            round_trips: RoundTrips::default(),
            released: VecDeque::with_capacity(2 * config.window_frames as usize),
        }
    }
}
