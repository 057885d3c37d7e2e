//! Arguments of the commands that run or ask a daemon. [`linkmend_dataplane::config`] describes the keys of a link, for
//! file and command line alike; only what a file does not have is described here.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use linkmend_control::ProtectConfig;
use linkmend_control::report::Path;
use linkmend_dataplane::config::{DaemonConfig, LinkConfig, LossRate};
use std::path::PathBuf;

/// Arguments of `linkmend run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES, override_usage = RUN_USAGE)]
pub struct RunArgs {
    /// Configuration file for one or more links, instead of --inner, --link and the options of a link
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Validate the configuration, print it as a file with all defaults filled in, and exit without changing anything
    #[arg(long)]
    pub check: bool,
    /// The daemon's own keys.
    #[command(flatten)]
    pub daemon: DaemonConfig,
    /// The one link of a daemon without a configuration file.
    #[command(flatten)]
    pub link: LinkConfig,
}

const RUN_USAGE: &str = "\
linkmend run --inner <IF> --link <IF> [OPTIONS]
       linkmend run --config <FILE> [--control <PATH>] [--metrics <ADDRESS>]";

const RUN_EXAMPLES: &str = "\
Examples:
  linkmend run --inner eth1 --link eth2
      Protect eth2 in ordered mode; the host or switch is behind eth1. Run the same at the other end.

  linkmend run --inner create:host0 --link eth1 --mode non-blocking
      For a machine without a second port: it uses the veth interface host0, which exists while the daemon runs.

  linkmend run --inner eth1 --link eth2 --rate 10G --target 1e-9 \\
    --class dscp=46:non-blocking
      A link that is slower than its port, a stricter target, and one traffic class that must not wait.

  linkmend run --config /etc/linkmend/linkmend.toml --check
      Validate a file and show the resulting configuration.

The MTU of the link must be 8 bytes larger than that of the inner port. Stop with Ctrl-C or SIGTERM: the in-kernel \
bypass stays loaded and forwards frames unprotected (remove it with `linkmend detach`), unless --detach-on-stop is given.";

/// Which daemons are asked.
#[derive(Debug, Args)]
pub struct Daemons {
    /// Control socket of the daemon [default: all in /run/linkmend]
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
}

/// Arguments of `linkmend status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend status                # all links of all daemons on this machine
  linkmend status --watch=0.5    # the same, redrawn twice a second
  linkmend status uplink --json  # one link, as JSON: counters, times in ns, sizes in bytes
  linkmend status --json | jq '.[].counters.recovery_timeouts'")]
pub struct StatusArgs {
    /// Show only this link
    #[arg(value_name = "LINK")]
    pub name: Option<String>,
    /// Print JSON: one object if LINK is given, otherwise a list
    #[arg(long)]
    pub json: bool,
    /// Afterwards, reset the recorded minimum and maximum fill levels of the buffers
    #[arg(long)]
    pub reset_extremes: bool,
    /// Redraw every SECONDS seconds and show the traffic in between, until Ctrl-C [default: 1]
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        conflicts_with_all = ["json", "reset_extremes"]
    )]
    pub watch: Option<f64>,
    #[command(flatten)]
    pub daemons: Daemons,
}

/// Arguments of `linkmend protect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend protect uplink  # ordered, copies from the measured loss
  linkmend protect uplink --mode non-blocking --target 1e-9
  linkmend protect uplink --copies 2 --class pcp=5:non-blocking

This protects the frames that this end sends; protect the other direction at the other end.")]
pub struct ProtectArgs {
    /// Name of the link
    #[arg(value_name = "LINK")]
    pub name: String,
    #[command(flatten)]
    pub protect: ProtectConfig,
    #[command(flatten)]
    pub daemons: Daemons,
}

/// Arguments of `linkmend unprotect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  linkmend unprotect uplink

No frames are lost, because the session is drained first. Afterwards, the kernel forwards frames.")]
pub struct UnprotectArgs {
    /// Name of the link
    #[arg(value_name = "LINK")]
    pub name: String,
    #[command(flatten)]
    pub daemons: Daemons,
}

