//! Automatic fallback (section 5): ordered -> non-blocking -> dormant when the link gets too bad, and back.
//!
//! Ordered mode holds frames back for every loss, so at a high loss rate it costs more than it gains; at a still higher
//! one, retransmission itself no longer pays. The way down is immediate. The way back requires a quiet time, so that a
//! link at the limit does not oscillate. A dormant link measures no losses: it is tried again after `dormant_hold`, and
//! this time doubles with every failed trial.

use crate::config_error::ConfigError;
use crate::time::{Instant, Tick, Ticks};

/// Longest time before a dormant link is tried again, as a multiple of `dormant_hold`.
const DORMANT_HOLD_FACTOR_MAX: u64 = 64;

/// How much of the requested protection the fallback allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Level {
    /// Everything that was requested.
    Full,
    /// Every class in non-blocking mode.
    NonBlocking,
    /// No protection at all.
    Dormant,
}

/// Limits of the automatic fallback.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FallbackConfig {
    /// Whether the fallback is on. If not, the level stays [`Level::Full`].
    pub enabled: bool,
    /// Actual loss rate above which ordered mode is left.
    pub ordered_loss_max: f64,
    /// Actual loss rate above which protection is given up.
    pub non_blocking_loss_max: f64,
    /// Frames that overflowed the Rx buffer within one loss window, above which ordered mode is left.
    pub rx_overflow_max: u32,
    /// Protection can return when the loss rate is below its limit times this factor.
    pub return_factor: f64,
    /// How long the loss rate must stay that low.
    pub return_hold: Ticks,
    /// How long a link stays dormant before it is tried again.
    pub dormant_hold: Ticks,
}

impl FallbackConfig {
    /// The defaults, for a driver whose clock has this tick.
    pub const fn new(tick: Tick) -> FallbackConfig {
        FallbackConfig {
            enabled: true,
            ordered_loss_max: 0.05,
            non_blocking_loss_max: 0.3,
            rx_overflow_max: 1_000,
            return_factor: 0.5,
            return_hold: tick.secs(5),
            dormant_hold: tick.secs(10),
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let rate = |rate: f64| (0.0..=1.0).contains(&rate);
        let checks = [
            (
                "fallback.ordered_loss_max",
                self.ordered_loss_max,
                rate(self.ordered_loss_max),
                "must lie in 0..=1",
            ),
            (
                "fallback.non_blocking_loss_max",
                self.non_blocking_loss_max,
                rate(self.non_blocking_loss_max) && self.non_blocking_loss_max >= self.ordered_loss_max,
                "must lie in 0..=1 and be at least ordered_loss_max",
            ),
            (
                "fallback.return_factor",
                self.return_factor,
                self.return_factor > 0.0 && self.return_factor < 1.0,
                "must lie strictly between 0 and 1, or the level oscillates",
            ),
        ];
        for (parameter, value, holds, requirement) in checks {
            if !holds {
                return Err(ConfigError { parameter, value, requirement });
            }
        }
        Ok(())
    }
}

/// The state of the fallback.
#[derive(Debug, Clone)]
pub struct Fallback {
    config: FallbackConfig,
    level: Level,
    quiet_since: Option<Instant>,
    dormant_since: Instant,
    hold_factor: u64,
}

impl Fallback {
    /// A fallback at [`Level::Full`].
    pub fn new(config: FallbackConfig) -> Fallback {
        Fallback {
            config,
            level: Level::Full,
            quiet_since: None,
            dormant_since: Instant::default(),
            hold_factor: 1,
        }
    }

    /// Changes the limits. Returns the new level if that changes it: without a fallback there is only one level.
    pub fn set_config(&mut self, config: FallbackConfig) -> Option<Level> {
        self.config = config;
        (!config.enabled && self.level != Level::Full)
            .then(|| self.change(Instant::default(), Level::Full))
            .flatten()
    }

    /// The current level.
    pub const fn level(&self) -> Level {
        self.level
    }

