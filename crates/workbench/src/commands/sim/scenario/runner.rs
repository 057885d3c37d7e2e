//! Runs a scenario and shows its results.

use crate::commands::sim::stress::bar;
use linkmend::failure::{Context, Error, Hinted, Interrupted, Result, UsageError};
use linkmend::interrupt;
use linkmend::output;
use linkmend_report::{Table, quantity, wrap};
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::Hardware;
use linkmend_sim::scenario::{ParameterError, Progress};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Width of tables when standard output is no terminal.
const TABLE_WIDTH: usize = 110;

/// A scenario that can be run.
pub trait Scenario {
    /// The measurements of a run.
    type Report: Serialize;

    /// Checks all parameters before anything runs.
    fn validate(&self) -> Result<(), ParameterError>;

    /// Runs the scenario.
    fn run(&self, progress: &mut Progress<'_>) -> Result<Self::Report, ParameterError>;

    /// The number of frames at which the progress is complete.
    fn frames(&self) -> u64;

    /// Whether everything was sent, and delivered or given up.
    fn is_complete(&self, report: &Self::Report) -> bool;

    /// The report as tables.
    fn tables(&self, report: &Self::Report) -> Vec<Table>;

    /// A line below the tables: the seed, and how the run ended.
    fn closing(&self, report: &Self::Report) -> String;

    /// Its links, or one of them if all are alike.
    fn links(&self) -> Vec<LinkConfig>;

    /// Warnings about switches that are too slow for the traffic.
    fn warnings(&self) -> Vec<String> {
        self.links().iter().flat_map(LinkConfig::warnings).collect()
    }
}

/// Checks and runs a scenario, and prints the results. After Ctrl-C, the results so far are printed, and the exit code
/// is 1.
pub fn run_and_print<S: Scenario>(scenario: &S, json: bool) -> Result<()> {
    scenario.validate().map_err(usage)?;
    let stop = interrupt::flag()?;
    let bar = bar(scenario.frames());
    let (mut before, mut latest) = (0, 0);
    let report = scenario.run(&mut |frames| {
        // A scenario of several runs counts each from the start.
        if frames < latest {
            before += latest;
        }
        latest = frames;
        bar.set_position(before + frames);
        !stop.load(Ordering::Relaxed)
    });
    bar.finish_and_clear();
    let report = report.map_err(usage)?;
    let hardware: Vec<Hardware> = scenario.links().iter().map(LinkConfig::hardware).collect();
    let warnings = scenario.warnings();
    if json {
        let shown = Shown { report: &report, hardware: &hardware, warnings: &warnings };
        output::print(&serde_json::to_string_pretty(&shown).context("cannot serialise the report")?)?;
    } else {
        let (width, colour) = output::terminal(TABLE_WIDTH);
        let mut texts: Vec<String> =
            scenario.tables(&report).iter().map(|table| table.to_text(width, colour)).collect();
        texts.push(scenario.closing(&report));
        let buffering: BTreeSet<String> = hardware.iter().map(describe).collect();
        texts.push(format!("Buffering: {}.", Vec::from_iter(buffering).join("; ")));
        texts.extend(warnings.iter().map(|warning| wrap(&format!("Warning: {warning}."), width)));
        output::print(&texts.join("\n"))?;
    }
    if scenario.is_complete(&report) {
        return Ok(());
    }
    if stop.load(Ordering::Relaxed) {
        let message = "interrupted; the report covers the time until then".to_owned();
        return Err(Interrupted { message, hint: "a shorter run takes less time".to_owned() }.into());
    }
    let message = "the run stalled: some frames were neither delivered nor given up".to_owned();
    let hint = "the seed in the report reproduces it; `linkmend sim scenario <NAME> --help` lists what can be changed";
    Err(Hinted { message, hint: hint.to_owned() }.into())
}

/// A report as JSON, with the hardware that was assumed for the switches.
#[derive(Serialize)]
struct Shown<'a, R: Serialize> {
    #[serde(flatten)]
    report: &'a R,
    hardware: &'a [Hardware],
    warnings: &'a [String],
}

/// Describes how switches buffer.
fn describe(hardware: &Hardware) -> String {
    let Hardware { buffering, recirculation_gbps, reason } = hardware;
    match recirculation_gbps {
        None => format!("{buffering} ({reason})"),
        Some(gbps) => format!("{buffering} at {} ({reason})", quantity::rate(gbps * 1e9)),
    }
}

/// Names the flag that sets a wrong parameter.
fn usage(error: ParameterError) -> Error {
    let ParameterError { parameter, value, requirement } = error;
    let flag = match parameter {
        "protection" => "scheme".to_owned(),
        "phases" | "duration" => "phase".to_owned(),
        "dummy-copies" => "dummies".to_owned(),
        "loss_window_frames" => "loss-window".to_owned(),
        // The protocol's own parameters go by the names of their fields.
        other => other.replace(['.', '_'], "-"),
    };
    UsageError::new(format!("--{flag} {value}: {requirement}")).into()
}
