//! `linkmend lab`: a lab of network namespaces that stays up, with a real daemon at each end of its link.

mod background;
mod cut;
mod wires;

use crate::commands::shown;
use clap::{Args, Subcommand};
use cut::{CutArgs, MendArgs};
use linkmend::commands::arguments::{Bursts, Daemons, RateOrOff};
use linkmend::failure::{Context, Error, Hinted, Result};
use linkmend::output::print;
use linkmend_control::{CONTROL_FOLDER, Client, ClientError, CorruptionModel, ProtectConfig};
use linkmend_dataplane::config::EcnThreshold;
use linkmend_lab::delay_line::WiresReport;
use linkmend_lab::tcp::{TrafficPath, wait_until_reachable};
use linkmend_lab::topology::BACKUP_INTERFACE;
use linkmend_lab::{DownOutcome, Lab, LabError, LabOptions, Role, StopFlag};
use linkmend_quantity::{BitRate, ByteSize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wires::{BackupArgs, ImpairmentArgs};

/// How long the daemons may take until they answer.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Arguments of `linkmend lab`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo linkmend lab up                                           # hosts lm-h1 and lm-h2
  sudo linkmend lab corrupt 1e-3                                 # drop frames from lm-h1 to lm-h2
  sudo ip netns exec lm-h2 iperf3 -s -D
  sudo ip netns exec lm-h1 iperf3 -c 10.77.0.2                   # is slow
  sudo linkmend lab protect --mode ordered
  sudo ip netns exec lm-h1 iperf3 -c 10.77.0.2                   # is fast again
  sudo linkmend lab status
  sudo linkmend lab down
  sudo linkmend lab up --rate 1G --delay 5ms --link-delay 100us  # a slower, longer link
  sudo linkmend lab up --backup                                  # two links; see `lab cut --help`

  lm-h1 -- lm-g1 ==== corrupting link ==== lm-g2 -- lm-h2
  10.77.0.1, fd77::1                       10.77.0.2, fd77::2")]
pub struct LabArgs {
    /// Prefix of the namespaces' names
    #[arg(long, global = true, value_name = "NAME", default_value = "lm")]
    prefix: String,
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Create the namespaces and start a daemon at each end of the link; the link is dormant and healthy
    Up {
        /// MTU of the hosts, in bytes
        #[arg(long, value_name = "BYTES", default_value_t = 1500)]
        mtu: u32,
        /// Use AF_PACKET ports even if AF_XDP is available
        #[arg(long)]
        packet: bool,
        /// Rate and delays.
        #[command(flatten)]
        impairments: ImpairmentArgs,
        /// The second link.
        #[command(flatten)]
        backup: BackupArgs,
    },
    /// Delay lines of a running lab; started by `up`
    #[command(hide = true)]
    Wires,
    /// Terminate all processes in the lab and remove it, including anything left behind by a crash
    Down,
    /// Corrupt frames from lm-h1 to lm-h2
    Corrupt {
        /// Loss rate, independent for each frame, like 1e-3 or 0.1%; or `off`
        #[arg(value_name = "RATE|off", required_unless_present = "bursts", conflicts_with = "bursts")]
        rate: Option<RateOrOff>,
        /// Bursty loss: its long-term rate, and the mean length of a burst in frames
        #[arg(long = "gilbert-elliott", id = "bursts", value_name = "RATE,BURST")]
        gilbert_elliott: Option<Bursts>,
        /// Corrupt the other direction, from lm-h2 to lm-h1
        #[arg(long)]
        reverse: bool,
    },
    /// Protect frames from lm-h1 to lm-h2
    Protect {
        #[command(flatten)]
        protect: ProtectConfig,
        /// Protect the other direction as well
        #[arg(long)]
        both: bool,
    },
    /// End the protection of both directions
    Unprotect,
    /// Cut one of two links
    Cut(CutArgs),
    /// Restore a link that was cut
    Mend(MendArgs),
    /// Show the state of both ends
    Status {
        /// Print a JSON list
        #[arg(long)]
        json: bool,
    },
}

/// Executes the command.
pub fn execute(arguments: &LabArgs) -> Result<()> {
    let prefix = &arguments.prefix;
    // Namespaces and sockets need root. Without it, other errors would follow that do not name the cause.
    if !linkmend_lab::unprivileged::has_capabilities() {
        return Err(Hinted::error(
            "commands for a persistent lab require root",
            "use sudo; `linkmend demo` works for ordinary users",
        ));
    }
    match &arguments.command {
        LabCommand::Up { mtu, packet, impairments, backup } => up(prefix, *mtu, *packet, impairments, backup),
        LabCommand::Cut(arguments) => cut::cut(&attach(prefix)?, arguments),
        LabCommand::Mend(arguments) => cut::mend(&attach(prefix)?, arguments),
        LabCommand::Wires => wires::run(prefix),
        LabCommand::Down => down(prefix),
        LabCommand::Corrupt { rate, gilbert_elliott, reverse } => {
            let model = match (gilbert_elliott, rate) {
                (Some(bursts), _) => Some(CorruptionModel::GilbertElliott {
                    rate: bursts.rate.0,
                    mean_burst: bursts.mean_burst,
                }),
                (None, Some(RateOrOff(Some(rate)))) => Some(CorruptionModel::Iid { rate: rate.0 }),
                (None, _) => None,
            };
            // Frames are dropped at the receiving end.
            let role = if *reverse { Role::End1 } else { Role::End2 };
            let report = client(prefix, role)?.corrupt(&name(prefix, role), model)?;
            Ok(print(&linkmend::commands::control::describe_corruption(&report))?)
        }
        LabCommand::Protect { protect, both } => {
            let ends: &[Role] = if *both { &[Role::End1, Role::End2] } else { &[Role::End1] };
            for &role in ends {
                linkmend::commands::control::print_protection(
                    &client(prefix, role)?.protect(&name(prefix, role), protect)?,
                )?;
            }
            Ok(())
        }
        LabCommand::Unprotect => {
            for role in [Role::End1, Role::End2] {
                linkmend::commands::control::print_protection(
                    &client(prefix, role)?.unprotect(&name(prefix, role))?,
                )?;
            }
            Ok(())
        }
        LabCommand::Status { json } => status(prefix, *json),
    }
}

fn name(prefix: &str, role: Role) -> String {
    format!("{prefix}-{}", role.suffix())
}

fn socket(prefix: &str, role: Role) -> PathBuf {
    Path::new(CONTROL_FOLDER).join(format!("{}.sock", name(prefix, role)))
}

fn log(prefix: &str, role: Role) -> PathBuf {
    Path::new(CONTROL_FOLDER).join(format!("{}.log", name(prefix, role)))
}

fn client(prefix: &str, role: Role) -> Result<Client> {
    let daemons = Daemons { control: Some(socket(prefix, role)) };
    daemons.serving(&name(prefix, role)).map_err(|error| silent(prefix, role, error))
}

/// The options that name a lab in a command.
fn again(prefix: &str) -> String {
    if prefix == "lm" { String::new() } else { format!(" --prefix {prefix}") }
}

fn attach(prefix: &str) -> Result<Lab> {
    Lab::attach(prefix).map_err(|error| match error {
        LabError::NotUp { .. } => Hinted::error(
            format!("lab `{prefix}` is not running"),
            format!("create it with `linkmend lab up{}`", again(prefix)),
        ),
        other => other.into(),
    })
}

/// Why a daemon of the lab does not answer.
fn silent(prefix: &str, role: Role, error: ClientError) -> Error {
    if let Err(error) = attach(prefix) {
        return error;
    }
    let again = again(prefix);
    let (name, log) = (name(prefix, role), log(prefix, role));
    Hinted::error(
        format!("the daemon of link end {name} is not responding: {error}"),
        format!("see {}; `linkmend lab up{again}` restarts it", log.display()),
    )
}

fn up(prefix: &str, mtu: u32, packet: bool, impairments: &ImpairmentArgs, backup: &BackupArgs) -> Result<()> {
    let (impairments, backup) = (impairments.impairments()?, backup.link()?);
    // On a path of milliseconds, the hosts keep their kernel's timeouts.
    let rto_min_ms = LabOptions::default().rto_min_ms.filter(|_| impairments.is_none());
    let lab = Lab::up(LabOptions {
        prefix: prefix.to_owned(),
        host_mtu: mtu,
        rto_min_ms,
        impairments,
        backup,
        ..LabOptions::default()
    })?;
    wires::start(&lab).inspect_err(|_| {
        // As below.
        let _ = Lab::down(prefix);
    })?;
    for role in [Role::End1, Role::End2] {
        if client(prefix, role).is_err() {
            start(&lab, role, packet).inspect_err(|_| {
                // Half a lab is useless; the first error is the one to report.
                let _ = Lab::down(prefix);
            })?;
        }
    }
    wait_until_reachable(&TrafficPath::ipv4(&lab), START_TIMEOUT, &StopFlag::new())?;
    let [h1, _, _, h2] = Role::ALL.map(|role| name(prefix, role));
    print(&format!(
        "{h1} (10.77.0.1, fd77::1) and {h2} (10.77.0.2, fd77::2) reach each other; the link is healthy and dormant.\n\
         Try: ip netns exec {h1} ping 10.77.0.2\n\
         Logs: {} and {}",
        log(prefix, Role::End1).display(),
        log(prefix, Role::End2).display()
    ))?;
    Ok(())
}

fn start(lab: &Lab, role: Role, packet: bool) -> Result<()> {
    let prefix = &lab.options().prefix;
    let log = log(prefix, role);
    let mut command = background::command(&log)?;
    command.args(["run", "--inner", "inner", "--link", "link", "--mode", "off", "--allow-corruption"]);
    // It must start dormant, as documented.
    command.args(["--restore", "false"]);
    command.args(["--ports", if packet { "packet" } else { "auto" }, "--name", &name(prefix, role)]);
    let impairments = &lab.options().impairments;
    if let Some(rate) = impairments.rate_bps {
        command.args(["--rate", &BitRate(rate).to_string()]);
    }
    if let Some(queue) = impairments.queue_bytes() {
        command.args(["--queue", &ByteSize(queue).to_string()]);
        if let EcnThreshold::Above(ByteSize(usual)) = EcnThreshold::default() {
            let threshold = ByteSize(impairments.ecn_threshold_bytes(usual));
            command.args(["--ecn", &threshold.to_string()]);
        }
    }
    if let Some(backup) = &lab.options().backup {
        command.args(["--backup", BACKUP_INTERFACE]);
        if let Some(rate) = backup.rate_bps {
            command.args(["--backup-rate", &BitRate(rate).to_string()]);
        }
    }
    command.arg("--control").arg(socket(prefix, role));
    let child = lab.spawn(role, command)?;
    let what = format!("the daemon in {}", name(prefix, role));
    background::wait_for_start(child, &what, &log, START_TIMEOUT, || client(prefix, role).is_ok())
}

fn down(prefix: &str) -> Result<()> {
    let found = Lab::down(prefix)?;
    let of_ends = [Role::End1, Role::End2].map(|role| [socket(prefix, role), log(prefix, role)]);
    for path in of_ends.into_iter().flatten().chain(wires::files(prefix)) {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            _ => {}
        }
    }
    Ok(print(&match found {
        DownOutcome::NothingThere => format!("there is no lab `{prefix}`"),
        DownOutcome::Removed { ended } if ended.is_empty() => "the lab has been removed".to_owned(),
        DownOutcome::Removed { ended } => {
            let ended: Vec<String> =
                ended.into_iter().map(|(pid, program)| format!("{program} (pid {pid})")).collect();
            format!("the lab has been removed; terminated processes inside it: {}", ended.join(", "))
        }
    })?)
}

fn status(prefix: &str, json: bool) -> Result<()> {
    let mut reports = Vec::new();
    for role in [Role::End1, Role::End2] {
        reports.extend(client(prefix, role)?.status(None)?);
    }
    if json {
        return shown::json(&reports);
    }
    let mut blocks: Vec<String> = reports.iter().map(linkmend::commands::status::describe).collect();
    blocks.extend(Some(cut::describe(&attach(prefix)?)?).filter(|cuts| !cuts.is_empty()));
    blocks.extend(WiresReport::of_lab(prefix)?.as_ref().map(wires::describe));
    Ok(print(&blocks.join("\n"))?)
}
