//! Whether a link is going to lose frames.

use super::bit_errors::{self, BitErrors};
use super::{Corrections, Forecast, codewords_in, forecast};
use crate::counters::{FRAME_BITS, codewords_of_a_frame};
use crate::counters::{FecCode, FecReading, Reading};
use crate::detection::Settings;
use std::time::Duration;

/// How long counters are added up for a forecast: at 100 Gbit/s, more than a billion codewords.
const WINDOW: Duration = Duration::from_secs(60);
/// Watches one port. A forecast is made every minute, from what was counted in that minute.
///
/// A link is going to lose frames if the least that the counters allow is as much as [`Settings::activate`]. That is over when
/// no more than [`Settings::deactivate`] was expected for [`Settings::hold_down`].
#[derive(Debug, Clone, Default)]
pub struct EarlyWarning {
    /// When the window began, and what had been counted then.
    begun: Option<(Duration, Reading)>,
    last: Option<Reading>,
    /// By how much the first window is longer.
    phase: Duration,
    forecast: Option<Forecast>,
    bit_errors: Option<BitErrors>,
    bit_error_history: bit_errors::Histories,
    /// What is expected of a link that is going to lose frames, and when that was last so.
    expected: Option<(Duration, f64)>,
}

impl EarlyWarning {
    /// The first window of a port lasts up to twice as long, depending on its name, so that not all ports are forecast at the
    /// same moment: a forecast takes as long as a hundred polls.
    pub fn of(port: &str) -> EarlyWarning {
        let number =
            port.bytes().fold(0_u32, |number, byte| number.wrapping_mul(31).wrapping_add(u32::from(byte)));
        let phase = Duration::from_millis(u64::from(number) % 60_000);
        EarlyWarning { phase, ..EarlyWarning::default() }
    }

    /// Takes a reading made at `now`, on a clock that never goes back. Returns whether the link is going to lose frames, if
    /// that has changed.
    pub fn handle_reading(&mut self, settings: &Settings, now: Duration, reading: &Reading) -> Option<bool> {
        let fec = reading.fec?;
        let goes_on = self.last.as_ref().is_some_and(|last| goes_on(last, reading));
        self.last = Some(*reading);
        let Some((begun, before)) = self.begun.filter(|_| goes_on) else {
            self.begun = Some((now, *reading));
            return None;
        };
        let passed = now.saturating_sub(begun);
        if passed < WINDOW + self.phase {
            return None;
        }
        self.phase = Duration::ZERO;
        self.begun = Some((now, *reading));
        let corrections = corrections(&before.fec?, &fec, reading.speed, passed)?;
        // A port that is down counts nothing, which says nothing of its link.
        let stands_still = fec == before.fec? && reading.good_frames == before.good_frames;
        if stands_still {
            return None;
        }
        let correctable = settings.correctable.or_else(|| code(reading).correctable());
        // A frame has a part in more codewords if these are interleaved.
        let interleaved = reading.speed.map_or(1, |speed| code(reading).interleaved(speed));
        let of_a_frame = |interleaved| codewords_of_a_frame(FRAME_BITS, interleaved);
        let more = of_a_frame(interleaved) / of_a_frame(1);
        self.bit_errors = self.bit_error_history.push(now, &corrections, code(reading));
        self.forecast = correctable
            .and_then(|correctable| forecast(&corrections, correctable))
            .map(|forecast| forecast.times(more));
        self.judge(settings, now)
    }

    fn judge(&mut self, settings: &Settings, now: Duration) -> Option<bool> {
        let was_expected = self.expected.is_some();
        let (loss_rate, least) =
            self.forecast.map_or((0.0, 0.0), |forecast| (forecast.loss_rate, forecast.least));
        self.expected = match self.expected {
            Some((_, expected)) if loss_rate > settings.deactivate => Some((now, expected.max(loss_rate))),
            Some((since, expected)) if now.saturating_sub(since) < settings.hold_down => {
                Some((since, expected))
            }
            None if least >= settings.activate => Some((now, loss_rate)),
            _ => None,
        };
        (self.expected.is_some() != was_expected).then_some(self.expected.is_some())
    }

