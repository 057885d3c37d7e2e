//! The end of a round: frames go to the kernel, and the loop sleeps until there is something to do.

use super::link_side::LinkSide;
use super::takeover::{ACTIVE_WAIT_MAX_NS, DORMANT_WAIT_MAX_NS};
use super::{Engine, IN_FLIGHT_WAIT_MAX_NS, QUIET_BEFORE_DORMANT_NS, UNSERVED_WAIT_NS};
use crate::bypass::BypassMode;
use crate::clock;
use crate::port::PortError;
use linkmend_protocol::paths::Path;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::os::fd::AsFd;
use std::time::Duration;

/// How soon to look again for a link that takes the first frame, if there are two to choose from.
const LOOK_AGAIN_NS: u64 = 500_000;

impl Engine {
    pub(super) fn flush(&mut self) {
        if let Err(error) = self.inner.flush(&mut self.pool) {
            self.handle_flush_error(None, &error);
        }
        for path in self.sides.paths() {
            if let Err(error) = self.sides[path].port.flush(&mut self.pool) {
                self.handle_flush_error(Some(path), &error);
            }
        }
    }

    /// When a link is to carry more, as far as that is known.
    fn opens_at(&self, now: u64) -> u64 {
        let of = |path: Path| {
            let LinkSide { shaper, port, .. } = &self.sides[path];
            [shaper.opens_at(now), port.opens_at()].into_iter().flatten().fold(now, u64::max)
        };
        if !self.shares() {
            return of(self.active);
        }
        // The first frame may be waiting for the better one of two links, or for that one not to be worth it.
        let at = self.sides.paths().map(of).filter(|&at| at > now).fold(u64::MAX, u64::min);
        at.min(now + LOOK_AGAIN_NS)
    }

    fn handle_flush_error(&mut self, path: Option<Path>, error: &PortError) {
        if !matches!(error.errno(), Some(libc::ENXIO | libc::ENODEV)) {
            // The interface is down. Frames are lost meanwhile, as on any such port, but it may come up again.
            tracing::debug!(link = %self.settings.name, %error, "flush failed");
        } else if !path.is_some_and(|path| self.handle_gone(clock::now_ns(), path)) {
            tracing::error!(link = %self.settings.name, %error, "an interface is gone; the loop ends");
            self.lost_interface = Some(error.interface().to_owned());
        }
    }

    /// Sleeps until there may be something to do; a loop that stops looks often whether it is done.
    pub(super) fn wait(&mut self, now: u64, stops: bool) {
        let limit = match self.kernel_mode {
            BypassMode::Dormant => DORMANT_WAIT_MAX_NS,
            BypassMode::Active => ACTIVE_WAIT_MAX_NS,
        };
        let mut until = now + limit;
        let opens_at = self.opens_at(now);
        // Work for an idle link also waits for the shaper.
        let idle = self.end.next_timeout().map(|at| at.0.max(opens_at));
        let urgent = self.end.next_urgent_timeout().map(|at| at.0);
        let ports = self.sides.iter().filter_map(|side| side.port.next_timeout());
        for at in
            [idle, urgent, self.paths_timeout(), self.in_time_timeout()].into_iter().flatten().chain(ports)
        {
            // Still due after this round means that it could not be served.
            until = until.min(if at <= now { now + UNSERVED_WAIT_NS } else { at });
        }
        if self.in_flight() > 0 {
            until = until.min(now + IN_FLIGHT_WAIT_MAX_NS);
        }
        if stops || (self.kernel_mode == BypassMode::Active && !self.needs_every_frame()) {
            until = until.min(now + QUIET_BEFORE_DORMANT_NS);
        }
        if !self.queues.is_empty() && opens_at > now {
            until = until.min(opens_at);
        }
        let sleep_ns = if self.settings.busy_poll { 0 } else { until.saturating_sub(now) };
        let timeout = TimeSpec::from_duration(Duration::from_nanos(sleep_ns));
        // While the inner port takes nothing, frames on the link port must not wake the loop.
        let link_events = if self.inner_frames_room() > 0 { PollFlags::POLLIN } else { PollFlags::empty() };
        let wake = self.wake.as_fd();
        // A port that there is not is not waited for; its place is taken by what is waited for in any case.
        let present = self.sides.iter().filter(|side| !side.is_gone());
        let mut sides = present.map(|side| PollFd::new(side.port.as_fd(), link_events));
        let mut side = || sides.next().unwrap_or(PollFd::new(wake, PollFlags::POLLIN));
        let inner = PollFd::new(self.inner.as_fd(), PollFlags::POLLIN);
        let mut fds = [PollFd::new(wake, PollFlags::POLLIN), inner, side(), side()];
        // A signal ends the sleep early, which does no harm.
        let woken = ppoll(&mut fds, Some(timeout), None);
        let asked = woken.is_ok_and(|count| count > 0)
            && fds[0].revents().is_some_and(|events| events.contains(PollFlags::POLLIN));
        let failed = fds.iter().any(|fd| fd.revents().is_some_and(|e| e.contains(PollFlags::POLLERR)));
        if asked {
            let _ = self.wake.read();
        }
        if failed {
            self.clear_port_errors();
        }
    }

    /// Reads the error that an interface leaves on a packet socket when it goes down, because until then it wakes every
    /// poll.
    fn clear_port_errors(&self) {
        use nix::sys::socket::{getsockopt, sockopt::SocketError};
        for port in self.ports() {
            match getsockopt(&port.as_fd(), SocketError) {
                Ok(0) | Err(_) => {}
                Ok(errno) => {
                    let error = std::io::Error::from_raw_os_error(errno);
                    tracing::warn!(link = %self.settings.name, port = port.name(), %error, "port error");
                }
            }
        }
        std::thread::sleep(Duration::from_nanos(UNSERVED_WAIT_NS));
    }
}
