//! `linkmend sim scenario fallback`.

use super::link::{Load, protected_link};
use super::runner::{Scenario, run_and_print};
use super::tables;
use crate::commands::sim::parameters::{ParameterArgs, Preset};
use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend_quantity::{LossRate, Span};
use linkmend_report::{Cell, Column, Table, Unit, quantity};
use linkmend_sim::link::LinkConfig;
use linkmend_sim::network::WIRE_OVERHEAD_BYTES;
use linkmend_sim::parameters::Runs;
use linkmend_sim::scenario::fallback::{self, FallbackReport, FallbackRunConfig, Phase};
use linkmend_sim::scenario::{ParameterError, Progress};
use linkmend_sim::stress::StressConfig;
use std::str::FromStr;
use std::time::Duration;

/// A link whose phases say what it loses, and how many frames there are.
#[derive(Debug)]
pub struct Phases;

impl Preset for Phases {
    const RUNS: Runs = Runs::LINE_RATE;
    const WITHOUT: &'static [&'static str] = &[
        "full",
        "copy-loss",
        "frames",
        "loss",
        "mean-burst",
        "bit-errors",
        "bit-error-rate",
        "transceiver",
        "attenuation",
        "losses",
    ];
}

/// Arguments of `linkmend sim scenario fallback`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim scenario fallback --buffering direct
      1e-4 for 5 ms, 8% for 5 ms, 40% for 10 ms, and 1e-4 again for 30 ms.

  linkmend sim scenario fallback --phase 10ms,1e-3 --phase 10ms,20% \\
    --fallback-ordered-loss-max 10% --json
      Phases and a limit of your own.

The phases and --load determine how many frames are sent.")]
pub struct FallbackArgs {
    /// How long a phase lasts, and its loss rate; repeat for further phases [default: 5ms,1e-4 5ms,8% 10ms,40%
    /// 30ms,1e-4]
    #[arg(long, value_name = "TIME,LOSS", help_heading = "Scenario")]
    phase: Vec<PhaseText>,
    /// Share of the link that the traffic takes, like 40%
    #[arg(long, value_name = "SHARE", default_value_t = Load(0.4), help_heading = "Scenario")]
    load: Load,
    /// Time between two lines of the series
    #[arg(long, value_name = "TIME", default_value_t = milliseconds(1), help_heading = "Scenario")]
    sample: Span,
    /// Loss rate above which the link leaves ordered mode
    #[arg(long, value_name = "RATE", default_value_t = LossRate(0.05), help_heading = "Scenario")]
    fallback_ordered_loss_max: LossRate,
    /// Loss rate above which protection is given up
    #[arg(long, value_name = "RATE", default_value_t = LossRate(0.3), help_heading = "Scenario")]
    fallback_non_blocking_loss_max: LossRate,
    /// How long the loss rate must be below half of its limit before protection returns
    #[arg(long, value_name = "TIME", default_value_t = milliseconds(2), help_heading = "Scenario")]
    fallback_return_hold: Span,
    /// How long a link stays dormant before it is tried again
    #[arg(long, value_name = "TIME", default_value_t = milliseconds(2), help_heading = "Scenario")]
    fallback_dormant_hold: Span,
    /// Frames over which the loss rate is measured
    #[arg(long, value_name = "FRAMES", default_value_t = 2_000, help_heading = "Scenario")]
    loss_window: u32,
    #[command(flatten)]
    parameters: ParameterArgs<Phases>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

fn milliseconds(count: u64) -> Span {
    Span(Duration::from_millis(count))
}

/// A phase as it is written.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PhaseText {
    duration: Span,
    loss: LossRate,
}

impl FromStr for PhaseText {
    type Err = String;

    fn from_str(text: &str) -> Result<PhaseText, String> {
        let (duration, loss) = text
            .split_once(',')
            .ok_or_else(|| format!("`{text}` is not TIME,LOSS; write it like 5ms,1e-3"))?;
        Ok(PhaseText {
            duration: duration.trim().parse().map_err(|error| format!("{error}"))?,
            loss: loss.parse().map_err(|error| format!("{error}"))?,
        })
    }
}

