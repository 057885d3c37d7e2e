//! `linkmend sim replay`: repeats protocol logs.

use crate::commands::shown;
use clap::Args;
use indicatif::ProgressBar;
use linkmend::failure::Result;
use linkmend::output;
use linkmend_sim::replay;
use std::path::PathBuf;
use std::time::Duration;

/// Time between two frames of the spinner.
const SPINNER_TICK: Duration = Duration::from_millis(100);

/// Arguments of `linkmend sim replay`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend run --inner eth1 --link eth2 --protocol-log a.jsonl  # writes a log
  linkmend sim replay a.jsonl                                   # this version against the daemon
  linkmend sim replay a.jsonl b.jsonl                           # the simulator against both ends

Two logs can be compared with a simulated run only if the traffic had pauses longer than a recovery, and if both ends ran on one machine or used the same clock.
Exit codes: 0 the same, 1 different (the first difference is shown) or a file that cannot be read, 2 a file that is not a \
log, or logs that cannot be compared.")]
pub struct ReplayArgs {
    /// Protocol log of a link end
    #[arg(value_name = "FIRST")]
    first: PathBuf,
    /// Protocol log of the other end in the same run
    #[arg(value_name = "SECOND")]
    second: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Repeats the logs and prints the comparison.
pub fn execute(arguments: &ReplayArgs) -> Result<()> {
    // The length of a log is known only after it has been read, so there is a spinner and no bar.
    let spinner = ProgressBar::new_spinner().with_message("repeating");
    spinner.enable_steady_tick(SPINNER_TICK);
    let report = replay::replay(&arguments.first, arguments.second.as_deref());
    spinner.finish_and_clear();
    let report = report?;
    if arguments.json { shown::json(&report) } else { Ok(output::print(&report.to_string())?) }
}
