//! `linkmend reproduce`: the experiments that are built in, and `linkmend sim run`: those in files.
//!
//! - [`run`] runs them and writes each as it finishes;
//! - [`planned`] is an experiment before it runs, [`finished`] afterwards;
//! - [`runs`] and [`fleet`] present the results of one kind each, and [`present`] does what they share;
//! - [`files`] and [`page`] present the results, and [`folder`] finds them again ([`kept`]);
//! - [`shards`] do the same on several machines, each of which writes [`outcomes`].

mod files;
mod finished;
mod fleet;
mod folder;
mod kept;
mod list;
mod outcomes;
mod page;
mod planned;
mod present;
mod run;
mod runs;
mod shards;

use super::study::{self, Found, Study, Watch};
use clap::Args;
use linkmend::commands::arguments::threads;
use linkmend::failure::{Context, Result, UsageError};
use linkmend_experiment::Shard;
use linkmend_quantity::Count;
use planned::Planned;
pub use shards::merge;
use std::path::{Path, PathBuf};

/// Arguments of `linkmend reproduce`.
///
/// Every experiment repeats a figure, a table or a section of the paper, or goes beyond it, in the simulator. Published
/// values stand beside the measured ones, each with a tolerance and a verdict.
#[derive(Debug, Args)]
#[command(
    mut_arg("out", |out| out.default_value("linkmend-reproduce")),
    mut_arg("what", |what| what.required_unless_present("list")),
    after_help = "\
Examples:
  linkmend reproduce --list                    # the experiments, and how long each takes
  linkmend reproduce fig8                      # one figure; --list says how long it takes
  linkmend reproduce all --out results         # everything
  linkmend reproduce fig19 fig20 --json        # two experiments, as JSON
  linkmend reproduce all --quick               # a quick run of everything; verdicts mean little
  linkmend reproduce rdma-fig12 --trials 10k   # with as many flows as in the paper
  linkmend reproduce all --shard 1/8 --out s1  # one eighth of everything

DIR/report.html is the report, DIR/summary.json contains the comparisons, and DIR/ID contains the plots (SVG, \
CSV), all points (CSV) and all results (JSON) of each experiment. Files are written as experiments finish. A \
later command with the same DIR, program, seed and length adds its experiments to the report, and does not repeat those that it already contains. After Ctrl-C, the same command therefore continues. To repeat an experiment, remove DIR/ID.
With --shard, several machines share the work: each runs one shard and writes into a DIR of its own what it has measured, \
and `linkmend merge` combines them into one report. A shard has no verdicts; after an interruption, the same command continues \
with the next run.
Verdicts: a value is `reproduced` if it is within its tolerance. Otherwise, it `differs as predicted` if the cause that the \
explanation names predicts an interval that contains the value; if not, it is `not reproduced`, whatever the explanation says. \
If a value has a 95 % interval, the verdict applies to the whole interval. If the interval is too wide to decide, the verdict is `too few to tell`, which is common with --quick. Each row of an experiment file records its verdict.
Exit codes: 0 if all verdicts match the recorded ones, 1 if some do not, 2 for incorrect usage, 130 after Ctrl-C.")]
pub struct ReproduceArgs {
    #[command(flatten)]
    chosen: ChosenArgs,
    /// List the experiments and how long each takes, without running them
    #[arg(long)]
    list: bool,
}

/// Which experiments to run, and how.
#[derive(Debug, Args)]
pub struct ChosenArgs {
    /// Experiments to run, or `all`
    #[arg(value_name = "ID|all")]
    what: Vec<String>,
    /// Use the experiment files (*.toml) in this directory instead of the built-in ones
    #[arg(long, value_name = "DIR")]
    experiments: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

/// Arguments of `linkmend sim run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim run mine.toml                       # one run or many, as tables
  linkmend sim run mine.toml --out mine            # with a report, plots and data
  linkmend sim run mine.toml --shard 1/2 --out s1  # half of the runs, for merge

A file sets the parameters of runs; their names are those of the options of `linkmend sim stress`, `linkmend sim links` and `linkmend sim flows`. \
Every list is swept, and every combination is run. With a `transport`, hosts send flows; without one, a generator sends at line rate \
over one link, or generators send over several links.

