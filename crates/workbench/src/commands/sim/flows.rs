//! `linkmend sim flows`: flows between hosts over a corrupting link, or one flow without an end.

use super::capture::{self, Capturing, PortCaptureArgs};
use super::parameters::{ParameterArgs, Preset, usage};
use crate::commands::flow_table::table;
use crate::commands::study::{Found, Study, Watch};
use clap::Args;
use linkmend::commands::arguments::threads;
use linkmend::failure::{Interrupted, Result, UsageError};
use linkmend_report::quantity;
use linkmend_sim::flows;
use linkmend_sim::parameters::{PARAMETERS, Parameter, RunParameters, Runs};
use std::path::Path;

/// Width of the table when standard output is no terminal.
const TABLE_WIDTH: usize = 100;

/// Flows between hosts.
#[derive(Debug)]
pub struct Flows;

impl Preset for Flows {
    const RUNS: Runs = Runs::HOSTS;
    const DEFAULTS: &'static [(&'static str, &'static str)] =
        &[("transport", "dctcp"), ("scheme", "none"), ("loss", "1e-3"), ("size", "24387B")];
    const HELP: &'static [(&'static str, &'static str)] = &[
        (
            "load",
            "Start flows at random times instead of one after the other, at a rate that uses this share of the senders' \
             links, above 0 and below 1",
        ),
        (
            "duration",
            "With --load: how long new flows are started, instead of a number of flows. Without --load: run one endless \
             flow for this time",
        ),
    ];
}

/// Arguments of `linkmend sim flows`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim flows --transport dctcp --size 143B --trials 300k --scheme none
      One-packet flows over six links of 100G, of which the middle one loses one frame in a thousand. \
One flow in a thousand waits for its sender's timer, which takes a few milliseconds.

  linkmend sim flows --transport dctcp --size 143B --trials 300k \\
    --scheme ordered
      The same with LinkGuardian at that link (Figure 10).

  linkmend sim flows --transport rdma --size 24387B --trials 100k \\
    --scheme non-blocking --json
      17 packets of RDMA WRITE, as JSON (Figure 11).

  linkmend sim flows --topology fat-tree:k=4,hosts=2 --size web-search \\
    --load 0.5 --duration 10ms
      Many concurrent flows between all hosts of a fat tree, with web-search flow sizes.

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

  linkmend sim flows --collective all-reduce-ring --size 100MB --speed 400G \\
    --topology leaf-spine:leaves=4,spines=4,hosts=8 --compute 1ms --steps 10
      Training steps of 32 ranks over RDMA: all ranks compute, then perform a ring all-reduce. \
One link between switches loses one frame in a thousand.

  linkmend sim flows --program examples/pipeline.goal --speed 400G \\
    --topology leaf-spine:leaves=2,spines=2,hosts=2
      A program from a file: a pipeline of four stages, in GOAL.

  linkmend sim flows --trials 1k --scheme non-blocking --capture flows.pcapng \\
    --capture-port left0--switch0
      What the sending host sends and receives, for Wireshark.

  linkmend sim flows --transport cubic --speed 10G --duration 1s
      How much of 10 Gbit/s one endless flow gets despite corruption (Table 3: 3.48 Gbit/s).

  linkmend sim flows --transport cubic --speed 10G --duration 10s \\
    --scheme ordered --json
      The same with LinkGuardian, as JSON (Table 3: 9.46 Gbit/s).

