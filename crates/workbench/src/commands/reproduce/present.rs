//! What the program needs to show the results of a kind of experiments.

use super::Options;
use super::finished::{Finished, Presentation};
use linkmend::failure::{Error, Result};
use linkmend_experiment::{Experiment, Failure, Kind, Row, Stored};

/// A kind of experiments whose results can be shown.
pub trait Present: Kind<Outcome: Stored> {
    /// Makes plots and tables from the outcomes of all points.
    fn present(
        experiment: &Experiment<Self>,
        outcomes: Vec<Self::Outcome>,
        options: &Options,
    ) -> Result<Presentation>;

    /// Puts published and expected values beside the measured ones. `outcomes` has one for each point.
    fn compare(experiment: &Experiment<Self>, outcomes: &[Option<Self::Outcome>]) -> Vec<Row> {
        experiment.compare(outcomes)
    }

    /// Describes a failed run of a point, with the way to repeat it.
    fn failed(experiment: &Experiment<Self>, point: usize, failure: Failure<Self::Error>) -> Error;
}

/// Makes comparisons, plots and tables from the outcomes of all points.
pub fn finish<K: Present>(
    experiment: &Experiment<K>,
    outcomes: Vec<K::Outcome>,
    options: &Options,
) -> Result<Finished> {
    let of_points: Vec<Option<K::Outcome>> = outcomes.iter().cloned().map(Some).collect();
    let rows = K::compare(experiment, &of_points);
    Ok(Finished {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        about: experiment.about.clone(),
        text: experiment.text.clone(),
        comparisons: rows.into_iter().map(Row::comparison).collect(),
        point_count: experiment.results() as usize,
        presented: K::present(experiment, outcomes, options)?,
    })
}
