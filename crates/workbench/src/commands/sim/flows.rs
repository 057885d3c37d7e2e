//! `linkmend sim flows` and `linkmend sim throughput`: flows between hosts over a corrupting link.

use super::parameters::{ParameterArgs, Preset, usage};
use super::port_capture::PortCaptureArgs;
use crate::commands::flow_table::table;
use crate::commands::progress;
use crate::commands::shown;
use clap::Args;
use linkmend::commands::arguments::threads;
use linkmend::failure::{Error, Interrupted, Result, UsageError};
use linkmend::interrupt;
use linkmend_sim::flows::{self, FlowsConfig};
use linkmend_sim::parameters::{RunParameters, Runs};
use std::path::Path;

/// Width of the table when standard output is no terminal.
const TABLE_WIDTH: usize = 100;

/// Flows that end.
#[derive(Debug)]
pub struct Flows;

impl Preset for Flows {
    const RUNS: Runs = Runs::FLOWS;
    const DEFAULTS: &'static [(&'static str, &'static str)] =
        &[("transport", "dctcp"), ("scheme", "none"), ("loss", "1e-3"), ("size", "24387B")];
    const HELP: &'static [(&'static str, &'static str)] = &[
        (
            "load",
            "Start flows at random times instead of one after the other, at a rate that uses this share of the senders' \
             links, above 0 and below 1",
        ),
        ("duration", "With --load: for how long flows are started, instead of a number of flows"),
    ];
}

/// One flow without an end.
#[derive(Debug)]
pub struct Throughput;

impl Preset for Throughput {
    const RUNS: Runs = Runs::ENDLESS;
    const DEFAULTS: &'static [(&'static str, &'static str)] =
        &[("transport", "dctcp"), ("scheme", "none"), ("loss", "1e-3"), ("duration", "1s")];
    const HELP: &'static [(&'static str, &'static str)] = &[("duration", "How long the flow sends")];
}

/// Arguments of `linkmend sim flows`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim flows --transport dctcp --size 143B --trials 300k --scheme none
      One-packet flows over six links of 100G, of which the middle one loses one frame in a thousand:
      one flow in a thousand waits for its sender's timer, which takes some milliseconds.

  linkmend sim flows --transport dctcp --size 143B --trials 300k \\
    --scheme ordered
      The same with LinkGuardian at that link (Figure 10).

  linkmend sim flows --transport rdma --size 24387B --trials 100k \\
    --scheme non-blocking --json
      17 packets of RDMA WRITE, as JSON (Figure 11).

  linkmend sim flows --topology fat-tree:k=4,hosts=2 --size web-search \\
    --load 0.5 --duration 10ms
      Many concurrent flows between all hosts of a fat tree, with the flow sizes of a web search.

  linkmend sim flows --transport rdma --host-recovery selective-repeat \\
    --scheme non-blocking --size 2MB
      Hosts that retransmit only what is missing, behind a link that delivers out of order.

  linkmend sim flows --topology line:switches=2,hosts=16 --incast 16 \\
    --trials 500 --scheme ordered
      Sixteen hosts send to one simultaneously, over a corrupting link.

  linkmend sim flows --transport rdma --topology fat-tree:k=4,hosts=2 \\
    --corrupting-links 32 --bit-errors --both-directions --queue-pairs 1 \\
    --rdma-window 1024 --timeout-exponent 14 --traffic point-to-point \\
    --size web-search --load 0.1 --trials 1k --rdma-mechanisms all
      All links between switches corrupt frames, and hosts and switches add dummies and replicas (JCST 2022, Figure 12).

  linkmend sim flows --trials 1k --scheme non-blocking --capture flows.pcapng \\
    --capture-port left0--switch0
      What the sending host sends and receives, for Wireshark.

Sizes, rates and times need a unit. The same seed gives the same results, on any number of threads.")]
pub struct FlowsArgs {
    #[command(flatten)]
    parameters: ParameterArgs<Flows>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Arguments of `linkmend sim throughput`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim throughput --transport cubic --speed 10G --loss 1e-3 \\
    --scheme none
      How much of 10 Gbit/s one flow gets despite corruption (Table 3: 3.48 Gbit/s).

