//! `linkmend fleet plan`: what to do today about links that corrupt.
//!
//! - [`tables`] and [`json`] write what is printed, [`page`] the HTML file, and [`drawing`] its pods.

mod drawing;
mod json;
mod page;
mod tables;

use super::deployment::UpgradedArgs;
use super::network::{Described, NetworkArgs};
use super::protection::{self, LimitArgs};
use super::share;
use super::simulate::ObjectiveName;
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::failure::{Context, Error, Hinted, Result, UsageError};
use linkmend::output;
use linkmend::written_file;
use linkmend_fleet::Constraint;
use linkmend_fleet::plan::{
    Explanation, FindError, LinkFinder, Plan, PlanSettings, ReportedLink, Surroundings, read_links,
};
use linkmend_fleet::protection::ProtectionTable;
use linkmend_fleet::{FileError, FileKind};
use linkmend_monitor::config::CONTROL_DEFAULT;
use linkmend_monitor::daemon::{ask_directions, ask_findings};
use linkmend_monitor::planning::{Network, corrupting_links, unjudged};
use linkmend_quantity::LossRate;
use linkmend_topology::{FabricParameters, Topology};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Width of the tables when standard output is no terminal.
const TABLE_WIDTH: usize = 120;
/// How many links a hint names.
const MAX_NAMED: usize = 4;
/// The longest line of prose, because longer ones are hard to read, however wide the terminal is.
const PROSE_WIDTH: usize = 100;

/// Arguments of `linkmend fleet plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
The file given with --links begins with a header; a link is identified by its number, its name, its two ends or a port:
  link,loss_rate,state
  1042,2e-4,active
  pod3-tor7--pod3-fabric1,0.1%,active
  leaf1:swp1--spine1:swp7,1e-5,active
  77,,disabled

Examples:
  linkmend fleet plan --links corrupting.csv  # 75 % of paths kept
  linkmend fleet plan --links corrupting.csv --constraint 50% --crew 4 \\
    --html plan.html
  linkmend fleet plan --links corrupting.csv --explain pod3-tor7--pod3-fabric1
  linkmend fleet plan --links corrupting.csv --upgraded pod0,pod3  # only these can protect
  linkmend fleet plan --topology fat-tree:k=16 --links corrupting.csv --json
  linkmend fleet plan --topology network.yaml --corruptd           # what corruptd has found

What the plan says about each link:
  disable        no ToR falls below the constraint or loses contact with another, and no better choice exists
  protect        it must stay in operation; copies by Equation 2 bring the loss rate below the target
  leave          it should be protected, but its switches do not support this
  keep disabled  it was disabled before
  watch          its loss rate is not above the target

The choice of links to disable is optimal: no other choice has a lower objective. If a limit on protected links is \
reached, the links with the highest loss rates are protected. ToRs that are already short of paths, and pairs of \
ToRs that already cannot reach each other, are reported, and lose no further paths. Repairs are ordered by their benefit: first those that end a \
shortage of paths, then those that allow other links to be disabled, then those that add paths.")]
pub struct PlanArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Links that corrupt frames or are disabled (CSV: link,loss_rate; optionally state, and receiver, the switch whose
    /// port counts the loss)
    #[arg(long, value_name = "FILE", required_unless_present = "corruptd")]
    links: Option<PathBuf>,
    /// Instead of reading --links, ask the corruptd at this socket which links corrupt frames on all machines that
    /// share its bus. The agents must have the same names as the network's switches
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = CONTROL_DEFAULT, conflicts_with = "links")]
    corruptd: Option<PathBuf>,
    /// Share of its paths and capacity to the top layer that every ToR must keep, while ToRs that can reach each other
    /// stay connected: one share for both, like 75%; one for each, like paths=75%,capacity=50%; or the paper's
    /// constraint, like paper=75%, which counts only paths and lets ToRs lose contact with each other
    #[arg(long, value_name = "SHARE", default_value = "75%")]
    constraint: Constraint,
    /// Acceptable loss rate: links at or below it are only watched, others are protected to reach it
    #[arg(long, value_name = "LOSS", default_value = "1e-8")]
    target: LossRate,
    /// Objective to minimise: the loss and the capacity cost that remain with protection, or CorrOpt's penalty
    #[arg(long, value_enum, default_value_t = ObjectiveName::Effective)]
    objective: ObjectiveName,
    /// Loss rate that is as bad as losing a whole link's capacity; for --objective effective
    #[arg(long, value_name = "LOSS", default_value = "1e-3")]
    capacity_weight: LossRate,
    /// Loss rates and capacities that remain with protection: `authors` (published, 100G), measurements from Linkmend's
    /// simulator (`25G`, `100G`, `400G`), or a JSON file with rows of loss_rate, effective_loss_rate and capacity and,
    /// for non-blocking mode, non_blocking_rows; without the latter, the capacity of non-blocking mode is estimated
    #[arg(long, value_name = "authors|25G|100G|400G|FILE", default_value = "authors")]
    protection: String,
    /// Minimum share of a link's capacity that must remain in ordered mode; below it, non-blocking mode is used
    #[arg(long, value_name = "SHARE", default_value = "85%", value_parser = share)]
    min_capacity: f64,
    #[command(flatten)]
    upgraded: UpgradedArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Number of concurrent repairs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    crew: u32,
    /// Assume that no switch is cut-through, so that every link with corrupted frames corrupts them itself
    #[arg(long)]
    store_and_forward: bool,
    /// Explain the plan's decision about this link, instead of printing the tables
    #[arg(long, value_name = "LINK")]
    explain: Option<String>,
    /// Write the plan to this file as an HTML page that draws the network pod by pod
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

