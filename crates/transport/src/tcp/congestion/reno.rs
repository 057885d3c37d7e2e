//! Reno: RFC 5681, counted in segments.

use super::{Congestion, CongestionControl, Context, SSTHRESH_MIN, Window};

/// Congestion avoidance by one segment per window, and half of the window when congestion is met.
///
/// The window grows by acknowledged segments and not by acknowledgements, so a receiver that delays its acknowledgements
/// slows the growth down no more than RFC 3465 (appropriate byte counting) would let it.
#[derive(Debug, Clone, Default)]
pub struct Reno {
    /// Segments acknowledged since the last step of congestion avoidance.
    carried: u32,
}

impl Reno {
    /// For a new connection. There are no random choices.
    pub fn new(_seed: u64) -> Reno {
        Reno::default()
    }

    /// One segment more for each `size` of them that are acknowledged: a window of them in RFC 5681, section 3.1, equation 3.
    /// What does not fill `size` is carried over.
    pub(super) fn avoid(&mut self, window: &mut Window, size: u32, acknowledged: u32) {
        let size = size.max(1);
        if self.carried >= size {
            // It was accumulated under a larger window, before a reduction, so it counts for only one step.
            self.carried = 0;
            window.cwnd = window.cwnd.saturating_add(1);
        }
        self.carried = self.carried.saturating_add(acknowledged);
        window.cwnd = window.cwnd.saturating_add(self.carried / size);
        self.carried %= size;
    }

    /// What was carried over belongs to the window before a reduction.
    pub(super) fn forget(&mut self) {
        self.carried = 0;
    }
}

/// Half of the window (RFC 5681, equation 4). The window stands for FlightSize, as in Linux: a sender that the
/// application limits does not lose what it has probed.
pub(super) fn half(context: &Context) -> u32 {
    (context.window.cwnd / 2).max(SSTHRESH_MIN)
}

impl CongestionControl for Reno {
    fn ssthresh(&mut self, context: &Context, _: Congestion) -> u32 {
        self.forget();
        half(context)
    }

    fn grow(&mut self, _: &Context, window: &mut Window, acknowledged: u32) {
        let rest = window.slow_start(acknowledged);
        if rest > 0 {
            self.avoid(window, window.cwnd, rest);
        }
    }
}
