//! `linkmend sim scenario bursts`.

use super::link::protected_link;
use super::runner::{Scenario, run_and_print};
use super::tables::should_be_zero;
use crate::commands::sim::parameters::{ParameterArgs, Preset};
use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend_quantity::Span;
use linkmend_report::{Cell, Column, Table, Unit, quantity};
use linkmend_sim::link::LinkConfig;
use linkmend_sim::parameters::Runs;
use linkmend_sim::scenario::bursts::{self, BurstsConfig, BurstsReport};
use linkmend_sim::scenario::{ParameterError, Progress};
use linkmend_sim::stress::StressConfig;
use std::time::Duration;

const NANO: f64 = 1e-9;

/// A link whose traffic pauses after each frame. The defaults give a few hundred losses; the scenario varies the dummies.
#[derive(Debug)]
pub struct Tails;

impl Preset for Tails {
    const RUNS: Runs = Runs::LINE_RATE;
    const WITHOUT: &'static [&'static str] = &["full", "copy-loss", "dummy-copies"];
    const DEFAULTS: &'static [(&'static str, &'static str)] =
        &[("frames", "10k"), ("loss", "5%"), ("mean-burst", "3")];
    const HELP: &'static [(&'static str, &'static str)] = &[
        ("frames", "Tails to send in each run, like 20k"),
        ("loss", "Share of frames the link corrupts, in bursts"),
    ];
}

/// Arguments of `linkmend sim scenario bursts`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim scenario bursts --buffering direct
      How many dummies are needed against bursts of 3 frames.

  linkmend sim scenario bursts --mean-burst 10 --dummies 1,4,16 --frames 20k
  linkmend sim scenario bursts --self-replenishing --dummies 0,1 --json")]
pub struct BurstsArgs {
    /// Numbers of dummies sent each time the queue runs empty, one run for each
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        num_args = 1..,
        default_values_t = [0, 1, 2, 3, 4, 6, 8],
        help_heading = "Scenario"
    )]
    dummies: Vec<u8>,
    /// Send dummies until one gets through, as on the Tofino, instead of a fixed number
    #[arg(long, help_heading = "Scenario")]
    self_replenishing: bool,
    /// Time from one tail to the next; at least twice the recovery timeout
    #[arg(
        long,
        value_name = "TIME",
        default_value_t = Span(Duration::from_micros(100)),
        help_heading = "Scenario"
    )]
    silence: Span,
    #[command(flatten)]
    parameters: ParameterArgs<Tails>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

impl BurstsArgs {
    /// Executes the command.
    pub fn execute(&self) -> Result<()> {
        let StressConfig { seed, frames: tails, link, .. } = protected_link(&self.parameters)?;
        let silence_ns = u64::try_from(self.silence.0.as_nanos()).map_err(|_| {
            UsageError::new(format!("--silence {}: must be less than 500 years", self.silence))
        })?;
        let (dummy_copies, self_replenishing) = (self.dummies.clone(), self.self_replenishing);
        let config = BurstsConfig { seed, tails, link, dummy_copies, self_replenishing, silence_ns };
        run_and_print(&config, self.json)
    }
}

impl Scenario for BurstsConfig {
    type Report = BurstsReport;

    fn links(&self) -> Vec<LinkConfig> {
        vec![self.link.clone()]
    }

    fn validate(&self) -> Result<(), ParameterError> {
        BurstsConfig::validate(self)
    }

    fn run(&self, progress: &mut Progress<'_>) -> Result<BurstsReport, ParameterError> {
        bursts::run(self, progress)
    }

    fn frames(&self) -> u64 {
        self.tails.saturating_mul(self.dummy_copies.len() as u64)
    }

    fn is_complete(&self, report: &BurstsReport) -> bool {
        report.rows.len() == self.dummy_copies.len()
    }

    fn tables(&self, report: &BurstsReport) -> Vec<Table> {
        let silence = quantity::duration(self.silence_ns as f64 * NANO);
        let tails = quantity::count(self.tails as f64);
        let mut table = Table::new(format!("{tails} tails with silences of {silence}"))
            .column(Column::number("dummies", Unit::Count))
            .column(Column::number("tails lost", Unit::Count))
            .column(Column::number("recovered in time", Unit::Count))
            .column(Column::number("late", Unit::Count))
            .column(Column::number("never", Unit::Count))
            .column(Column::number("in time", Unit::Share))
            .column(Column::number("expected", Unit::Share))
            .column(Column::number("median delay", Unit::Second))
            .column(Column::number("99 %", Unit::Second))
            .column(Column::number("dummies sent", Unit::Count));
        for row in &report.rows {
            table.push_row([
                Cell::number(f64::from(row.dummy_copies)),
                Cell::number(row.tails_lost as f64),
                Cell::number(row.recovered_in_time as f64),
                Cell::number(row.recovered_late as f64),
                should_be_zero(row.never),
                Cell::number(row.in_time_share),
                Cell::from(row.revealed_share_expected),
                Cell::number(row.extra_delay_ns.p50 * NANO),
                Cell::number(row.extra_delay_ns.p99 * NANO),
                Cell::number(row.dummies_sent as f64),
            ]);
        }
        let note = "Expected: share of lost tails of which at least one dummy gets through. Delay: in addition to the \
             delay without a loss.";
        vec![table.note(note)]
    }

    fn closing(&self, report: &BurstsReport) -> String {
        format!("Seed {}.", report.seed)
    }
}
