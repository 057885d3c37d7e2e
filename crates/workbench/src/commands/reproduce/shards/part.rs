//! One shard: does its runs, and writes what they measure.

use super::super::outcomes::{OutcomeFile, Outcomes};
use super::super::planned::Planned;
use super::super::present::Present;
use super::super::{Options, folder};
use super::manifest::Manifest;
use super::{units, units_of};
use crate::commands::progress;
use indicatif::ProgressBar;
use linkmend::failure::{Interrupted, Result, UsageError};
use linkmend::{interrupt, output};
use linkmend_experiment::{Event, Experiment, Shard, Unit, run_share};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Does the runs of a shard that are not in its folder yet.
pub fn run(planned: &[Planned], options: &Options, shard: Shard, out: &Path, built_in: bool) -> Result<()> {
    let _lock = folder::lock(out)?;
    claim(&Manifest::new(planned, options, shard, built_in)?, out)?;
    let units = units_of(planned, shard);
    let (file, before) = OutcomeFile::open(out)?;
    let missing: BTreeSet<Unit> = units.iter().filter(|unit| !before.has(unit)).copied().collect();
    let work = Work { options, bar: &bar_for(planned, &missing), missing, file, stop: &*interrupt::flag()? };
    work.run_kind(planned, Planned::runs)?;
    work.run_kind(planned, Planned::fleet)?;
    work.bar.finish_and_clear();
    conclude(&work.file.finish()?, &units, shard, out)
}

/// Sees that the folder has nothing else, and writes what the shard is a part of.
fn claim(manifest: &Manifest, out: &Path) -> Result<()> {
    let Some(there) = Manifest::read(out)? else { return manifest.write(out) };
    if there == *manifest {
        return Ok(());
    }
    let differences = match (there.shard(), there.differences(manifest)) {
        (Ok(other), none) if none.is_empty() => format!("it is shard {other}"),
        (_, differences) => differences,
    };
    let message = format!("{} has another shard: {differences}", out.display());
    Err(UsageError::hinted(
        message,
        "choose another --out for each shard, or remove the directory".to_owned(),
    )
    .into())
}

/// The runs that are to be done.
struct Work<'a> {
    options: &'a Options,
    missing: BTreeSet<Unit>,
    file: OutcomeFile,
    bar: &'a ProgressBar,
    stop: &'a AtomicBool,
}

impl Work<'_> {
    /// Does the runs of all experiments of a kind.
    fn run_kind<K: Present>(
        &self,
        planned: &[Planned],
        of_kind: fn(&Planned) -> Option<&Experiment<K>>,
    ) -> Result<()> {
        let of_kind =
            planned.iter().enumerate().filter_map(|(place, planned)| Some((place, of_kind(planned)?)));
        let (places, experiments): (Vec<usize>, Vec<Experiment<K>>) =
            of_kind.map(|(place, experiment)| (place, experiment.clone())).unzip();
        // Among these experiments, they have other places.
        let own = self.missing.iter().filter_map(|unit| {
            let experiment = places.iter().position(|place| *place == unit.experiment)?;
            Some(Unit { experiment, ..*unit })
        });
        let take = |unit: Unit, outcome: K::Outcome| {
            let unit = Unit { experiment: places[unit.experiment], ..unit };
            if !self.file.append(unit, &outcome) {
                self.stop.store(true, Ordering::Relaxed);
            }
        };
        let mut failed = Ok(());
        let observe = |event| match event {
            Event::Progress(part) => self.bar.inc(steps(part / K::WORK_PER_SECOND)),
            Event::Point { .. } => (),
            Event::Failed { experiment, point, failure } => {
                if failed.is_ok() {
                    failed = Err(K::failed(&experiments[experiment], point, failure));
                }
                self.stop.store(true, Ordering::Relaxed);
            }
        };
        let how = (self.options.seed, self.options.threads());
        run_share(&experiments, &own.collect::<Vec<Unit>>(), how, self.stop, &take, observe);
        failed
    }
}

/// Steps of the progress bar for so many seconds of one core.
fn steps(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}

/// Drawn on standard error, and only on a terminal.
fn bar_for(planned: &[Planned], missing: &BTreeSet<Unit>) -> ProgressBar {
    let all = planned.iter().enumerate().flat_map(units);
    let seconds = all.filter(|(unit, _)| missing.contains(unit)).map(|(_, seconds)| seconds).sum();
    let bar = progress::bar(steps(seconds), "{bar:30} {percent:>3} %  [{left}]");
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// Fails unless all runs are done.
fn conclude(outcomes: &Outcomes, units: &BTreeSet<Unit>, shard: Shard, out: &Path) -> Result<()> {
    let (done, all) = (units.iter().filter(|unit| outcomes.has(unit)).count(), units.len());
    if done < all {
        let message = format!("interrupted: {done} of the {all} runs of shard {shard} are done");
        let hint = format!("they are in {}; the same command continues from there", out.display());
        return Err(Interrupted::error(message, hint));
    }
    let runs = if all == 1 { "run" } else { "runs" };
    output::print(&format!(
        "Shard {shard}: {all} {runs}, in {}. `linkmend merge` combines all shards.\n",
        out.display()
    ))?;
    Ok(())
}
