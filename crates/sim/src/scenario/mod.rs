//! Situations beyond one link in one direction: what the paper's section 5 asks and leaves open.
//!
//! - [`shared_port`]: several protected links of two switches, and few recirculation ports to buffer for them.
//! - [`path`]: several corrupting links in a row.
//! - [`both_directions`]: data and corruption in both directions.
//! - [`classes`]: ordered and non-blocking traffic on one link.
//! - [`fallback`]: a loss rate that changes, and the automatic fallback that follows it.
//! - [`bursts`]: a lost tail whose dummies are lost with it.
//!
//! Each is a configuration, a `run` and a report that serialises; the same configuration gives the same report. A
//! configuration says of a link what [`StressConfig`] says; its `frames` are those of each traffic source.
//!
//! [`StressConfig`]: crate::stress::StressConfig

pub mod both_directions;
pub mod bursts;
pub mod classes;
mod delivery;
mod drive;
pub mod fallback;
mod link;
pub mod path;
pub mod shared_port;

pub use crate::stress::StressError as ScenarioError;
pub use delivery::Delivery;
pub use drive::Ending;
pub use link::LinkReport;

/// Called now and then with the frames that the first source has sent; returns `false` to end the run early.
pub type Progress<'a> = dyn FnMut(u64) -> bool + 'a;

/// `Ok` if `holds`, otherwise the parameter, its value and what is required of it.
fn check(
    holds: bool,
    parameter: &'static str,
    value: impl ToString,
    requirement: &str,
) -> Result<(), ScenarioError> {
    if holds {
        return Ok(());
    }
    Err(ScenarioError { parameter, value: value.to_string(), requirement: requirement.to_owned() })
}

/// A share of the link that traffic may take.
fn check_load(parameter: &'static str, load: f64) -> Result<(), ScenarioError> {
    check(load > 0.0 && load <= 1.0, parameter, load, "must be above 0 and at most 1")
}
