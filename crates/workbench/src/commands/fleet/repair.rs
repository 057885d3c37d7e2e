//! The crew that repairs disabled links, and its order.

use clap::{Args, ValueEnum};
use linkmend::failure::{Result, UsageError};
use linkmend_diagnose::Diagnose;
use linkmend_fleet::repair::{Crew, RepairDelays, RepairError, RepairOrder, TakeDown};

/// Arguments about repairs.
#[derive(Debug, Args)]
pub struct RepairArgs {
    /// Times that repairs take, each with its share of repairs
    #[arg(long, value_name = "TIME:SHARE,...", default_value = "2d:0.8,4d:0.2")]
    repair: String,
    /// Most repairs in progress at a time [default: no limit, every repair begins at once]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    crew: Option<u32>,
    /// Which of the disabled links is repaired next: the first that was disabled, the one that lost most, or the one whose
    /// return buys most (what can be disabled in its place, then paths)
    #[arg(long, value_enum, default_value_t = OrderName::FirstCome, requires = "crew")]
    repair_order: OrderName,
    /// When a protected link that may be disabled is taken down: at once, or when somebody is free to repair it
    #[arg(long, value_enum, default_value_t = TakeDownName::AtOnce, requires = "crew")]
    take_down: TakeDownName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OrderName {
    FirstCome,
    WorstFirst,
    MostWorth,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TakeDownName {
    AtOnce,
    ForRepair,
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
        let order = match self.repair_order {
            OrderName::FirstCome => RepairOrder::FirstCome,
            OrderName::WorstFirst => RepairOrder::WorstFirst,
            OrderName::MostWorth => RepairOrder::MostWorth,
        };
        let take_down = match self.take_down {
            TakeDownName::AtOnce => TakeDown::AtOnce,
            TakeDownName::ForRepair => TakeDown::ForRepair,
        };
        self.crew.map(|size| Crew { size, order, take_down })
    }
}
