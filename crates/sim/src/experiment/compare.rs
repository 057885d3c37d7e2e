//! Published and measured values beside each other.

use super::definition::Experiment;
use super::file::{Law, Of, Tolerance};
use super::metric::{Measurement, Metric};
use super::outcome::Outcome;
use super::value::Quantity;

/// A published or expected value and what was measured for it. Numbers are in the unit of the quantity.
#[derive(Debug, Clone)]
pub struct Row {
    /// What, and where in the sweep.
    pub metric: String,
    /// The figure, table or equation.
    pub source: String,
    /// What is measured.
    pub quantity: Quantity,
    /// The published or expected value.
    pub published: f64,
    /// How far the measured one may be from it.
    pub tolerance: Tolerance,
    /// What was measured; `None` if a point is missing or nothing was there to be measured.
    pub measured: Option<Measurement>,
    /// Why they are known to differ.
    pub explanation: Option<String>,
}

/// All rows of an experiment; `outcomes` has one for each point, `None` where it was not run.
pub fn compare(experiment: &Experiment, outcomes: &[Option<Outcome>]) -> Vec<Row> {
    let published = experiment.published.iter().map(|row| {
        let chosen: Option<Vec<&Outcome>> =
            experiment.select(&row.at).map(|point| outcomes.get(point)?.as_ref()).collect();
        let measured = chosen.and_then(|chosen| match row.of {
            Of::Pooled => Outcome::pooled(chosen).and_then(|outcome| row.metric.of(&outcome)),
            Of::Greatest => greatest(row.metric, &chosen),
        });
        let place = match (row.of, row.at.describe()) {
            (Of::Pooled, place) => place,
            (Of::Greatest, place) if place.is_empty() => "most of all points".to_owned(),
            (Of::Greatest, place) => format!("most of {place}"),
        };
        Row {
            metric: if place.is_empty() {
                row.metric.label.to_owned()
            } else {
                format!("{}, {place}", row.metric.label)
            },
            source: row.source.clone(),
            quantity: row.metric.quantity,
            published: row.value,
            tolerance: row.tolerance,
            measured,
            explanation: row.explanation.clone(),
        }
    });
    let laws = experiment.laws.iter().flat_map(|law| {
        experiment.select(&law.at).filter_map(|point| {
            let row = match law.law {
                Law::Equation1 => equation_1(outcomes.get(point)?.as_ref()?)?,
            };
            let metric = format!("{}, {}", row.metric, experiment.describe(&experiment.points[point]));
            Some(Row { metric, explanation: law.explanation.clone(), ..row })
        })
    });
    published.chain(laws).collect()
}

/// `None` if it was not measured at one of them.
fn greatest(metric: &Metric, outcomes: &[&Outcome]) -> Option<Measurement> {
    let measured: Option<Vec<Measurement>> = outcomes.iter().map(|outcome| metric.of(outcome)).collect();
    measured?.into_iter().max_by(|a, b| a.value.total_cmp(&b.value))
}

/// The effective loss rate that follows from the actual one and the copies; the measured interval has to hold it.
fn equation_1(outcome: &Outcome) -> Option<Row> {
    let metric = Metric::named("effective_loss_rate")?;
    let expected = Metric::named("effective_loss_rate_expected")?.of(outcome)?;
    Some(Row {
        metric: metric.label.to_owned(),
        source: "Equation 1".to_owned(),
        quantity: metric.quantity,
        published: expected.value,
        tolerance: Tolerance::Interval,
        measured: metric.of(outcome),
        explanation: None,
    })
}
