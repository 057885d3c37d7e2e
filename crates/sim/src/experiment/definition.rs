//! An experiment, read from its file and checked.

use super::completed::completed;
use super::file::{ExpectedTable, File, LogAxes, PlotKind, PlotTable, Reference, Theory};
use super::metric::{METRICS, metric_named};
use super::outcome::{Metric, Outcome};
use super::work::{WORK_PER_SECOND, quick, work};
use crate::link::config::ParameterError;
use crate::parameters::{Parameter, RunConfig, RunParameters, TrafficError, TrafficTable};
use crate::random::Random;
use linkmend_experiment::{
    Combination, ExperimentError, ExperimentFile, Head, Kind, Parameters, PointOf, Quantity, Reader,
    Replacement, Run, Selection, Source, Verdict,
};
use std::path::Path;
use toml::Spanned;

/// Experiments with runs.
#[derive(Debug, Clone, Copy)]
pub struct RunExperiments;

/// An experiment with runs.
pub type Experiment = linkmend_experiment::Experiment<RunExperiments>;

/// One combination of its parameters.
pub type Point = PointOf<RunExperiments>;

/// What only experiments with runs have.
#[derive(Debug, Clone)]
pub struct Extra {
    /// The plots of its report.
    pub plots: Vec<PlotSpec>,
    /// Comparisons with theory.
    pub expected: Vec<Expected>,
}

/// Points that are compared with theory, each by itself.
#[derive(Debug, Clone)]
pub struct Expected {
    pub theory: Theory,
    /// The points at which it applies.
    pub at: Selection,
    /// What is known about the difference of the measured values.
    pub explanation: Option<String>,
    /// The verdict that is on record.
    pub recorded: Verdict,
}

/// A plot of an experiment.
#[derive(Debug, Clone)]
pub struct PlotSpec {
    /// The title of the plot.
    pub title: String,
    /// What the plot shows, in words.
    pub caption: Option<String>,
    /// How points are drawn.
    pub kind: PlotKind,
    /// The horizontal axis.
    pub x: Option<Dimension>,
    /// The vertical axis, or the colour. Plots of boxes, delays and holes have their own.
    pub y: Ordinate,
    /// Rows of a heat map.
    pub rows: Option<Dimension>,
    /// Parameters by which points are divided into series.
    pub series: Vec<&'static str>,
    /// Parameters by which points with flows are divided into plots, beside those that always divide them.
    pub panels: Vec<&'static str>,
    /// The points that are drawn.
    pub at: Selection,
    /// Parameters and values of the points whose value is subtracted.
    pub minus: Option<Replacement>,
    /// Which axes are logarithmic.
    pub log: LogAxes,
    /// The low end of the vertical axis, in the unit of the metric's quantity.
    pub low: Option<f64>,
    /// The percentile at which a tail begins.
    pub above_percentile: f64,
    /// A smaller difference between the best two is a draw, in the unit of the metric's quantity.
    pub draw: f64,
    /// A line across the plot, with its value in the unit of the metric's quantity.
    pub reference: Option<Reference>,
}

/// A parameter or a metric.
#[derive(Debug, Clone, Copy)]
pub enum Dimension {
    /// A parameter, by its name.
    Parameter(&'static str),
    Metric(&'static Metric),
}

/// What the vertical axis shows.
#[derive(Debug, Clone, Copy)]
pub enum Ordinate {
    /// A metric of each point.
    Metric(&'static Metric),
    /// The level of the Tx buffer over time.
    TxBuffer,
    /// The level of the Rx buffer over time.
    RxBuffer,
    /// What the plot's kind defines.
    OfKind,
}

impl PlotSpec {
    /// Whether it shows this metric.
    pub fn shows(&self, metric: &Metric) -> bool {
        matches!(self.y, Ordinate::Metric(shown) if shown.name == metric.name)
    }
}

impl Dimension {
    /// Its name on axes and in headings.
    pub fn label(self) -> &'static str {
        match self {
            Dimension::Parameter(key) => RunParameters::label_of(key),
            Dimension::Metric(metric) => metric.label,
        }
    }

    /// What it measures.
    pub fn quantity(self) -> Quantity {
        match self {
            Dimension::Parameter(key) => {
                Parameter::named(key).map_or(Quantity::Word, |parameter| parameter.quantity)
            }
            Dimension::Metric(metric) => metric.quantity,
        }
    }
}

impl Ordinate {
    /// The metric whose published values belong beside what the axis shows; of a buffer they are its highest level.
    pub fn published_as(self) -> Option<&'static Metric> {
        match self {
            Ordinate::Metric(metric) => Some(metric),
            Ordinate::TxBuffer => metric_named("tx_buffer_bytes.max"),
            Ordinate::RxBuffer => metric_named("rx_buffer_bytes.max"),
            Ordinate::OfKind => None,
        }
    }
}

impl Kind for RunExperiments {
    type Parameters = RunParameters;
    type Task = RunConfig;
    type Outcome = Outcome;
    type Error = ParameterError;
    type File = File;