impl Study for PlanArgs {
    fn find(&self, _watch: &dyn Watch) -> Result<Found> {
        let protection = protection::read_of_linkguardian(&self.protection)?;
        if let Some(links) = &self.links {
            check_files(self.network.file(), links)?;
        }
        let Described { topology, cables, line: described } =
            self.network.build_described(FabricParameters::PAPER)?;
        let network = Network::new(topology, &cables);
        let topology = network.topology();
        let settings = self.settings(topology, protection)?;
        let (reported, surroundings) = match (&self.links, &self.corruptd) {
            (Some(file), _) => (links(file, topology)?, Surroundings::default()),
            (None, Some(socket)) => found_by_corruptd(socket, &network)?,
            (None, None) => (Vec::new(), Surroundings::default()),
        };
        let plan = Plan::within(topology, &reported, surroundings, settings);
        // An explanation that is impossible is refused before any file is written.
        let explanation =
            self.explain.as_ref().map(|written| explain(&plan, written, &self.source())).transpose()?;
        if let Some(path) = &self.html {
            written_file::write_private(path, page::page(&plan, self).to_html())?;
        }
        if let Some(explanation) = explanation {
            let found = Found::new(&explanation, PROSE_WIDTH, Vec::new())?.prose_at_most(PROSE_WIDTH);
            let paragraphs = [&explanation.verdict].into_iter().chain(&explanation.reasons);
            return Ok(paragraphs.fold(found, Found::beginning));
        }
        let mut value = json::plan(&plan);
        value["network"] = described.clone().into();
        let found = Found::new(&value, TABLE_WIDTH, tables::all(&plan))?;
        Ok(described.into_iter().fold(found, Found::beginning))
    }
}

/// Refuses a network that was given as the list of links, and vice versa. Their readers would only report what is
/// missing on the first line.
fn check_files(network: Option<&Path>, links: &Path) -> Result<()> {
    let is_list = network.filter(|path| FileKind::detect(path) == FileKind::List);
    let (message, hint) = match (is_list, FileKind::detect(links)) {
        (Some(list), FileKind::Network) => (
            format!(
                "--topology and --links are swapped: {} is a list of links, and {} is a network",
                list.display(),
                links.display()
            ),
            format!("--topology {} --links {}", links.display(), list.display()),
        ),
        (Some(list), _) => (
            format!("--topology {}: this is a list of links, not a network", list.display()),
            "--links takes it; --topology takes YAML or JSON with switches and links, or a kind like fat-tree:k=16"
                .to_owned(),
        ),
        (None, FileKind::Network) => (
            format!("--links {}: this is a network, not a list of links", links.display()),
            "--topology takes it; a list of links begins with `link,loss_rate`".to_owned(),
        ),
        (None, _) => return Ok(()),
    };
    Err(UsageError::hinted(message, hint).into())
}

