//! An experiment, read from its file and checked.

use super::check::check;
use super::file::{File, Kind, LogAxes, PlotKind, PlotTable, Reference, Theory};
use super::metric::Metric;
use super::outcome::Outcome;
use super::parameters::StressParameters;
use super::value::{Parameter, is_parameter, keys, label_of, value_of};
use crate::corruption::{Transceiver, optics};
use crate::link::config::ParameterError;
use crate::stress::StressConfig;
use linkmend_experiment::{
    Across, Combination, ExperimentError, Quantity, Selection, Settings, Source, Tolerance, Value,
    combinations,
};
use std::path::Path;
use toml::Spanned;

/// A published or otherwise interesting experiment: what is varied, what is drawn, and what it is compared with.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Its name on the command line: lower-case letters, digits and hyphens.
    pub id: String,
    /// A title for people.
    pub title: String,
    /// The figure, table or section that it reproduces, or that it goes beyond the paper.
    pub source: String,
    /// What it shows and how to read it.
    pub about: String,
    /// The kind of its points.
    pub kind: Kind,
    /// All combinations of what is varied.
    pub points: Vec<Point>,
    /// The parameters that differ between points.
    pub varied: Vec<&'static str>,
    /// The plots of its report.
    pub plots: Vec<PlotSpec>,
    /// Comparisons with published values.
    pub published: Vec<Published>,
    /// Comparisons with theory.
    pub expected: Vec<Expected>,
    /// The text of the file.
    pub text: String,
}

/// One combination of parameters.
#[derive(Debug, Clone)]
pub struct Point {
    /// All of its parameters, including those that the file leaves to the paper.
    pub parameters: StressParameters,
    /// The parameters that the file sets.
    pub written: StressParameters,
    /// What is done at this point.
    pub task: Task,
    /// How many independent runs are pooled.
    pub runs: u64,
}

/// What is done at a point.
#[derive(Debug, Clone)]
pub enum Task {
    /// A stress run is simulated.
    Stress(Box<StressConfig>),
    /// The loss of an attenuated link is computed.
    Attenuation {
        /// The transceiver at both ends.
        transceiver: Transceiver,
        /// Attenuation in dB.
        attenuation_db: f64,
        /// Length of the frames.
        frame_bytes: u32,
    },
}

/// A published value and where it applies.
#[derive(Debug, Clone)]
pub struct Published {
    /// The metric that was published.
    pub metric: &'static Metric,
    /// The points at which it applies.
    pub at: Selection,
    /// How several points are combined.
    pub across: Across,
    /// The value, in the unit of the metric's quantity.
    pub value: f64,
    /// How far the measured value may be off, in the same unit.
    pub tolerance: Tolerance,
    /// The figure or table, if it differs from the experiment's.
    pub source: String,
    /// Why the measured value is known to differ, or may differ.
    pub explanation: Option<String>,
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

/// Parameters and values that replace a point's own.
#[derive(Debug, Clone, PartialEq)]
pub struct Replacement(pub Vec<(String, String)>);

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
            Ordinate::TxBuffer => Metric::named("tx_buffer_bytes.max"),
            Ordinate::RxBuffer => Metric::named("rx_buffer_bytes.max"),
            Ordinate::OfKind => None,
        }
    }
}

impl Experiment {
    /// Reads an experiment; `path` names the file in errors. Files that it mentions are looked for in `folder`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(path: &str, text: &str, folder: &Path) -> Result<Experiment, ExperimentError> {
        let source = Source { path, text };
        let file: File = toml::from_str(text).map_err(|error| source.syntax(&error))?;
        let id = file.id.get_ref().clone();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if id.is_empty() || id == "all" || !id.chars().all(plain) {
            let message =
                format!("id = `{id}`: must be lower-case letters, digits and hyphens, and not `all`");
            return Err(source.error(Some(file.id.span().start), message));
        }
        let points = points(source, file.kind, &file.base, &file.sweep, folder)?;
        let reader = Reader { source, kind: file.kind, points: &points, default_source: &file.source };
        let plots = file.plot.into_iter().map(|plot| reader.plot(plot)).collect::<Result<_, _>>()?;
        let published =
            file.published.into_iter().map(|row| reader.published(row)).collect::<Result<_, _>>()?;
        let expected = file.expected.into_iter().map(|row| reader.expected(row)).collect::<Result<_, _>>()?;
        let varied = varied(&points);
        let (title, about) = (file.title, file.about);
        let (source, kind, text) = (file.source, file.kind, text.to_owned());
        Ok(Experiment { id, title, source, about, kind, points, varied, plots, published, expected, text })
    }

    /// The selected points.
    pub fn select<'a>(&'a self, at: &'a Selection) -> impl Iterator<Item = usize> + 'a {
        let chosen = |(index, point): (usize, &Point)| at.matches(&point.parameters).then_some(index);
        self.points.iter().enumerate().filter_map(chosen)
    }

    /// What distinguishes a point from the others, like `100G, ordered, loss rate 1e-3`.
    pub fn describe(&self, point: &Point) -> String {
        let words = self.varied.iter().filter_map(|key| point.word(key));
        let words: Vec<String> = words.collect();
        if words.is_empty() { self.title.clone() } else { words.join(", ") }
    }
}

