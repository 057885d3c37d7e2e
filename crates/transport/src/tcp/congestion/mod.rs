//! Congestion control: how large the window is, and at which rate it is sent.
//!
//! The sender detects loss and recovers; during recovery it spreads the reduction itself (PRR). An algorithm determines
//! the new threshold when there is congestion, lets the window grow while there is none, and may take full control
//! ([`CongestionControl::control`]). Windows are in segments, as in most implementations, so that results can be
//! compared with them.
//!
//! An algorithm is one file, which implements the trait, and one line in the list of `controller.rs`, which gives it its
//! name on the command line. [`Controller`] is the algorithm of one connection; its calls are dispatched statically.

mod bbr;
mod controller;
mod cubic;
mod dctcp;
mod hystart;
mod max_filter;
mod pacing;
mod reno;
#[cfg(test)]
mod tests;

pub use controller::{Algorithm, Controller};
pub use pacing::window_pacing_rate;

use crate::time::{Instant, Nanos};

/// The minimum window after a reduction, in segments (RFC 5681, equation 4).
pub const SSTHRESH_MIN: u32 = 2;

/// The congestion window and the threshold between slow start and congestion avoidance, in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub cwnd: u32,
    /// `u32::MAX` before the first congestion.
    pub ssthresh: u32,
}

impl Window {
    /// Whether the window still grows by one segment for each that is acknowledged.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start (RFC 5681, section 3.1): one segment more for each that is acknowledged, up to the threshold. Returns
    /// how many of them are left for congestion avoidance.
    pub fn slow_start(&mut self, acknowledged: u32) -> u32 {
        let room = self.ssthresh.saturating_sub(self.cwnd);
        let used = acknowledged.min(room);
        self.cwnd += used;
        acknowledged - used
    }
}

/// What the sender's recovery does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    #[default]
    Open,
    /// Some duplicate or selective acknowledgements, and no loss yet.
    Disorder,
    /// The window is reduced without a loss, because of ECN.
    Reduced,
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// The cause of a congestion event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// A segment was detected as lost.
    Loss,
    /// The retransmission timer expired.
    Timeout,
    /// The peer echoed a mark (ECN).
    Mark,
}

/// The connection as its algorithm sees it, at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    pub now: Instant,
    pub mss: u32,
    pub window: Window,
    pub phase: Phase,
    /// Segments in the network, as far as is known (RFC 6675's pipe).
    pub in_flight: u32,
    /// Smoothed round-trip time, once measured.
    pub smoothed_rtt: Option<Nanos>,
    /// Minimum round-trip time in the last five minutes, once measured.
    pub min_rtt: Option<Nanos>,
    /// First byte not acknowledged, and first byte not sent.
    pub unacknowledged: u64,
    pub next: u64,
    /// Whether the window, rather than the application or the peer's window, limited what was sent.
    pub is_window_limited: bool,
}

/// What an acknowledgement says.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckSample {
    /// Segments newly acknowledged, cumulatively or selectively.
    pub delivered: u32,
    /// Segments newly acknowledged cumulatively.
    pub acknowledged: u32,
    /// Bytes newly acknowledged cumulatively.
    pub acknowledged_bytes: u64,
    /// Segments newly detected as lost.
    pub lost: u32,
    /// Whether it echoes a mark (ECE).
    pub marked: bool,
    /// Round-trip time, of the segment sent last among those newly acknowledged, and never of a retransmitted one.
    pub rtt: Option<Nanos>,
    /// Segments in flight before it arrived.
    pub in_flight_before: u32,
    /// Delivery rate, if it was measured.
    pub rate: Option<RateSample>,
}

/// Delivery rate (draft-cheng-iccrg-delivery-rate-estimation): segments delivered over an interval.
#[derive(Debug, Clone, Copy)]
pub struct RateSample {
    /// Segments delivered within the interval.
    pub delivered: u32,
    /// Total segments delivered when the newest acknowledged one was sent.
    pub delivered_before: u64,
    /// Total segments delivered so far.
    pub delivered_total: u64,
    /// The longer of the intervals in which they were sent and acknowledged.
    pub interval: Nanos,
    /// Whether the application had too little to send.
    pub is_app_limited: bool,
}

/// A congestion control algorithm. Implementing only [`ssthresh`](Self::ssthresh) and [`grow`](Self::grow) is
/// sufficient.
///
/// The order of calls: [`opened`](Self::opened) once, when the connection is established. For each acknowledgement, after
/// the sender has counted it (so the context is the one that it leaves), [`acknowledged`](Self::acknowledged); then, if
/// the sender meets congestion, [`ssthresh`](Self::ssthresh) with the window as it was before, and
/// [`phase_changed`](Self::phase_changed); last [`control`](Self::control), and if that leaves the window to the sender,
/// [`grow`](Self::grow). A retransmission timeout calls `ssthresh` and `phase_changed`.
pub trait CongestionControl {
    /// The threshold after `congestion`, in segments; at least [`SSTHRESH_MIN`].
    fn ssthresh(&mut self, context: &Context, congestion: Congestion) -> u32;

    /// Lets the window grow after an acknowledgement of `acknowledged` segments; only called while neither recovery nor
    /// a reduction is in progress and the window limits the sender.
    fn grow(&mut self, context: &Context, window: &mut Window, acknowledged: u32);

    /// The window to return to when a reduction turns out to be spurious; `before` is that before the reduction.
    fn undo(&mut self, context: &Context, before: Window) -> u32 {
        before.cwnd.max(context.window.cwnd)
    }

    /// The connection is established. `context` has the round-trip time of the handshake, if it was measured, and the
    /// initial window.
    fn opened(&mut self, context: &Context) {
        let _ = context;
    }

    /// An acknowledgement has arrived; called for each, before anything else. Slow start may end here, by lowering the
    /// threshold to the window; the window itself is left alone.
    fn acknowledged(&mut self, context: &Context, sample: &AckSample, window: &mut Window) {
        let _ = (context, sample, window);
    }

    /// Takes full control of the window, instead of the sender's growth and recovery. Returns whether it does.
    fn control(&mut self, context: &Context, sample: &AckSample, window: &mut Window) -> bool {
        let _ = (context, sample, window);
        false
    }

    /// The sender's recovery has changed to `context.phase`.
    fn phase_changed(&mut self, context: &Context) {
        let _ = context;
    }

    /// Sending begins again after an idle time of this length, with nothing in flight.
    fn idle_ended(&mut self, context: &Context, idle: Nanos) {
        let _ = (context, idle);
    }

    /// Rate at which segments are sent, in bytes per second; `None` for as fast as the window allows.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
}
