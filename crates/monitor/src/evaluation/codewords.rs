//! How soon codewords show what frames show, on idle links as on busy ones, beside an oracle.

use super::forecasts::{Errors, poisson};
use super::{CodewordAlarmCell, CodewordCell, EvaluationOptions, POLL, YEAR_S};
use crate::counters::{
    ERRORS_COUNTED, FRAME_BITS, FecCode, FecReading, Reading, codewords_in, codewords_of_a_frame,
};
use crate::detection::{Detector, Settings};
use crate::forecast::EarlyWarning;
use linkmend_random::Random;
use linkmend_statistics::{Counted, poisson_at_least};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Polls of a healthy link before it begins to corrupt.
const HEALTHY_POLLS: u32 = 600;
/// Polls after which a loss counts as not found.
const POLLS_MOST: u32 = 7_200;
/// Codewords of a burst, on average: geometric, and within a poll interval.
const BURST: f64 = 20.0;
const POLLS_A_LOOK: u64 = 1 << 16;

/// A port, and whether it counts codewords by their errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Port {
    pub(super) name: &'static str,
    speed: u64,
    code: FecCode,
}

/// All of them.
pub(super) const PORTS: [Port; 3] = [
    Port { name: "100G RS(528,514)", speed: 100_000_000_000, code: FecCode::Rs528 },
    Port { name: "100G RS(544,514)", speed: 100_000_000_000, code: FecCode::Rs544 },
    Port { name: "400G RS(544,514)", speed: 400_000_000_000, code: FecCode::Rs544 },
];
/// Shares of the link's speed that frames of 1,518 bytes take.
pub(super) const LOADS: [f64; 3] = [0.0, 0.01, 0.5];

impl Port {
    fn codewords_of_a_frame(self) -> f64 {
        codewords_of_a_frame(FRAME_BITS, self.code.interleaved(self.speed))
    }

    /// Codewords of a poll interval.
    fn codewords(self) -> f64 {
        codewords_in(self.speed, POLL.as_secs_f64())
    }
}

/// A generated link. Frames are lost with their codewords.
struct Link {
    random: Random,
    port: Port,
    load: f64,
    /// Share of codewords that are uncorrectable, in bursts of this size on average.
    rate: f64,
    burst: f64,
    /// Probabilities of codewords with so many errors, if the port counts these.
    errors: Option<[f64; ERRORS_COUNTED]>,
    reading: Reading,
    /// Bursts of the latest poll.
    bursts: u64,
}

impl Link {
    fn new(random: Random, port: Port, load: f64, burst: f64) -> Link {
        let reading = Reading {
            corrupted_frames: Some(0),
            up: Some(true),
            speed: Some(port.speed),
            code: Some(port.code),
            fec: Some(FecReading { uncorrectable_codewords: Some(0), ..FecReading::default() }),
            ..Reading::default()
        };
        Link { random, port, load, rate: 0.0, burst, errors: None, reading, bursts: 0 }
    }

    fn corrupt(&mut self, loss_rate: f64) {
        self.rate = loss_rate / self.port.codewords_of_a_frame();
    }

    /// Counts codewords by their errors from now on, which come so that this loss rate follows.
    fn histogram(&mut self, errors: Errors, loss_rate: f64) {
        let correctable = self.port.code.correctable().unwrap_or_default();
        let beyond = loss_rate / self.port.codewords_of_a_frame();
        self.errors = Some(errors.with_beyond(beyond, correctable));
    }

    /// What the port has counted a poll interval later, of which only a share may be corrupted already.
    fn poll(&mut self, share: f64) -> Reading {
        let codewords = self.port.codewords();
        self.bursts = poisson(&mut self.random, codewords * share * self.rate / self.burst);
        let uncorrectable: u64 = (0..self.bursts).map(|_| 1 + self.random.geometric(1.0 / self.burst)).sum();
        let frames = self.load * self.port.speed as f64 * POLL.as_secs_f64() / FRAME_BITS;
        let with_each = self.port.codewords_of_a_frame() * frames / codewords;
        let corrupted = poisson(&mut self.random, uncorrectable as f64 * with_each).min(frames as u64);
        self.reading.good_frames += frames as u64 - corrupted;
        self.reading.corrupted_frames = self.reading.corrupted_frames.map(|count| count + corrupted);
        if let Some(fec) = &mut self.reading.fec {
            fec.uncorrectable_codewords = fec.uncorrectable_codewords.map(|count| count + uncorrectable);
            if let Some(errors) = &self.errors {
                let counted = fec.codewords.get_or_insert_default();
                for (count, probability) in counted.iter_mut().zip(errors) {
                    *count += poisson(&mut self.random, codewords * probability);
                }
            }
        }
        self.reading
    }
}