Sizes, rates and times need a unit. The same seed gives the same results, on any number of threads.")]
pub struct FlowsArgs {
    #[command(flatten)]
    parameters: ParameterArgs<Flows>,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    capture: PortCaptureArgs,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
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
/// What the hosts of a training job are like unless something else is asked for: cards with the largest MTU of RoCE.
const TRAINING: &[(&str, &str)] = &[("transport", "rdma"), ("scheme", "none"), ("loss", "1e-3")];
const COLLECTIVE: &[(&str, &str)] = &[("size", "100MB")];
const TRAINING_RDMA: &[(&str, &str)] = &[("rdma-mtu", "4096")];

/// The parameters of a training job.
fn training_parameters(given: &RunParameters) -> RunParameters {
    let parameters = given.clone().or(TRAINING);
    let parameters = if given.program.is_none() { parameters.or(COLLECTIVE) } else { parameters };
    let is_rdma = parameters.transport.is_some_and(|transport| transport.algorithm().is_none());
    parameters.or(if is_rdma { TRAINING_RDMA } else { &[] })
}

impl Study for FlowsArgs {
    fn find(&self, watch: &dyn Watch) -> Result<Found> {
        let given = &self.parameters.given;
        if given.is_training() {
            return run(&training_parameters(given), self, watch);
        }
        let parameters = self.parameters.parameters();
        if parameters.duration.is_none() {
            return run(&parameters.or(TRIALS), self, watch);
        }
        if is_endless(&parameters) {
            check_endless(given)?;
        }
        run(&parameters, self, watch)
    }
}

/// Whether there is one flow without an end.
fn is_endless(parameters: &RunParameters) -> bool {
    parameters.duration.is_some() && parameters.load.is_none()
}

/// Refuses what means nothing to one flow without an end.
fn check_endless(given: &RunParameters) -> Result<()> {
    let set = |parameter: &&Parameter| given.value(parameter.key).is_some();
    let of_others = PARAMETERS.iter().filter(|parameter| !parameter.runs.include(Runs::ENDLESS)).find(set);
    let Some(Parameter { key, .. }) = of_others else { return Ok(()) };
    let message =
        format!("--{key} {}: cannot be combined with --duration unless --load is given", given.text(key));
    let hint = "--duration alone runs one endless flow for this time".to_owned();
    Err(UsageError::hinted(message, hint).into())
}

fn run(parameters: &RunParameters, arguments: &FlowsArgs, watch: &dyn Watch) -> Result<Found> {
    parameters.check_effect().map_err(usage)?;
    let config = parameters.flows(Path::new("")).map_err(usage)?;
    let capturing = arguments.capture.begin(&config)?;
    watch.begin(config.parts() as u64, "{bar:30} {percent:>3} %  [{left}]");
    let (stop, done) = (watch.stop()?, &|| watch.advance());
    let threads = arguments.threads.count(config.parts());
    let report = match capturing {
        None => flows::run(&config, threads, stop, done).map_err(usage),
        Some(Capturing { path, capture }) => flows::run_captured(&config, threads, stop, done, capture)
            .map_err(usage)
            .and_then(|(report, capture)| {
                capture.map_or(Ok(()), |capture| capture::finish(&path, capture.into_file()))?;
                Ok(report)
            }),
    };
    let hint = "fewer --trials or a shorter --duration take less time";
    let report = report?.ok_or_else(|| Interrupted::error("interrupted before the run had ended", hint))?;
    let transport = parameters.text("transport");
    let what = if let Some(path) = &parameters.program {
        format!("{}, {transport}", path.display())
    } else if parameters.is_training() {
        format!("{} of {}, {transport}", parameters.text("collective"), parameters.text("size"))
    } else if is_endless(parameters) {
        format!("one {transport} flow at {}", quantity::rate(config.link.rate.bits_per_second() as f64))
    } else {
        format!("flows of {}, {transport}", parameters.text("size"))
    };
    let loss = parameters.loss.map_or_else(String::new, |loss| format!("loss {loss}, "));
    let (scheme, seed) = (parameters.text("scheme"), config.seed);
    let title = format!("{what}, {scheme} at the corrupting link, {loss}seed {seed}");
    if let Some(training) = &report.flows.training {
        for sentence in &training.left_out {
            tracing::warn!("not simulated: {sentence}");
        }
    }
    Found::new(&report, TABLE_WIDTH, vec![table(&title, &report)])
}
