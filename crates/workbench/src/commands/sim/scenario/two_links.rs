//! `linkmend sim scenario two-links`.

use super::link::{Load, check_protected, described};
use super::runner::{Scenario, run_and_print};
use super::tables::should_be_zero;
use crate::commands::sim::parameters::{ParameterArgs, Preset};
use clap::{Args, ValueEnum};
use linkmend::failure::{Result, UsageError};
use linkmend_quantity::{BitRate, LossRate, Span};
use linkmend_report::{Cell, Column, Table, Unit};
use linkmend_sim::flows::Detection;
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::{Buffering, RATE_REQUIREMENT};
use linkmend_sim::parameters::{RunParameters, Runs};
use linkmend_sim::scenario::two_links::{self, Cut, Noticed, TwoLinksConfig, TwoLinksReport, TwoLinksRow};
use linkmend_sim::scenario::{ParameterError, Progress};
use linkmend_sim::stress::StressConfig;
use linkmend_sim::time::{Rate, Time};
use std::time::Duration;

const MICRO: f64 = 1e-6;

/// Two links between two ends. Frames follow from the load and the failures; buffers are direct, because a session over two
/// ports has one.
#[derive(Debug)]
pub struct Pair;

impl Preset for Pair {
    const RUNS: Runs = Runs::LINE_RATE;
    const WITHOUT: &'static [&'static str] = &[
        "full",
        "copy-loss",
        "speed",
        "frames",
        "bit-error-rate",
        "transceiver",
        "attenuation",
        "losses",
        "recovery-timeout",
        "rounds",
        "dummy-copies",
        "buffering",
        "loop-latency",
        "recirculation-speed",
        "recirculation-buffer",
        "pipe-capacity",
        "timer-interval",
        "no-backpressure",
        "bit-errors",
    ];
}

/// Arguments of `linkmend sim scenario two-links`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim scenario two-links --loss 1e-3
      A link fails 50 times; each failure is detected after 30 us, and the link comes back after 500 us.

  linkmend sim scenario two-links --speeds 10G,25G,100G \\
    --detection squelch,f10 --loss 0 --beside-sqr
      Link ends and SQR under the same failures.

  linkmend sim scenario two-links --noticed silence --detection 100us \\
    --cut either --json