impl Point {
    /// The value of a parameter.
    pub fn value(&self, key: &str) -> Option<Value> {
        value_of(key, &self.parameters)
    }

    /// A parameter's value in words that need no heading.
    pub fn word(&self, key: &str) -> Option<String> {
        let value = self.value(key)?.text;
        Some(match key {
            "variant" | "speed" | "mode" | "buffering" | "transceiver" => value,
            "no-backpressure" => if value == "on" { "no backpressure" } else { "backpressure" }.to_owned(),
            key => format!("{} {value}", label_of(key)),
        })
    }

    /// A name that no other point has: all parameters and their values.
    pub fn key(&self) -> String {
        let texts = keys().filter_map(|key| Some(format!("{key}={}", self.value(key)?.text)));
        texts.collect::<Vec<_>>().join(" ")
    }

    /// The outcome of a point that is computed rather than simulated.
    pub(super) fn computed(&self) -> Option<Outcome> {
        match self.task {
            Task::Stress(_) => None,
            Task::Attenuation { transceiver, attenuation_db, frame_bytes } => Some(Outcome::Attenuation {
                frame_loss_rate: optics::frame_loss(transceiver, attenuation_db, frame_bytes),
                bit_error_rate: optics::bit_error_rate(transceiver, attenuation_db),
            }),
        }
    }
}

fn points(
    source: Source<'_>,
    kind: Kind,
    base: &Settings,
    sweeps: &[Settings],
    folder: &Path,
) -> Result<Vec<Point>, ExperimentError> {
    let mut points: Vec<Point> = Vec::new();
    let mut keys = std::collections::BTreeSet::new();
    for combination in combinations(source, base, sweeps)? {
        let point = point(source, kind, &combination, folder)?;
        // Sweeps may intersect; an intersection is one point.
        if keys.insert(point.key()) {
            points.push(point);
        }
    }
    Ok(points)
}

fn point(
    source: Source<'_>,
    kind: Kind,
    combination: &Combination<StressParameters>,
    folder: &Path,
) -> Result<Point, ExperimentError> {
    let wrong =
        |error: ParameterError| source.error(combination.place_of(error.parameter), error.to_string());
    let config = combination.parameters.config(folder).map_err(wrong)?;
    check(&config).map_err(wrong)?;
    let parameters = combination.parameters.resolved(&config);
    let task = match kind {
        Kind::Stress => Task::Stress(Box::new(config)),
        Kind::Attenuation => {
            let (Some(name), Some(attenuation)) = (parameters.transceiver, parameters.attenuation) else {
                let message = "an experiment of kind `attenuation` needs `transceiver` and `attenuation`";
                return Err(source.error(combination.place, message));
            };
            let (transceiver, attenuation_db) = (name.into(), attenuation.0);
            Task::Attenuation { transceiver, attenuation_db, frame_bytes: config.link.frame_bytes }
        }
    };
    Ok(Point { parameters, written: combination.parameters.clone(), task, runs: combination.runs })
}

/// Parameters that are not written alike for all points, in the order of tables. The number of frames only decides how
/// long a run takes, and what follows from other parameters is not varied.
fn varied(points: &[Point]) -> Vec<&'static str> {
    let differs = |key: &&'static str| {
        let written = |point: &Point| value_of(key, &point.written);
        let first = points.first().map(written);
        points.iter().any(|point| Some(written(point)) != first)
    };
    keys().filter(|key| *key != "frames").filter(differs).collect()
}

/// Reads the parts of a file that refer to points and metrics.
struct Reader<'a> {
    source: Source<'a>,
    kind: Kind,
    points: &'a [Point],
    default_source: &'a str,
}

