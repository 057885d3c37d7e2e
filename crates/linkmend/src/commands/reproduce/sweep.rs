//! An experiment with links that is done.

use linkmend_sim::experiment::{Experiment, Outcome};

/// An experiment and the outcome of each of its points.
pub struct Sweep<'a> {
    /// What was run.
    pub experiment: &'a Experiment,
    /// One for each point.
    pub outcomes: Vec<Outcome>,
}
