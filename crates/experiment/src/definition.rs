//! An experiment, read from its file and checked.
//!
//! All files say the same in the same way: what the experiment is called and reproduces, what is varied, and which
//! published values it is compared with. A [`Kind`] adds the parameters, what one run does, and what it measures.

use crate::error::{ExperimentError, Source};
use crate::metric::Metric;
use crate::point::{Point, varied};
use crate::pool::{Pooled, pooled};
use crate::published::{Across, Published, Row};
use crate::runner::{Run, Runnable};
use crate::sweep::{Combination, Parameters, Selection, Settings, combinations};
use linkmend_report::Tolerance;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;
use toml::Spanned;

/// A kind of experiments: what can be varied, what one run does, and what is measured.
pub trait Kind: Clone + Debug + Send + Sync + Sized + 'static {
    /// What can be varied, as files write it.
    type Parameters: Parameters + Send + Sync;
    /// What is done at a point: the parameters, checked and completed.
    type Task: Clone + Debug + Send + Sync;
    /// What a run measures.
    type Outcome: Pooled;
    /// Why a run fails.
    type Error: Send;
    /// The form of its files: [`Head`], if they say nothing that others do not say.
    type File: ExperimentFile<Self>;

    /// What is measured, in the order of tables.
    fn metrics(rest: &RestOf<Self>) -> &'static [Metric<Self::Outcome>];

    /// Completes and checks the parameters of a point. `folder` is that of the file.
    ///
    /// # Errors
    /// The first parameter that cannot be used, with its line in `source`.
    fn task(
        rest: &RestOf<Self>,
        at: &Combination<Self::Parameters>,
        source: Source<'_>,
        folder: &Path,
    ) -> Result<(Self::Parameters, Self::Task), ExperimentError>;

    /// Does one run. `progress` takes the share of it that is done, from 0 to 1, and says whether to go on; the result is
    /// `None` if there is none because it said no.
    ///
    /// # Errors
    /// Why the run failed.
    fn run(
        task: &Self::Task,
        run: Run,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Self::Outcome>, Self::Error>;

    /// The work of one run, in a unit that all experiments of the kind share.
    fn work(_task: &Self::Task) -> f64 {
        1.0
    }
}

/// The form of an experiment file.
pub trait ExperimentFile<K: Kind>: DeserializeOwned {
    /// What it says beyond what all files say.
    type Rest;
    /// The same, checked.
    type Extra: Clone + Debug + Send + Sync;

    /// Divides the file.
    fn split(self) -> (Head, Self::Rest);

    /// Checks the rest of a file whose points are known.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    fn extra(rest: Self::Rest, reader: &Reader<'_, K>) -> Result<Self::Extra, ExperimentError>;
}

/// What the files of a kind say beyond what all files say.
pub type RestOf<K> = <<K as Kind>::File as ExperimentFile<K>>::Rest;
/// The same, checked.
pub type ExtraOf<K> = <<K as Kind>::File as ExperimentFile<K>>::Extra;
/// A point of an experiment of this kind.
pub type PointOf<K> = Point<<K as Kind>::Parameters, <K as Kind>::Task>;

/// What all experiment files say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Head {
    pub id: Spanned<String>,
    pub title: String,
    pub source: String,
    #[serde(default)]
    pub about: String,
    /// Parameters of all points, unless a sweep sets them.
    #[serde(default)]
    pub base: Settings,
    /// What is varied.
    #[serde(default)]
    pub sweep: Vec<Settings>,
    #[serde(default)]
    pub published: Vec<Spanned<PublishedTable>>,
}

/// A published value, as files write it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedTable {
    metric: Spanned<String>,
    #[serde(default)]
    at: Settings,
    value: f64,
    #[serde(default, rename = "of")]
    across: Across,
    tolerance: Spanned<Tolerance>,
    source: Option<String>,
    explanation: Option<String>,
}

impl<K: Kind> ExperimentFile<K> for Head {
    type Rest = ();
    type Extra = ();

    fn split(self) -> (Head, ()) {
        (self, ())
    }

    fn extra((): (), _reader: &Reader<'_, K>) -> Result<(), ExperimentError> {
        Ok(())
    }
}

