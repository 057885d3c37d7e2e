//! `linkmend sim scenario path`.

use super::link::{Load, link};
use super::runner::{Scenario, run_and_print};
use super::tables;
use crate::commands::sim::parameters::{ParameterArgs, Preset};
use clap::Args;
use linkmend::failure::{Result, UsageError};
use linkmend_quantity::{BitRate, ByteSize, LossRate};
use linkmend_report::{Cell, Column, Table, Unit, quantity};
use linkmend_sim::flows::SchemeKind;
use linkmend_sim::link::config::SwitchHardware;
use linkmend_sim::link::{LinkConfig, PORT_QUEUE, QueueLimits};
use linkmend_sim::parameters::{RunParameters, Runs};
use linkmend_sim::scenario::path::{self, PathConfig, PathReport};
use linkmend_sim::scenario::{ParameterError, Progress};
use linkmend_sim::stress::StressConfig;
use std::str::FromStr;

/// Default number of hops.
const HOPS_DEFAULT: usize = 3;

/// Links in a row.
#[derive(Debug)]
pub struct Hops;

impl Preset for Hops {
    const RUNS: Runs = Runs::LINE_RATE;
    const WITHOUT: &'static [&'static str] = &["full", "copy-loss"];
    const DEFAULTS: &'static [(&'static str, &'static str)] = &[("frames", "100k")];
    const HELP: &'static [(&'static str, &'static str)] =
        &[("frames", "Frames that each source sends, like 1M")];
}

/// Arguments of `linkmend sim scenario path`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim scenario path --hops 4 --loss 1e-2
      Four identical links, each protected.

  linkmend sim scenario path --hops 4 --loss 1e-2 --scheme none --load 50%
      The same unprotected: losses add up.

  linkmend sim scenario path --hop 100G,1e-3 --hop 100G,0,off --hop 25G,1e-3 \\
    --load 20%
      Three different links, the second of which is healthy and unprotected.")]
pub struct PathArgs {
    /// Number of links in a row, all with the same options, 1 to 16 [default: 3]
    #[arg(long, value_name = "N", conflicts_with = "hop", help_heading = "Scenario")]
    hops: Option<usize>,
    /// One link of the path: its rate, then its loss rate if it differs from --loss, then `off` if it is unprotected;
    /// repeat in the direction of the data
    #[arg(long, value_name = "RATE[,LOSS][,off]", help_heading = "Scenario")]
    hop: Vec<HopText>,
    /// Share of the first link that the traffic takes, like 40%
    #[arg(long, value_name = "SHARE", default_value_t = Load(1.0), help_heading = "Scenario")]
    load: Load,
    /// Queue limit before each link; frames beyond it are dropped
    #[arg(
        long,
        value_name = "SIZE",
        default_value_t = ByteSize(PORT_QUEUE.class_bytes),
        help_heading = "Scenario"
    )]
    queue: ByteSize,
    /// Bytes in a queue above which it marks frames (ECN)
    #[arg(
        long,
        value_name = "SIZE",
        default_value_t = ByteSize(PORT_QUEUE.ecn_bytes),
        help_heading = "Scenario"
    )]
    ecn: ByteSize,
    #[command(flatten)]
    parameters: ParameterArgs<Hops>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// A hop as it is written.
#[derive(Debug, Clone, PartialEq)]
struct HopText {
    written: String,
    rate: BitRate,
    loss: Option<LossRate>,
    off: bool,
}

impl FromStr for HopText {
    type Err = String;

    fn from_str(text: &str) -> Result<HopText, String> {
        let mut parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let off = parts.len() > 1 && parts.last() == Some(&"off");
        if off {
            parts.pop();
        }
        let (rate, loss) = match parts[..] {
            [rate] => (rate, None),
            [rate, loss] => (rate, Some(loss)),
            _ => return Err(format!("`{text}` is not RATE[,LOSS][,off]; write it like 25G,1e-3 or 25G,off")),
        };
        let rate = rate.parse().map_err(|error| format!("{error}"))?;
        let loss = loss.map(str::parse).transpose().map_err(|error| format!("{error}"))?;
        Ok(HopText { written: text.to_owned(), rate, loss, off })
    }
}

