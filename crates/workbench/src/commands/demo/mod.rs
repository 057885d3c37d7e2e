//! `linkmend demo`: runs the experiments of the lab and shows their results.

mod corruptd;
mod failover;
mod html;
mod noise;
pub mod progress;
mod show;
mod tables;
mod wan;

use linkmend::failure::{Context, Result, UsageError};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use linkmend_lab::demo::{DemoOptions, Part, run};
use linkmend_lab::unprivileged::{Privileges, ensure_privileges};
use linkmend_lab::wan::LOSS_MAX;
use linkmend_lab::{Impairments, StopFlag};
use linkmend_quantity::{BitRate, Span};
use show::{Shown, show};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Arguments of `linkmend demo`.
///
/// Builds a lab of network namespaces, runs kernel TCP through a corrupting link in it, unprotected and
/// protected, and takes it down again. Bulk goodput, completion times of 24,387 B flows, and a stress test in four
/// conditions (healthy, corrupting, ordered, non-blocking) that take turns; then a timeline of one transfer. Slots that
/// the machine disturbed are repeated. Writes an HTML report.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo linkmend demo                     # a typical link: 300 Mbit/s, 4 ms; 1 to 2 minutes
  sudo linkmend demo --part fast         # a link as fast as this machine allows, without delay
  sudo linkmend demo --quick             # shorter measurements, under a minute
  sudo linkmend demo --corruptd          # corruptd finds a corrupting link and protects it
  sudo linkmend demo --failover          # one of two links is cut without losing a frame
  linkmend demo --wan                    # a path of the Internet, over UDP
  sudo linkmend demo --rate 200M --delay 5ms --loss 1e-3
  linkmend demo                          # as an ordinary user: AF_PACKET in a user namespace
  sudo linkmend demo --json > demo.json  # all results as one object")]
pub struct DemoArgs {
    /// Kind of link
    #[arg(long, value_enum, value_name = "PART", default_value_t = LinkPart::Link)]
    part: LinkPart,
    /// Show corruptd instead: a link starts to corrupt frames, is found, protected and repaired, and protection ends;
    /// takes 45 seconds
    #[arg(long, conflicts_with_all = ["part", "quick"])]
    corruptd: bool,
    /// Show two links instead: one is cut during traffic, first with Linkmend, then with the kernel's own failover; takes 2
    /// minutes
    #[arg(long, conflicts_with_all = ["part", "quick", "corruptd", "loss"])]
    failover: bool,
    /// Show two sites instead, with a path of the Internet between them that delays, loses, reorders and duplicates: datagrams
    /// and TCP without Linkmend, and with its encrypted link over UDP in either mode; takes 2 minutes
    #[arg(long, conflicts_with_all = ["part", "corruptd", "failover", "delay"])]
    wan: bool,
    /// Take shorter measurements, in under a minute
    #[arg(long)]
    quick: bool,
    /// Rate of the link [default with `--part link`: 300M, with `--wan`: 50M]
    #[arg(long, value_name = "RATE")]
    rate: Option<BitRate>,
    /// One-way delay between the left host and its link end [default with `--part link`: 2ms]
    #[arg(long, value_name = "TIME")]
    delay: Option<Span>,
    /// One-way delay of the link itself [default: none, with `--wan`: 50ms]
    #[arg(long, value_name = "TIME")]
    link_delay: Option<Span>,
    /// Loss rate of the corrupting link, above 0 and up to 0.1; with `--wan`, in each direction and up to 0.25 [default: 1e-2,
    /// or 1e-3 with `--part fast`, or 0.05 with `--wan`]
    #[arg(long, value_name = "RATE", value_parser = loss_rate)]
    loss: Option<f64>,
    /// Seed for the injected corruption
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Use AF_PACKET ports even if AF_XDP is available
    #[arg(long)]
    packet: bool,
    /// Print all results as one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Path of the HTML report
    #[arg(long, value_name = "FILE", default_value = "linkmend-demo.html")]
    report: PathBuf,
    /// Write no HTML report
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
    /// Also write the plots as SVG and their data as CSV
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// The two parts of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LinkPart {
    /// A typical link: slower than this machine, on a path with some delay
    Link,
    /// A link as fast as this machine, without additional delay
    Fast,
}