/// Knows since when, in what bursts and how much a link corrupts, and tries one hypothesis at each poll.
#[derive(Default)]
struct Oracle {
    bursts: u64,
    expected: f64,
}

impl Oracle {
    fn finds(&mut self, settings: &Settings, link: &Link, share: f64) -> bool {
        let allowed = settings.activate / link.port.codewords_of_a_frame() / link.burst;
        self.bursts += link.bursts;
        self.expected += link.port.codewords() * share * allowed;
        poisson_at_least(self.bursts, self.expected) <= settings.false_alarm
    }
}

/// Starts the loss rate again and again.
pub(super) fn detection(
    options: &EvaluationOptions,
    port: Port,
    loss_rate: f64,
    load: f64,
    bursts: bool,
    stop: &AtomicBool,
) -> CodewordCell {
    let burst = if bursts { BURST } else { 1.0 };
    let (mut found, mut by_frames, mut oracle, mut warned) = (vec![], vec![], vec![], vec![]);
    for run in (0..options.runs).take_while(|_| !stop.load(Ordering::Relaxed)) {
        let stream = format!("codewords {} {loss_rate:e} {load} {bursts} {run}", port.name);
        let times =
            times(options, Link::new(Random::new(options.seed, &stream), port, load, burst), loss_rate);
        found.extend(times.codewords);
        by_frames.extend(times.frames);
        oracle.extend(times.oracle);
        let stream = format!("warning {stream}");
        let link = Link::new(Random::new(options.seed, &stream), port, load, burst);
        warned.extend((!bursts).then(|| time_to_warn(options, link, loss_rate)).flatten());
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(options.runs.div_ceil(2).max(1) - 1).copied()
    };
    CodewordCell {
        port: port.name,
        bursts,
        loss_rate,
        load,
        runs: options.runs,
        found: found.len(),
        median_s: median(found),
        frames_median_s: median(by_frames),
        oracle_median_s: median(oracle),
        warned_median_s: median(warned),
    }
}

/// Seconds to detection.
#[derive(Default)]
struct Times {
    codewords: Option<f64>,
    frames: Option<f64>,
    oracle: Option<f64>,
}

fn times(options: &EvaluationOptions, mut link: Link, loss_rate: f64) -> Times {
    let settings = &options.settings;
    let begun = link.random.uniform();
    let (mut by_codewords, mut by_frames) = (Detector::default(), Detector::default());
    let (mut oracle, mut times) = (Oracle::default(), Times::default());
    for poll in 0..HEALTHY_POLLS + POLLS_MOST {
        if poll == HEALTHY_POLLS {
            link.corrupt(loss_rate);
        }
        let share = if poll == HEALTHY_POLLS { begun } else { 1.0 };
        let reading = link.poll(share);
        let now = POLL * (poll + 1);
        let waited = || f64::from(poll - HEALTHY_POLLS) + begun;
        if times.codewords.is_none() {
            let _ = by_codewords.handle_reading(settings, now, reading);
            times.codewords = by_codewords.state().corrupts().then(waited);
        }
        if times.frames.is_none() {
            let _ = by_frames.handle_reading(settings, now, Reading { fec: None, ..reading });
            times.frames = by_frames.state().corrupts().then(waited);
        }
        if times.oracle.is_none() && poll >= HEALTHY_POLLS && oracle.finds(settings, &link, share) {
            times.oracle = Some(waited());
        }
        let is_without_frames = link.load == 0.0;
        if times.codewords.is_some()
            && times.oracle.is_some()
            && (times.frames.is_some() || is_without_frames)
        {
            break;
        }
    }
    times
}

/// Seconds until a histogram foretells the loss, of which nothing has been lost yet.
fn time_to_warn(options: &EvaluationOptions, mut link: Link, loss_rate: f64) -> Option<f64> {
    let mut warning = EarlyWarning::default();
    let begun = link.random.uniform();
    link.histogram(Errors::Varying, 1e-15);
    // Windows of a minute begin anywhere.
    let healthy = 60 + (link.random.uniform() * 60.0) as u32;
    for poll in 0..healthy + 600 {
        if poll == healthy {
            link.histogram(Errors::Varying, loss_rate);
        }
        let reading = link.poll(1.0);
        if warning.handle_reading(&options.settings, POLL * (poll + 1), &reading) == Some(true) {
            return Some(f64::from(poll.saturating_sub(healthy)) + begun);
        }
    }
    None
}

