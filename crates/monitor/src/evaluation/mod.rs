//! How good detection is, on generated counters of which the truth is known: how soon it finds a link that begins to
//! corrupt, and how often it finds one that does not. The paper's rule stands beside it: at least the activation rate among
//! the latest 100 million frames (appendix C).

mod codewords;
mod forecasts;
mod link;
mod measure;
mod paper;

use crate::detection::Settings;
use linkmend_experiment::run_each;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Frames a second of a 100G link that is full of 1,518-byte frames.
pub const FULL_LOAD: f64 = 100e9 / ((1_518 + 20) * 8) as f64;

/// What to measure, and how much.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluationOptions {
    pub settings: Settings,
    pub seed: u64,
    /// Loss rates that begin.
    pub losses: Vec<f64>,
    /// Loads of the links, as shares of [`FULL_LOAD`].
    pub loads: Vec<f64>,
    /// How often each begins.
    pub runs: usize,
    /// Loss rates of healthy links.
    pub backgrounds: Vec<f64>,
    /// For how long each of them is watched, at the highest load.
    pub link_years: f64,
    /// Loss rates that begin on ports that count codewords.
    pub by_codewords: Vec<f64>,
    /// Loss rates that forward error correction is to foresee.
    pub foreseen: Vec<f64>,
}

impl Default for EvaluationOptions {
    /// Takes about a minute.
    fn default() -> EvaluationOptions {
        EvaluationOptions {
            settings: Settings::default(),
            seed: 1,
            losses: vec![2e-8, 5e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2],
            loads: vec![0.001, 0.01, 0.1, 0.5],
            runs: 200,
            backgrounds: vec![1e-9, 1e-10, 1e-11, 1e-12],
            link_years: 4.0,
            by_codewords: vec![1e-7, 1e-6, 1e-4],
            foreseen: vec![1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6],
        }
    }
}

/// Time from the beginning of a loss rate to its detection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DetectionCell {
    pub loss_rate: f64,
    /// Share of what the link carries.
    pub load: f64,
    pub runs: usize,
    /// Runs in which it was found within a day.
    pub found: usize,
    /// Median and 95th percentile in seconds; `None` if fewer runs than that found it.
    pub median_s: Option<f64>,
    pub p95_s: Option<f64>,
    /// The median of the paper's rule.
    pub paper_median_s: Option<f64>,
}

/// How often a healthy link is found corrupting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FalseAlarmCell {
    /// Loss rate of the healthy link.
    pub background: f64,
    pub load: f64,
    pub link_years: f64,
    pub alarms: u64,
    /// Alarms a link-year, and their 95 % confidence interval.
    pub per_link_year: f64,
    pub interval: (f64, f64),
    /// Those of the paper's rule.
    pub paper_per_link_year: f64,
}

/// How near forecasts from a minute of forward error correction at 100 Gbit/s come to the truth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ForecastCell {
    /// How errors come.
    pub errors: &'static str,
    /// Share of frames of 1,518 bytes that are lost in the end.
    pub loss_rate: f64,
    pub runs: usize,
    /// The forecasts' median; `None` if there were no errors to make one from.
    pub median: Option<f64>,
    /// Runs in whose interval of 95 % the truth is.
    pub inside: usize,
    /// Runs in which the link was certain enough to lose frames at the activation rate.
    pub armed: usize,
}

/// Time from the beginning of a loss rate to its detection, on a port that counts codewords.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CodewordCell {
    /// Its speed and code.
    pub port: &'static str,
    /// Whether uncorrectable codewords come twenty at a time, instead of one by one.
    pub bursts: bool,
    /// Share of frames of 1,518 bytes that are lost, if there are any.
    pub loss_rate: f64,
    pub load: f64,
    pub runs: usize,
    /// Runs in which it was found within two hours.
    pub found: usize,
    /// Medians in seconds; `None` if fewer than half of the runs found it: from codewords and frames, from frames alone, of an
    /// oracle that knows when it began and what is a burst, and of the early warning if the port has a histogram.
    pub median_s: Option<f64>,
    pub frames_median_s: Option<f64>,
    pub oracle_median_s: Option<f64>,
    pub warned_median_s: Option<f64>,
}

