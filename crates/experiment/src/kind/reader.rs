//! Reads the parts of an experiment file that refer to its points and metrics.

use super::{Kind, PointOf};
use crate::error::{ExperimentError, Source};
use crate::metric::Metric;
use crate::published::{Across, PublishedAt};
use crate::sweep::{Parameters, Selection, Settings};
use linkmend_report::Tolerance;
use serde::Deserialize;
use toml::Spanned;

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

/// Reads the parts of a file that refer to points and metrics.
#[derive(Debug)]
pub struct Reader<'a, K: Kind> {
    pub(crate) source: Source<'a>,
    pub(crate) metrics: &'static [Metric<K::Outcome>],
    pub(crate) points: &'a [PointOf<K>],
    pub(crate) default_source: &'a str,
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

    pub(crate) fn published(
        &self,
        row: Spanned<PublishedTable>,
    ) -> Result<PublishedAt<K::Outcome>, ExperimentError> {
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
