//! `linkmend reproduce`: the experiments that are built in, and `linkmend sim experiment`: those in files.
//!
//! - [`run`] runs them and writes each as it finishes;
//! - [`planned`] is an experiment before it runs, [`finished`] afterwards;
//! - [`link`], [`flows`] and [`fleet`] present the results of one kind each, and [`present`] does what they share;
//! - [`files`] and [`page`] present the results.

mod files;
mod finished;
mod fleet;
mod flows;
mod link;
mod list;
mod page;
mod planned;
mod present;
mod run;

use clap::Args;
use linkmend::commands::arguments::threads;
use linkmend::failure::{Context, Result, UsageError};
use linkmend_quantity::Count;
use planned::Planned;
use std::path::PathBuf;

/// Arguments of `linkmend reproduce`.
///
/// Every experiment repeats a figure, a table or a section of the paper, or goes beyond it, in the simulator. Published
/// values stand beside the measured ones, each with a tolerance, and with an explanation where it is known to miss.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend reproduce --list                    the experiments, and how long each takes
  linkmend reproduce fig8                      one figure, about as long as its line says
  linkmend reproduce all --out results         everything
  linkmend reproduce fig19 fig20 --json        two of them, as JSON
  linkmend reproduce all --quick               a look at everything; verdicts mean little
  linkmend reproduce rdma-fig12 --trials 10k   with as many flows as the paper has

DIR/report.html is the report; DIR/summary.json has the comparisons, and DIR/ID the plots (SVG, CSV), all points (CSV) \
and all results (JSON) of each experiment. Files are written as experiments finish, so Ctrl-C leaves what is finished.
A counted value is within its tolerance if all of its 99.9 % interval is; one that may be either is `too few to tell`, \
which --quick often is. So is a count of zero where an equation expects some; neither that nor what has an explanation is a \
failure.
Exit codes: 0 all values are within their tolerance or explained, 1 some are not, 2 wrong usage.")]
pub struct ReproduceArgs {
    /// Experiments to run, or `all`
    #[arg(value_name = "ID|all", required_unless_present = "list")]
    what: Vec<String>,
    /// List the experiments and how long each takes, and run nothing
    #[arg(long)]
    list: bool,
    /// Take the experiments from the files (*.toml) in this folder instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    experiments: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

/// Arguments of `linkmend sim experiment`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  linkmend sim experiment mine.toml --out mine

A file sweeps the parameters of `linkmend sim stress`, by the same names: every list is varied, every combination is run.

  id = \"mine\"
  title = \"Longer links, with a longer timeout\"
  source = \"our own\"

  [base]
  speed = \"400G\"
  frames = \"5M\"
  recovery-timeout = \"30us\"

  [[sweep]]
  mode = [\"ordered\", \"non-blocking\"]
  distance = [\"2m\", \"200m\", \"2km\"]

  [[plot]]
  title = \"Effective link speed\"
  kind = \"points\"
  x = \"distance\"
  y = \"effective_speed_pct\"
  series = [\"mode\"]
  log = \"x\"

Names that a plot can show are those of `linkmend sim stress --json`.

With `kind = \"flows\"` a file sweeps parameters of `linkmend sim flows` and `linkmend sim throughput` instead, and says \
what its figure shows:

  id = \"short\"
  title = \"Short flows over a link that corrupts\"
  source = \"our own\"
  kind = \"flows\"
  figure = { tail = { above-percentile = 95 } }

  [base]
  size = \"10kB\"
  trials = 2000
  loss = 1e-3

  [[sweep]]
  transport = [\"dctcp\", \"rdma\"]
  scheme = [\"none\", \"ordered\"]")]
pub struct ExperimentArgs {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// How experiments are run.
#[derive(Debug, Args)]
pub struct Options {
    /// Use so few frames that each experiment takes about a second; verdicts are then not meaningful and do not affect the
    /// exit code
    #[arg(long)]
    quick: bool,
    /// Flows of each run, or rounds of an incast, whatever the experiment says: as many as a paper has, or fewer
    #[arg(long, value_name = "COUNT", conflicts_with = "quick")]
    trials: Option<Count>,
    /// Folder for the report, plots and data; it is created if necessary
    #[arg(long, value_name = "DIR", default_value = "linkmend-reproduce")]
    out: PathBuf,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Threads to run on; the results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Seed from which every run's own seed follows
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

impl Options {
    fn threads(&self) -> usize {
        threads(self.jobs.map(usize::from))
    }

    /// The same experiments, as long as these arguments ask for.
    fn resized(&self, planned: Vec<Planned>) -> Result<Vec<Planned>> {
        let planned = planned.into_iter();
        match self.trials {
            _ if self.quick => Ok(planned.map(Planned::quick).collect()),
            Some(trials) => planned.map(|planned| planned.with_trials(trials)).collect(),
            None => Ok(planned.collect()),
        }
    }
}

/// Executes the command.
pub fn execute(arguments: &ReproduceArgs) -> Result<()> {
    let known = match &arguments.experiments {
        Some(folder) => Planned::read_folder(folder)?,
        None => Planned::built_in().context("an experiment that is built in is broken")?,
    };
    let chosen = arguments.options.resized(choose(known, &arguments.what)?)?;
    if arguments.list {
        return list::print(&chosen, &arguments.options);
    }
    run::run(&chosen, &arguments.options)
}

/// Runs the experiment of a file.
pub fn run_file(arguments: &ExperimentArgs) -> Result<()> {
    let planned = Planned::read(&arguments.file)?;
    run::run(&arguments.options.resized(vec![planned])?, &arguments.options)
}

/// Chooses experiments by name, in the order in which they are known; all of them for `all` or no name.
fn choose(known: Vec<Planned>, what: &[String]) -> Result<Vec<Planned>> {
    let unknown =
        |name: &&String| *name != "all" && !known.iter().any(|planned| planned.overview().id == *name);
    if let Some(name) = what.iter().find(unknown) {
        let ids: Vec<&str> = known.iter().map(|planned| planned.overview().id).collect();
        let message = format!("there is no experiment `{name}`");
        return Err(UsageError::hinted(message, format!("`all`, or some of {}", ids.join(", "))).into());
    }
    let all = what.is_empty() || what.iter().any(|name| name == "all");
    Ok(known
        .into_iter()
        .filter(|experiment| all || what.iter().any(|name| name == experiment.overview().id))
        .collect())
}