    fn metrics(_rest: &Rest) -> &'static [Metric] {
        &METRICS
    }

    fn task(
        rest: &Rest,
        at: &Combination<RunParameters>,
        source: Source<'_>,
        folder: &Path,
    ) -> Result<(RunParameters, RunConfig), ExperimentError> {
        // Of several kinds of traffic, tables show the first one.
        let first = rest.traffic.first();
        let written = first
            .map_or(at.parameters.clone(), |first| at.parameters.replaced_by(&first.get_ref().parameters));
        let parameters = completed(&written, folder);
        let traffic: Vec<TrafficTable> = rest.traffic.iter().map(|table| table.get_ref().clone()).collect();
        let run = match traffic.len() {
            0 => parameters.run(folder).map_err(TrafficError::from),
            _ => in_network(&at.parameters, &parameters).run_with(&traffic, folder),
        };
        let run = run.map_err(|TrafficError { table, error }| {
            let of_table = table.and_then(|table| rest.traffic.get(table)).filter(|table| {
                let is_its_own = table.get_ref().parameters.value(error.parameter).is_some();
                is_its_own || at.places.iter().all(|(name, _)| name != error.parameter)
            });
            // What contradicts between tables stands in none of them.
            let place = of_table.map(|table| table.span().start).or_else(|| at.place_of(error.parameter));
            let place = place.or_else(|| Some(first?.span().start));
            source.error(place, error.to_string())
        })?;
        let parameters = match &run {
            RunConfig::LineRate(config) => parameters.written_out(config),
            RunConfig::Links(_) | RunConfig::Flows(_) => parameters,
        };
        Ok((parameters, run))
    }

    fn run(
        task: &RunConfig,
        this: Run,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Outcome>, ParameterError> {
        Outcome::run(task, this.seed, progress)
    }

    fn work(task: &RunConfig) -> f64 {
        work(task)
    }

    const WORK_PER_SECOND: f64 = WORK_PER_SECOND;

    fn seed(base_seed: u64, id: &str, point: &Point, number: u64) -> u64 {
        let text = point.parameters.seed_text();
        Random::new(base_seed, &format!("{id} {text} run {number}")).next_u64() >> 32
    }

    fn quick(point: &Point) -> Point {
        quick(point)
    }
}

impl ExperimentFile<RunExperiments> for File {
    type Rest = Rest;
    type Extra = Extra;

    fn split(self) -> (Head, Rest) {
        let File { id, title, source, about, base, sweep, traffic, plot, expected, .. } = self;
        let (tolerance_reason, published) = (self.tolerance_reason, self.published);
        let rest = Rest { title: title.clone(), traffic, plot, expected };
        (Head { id, title, source, about, base, sweep, tolerance_reason, published }, rest)
    }

    fn extra(rest: Rest, reader: &Reader<'_, RunExperiments>) -> Result<Extra, ExperimentError> {
        let Rest { title, plot, expected, .. } = rest;
        let of_runs = RunReader { reader, title };
        let plots = plot.into_iter().map(|plot| of_runs.plot(plot)).collect::<Result<_, _>>()?;
        let expected = expected.into_iter().map(|row| of_runs.expected(row)).collect::<Result<_, _>>()?;
        Ok(Extra { plots, expected })
    }
}

/// What all kinds of traffic share, completed as the first one is: its network.
fn in_network(shared: &RunParameters, first: &RunParameters) -> RunParameters {
    let defaults = RunParameters {
        topology: first.topology.clone(),
        scheme: first.scheme,
        loss: first.loss,
        speed: first.speed,
        ..RunParameters::default()
    };
    defaults.replaced_by(&RunParameters { topology: None, ..shared.clone() })
}

/// What a file says beyond what all experiment files say.
#[derive(Debug)]
pub struct Rest {
    title: String,
    traffic: Vec<Spanned<TrafficTable>>,
    plot: Vec<Spanned<PlotTable>>,
    expected: Vec<Spanned<ExpectedTable>>,
}

/// Reads the parts of a file that only experiments with runs have.
struct RunReader<'a> {
    reader: &'a Reader<'a, RunExperiments>,
    title: String,
}