  id = \"mine\"
  title = \"Longer links, with a longer timeout\"
  source = \"our own\"

  [base]
  speed = \"400G\"
  frames = \"5M\"
  recovery-timeout = \"30us\"

  [[sweep]]
  scheme = [\"ordered\", \"non-blocking\"]
  distance = [\"2m\", \"200m\", \"2km\"]

  [[plot]]
  title = \"Effective link speed\"
  kind = \"points\"
  x = \"distance\"
  y = \"effective_speed_pct\"
  series = [\"scheme\"]
  log = \"x\"

Any parameter can be on the x-axis, and any measured value on either axis. docs/parameters.md lists both.")]
pub struct RunArgs {
    /// Experiment file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// How experiments are run.
#[derive(Debug, Args)]
pub struct Options {
    /// Use so few frames that each experiment takes about a second; the verdicts are then not meaningful, and do not
    /// affect the exit code
    #[arg(long)]
    quick: bool,
    /// Flows per run, or rounds of an incast, instead of the number in the experiment: as many as in the paper, or
    /// fewer
    #[arg(long, value_name = "COUNT", conflicts_with = "quick")]
    trials: Option<Count>,
    /// Directory for the report, plots and data; it is created if necessary
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Number of threads; the results do not depend on it [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Seed from which the seeds of all runs are derived
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Do only the I-th of N parts of the runs, from 1/N to N/N, for `linkmend merge`; all parts have about the same amount of work
    #[arg(long, value_name = "I/N", requires = "out", conflicts_with = "json")]
    shard: Option<Shard>,
}

impl Options {
    /// The path of the report, if there is to be one.
    fn report(&self) -> Option<String> {
        self.out.as_ref().map(|out| out.join("report.html").display().to_string())
    }

    /// The shard to be run, and where to.
    fn part(&self) -> Option<(Shard, &Path)> {
        Some((self.shard?, self.out.as_deref()?))
    }

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

impl ChosenArgs {
    fn planned(&self) -> Result<Vec<Planned>> {
        let known = match &self.experiments {
            Some(folder) => Planned::read_folder(folder)?,
            None => Planned::built_in().context("a built-in experiment is invalid")?,
        };
        self.options.resized(choose(known, &self.what)?)
    }
}

impl Study for ChosenArgs {
    fn find(&self, watch: &dyn Watch) -> Result<Found> {
        run::run(&self.planned()?, &self.options, self.experiments.is_none(), watch)
    }
}

impl Study for RunArgs {
    fn find(&self, watch: &dyn Watch) -> Result<Found> {
        let planned = self.options.resized(vec![Planned::read(&self.file)?])?;
        run::run(&planned, &self.options, false, watch)
    }
}

/// Executes the command.
pub fn execute(arguments: &ReproduceArgs) -> Result<()> {
    let ReproduceArgs { chosen, list } = arguments;
    if *list {
        return list::print(&chosen.planned()?, &chosen.options);
    }
    match chosen.options.part() {
        Some((shard, out)) => {
            shards::part::run(&chosen.planned()?, &chosen.options, shard, out, chosen.experiments.is_none())
        }
        None => study::execute(chosen, chosen.options.json),
    }
}

/// Runs the experiment of a file, or one shard of it.
pub fn run_file(arguments: &RunArgs) -> Result<()> {
    match arguments.options.part() {
        Some((shard, out)) => {
            let planned = arguments.options.resized(vec![Planned::read(&arguments.file)?])?;
            shards::part::run(&planned, &arguments.options, shard, out, false)
        }
        None => study::execute(arguments, arguments.options.json),
    }
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
