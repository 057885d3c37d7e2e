//! An experiment, read from its file and checked.

use super::check::check;
use super::file::{ExpectedTable, File, Kind, LogAxes, PlotKind, PlotTable, Reference, Theory};
use super::metric::{Metric, metric_named, metrics_of};
use super::outcome::Outcome;
use super::parameters::StressParameters;
use super::runner::run;
use super::task::Task;
use super::value::{Parameter, is_parameter, label_of};
use super::work::{FRAMES_PER_SECOND, quick, work};
use crate::link::config::ParameterError;
use linkmend_experiment::{
    Combination, ExperimentError, ExperimentFile, Head, PointOf, Quantity, Reader, Replacement, Run,
    Selection, Source,
};
use std::path::Path;
use toml::Spanned;

/// Experiments with single links: stress runs, and computed losses of attenuated links.
#[derive(Debug, Clone, Copy)]
pub struct LinkExperiments;

/// An experiment with single links.
pub type Experiment = linkmend_experiment::Experiment<LinkExperiments>;

/// One combination of its parameters.
pub type Point = PointOf<LinkExperiments>;

/// What only experiments with links have.
#[derive(Debug, Clone)]
pub struct LinkExtra {
    /// The kind of its points.
    pub kind: Kind,
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
    /// Why the measured values are known to differ.
    pub explanation: Option<String>,
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
    /// The points that are drawn.
    pub at: Selection,
    /// Parameters and values of the points whose value is subtracted.
    pub minus: Option<Replacement>,
    /// Which axes are logarithmic.
    pub log: LogAxes,
    /// The low end of the vertical axis, in the unit of the metric's quantity.
    pub low: Option<f64>,
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

impl Dimension {
    /// Its name on axes and in headings.
    pub fn label(self) -> &'static str {
        match self {
            Dimension::Parameter(key) => label_of(key),
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

impl linkmend_experiment::Kind for LinkExperiments {
    type Parameters = StressParameters;
    type Task = Task;
    type Outcome = Outcome;
    type Error = ParameterError;
    type File = File;

    fn metrics(rest: &Rest) -> &'static [Metric] {
        metrics_of(rest.kind)
    }

    fn task(
        rest: &Rest,
        at: &Combination<StressParameters>,
        source: Source<'_>,
        folder: &Path,
    ) -> Result<(StressParameters, Task), ExperimentError> {
        let wrong = |error: ParameterError| source.error(at.place_of(error.parameter), error.to_string());
        let config = at.parameters.config(folder).map_err(wrong)?;
        check(&config).map_err(wrong)?;
        let parameters = at.parameters.resolved(&config);
        let task = match rest.kind {
            Kind::Stress => Task::Stress(Box::new(config)),
            Kind::Attenuation => {
                let (Some(name), Some(attenuation)) = (parameters.transceiver, parameters.attenuation) else {
                    let message = "an experiment of kind `attenuation` needs `transceiver` and `attenuation`";
                    return Err(source.error(at.place, message));
                };
                let (transceiver, attenuation_db) = (name.into(), attenuation.0);
                Task::Attenuation { transceiver, attenuation_db, frame_bytes: config.link.frame_bytes }
            }
        };
        Ok((parameters, task))
    }

    fn run(
        task: &Task,
        this: Run,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Outcome>, ParameterError> {
        run(task, this.seed, progress).map(Some)
    }

    /// Frames that must be simulated one by one.
    fn work(task: &Task) -> f64 {
        work(task)
    }

    const WORK_PER_SECOND: f64 = FRAMES_PER_SECOND;

    fn quick(point: &Point) -> Point {
        quick(point)
    }
}

impl ExperimentFile<LinkExperiments> for File {
    type Rest = Rest;
    type Extra = LinkExtra;

    fn split(self) -> (Head, Rest) {
        let File { id, title, source, about, base, sweep, published, kind, plot, expected } = self;
        (Head { id, title, source, about, base, sweep, published }, Rest { kind, plot, expected })
    }

    fn extra(rest: Rest, reader: &Reader<'_, LinkExperiments>) -> Result<LinkExtra, ExperimentError> {
        let Rest { kind, plot, expected } = rest;
        let of_link = LinkReader { reader, kind };
        let plots = plot.into_iter().map(|plot| of_link.plot(plot)).collect::<Result<_, _>>()?;
        let expected = expected.into_iter().map(|row| of_link.expected(row)).collect::<Result<_, _>>()?;
        Ok(LinkExtra { kind, plots, expected })
    }
}

/// What a file says beyond what all experiment files say.
#[derive(Debug)]
pub struct Rest {
    kind: Kind,
    plot: Vec<Spanned<PlotTable>>,
    expected: Vec<Spanned<ExpectedTable>>,
}

/// Reads the parts of a file that only experiments with links have.
struct LinkReader<'a> {
    reader: &'a Reader<'a, LinkExperiments>,
    kind: Kind,
}

impl LinkReader<'_> {
    fn dimension(&self, name: &Spanned<String>) -> Result<Dimension, ExperimentError> {
        if is_parameter(name.get_ref()) {
            return self.reader.parameter(name).map(Dimension::Parameter);
        }
        self.reader.metric(name).map(Dimension::Metric)
    }

