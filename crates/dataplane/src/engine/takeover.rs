//! When the kernel takes over from a loop that stands still, and how the loop finds out.
//!
//! A session survives whatever the kernel has not taken over: the peer waits longer than the kernel does, and the loop
//! learns what happened to the frames it did not see from the kernel's counters, not from a clock.

use super::Engine;
use crate::bypass::BypassMode;
use crate::port::Port;
use linkmend_control::Side;
use linkmend_protocol::{Config, ConfigError, Format, Instant, ReceiveState, Tick};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Age of the heartbeat at which the kernel takes over. The heartbeat is renewed more often than that.
pub(super) const ACTIVE_STALL_AFTER_NS: u64 = 300_000_000;
pub(super) const ACTIVE_WAIT_MAX_NS: u64 = 50_000_000;
/// The same while dormant, when the kernel forwards anyway and waking would cost more than it gains.
pub(super) const DORMANT_STALL_AFTER_NS: u64 = 3_000_000_000;
pub(super) const DORMANT_WAIT_MAX_NS: u64 = 500_000_000;
/// A loop may stand still for this long without the kernel taking over, even if it was about to wake from its longest
/// sleep.
const STANDSTILL_NS: u64 = 200_000_000;
/// How many keepalives may be lost or late, on top of a standstill, before the peer counts as gone.
const KEEPALIVES: u64 = 3;
/// The longest time after the daemon's last sign of life that the kernel still takes headers for the peer's.
const PEER_MEMORY_MAX_NS: u64 = 10_000_000_000;
const PEER_TIMEOUT_MIN_NS: u64 =
    ACTIVE_STALL_AFTER_NS + KEEPALIVES * Config::new(Tick::Nanosecond).keepalive.0;
#[cfg(test)]
pub(super) const PEER_TIMEOUT_MIN: linkmend_protocol::Ticks = linkmend_protocol::Ticks(PEER_TIMEOUT_MIN_NS);

const _: () = {
    assert!(STANDSTILL_NS + ACTIVE_WAIT_MAX_NS < ACTIVE_STALL_AFTER_NS);
    assert!(3 * DORMANT_WAIT_MAX_NS <= DORMANT_STALL_AFTER_NS);
    assert!(Config::new(Tick::Nanosecond).keepalive.0 < ACTIVE_WAIT_MAX_NS);
    assert!(PEER_TIMEOUT_MIN_NS <= Config::new(Tick::Nanosecond).peer_timeout.0);
    // The hint below says so.
    assert!(PEER_TIMEOUT_MIN_NS == 330_000_000 && ACTIVE_STALL_AFTER_NS == 300_000_000);
};

/// Checks the peer timeout. [`Config::validate`] checks everything else.
pub(crate) fn validate(config: &Config) -> Result<(), ConfigError> {
    if config.peer_timeout.0 >= PEER_TIMEOUT_MIN_NS {
        return Ok(());
    }
    Err(ConfigError {
        parameter: "peer_timeout",
        value: config.peer_timeout.0 as f64,
        requirement: "must be at least 330 ms: a loop may stall for 300 ms before the kernel takes over, and a \
                      session outlasts that",
    })
}

/// How long a peer may still send headers, and believe those that it gets, after this end has died: as long as it
/// remembers this end, if it is configured alike. It needs as long after an orderly stop.
fn peer_memory(config: &Config) -> u64 {
    (4 * config.hello_interval.0 + config.peer_timeout.0).min(PEER_MEMORY_MAX_NS)
}

/// What the kernel has done so far in place of a daemon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KernelWork {
    forwarded: u64,
    decapsulated: u64,
}

/// How long a stopping loop waits until nothing is in flight, so that no frame overtakes another.
const STOP_EMPTY_NS: u64 = 50_000_000;

