//! `linkmend fleet simulate`: a network through a trace.

use super::deployment::DeploymentArgs;
use super::network::NetworkArgs;
use super::protection::{self, LimitArgs, ModeName};
use super::repair::RepairArgs;
use super::source::SourceArgs;
use super::word;
use crate::commands::study::{Found, Study, Watch};
use clap::{Args, ValueEnum};
use linkmend::failure::{Context, Interrupted, Result};
use linkmend::written_file::{Unfinished, cannot_write};
use linkmend_fleet::Constraint;
use linkmend_fleet::optimizer::Objective;
use linkmend_fleet::protection::ProtectionTable;
use linkmend_fleet::simulate::{Optimizer, SeriesWriter, Settings, Summary, simulate_while};
use linkmend_fleet::strategy::Strategy;
use linkmend_quantity::LossRate;
use linkmend_report::{Cell, Column, Table, Unit};
use linkmend_topology::Topology;
use serde_json::{Value, json};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Width of the table when standard output is no terminal.
const TABLE_WIDTH: usize = 120;

/// Arguments of `linkmend fleet simulate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend fleet simulate --strategy corropt --constraint 50%
  linkmend fleet simulate --strategy protect+corropt --series week.csv --days 7
  linkmend fleet simulate --trace authors-trace.json --repair 2d:1 --json
  linkmend fleet simulate --topology fat-tree:k=16 --mttf 1000 --deploy 30%
  linkmend fleet simulate --crew 500 --repair-order most-worth \\
    --take-down for-repair

The total penalty is the sum of the loss rates of all active links; the effective penalty is the same sum after \
protection (section 4.8). A link that does not corrupt frames counts as 1e-18, as in the authors' simulator, so that \
ratios are defined. Every ToR keeps at least the given share of its paths to the top layer, and no two ToRs lose \
contact with each other \
(which --constraint paper=75% allows, as in the paper). The series has a row before and a row after each event.")]
pub struct SimulateArgs {
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// Strategy for handling corrupting links
    #[arg(long, default_value = Strategy::ProtectCorrOpt.name(), value_parser = word::<Strategy>())]
    strategy: Strategy,
    /// Share of its paths and capacity to the top layer that every ToR must keep, while ToRs that can reach each other
    /// stay connected: one share for both, like 75%; one for each, like paths=75%,capacity=50%; or the paper's
    /// constraint, like paper=75%, which counts only paths and lets ToRs lose contact with each other
    #[arg(long, value_name = "SHARE", default_value = "75%")]
    constraint: Constraint,
    #[command(flatten)]
    repair: RepairArgs,
    /// Loss rates and capacities that remain with protection: `authors` (published, 100G), measurements from Linkmend's
    /// simulator with LinkGuardian (`25G`, `100G`, `400G`) or with LLR (`llr-100G`, `llr-400G`, `llr-800G`), or a JSON
    /// file with rows of loss_rate, effective_loss_rate and capacity and, for non-blocking mode, non_blocking_rows
    #[arg(long, value_name = "NAME|FILE", default_value = "authors")]
    protection: String,
    /// Protection mode; the authors measured only ordered mode
    #[arg(long, value_enum, default_value_t = ModeName::Ordered)]
    mode: ModeName,
    #[command(flatten)]
    deployment: DeploymentArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Objective to minimise: CorrOpt's penalty, or the loss and the capacity cost that remain with protection
    #[arg(long, value_enum, default_value_t = ObjectiveName::Penalty)]
    objective: ObjectiveName,
    /// Loss rate that is as bad as losing a whole link's capacity; for --objective effective
    #[arg(long, value_name = "LOSS", default_value = "1e-3")]
    capacity_weight: LossRate,
    /// Optimizer: exact, or greedy (the worst link first)
    #[arg(long, default_value = Optimizer::Exact.name(), value_parser = word::<Optimizer>())]
    optimizer: Optimizer,
    /// Loss rate assumed for a link that does not corrupt frames
    #[arg(long, value_name = "LOSS", default_value = "1e-18")]
    clean_loss_rate: LossRate,
    /// Write all metrics before and after every event to this file (CSV); until it is complete, its name ends in .part
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// What an optimizer minimises.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ObjectiveName {
    Penalty,
    Effective,
}

impl ObjectiveName {
    /// The objective, with the price of capacity if it has one.
    pub fn with(self, capacity_weight: f64) -> Objective {
        match self {
            ObjectiveName::Penalty => Objective::Penalty,
            ObjectiveName::Effective => Objective::Effective { capacity_weight },
        }
    }
}

