//! Situations beyond one link in one direction: what section 5 of the paper asks and leaves open.
//!
//! - [`shared_port`]: several protected links of two switches, and few recirculation ports to buffer for them.
//! - [`path`]: several corrupting links in a row.
//! - [`both_directions`]: data and corruption in both directions.
//! - [`classes`]: ordered and non-blocking traffic on one link.
//! - [`fallback`]: a loss rate that changes, and the automatic fallback that follows it.
//! - [`bursts`]: a lost tail whose dummies are lost with it.
//!
//! Each has a configuration, a `run`, and a report that can be serialised; the same configuration gives the same
//! report. A configuration describes links by [`StressConfig`]; its `frames` are those of each traffic source.
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

use crate::measure::{LinkMeasures, Measured};
use crate::network::{Network, Observer, Plan, PortError};
use crate::stress::StressConfig;
pub use crate::stress::StressError as ScenarioError;
pub use delivery::Delivery;
pub use drive::Completion;
pub use link::LinkReport;

/// An hour. The clock holds 213 days, of which a run that stalls may take a hundred times as long as its traffic.
const TRAFFIC_SECONDS_MAX: f64 = 3_600.0;

/// A function that is called now and then with the frames that the first source has sent. It returns `false` to end the
/// run early.
pub type Progress<'a> = dyn FnMut(u64) -> bool + 'a;

/// A network whose links are measured, with another observer.
type Watched<O> = Network<Measured<O>>;

/// A network of links like `link`, watched by `watch`.
fn network<O: Observer>(link: &StressConfig, plan: Plan, watch: O) -> Result<Watched<O>, PortError> {
    let links = LinkMeasures::new(vec![link.level_unit(); plan.port_count()]);
    plan.build(link.seed, Measured { links, watch })
}

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

/// A share of the link that traffic of so many frames may take.
fn check_load(
    parameter: &'static str,
    load: f64,
    link: &StressConfig,
    frames: u64,
) -> Result<(), ScenarioError> {
    check(load > 0.0 && load <= 1.0, parameter, load, "must be above 0 and at most 1")?;
    check_lasts(parameter, load, frames, link::frame_time(link).0 as f64 / load)
}

/// Whether `frames`, one each `interval_ps`, fit the simulator's clock.
fn check_lasts(
    parameter: &'static str,
    value: impl ToString,
    frames: u64,
    interval_ps: f64,
) -> Result<(), ScenarioError> {
    let seconds = frames as f64 * interval_ps / 1e12;
    let requirement =
        format!("{frames} frames would take {seconds:.0} s, and {TRAFFIC_SECONDS_MAX} s can be simulated");
    check(seconds <= TRAFFIC_SECONDS_MAX, parameter, value, &requirement)
}