impl HopText {
    /// The hop's link, on a path whose links are otherwise like `link`.
    fn hop(&self, link: &LinkConfig, common: &RunParameters) -> Result<LinkConfig> {
        let scheme = self.off.then_some(SchemeKind::None);
        // Flags about the switches apply to all links; without them, the switches follow from each link's speed.
        let alone = RunParameters {
            speed: Some(self.rate),
            loss: self.loss,
            scheme,
            buffering: common.buffering,
            recirculation_speed: common.recirculation_speed,
            recirculation_buffer: common.recirculation_buffer,
            loop_latency: common.loop_latency,
            ..Default::default()
        };
        let LinkConfig { rate, corruption, buffering, switch, .. } = alone
            .line_rate(std::path::Path::new(""))
            .map_err(|error| {
                UsageError::new(format!(
                    "--hop {}: {} {}: {}",
                    self.written, error.parameter, error.value, error.requirement
                ))
            })?
            .link;
        let recirculation_rate = switch.recirculation_rate;
        Ok(LinkConfig {
            rate,
            corruption: if self.loss.is_some() { corruption } else { link.corruption.clone() },
            protection: link.protection.filter(|_| !self.off),
            buffering,
            switch: SwitchHardware { recirculation_rate, ..link.switch },
            ..link.clone()
        })
    }
}

impl PathArgs {
    /// Executes the command.
    pub fn execute(&self) -> Result<()> {
        let StressConfig { seed, frames, link, .. } = link(&self.parameters)?;
        let queue = QueueLimits { class_bytes: self.queue.0, ecn_bytes: self.ecn.0, ..PORT_QUEUE };
        let link = LinkConfig { queue, ..link };
        let links =
            self.hop.iter().map(|hop| hop.hop(&link, &self.parameters.given)).collect::<Result<Vec<_>>>()?;
        let uniform = PathConfig::uniform(link, self.hops.unwrap_or(HOPS_DEFAULT), frames);
        let links = if links.is_empty() { uniform.links } else { links };
        run_and_print(&PathConfig { seed, frames, links, load: self.load.0 }, self.json)
    }
}

impl Scenario for PathConfig {
    type Report = PathReport;

    fn links(&self) -> Vec<LinkConfig> {
        self.links.clone()
    }

    fn warnings(&self) -> Vec<String> {
        PathConfig::warnings(self)
    }

    fn validate(&self) -> Result<(), ParameterError> {
        PathConfig::validate(self)
    }

    fn run(&self, progress: &mut Progress<'_>) -> Result<PathReport, ParameterError> {
        path::run(self, progress)
    }

    fn frames(&self) -> u64 {
        self.frames
    }

    fn is_complete(&self, report: &PathReport) -> bool {
        report.ending.drained
    }

    fn tables(&self, report: &PathReport) -> Vec<Table> {
        let title = format!("A path of {} links", self.links.len());
        let end_to_end = tables::deliveries(title, [("end to end".to_owned(), &report.end_to_end)]);
        let name = |index: usize| format!("hop {}", index + 1);
        let links = report.hops.iter().enumerate().map(|(index, hop)| (name(index), &hop.link));
        let mut hops = Table::new("")
            .column(Column::text("link"))
            .column(Column::text("rate"))
            .column(Column::text("protected"))
            .column(Column::number("offered", Unit::Count))
            .column(Column::number("congestion", Unit::Count))
            .column(Column::number("sent", Unit::Count))
            .column(Column::number("corruption", Unit::Count))
            .column(Column::number("passed on", Unit::Count))
            .column(Column::number("actual loss rate", Unit::LossRate))
            .column(Column::number("effective", Unit::LossRate));
        for (index, (link, measured)) in self.links.iter().zip(&report.hops).enumerate() {
            hops.push_row([
                Cell::text(name(index)),
                Cell::text(quantity::rate(link.rate.bits_per_second() as f64)),
                Cell::text(if link.protection.is_some() { "yes" } else { "no" }),
                Cell::number(measured.frames_offered as f64),
                tables::should_be_zero(measured.frames_lost_to_congestion),
                Cell::number(measured.frames_sent as f64),
                tables::should_be_zero(measured.frames_lost_to_corruption),
                Cell::number(measured.frames_delivered as f64),
                Cell::number(measured.actual_loss_rate),
                Cell::number(measured.effective_loss_rate),
            ]);
        }
        let hops = hops.note(why_lost(report));
        vec![end_to_end, hops, tables::links(links)]
    }

    fn closing(&self, report: &PathReport) -> String {
        tables::ending(&report.ending, report.seed)
    }
}

/// Says how many frames were lost to corruption and how many to congestion.
fn why_lost(report: &PathReport) -> String {
    let mut text = "Congestion: frames dropped because the queue before the link was full. Corruption: frames that were sent but not passed on, as in the effective loss rate; the actual loss rate counts all frames that the link corrupted."
        .to_owned();
    if report.frames_lost_to_congestion > 0 {
        text += " At this load, copies and pauses leave a link too little capacity for the traffic, so its queue fills: a lower --load leaves room for them.";
    }
    text
}
