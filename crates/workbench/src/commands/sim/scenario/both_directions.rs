//! `linkmend sim scenario both-directions`.

use super::link::{Load, protected_link};
use super::runner::{Scenario, run_and_print};
use super::tables;
use crate::commands::sim::parameters::{ParameterArgs, Preset};
use clap::Args;
use linkmend::failure::Result;
use linkmend_dataplane::config::HeaderFormat;
use linkmend_report::{Cell, Column, Table, Unit};
use linkmend_sim::link::LinkConfig;
use linkmend_sim::parameters::Runs;
use linkmend_sim::scenario::both_directions::{self, BothDirectionsConfig, BothDirectionsReport};
use linkmend_sim::scenario::{ParameterError, Progress};
use linkmend_sim::stress::StressConfig;

/// A link with traffic in both directions.
#[derive(Debug)]
pub struct BothDirections;

impl Preset for BothDirections {
    const RUNS: Runs = Runs::LINE_RATE;
    const WITHOUT: &'static [&'static str] = &["full", "copy-loss"];
    const DEFAULTS: &'static [(&'static str, &'static str)] = &[("frames", "100k")];
    const HELP: &'static [(&'static str, &'static str)] = &[
        ("frames", "Frames that each source sends, like 1M"),
        (
            "reverse-loss",
            "Share of frames corrupted in the other direction [default: the same as in this one]",
        ),
    ];
}

/// Arguments of `linkmend sim scenario both-directions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim scenario both-directions --buffering direct
      Both directions are busy, and each loses one frame in a thousand.

  linkmend sim scenario both-directions --format compact --loss 1e-2 \\
    --reverse-loss 1e-3 --reverse-load 10%
      The headers of the paper's program, and little traffic one way.")]
pub struct BothDirectionsArgs {
    /// Headers of both directions
    #[arg(long, value_enum, default_value_t = HeaderFormat::Transparent, help_heading = "Scenario")]
    format: HeaderFormat,
    /// Share of the link that the traffic takes, like 40%
    #[arg(long, value_name = "SHARE", default_value_t = Load(1.0), help_heading = "Scenario")]
    load: Load,
    /// The same in the other direction
    #[arg(long, value_name = "SHARE", default_value_t = Load(1.0), help_heading = "Scenario")]
    reverse_load: Load,
    #[command(flatten)]
    parameters: ParameterArgs<BothDirections>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

impl BothDirectionsArgs {
    /// Executes the command.
    pub fn execute(&self) -> Result<()> {
        let StressConfig { seed, frames, mut link, .. } = protected_link(&self.parameters)?;
        if self.parameters.given.reverse_loss.is_none() {
            link.reverse_corruption = link.corruption.clone();
        }
        let (Load(load), Load(reverse_load)) = (self.load, self.reverse_load);
        let format = self.format.into();
        run_and_print(&BothDirectionsConfig { seed, frames, link, format, load, reverse_load }, self.json)
    }
}

impl Scenario for BothDirectionsConfig {
    type Report = BothDirectionsReport;

    fn links(&self) -> Vec<LinkConfig> {
        vec![self.link.clone()]
    }

    fn validate(&self) -> Result<(), ParameterError> {
        BothDirectionsConfig::validate(self)
    }

    fn run(&self, progress: &mut Progress<'_>) -> Result<BothDirectionsReport, ParameterError> {
        both_directions::run(self, progress)
    }

    fn frames(&self) -> u64 {
        self.frames
    }

    fn is_complete(&self, report: &BothDirectionsReport) -> bool {
        report.ending.drained
    }

    fn tables(&self, report: &BothDirectionsReport) -> Vec<Table> {
        let directions = || [("forward", &report.forward), ("reverse", &report.reverse)].into_iter();
        let title = "Traffic in both directions".to_owned();
        let deliveries = directions().map(|(name, direction)| (name.to_owned(), &direction.delivery));
        let links = directions().map(|(name, direction)| (name.to_owned(), &direction.link));
        let mut feedback = Table::new("")
            .column(Column::text("feedback for"))
            .column(Column::number("ACKs on data", Unit::Count))
            .column(Column::number("standalone ACKs", Unit::Count))
            .column(Column::number("losses, pauses and resumes", Unit::Count));
        for (name, direction) in directions() {
            feedback.push_row([
                Cell::text(name),
                Cell::number(direction.piggybacked_acks as f64),
                Cell::number(direction.explicit_acks as f64),
                Cell::number(direction.notifications as f64),
            ]);
        }
        vec![tables::deliveries(title, deliveries), tables::links(links), feedback]
    }

    fn closing(&self, report: &BothDirectionsReport) -> String {
        tables::ending(&report.ending, report.seed)
    }
}