--loss applies to both links in both directions, unless --reverse-loss is given. --json contains each failure.")]
pub struct TwoLinksArgs {
    /// Rates of the links, one run for each
    #[arg(long, value_name = "RATE,..", value_delimiter = ',', num_args = 1.., default_value = "100G", help_heading = "Scenario")]
    speeds: Vec<BitRate>,
    /// Time from a failure until the ends detect it: squelch (2.755us), f10 (30us) or a time; one run for each
    #[arg(long, value_name = "TIME,..", value_delimiter = ',', num_args = 1.., default_value = "f10", help_heading = "Scenario")]
    detection: Vec<String>,
    /// How the ends detect a failure
    #[arg(long, value_enum, default_value_t = NoticedName::Carrier, help_heading = "Scenario")]
    noticed: NoticedName,
    /// Share of a link that the traffic takes
    #[arg(long, value_name = "SHARE", default_value_t = Load(0.8), help_heading = "Scenario")]
    load: Load,
    /// The same for traffic in the other direction [default: none]
    #[arg(long, value_name = "SHARE", help_heading = "Scenario")]
    reverse_load: Option<Load>,
    /// Number of failures, 1 to 100000
    #[arg(long, value_name = "N", default_value_t = 50, help_heading = "Scenario")]
    cuts: u64,
    /// Which link fails
    #[arg(long, value_enum, default_value_t = CutName::Primary, help_heading = "Scenario")]
    cut: CutName,
    /// Time between failures, varied at random by up to an eighth
    #[arg(long, value_name = "TIME", default_value_t = microseconds(2_000), help_heading = "Scenario")]
    failure_every: Span,
    /// How long a link stays down
    #[arg(long, value_name = "TIME", default_value_t = microseconds(500), help_heading = "Scenario")]
    down_for: Span,
    /// Silence that counts as a failure even if the carrier stays; probes are sent at a quarter of this interval
    #[arg(long, value_name = "TIME", default_value_t = microseconds(200), help_heading = "Scenario")]
    silence: Span,
    /// How long the primary link must have been up before it is used again
    #[arg(long, value_name = "TIME", default_value_t = microseconds(200), help_heading = "Scenario")]
    return_after: Span,
    /// Also run SQR, as published, under the same failures
    #[arg(long, help_heading = "Scenario")]
    beside_sqr: bool,
    #[command(flatten)]
    parameters: ParameterArgs<Pair>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

fn microseconds(count: u64) -> Span {
    Span(Duration::from_micros(count))
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum NoticedName {
    /// Both ports lose their carrier
    Carrier,
    /// The carrier stays, but nothing arrives for the detection time, at least 20us
    Silence,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CutName {
    /// The link that is used unless it has failed
    Primary,
    /// One of the two, at random
    Either,
}

impl TwoLinksArgs {
    /// Executes the command.
    pub fn execute(&self) -> Result<()> {
        let (seed, links) = self.links()?;
        let detection = |text: &String| {
            let parsed = text.parse::<Detection>();
            parsed.map_err(|error| {
                UsageError::new(format!("--detection {}: {}", error.value, error.requirement))
            })
        };
        let config = TwoLinksConfig {
            seed,
            links,
            detections: self.detection.iter().map(detection).collect::<Result<_, UsageError>>()?,
            noticed: match self.noticed {
                NoticedName::Carrier => Noticed::Carrier,
                NoticedName::Silence => Noticed::Silence,
            },
            load: self.load.0,
            reverse_load: self.reverse_load.map_or(0.0, |load| load.0),
            cuts: self.cuts,
            cut: match self.cut {
                CutName::Primary => Cut::Primary,
                CutName::Either => Cut::Either,
            },
            every: time("failure-every", self.failure_every)?,
            down_for: time("down-for", self.down_for)?,
            silence: time("silence", self.silence)?,
            return_after: time("return-after", self.return_after)?,
            beside_sqr: self.beside_sqr,
        };
        run_and_print(&config, self.json)
    }

    /// The seed, and a link for each rate.
    fn links(&self) -> Result<(u64, Vec<LinkConfig>)> {
        let mut links = Vec::new();
        let mut seed = 1;
        check_protected(&self.parameters.given)?;
        for speed in &self.speeds {
            if Rate::from_bits_per_second(speed.0).is_none() {
                return Err(UsageError::new(format!("--speeds {speed}: {RATE_REQUIREMENT}")).into());
            }
            let mut parameters = RunParameters { speed: Some(*speed), ..self.parameters.parameters() };
            let loss = *parameters.loss.get_or_insert(LossRate(1e-3));
            parameters.reverse_loss.get_or_insert(loss);
            let StressConfig { seed: of_all, link, .. } = described(&parameters)?;
            seed = of_all;
            links.push(link.buffered(Buffering::Direct));
        }
        Ok((seed, links))
    }
}

/// The simulator's time.
fn time(flag: &str, span: Span) -> Result<Time, UsageError> {
    let nanos = u64::try_from(span.0.as_nanos()).ok().filter(|nanos| nanos.checked_mul(1_000).is_some());
    nanos.map(Time::from_nanos).ok_or_else(|| {
        UsageError::new(format!("--{flag} {span}: must be at most 213 days, the simulator's clock"))
    })
}

impl Scenario for TwoLinksConfig {
    type Report = TwoLinksReport;

    fn links(&self) -> Vec<LinkConfig> {
        self.links.clone()
    }

    fn validate(&self) -> Result<(), ParameterError> {
        TwoLinksConfig::validate(self)
    }

    fn run(&self, progress: &mut Progress<'_>) -> Result<TwoLinksReport, ParameterError> {
        two_links::run(self, progress)
    }

    fn frames(&self) -> u64 {
        two_links::frames(self)
    }

    fn is_complete(&self, report: &TwoLinksReport) -> bool {
        report.rows.iter().all(|row| row.drained)
    }

    fn tables(&self, report: &TwoLinksReport) -> Vec<Table> {
        vec![frames(self, report), costs(report)]
    }

    fn closing(&self, report: &TwoLinksReport) -> String {
        format!("Seed {}.", report.seed)
    }
}

/// The columns that tell the rows of both tables apart.
fn begin(title: &str) -> Table {
    Table::new(title.to_owned())
        .column(Column::text("scheme"))
        .column(Column::number("speed", Unit::BitPerSecond))
        .column(Column::number("detection", Unit::Second))
}

fn first(row: &TwoLinksRow) -> Vec<Cell> {
    vec![Cell::text(row.scheme), Cell::number(row.speed_gbps * 1e9), Cell::number(row.detection_us * MICRO)]
}

fn frames(config: &TwoLinksConfig, report: &TwoLinksReport) -> Table {
    let is_ordered = config.links.iter().all(LinkConfig::is_ordered);
    let mut table = begin("Frames over two links of which one fails")
        .column(Column::number("failures", Unit::Count))
        .column(Column::number("sent", Unit::Count))
        .column(Column::number("cut", Unit::Count))
        .column(Column::number("corrupted", Unit::Count))
        .column(Column::number("undelivered", Unit::Count))
        .column(Column::number("delivered twice", Unit::Count))
        .column(Column::number("reordered", Unit::Count))
        .column(Column::number("resent", Unit::Count))
        .column(Column::number("duplicates dropped", Unit::Count));
    for row in &report.rows {
        let ways = [Some(row.forward), row.reverse];
        let sum = |what: fn(&two_links::Delivered) -> u64| ways.iter().flatten().map(what).sum::<u64>();
        let reordered = sum(|way| way.frames_reordered);
        table.push_row(first(row).into_iter().chain([
            Cell::number(row.cuts.len() as f64),
            Cell::number(sum(|way| way.frames_sent) as f64),
            Cell::number(row.frames_cut as f64),
            Cell::number(row.frames_corrupted as f64),
            should_be_zero(sum(|way| way.frames_lost)),
            should_be_zero(sum(|way| way.frames_twice)),
            if is_ordered { should_be_zero(reordered) } else { Cell::number(reordered as f64) },
            Cell::number(row.frames_resent as f64),
            Cell::number(row.duplicates_dropped as f64),
        ]));
    }
    table.note("Resent: frames retransmitted because of a switch to the other link or back.")
}

fn costs(report: &TwoLinksReport) -> Table {
    let mut table = begin("")
        .column(Column::number("recovery, minimum", Unit::Second))
        .column(Column::number("median", Unit::Second))
        .column(Column::number("99 %", Unit::Second))
        .column(Column::number("maximum", Unit::Second))
        .column(Column::number("kept", Unit::Byte))
        .column(Column::number("kept during a failure", Unit::Byte))
        .column(Column::number("Rx buffer", Unit::Byte))
        .column(Column::number("queue", Unit::Byte));
    for row in &report.rows {
        let recovery = |what: fn(&linkmend_sim::flows::Summary) -> f64| {
            Cell::from(row.recovery_us.as_ref().map(|times| what(times) * MICRO))
        };
        table.push_row(first(row).into_iter().chain([
            recovery(|times| times.min),
            recovery(|times| times.p50),
            recovery(|times| times.p99),
            recovery(|times| times.max),
            Cell::number(row.steady_buffer_bytes as f64),
            Cell::number(row.failed_buffer_bytes as f64),
            Cell::number(row.rx_buffer_bytes as f64),
            Cell::number(row.queue_bytes as f64),
        ]));
    }
    table.note("Recovery: from the last delivery before a failure to the first one after it. Buffers: maximum fill levels.")
}
