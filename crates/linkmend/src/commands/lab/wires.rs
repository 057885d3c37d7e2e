//! The delay lines of a laboratory that stays up, as a separate process.

use crate::failure::{Context, Plain, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use linkmend_dataplane::config::CONTROL_FOLDER;
use linkmend_lab::process::TrackedProcess;
use linkmend_lab::{DelayLines, Impairments, Lab, LineReport};
use linkmend_quantity::{BitRate, ByteSize, Span};
use linkmend_report::quantity;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGTERM};

/// How long the process may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(5);
/// How often it writes its report: often enough for somebody who looks right after the first ping.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
const POLL: Duration = Duration::from_millis(20);

/// Rate and delays, as arguments of `linkmend lab up`.
#[derive(Debug, Args)]
pub struct ImpairmentArgs {
    /// Rate of the link in each direction, like 1G or 100M [default: as fast as the machine]
    #[arg(long, value_name = "RATE")]
    rate: Option<BitRate>,
    /// One-way delay between lm-h1 and its link end, in each direction: the network around the link
    #[arg(long, value_name = "TIME")]
    delay: Option<Span>,
    /// One-way delay of the link itself, in each direction: 100us are 20 km of fibre
    #[arg(long, value_name = "TIME")]
    link_delay: Option<Span>,
    /// Bytes that may wait in front of the rate [default: what is under way in one round trip]
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

/// The report that the process of the delay lines writes to a file.
#[derive(Debug, Serialize, Deserialize)]
pub struct WiresReport {
    /// The process that wrote it.
    pub process: TrackedProcess,
    /// The impairments that it applies.
    pub impairments: Impairments,
    /// Whether it runs at real-time priority.
    pub real_time: bool,
    /// Counters of each direction of each line.
    pub lines: Vec<LineReport>,
}

fn report_path(prefix: &str) -> PathBuf {
    Path::new(CONTROL_FOLDER).join(format!("{prefix}-w.json"))
}

fn log_path(prefix: &str) -> PathBuf {
    Path::new(CONTROL_FOLDER).join(format!("{prefix}-w.log"))
}

/// The files that [`run`] writes.
pub fn files(prefix: &str) -> [PathBuf; 2] {
    [report_path(prefix), log_path(prefix)]
}

/// What the lines of a laboratory have done, up to a moment ago; `None` if it has no impairments.
///
/// # Errors
/// If the report cannot be read.
pub fn report(prefix: &str) -> Result<Option<WiresReport>> {
    let path = report_path(prefix);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    serde_json::from_str(&text).map(Some).with_context(|| format!("{} is not a report", path.display()))
}

/// Describes the report in a few lines.
pub fn describe(report: &WiresReport) -> String {
    let queue = report.impairments.queue_bytes().map(|queue| {
        let queue = quantity::bytes(queue as f64);
        format!("; up to {queue} wait in front of the rate")
    });
    let mut text = format!("impairments: {}{}\n", report.impairments, queue.unwrap_or_default());
    if !report.process.is_running() {
        text.push_str("  the process of the delay lines has ended, and nothing passes; `linkmend lab down`, then `up`\n");
    }
    for line in &report.lines {
        text.push_str(&format!("  {:<15} {} frames", line.name, line.forwarded_frames));
        for (count, what) in [
            (line.queue_drops, "dropped by the full queue in front of the rate"),
            (line.overflow_drops, "dropped because the delay line was held up"),
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

/// Starts the process for a laboratory with impairments, unless it is already running.
///
/// # Errors
/// What the process wrote when it could not start.
pub fn start(lab: &Lab) -> Result<()> {
    let Some(wires) = lab.wires() else { return Ok(()) };
    let prefix = &lab.options().prefix;
    let runs = || report(prefix).ok().flatten().is_some_and(|report| report.process.is_running());
    if runs() {
        return Ok(());
    }
    let path = log_path(prefix);
    std::fs::create_dir_all(CONTROL_FOLDER).with_context(|| format!("cannot make {CONTROL_FOLDER}"))?;
    let log = std::fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.args(["lab", "--prefix", prefix, "wires"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut child = lab.spawn_in(wires, command)?;
    let deadline = Instant::now() + START_TIMEOUT;
    while !runs() {
        let ended = child.try_wait().context("cannot watch the delay lines")?.is_some();
        if ended || Instant::now() > deadline {
            let said = std::fs::read_to_string(&path).unwrap_or_default();
            return Err(
                Plain(format!("the delay lines of {prefix} did not start: {}", said.trim_end())).into()
            );
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Runs the process itself, until it is told to stop or the laboratory is gone.
///
/// # Errors
/// If the lines cannot be started, or their report cannot be written.
pub fn run(prefix: &str) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot catch signals")?;
    }
    let lab = Lab::attach(prefix)?;
    let lines =
        DelayLines::start(&lab)?.ok_or_else(|| Plain("this laboratory has no impairments".to_owned()))?;
    let path = report_path(prefix);
    let draft = path.with_extension("draft");
    let process = TrackedProcess::of(std::process::id(), "delay lines")
        .ok_or_else(|| Plain("cannot find this process".to_owned()))?;
    while !stop.load(Ordering::Relaxed) && lines.is_running() {
        let report = WiresReport {
            process: process.clone(),
            impairments: lab.options().impairments.clone(),
            real_time: lines.is_real_time(),
            lines: lines.report(),
        };
        let written = std::fs::write(&draft, serde_json::to_vec_pretty(&report)?)
            .and_then(|()| std::fs::rename(&draft, &path));
        written.with_context(|| format!("cannot write {}", path.display()))?;
        let until = Instant::now() + REPORT_INTERVAL;
        while Instant::now() < until && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(POLL);
        }
    }
    // A report that is left over would be mistaken for a running process.
    let _ = std::fs::remove_file(&path);
    Ok(())
}