    /// What the last minute with counters lets expect; `None` if nothing was corrected in it.
    pub fn forecast(&self) -> Option<Forecast> {
        self.forecast
    }

    /// The bit error ratio before correction in the last minute with counters, and its trend.
    pub fn bit_errors(&self) -> Option<&BitErrors> {
        self.bit_errors.as_ref()
    }

    /// The highest loss rate that was expected, while the link is going to lose frames.
    pub fn expected(&self) -> Option<f64> {
        self.expected.map(|(_, loss_rate)| loss_rate)
    }
}

/// The code of a port: what it says, else what its histogram gives away, else that of a single lane of its speed.
fn code(reading: &Reading) -> FecCode {
    let histogram = || FecCode::of_histogram(&reading.fec?.codewords?);
    let usual = || reading.speed.map_or(FecCode::Rs544, |speed| FecCode::of_lanes(speed, 1));
    reading.code.or_else(histogram).unwrap_or_else(usual)
}

/// Whether the later of two readings goes on where the other was.
fn goes_on(before: &Reading, after: &Reading) -> bool {
    let grown = |before: Option<u64>, after: Option<u64>| {
        before.zip(after).is_none_or(|(before, after)| after >= before)
    };
    let Some((earlier, later)) = before.fec.zip(after.fec) else { return false };
    let bins = earlier.codewords.zip(later.codewords);
    let of = |reading: &Reading| (reading.epoch, reading.carrier_changes, reading.speed, reading.code);
    of(before) == of(after)
        && grown(earlier.corrected_codewords, later.corrected_codewords)
        && grown(earlier.corrected_bits, later.corrected_bits)
        && bins.is_none_or(|(before, after)| before.iter().zip(after).all(|(before, after)| after >= *before))
}

