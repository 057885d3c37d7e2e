//! Changing a running link: protect, unprotect, corrupt.

use crate::commands::arguments::{Bursts, CorruptArgs, PreferArgs, ProtectArgs, UnprotectArgs};
use crate::failure::Result;
use crate::output::print;
use linkmend_control::report::Path;
use linkmend_control::{CorruptionModel, LinkReport};

/// `linkmend protect`.
pub(crate) fn protect(arguments: &ProtectArgs) -> Result<()> {
    let mut client = arguments.daemons.serving(&arguments.name)?;
    let report = client.protect(&arguments.name, &arguments.protect)?;
    print_protection(&report)
}

/// `linkmend unprotect`.
pub(crate) fn unprotect(arguments: &UnprotectArgs) -> Result<()> {
    let mut client = arguments.daemons.serving(&arguments.name)?;
    let report = client.unprotect(&arguments.name)?;
    print_protection(&report)
}

/// `linkmend prefer`.
pub(crate) fn prefer(arguments: &PreferArgs) -> Result<()> {
    let mut client = arguments.daemons.serving(&arguments.name)?;
    let report = client.prefer(&arguments.name, arguments.path)?;
    if let Some(failover) = &report.failover {
        let (preferred, active) = (failover.preferred, failover.active);
        let used = match preferred == active {
            true => "and is in use".to_owned(),
            false => format!("but is down, so the {active} stays in use until it is up"),
        };
        print(&format!("{}: the {preferred} is preferred, {used}", report.name))?;
    }
    Ok(())
}

/// `linkmend corrupt`.
pub(crate) fn corrupt(arguments: &CorruptArgs) -> Result<()> {
    let model = match (arguments.gilbert_elliott, arguments.rate) {
        (Some(Bursts { rate, mean_burst }), _) => {
            Some(CorruptionModel::GilbertElliott { rate: rate.0, mean_burst })
        }
        (None, Some(rate)) => rate.0.map(|rate| CorruptionModel::Iid { rate: rate.0 }),
        (None, None) => None,
    };
    let mut client = arguments.daemons.serving(&arguments.name)?;
    let report = match arguments.on {
        Some(path) => client.corrupt_on(&arguments.name, path, model)?,
        None => client.corrupt(&arguments.name, model)?,
    };
    print(&describe_corruption(&report))?;
    Ok(())
}

/// Describes the corruption that a link end injects, as a sentence for each of its links.
pub fn describe_corruption(report: &LinkReport) -> String {
    let Some(failover) = &report.failover else { return describe(&report.name, report.corruption) };
    let models = [report.corruption, failover.backup_corruption];
    let of_each = Path::ALL.iter().zip(models);
    let lines = of_each.map(|(path, model)| describe(&format!("{}, {path}", report.name), model));
    lines.collect::<Vec<_>>().join("\n")
}

fn describe(name: &str, corruption: Option<CorruptionModel>) -> String {
    match corruption {
        Some(CorruptionModel::Iid { rate }) => format!("{name}: drops arriving frames at a rate of {rate:e}"),
        Some(CorruptionModel::GilbertElliott { rate, mean_burst }) => {
            format!("{name}: drops arriving frames at a rate of {rate:e}, in bursts of {mean_burst}")
        }
        None => format!("{name}: does not drop frames on purpose"),
    }
}

/// Prints how a link end is protected now.
///
/// # Errors
/// If standard output cannot be written.
pub fn print_protection(report: &LinkReport) -> Result<()> {
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
