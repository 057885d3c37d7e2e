//! Situations beyond one link in one direction: what section 5 of the paper asks and leaves open.
//!
//! - [`shared_port`]: several protected links of two switches, and few recirculation ports to buffer for them.
//! - [`path`]: several corrupting links in a row.
//! - [`both_directions`]: data and corruption in both directions.
//! - [`classes`]: ordered and non-blocking traffic on one link.
//! - [`fallback`]: a loss rate that changes, and the automatic fallback that follows it.
//! - [`bursts`]: a lost tail whose dummies are lost with it.
//! - [`two_links`]: two links between the same ends, of which one fails again and again; beyond the paper.
//!
//! Each has a configuration, a `run`, and a report that can be serialised; the same configuration gives the same
//! report. `frames` are those of each traffic source, which are as long as the link's description says.

pub mod both_directions;
pub mod bursts;
pub mod classes;
mod delivery;
mod drive;
pub mod fallback;
mod link;
pub mod path;
pub mod shared_port;
pub mod two_links;

use crate::link::LinkConfig;
pub use crate::link::config::ParameterError;
use crate::link::config::check;
use crate::measure::{LinkMeasures, Measured};
use crate::network::{Network, Observer, Plan, PortError};
pub use delivery::Delivery;
pub use drive::Completion;
pub use link::LinkReport;
use std::fmt::Display;

/// An hour. The clock holds 213 days, of which a run that stalls may take a hundred times as long as its traffic.
const TRAFFIC_SECONDS_MAX: f64 = 3_600.0;

/// A function that is called now and then with the frames that the first source has sent. It returns `false` to end the
/// run early.
pub type Progress<'a> = dyn FnMut(u64) -> bool + 'a;

/// A network whose links are measured, with another observer.
type Watched<O> = Network<Measured<O>>;

/// The network of a plan, watched by `watch`. Buffer levels are recorded in steps of a frame of `link`.
fn network<O: Observer>(seed: u64, link: &LinkConfig, plan: Plan, watch: O) -> Result<Watched<O>, PortError> {
    let links = LinkMeasures::new(vec![u64::from(link.frame_bytes); plan.port_count()]);
    plan.build(seed, Measured { links, watch })
}

/// Checks a link, and the frames that are sent over it.
fn check_link(link: &LinkConfig, frames: u64) -> Result<(), ParameterError> {
    link.validate()?;
    link.validate_frames(frames)
}

/// A share of the link that traffic of so many frames may take.
fn check_load(
    parameter: &'static str,
    load: f64,
    link: &LinkConfig,
    frames: u64,
) -> Result<(), ParameterError> {
    check(load > 0.0 && load <= 1.0, parameter, load, "must be above 0 and at most 1")?;
    check_lasts(parameter, load, frames, link::frame_time(link).0 as f64 / load)
}

/// Whether `frames`, one each `interval_ps`, fit the simulator's clock.
fn check_lasts(
    parameter: &'static str,
    value: impl Display,
    frames: u64,
    interval_ps: f64,
) -> Result<(), ParameterError> {
    let seconds = frames as f64 * interval_ps / 1e12;
    let requirement =
        format!("{frames} frames would take {seconds:.0} s, and {TRAFFIC_SECONDS_MAX} s can be simulated");
    check(seconds <= TRAFFIC_SECONDS_MAX, parameter, value, &requirement)
}
