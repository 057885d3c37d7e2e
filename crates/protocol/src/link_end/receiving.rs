//! The receiving side of a link end: data, announcements, and the feedback that it owes.

mod acks;
mod announce;
mod data;
mod feedback;
mod leaving;
mod session;
mod sessionless;

use crate::config::Config;
use crate::mode::{Mode, PerMode};
use crate::receiver::{Receiver, ReceiverLimits};
use crate::session::ReceiveSession;
use acks::Acks;
use leaving::Leaving;
use sessionless::Sessionless;

/// What a link end knows about the frames that it receives.
#[derive(Debug)]
pub(super) struct ReceivingSide {
    pub(super) receive: ReceiveSession,
    pub(super) receivers: PerMode<Receiver>,
    pub(super) acks: Acks,
    sessionless: Sessionless,
    leaving: Leaving,
}

impl ReceivingSide {
    pub(super) fn new(config: &Config) -> ReceivingSide {
        let receiver = |mode| Receiver::new(mode, config.window_frames, ReceiverLimits::new(config));
        ReceivingSide {
            receive: ReceiveSession::default(),
            receivers: PerMode(Mode::ALL.map(receiver)),
            acks: Acks::default(),
            sessionless: Sessionless::new(),
            leaving: Leaving::default(),
        }
    }
}