    fn expected(&self, row: Spanned<ExpectedTable>) -> Result<Expected, ExperimentError> {
        let place = row.span().start;
        if self.kind != Kind::Stress {
            return Err(self.reader.error(place, "only stress runs have an expected value"));
        }
        let row = row.into_inner();
        let at = self.reader.selection(&row.at, place)?;
        Ok(Expected { theory: row.theory, at, explanation: row.explanation })
    }

    fn plot(&self, plot: Spanned<PlotTable>) -> Result<PlotSpec, ExperimentError> {
        let place = plot.span().start;
        let plot = plot.into_inner();
        let needs = |what: &str| Err(self.reader.error(place, format!("this plot needs `{what}`")));
        let x = plot.x.as_ref().map(|name| self.dimension(name)).transpose()?;
        let rows = plot.rows.as_ref().map(|name| self.dimension(name)).transpose()?;
        if x.is_none() && matches!(plot.kind, PlotKind::Points | PlotKind::Bars | PlotKind::HeatMap) {
            return needs("x");
        }
        if rows.is_none() && plot.kind == PlotKind::HeatMap {
            return needs("rows");
        }
        let y = self.ordinate(plot.kind, plot.y.as_ref(), place)?;
        let series = plot.series.iter().map(|name| self.reader.parameter(name)).collect::<Result<_, _>>()?;
        let minus = self.reader.replacement("minus", &plot.minus)?;
        let reference = plot.reference.map(|reference| match y {
            Ordinate::Metric(metric) => Reference { value: reference.value * metric.scale, ..reference },
            _ => reference,
        });
        let low = plot.low.map(|low| match y {
            Ordinate::Metric(metric) => low * metric.scale,
            _ => low,
        });
        let at = self.reader.selection(&plot.at, place)?;
        let (title, caption, kind, log) = (plot.title, plot.caption, plot.kind, plot.log);
        Ok(PlotSpec { title, caption, kind, x, y, rows, series, at, minus, log, low, reference })
    }

    fn ordinate(
        &self,
        kind: PlotKind,
        name: Option<&Spanned<String>>,
        place: usize,
    ) -> Result<Ordinate, ExperimentError> {
        let error = |message: &str| Err(self.reader.error(place, message));
        match (kind, name) {
            (PlotKind::Delays | PlotKind::Holes, None) => Ok(Ordinate::OfKind),
            (PlotKind::Delays | PlotKind::Holes, Some(_)) => {
                error("this plot has a `y` of its own; remove it")
            }
            (PlotKind::Boxes, Some(name)) => match name.get_ref().as_str() {
                "tx_buffer_bytes" => Ok(Ordinate::TxBuffer),
                "rx_buffer_bytes" => Ok(Ordinate::RxBuffer),
                _ => error("boxes show `tx_buffer_bytes` or `rx_buffer_bytes`"),
            },
            (_, Some(name)) => self.reader.metric(name).map(Ordinate::Metric),
            (_, None) => error("this plot needs `y`"),
        }
    }
}