    /// Takes one finished loss window. Returns the new level if it changed.
    pub fn handle_window(&mut self, now: Instant, loss: f64, rx_overflows: u32) -> Option<Level> {
        if !self.config.enabled {
            return None;
        }
        let allowed = self.allowed(loss, rx_overflows, 1.0);
        if allowed > self.level {
            return self.change(now, allowed);
        }
        if self.level == Level::Full
            || self.allowed(loss, rx_overflows, self.config.return_factor) >= self.level
        {
            self.quiet_since = None;
            return None;
        }
        let since = *self.quiet_since.get_or_insert(now);
        if now.since(since) < self.config.return_hold {
            return None;
        }
        self.hold_factor = 1;
        self.change(now, if self.level == Level::Dormant { Level::NonBlocking } else { Level::Full })
    }

    /// Tries a dormant link again after its hold. Returns the new level if it is time.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Level> {
        if self.next_timeout().is_none_or(|at| now < at) {
            return None;
        }
        self.hold_factor = (self.hold_factor * 2).min(DORMANT_HOLD_FACTOR_MAX);
        self.change(now, Level::NonBlocking)
    }

    /// When [`Fallback::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        (self.level == Level::Dormant)
            .then(|| self.dormant_since + self.config.dormant_hold * self.hold_factor)
    }

    fn allowed(&self, loss: f64, rx_overflows: u32, factor: f64) -> Level {
        if loss > self.config.non_blocking_loss_max * factor {
            Level::Dormant
        } else if loss > self.config.ordered_loss_max * factor
            || (self.level == Level::Full && rx_overflows > self.config.rx_overflow_max)
        {
            Level::NonBlocking
        } else {
            Level::Full
        }
    }

    fn change(&mut self, now: Instant, level: Level) -> Option<Level> {
        self.level = level;
        self.quiet_since = None;
        if level == Level::Dormant {
            self.dormant_since = now;
        }
        Some(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Ticks = Tick::Nanosecond.secs(1);

    #[test]
    fn falls_at_once_and_returns_after_a_quiet_time() {
        let mut fallback = Fallback::new(FallbackConfig::new(Tick::Nanosecond));
        let start = Instant(0);
        assert_eq!(fallback.handle_window(start, 0.04, 0), None);
        assert_eq!(fallback.handle_window(start, 0.06, 0), Some(Level::NonBlocking));
        // Between half the limit and the limit: neither down nor up.
        assert_eq!(fallback.handle_window(start + SECOND * 20, 0.03, 0), None);
        assert_eq!(fallback.handle_window(start + SECOND * 21, 0.001, 0), None);
        assert_eq!(fallback.handle_window(start + SECOND * 25, 0.001, 0), None);
        assert_eq!(fallback.handle_window(start + SECOND * 26, 0.001, 0), Some(Level::Full));
    }

    #[test]
    fn a_dormant_link_is_tried_again_less_and_less_often() {
        let mut fallback = Fallback::new(FallbackConfig::new(Tick::Nanosecond));
        assert_eq!(fallback.handle_window(Instant(0), 0.5, 0), Some(Level::Dormant));
        let first = fallback.next_timeout().expect("dormant");
        assert_eq!(fallback.handle_timeout(first - Ticks(1)), None);
        assert_eq!(fallback.handle_timeout(first), Some(Level::NonBlocking));
        assert_eq!(fallback.handle_window(first, 0.5, 0), Some(Level::Dormant));
        let second = fallback.next_timeout().expect("dormant");
        assert_eq!(second.since(first).0, 2 * first.0);
    }

    #[test]
    fn an_overflowing_rx_buffer_leaves_ordered_mode() {
        let mut fallback = Fallback::new(FallbackConfig::new(Tick::Nanosecond));
        assert_eq!(fallback.handle_window(Instant(0), 0.0, 1_001), Some(Level::NonBlocking));
    }

    #[test]
    fn a_fallback_that_is_disabled_keeps_its_level() {
        let mut fallback =
            Fallback::new(FallbackConfig { enabled: false, ..FallbackConfig::new(Tick::Nanosecond) });
        assert_eq!(fallback.handle_window(Instant(0), 1.0, 9_999), None);
        assert_eq!(fallback.level(), Level::Full);
    }

    /// Tries a dormant link as soon as possible, and finds it as bad as before.
    fn trial(fallback: &mut Fallback) -> Ticks {
        let began = fallback.dormant_since;
        let due = fallback.next_timeout().expect("dormant");
        assert_eq!(fallback.handle_timeout(due - Ticks(1)), None);
        assert_eq!(fallback.handle_timeout(due), Some(Level::NonBlocking));
        assert_eq!(fallback.next_timeout(), None, "no longer dormant");
        assert_eq!(fallback.handle_window(due, 0.5, 0), Some(Level::Dormant));
        due.since(began)
    }

    #[test]
    fn the_hold_of_a_dormant_link_doubles_up_to_its_bound() {
        let mut fallback = Fallback::new(FallbackConfig::new(Tick::Nanosecond));
        assert_eq!(fallback.next_timeout(), None);
        assert_eq!(fallback.handle_timeout(Instant(u64::MAX)), None, "nothing is held");
        assert_eq!(fallback.handle_window(Instant(7), 0.5, 0), Some(Level::Dormant));
        for factor in [1, 2, 4, 8, 16, 32, 64, 64, 64] {
            assert_eq!(trial(&mut fallback), SECOND * 10 * factor);
        }
    }

    #[test]
    fn a_trial_that_succeeds_makes_the_hold_short_again() {
        let mut fallback = Fallback::new(FallbackConfig::new(Tick::Nanosecond));
        fallback.handle_window(Instant(0), 0.5, 0);
        assert_eq!((trial(&mut fallback), trial(&mut fallback)), (SECOND * 10, SECOND * 20));
        let tried = fallback.next_timeout().expect("dormant");
        assert_eq!(fallback.handle_timeout(tried), Some(Level::NonBlocking));
        assert_eq!(fallback.handle_window(tried, 0.0, 0), None);
        assert_eq!(fallback.handle_window(tried + SECOND * 5, 0.0, 0), Some(Level::Full));
        assert_eq!(fallback.handle_window(tried + SECOND * 6, 0.5, 0), Some(Level::Dormant));
        assert_eq!(trial(&mut fallback), SECOND * 10);
    }

    #[test]
    fn the_quiet_time_begins_anew_with_every_bad_window() {
        let mut fallback = Fallback::new(FallbackConfig::new(Tick::Nanosecond));
        fallback.handle_window(Instant(0), 0.06, 0);
        let at = |second: u64| Instant(0) + SECOND * second;
        // Half the limit is low enough, anything above it is not.
        assert_eq!(fallback.handle_window(at(1), 0.025, 0), None);
        assert_eq!(fallback.handle_window(at(5), 0.026, 0), None);
        assert_eq!(fallback.handle_window(at(6), 0.025, 0), None);
        assert_eq!(fallback.handle_window(at(11) - Ticks(1), 0.025, 0), None);
        assert_eq!(fallback.handle_window(at(11), 0.025, 0), Some(Level::Full));
        // After another fall, the quiet time before it does not count.
        assert_eq!(fallback.handle_window(at(12), 0.06, 0), Some(Level::NonBlocking));
        assert_eq!(fallback.handle_window(at(16), 0.0, 0), None);
        assert_eq!(fallback.handle_window(at(20), 0.0, 0), None);
        assert_eq!(fallback.handle_window(at(21), 0.0, 0), Some(Level::Full));
    }

    #[test]
    fn a_link_that_gets_worse_in_its_quiet_time_falls_at_once() {
        let mut fallback = Fallback::new(FallbackConfig::new(Tick::Nanosecond));
        fallback.handle_window(Instant(0), 0.06, 0);
        fallback.handle_window(Instant(0) + SECOND, 0.0, 0);
        assert_eq!(fallback.handle_window(Instant(0) + SECOND * 2, 0.31, 0), Some(Level::Dormant));
        assert_eq!(fallback.next_timeout(), Some(Instant(0) + SECOND * 12));
    }

    #[test]
    fn the_limits_themselves_are_allowed() {
        let mut fallback = Fallback::new(FallbackConfig::new(Tick::Nanosecond));
        assert_eq!(fallback.handle_window(Instant(0), 0.05, 1_000), None);
        assert_eq!(fallback.handle_window(Instant(0), 0.3, 0), Some(Level::NonBlocking));
        assert_eq!(fallback.handle_window(Instant(0), 0.3, 0), None, "as low as it must");
        // The Rx buffer belongs to the ordered lane: in non-blocking mode its overflows are old, and hold nothing back.
        assert_eq!(fallback.handle_window(Instant(0), 0.0, 5_000), None);
        assert_eq!(fallback.handle_window(Instant(0) + SECOND * 5, 0.0, 5_000), Some(Level::Full));
    }
}
