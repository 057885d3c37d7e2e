//! Compares published with measured values.

use super::definition::Experiment;
use super::file::Theory;
use super::metric::Metric;
use super::outcome::Outcome;
use linkmend_experiment::{Across, Published, Row, Tolerance};

/// All rows of an experiment; `outcomes` has one for each point, `None` if it was not run.
pub fn compare(experiment: &Experiment, outcomes: &[Option<Outcome>]) -> Vec<Row> {
    let published = experiment.published.iter().map(|row| {
        let chosen: Option<Vec<&Outcome>> =
            experiment.select(&row.at).map(|point| outcomes.get(point)?.as_ref()).collect();
        let measured = chosen.and_then(|chosen| match row.across {
            Across::Pooled => Outcome::pooled(chosen).and_then(|outcome| row.metric.of(&outcome)),
            Across::Greatest => Across::greatest(chosen.into_iter().map(|outcome| row.metric.of(outcome))),
        });
        let place = row.across.describe(row.at.describe());
        let published = Published {
            metric: if place.is_empty() {
                row.metric.label.to_owned()
            } else {
                format!("{}, {place}", row.metric.label)
            },
            source: row.source.clone(),
            quantity: row.metric.quantity,
            value: row.value,
            tolerance: row.tolerance,
            explanation: row.explanation.clone(),
        };
        Row { published, measured }
    });
    let expected = experiment.expected.iter().flat_map(|expected| {
        experiment.select(&expected.at).filter_map(|point| {
            let row = match expected.theory {
                Theory::Equation1 => equation_1(outcomes.get(point)?.as_ref()?)?,
            };
            let mut published = row.published;
            let place = experiment.describe(&experiment.points[point]);
            published.metric = format!("{}, {place}", published.metric);
            published.explanation.clone_from(&expected.explanation);
            Some(Row { published, ..row })
        })
    });
    published.chain(expected).collect()
}

/// Compares the effective loss rate that follows from the actual one and the copies with the measured interval, which
/// must contain it.
fn equation_1(outcome: &Outcome) -> Option<Row> {
    let metric = Metric::named("effective_loss_rate")?;
    let expected = Metric::named("effective_loss_rate_expected")?.of(outcome)?;
    let published = Published {
        metric: metric.label.to_owned(),
        source: "Equation 1".to_owned(),
        quantity: metric.quantity,
        value: expected.value,
        tolerance: Tolerance::Interval,
        explanation: None,
    };
    Some(Row { published, measured: metric.of(outcome) })
}
