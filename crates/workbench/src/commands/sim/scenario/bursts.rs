//! `linkmend sim scenario bursts`.

use super::link::{describe, protected_link};
use super::runner::{Scenario, run_and_print};
use super::tables::should_be_zero;
use clap::{Arg, Args};
use linkmend::failure::{Result, UsageError};
use linkmend_quantity::{Count, LossRate, Span};
use linkmend_report::{Cell, Column, Table, Unit, quantity};
use linkmend_sim::experiment::StressParameters;
use linkmend_sim::link::LinkConfig;
use linkmend_sim::scenario::bursts::{self, BurstsConfig, BurstsReport};
use linkmend_sim::scenario::{ParameterError, Progress};
use linkmend_sim::stress::StressConfig;
use std::time::Duration;

/// The scenario varies the numbers of dummies itself.
const WITHOUT: [&str; 1] = ["dummy-copies"];
/// Defaults of the number of tails in each run, their loss rate and mean burst, which give a few hundred losses.
const TAILS_DEFAULT: u64 = 10_000;
const LOSS_DEFAULT: f64 = 0.05;
const BURST_DEFAULT: f64 = 3.0;
const NANO: f64 = 1e-9;

/// Arguments of `linkmend sim scenario bursts`.
#[derive(Debug, Args)]
#[command(
    mut_args(describe_tails),
    after_help = "\
Examples:
  linkmend sim scenario bursts --buffering direct
      How many dummies bursts of 3 frames call for.

  linkmend sim scenario bursts --burst 10 --dummies 1,4,16 --frames 20k
  linkmend sim scenario bursts --self-replenishing --dummies 0,1 --json"
)]
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
    /// Dummies go on until one passes, as on the Tofino, instead of ending with their number
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
    parameters: StressParameters,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

fn describe_tails(argument: Arg) -> Arg {
    match argument.get_long() {
        Some("frames") => argument.help("Tails to send in each run, like 20k [default: 10k]"),
        Some("loss") => argument.help("Share of frames the link corrupts, in bursts [default: 5%]"),
        Some("burst") => argument.help("Mean length of a burst in frames (Gilbert-Elliott) [default: 3]"),
        _ => describe(argument, &WITHOUT),
    }
}

impl BurstsArgs {
    /// Executes the command.
    pub fn execute(&self) -> Result<()> {
        let parameters = self.parameters();
        let StressConfig { seed, frames: tails, link, .. } = protected_link(&parameters, &WITHOUT)?;
        let silence_ns = u64::try_from(self.silence.0.as_nanos()).map_err(|_| {
            UsageError::new(format!("--silence {}: must be less than 500 years", self.silence))
        })?;
        let (dummy_copies, self_replenishing) = (self.dummies.clone(), self.self_replenishing);
        let config = BurstsConfig { seed, tails, link, dummy_copies, self_replenishing, silence_ns };
        run_and_print(&config, self.json)
    }

    /// The parameters with this scenario's defaults.
    fn parameters(&self) -> StressParameters {
        let mut parameters = self.parameters.clone();
        parameters.frames.get_or_insert(Count(TAILS_DEFAULT));
        let alternative = parameters.bit_error_rate.is_some()
            || parameters.transceiver.is_some()
            || parameters.losses.is_some();
        if !alternative {
            parameters.loss.get_or_insert(LossRate(LOSS_DEFAULT));
            parameters.burst.get_or_insert(BURST_DEFAULT);
        }
        parameters
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
        let note =
            "Expected: the share of lost tails of which a dummy passes. Delay: beyond that without a loss.";
        vec![table.note(note)]
    }

    fn closing(&self, report: &BurstsReport) -> String {
        format!("Seed {}.", report.seed)
    }
}
