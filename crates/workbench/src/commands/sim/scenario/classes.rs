//! `linkmend sim scenario classes`.

use super::link::{Load, link};
use super::runner::{Scenario, run_and_print};
use super::tables;
use crate::commands::sim::parameters::{ParameterArgs, Preset};
use clap::Args;
use linkmend::failure::Result;
use linkmend_report::Table;
use linkmend_sim::link::LinkConfig;
use linkmend_sim::parameters::Runs;
use linkmend_sim::scenario::classes::{self, ClassesConfig, ClassesReport};
use linkmend_sim::scenario::{ParameterError, Progress};
use linkmend_sim::stress::StressConfig;

/// A link with traffic of both classes, each of which has its own mode.
#[derive(Debug)]
pub struct BothClasses;

impl Preset for BothClasses {
    const RUNS: Runs = Runs::LINE_RATE;
    const WITHOUT: &'static [&'static str] = &["full", "copy-loss", "scheme"];
    const DEFAULTS: &'static [(&'static str, &'static str)] = &[("frames", "100k")];
    const HELP: &'static [(&'static str, &'static str)] =
        &[("frames", "Frames that each source sends, like 1M")];
}

/// Arguments of `linkmend sim scenario classes`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim scenario classes --ordered-load 70% --non-blocking-load 20%
  linkmend sim scenario classes --speed 25G --loss 1e-2 --json

--frames counts both classes. The delays of one class stay short while the other waits.")]
pub struct ClassesArgs {
    /// Share of the link that ordered traffic takes, like 50%
    #[arg(long, value_name = "SHARE", default_value_t = Load(0.5), help_heading = "Scenario")]
    ordered_load: Load,
    /// The same for non-blocking traffic; both together at most 1
    #[arg(long, value_name = "SHARE", default_value_t = Load(0.3), help_heading = "Scenario")]
    non_blocking_load: Load,
    #[command(flatten)]
    parameters: ParameterArgs<BothClasses>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

impl ClassesArgs {
    /// Executes the command.
    pub fn execute(&self) -> Result<()> {
        let StressConfig { seed, frames, link, .. } = link(&self.parameters)?;
        let (ordered_load, non_blocking_load) = (self.ordered_load.0, self.non_blocking_load.0);
        run_and_print(&ClassesConfig { seed, frames, link, ordered_load, non_blocking_load }, self.json)
    }
}

impl Scenario for ClassesConfig {
    type Report = ClassesReport;

    fn links(&self) -> Vec<LinkConfig> {
        vec![self.link.clone()]
    }

    fn validate(&self) -> Result<(), ParameterError> {
        ClassesConfig::validate(self)
    }

    fn run(&self, progress: &mut Progress<'_>) -> Result<ClassesReport, ParameterError> {
        classes::run(self, progress)
    }

    fn frames(&self) -> u64 {
        self.frames
    }

    fn is_complete(&self, report: &ClassesReport) -> bool {
        report.ending.drained
    }

    fn tables(&self, report: &ClassesReport) -> Vec<Table> {
        let classes = [("ordered", &report.ordered), ("non-blocking", &report.non_blocking)];
        let classes = classes.map(|(name, delivery)| (name.to_owned(), delivery));
        let title = "Both classes on one link".to_owned();
        vec![tables::deliveries(title, classes), tables::links([("both".to_owned(), &report.link)])]
    }

    fn closing(&self, report: &ClassesReport) -> String {
        tables::ending(&report.ending, report.seed)
    }
}
