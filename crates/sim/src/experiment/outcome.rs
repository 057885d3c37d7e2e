//! The outcome of one point of a sweep, and how several are pooled.

use super::flow_run::{FlowOutcome, FlowRun};
use super::pool::Pool;
use crate::corruption::{Corruption, optics};
use crate::link::config::{LinkConfig, ParameterError};
use crate::links::{self, LinksConfig, LinksReport};
use crate::parameters::RunConfig;
use crate::run::flows::run_with_records;
use crate::stress::{self, StressReport};
use linkmend_experiment::{Pooled, Runs};
use std::sync::atomic::AtomicBool;

/// Something that a run measures.
pub type Metric = linkmend_experiment::Metric<Outcome>;

/// Metrics, a line each: name, label, quantity, unit, and the function that reads it, of an outcome, that unit and what stands
/// in parentheses.
macro_rules! metrics {
    ($($name:literal, $label:literal, $quantity:ident, $scale:expr, $read:ident$(($($with:expr),*))?;)*) => {
        [$(Metric {
            name: $name,
            label: $label,
            quantity: Quantity::$quantity,
            scale: $scale,
            read: |outcome, scale| $read(outcome, scale $($(, $with)*)?),
        }),*]
    };
}
pub(super) use metrics;

/// The outcome of one point of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Of line-rate traffic: the report of all runs as if they had been one, each run's, and the optics of the link if that is
    /// attenuated.
    LineRate { report: Box<StressReport>, runs: Runs<StressReport>, optics: Option<Optics> },
    /// The runs of generators over several links, in the order of their seeds.
    Links(Runs<LinksReport>),
    /// The runs with flows, in the order of their seeds.
    Flows(FlowOutcome),
}

/// The computed losses of an attenuated link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Optics {
    /// Share of frames lost.
    pub frame_loss_rate: f64,
    /// Share of bits wrong before error correction.
    pub bit_error_rate: f64,
}

impl Optics {
    fn of(link: &LinkConfig) -> Option<Optics> {
        let Corruption::Attenuated { transceiver, attenuation_db } = link.corruption else {
            return None;
        };
        Some(Optics {
            frame_loss_rate: optics::frame_loss(transceiver, attenuation_db, link.frame_bytes),
            bit_error_rate: optics::bit_error_rate(transceiver, attenuation_db),
        })
    }
}

impl Outcome {
    /// Of one run of line-rate traffic.
    pub(super) fn line_rate(report: StressReport, optics: Option<Optics>) -> Outcome {
        Outcome::of_line_rate(Runs::one(report), optics)
    }

    /// Of any number of runs of line-rate traffic. The report of one alone stays as it is.
    pub(super) fn of_line_rate(runs: Runs<StressReport>, optics: Option<Optics>) -> Outcome {
        let first = runs.iter().next().cloned();
        match first {
            Some(report) if runs.count() == 1 => Outcome::LineRate { report: Box::new(report), runs, optics },
            _ => Outcome::all_line_rate(runs, optics),
        }
    }

    /// The report of line-rate traffic.
    pub fn report(&self) -> Option<&StressReport> {
        match self {
            Outcome::LineRate { report, .. } => Some(report),
            _ => None,
        }
    }

    /// The runs with flows.
    pub fn flows(&self) -> Option<&FlowOutcome> {
        match self {
            Outcome::Flows(runs) => Some(runs),
            _ => None,
        }
    }

    /// The runs over several links.
    pub fn links(&self) -> Option<&Runs<LinksReport>> {
        match self {
            Outcome::Links(runs) => Some(runs),
            _ => None,
        }
    }

    /// Of several runs of line-rate traffic.
    fn all_line_rate(runs: Runs<StressReport>, optics: Option<Optics>) -> Outcome {
        let mut reports = runs.iter();
        let mut pool = Pool::new(reports.next().unwrap_or(&StressReport::default()));
        reports.for_each(|report| pool.add(report));
        Outcome::LineRate { report: Box::new(pool.finish()), runs, optics }
    }

    /// Runs a point once. `progress` takes the share that is done, and says whether to go on; `None` if it said no.
    ///
    /// # Errors
    /// The parameters were checked when the experiment was read, but whether a session opens shows only now.
    pub(super) fn run(
        run: &RunConfig,
        seed: u64,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Outcome>, ParameterError> {
        match run {
            RunConfig::LineRate(config) => {
                let config = LinksConfig { seed, ..LinksConfig::clone(config) };
                let report =
                    stress::run(&config, &mut |frames| progress(frames as f64 / config.frames as f64))?;
                let optics = Optics::of(&config.links[0]);
                Ok(Some(Outcome::line_rate(report, optics)))
            }
            RunConfig::Links(config) => {
                let config = LinksConfig { seed, ..LinksConfig::clone(config) };
                let all = config.frames_of_a_source() as f64;
                let report = links::run(&config, &mut |frames| progress(frames as f64 / all))?;
                Ok(Some(Outcome::Links(Runs::one(report))))
            }
            RunConfig::Flows(config) => {
                let config = crate::flows::FlowsConfig { seed, ..crate::flows::FlowsConfig::clone(config) };
                // Runs are short, and many: they are not stopped in the middle, and each has one thread.
                let Some((report, records)) = run_with_records(&config, 1, &AtomicBool::new(false), &|| ())?
                else {
                    return Ok(None);
                };
                let run = FlowRun::new(&config, report, &records);
                Ok(progress(1.0).then(|| Outcome::Flows(Runs::one(run))))
            }
        }
    }
}

/// Counts of line-rate traffic are added, rates are computed from the sums, and buffer levels and delays are combined. Other runs
/// stand side by side.
impl Pooled for Outcome {
    type Pool = Outcome;

    fn pool(first: Outcome) -> Outcome {
        first
    }

    fn add(pool: &mut Outcome, other: Outcome) {
        match (pool, other) {
            (Outcome::LineRate { runs: pool, .. }, Outcome::LineRate { runs, .. }) => Runs::add(pool, runs),
            (Outcome::Links(pool), Outcome::Links(runs)) => Runs::add(pool, runs),
            (Outcome::Flows(pool), Outcome::Flows(runs)) => Runs::add(pool, runs),
            _ => debug_assert!(false, "the runs of a point are alike"),
        }
    }

    fn finish(pool: Outcome) -> Outcome {
        match pool {
            Outcome::LineRate { runs, optics, .. } => Outcome::all_line_rate(runs, optics),
            of_others => of_others,
        }
    }

    fn runs(&self) -> usize {
        match self {
            Outcome::LineRate { runs, .. } => runs.runs(),
            Outcome::Links(runs) => runs.runs(),
            Outcome::Flows(runs) => runs.runs(),
        }
    }

    fn only(&self, keeps: &dyn Fn(usize) -> bool) -> Option<Outcome> {
        match self {
            Outcome::LineRate { runs, optics, .. } => {
                Some(Outcome::all_line_rate(runs.only(keeps)?, *optics)).filter(|some| some.runs() > 0)
            }
            Outcome::Links(runs) => runs.only(keeps).map(Outcome::Links),
            Outcome::Flows(runs) => runs.only(keeps).map(Outcome::Flows),
        }
    }
}
