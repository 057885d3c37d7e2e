//! Experiments with fleets as a kind of experiments.

use super::metric;
use super::outcome::FleetOutcome;
use super::pair::DAY_S;
use super::parameters::FleetParameters;
use super::task::{Network, Study, Task};
use crate::trace::TraceParameters;
use linkmend_experiment::{
    Combination, ExperimentError, ExperimentFile, Head, Kind, Metric, PointOf, PublishedTable, Reader, Run,
    Settings, Source,
};
use linkmend_quantity::Share;
use linkmend_topology::FabricParameters;
use serde::Deserialize;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;

/// Approximate time that one core takes for a pair of runs over a year of the paper's fabric, in seconds.
const SECONDS_PER_RUN: f64 = 0.8;
/// A year, in days: how long a trace is unless a file says otherwise.
const YEAR_DAYS: u32 = 365;
/// The longest trace, in days.
const DAYS_MAX: u32 = 36_600;

/// Runs of a point at which a quick run stops, the days of their traces, and the day on which the drawn week begins.
const QUICK_RUNS: u64 = 2;
const QUICK_DAYS: u32 = 40;
const QUICK_WEEK_FROM_DAY: u64 = 20;

/// Experiments with whole fleets over many traces: each constraint is a point, each trace a run.
#[derive(Debug, Clone, Copy)]
pub struct FleetExperiments;

/// An experiment with a fleet.
pub type FleetExperiment = linkmend_experiment::Experiment<FleetExperiments>;

/// One combination of its parameters.
pub type Point = PointOf<FleetExperiments>;

/// The figure that an experiment's report draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// A week of penalties, paths and capacity (Figure 15).
    Week,
    /// Distributions over time of the differences in penalty and capacity (Figure 16).
    Differences,
    /// What upgraded pods spare, for each way of choosing them.
    Deployment,
}

/// The kind that such a file says it has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FileKind {
    Fleet,
}

/// A file of an experiment with fleets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    /// Tells the file from those of other experiments.
    #[serde(rename = "kind")]
    _kind: FileKind,
    id: Spanned<String>,
    title: String,
    source: String,
    #[serde(default)]
    about: String,
    figure: Figure,
    /// First day of the week that is drawn, counted from 0.
    #[serde(default)]
    week_from_day: u64,
    #[serde(default)]
    base: Settings,
    #[serde(default)]
    sweep: Vec<Settings>,
    tolerance_reason: Option<String>,
    #[serde(default)]
    published: Vec<Spanned<PublishedTable>>,
}

/// What a file says beyond what all experiment files say.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    figure: Figure,
    week_from_day: u64,
}

impl ExperimentFile<FleetExperiments> for File {
    type Rest = Rest;
    type Extra = Figure;

    fn split(self) -> (Head, Rest) {
        let File { id, title, source, about, figure, week_from_day, base, sweep, .. } = self;
        let (tolerance_reason, published) = (self.tolerance_reason, self.published);
        let head = Head { id, title, source, about, base, sweep, tolerance_reason, published };
        (head, Rest { figure, week_from_day })
    }

    fn extra(rest: Rest, _reader: &Reader<'_, FleetExperiments>) -> Result<Figure, ExperimentError> {
        Ok(rest.figure)
    }
}

impl Kind for FleetExperiments {
    type Parameters = FleetParameters;
    type Task = Task;
    type Outcome = FleetOutcome;
    type Error = Infallible;
    type File = File;

    fn metrics(rest: &Rest) -> &'static [Metric<FleetOutcome>] {
        match rest.figure {
            Figure::Week | Figure::Differences => &metric::OF_PAIRS,
            Figure::Deployment => &[],
        }
    }

    fn task(
        rest: &Rest,
        at: &Combination<FleetParameters>,
        source: Source<'_>,
        _folder: &Path,
    ) -> Result<(FleetParameters, Task), ExperimentError> {
        let FleetParameters { constraint, pods, days } = at.parameters;
        let Some(Share(constraint)) = constraint else {
            let message =
                "an experiment with fleets requires `constraint`, the share of paths that ToRs keep";
            return Err(source.error(at.place, message));
        };
        let (pods, days) = (pods.unwrap_or(FabricParameters::PAPER.pods), days.unwrap_or(YEAR_DAYS));
        let network = FabricParameters { pods, ..FabricParameters::PAPER };
        network.check().map_err(|error| source.error(at.place_of("pods"), error.to_string()))?;
        if !(1..=DAYS_MAX).contains(&days) {
            let message = format!("days = {days}: must be from 1 to {DAYS_MAX}");
            return Err(source.error(at.place_of("days"), message));
        }
        let trace = TraceParameters { length_s: u64::from(days) * DAY_S, ..TraceParameters::paper(0) };
        trace
            .check_for(network.links())
            .map_err(|error| source.error(at.place_of("days"), error.to_string()))?;
        let parameters =
            FleetParameters { constraint: Some(Share(constraint)), pods: Some(pods), days: Some(days) };
        let study = match rest.figure {
            Figure::Week | Figure::Differences => Study::Pairs { week_from_day: rest.week_from_day },
            Figure::Deployment => Study::Upgrades,
        };
        let network = Arc::new(Network::new(network));
        Ok((parameters, Task { network, constraint, days: u64::from(days), study }))
    }

    fn run(
        task: &Task,
        run: Run,
        _progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<FleetOutcome>, Infallible> {
        Ok(Some(task.run(run)))
    }

    /// Seconds of one core.
    fn work(_task: &Task) -> f64 {
        SECONDS_PER_RUN
    }

    const SHOWS_RUNS: bool = true;

    /// Traces are numbered, so that a run can be repeated by hand. All constraints see the same traces.
    fn seed(base_seed: u64, _id: &str, _point: &Point, number: u64) -> u64 {
        base_seed.wrapping_add(number)
    }

    fn quick(point: &Point) -> Point {
        let mut quick = point.clone();
        quick.runs = quick.runs.min(QUICK_RUNS);
        let days = quick.parameters.days.map_or(QUICK_DAYS, |days| days.min(QUICK_DAYS));
        quick.parameters.days = Some(days);
        quick.task.days = u64::from(days);
        if let Study::Pairs { week_from_day } = &mut quick.task.study {
            *week_from_day = (*week_from_day).min(QUICK_WEEK_FROM_DAY);
        }
        quick
    }
}
