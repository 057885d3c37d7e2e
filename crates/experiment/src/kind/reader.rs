//! Reads the parts of an experiment file that refer to its points and metrics.

use super::{Kind, PointOf};
use crate::error::{ExperimentError, Source};
use crate::metric::Metric;
use crate::point::counterpart;
use crate::published::{Across, PublishedAt, RowKind, Shape};
use crate::sweep::{Parameters, Replacement, Selection, Settings};
use linkmend_report::{Tolerance, Verdict};
use serde::Deserialize;
use toml::Spanned;

/// A prediction that spans more than this says too little.
const PREDICTION_FACTOR_MAX: f64 = 4.0;

/// A published value, as files write it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedTable {
    metric: Spanned<String>,
    /// What was published, where that changes how it is compared.
    #[serde(default)]
    kind: RowKind,
    #[serde(default)]
    at: Settings,
    /// The parameter with which a shape rises.
    rises_along: Option<Spanned<String>>,
    /// The parameter with which a shape falls.
    falls_along: Option<Spanned<String>>,
    /// What was published is a ratio: the values are divided by those of the points that differ in these parameters.
    #[serde(default)]
    over: Settings,
    /// The value; a shape has none.
    value: Option<f64>,
    #[serde(default, rename = "of")]
    across: Across,
    /// How far the measured value may be off; a shape says nothing about that.
    tolerance: Option<Spanned<Tolerance>>,
    /// Why the tolerance is what it is; by default what the file says for all its tolerances.
    tolerance_reason: Option<String>,
    source: Option<String>,
    /// What is known about the difference between the published and the measured value.
    explanation: Option<String>,
    /// Where the cause in the explanation predicts the measured value.
    predicted: Option<Spanned<(f64, f64)>>,
    /// The verdict that is on record.
    #[serde(default)]
    verdict: Verdict,
}