impl Engine {
    /// Whether a stopping loop has nothing left to deliver. Once the sessions have ended, or at `stop_at` whether they have or
    /// not, the kernel forwards new frames: as soon as none of the earlier ones is in flight, or else a little later.
    pub(super) fn is_done(&mut self, now: u64, busy: bool, stop_at: u64) -> bool {
        if now < stop_at && !self.end.has_left(Instant(now)) {
            return false;
        }
        let is_empty = !busy && self.queues.is_empty() && self.in_flight() == 0;
        if self.kernel_mode == BypassMode::Dormant {
            return is_empty || now >= stop_at + STOP_EMPTY_NS;
        }
        let since = *self.dormant_wanted_ns.get_or_insert(now);
        if is_empty || now >= since + STOP_EMPTY_NS {
            self.stop_holding(now);
            self.end.handle_stop(Instant(now));
            self.deliver_buffered();
            if !self.hand_to_kernel() && now >= since + STOP_EMPTY_NS {
                self.set_kernel_mode(BypassMode::Dormant);
            }
        }
        false
    }

    /// Hands the link to the kernel, unless a frame arrives at this moment, which the next ones would overtake. Returns whether
    /// it has.
    pub(super) fn hand_to_kernel(&mut self) -> bool {
        if self.bypass.as_ref().is_some_and(|bypass| !bypass.hand_over(|| self.has_arrivals())) {
            // The kernel may have taken some for a moment.
            self.wait_for_kernel_queues();
            return false;
        }
        self.set_kernel_mode(BypassMode::Dormant);
        true
    }

    /// Whether a frame waits at a port.
    fn has_arrivals(&self) -> bool {
        let mut fds: Vec<PollFd> =
            self.ports().map(|port| PollFd::new(port.as_fd(), PollFlags::POLLIN)).collect();
        let has_frame = |fd: &PollFd| fd.revents().is_some_and(|events| events.contains(PollFlags::POLLIN));
        let holds_frames = self.ports().any(Port::holds_frames);
        holds_frames || poll(&mut fds, PollTimeout::ZERO).is_ok() && fds.iter().any(has_frame)
    }

    /// Tells the kernel that this loop is alive, and finds out whether the kernel acted in its place.
    ///
    /// The heartbeat comes first. A frame that met the program just before it may still be counted afterwards; the next
    /// round sees that, long before a copy of a frame that the kernel has delivered could be delivered.
    pub(super) fn beat(&mut self, now: u64) {
        let Some(bypass) = &mut self.bypass else { return };
        bypass.heartbeat(now);
        // Without large segments, the hosts are what limits a link, and the effect has not been measured.
        if self.settings.offloads {
            bypass.follow_loop(now, || self.end.status().receive == ReceiveState::Active);
        }
        bypass.set_known_until(match self.settings.format {
            // The authors' program goes on whether this end lives or not.
            Format::Linkguardian => u64::MAX,
            _ if self.end.peer_known() => now + peer_memory(self.end.config()),
            _ => 0,
        });
        let forwarded = bypass.counters(Side::Inner).bypassed_frames;
        let mut work = KernelWork { forwarded, decapsulated: 0 };
        for path in self.sides.paths() {
            let counters = bypass.counters(path.into());
            work.forwarded += counters.bypassed_frames;
            work.decapsulated += counters.decapsulated;
        }
        let before = std::mem::replace(&mut self.kernel_work, work);
        let gap = now - std::mem::replace(&mut self.beat_ns, now);
        if self.kernel_mode == BypassMode::Dormant || work == before {
            return;
        }
        // Frames may also be counted late while the mode changes. Only a gap is a stall.
        if gap >= ACTIVE_STALL_AFTER_NS {
            self.counters.stalls += 1;
            tracing::warn!(
                link = %self.settings.name,
                stalled_ms = gap / 1_000_000,
                frames = work.forwarded - before.forwarded,
                "this process did not run; the kernel forwarded meanwhile"
            );
            self.wait_for_kernel_queues();
        }
        if work.decapsulated != before.decapsulated {
            // The kernel may have delivered frames that the receiver believes missing.
            tracing::warn!(link = %self.settings.name, "resetting the receiving direction, because the kernel may have delivered protected frames; the peer starts a new session");
            self.stop_holding(now);
            self.end.handle_stall(Instant(now));
            // These frames go before anything that still waits in the ring.
            self.deliver_buffered();
        }
    }
}