/// A published or otherwise interesting experiment: what is varied, and what it is compared with.
#[derive(Debug, Clone)]
pub struct Experiment<K: Kind> {
    /// Its name on the command line: lower-case letters, digits and hyphens.
    pub id: String,
    /// A title for people.
    pub title: String,
    /// The figure, table or section that it reproduces, or that it goes beyond the paper.
    pub source: String,
    /// What it shows and how to read it.
    pub about: String,
    /// All combinations of what is varied.
    pub points: Vec<PointOf<K>>,
    /// The parameters that differ between points.
    pub varied: Vec<&'static str>,
    /// Comparisons with published values.
    pub published: Vec<PublishedAt<K::Outcome>>,
    /// What only this kind of experiments has.
    pub extra: ExtraOf<K>,
    /// The text of the file.
    pub text: String,
}

/// A published value and where it applies.
#[derive(Debug, Clone)]
pub struct PublishedAt<O: 'static> {
    /// The metric that was published.
    pub metric: &'static Metric<O>,
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

impl<K: Kind> Experiment<K> {
    /// Reads an experiment; `path` names the file in errors. Files that it mentions are looked for in `folder`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line.
    pub fn parse(path: &str, text: &str, folder: &Path) -> Result<Experiment<K>, ExperimentError> {
        let source = Source { path, text };
        let file: K::File = toml::from_str(text).map_err(|error| source.syntax(&error))?;
        let (head, rest) = file.split();
        let id = head.id.get_ref().clone();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if id.is_empty() || id == "all" || !id.chars().all(plain) {
            let message =
                format!("id = `{id}`: must be lower-case letters, digits and hyphens, and not `all`");
            return Err(source.error(Some(head.id.span().start), message));
        }
        let points = points::<K>(source, &head, &rest, folder)?;
        let metrics = K::metrics(&rest);
        let reader = Reader { source, metrics, points: &points, default_source: &head.source };
        let extra = K::File::extra(rest, &reader)?;
        let published =
            head.published.into_iter().map(|row| reader.published(row)).collect::<Result<_, _>>()?;
        let varied = varied(&points);
        let Head { title, about, source, .. } = head;
        let text = text.to_owned();
        Ok(Experiment { id, title, source, about, points, varied, published, extra, text })
    }

    /// The selected points.
    pub fn select<'a>(&'a self, at: &'a Selection) -> impl Iterator<Item = usize> + 'a {
        let chosen = |(index, point): (usize, &PointOf<K>)| at.matches(&point.parameters).then_some(index);
        self.points.iter().enumerate().filter_map(chosen)
    }

    /// What distinguishes a point from the others, like `100G, ordered, loss rate 1e-3`.
    pub fn describe(&self, point: &PointOf<K>) -> String {
        let words: Vec<String> = self.varied.iter().filter_map(|key| point.word(key)).collect();
        if words.is_empty() { self.title.clone() } else { words.join(", ") }
    }

    /// The work of all points, in the unit that all experiments of the kind share.
    pub fn total_work(&self) -> f64 {
        (0..self.points.len()).map(|point| Runnable::work(self, point)).sum()
    }

    /// Puts the measured values beside the published ones; `outcomes` has one for each point, `None` if it was not run.
    pub fn compare(&self, outcomes: &[Option<K::Outcome>]) -> Vec<Row> {
        self.published.iter().map(|row| self.row(row, outcomes)).collect()
    }

    fn row(&self, row: &PublishedAt<K::Outcome>, outcomes: &[Option<K::Outcome>]) -> Row {
        let chosen: Option<Vec<&K::Outcome>> =
            self.select(&row.at).map(|point| outcomes.get(point)?.as_ref()).collect();
        let measured = chosen.and_then(|chosen| match row.across {
            Across::Pooled => {
                pooled(chosen.into_iter().cloned()).and_then(|outcome| row.metric.value(&outcome))
            }
            Across::Greatest => Across::greatest(chosen.into_iter().map(|outcome| row.metric.value(outcome))),
        });
        let place = row.across.describe(row.at.describe());
        let label = row.metric.label;
        let published = Published {
            metric: if place.is_empty() { label.to_owned() } else { format!("{label}, {place}") },
            source: row.source.clone(),
            quantity: row.metric.quantity,
            value: row.value,
            tolerance: row.tolerance,
            explanation: row.explanation.clone(),
        };
        Row { published, measured }
    }
}

