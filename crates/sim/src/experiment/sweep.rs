//! The outcomes of an experiment with links.

use super::definition::Experiment;
use super::outcome::Outcome;

/// An experiment and the outcome of each of its points.
pub struct Sweep<'a> {
    pub experiment: &'a Experiment,
    /// The outcome of each point.
    pub outcomes: Vec<Outcome>,
}