impl FallbackArgs {
    /// Executes the command.
    pub fn execute(&self) -> Result<()> {
        let StressConfig { seed, link, .. } = protected_link(&self.parameters)?;
        let sudden = FallbackRunConfig::sudden(link);
        let phase = |PhaseText { duration, loss }: &PhaseText| {
            Ok(Phase { duration_us: microseconds("phase", *duration)?, loss: loss.0 })
        };
        let phases = self.phase.iter().map(phase).collect::<Result<Vec<Phase>, UsageError>>()?;
        let config = FallbackRunConfig {
            seed,
            phases: if phases.is_empty() { sudden.phases.clone() } else { phases },
            load: self.load.0,
            sample_us: microseconds("sample", self.sample)?,
            ordered_loss_max: self.fallback_ordered_loss_max.0,
            non_blocking_loss_max: self.fallback_non_blocking_loss_max.0,
            return_hold_us: microseconds("fallback-return-hold", self.fallback_return_hold)?,
            dormant_hold_us: microseconds("fallback-dormant-hold", self.fallback_dormant_hold)?,
            loss_window_frames: self.loss_window,
            ..sudden
        };
        run_and_print(&config, self.json)
    }
}

/// Converts a time to whole microseconds, as the simulator takes it.
fn microseconds(flag: &str, time: Span) -> Result<u64, UsageError> {
    let whole = time.0.as_nanos().is_multiple_of(1_000).then(|| u64::try_from(time.0.as_micros()).ok());
    whole
        .flatten()
        .ok_or_else(|| UsageError::new(format!("--{flag} {time}: must be a whole number of microseconds")))
}

impl Scenario for FallbackRunConfig {
    type Report = FallbackReport;

    fn links(&self) -> Vec<LinkConfig> {
        vec![self.link.clone()]
    }

    fn validate(&self) -> Result<(), ParameterError> {
        FallbackRunConfig::validate(self)
    }

    fn run(&self, progress: &mut Progress<'_>) -> Result<FallbackReport, ParameterError> {
        fallback::run(self, progress)
    }

    fn frames(&self) -> u64 {
        let us: u64 = self.phases.iter().map(|phase| phase.duration_us).sum();
        let bits = (f64::from(self.link.frame_bytes) + WIRE_OVERHEAD_BYTES as f64) * 8.0;
        (us as f64 * 1e-6 * self.link.rate.bits_per_second() as f64 * self.load / bits) as u64
    }

    fn is_complete(&self, report: &FallbackReport) -> bool {
        report.ending.drained
    }

    fn tables(&self, report: &FallbackReport) -> Vec<Table> {
        vec![changes(report), series(report)]
    }

    fn closing(&self, report: &FallbackReport) -> String {
        tables::ending(&report.ending, report.seed)
    }
}

fn changes(report: &FallbackReport) -> Table {
    let title = format!(
        "{} of {} frames undelivered; the level changed {} times",
        quantity::count(report.frames_undelivered as f64),
        quantity::count(report.frames_sent as f64),
        report.changes.len()
    );
    let mut table = Table::new(title)
        .column(Column::number("at", Unit::Second))
        .column(Column::text("level from then on"))
        .column(Column::number("loss rate in force", Unit::LossRate));
    for change in &report.changes {
        let at = Cell::number(change.at_us * 1e-6);
        table.push_row([at, Cell::text(change.level), Cell::number(change.loss)]);
    }
    table
}

fn series(report: &FallbackReport) -> Table {
    let mut table = Table::new("")
        .column(Column::number("until", Unit::Second))
        .column(Column::number("loss rate in force", Unit::LossRate))
        .column(Column::number("measured", Unit::LossRate))
        .column(Column::text("level"))
        .column(Column::number("copies", Unit::Count))
        .column(Column::number("actual loss", Unit::LossRate))
        .column(Column::number("effective loss", Unit::LossRate))
        .column(Column::number("speed", Unit::BitPerSecond));
    for sample in &report.samples {
        table.push_row([
            Cell::number(sample.at_us as f64 * 1e-6),
            Cell::number(sample.loss),
            Cell::from(sample.measured_loss),
            Cell::text(sample.level),
            Cell::number(f64::from(sample.copies)),
            Cell::number(sample.actual_loss),
            Cell::number(sample.effective_loss),
            Cell::number(sample.speed_gbps * 1e9),
        ]);
    }
    table
}