impl PlanArgs {
    fn settings(&self, topology: &Topology, protection: ProtectionTable) -> Result<PlanSettings> {
        Ok(PlanSettings {
            constraint: self.constraint,
            target_loss: self.target.0,
            objective: self.objective.with(self.capacity_weight.0),
            protection,
            min_capacity: self.min_capacity,
            deployment: self.upgraded.deployment(topology)?,
            limits: self.limits.limits(),
            crew: self.crew,
            store_and_forward: self.store_and_forward,
        })
    }

    /// Where the links come from, for messages.
    fn source(&self) -> String {
        let path = self.links.as_ref().map(|path| path.display().to_string());
        let asked = || {
            self.corruptd.as_ref().map(|socket| format!("the findings of corruptd at {}", socket.display()))
        };
        path.or_else(asked).unwrap_or_default()
    }
}

/// The links that a running corruptd says corrupt, and what comes from outside the topology. Ports whose links are not
/// known are named.
fn found_by_corruptd(socket: &Path, network: &Network) -> Result<(Vec<ReportedLink>, Surroundings)> {
    let (directions, findings) = (ask_directions(socket)?, ask_findings(socket)?);
    let topology = network.topology();
    let found = corrupting_links(network, &directions);
    for placed in found.links.iter().filter(|placed| placed.is_interchangeable).take(MAX_NAMED) {
        let (link, [one, other]) = (topology.label(placed.link), &placed.ports);
        output::remark(&format!(
            "using {link} for {one} - {other}: the network file does not say which of the parallel links this is \
             (from_port, to_port)\n"
        ));
    }
    let unplaced = &found.unplaced;
    let more = unplaced.len().saturating_sub(MAX_NAMED);
    for port in unplaced.iter().take(MAX_NAMED) {
        output::remark(&format!("not planned for: {port}\n"));
    }
    if more > 0 {
        output::remark(&format!("not planned for: {more} more ports\n"));
    }
    let reported = found.reported(topology, |_| false);
    let unjudged = findings.map(|findings| unjudged(network, &found, &findings, |_| false));
    if unjudged.is_none() {
        output::remark(
            "this corruptd has no plan, so it does not know which ports are judged, and a link that only \
             forwards corrupted frames may be reported as their source; ask the corruptd with [plan]\n",
        );
    }
    Ok((reported, Surroundings { entering: found.entering, unjudged: unjudged.unwrap_or_default() }))
}

fn links(path: &Path, topology: &Topology) -> Result<Vec<ReportedLink>> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    read_links(BufReader::new(file), &name, topology).map_err(|error| match error {
        FileError::Form { .. } => {
            let message = error.to_string();
            // If the file belongs to another network, its first link is already wrong.
            let hint = message
                .contains("there is no link")
                .then(|| format!("the network is {topology}; choose another with --topology"));
            UsageError::hinted(message, hint).into()
        }
        _ => Error::from(error),
    })
}

fn explain(plan: &Plan, written: &str, source: &str) -> Result<Explanation> {
    let link = LinkFinder::new(plan.topology()).find(written).map_err(|error| {
        let of_these: Vec<String> = match &error {
            FindError::NotALink { of, .. } => {
                let planned = of.iter().filter(|&&link| plan.link(link).is_some());
                planned.take(MAX_NAMED).map(|&link| plan.topology().full_label(link)).collect()
            }
            _ => Vec::new(),
        };
        let hint = match (&error, of_these.is_empty()) {
            (FindError::NotALink { .. }, false) => {
                Some(format!("write one of those in {source}: {}", of_these.join(", ")))
            }
            (FindError::NotALink { .. }, true) => {
                Some(format!("none of them is in {source}, so they are not planned for"))
            }
            _ => None,
        };
        UsageError::hinted(format!("--explain {written}: {error}"), hint)
    })?;
    let explained = plan.explain(link).ok_or_else(|| Hinted {
        message: format!("--explain {written}: this link is not in {source}, so it is not planned for"),
        hint: "omit --explain to see the links of the plan".to_owned(),
    })?;
    Ok(explained)
}