/// Alarms about a healthy link: from codewords and frames, and from frames alone.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Alarms {
    ours: u64,
    of_frames: u64,
}

/// Alarms about a healthy link in a part of its years.
pub(super) fn false_alarms(
    options: &EvaluationOptions,
    (background, bursts): (f64, bool),
    (link_years, part): (f64, u64),
    stop: &AtomicBool,
) -> Alarms {
    let burst = if bursts { BURST } else { 1.0 };
    let random = Random::new(options.seed, &format!("healthy codewords {background:e} {bursts} {part}"));
    let mut link = Link::new(random, PORTS[1], LOADS[2], burst);
    link.corrupt(background);
    let (mut detector, mut by_frames) = (Detector::default(), Detector::default());
    let mut alarms = Alarms::default();
    let mut now = Duration::ZERO;
    for poll in 0..(link_years * YEAR_S / POLL.as_secs_f64()) as u64 {
        if poll % POLLS_A_LOOK == 0 && stop.load(Ordering::Relaxed) {
            break;
        }
        now += POLL;
        let reading = link.poll(1.0);
        let is_alarm = |detector: &mut Detector, reading| {
            let change = detector.handle_reading(&options.settings, now, reading).ok().flatten();
            u64::from(change.is_some_and(|change| change.to.corrupts()))
        };
        alarms.ours += is_alarm(&mut detector, reading);
        alarms.of_frames += is_alarm(&mut by_frames, Reading { fec: None, ..reading });
    }
    alarms
}

/// Of how many link-years each background has: each poll takes three times as long as one that counts frames alone.
pub(super) fn link_years(options: &EvaluationOptions) -> f64 {
    options.link_years / 4.0
}

/// The parts of a healthy link's years together.
pub(super) fn pool(background: f64, bursts: bool, link_years: f64, parts: &[Alarms]) -> CodewordAlarmCell {
    let alarms = parts.iter().map(|part| part.ours).sum();
    let of_frames: u64 = parts.iter().map(|part| part.of_frames).sum();
    let (low, high) = Counted::single(alarms, 1.0).interval(1.0);
    let interval = (low / link_years, high / link_years);
    CodewordAlarmCell {
        background,
        bursts,
        link_years,
        alarms,
        per_link_year: alarms as f64 / link_years,
        interval,
        frames_per_link_year: of_frames as f64 / link_years,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(port: Port, loss_rate: f64, load: f64, bursts: bool) -> CodewordCell {
        let options = EvaluationOptions { runs: 20, ..EvaluationOptions::default() };
        detection(&options, port, loss_rate, load, bursts, &AtomicBool::new(false))
    }

    #[test]
    fn an_idle_link_is_found_as_soon_as_a_busy_one_and_nearly_as_soon_as_by_an_oracle() {
        for port in PORTS {
            for load in [0.0, 0.01] {
                let cell = cell(port, 1e-7, load, false);
                assert_eq!(cell.found, 20, "{cell:?}");
                let (ours, oracle) = (cell.median_s.expect("found"), cell.oracle_median_s.expect("found"));
                assert!(ours <= 2.0 * oracle + 2.0, "{cell:?}");
                let frames = cell.frames_median_s.unwrap_or(f64::INFINITY);
                assert!(frames > 5.0 * ours, "{cell:?}");
            }
        }
    }

    #[test]
    fn a_histogram_foretells_what_idle_frames_never_show() {
        for port in PORTS {
            let cell = cell(port, 1e-6, 0.0, false);
            assert!(cell.warned_median_s.expect("foretold") < 130.0, "{cell:?}");
        }
    }

    #[test]
    fn bursts_take_longer_and_raise_no_alarm_on_a_healthy_link() {
        let (single, bursts) = (cell(PORTS[1], 1e-6, 0.0, false), cell(PORTS[1], 1e-6, 0.0, true));
        assert!(bursts.median_s.expect("found") > single.median_s.expect("found"));
        let options = EvaluationOptions::default();
        for bursts in [false, true] {
            let alarms = false_alarms(&options, (1e-9, bursts), (0.05, 0), &AtomicBool::new(false));
            assert_eq!(alarms.ours, 0, "bursts {bursts}");
        }
    }
}
