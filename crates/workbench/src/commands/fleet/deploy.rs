//! `linkmend fleet deploy`: which pods to upgrade first.

use super::network::NetworkArgs;
use super::source::SourceArgs;
use super::{protection, repair, share};
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::commands::arguments::threads;
use linkmend::failure::{Interrupted, Plain, Result};
use linkmend::written_file;
use linkmend_experiment::Measurement;
use linkmend_fleet::upgrades::{ALWAYS, PodBenefit, Spared, Upgrades, spared_by_seed, spared_in};

use linkmend_fleet::simulate::Settings;
use linkmend_fleet::strategy::Strategy;
use linkmend_report::{Cell, Column, Table, Unit};
use linkmend_topology::{FabricParameters, Topology};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Width of the tables when standard output is no terminal.
const TABLE_WIDTH: usize = 120;
/// Shares of the pods that the second table shows, in percent.
const STEPS_PCT: [usize; 8] = [5, 10, 25, 50, 75, 90, 95, 100];

/// Arguments of `linkmend fleet deploy`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend fleet deploy                                          # 10 years of the paper's fabric
  linkmend fleet deploy --topology net.yaml --trace history.csv  # your own network and its history
  linkmend fleet deploy --budget 30% --write upgraded.txt        # write the best 30 % of pods ...
  linkmend fleet simulate --upgraded @upgraded.txt               # ... and simulate a year with them

The value of a pod is the amount by which protection would lower the loss rates of its links while they corrupt \
frames but have to stay in operation, because disabling them would leave a ToR short of paths. The values of pods add up, so the order is optimal for any number of pods. Links \
between a pod and the top layer require both to be upgraded; their contribution is shown separately. If all pods \
are built alike and traces are randomly generated, pods differ only by chance, and the output says so. Time \
is counted from the first event of a trace to the last.")]
pub struct DeployArgs {
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Number of traces to generate, with consecutive seeds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000), conflicts_with = "trace")]
    seeds: u64,
    /// Share of its paths to the top layer that every ToR must keep
    #[arg(long, value_name = "SHARE", default_value = "75%", value_parser = share)]
    constraint: f64,
    /// Repair times, each with its share of repairs
    #[arg(long, value_name = "TIME:SHARE,...", default_value = "2d:0.8,4d:0.2")]
    repair: String,
    /// Loss rates that remain with protection: a name or a JSON file, as in `fleet simulate`
    #[arg(long, value_name = "NAME|FILE", default_value = "authors")]
    protection: String,
    /// Rank the pods as if the top layer were upgraded as well
    #[arg(long)]
    with_top: bool,
    /// Share of the pods to upgrade, rounded up; for --write
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "write")]
    budget: Option<f64>,
    /// Write the names of the best pods to this file, for --upgraded @FILE of the other commands
    #[arg(long, value_name = "FILE", requires = "budget")]
    write: Option<PathBuf>,
    /// Number of rows in the table of pods
    #[arg(long, value_name = "N", default_value_t = 15)]
    rows: usize,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub json: bool,
}

impl Study for DeployArgs {
    fn find(&self, watch: &dyn Watch) -> Result<Found> {
        let mut settings = Settings::paper(Strategy::CorrOpt, self.constraint, self.source.draw.seed);
        settings.protection = protection::read(&self.protection)?;
        settings.repair = repair::delays(&self.repair)?;
        let (topology, runs) = self.runs(&settings, watch)?;
        let upgrades = Upgrades::new(&topology, &runs);
        if let (Some(path), Some(budget)) = (&self.write, self.budget) {
            let names = upgrades.within_budget(budget, self.with_top).into_iter().map(|name| name + "\n");
            written_file::write_private(path, names.collect::<String>())?;
        }
        let results = Shown { arguments: self, topology: &topology, upgrades: &upgrades, runs: &runs };
        Found::new(&results.json(), TABLE_WIDTH, vec![results.pods(), results.steps()])
    }
}

impl DeployArgs {
    /// Builds the network, and computes what protection would have spared in each run.
    fn runs(&self, settings: &Settings, watch: &dyn Watch) -> Result<(Topology, Vec<Spared>)> {
        if self.source.trace.is_some() {
            let (topology, trace) = self.source.network_and_trace(&self.network)?;
            let runs = spared_in(&topology, &trace, settings, &[ALWAYS]);
            return Ok((topology, runs));
        }
        let topology = self.network.build(FabricParameters::PAPER)?;
        self.source.draw.check(&topology)?;
        let first = self.source.draw.seed;
        let last = first
            .checked_add(self.seeds)
            .ok_or_else(|| Plain("--seed and --seeds are too large together".to_owned()))?;
        let threads = threads(self.threads.map(usize::from));
        watch.begin(self.seeds, "{bar:30} {pos} of {len} traces  [{left}]");
        let draw = |seed| self.source.draw.trace_of(&topology, seed);
        let watched = (threads, watch.stop()?, &|| watch.advance());
        let runs = spared_by_seed(&topology, settings, first..last, draw, &[ALWAYS], watched);
        let runs = runs.ok_or_else(|| Interrupted {
            message: "interrupted before there was a result".to_owned(),
            hint: "use fewer --seeds or --days to save time".to_owned(),
        })?;
        Ok((topology, runs.into_iter().flatten().collect()))
    }
}

/// The results to print.
struct Shown<'a> {
    arguments: &'a DeployArgs,
    topology: &'a Topology,
    upgrades: &'a Upgrades<'a>,
    runs: &'a [Spared],
}

