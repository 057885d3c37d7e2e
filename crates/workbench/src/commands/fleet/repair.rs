//! The crew that repairs disabled links, and its order.

use super::word;
use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend_diagnose::Diagnose;
use linkmend_fleet::repair::{Crew, RepairDelays, RepairError, RepairOrder, TakeDown};

/// Arguments about repairs.
#[derive(Debug, Args)]
pub struct RepairArgs {
    /// Repair times, each with its share of repairs
    #[arg(long, value_name = "TIME:SHARE,...", default_value = "2d:0.8,4d:0.2")]
    repair: String,
    /// Maximum number of concurrent repairs [default: no limit, every repair begins immediately]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    crew: Option<u32>,
    /// Which disabled link is repaired next: the one that was disabled first, the one with the highest loss rate, or
    /// the one whose return is worth the most (other links that can then be disabled, then paths)
    #[arg(long, default_value = RepairOrder::FirstCome.name(), value_parser = word::<RepairOrder>(), requires = "crew")]
    repair_order: RepairOrder,
    /// When a protected link that may be disabled is taken down: immediately, or when a crew is free to repair it
    #[arg(long, default_value = TakeDown::AtOnce.name(), value_parser = word::<TakeDown>(), requires = "crew")]
    take_down: TakeDown,
}

/// Reads the argument `--repair`. It is no parser of clap, which would not show the hint.
pub fn delays(written: &str) -> Result<RepairDelays> {
    let delays = written.parse();
    Ok(delays.map_err(|error: RepairError| UsageError::hinted(format!("--{error}"), error.hint()))?)
}

impl RepairArgs {
    /// How long repairs take.
    pub fn delays(&self) -> Result<RepairDelays> {
        delays(&self.repair)
    }

    /// The crew, if its size is limited.
    pub fn crew(&self) -> Option<Crew> {
        self.crew.map(|size| Crew { size, order: self.repair_order, take_down: self.take_down })
    }
}