impl Study for SimulateArgs {
    fn find(&self, watch: &dyn Watch) -> Result<Found> {
        let began = Instant::now();
        let protection = protection::read_for(&self.protection, self.mode)?;
        let (topology, trace) = self.source.network_and_trace(&self.network)?;
        let settings = self.settings(&topology, protection)?;
        let mut series = match &self.series {
            Some(path) => {
                let (file, unfinished) = Unfinished::create(path)?;
                let writer = SeriesWriter::new(BufWriter::new(file)).map_err(cannot_write(path))?;
                Some((writer, unfinished))
            }
            None => None,
        };
        let mut trouble = Ok(());
        watch.begin(
            trace.events().last().map_or(0, |event| event.time_s),
            "{bar:30} {percent:>3} %  [{left}]",
        );
        let stop = watch.stop()?;
        let mut steps = 0_u64;
        let summary = simulate_while(&topology, &trace, &settings, &mut |step, _| {
            if let Some((series, _)) = &mut series
                && trouble.is_ok()
            {
                trouble = series.write(step);
            }
            steps += 1;
            if steps.is_multiple_of(1 << 16) {
                watch.reach(step.time_s);
            }
            !stop.load(Ordering::Relaxed)
        });
        let hint = "fewer --days take less time";
        let summary =
            summary.ok_or_else(|| Interrupted::error("interrupted before the trace had ended", hint))?;
        let written = trouble.and_then(|()| match series {
            Some((writer, unfinished)) => writer.finish().and_then(|()| unfinished.finish()),
            None => Ok(()),
        });
        written.map_err(cannot_write(self.series.as_deref().unwrap_or(Path::new("series"))))?;
        let wall_s = began.elapsed().as_secs_f64();
        Found::new(
            &self.json(&topology, &summary)?,
            TABLE_WIDTH,
            vec![self.table(&topology, &summary, wall_s)],
        )
    }
}

impl SimulateArgs {
    fn settings(&self, topology: &Topology, protection: ProtectionTable) -> Result<Settings> {
        Ok(Settings {
            strategy: self.strategy,
            constraint: self.constraint,
            repair: self.repair.delays()?,
            crew: self.repair.crew(),
            seed: self.source.draw.seed,
            protection,
            deployment: self.deployment.deployment(topology, self.source.draw.seed)?,
            limits: self.limits.limits(),
            objective: self.objective.with(self.capacity_weight.0),
            optimizer: self.optimizer,
            clean_loss_rate: self.clean_loss_rate.0,
        })
    }

    fn json(&self, topology: &Topology, summary: &Summary) -> Result<Value> {
        let mut object = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "seed": self.source.draw.seed,
            "topology": topology.to_string(),
            "links": topology.link_count(),
            "strategy": self.strategy.name(),
            "constraint": self.constraint.paths,
            "capacity_constraint": self.constraint.capacity,
            "connected": self.constraint.connected,
            "repair": self.repair.delays()?.to_string(),
            "crew": self.repair.crew(),
        });
        let summary = serde_json::to_value(summary).context("cannot serialise the summary")?;
        if let (Some(object), Some(summary)) = (object.as_object_mut(), summary.as_object()) {
            object.extend(summary.clone());
        }
        Ok(object)
    }

    fn table(&self, topology: &Topology, summary: &Summary, wall_s: f64) -> Table {
        let strategy = self.strategy.name();
        let title = format!(
            "{strategy} on {topology}, every ToR keeps {}, seed {}",
            self.constraint.phrase(),
            self.source.draw.seed
        );
        let mut table = Table::new(title).column(Column::text("Over time"));
        for heading in ["Mean", "Minimum", "10 %", "Median", "90 %", "99 %", "Maximum"] {
            table = table.column(Column::number(heading, Unit::Plain));
        }
        for (label, metric) in summary.labelled() {
            let values =
                [metric.mean, metric.min, metric.p10, metric.p50, metric.p90, metric.p99, metric.max];
            table.push_row([Cell::text(label)].into_iter().chain(values.map(Cell::number)));
        }
        let Summary { loss_events, skipped_events, repairs, fast_checker_rejections, .. } = summary;
        let waits = match self.repair.crew() {
            None => String::new(),
            Some(_) => format!(
                ", started on average {:.1} days after the link was disabled, with at most {} links waiting",
                summary.repair_wait_s as f64 / 86_400.0 / (*repairs).max(1) as f64,
                summary.max_waiting_repairs
            ),
        };
        table.note(format!(
            "Total penalty: sum of the loss rates of all links in operation; effective: the same sum after \
             protection. {loss_events} loss events, {skipped_events} of them on disabled links and skipped; \
             {repairs} repairs{waits}; {fast_checker_rejections} links could not be disabled immediately. {wall_s:.2} s."
        ))
    }
}
