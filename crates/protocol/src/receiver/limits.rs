//! What a receiver takes from the configuration of its link end.

use super::unconfirmed::plausible_ahead;
use crate::config::{Config, Format};
use crate::time::Ticks;

/// A receiver's part of the configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceiverLimits {
    pub(crate) buffer_bytes: u64,
    pub(crate) pause_bytes: u64,
    pub(crate) resume_bytes: u64,
    pub(crate) recovery_timeout: Ticks,
    /// Whether the recovery timeout applies.
    pub(crate) by_clock: bool,
    /// Whether only the recovery timeout counts: a withdrawal by the sender changes nothing, as in the paper.
    pub(crate) by_clock_alone: bool,
    /// How far ahead a single frame is believed.
    pub(crate) plausible_ahead: u64,
    /// Whether the sender's numbers continue whatever is missing, and the window with them.
    pub(crate) slides: bool,
    /// Whether the sender resends a frame that did not fit until there is room, so that its recovery timeout restarts
    /// with each arrival.
    pub(crate) resends: bool,
    /// Whether the recovery timeout, which was not requested explicitly, is overridden by what is known about the
    /// sender: that it resends a frame until there is room, and which frames it has withdrawn.
    pub(crate) clock_yields: bool,
}

impl ReceiverLimits {
    pub(crate) fn new(config: &Config) -> ReceiverLimits {
        // The authors' sender resends a frame once.
        let resends = !matches!(config.format, Format::Linkguardian);
        ReceiverLimits {
            buffer_bytes: config.rx_buffer_bytes,
            pause_bytes: config.pause_bytes,
            resume_bytes: config.resume_bytes,
            recovery_timeout: config.recovery_timeout,
            by_clock: config.gives_up_by_clock(),
            by_clock_alone: config.gives_up_by_clock_alone(),
            // The authors' sender may begin anywhere, and shows this with a frame.
            plausible_ahead: match config.format {
                Format::Linkguardian => u64::MAX,
                Format::Transparent | Format::Compact => plausible_ahead(config.window_frames),
            },
            slides: !resends,
            resends,
            clock_yields: resends && !config.give_up_by_clock,
        }
    }
}
