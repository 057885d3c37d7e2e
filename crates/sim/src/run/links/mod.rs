//! Generators that send frames over one or several links: what section 5 of the paper asks and leaves open.
//!
//! A run has links in a row, side by side between two switches that share their recirculation ports, or two between the same
//! ends, of which one fails again and again ([`Layout`]). Traffic goes one way or both, in one class or both, at line rate or
//! at a pace. The loss rate may change while the run lasts ([`Course`]). Everything is simulated event by event.
//!
//! The same [`LinksConfig`] gives the same [`LinksReport`].

mod buckets;
mod build;
mod config;
mod course;
mod drive;
mod pair;
mod report;
mod streams;
mod validate;

use crate::link::config::ParameterError;
pub(crate) use build::Watched;
pub use config::{Course, Layout, LinksConfig, Pair, Phase};
pub use course::{LevelChange, Sample};
pub use report::{Completion, CutRow, LinkReport, LinksReport, PairReport, PortReport, StreamReport};
pub use streams::{Delivery, Recovery};

/// A function that is called now and then with the frames that the first source has sent. It returns `false` to end the
/// run early.
pub type Progress<'a> = dyn FnMut(u64) -> bool + 'a;

/// Checks, simulates, and reports.
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(config: &LinksConfig, progress: &mut Progress<'_>) -> Result<LinksReport, ParameterError> {
    config.validate()?;
    drive::run(config, progress)
}
