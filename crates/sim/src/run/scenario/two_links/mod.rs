//! Two links between the same two ends, of which one fails again and again.
//!
//! The ends are the protocol's: a [`LinkEnd`](linkmend_protocol::LinkEnd) over both links, and
//! [`Paths`](linkmend_protocol::paths::Paths), which says which of them is in use. They are told when a port loses its carrier, or find
//! out by the silence. Beside them, on request, SQR as published ([`HandOff::Sqr`](crate::network::HandOff)) meets the same failures with the
//! same frames.
//!
//! - `config`: what may be chosen, and the failures that follow;
//! - `wire`, `end` and `world`: links, ends, and the loop that runs them;
//! - `sqr`: the same with SQR;
//! - `tally` and `report`: what is measured.

mod config;
mod end;
mod report;
mod sqr;
mod tally;
mod wire;
mod world;

pub use config::{Cut, Noticed, TwoLinksConfig};
pub use report::{CutRow, Delivered, TwoLinksReport, TwoLinksRow};

use super::{ParameterError, Progress};
use world::World;

/// Checks, simulates, and reports: each link with each detection time.
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(config: &TwoLinksConfig, progress: &mut Progress<'_>) -> Result<TwoLinksReport, ParameterError> {
    config.validate()?;
    let mut rows: Vec<TwoLinksRow> = Vec::new();
    let goes_on = |rows: &[TwoLinksRow]| rows.last().is_none_or(|row| !row.interrupted);
    for setting in config.settings() {
        if goes_on(&rows) {
            rows.push(World::new(&setting)?.run(progress)?);
        }
        if config.beside_sqr && goes_on(&rows) {
            rows.push(sqr::run(&setting, progress)?);
        }
    }
    Ok(TwoLinksReport { seed: config.seed, rows })
}

/// How many frames all runs send together.
pub fn frames(config: &TwoLinksConfig) -> u64 {
    let runs = if config.beside_sqr { 2 } else { 1 };
    config.settings().map(|setting| setting.frames()).sum::<u64>().saturating_mul(runs)
}
