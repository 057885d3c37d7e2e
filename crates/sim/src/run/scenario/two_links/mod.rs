//! Two links between the same two ends, of which one fails again and again.
//!
//! Two switches with a host each are joined by two links that one protected session uses
//! ([`Plan::second_link`](crate::network::Plan::second_link)). They are told when a port loses its carrier, or find out by the
//! silence. Beside them, on request, SQR as published ([`HandOff::Sqr`](crate::network::HandOff)) meets the same failures with the
//! same frames.
//!
//! - `config`: what may be chosen, and the failures that follow;
//! - `network`: hosts, switches and links, and who watches what is delivered;
//! - `link_ends` and `sqr`: the run with either;
//! - `tally` and `report`: what is measured.

mod config;
mod link_ends;
mod network;
mod report;
mod sqr;
mod tally;

pub use crate::network::{Cut, Noticed};
pub use config::TwoLinksConfig;
pub use report::{CutRow, Delivered, TwoLinksReport, TwoLinksRow};

use super::{ParameterError, Progress};

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
            rows.push(link_ends::run(&setting, progress)?);
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
    config.settings().map(|setting| setting.frames(config.load)).sum::<u64>().saturating_mul(runs)
}