impl Reader<'_> {
    fn metric(&self, name: &Spanned<String>) -> Result<&'static Metric, ExperimentError> {
        let of_stress = self.kind == Kind::Stress;
        let metric = Metric::named(name.get_ref()).filter(|metric| metric.is_of_stress() == of_stress);
        metric.ok_or_else(|| {
            self.source.error(Some(name.span().start), format!("there is no metric `{}`", name.get_ref()))
        })
    }

    /// A selection that matches at least one point, so that a row cannot silently compare nothing.
    fn selection(&self, settings: &Settings, place: usize) -> Result<Selection, ExperimentError> {
        let selection = Selection::read::<StressParameters>(self.source, settings)?;
        if !self.points.iter().any(|point| selection.matches(&point.parameters)) {
            return Err(self.source.error(Some(place), "no point of the sweep is `at` these parameters"));
        }
        Ok(selection)
    }

    fn parameter(&self, name: &Spanned<String>) -> Result<&'static str, ExperimentError> {
        keys().find(|key| *key == name.get_ref()).ok_or_else(|| {
            self.source.error(Some(name.span().start), format!("there is no parameter `{}`", name.get_ref()))
        })
    }

    fn dimension(&self, name: &Spanned<String>) -> Result<Dimension, ExperimentError> {
        if is_parameter(name.get_ref()) {
            return self.parameter(name).map(Dimension::Parameter);
        }
        self.metric(name).map(Dimension::Metric)
    }

    fn published(&self, row: Spanned<super::file::PublishedTable>) -> Result<Published, ExperimentError> {
        let place = row.span().start;
        let row = row.into_inner();
        let metric = self.metric(&row.metric)?;
        let tolerance = match *row.tolerance.get_ref() {
            Tolerance::Absolute(limit) => Tolerance::Absolute(limit * metric.scale),
            tolerance => tolerance,
        };
        if !tolerance.is_sensible() || !row.value.is_finite() {
            let message = "a tolerance is 0 or more, a factor 1 or more, and a value a finite number";
            return Err(self.source.error(Some(row.tolerance.span().start), message));
        }
        Ok(Published {
            metric,
            at: self.selection(&row.at, place)?,
            across: row.across,
            value: row.value * metric.scale,
            tolerance,
            source: row.source.unwrap_or_else(|| self.default_source.to_owned()),
            explanation: row.explanation,
        })
    }

    fn expected(&self, row: Spanned<super::file::ExpectedTable>) -> Result<Expected, ExperimentError> {
        let place = row.span().start;
        if self.kind != Kind::Stress {
            return Err(self.source.error(Some(place), "a law is of stress runs"));
        }
        let row = row.into_inner();
        let at = self.selection(&row.at, place)?;
        Ok(Expected { theory: row.theory, at, explanation: row.explanation })
    }

    fn plot(&self, plot: Spanned<PlotTable>) -> Result<PlotSpec, ExperimentError> {
        let place = plot.span().start;
        let plot = plot.into_inner();
        let needs = |what: &str| Err(self.source.error(Some(place), format!("this plot needs `{what}`")));
        let x = plot.x.as_ref().map(|name| self.dimension(name)).transpose()?;
        let rows = plot.rows.as_ref().map(|name| self.dimension(name)).transpose()?;
        if x.is_none() && matches!(plot.kind, PlotKind::Points | PlotKind::Bars | PlotKind::HeatMap) {
            return needs("x");
        }
        if rows.is_none() && plot.kind == PlotKind::HeatMap {
            return needs("rows");
        }
        let y = self.ordinate(plot.kind, plot.y.as_ref(), place)?;
        let series = plot.series.iter().map(|name| self.parameter(name)).collect::<Result<_, _>>()?;
        let minus = match plot.minus.is_empty() {
            true => None,
            false => {
                let other = Selection::read::<StressParameters>(self.source, &plot.minus)?;
                let only = other.only().map(|(key, value)| (key.to_owned(), value.to_owned()));
                Some(Replacement(only.collect()))
            }
        };
        let reference = plot.reference.map(|reference| match y {
            Ordinate::Metric(metric) => Reference { value: reference.value * metric.scale, ..reference },
            _ => reference,
        });
        let low = plot.low.map(|low| match y {
            Ordinate::Metric(metric) => low * metric.scale,
            _ => low,
        });
        let at = self.selection(&plot.at, place)?;
        let (title, caption, kind, log) = (plot.title, plot.caption, plot.kind, plot.log);
        Ok(PlotSpec { title, caption, kind, x, y, rows, series, at, minus, log, low, reference })
    }

    fn ordinate(
        &self,
        kind: PlotKind,
        name: Option<&Spanned<String>>,
        place: usize,
    ) -> Result<Ordinate, ExperimentError> {
        let error = |message: &str| Err(self.source.error(Some(place), message));
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
            (_, Some(name)) => self.metric(name).map(Ordinate::Metric),
            (_, None) => error("this plot needs `y`"),
        }
    }
}