/// Arguments of `linkmend corrupt`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend corrupt uplink 1e-3                      # every frame with probability 0.1 %
  linkmend corrupt uplink --gilbert-elliott 1e-3,4  # in bursts of 4 frames on average
  linkmend corrupt uplink off

Frames are dropped on arrival at the link port, just as a MAC drops frames with a bad check sequence. The daemon must \
run with --allow-corruption.")]
pub struct CorruptArgs {
    /// Name of the link
    #[arg(value_name = "LINK")]
    pub name: String,
    /// Loss rate, independent for each frame, like 1e-3 or 0.1%; or `off`
    #[arg(value_name = "RATE|off", required_unless_present = "bursts", conflicts_with = "bursts")]
    pub rate: Option<RateOrOff>,
    /// Bursty loss: its long-term rate, and the mean length of a burst in frames
    #[arg(long = "gilbert-elliott", id = "bursts", value_name = "RATE,BURST")]
    pub gilbert_elliott: Option<Bursts>,
    /// Drop only on one of the two links [default: on all links]
    #[arg(long, value_enum, value_name = "LINK")]
    pub on: Option<Path>,
    #[command(flatten)]
    pub daemons: Daemons,
}

/// Arguments of `linkmend prefer`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend prefer uplink backup   # for maintenance of the first link, or because it corrupts more
  linkmend prefer uplink primary  # back again

Both ends switch together, and no frames are lost, duplicated or reordered. If the preferred link is down, it is used once \
it has been up for a while; if it fails, Linkmend still switches to the other one. The preference is forgotten when both \
daemons are restarted.")]
pub struct PreferArgs {
    /// Name of the link end
    #[arg(value_name = "LINK")]
    pub name: String,
    /// Which of its two links to use while both are up
    #[arg(value_enum, value_name = "primary|backup")]
    pub path: Path,
    #[command(flatten)]
    pub daemons: Daemons,
}

/// A loss rate, or `None` for `off`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateOrOff(pub Option<LossRate>);

impl std::str::FromStr for RateOrOff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(RateOrOff(None)),
            rate => {
                rate.parse().map(|rate| RateOrOff(Some(rate))).map_err(|error| format!("{error}, or `off`"))
            }
        }
    }
}

/// A loss rate and the mean length of a burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    /// Long-term loss rate.
    pub rate: LossRate,
    /// Mean length of a burst, in frames.
    pub mean_burst: f64,
}

impl std::str::FromStr for Bursts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is not RATE,BURST; write it like 1e-3,4");
        let (rate, mean_burst) = text.split_once(',').ok_or_else(form)?;
        let rate = rate.parse().map_err(|error| format!("{error}"))?;
        Ok(Bursts { rate, mean_burst: mean_burst.trim().parse().map_err(|_| form())? })
    }
}

/// Arguments of `linkmend detach`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  linkmend detach eth1 eth2

A daemon that stops or dies leaves its program in the kernel, so that the link keeps working. Without the program, nothing \
is forwarded between the two ports. Interfaces of a running daemon are refused, and so are programs that are not Linkmend's.")]
pub struct DetachArgs {
    /// Interfaces from which to remove the program
    #[arg(value_name = "IF", required = true)]
    pub interfaces: Vec<String>,
}

/// The threads that were asked for, or one for each processor.
pub fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The first option of a subcommand that was written and is not among those allowed beside a configuration file, where it
/// would be unclear which of the two counts.
pub fn written_beside(
    subcommand: &str,
    allowed: &[&str],
    matches: &ArgMatches,
    command: &Command,
) -> Option<String> {
    first_written(subcommand, matches, command, |id| !allowed.contains(&id))
}

/// The first option of a subcommand that was written, and not only has its default, of those whose names in the code are
/// `wanted`.
pub fn first_written(
    subcommand: &str,
    matches: &ArgMatches,
    command: &Command,
    wanted: impl Fn(&str) -> bool,
) -> Option<String> {
    let command = command.find_subcommand(subcommand)?;
    let (_, matches) = matches.subcommand()?;
    let written = |argument: &&clap::Arg| {
        let id = argument.get_id().as_str();
        wanted(id) && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let argument = command.get_arguments().find(written)?;
    Some(argument.get_long().unwrap_or(argument.get_id().as_str()).to_owned())
}
