//! Decides about recorded counters.

use super::CorruptdArgs;
use super::status::table;
use crate::failure::{Context, Result};
use crate::output::print;
use linkmend_monitor::recording::replay;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Prints each decision, and how the ports are at the end.
pub(super) fn execute(arguments: &CorruptdArgs, path: &Path) -> Result<()> {
    let (_, config) = arguments.configuration()?;
    let name = path.display().to_string();
    let file = File::open(path).context(format!("cannot read {name}"))?;
    let mut failure = None;
    let status = replay(&config.agent, config.policy, BufReader::new(file), |decision| {
        let line = match arguments.json {
            true => serde_json::to_string(decision).unwrap_or_default(),
            false => format!("{:>10.1} s  {decision}", decision.at.as_secs_f64()),
        };
        if failure.is_none() {
            failure = print(&line).err();
        }
    });
    let status = status.context(name)?;
    if let Some(error) = failure {
        return Err(error.into());
    }
    if !arguments.json {
        print(&format!("\n{}", table(&status, true)))?;
    }
    Ok(())
}