impl DemoArgs {
    fn options(&self, privileges: Privileges) -> Result<DemoOptions> {
        let part = match self.part {
            LinkPart::Link => Part::Link,
            LinkPart::Fast => Part::Fast,
        };
        let mut options = if self.quick { DemoOptions::quick(part) } else { DemoOptions::standard(part) };
        options.seed = self.seed;
        if let Some(loss) = self.loss {
            if loss > LINK_LOSS_MAX {
                let text = format!(
                    "--loss {loss}: must be at most {LINK_LOSS_MAX}; only --wan allows up to {LOSS_MAX}"
                );
                return Err(UsageError::new(text).into());
            }
            options.loss = loss;
        }
        self.adjust(&mut options.impairments)?;
        options.packet_ports = self.takes_packet_ports(privileges);
        Ok(options)
    }

    /// Puts what the arguments say of the path in place of what a demo usually has.
    fn adjust(&self, impairments: &mut Impairments) -> Result<()> {
        let span = |given: Option<Span>, usual: Duration| given.map_or(usual, |Span(time)| time);
        impairments.rate_bps = self.rate.map(|rate| rate.0).or(impairments.rate_bps);
        impairments.delay = span(self.delay, impairments.delay);
        impairments.link_delay = span(self.link_delay, impairments.link_delay);
        Ok(impairments.validate()?)
    }

    fn takes_packet_ports(&self, privileges: Privileges) -> bool {
        self.packet || privileges != Privileges::Root
    }
}

/// Largest loss rate of the corrupting link.
const LINK_LOSS_MAX: f64 = 0.1;

fn loss_rate(text: &str) -> Result<f64, String> {
    let rate: f64 =
        text.parse().map_err(|_| format!("`{text}` is not a number; write it as 0.001 or 1e-3"))?;
    if rate > 0.0 && rate <= LOSS_MAX {
        Ok(rate)
    } else {
        Err(format!("{rate} is not above 0 and up to {LOSS_MAX}"))
    }
}

/// Moves an ordinary user into a user namespace by starting this program again in it. [`execute`] then runs inside.
pub fn enter_namespace() -> Result<()> {
    ensure_privileges().map(drop).context("the demo requires network namespaces")
}

/// Executes the command. After Ctrl-C the lab is taken down, too.
pub fn execute(arguments: &DemoArgs) -> Result<()> {
    let privileges = ensure_privileges().context("the demo requires network namespaces")?;
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&raised)).context("cannot catch signals")?;
    }
    let progress = progress::Steps::new();
    if let Privileges::UserNamespace { user } = privileges {
        progress.print_line(&format!(
            "user {user} has no privileges: running in a user namespace, with AF_PACKET ports"
        ));
    }
    let stop = StopFlag::from_shared(raised);
    if arguments.corruptd {
        return corruptd::execute(arguments, privileges, &stop, &progress);
    }
    if arguments.failover {
        return failover::execute(arguments, privileges, &stop, &progress);
    }
    if arguments.wan {
        return wan::execute(arguments, privileges, &stop, &progress);
    }
    let options = arguments.options(privileges)?;
    let result = run(&options, &stop, &progress);
    progress.finish();
    let result = result.context("the demo did not finish")?;
    let mut sentences = noise::complaints(&result);
    sentences.push(format!("{}, {}.", tables::path(&result), noise::summary(&result)));
    let shown = Shown { tables: tables::all(&result), sentences, plots: html::plots(&result).into() };
    show(arguments, &progress, &result, &shown, html::page)
}
