//! Compares published and expected with measured values.

use super::definition::Experiment;
use super::file::Theory;
use super::metric::metric_named;
use super::outcome::Outcome;
use linkmend_experiment::{Published, Row, Tolerance, Verdict};

/// All rows of an experiment; `outcomes` has one for each point, `None` if it was not run.
pub fn compare(experiment: &Experiment, outcomes: &[Option<Outcome>]) -> Vec<Row> {
    let expected = experiment.extra.expected.iter().flat_map(|expected| {
        experiment.select(&expected.at).filter_map(|point| {
            let row = match expected.theory {
                Theory::Equation1 => equation_1(outcomes.get(point)?.as_ref()?)?,
            };
            let mut published = row.published;
            let place = experiment.describe(&experiment.points[point]);
            published.metric = format!("{}, {place}", published.metric);
            published.explanation.clone_from(&expected.explanation);
            published.recorded = expected.recorded;
            Some(Row { published, ..row })
        })
    });
    experiment.compare(outcomes).into_iter().chain(expected).collect()
}

/// Compares the effective loss rate that follows from the actual one and the copies with the measured interval, which
/// must contain it.
fn equation_1(outcome: &Outcome) -> Option<Row> {
    let metric = metric_named("effective_loss_rate")?;
    let expected = metric_named("effective_loss_rate_expected")?.value(outcome)?;
    let published = Published {
        metric: metric.label.to_owned(),
        source: "Equation 1".to_owned(),
        quantity: metric.quantity,
        value: expected.value,
        tolerance: Tolerance::Interval,
        tolerance_reason: None,
        explanation: None,
        predicted: None,
        recorded: Verdict::default(),
    };
    Some(Row { published, measured: metric.value(outcome) })
}