  linkmend sim throughput --transport cubic --speed 10G --loss 1e-3 \\
    --scheme ordered --duration 10s --json
      The same with LinkGuardian, as JSON (Table 3: 9.46 Gbit/s).")]
pub struct ThroughputArgs {
    #[command(flatten)]
    parameters: ParameterArgs<Throughput>,
    #[command(flatten)]
    output: OutputArgs,
}

/// How runs are executed, and what they leave.
#[derive(Debug, Args)]
struct OutputArgs {
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    capture: PortCaptureArgs,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// How many threads run trials.
#[derive(Debug, Args)]
pub struct ThreadArgs {
    /// Threads that run trials in parallel; a single run uses one [default: one for each processor]
    #[arg(long, value_name = "N", help_heading = "Run")]
    threads: Option<usize>,
}

impl ThreadArgs {
    /// As many as are asked for, or are there; says so if they are more than the parts of the run.
    pub fn count(&self, parts: usize) -> usize {
        if let Some(asked) = self.threads.filter(|asked| *asked > parts) {
            tracing::warn!(
                "--threads {asked}: there is work for only {parts}; trials can run in parallel, but a single \
                 run cannot be divided"
            );
        }
        threads(self.threads)
    }
}

/// Flows if nobody says how many.
const TRIALS: &[(&str, &str)] = &[("trials", "5k")];

/// Executes `linkmend sim flows`.
pub fn execute(arguments: &FlowsArgs) -> Result<()> {
    let mut parameters = arguments.parameters.parameters();
    match (parameters.duration, parameters.load) {
        (Some(duration), None) => {
            let message = format!("--duration {duration}: needs --load");
            let hint = "`linkmend sim throughput` runs one endless flow for a given time".to_owned();
            return Err(UsageError::hinted(message, hint).into());
        }
        (Some(_), Some(_)) => {}
        (None, _) => parameters = parameters.or(TRIALS),
    }
    let config = parameters.flows(Path::new("")).map_err(usage)?;
    let title = format!(
        "flows of {}, {}, {} at the corrupting link, {}",
        parameters.text("size"),
        parameters.text("transport"),
        parameters.text("scheme"),
        of_run(&parameters)
    );
    run_and_show(&config, &arguments.output, &title)
}

/// Executes `linkmend sim throughput`.
pub fn throughput(arguments: &ThroughputArgs) -> Result<()> {
    let parameters = arguments.parameters.parameters();
    let config = parameters.flows(Path::new("")).map_err(usage)?;
    let title = format!(
        "one {} flow at {}, {} at the corrupting link, {}",
        parameters.text("transport"),
        linkmend_report::quantity::rate(config.link.rate.bits_per_second() as f64),
        parameters.text("scheme"),
        of_run(&parameters)
    );
    run_and_show(&config, &arguments.output, &title)
}

/// Its loss rate, if it has one, and its seed.
fn of_run(parameters: &RunParameters) -> String {
    let loss = parameters.loss.map_or_else(String::new, |loss| format!("loss {loss}, "));
    format!("{loss}seed {}", parameters.seed.unwrap_or(1))
}

fn run_and_show(config: &FlowsConfig, output: &OutputArgs, title: &str) -> Result<()> {
    let capturing = output.capture.begin(config)?;
    let stop = interrupt::flag()?;
    let bar = progress::bar(config.parts() as u64, "{bar:30} {percent:>3} %  [{left}]");
    let done = &|| bar.inc(1);
    let threads = output.threads.count(config.parts());
    let report = match capturing {
        None => flows::run(config, threads, &stop, done).map_err(usage),
        Some(capturing) => {
            let (capture, ending) = capturing.begun();
            flows::run_captured(config, threads, &stop, done, capture).map_err(usage).and_then(
                |(report, capture)| {
                    capture.map_or(Ok(()), |capture| ending.finish(capture))?;
                    Ok(report)
                },
            )
        }
    };
    bar.finish_and_clear();
    let report = report?.ok_or_else(|| -> Error {
        let hint = "fewer --trials or a shorter --duration take less time".to_owned();
        Interrupted { message: "interrupted before the run had ended".to_owned(), hint }.into()
    })?;
    shown::json_or_tables(output.json, &report, TABLE_WIDTH, |report| vec![table(title, report)])
}
