//! The steady state of the transmitter, for drivers that skip repetitions.

use super::{TransmitState, Transmitter};
use crate::config::ReplayTimerStart;
use crate::time::{Instant, Span};

impl Transmitter {
    /// Records the state that determines the future, relative to the clock and to frame numbers. `None` unless it is in
    /// ADVANCE with nothing to repeat, or OFF.
    pub fn steady_state(&self, now: Instant, state: &mut Vec<u64>) -> Option<()> {
        let is_quiet = matches!(self.state, TransmitState::Off | TransmitState::Advance)
            && self.replays == 0
            && self.pcs_lost.is_none()
            && !self.paused
            && self.released.is_empty();
        if !is_quiet {
            return None;
        }
        let progress = if self.buffer.frames() == 0 { Span::ZERO } else { now.since(self.timer_began) };
        state.extend([self.buffer.frames(), self.buffer.bytes(), progress.0]);
        if self.remembers_when_frames_were_sent() {
            self.buffer.ages(now, state);
        }
        Some(())
    }

    /// Whether the transmission time of each outstanding frame matters.
    fn remembers_when_frames_were_sent(&self) -> bool {
        self.config.data_age_timeout_ns > 0
            || self.config.choices.replay_timer_start == ReplayTimerStart::OldestFrame
    }

    /// Skips some cycles of the steady state, in which this many frames were numbered, sent and acknowledged by this many ACKs.
    pub fn fast_forward(&mut self, elapsed: Span, frames: u64, acks: u64) {
        self.buffer.fast_forward(elapsed, frames);
        self.timer_began = self.timer_began + elapsed;
        self.cursor += frames;
        let counters = &mut self.counters;
        counters.accepted += frames;
        counters.acknowledged += frames;
        counters.tx_ok += frames;
        counters.rx_ack += acks;
    }
}
