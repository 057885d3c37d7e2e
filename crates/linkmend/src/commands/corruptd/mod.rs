//! `linkmend corruptd`: the control plane.

mod replay;
mod report;
mod run;
mod status;
mod verify;

use crate::commands::arguments::written_beside;
use crate::failure::{Context, Result, UsageError};
use clap::{ArgMatches, Args, Command, Subcommand};
use linkmend_monitor::config::{CONTROL_DEFAULT, MonitorConfig, Resolved};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  linkmend corruptd --cable left=right      # a cable between the links left and right of this host
  linkmend corruptd --config corruptd.toml  # as configured; SIGHUP reloads the file
  linkmend corruptd --source linux --cable eth0=spine1/eth7 \\
    --redis redis://10.0.0.9
                                            a cable to another machine that shares the Redis
  linkmend corruptd --dry-run -v           # only log what it would do
  linkmend corruptd status                 # which links corrupt frames, and what was done
  linkmend corruptd report audit.jsonl     # what was done in weeks, or would have been
  linkmend corruptd verify audit.jsonl     # whether anybody has changed it since
  linkmend corruptd --replay counters.csv  # what it would have done with recorded counters
  linkmend corruptd evaluate               # detection times by loss rate, and false alarms

Corruption is detected at the receiving end of a link, but the sending end has to protect it: --cable says which ports are \
connected. A link is corrupting if more frames are corrupted than chance explains at a loss rate of --activate, in at least \
two polls. It is healthy again once no more than --deactivate has been corrupted during --hold-down, and enough frames have \
arrived to reveal its former loss rate.";

/// Options that are allowed with a configuration file.
const BESIDE_CONFIG: [&str; 5] = ["config", "check", "replay", "json", "verbose"];

/// Arguments of `linkmend corruptd`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct CorruptdArgs {
    /// Configuration file, instead of the options below
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check the configuration, print it, and exit
    #[arg(long)]
    check: bool,
    /// Evaluate recorded counters and exit: CSV with time_s,port,good_frames,corrupted_frames
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// With --replay, print decisions as JSON, one per line
    #[arg(long, requires = "replay")]
    json: bool,
    #[command(flatten)]
    monitor: MonitorConfig,
    #[command(subcommand)]
    command: Option<CorruptdCommand>,
}

/// What else can be asked of it.
#[derive(Debug, Subcommand)]
enum CorruptdCommand {
    /// Show which links corrupt frames, and what was done about it
    #[command(after_help = "\
Examples:
  linkmend corruptd status        # ports that are not healthy, and the number of healthy ones
  linkmend corruptd status --all  # all ports
  linkmend corruptd status --json | \\
    jq '.ports[] | select(.state == \"corrupting\")'")]
    Status(StatusArgs),
    /// Sum up audit files: what was done in days or weeks, or would have been in a dry run
    #[command(after_help = "\
Examples:
  linkmend corruptd --dry-run --audit audit.jsonl  # for some weeks
  linkmend corruptd report audit.jsonl             # how often, which links, for how long
  linkmend corruptd report audit.jsonl.1 audit.jsonl --json")]
    Report(ReportArgs),
    /// Verify that audit files are as corruptd has written them, or name the first line that is not
    #[command(after_help = "\
Examples:
  linkmend corruptd verify audit.jsonl
  linkmend corruptd verify audit.jsonl.1 audit.jsonl --key audit.key")]
    Verify(VerifyArgs),
}

/// Arguments of `linkmend corruptd verify`.
#[derive(Debug, Args)]
struct VerifyArgs {
    /// Files that --audit has written, the oldest first
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The key in --audit-key; every line must be sealed with it
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

/// Arguments of `linkmend corruptd report`.
#[derive(Debug, Args)]
struct ReportArgs {
    /// Files that --audit has written, the oldest first
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object with all ports
    #[arg(long)]
    json: bool,
}

/// Arguments of `linkmend corruptd status`.
#[derive(Debug, Args)]
struct StatusArgs {
    /// Control socket of corruptd
    #[arg(long, value_name = "PATH", default_value = CONTROL_DEFAULT)]
    control: PathBuf,
    /// Also show healthy ports
    #[arg(long)]
    all: bool,
    /// Print one JSON object with all ports
    #[arg(long)]
    json: bool,
}

/// Executes the command.
pub fn execute(arguments: &CorruptdArgs, matches: &ArgMatches, command: &Command) -> Result<()> {
    let refused = written_beside("corruptd", &BESIDE_CONFIG, matches, command);
    if let Some((option, path)) = refused.zip(arguments.config.as_ref()) {
        let file = path.display();
        return Err(
            UsageError::new(format!("--{option} cannot be used with --config; set it in {file}")).into()
        );
    }
    match &arguments.command {
        Some(CorruptdCommand::Status(arguments)) => status::execute(arguments),
        Some(CorruptdCommand::Report(arguments)) => report::execute(arguments),
        Some(CorruptdCommand::Verify(arguments)) => verify::execute(arguments),
        None => match &arguments.replay {
            Some(file) => replay::execute(arguments, file),
            None => run::execute(arguments),
        },
    }
}

impl CorruptdArgs {
    /// The configuration as it is now: a file may have been changed since the last time.
    fn configuration(&self) -> Result<(MonitorConfig, Resolved)> {
        let read;
        let config = match &self.config {
            Some(path) => {
                read = MonitorConfig::read(path)?;
                &read
            }
            None => &self.monitor,
        };
        let host =
            nix::unistd::gethostname().map_err(std::io::Error::from).context("this machine has no name")?;
        let host = host.into_string().map_err(|name| {
            UsageError::new(format!("host name {} is not UTF-8; set a name with --agent", name.display()))
        })?;
        let resolved = config.resolve(&host);
        let resolved = match &self.config {
            Some(path) => resolved.context(format!("{}", path.display()))?,
            None => resolved?,
        };
        Ok((config.clone(), resolved))
    }
}
