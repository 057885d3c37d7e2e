//! From the daemon to the kernel at a moment at which neither has a frame, so that none overtakes another.

use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use super::{Attached, Bypass, BypassMode, words};

/// Longer than a program and what follows it in the kernel take for a frame.
const IN_HAND: Duration = Duration::from_micros(20);

impl Bypass {
    /// Hands all frames to the kernel from now on, if none arrives while that happens. Returns whether it did; otherwise
    /// everything is as before. Call it only in [`BypassMode::Active`]; `holds_frames` tells whether any waits for the daemon.
    pub fn hand_over(&self, holds_frames: impl FnOnce() -> bool) -> bool {
        let seen = self.seen_frames();
        // By then, what a program has in hand waits at the socket, or has gone.
        std::thread::sleep(IN_HAND);
        if holds_frames() {
            return false;
        }
        self.set_mode(BypassMode::Dormant);
        // A program counts a frame before it reads the mode, so either the frame is counted by now or the mode was read.
        fence(Ordering::SeqCst);
        let is_alone = self.seen_frames() == seen;
        if !is_alone {
            self.set_mode(BypassMode::Active);
        }
        is_alone
    }

    /// Frames that the programs were given, of all ports.
    fn seen_frames(&self) -> u64 {
        let of = |port: &Attached| self.config.word(words::COUNTERS[port.side as usize] + words::SEEN);
        self.ports.iter().map(|port| of(port).load(Ordering::Relaxed)).sum()
    }
}