/// Reads the parts of a file that refer to points and metrics.
#[derive(Debug)]
pub struct Reader<'a, K: Kind> {
    pub(crate) source: Source<'a>,
    pub(crate) metrics: &'static [Metric<K::Outcome>],
    pub(crate) points: &'a [PointOf<K>],
    pub(crate) varied: &'a [&'static str],
    pub(crate) default_source: &'a str,
    pub(crate) default_tolerance_reason: Option<&'a str>,
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
            return Err(self.error(place, "no point of the sweep matches these parameters of `at`"));
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

    /// The parameters of the points with which others are compared: one value each. `None` if there are no such points.
    ///
    /// # Errors
    /// The first value that is impossible, or one too many, with its line.
    pub fn replacement(
        &self,
        key: &str,
        settings: &Settings,
    ) -> Result<Option<Replacement>, ExperimentError> {
        let Some(first) = settings.keys().map(|key| key.span().start).min() else { return Ok(None) };
        let one_each = || self.error(first, format!("`{key}` takes one value of each parameter"));
        Replacement::new(self.values(settings)?).map(Some).ok_or_else(one_each)
    }

    /// Every point must have another one by whose value its own can be divided.
    fn check_over(&self, at: &Selection, over: &Replacement, place: usize) -> Result<(), ExperimentError> {
        for (index, point) in self.points.iter().enumerate() {
            if !at.matches(&point.parameters) {
                continue;
            }
            match counterpart(self.points, self.varied, point, over) {
                None => {
                    return Err(self.error(place, "no point of the sweep matches these parameters of `over`"));
                }
                Some(same) if same == index => {
                    return Err(self.error(
                        place,
                        "`at` and `over` select the same point, which would be compared with itself",
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// A prediction names its cause, and leaves values to which it does not apply.
    fn prediction(
        &self,
        row: &PublishedTable,
        predicted: &Spanned<(f64, f64)>,
    ) -> Result<(f64, f64), ExperimentError> {
        let fail = |message: String| Err(self.error(predicted.span().start, message));
        if row.explanation.as_deref().is_none_or(|cause| cause.trim().is_empty()) {
            return fail("`predicted` requires an `explanation` that names the cause".to_owned());
        }
        let (low, high) = *predicted.get_ref();
        let near = low > 0.0 && high <= low * PREDICTION_FACTOR_MAX;
        let published = row.value.unwrap_or(1.0);
        let below = low == 0.0 && high < published;
        if !(low <= high && high.is_finite() && (near || below)) {
            return fail(format!(
                "predicted = [{low}, {high}]: must be two positive numbers, the second at most {PREDICTION_FACTOR_MAX} times \
                 the first, or 0 and a number below the published {published}, so that a prediction can fail"
            ));
        }
        Ok((low, high))
    }

    /// The value of a row that is no shape, as it is written, and its tolerance in the unit of the metric.
    fn value(
        &self,
        row: &PublishedTable,
        scale: f64,
        place: usize,
    ) -> Result<(f64, Tolerance), ExperimentError> {
        let (Some(value), Some(written)) = (row.value, &row.tolerance) else {
            return Err(
                self.error(place, "a published value needs `value` and `tolerance`, unless it is a shape")
            );
        };
        let fail = |message: &str| Err(self.error(written.span().start, message));
        let tolerance = match (row.kind, *written.get_ref()) {
            (RowKind::Equality, Tolerance::Relative(fraction)) => Tolerance::Equality(fraction),
            (RowKind::Equality, _) => {
                return fail("the tolerance of an equality must be `{ relative = SHARE }`");
            }
            (_, Tolerance::Equality(_)) => {
                return fail("write `kind = \"equality\"` with a relative tolerance");
            }
            (_, Tolerance::Absolute(limit)) => Tolerance::Absolute(limit * scale),
            (_, tolerance) => tolerance,
        };
        if !tolerance.can_fail() || !value.is_finite() {
            return fail(
                "a relative tolerance must be from 0 to below 1, an absolute one 0 or more, a factor 1 or more, and \
                 the value a finite number",
            );
        }
        Ok((value, tolerance))
    }

    /// The shape of a row, if it is one: at least two points, each with its own value of the parameter.
    fn shape(
        &self,
        row: &PublishedTable,
        at: &Selection,
        place: usize,
    ) -> Result<Option<Shape>, ExperimentError> {
        let fail = |message: &str| Err(self.error(place, message));
        let (along, rises) = match (row.kind, &row.rises_along, &row.falls_along) {
            (RowKind::Shape, Some(along), None) => (along, true),
            (RowKind::Shape, None, Some(along)) => (along, false),
            (RowKind::Shape, ..) => return fail("a shape needs either `rises-along` or `falls-along`"),
            (_, None, None) => return Ok(None),
            _ => return fail("`rises-along` and `falls-along` belong to `kind = \"shape\"`"),
        };
        if row.value.is_some()
            || row.tolerance.is_some()
            || !row.over.is_empty()
            || row.across != Across::Pooled
        {
            return fail(
                "a shape has no `value`, `tolerance`, `over` or `of`: it consists of steps from point to point",
            );
        }
        let along = self.parameter(along)?;
        let chosen = self.points.iter().filter(|point| at.matches(&point.parameters));
        let mut numbers: Vec<Option<f64>> =
            chosen.map(|point| point.value(along).and_then(|value| value.number)).collect();
        numbers.sort_by(|a, b| a.unwrap_or(f64::NAN).total_cmp(&b.unwrap_or(f64::NAN)));
        let apart = numbers.windows(2).all(|pair| pair[0] != pair[1]);
        if numbers.len() < 2 || numbers.contains(&None) || !apart {
            return fail("a shape needs two points or more, each with its own number for that parameter");
        }
        Ok(Some(Shape { along, rises }))
    }

    pub(crate) fn published(
        &self,
        row: Spanned<PublishedTable>,
    ) -> Result<PublishedAt<K::Outcome>, ExperimentError> {
        let place = row.span().start;
        let row = row.into_inner();
        let metric = self.metric(&row.metric)?;
        let at = self.selection(&row.at, place)?;
        let over = self.replacement("over", &row.over)?;
        if let Some(over) = &over {
            self.check_over(&at, over, place)?;
        }
        if over.is_some() && row.across == Across::EachRun {
            return Err(self.error(place, "`of = \"each-run\"` cannot be combined with `over`"));
        }
        let shape = self.shape(&row, &at, place)?;
        // A ratio has no unit.
        let scale = if over.is_some() || shape.is_some() { 1.0 } else { metric.scale };
        let (value, tolerance) = match shape {
            Some(shape) => (1.0, shape.bound()),
            None => self.value(&row, scale, place)?,
        };
        if row.verdict == Verdict::DiffersAsPredicted && row.predicted.is_none() {
            return Err(self.error(place, "the verdict `differs-as-predicted` requires `predicted`"));
        }
        let predicted =
            row.predicted.as_ref().map(|predicted| self.prediction(&row, predicted)).transpose()?;
        Ok(PublishedAt {
            metric,
            at,
            over,
            across: shape.map_or(row.across, Shape::deciding),
            shape,
            value: value * scale,
            tolerance,
            tolerance_reason: row.tolerance_reason.or(self.default_tolerance_reason.map(str::to_owned)),
            predicted: predicted.map(|(low, high)| (low * scale, high * scale)),
            recorded: row.verdict,
            source: row.source.unwrap_or_else(|| self.default_source.to_owned()),
            explanation: row.explanation,
        })
    }
}
