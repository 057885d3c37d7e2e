//! When a link counts as corrupting, and when no longer.

use linkmend_diagnose::ParameterError;
use std::time::Duration;

/// Rates and times of detection. Rates are shares of all received frames.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// A link that corrupts more than this is protected; above 0, below 1. The paper's 1e-8.
    pub activate: f64,
    /// A protected link that corrupts at most this during the whole hold-down is healthy; 0 to `activate`.
    pub deactivate: f64,
    /// A link that certainly corrupts more than this should be disabled; `activate` to 1.
    pub disable: f64,
    /// The probability at which chance is ruled out, for each decision; above 0, at most 0.05.
    pub false_alarm: f64,
    /// The loss rate that people see is that of this many latest frames. The paper's 100 million.
    pub window_frames: u64,
    /// Frames of longer ago are forgotten; a second to 30 days.
    pub window_time: Duration,
    /// How long a link must be healthy before its protection ends; up to 30 days.
    pub hold_down: Duration,
    /// A link that begins to corrupt again within this time after it was healthy waits twice as long the next time.
    pub flap_memory: Duration,
    /// For so long after a port came up, what it counts is the flap's; up to an hour.
    pub link_up_hold_off: Duration,
    /// The penalty for flaps decays by half in this time; a second to 24 hours.
    pub flap_half_life: Duration,
    /// How many wrong symbols of a codeword forward error correction can correct at all ports, 1 to 15; `None` for what the code
    /// of each port corrects.
    pub correctable: Option<u32>,
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
const TIME_MOST: Duration = Duration::from_hours(24 * 30);

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            activate: 1e-8,
            deactivate: 1e-9,
            disable: 0.05,
            false_alarm: 1e-6,
            window_frames: 100_000_000,
            window_time: HOUR,
            hold_down: Duration::from_mins(10),
            flap_memory: DAY,
            // SONiC's monitor of ports leaves out up to 20 polls of a second after link-up.
            link_up_hold_off: Duration::from_secs(20),
            flap_half_life: Duration::from_mins(5),
            correctable: None,
        }
    }
}

impl Settings {
    /// # Errors
    /// The first value that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let rate = |name, value: f64, fits: bool, rule| {
            if fits { Ok(()) } else { Err(ParameterError::new(name, value, rule)) }
        };
        let Settings { activate, deactivate, disable, false_alarm, .. } = *self;
        rate("activate", activate, activate > 0.0 && activate < 1.0, "must be above 0 and below 1")?;
        let below = (0.0..=activate).contains(&deactivate);
        rate("deactivate", deactivate, below, "must be 0 up to `activate`")?;
        rate("disable", disable, disable >= activate && disable <= 1.0, "must be `activate` up to 1")?;
        let rare = false_alarm > 0.0 && false_alarm <= 0.05;
        rate("false-alarm", false_alarm, rare, "must be above 0, and at most 0.05")?;
        if self.window_frames == 0 {
            return Err(ParameterError::new("window-frames", 0, "must be at least 1"));
        }
        if let Some(symbols) = self.correctable.filter(|symbols| !(1..=15).contains(symbols)) {
            return Err(ParameterError::new("fec-corrects", symbols, "must be 1 to 15"));
        }
        let times = [
            ("window-time", self.window_time, SECOND, TIME_MOST, "30 days"),
            ("hold-down", self.hold_down, Duration::ZERO, TIME_MOST, "30 days"),
            ("flap-memory", self.flap_memory, Duration::ZERO, TIME_MOST, "30 days"),
            ("link-up-hold-off", self.link_up_hold_off, Duration::ZERO, HOUR, "an hour"),
            ("flap-half-life", self.flap_half_life, SECOND, DAY, "24 hours"),
        ];
        for (name, value, least, most, longest) in times {
            if value < least || value > most {
                let least = least.as_secs();
                let rule = format!("must be {least} s to {longest}");
                return Err(ParameterError::new(name, format!("{value:?}"), rule));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let base = Settings::default;
        assert!(base().validate().is_ok());
        for (settings, name) in [
            (Settings { activate: 0.0, ..base() }, "activate"),
            (Settings { activate: f64::NAN, ..base() }, "activate"),
            (Settings { deactivate: 1e-7, ..base() }, "deactivate"),
            (Settings { disable: 1e-9, ..base() }, "disable"),
            (Settings { false_alarm: 0.0, ..base() }, "false-alarm"),
            (Settings { false_alarm: 0.1, ..base() }, "false-alarm"),
            (Settings { window_frames: 0, ..base() }, "window-frames"),
            (Settings { window_time: Duration::ZERO, ..base() }, "window-time"),
            (Settings { correctable: Some(16), ..base() }, "fec-corrects"),
            (Settings { link_up_hold_off: DAY, ..base() }, "link-up-hold-off"),
            (Settings { flap_half_life: Duration::ZERO, ..base() }, "flap-half-life"),
            (Settings { hold_down: Duration::MAX, ..base() }, "hold-down"),
        ] {
            let error = settings.validate().expect_err("refused").to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
