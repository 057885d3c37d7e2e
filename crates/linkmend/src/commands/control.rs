//! Changing a running link: protect, unprotect, corrupt.

use crate::cli::{Bursts, CorruptArgs, ProtectArgs, UnprotectArgs};
use crate::output::print;
use linkmend_dataplane::{CorruptionModel, LinkReport};

/// `linkmend protect`.
pub fn protect(arguments: &ProtectArgs) -> anyhow::Result<()> {
    let mut client = arguments.daemons.serving(&arguments.name)?;
    let report = client.protect(&arguments.name, &arguments.protect)?;
    tell(&report)
}

/// `linkmend unprotect`.
pub fn unprotect(arguments: &UnprotectArgs) -> anyhow::Result<()> {
    let mut client = arguments.daemons.serving(&arguments.name)?;
    let report = client.unprotect(&arguments.name)?;
    tell(&report)
}

/// `linkmend corrupt`.
pub fn corrupt(arguments: &CorruptArgs) -> anyhow::Result<()> {
    let model = match (arguments.gilbert_elliott, arguments.rate) {
        (Some(Bursts { rate, mean_burst }), _) => {
            Some(CorruptionModel::GilbertElliott { rate: rate.0, mean_burst })
        }
        (None, Some(rate)) => rate.0.map(|rate| CorruptionModel::Iid { rate: rate.0 }),
        (None, None) => None,
    };
    let mut client = arguments.daemons.serving(&arguments.name)?;
    let report = client.corrupt(&arguments.name, model)?;
    print(&match report.corruption {
        Some(CorruptionModel::Iid { rate }) => {
            format!("{}: drops arriving frames at a rate of {rate:e}", report.name)
        }
        Some(CorruptionModel::GilbertElliott { rate, mean_burst }) => {
            format!("{}: drops arriving frames at a rate of {rate:e}, in bursts of {mean_burst}", report.name)
        }
        None => format!("{}: drops no frames on purpose", report.name),
    })?;
    Ok(())
}

fn tell(report: &LinkReport) -> anyhow::Result<()> {
    let LinkReport { name, transmit_state, mode, copies, .. } = report;
    print(&match report.protection_requested {
        true => {
            let noun = if *copies == 1 { "copy" } else { "copies" };
            format!("{name}: {mode}, {copies} {noun} of a lost frame; sending direction is {transmit_state}")
        }
        false => format!("{name}: not protected; sending direction is {transmit_state}"),
    })?;
    Ok(())
}