/// How often a healthy link whose port counts codewords is found corrupting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CodewordAlarmCell {
    pub background: f64,
    pub bursts: bool,
    pub link_years: f64,
    pub alarms: u64,
    pub per_link_year: f64,
    pub interval: (f64, f64),
    /// Those of a monitor that reads frames alone.
    pub frames_per_link_year: f64,
}

/// The quality of detection. `linkmend corruptd evaluate --json` prints this object.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// Version of Linkmend.
    pub version: &'static str,
    pub seed: u64,
    pub activate: f64,
    pub false_alarm: f64,
    pub detection: Vec<DetectionCell>,
    pub false_alarms: Vec<FalseAlarmCell>,
    pub forecasts: Vec<ForecastCell>,
    pub codewords: Vec<CodewordCell>,
    pub codeword_alarms: Vec<CodewordAlarmCell>,
}

/// Parts into which the link-years of a background are cut, for threads and progress.
const PARTS: usize = 8;

impl EvaluationOptions {
    /// Number of parts that [`evaluate`] has.
    pub fn parts(&self) -> usize {
        self.losses.len() * self.loads.len() + self.backgrounds.len() * PARTS + self.codeword_parts()
    }

    /// All cells of links whose ports count codewords: which port, whether in bursts, loss rate and load.
    fn codeword_cells(&self) -> Vec<(codewords::Port, bool, f64, f64)> {
        let cells = |port, bursts| {
            let loads = move |loss: &f64| codewords::LOADS.map(|load| (port, bursts, *loss, load));
            self.by_codewords.iter().flat_map(loads)
        };
        codewords::PORTS
            .into_iter()
            .flat_map(|port| [false, true].into_iter().flat_map(move |bursts| cells(port, bursts)))
            .collect()
    }

    /// The healthy links among them: at the loss rate that is nearest to corruption, in bursts or not.
    fn codeword_backgrounds(&self) -> Vec<(f64, bool)> {
        let backgrounds = self.backgrounds.iter().take(1);
        backgrounds.flat_map(|&background| [(background, false), (background, true)]).collect()
    }

    fn codeword_parts(&self) -> usize {
        self.codeword_cells().len() + self.codeword_backgrounds().len() * PARTS
    }
}

enum Part {
    Detection(DetectionCell),
    FalseAlarms(measure::Alarms),
    Codewords(CodewordCell),
    CodewordAlarms(codewords::Alarms),
}

/// One part of the links whose ports count codewords.
fn codeword_part(options: &EvaluationOptions, index: usize, stop: &AtomicBool) -> Part {
    let cells = options.codeword_cells();
    if let Some(&(port, bursts, loss, load)) = cells.get(index) {
        return Part::Codewords(codewords::detection(options, port, loss, load, bursts, stop));
    }
    let index = index - cells.len();
    let of = options.codeword_backgrounds()[index / PARTS];
    let part = (codewords::link_years(options) / PARTS as f64, (index % PARTS) as u64);
    Part::CodewordAlarms(codewords::false_alarms(options, of, part, stop))
}