impl RunReader<'_> {
    fn dimension(&self, name: &Spanned<String>) -> Result<Dimension, ExperimentError> {
        if Parameter::named(name.get_ref()).is_some() {
            return self.reader.parameter(name).map(Dimension::Parameter);
        }
        self.reader.metric(name).map(Dimension::Metric)
    }

    fn expected(&self, row: Spanned<ExpectedTable>) -> Result<Expected, ExperimentError> {
        let place = row.span().start;
        let row = row.into_inner();
        let at = self.reader.selection(&row.at, place)?;
        Ok(Expected { theory: row.theory, at, explanation: row.explanation, recorded: row.verdict })
    }

    fn plot(&self, plot: Spanned<PlotTable>) -> Result<PlotSpec, ExperimentError> {
        let place = plot.span().start;
        let plot = plot.into_inner();
        let needs = |what: &str| Err(self.reader.error(place, format!("this plot needs `{what}`")));
        let x = plot.x.as_ref().map(|name| self.dimension(name)).transpose()?;
        let rows = plot.rows.as_ref().map(|name| self.dimension(name)).transpose()?;
        let is_map = matches!(plot.kind, PlotKind::HeatMap | PlotKind::Best);
        if x.is_none() && (is_map || matches!(plot.kind, PlotKind::Points | PlotKind::Bars)) {
            return needs("x");
        }
        if rows.is_none() && is_map {
            return needs("rows");
        }
        if plot.series.is_empty() && plot.kind == PlotKind::Best {
            return needs("series");
        }
        if plot.draw.is_some() && plot.kind != PlotKind::Best {
            return Err(self.reader.error(place, "`draw` requires a plot of kind `best`"));
        }
        let y = self.ordinate(plot.kind, plot.y.as_ref(), place)?;
        let series = plot.series.iter().map(|name| self.reader.parameter(name)).collect::<Result<_, _>>()?;
        let panels: Vec<_> =
            plot.panels.iter().map(|name| self.reader.parameter(name)).collect::<Result<_, _>>()?;
        if !panels.is_empty() && !plot.kind.is_divided() {
            return Err(self.reader.error(place, "`panels` requires a plot of flow completion times"));
        }
        let minus = self.reader.replacement("minus", &plot.minus)?;
        let reference = plot.reference.map(|reference| match y {
            Ordinate::Metric(metric) => Reference { value: reference.value * metric.scale, ..reference },
            _ => reference,
        });
        let in_unit = |value: f64| match y {
            Ordinate::Metric(metric) => value * metric.scale,
            _ => value,
        };
        let (low, draw) = (plot.low.map(in_unit), plot.draw.map_or(0.0, in_unit));
        let at = self.reader.selection(&plot.at, place)?;
        if plot.above_percentile.is_some() && plot.kind != PlotKind::Tail {
            return Err(self.reader.error(place, "`above-percentile` requires a plot of kind `tail`"));
        }
        let above_percentile = plot.above_percentile.unwrap_or(0.0);
        if !(0.0..100.0).contains(&above_percentile) {
            return Err(self.reader.error(place, "`above-percentile` must be at least 0 and below 100"));
        }
        let title = plot.title.unwrap_or_else(|| self.title.clone());
        let (caption, kind, log) = (plot.caption, plot.kind, plot.log);
        Ok(PlotSpec {
            title,
            caption,
            kind,
            x,
            y,
            rows,
            series,
            panels,
            at,
            minus,
            log,
            low,
            above_percentile,
            draw,
            reference,
        })
    }

    fn ordinate(
        &self,
        kind: PlotKind,
        name: Option<&Spanned<String>>,
        place: usize,
    ) -> Result<Ordinate, ExperimentError> {
        let error = |message: &str| Err(self.reader.error(place, message));
        let has_own = kind.is_of_flows() || matches!(kind, PlotKind::Delays | PlotKind::Holes);
        match (kind, name) {
            (_, None) if has_own => Ok(Ordinate::OfKind),
            (_, Some(_)) if has_own => error("plots of this kind have a fixed `y`; remove it"),
            (PlotKind::Boxes, Some(name)) => match name.get_ref().as_str() {
                "tx_buffer_bytes" => Ok(Ordinate::TxBuffer),
                "rx_buffer_bytes" => Ok(Ordinate::RxBuffer),
                _ => error("the `y` of boxes must be `tx_buffer_bytes` or `rx_buffer_bytes`"),
            },
            (_, Some(name)) => self.reader.metric(name).map(Ordinate::Metric),
            (_, None) => error("this plot needs `y`"),
        }
    }
}