impl<K: Kind> Runnable for Experiment<K> {
    type Outcome = K::Outcome;
    type Error = K::Error;

    fn points(&self) -> usize {
        self.points.len()
    }

    fn runs(&self, point: usize) -> u64 {
        self.points[point].runs
    }

    fn work(&self, point: usize) -> f64 {
        let point = &self.points[point];
        point.runs as f64 * K::work(&point.task)
    }

    fn seed(&self, point: usize, number: u64, base_seed: u64) -> u64 {
        self.points[point].seed(base_seed, &self.id, number)
    }

    fn run(
        &self,
        point: usize,
        run: Run,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<K::Outcome>, K::Error> {
        K::run(&self.points[point].task, run, progress)
    }
}

fn points<K: Kind>(
    source: Source<'_>,
    head: &Head,
    rest: &RestOf<K>,
    folder: &Path,
) -> Result<Vec<PointOf<K>>, ExperimentError> {
    let mut points = Vec::new();
    let mut keys = BTreeSet::new();
    for combination in combinations(source, &head.base, &head.sweep)? {
        let (parameters, task) = K::task(rest, &combination, source, folder)?;
        let point = Point { parameters, written: combination.parameters, task, runs: combination.runs };
        // Sweeps may intersect; an intersection is one point.
        if keys.insert(point.key()) {
            points.push(point);
        }
    }
    Ok(points)
}

/// Reads the parts of a file that refer to points and metrics.
#[derive(Debug)]
pub struct Reader<'a, K: Kind> {
    source: Source<'a>,
    metrics: &'static [Metric<K::Outcome>],
    points: &'a [PointOf<K>],
    default_source: &'a str,
}

impl<K: Kind> Reader<'_, K> {
    /// An error at this offset of the file.
    pub fn error(&self, place: usize, message: impl Into<String>) -> ExperimentError {
        self.source.error(Some(place), message)
    }

    /// The metric of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn metric(&self, name: &Spanned<String>) -> Result<&'static Metric<K::Outcome>, ExperimentError> {
        let metric = self.metrics.iter().find(|metric| metric.name == name.get_ref());
        metric
            .ok_or_else(|| self.error(name.span().start, format!("there is no metric `{}`", name.get_ref())))
    }

    /// The parameter of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn parameter(&self, name: &Spanned<String>) -> Result<&'static str, ExperimentError> {
        K::Parameters::keys().find(|key| *key == name.get_ref()).ok_or_else(|| {
            self.error(name.span().start, format!("there is no parameter `{}`", name.get_ref()))
        })
    }

    /// A selection that matches at least one point, so that a row cannot silently compare nothing.
    ///
    /// # Errors
    /// The first value that is impossible, with its line; or that no point is selected.
    pub fn selection(&self, settings: &Settings, place: usize) -> Result<Selection, ExperimentError> {
        let selection = self.values(settings)?;
        if !self.points.iter().any(|point| selection.matches(&point.parameters)) {
            return Err(self.error(place, "no point of the sweep is `at` these parameters"));
        }
        Ok(selection)
    }

    /// Values of parameters, which need not be those of a point.
    ///
    /// # Errors
    /// The first value that is impossible, with its line.
    pub fn values(&self, settings: &Settings) -> Result<Selection, ExperimentError> {
        Selection::read::<K::Parameters>(self.source, settings)
    }

    fn published(&self, row: Spanned<PublishedTable>) -> Result<PublishedAt<K::Outcome>, ExperimentError> {
        let place = row.span().start;
        let row = row.into_inner();
        let metric = self.metric(&row.metric)?;
        let tolerance = match *row.tolerance.get_ref() {
            Tolerance::Absolute(limit) => Tolerance::Absolute(limit * metric.scale),
            tolerance => tolerance,
        };
        if !tolerance.is_sensible() || !row.value.is_finite() {
            let message = "a tolerance is 0 or more, a factor 1 or more, and a value a finite number";
            return Err(self.error(row.tolerance.span().start, message));
        }
        Ok(PublishedAt {
            metric,
            at: self.selection(&row.at, place)?,
            across: row.across,
            value: row.value * metric.scale,
            tolerance,
            source: row.source.unwrap_or_else(|| self.default_source.to_owned()),
            explanation: row.explanation,
        })
    }
}