impl Shown<'_> {
    fn title(&self) -> String {
        let DeployArgs { constraint, source, .. } = self.arguments;
        let traces = match (&source.trace, self.runs.len()) {
            (Some(path), _) => path.display().to_string(),
            (None, 1) => "1 trace".to_owned(),
            (None, count) => format!("{count} traces"),
        };
        format!("Pods to upgrade first: {} % of paths kept, {traces}", constraint * 100.0)
    }

    fn pods(&self) -> Table {
        let mut table = Table::new(self.title())
            .column(Column::number("Rank", Unit::Count))
            .column(Column::text("Pod"))
            .column(Column::number("Switches", Unit::Count))
            .column(Column::number("Avoided within", Unit::Plain))
            .column(Column::number("±", Unit::Plain))
            .column(Column::number("Avoided to the top", Unit::Plain))
            .column(Column::number("Of all, so far", Unit::Share));
        let with_top = self.arguments.with_top;
        let mut sum = 0.0;
        for (place, pod) in self.upgrades.order(with_top).into_iter().enumerate().take(self.arguments.rows) {
            sum += pod.mean(with_top);
            table.push_row([
                Cell::number((place + 1) as f64),
                Cell::text(self.topology.names().zone(pod.zone)),
                Cell::number(f64::from(pod.switches)),
                Cell::number(pod.mean(false)),
                confidence(&pod.within).map_or_else(Cell::missing, Cell::number),
                Cell::number(pod.mean(true) - pod.mean(false)),
                Cell::number(self.upgrades.share_of_all(sum)),
            ]);
        }
        let left = self.upgrades.pods().len().saturating_sub(self.arguments.rows);
        let more = if left > 0 { format!(" {left} more pods: --rows or --json.") } else { String::new() };
        table.note(format!(
            "{}. Avoided: mean reduction over time of the total penalty (the sum of the loss rates of all links \
             in operation), with its 95 % confidence interval over the traces. {}{more}",
            self.topology,
            self.chance()
        ))
    }

    /// A sentence on whether the order is meaningful for other traces.
    fn chance(&self) -> &'static str {
        let (with_top, pods) = (self.arguments.with_top, self.upgrades.pods().len());
        if !with_top && self.upgrades.all() > 0.0 && self.upgrades.spared(pods, false) == 0.0 {
            return "All loss that can be avoided is on links to the top layer; use --with-top to rank by it.";
        }
        match self.upgrades.pods_differ(with_top) {
            None => "There are too few pods and traces to tell whether the ranking is due to chance.",
            Some(true) => "Pods differ by more than chance.",
            Some(false) => "Pods differ by no more than chance between traces, so any order is equally good.",
        }
    }

    fn steps(&self) -> Table {
        let mut table = Table::new(
            "Loss avoided by upgrades, as a share of the loss that protection everywhere would avoid",
        )
        .column(Column::number("Pods", Unit::Count))
        .column(Column::number("Of all pods", Unit::Share))
        .column(Column::number("Best pods", Unit::Share))
        .column(Column::number("Any pods", Unit::Share))
        .column(Column::number("Best, and the top", Unit::Share))
        .column(Column::number("Any, and the top", Unit::Share));
        for step in self.upgrades.steps(&STEPS_PCT) {
            let shares = [step.best, step.any, step.best_with_top, step.any_with_top];
            let head = [Cell::number(step.pods as f64), Cell::number(step.share)];
            table.push_row(head.into_iter().chain(shares.map(Cell::number)));
        }
        let top = self.upgrades.top_switches();
        table.note(match self.upgrades.pods_before_top() {
            Some(pods) => format!(
                "The top layer (switches: {top}) is worth upgrading once {pods} of {} pods have been upgraded; \
                 until then, upgrading the same number of switches in further pods avoids as much loss.",
                self.upgrades.pods().len()
            ),
            None => format!("The top layer (switches: {top}) is never worth upgrading."),
        })
    }

    fn json(&self) -> Value {
        let with_top = self.arguments.with_top;
        let pods = self.upgrades.order(with_top).into_iter().enumerate().map(|(place, pod)| {
            let PodBenefit { zone, switches, within, to_top } = pod;
            json!({
                "rank": place + 1,
                "pod": self.topology.names().zone(*zone),
                "switches": switches,
                "spared_within": pod.mean(false),
                "spared_to_top": pod.mean(true) - pod.mean(false),
                "spared_within_by_trace": within,
                "spared_to_top_by_trace": to_top,
            })
        });
        let penalty = self.runs.iter().map(Spared::penalty).sum::<f64>() / self.runs.len().max(1) as f64;
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "topology": self.topology.to_string(),
            "constraint": self.arguments.constraint,
            "traces": self.runs.len(),
            "first_seed": self.arguments.source.trace.is_none().then_some(self.arguments.source.draw.seed),
            "total_penalty": penalty,
            "spared_by_all": self.upgrades.all(),
            "top_switches": self.upgrades.top_switches(),
            "pods_before_top": self.upgrades.pods_before_top(),
            "pods_differ": self.upgrades.pods_differ(with_top),
            "ordered_with_top": with_top,
            "steps": self.upgrades.steps(&STEPS_PCT),
            "pods": pods.collect::<Vec<Value>>(),
        })
    }
}

/// The uncertainty of the mean, with 95 % confidence.
fn confidence(values: &[f64]) -> Option<f64> {
    let estimate = Measurement::mean(values)?;
    estimate.interval.map(|(_, high)| high - estimate.value)
}
