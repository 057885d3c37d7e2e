//! The delay lines of a lab that stays up, as a separate process.

use super::background;
use linkmend::failure::{Context, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use linkmend_control::CONTROL_FOLDER;
use linkmend_lab::delay_line::{WiresReport, serve};
use linkmend_lab::{BackupLink, Impairments, Lab, StopFlag};
use linkmend_quantity::{BitRate, ByteSize, Span};
use linkmend_report::quantity;
use signal_hook::consts::{SIGINT, SIGTERM};

/// How long the process may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Rate and delays, as arguments of `linkmend lab up`.
#[derive(Debug, Args)]
pub struct ImpairmentArgs {
    /// Rate of the link in each direction, like 1G or 100M [default: as fast as the machine]
    #[arg(long, value_name = "RATE")]
    rate: Option<BitRate>,
    /// One-way delay between lm-h1 and its link end, in each direction: the network around the link
    #[arg(long, value_name = "TIME")]
    delay: Option<Span>,
    /// One-way delay of the link itself, in each direction; 100us corresponds to 20 km of fibre
    #[arg(long, value_name = "TIME")]
    link_delay: Option<Span>,
    /// Queue limit in front of the rate limiter [default: one bandwidth-delay product]
    #[arg(long, value_name = "SIZE", requires = "rate")]
    queue: Option<ByteSize>,
}

impl ImpairmentArgs {
    /// The impairments that were requested.
    ///
    /// # Errors
    /// Names the impairment that is out of range.
    pub fn impairments(&self) -> Result<Impairments> {
        let span = |given: Option<Span>| given.map_or(Duration::ZERO, |Span(time)| time);
        let impairments = Impairments {
            rate_bps: self.rate.map(|rate| rate.0),
            delay: span(self.delay),
            link_delay: span(self.link_delay),
            queue_bytes: self.queue.map(|queue| queue.0),
        };
        impairments.validate()?;
        Ok(impairments)
    }
}

/// The second link, as arguments of `linkmend lab up`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// Add a second link between the link ends; `linkmend lab cut` cuts either
    #[arg(long)]
    backup: bool,
    /// Rate of the second link in each direction [default: as fast as the machine]
    #[arg(long, value_name = "RATE", requires = "backup")]
    backup_rate: Option<BitRate>,
    /// One-way delay of the second link, in each direction [default: none]
    #[arg(long, value_name = "TIME", requires = "backup")]
    backup_delay: Option<Span>,
}

impl BackupArgs {
    /// The second link that was requested, if one was.
    ///
    /// # Errors
    /// Names the value that is out of range.
    pub fn link(&self) -> Result<Option<BackupLink>> {
        let link = BackupLink {
            rate_bps: self.backup_rate.map(|rate| rate.0),
            delay: self.backup_delay.map_or(Duration::ZERO, |Span(time)| time),
        };
        link.validate()?;
        Ok(self.backup.then_some(link))
    }
}

fn log_path(prefix: &str) -> PathBuf {
    Path::new(CONTROL_FOLDER).join(format!("{prefix}-w.log"))
}

/// The files that the process writes.
pub fn files(prefix: &str) -> [PathBuf; 2] {
    [WiresReport::path(prefix), log_path(prefix)]
}

/// Describes the report in a few lines.
pub fn describe(report: &WiresReport) -> String {
    let queue = report.impairments.queue_bytes().map(|queue| {
        let queue = quantity::bytes(queue as f64);
        format!("; queue limit {queue}")
    });
    let mut text = format!("impairments: {}{}\n", report.impairments, queue.unwrap_or_default());
    if let Some(backup) = &report.backup {
        text.push_str(&format!("second link: {}\n", backup.impairments()));
    }
    if !report.process.is_running() {
        text.push_str(
            "  the delay-line process has exited, so no frames pass; run `linkmend lab down`, then `up`\n",
        );
    }
    for line in &report.lines {
        text.push_str(&format!("  {:<15} {} frames", line.name, line.forwarded_frames));
        for (count, what) in [
            (line.queue_drops, "dropped because the queue in front of the rate limiter was full"),
            (line.overflow_drops, "dropped because the delay line was stalled"),
            (line.refused_frames, "refused by the interface"),
        ] {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        text.push('\n');
    }
    text
}

/// Starts the process for a lab with impairments, unless it is already running.
///
/// # Errors
/// What the process wrote when it could not start.
pub fn start(lab: &Lab) -> Result<()> {
    let Some(wires) = lab.wires().filter(|_| !lab.options().lines().is_empty()) else { return Ok(()) };
    let prefix = &lab.options().prefix;
    let runs =
        || WiresReport::of_lab(prefix).ok().flatten().is_some_and(|report| report.process.is_running());
    if runs() {
        return Ok(());
    }
    let log = log_path(prefix);
    let mut command = background::command(&log)?;
    command.args(["lab", "--prefix", prefix, "wires"]);
    let child = lab.spawn_in(wires, command)?;
    background::wait_for_start(child, &format!("the delay lines of {prefix}"), &log, START_TIMEOUT, runs)
}

/// Runs the process itself, until it is told to stop or the lab is gone.
///
/// # Errors
/// If the lines cannot be started, or their report cannot be written.
pub fn run(prefix: &str) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot catch signals")?;
    }
    Ok(serve(&Lab::attach(prefix)?, &StopFlag::from_shared(stop))?)
}
