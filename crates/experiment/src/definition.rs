//! An experiment, read from its file and checked.
//!
//! All files say the same in the same way: what the experiment is called and reproduces, what is varied, and which
//! published values it is compared with. A [`Kind`] adds the parameters, what one run does, and what it measures.

use crate::error::{ExperimentError, Source};
use crate::kind::{ExperimentFile, ExtraOf, Head, Kind, PointOf, Reader, RestOf};
use crate::measurement::Measurement;
use crate::metric::Metric;
use crate::point::{Point, counterpart, varied};
use crate::pool::{Pooled, pooled};
use crate::published::{Across, Published, PublishedAt, Row, Shape};
use crate::quantity::Quantity;
use crate::runner::{Run, Runnable};
use crate::sweep::{Parameters, Replacement, Selection, combinations};
use linkmend_statistics::ratio_interval;
use std::collections::BTreeSet;
use std::path::Path;

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
    /// What is measured, in the order of tables.
    pub metrics: &'static [Metric<K::Outcome>],
    /// Comparisons with published values.
    pub published: Vec<PublishedAt<K::Outcome>>,
    /// What only this kind of experiments has.
    pub extra: ExtraOf<K>,
    /// The name of the file, as it was given.
    pub path: String,
    /// The text of the file.
    pub text: String,
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
        let varied = varied(&points);
        let reader = Reader {
            source,
            metrics,
            points: &points,
            varied: &varied,
            default_source: &head.source,
            default_tolerance_reason: head.tolerance_reason.as_deref(),
        };
        let extra = K::File::extra(rest, &reader)?;
        let published =
            head.published.into_iter().map(|row| reader.published(row)).collect::<Result<_, _>>()?;
        let Head { title, about, source, .. } = head;
        let (path, text) = (path.to_owned(), text.to_owned());
        Ok(Experiment { id, title, source, about, points, varied, metrics, published, extra, path, text })
    }

    /// The selected points.
    pub fn select<'a>(&'a self, at: &'a Selection) -> impl Iterator<Item = usize> + 'a {
        let chosen = |(index, point): (usize, &PointOf<K>)| at.matches(&point.parameters).then_some(index);
        self.points.iter().enumerate().filter_map(chosen)
    }

    /// The point that differs from another one in nothing but what is replaced.
    pub fn counterpart(&self, point: &PointOf<K>, replacement: &Replacement) -> Option<usize> {
        counterpart(&self.points, &self.varied, point, replacement)
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

    /// The time that one core takes for all points, roughly, in seconds.
    pub fn core_seconds(&self) -> f64 {
        self.total_work() / K::WORK_PER_SECOND
    }

    /// How many results there are: one for each point, or for each run if the kind shows them one by one.
    pub fn results(&self) -> u64 {
        let of_point = |point: &PointOf<K>| if K::SHOWS_RUNS { point.runs } else { 1 };
        self.points.iter().map(of_point).sum()
    }

    /// The same experiment, so reduced that it takes about a second.
    #[must_use]
    pub fn quick(mut self) -> Experiment<K> {
        self.points = self.points.iter().map(K::quick).collect();
        self
    }

    /// Puts the measured values beside the published ones; `outcomes` has one for each point, `None` if it was not run.
    pub fn compare(&self, outcomes: &[Option<K::Outcome>]) -> Vec<Row> {
        self.published.iter().map(|row| self.row(row, outcomes)).collect()
    }

    fn row(&self, row: &PublishedAt<K::Outcome>, outcomes: &[Option<K::Outcome>]) -> Row {
        let chosen: Vec<usize> = self.select(&row.at).collect();
        let measured = match (&row.shape, &row.over) {
            (Some(shape), _) => self.steps(row, shape, outcomes, chosen),
            (None, None) => of_points(row, outcomes, &chosen),
            (None, Some(over)) => self.ratio(row, over, outcomes, &chosen),
        };
        let place = match row.shape {
            Some(_) => row.at.describe(),
            None => row.across.describe(row.at.describe()),
        };
        let label = row.metric.label;
        let mut metric = if place.is_empty() { label.to_owned() } else { format!("{label}, {place}") };
        if let Some(Shape { along, rises }) = row.shape {
            let (verb, extreme) = if rises { ("rises", "least") } else { ("falls", "greatest") };
            let along = K::Parameters::label_of(along);
            metric.push_str(&format!(", {verb} with {along}: {extreme} ratio of a point to the one before"));
        }
        if let Some(over) = &row.over {
            metric.push_str(&format!(", over {}", over.describe()));
        }
        let published = Published {
            metric,
            source: row.source.clone(),
            quantity: if row.over.is_some() || row.shape.is_some() {
                Quantity::Plain
            } else {
                row.metric.quantity
            },
            value: row.value,
            tolerance: row.tolerance,
            tolerance_reason: row.tolerance_reason.clone(),
            explanation: row.explanation.clone(),
            predicted: row.predicted,
            recorded: row.recorded,
        };
        Row { published, measured }
    }

    /// The step that decides about a shape: of each point to the next, in the order of the parameter.
    fn steps(
        &self,
        row: &PublishedAt<K::Outcome>,
        shape: &Shape,
        outcomes: &[Option<K::Outcome>],
        mut chosen: Vec<usize>,
    ) -> Option<Measurement> {
        let place = |point: usize| self.points[point].value(shape.along).and_then(|value| value.number);
        chosen.sort_by(|a, b| place(*a).unwrap_or(f64::NAN).total_cmp(&place(*b).unwrap_or(f64::NAN)));
        let outcome = |point: usize| outcomes.get(point)?.as_ref();
        let step = |pair: &[usize]| ratio(row.metric, outcome(pair[1])?, outcome(pair[0])?);
        row.across.extreme(chosen.windows(2).map(step))
    }

    /// The metric of some points, over that of their counterparts.
    fn ratio(
        &self,
        row: &PublishedAt<K::Outcome>,
        over: &Replacement,
        outcomes: &[Option<K::Outcome>],
        chosen: &[usize],
    ) -> Option<Measurement> {
        let divisor = |point: &usize| self.counterpart(&self.points[*point], over);
        let divisors: Vec<usize> = chosen.iter().map(divisor).collect::<Option<_>>()?;
        match row.across {
            Across::Pooled | Across::EachRun => {
                // Several points may be compared with the same one.
                let divisors: Vec<usize> =
                    divisors.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
                ratio(row.metric, &pool_of(outcomes, chosen)?, &pool_of(outcomes, &divisors)?)
            }
            Across::Greatest | Across::Least => {
                row.across.extreme(chosen.iter().zip(&divisors).map(|(point, divisor)| {
                    let outcome = |point: usize| outcomes.get(point)?.as_ref();
                    ratio(row.metric, outcome(*point)?, outcome(*divisor)?)
                }))
            }
        }
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
        K::seed(base_seed, &self.id, &self.points[point], number)
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

/// The metric of some points, combined as the comparison says.
fn of_points<O: Pooled>(
    row: &PublishedAt<O>,
    outcomes: &[Option<O>],
    chosen: &[usize],
) -> Option<Measurement> {
    match row.across {
        Across::Pooled => row.metric.value(&pool_of(outcomes, chosen)?),
        Across::EachRun => of_each_run(row.metric, &pool_of(outcomes, chosen)?),
        Across::Greatest | Across::Least => {
            row.across.extreme(chosen.iter().map(|point| row.metric.value(outcomes.get(*point)?.as_ref()?)))
        }
    }
}

/// The median of the metric over the runs of an outcome that have it.
fn of_each_run<O: Pooled>(metric: &Metric<O>, outcome: &O) -> Option<Measurement> {
    let of_run = |number: usize| Some(metric.value(&outcome.only(&|run| run == number)?)?.value);
    Measurement::median((0..outcome.runs()).filter_map(of_run).collect())
}

/// The outcomes of some points, pooled; `None` if one of them is missing.
fn pool_of<O: Pooled>(outcomes: &[Option<O>], chosen: &[usize]) -> Option<O> {
    let chosen: Option<Vec<O>> = chosen.iter().map(|point| outcomes.get(*point)?.clone()).collect();
    pooled(chosen?)
}

/// The metric of one outcome over that of another, with the interval of the ratio if the outcomes keep their runs apart.
///
/// Runs of the same number are left out together. If they had the same seed, what they share cancels.
fn ratio<O: Pooled>(metric: &Metric<O>, outcome: &O, divisor: &O) -> Option<Measurement> {
    let value = |outcome: &O| Some(metric.value(outcome)?.value);
    let interval = ratio_interval(
        outcome.runs().min(divisor.runs()),
        |keeps| value(&outcome.only(keeps)?),
        |keeps| value(&divisor.only(keeps)?),
    );
    Measurement::exact(value(outcome)? / value(divisor)?).map(|ratio| Measurement { interval, ..ratio })
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
