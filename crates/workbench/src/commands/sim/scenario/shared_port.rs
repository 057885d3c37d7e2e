//! `linkmend sim scenario shared-port`.

use super::link::{Load, protected_link};
use super::runner::{Scenario, run_and_print};
use super::tables;
use crate::commands::sim::parameters::{ParameterArgs, Preset};
use clap::Args;
use linkmend::failure::Result;
use linkmend_report::{Cell, Column, Table, Unit};
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::Buffering;
use linkmend_sim::parameters::Runs;
use linkmend_sim::scenario::ParameterError;
use linkmend_sim::scenario::shared_port::{self, SharedPortConfig, SharedPortReport};
use linkmend_sim::scenario::{LinkReport, Progress};
use linkmend_sim::stress::StressConfig;

/// Links that share a port, as directly buffered frames do not.
#[derive(Debug)]
pub struct Sharing;

impl Preset for Sharing {
    const RUNS: Runs = Runs::LINE_RATE;
    const WITHOUT: &'static [&'static str] = &["full", "copy-loss", "buffering"];
    const DEFAULTS: &'static [(&'static str, &'static str)] = &[("frames", "100k")];
    const HELP: &'static [(&'static str, &'static str)] =
        &[("frames", "Frames that each source sends, like 1M")];
}

/// Arguments of `linkmend sim scenario shared-port`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim scenario shared-port             # two links at full rate, one port
  linkmend sim scenario shared-port --load 40%  # the same, when neither is busy
  linkmend sim scenario shared-port --links 4 --ports 2 \\
    --recirculation-speed 400G --json")]
pub struct SharedPortArgs {
    /// Links between the two switches, 1 to 8
    #[arg(long, value_name = "N", default_value_t = 2, help_heading = "Scenario")]
    links: usize,
    /// Number of recirculation ports of each switch, to which the links are assigned in turn; 1 to --links
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Scenario")]
    ports: usize,
    /// Share of each link that its traffic takes, like 40%
    #[arg(long, value_name = "SHARE", default_value_t = Load(1.0), help_heading = "Scenario")]
    load: Load,
    #[command(flatten)]
    parameters: ParameterArgs<Sharing>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

impl SharedPortArgs {
    /// Executes the command.
    pub fn execute(&self) -> Result<()> {
        let StressConfig { seed, frames, link, .. } = protected_link(&self.parameters)?;
        // Frames recirculate here at every speed, because the scenario is about how links share the port.
        let port = link.switch.recirculation_rate;
        let mut link = link.buffered(Buffering::Recirculating);
        if self.parameters.given.recirculation_speed.is_some() {
            link.switch.recirculation_rate = port;
        }
        let Load(load) = self.load;
        run_and_print(
            &SharedPortConfig { seed, frames, link, links: self.links, ports: self.ports, load },
            self.json,
        )
    }
}

impl Scenario for SharedPortConfig {
    type Report = SharedPortReport;

    fn links(&self) -> Vec<LinkConfig> {
        vec![self.link.clone()]
    }

    fn warnings(&self) -> Vec<String> {
        SharedPortConfig::warnings(self)
    }

    fn validate(&self) -> Result<(), ParameterError> {
        SharedPortConfig::validate(self)
    }

    fn run(&self, progress: &mut Progress<'_>) -> Result<SharedPortReport, ParameterError> {
        shared_port::run(self, progress)
    }

    fn frames(&self) -> u64 {
        self.frames
    }

    fn is_complete(&self, report: &SharedPortReport) -> bool {
        report.ending.drained
    }

    fn tables(&self, report: &SharedPortReport) -> Vec<Table> {
        let total = Unit::BitPerSecond.format(report.total_speed_gbps * 1e9);
        let title = format!(
            "Links: {}, recirculation ports of each switch: {}. Together {total}",
            self.links, self.ports
        );
        let name = |index: usize| format!("link {}", index + 1);
        let deliveries = report.links.iter().enumerate().map(|(index, link)| (name(index), &link.delivery));
        let links: Vec<(String, &LinkReport)> =
            report.links.iter().enumerate().map(|(index, link)| (name(index), &link.link)).collect();
        vec![tables::deliveries(title, deliveries), tables::links(links), ports(report)]
    }

    fn closing(&self, report: &SharedPortReport) -> String {
        tables::ending(&report.ending, report.seed)
    }
}

fn ports(report: &SharedPortReport) -> Table {
    let mut table = Table::new("")
        .column(Column::text("recirculation port"))
        .column(Column::number("passes", Unit::Count))
        .column(Column::number("for each frame", Unit::Plain))
        .column(Column::number("busy", Unit::Share))
        .column(Column::number("of the pipe", Unit::Share));
    for (switch, ports) in [("sender's", &report.sender_ports), ("receiver's", &report.receiver_ports)] {
        for (index, port) in ports.iter().enumerate() {
            table.push_row([
                Cell::text(format!("{switch} {}", index + 1)),
                Cell::number(port.passes as f64),
                Cell::number(port.passes_per_frame),
                Cell::number(port.busy_pct / 100.0),
                Cell::number(port.pipe_pct / 100.0),
            ]);
        }
    }
    table
}