/// Measures. The result does not depend on the number of threads; it is `None` if `stop` became true. `done` is called
/// after each part.
pub fn evaluate(
    options: &EvaluationOptions,
    threads: usize,
    stop: &AtomicBool,
    done: &(impl Fn() + Sync),
) -> Option<Evaluation> {
    let cells: Vec<(f64, f64)> =
        options.losses.iter().flat_map(|&loss| options.loads.iter().map(move |&load| (loss, load))).collect();
    let load = options.loads.iter().copied().fold(0.0, f64::max);
    let year_part = options.link_years / PARTS as f64;
    let parts = run_each(options.parts(), threads, stop, done, |index| match cells.get(index) {
        Some(&(loss, load)) => Part::Detection(measure::detection(options, loss, load, stop)),
        None if index >= options.parts() - options.codeword_parts() => {
            codeword_part(options, index + options.codeword_parts() - options.parts(), stop)
        }
        None => {
            let index = index - cells.len();
            let background = options.backgrounds[index / PARTS];
            let part = (index % PARTS) as u64;
            Part::FalseAlarms(measure::false_alarms(options, background, load, (year_part, part), stop))
        }
    })?;
    let mut detection = Vec::new();
    let mut alarms = Vec::new();
    let mut codeword_cells = Vec::new();
    let mut codeword_alarms = Vec::new();
    for part in parts {
        match part {
            Part::Detection(cell) => detection.push(cell),
            Part::FalseAlarms(part) => alarms.push(part),
            Part::Codewords(cell) => codeword_cells.push(cell),
            Part::CodewordAlarms(part) => codeword_alarms.push(part),
        }
    }
    if stop.load(Ordering::Relaxed) {
        return None;
    }
    let (backgrounds, years) = (options.codeword_backgrounds(), codewords::link_years(options));
    let codeword_alarms = backgrounds.iter().zip(codeword_alarms.chunks(PARTS));
    let codeword_alarms = codeword_alarms
        .map(|(&(background, bursts), parts)| codewords::pool(background, bursts, years, parts))
        .collect();
    let false_alarms = options.backgrounds.iter().zip(alarms.chunks(PARTS));
    Some(Evaluation {
        version: env!("CARGO_PKG_VERSION"),
        seed: options.seed,
        activate: options.settings.activate,
        false_alarm: options.settings.false_alarm,
        detection,
        false_alarms: false_alarms
            .map(|(&background, parts)| measure::pool(background, load, options.link_years, parts))
            .collect(),
        forecasts: forecasts::ERRORS
            .iter()
            .flat_map(|&errors| {
                options.foreseen.iter().map(move |&loss| forecasts::measure(options, errors, loss))
            })
            .collect(),
        codewords: codeword_cells,
        codeword_alarms,
    })
}

/// Polls are a second apart.
const POLL: Duration = Duration::from_secs(1);
const YEAR_S: f64 = 365.25 * 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> EvaluationOptions {
        EvaluationOptions {
            losses: vec![1e-7, 1e-5, 1e-3],
            loads: vec![0.01, 0.5],
            runs: 20,
            backgrounds: vec![1e-9, 1e-10],
            link_years: 0.02,
            ..EvaluationOptions::default()
        }
    }

    #[test]
    fn results_do_not_depend_on_threads_and_seeds_differ() {
        let run = |options: &EvaluationOptions, threads| {
            evaluate(options, threads, &AtomicBool::new(false), &|| ()).expect("not stopped")
        };
        let one = run(&small(), 1);
        assert_eq!(one, run(&small(), 3));
        assert_ne!(one.detection, run(&EvaluationOptions { seed: 2, ..small() }, 3).detection);
    }

    #[test]
    fn higher_rates_and_loads_are_found_sooner_and_healthy_links_left_alone() {
        let evaluation = evaluate(&small(), 2, &AtomicBool::new(false), &|| ()).expect("not stopped");
        let median = |loss, load| {
            let cell = evaluation.detection.iter().find(|cell| cell.loss_rate == loss && cell.load == load);
            let cell = cell.expect("it was measured");
            assert_eq!(cell.found, 20, "{cell:?}");
            cell.median_s.expect("found")
        };
        assert!(median(1e-3, 0.5) <= 2.0, "two polls");
        assert!(median(1e-5, 0.5) <= median(1e-7, 0.5) && median(1e-7, 0.5) < median(1e-7, 0.01));
        for cell in &evaluation.false_alarms {
            assert_eq!(cell.alarms, 0, "{cell:?}");
        }
        // One corrupted frame among the latest 100 million is enough for the paper's rule.
        assert!(evaluation.false_alarms[0].paper_per_link_year > 1_000.0, "{:?}", evaluation.false_alarms);
    }
}