/// What was counted in between.
fn corrections(
    before: &FecReading,
    after: &FecReading,
    speed: Option<u64>,
    passed: Duration,
) -> Option<Corrections> {
    let grown = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
    let codewords = before.codewords.zip(after.codewords).map(|(before, mut after)| {
        after.iter_mut().zip(before).for_each(|(after, before)| *after = after.saturating_sub(before));
        after
    });
    Some(Corrections {
        all: speed.map(|speed| codewords_in(speed, passed.as_secs_f64())),
        corrected_codewords: grown(before.corrected_codewords, after.corrected_codewords),
        corrected_bits: grown(before.corrected_bits, after.corrected_bits),
        lane_corrected_bits: before
            .lane_corrected_bits
            .zip(after.lane_corrected_bits)
            .and_then(|(before, after)| after.since(&before)),
        uncorrectable: grown(before.uncorrectable_codewords, after.uncorrectable_codewords),
        codewords,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::ERRORS_COUNTED;

    /// A port of 100 Gbit/s whose codewords have errors that are each a tenth as likely as the one before.
    struct Port {
        warning: EarlyWarning,
        settings: Settings,
        now: Duration,
        reading: Reading,
        /// Errors of a codeword that can be corrected: codewords with more are not counted by their errors.
        corrects: usize,
    }

    impl Port {
        fn new() -> Port {
            let fec = FecReading { codewords: Some([0; ERRORS_COUNTED]), ..FecReading::default() };
            let reading = Reading { fec: Some(fec), speed: Some(100_000_000_000), ..Reading::default() };
            let settings = Settings { hold_down: Duration::from_mins(10), ..Settings::default() };
            Port { warning: EarlyWarning::default(), settings, now: Duration::ZERO, reading, corrects: 15 }
        }

        /// A minute in which each further error is this much less likely than the one before.
        fn minute(&mut self, ratio: f64) -> Option<bool> {
            let mut changed = None;
            for _ in 0..6 {
                let bins =
                    self.reading.fec.as_mut().and_then(|fec| fec.codewords.as_mut()).expect("a histogram");
                let mut count = 2e8 * (1.0 - ratio);
                for bin in bins.iter_mut().take(self.corrects + 1) {
                    *bin += count as u64;
                    count *= ratio;
                }
                self.now += Duration::from_secs(10);
                changed = self.warning.handle_reading(&self.settings, self.now, &self.reading).or(changed);
            }
            changed
        }
    }

    #[test]
    fn a_link_is_armed_before_it_loses_frames_and_let_go_after_the_hold_down() {
        let mut port = Port::new();
        assert_eq!(port.minute(0.05), None);
        assert_eq!(port.minute(0.05), None);
        let quiet = port.warning.forecast().expect("errors were corrected");
        assert!(quiet.most.expect("bounded") < 1e-9, "{quiet}");
        // 0.35^16 is 5e-8, and a frame has a part in 3.4 codewords.
        // A window begins with the first reading, ten seconds after the minute.
        assert_eq!((port.minute(0.35), port.minute(0.35)), (Some(true), None));
        let expected = port.warning.expected().expect("going to lose frames");
        assert!((expected / 1.7e-7 - 1.0).abs() < 0.2, "{expected:e}");
        let over: Vec<_> = (0..11).map(|_| port.minute(0.05)).collect();
        assert_eq!(over[..9], [None; 9]);
        assert_eq!(over.iter().filter(|change| **change == Some(false)).count(), 1, "{over:?}");
        assert_eq!(port.warning.expected(), None);
    }

    #[test]
    fn a_link_of_100g_over_lanes_of_25g_is_armed_by_the_code_that_it_has() {
        let armed = |code, corrects, correctable| {
            let mut port = Port::new();
            (port.reading.code, port.corrects, port.settings.correctable) = (code, corrects, correctable);
            (0..4).filter_map(|_| port.minute(0.1)).any(|expected| expected)
        };
        assert!(armed(Some(FecCode::Rs528), 7, None));
        assert!(!armed(Some(FecCode::Rs544), 15, None));
        assert!(!armed(Some(FecCode::Other), 7, None), "what it counts are no symbols");
        // The port does not say, but its histogram does.
        assert!(armed(None, 7, None));
        assert!(!armed(None, 15, None));
        // Who runs it knows better.
        assert!(armed(Some(FecCode::Rs544), 15, Some(7)));
    }

    #[test]
    fn counters_that_begin_again_begin_a_window() {
        let mut port = Port::new();
        for _ in 0..3 {
            port.minute(0.05);
        }
        let before = port.warning.forecast();
        port.reading.fec = Some(FecReading { codewords: Some([0; ERRORS_COUNTED]), ..FecReading::default() });
        assert_eq!(port.minute(0.5), None, "only 50 s of it were seen");
        assert_eq!(port.warning.forecast(), before);
        port.reading.carrier_changes = Some(2);
        assert_eq!(port.minute(0.5), None);
        assert_eq!(port.warning.forecast(), before);
        assert_eq!(port.minute(0.5), Some(true));
        port.reading.fec = None;
        assert_eq!(port.minute_without(), None);
        assert!(port.warning.expected().is_some(), "what does not count ends nothing");
    }

    impl Port {
        fn minute_without(&mut self) -> Option<bool> {
            self.now += Duration::from_hours(1);
            self.warning.handle_reading(&self.settings, self.now, &self.reading)
        }
    }

    #[test]
    fn corrected_bits_alone_say_the_least_that_there_can_be() {
        let of = |bits, codewords| {
            let corrections = Corrections {
                all: Some(1e9),
                corrected_codewords: codewords,
                corrected_bits: Some(bits),
                ..Corrections::default()
            };
            forecast(&corrections, 15).expect("errors")
        };
        let independent = of(1_000_000_000, None);
        assert_eq!((independent.most, independent.loss_rate), (None, independent.least));
        // A mean of one error, of which 16 and more have a probability of 1.9e-14 by Poisson's distribution.
        assert!((independent.least / (4.0 * 1.9e-14)).log10().abs() < 0.3, "{independent}");
        // Half of the codewords that independent errors would need have them: they come in bursts.
        let bursts = of(1_000_000_000, Some(316_000_000));
        assert!(bursts.loss_rate > 1e4 * independent.loss_rate, "{bursts}");
        assert_eq!(bursts.least, independent.least);
        assert!(bursts.to_string().contains("at least"), "{bursts}");
    }
}
