//! Runs experiments, shows progress, and writes what is finished.

use super::finished::{Finished, Tally};
use super::kept::Kept;
use super::outcomes::Outcomes;
use super::planned::Planned;
use super::present::{Present, finish};
use super::{Options, files, folder};
use crate::commands::study::{Found, Watch};
use linkmend::failure::{Error, Hinted, Interrupted, Result};
use linkmend_experiment::{Event, Experiment, Recorded, Unit, run_all};
use std::sync::atomic::{AtomicBool, Ordering};

/// Width of the tables when standard output is no terminal.
const TABLE_WIDTH: usize = 150;

/// Steps of the progress bar for each second of one core.
const STEPS_PER_SECOND: f64 = 100.0;

/// Runs experiments, in their order. With `keeps`, results that are already in the folder are used.
pub fn run(planned: &[Planned], options: &Options, keeps: bool, watch: &dyn Watch) -> Result<Found> {
    with_outcomes(planned, options, keeps, &Outcomes::default(), watch)
}

/// The same, without the runs whose outcomes are known.
pub fn with_outcomes(
    planned: &[Planned],
    options: &Options,
    keeps: bool,
    known: &Outcomes,
    watch: &dyn Watch,
) -> Result<Found> {
    let _lock = options.out.as_deref().map(folder::lock).transpose()?;
    let mut collected = Collected::new(planned, options, keeps, watch)?;
    // This fails now rather than after the first experiment if files cannot be written.
    collected.write_report()?;
    let stop = watch.stop()?;
    run_kind(planned, Planned::runs, known, &mut collected, stop)?;
    run_kind(planned, Planned::fleet, known, &mut collected, stop)?;
    let kept: Vec<&Kept> = collected.kept.iter().flatten().collect();
    let failure = conclude(&kept, planned.len(), options);
    Ok(found(collected.finished.into_iter().flatten().collect(), &kept, options)?.failing(failure))
}

/// Runs all experiments of a kind together, so that threads are never idle between two of them.
fn run_kind<K: Present>(
    planned: &[Planned],
    of_kind: fn(&Planned) -> Option<&Experiment<K>>,
    known: &Outcomes,
    collected: &mut Collected<'_>,
    stop: &AtomicBool,
) -> Result<()> {
    let missing = planned.iter().enumerate().filter(|(place, _)| collected.kept[*place].is_none());
    let chosen = missing.filter_map(|(place, planned)| Some((place, of_kind(planned)?)));
    let (places, experiments): (Vec<usize>, Vec<Experiment<K>>) =
        chosen.map(|(place, experiment)| (place, experiment.clone())).unzip();
    let none_yet = |experiment: &Experiment<K>| vec![None; experiment.points.len()];
    let mut outcomes: Vec<Vec<Option<K::Outcome>>> = experiments.iter().map(none_yet).collect();
    let mut take = |event: Event<K::Outcome, K::Error>, collected: &mut Collected<'_>| match event {
        Event::Progress(part) => {
            collected.advance(part / K::WORK_PER_SECOND);
            Ok(())
        }
        Event::Failed { experiment, point, failure } => {
            Err(K::failed(&experiments[experiment], point, failure))
        }
        Event::Point { experiment, point, outcome } => {
            outcomes[experiment][point] = Some(outcome);
            if outcomes[experiment].iter().any(Option::is_none) {
                return Ok(());
            }
            // The last point is finished.
            let all = outcomes[experiment].drain(..).flatten().collect();
            let finished = finish(&experiments[experiment], all, collected.options)?;
            collected.put(places[experiment], finished)
        }
    };
    let mut trouble = Ok(());
    let recorded = places.iter().zip(&experiments).map(|(place, experiment)| {
        let recorded =
            |point: usize, run: u64| known.outcome::<K::Outcome>(Unit { experiment: *place, point, run });
        Recorded { experiment, recorded }
    });
    let recorded: Vec<_> = recorded.collect();
    run_all(&recorded, collected.options.seed, collected.options.threads(), stop, |event| {
        if trouble.is_ok() {
            trouble = take(event, collected);
        }
        if trouble.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
    });
    trouble
}

/// The experiments that are finished so far.
struct Collected<'a> {
    options: &'a Options,
    /// What results depend on besides the experiments, if they are kept.
    circumstances: Option<u64>,
    /// Those that this command has run.
    finished: Vec<Option<Finished>>,
    /// These, and those that were in the folder.
    kept: Vec<Option<Kept>>,
    /// Others in the folder.
    others: Vec<Kept>,
    watch: &'a dyn Watch,
    done_s: f64,
}

impl<'a> Collected<'a> {
    fn new(
        planned: &[Planned],
        options: &'a Options,
        keeps: bool,
        watch: &'a dyn Watch,
    ) -> Result<Collected<'a>> {
        let out = options.out.as_deref().filter(|_| keeps);
        let circumstances = out.map(|_| folder::circumstances(options)).transpose()?;
        let mut others = out
            .zip(circumstances)
            .map_or_else(Vec::new, |(out, circumstances)| folder::read_all(out, circumstances));
        let mut take = |planned: &Planned| {
            let id = planned.overview().id;
            let found = others.iter().position(|kept| kept.id == id).map(|at| others.remove(at));
            found.filter(|kept| folder::is_of(kept, id, planned.text()))
        };
        let kept: Vec<Option<Kept>> = planned.iter().map(&mut take).collect();
        let missing = planned.iter().zip(&kept).filter(|(_, kept)| kept.is_none());
        let seconds: f64 = missing.map(|(planned, _)| planned.overview().core_seconds).sum();
        let steps = (seconds * STEPS_PER_SECOND).ceil() as u64;
        watch.begin(steps, "{bar:30} {percent:>3} %  {msg}  [{left}]");
        let there = kept.iter().flatten().count();
        watch.say(format!("{there} of {} experiments", planned.len()));
        let finished = planned.iter().map(|_| None).collect();
        Ok(Collected { options, circumstances, finished, kept, others, watch, done_s: 0.0 })
    }

    fn advance(&mut self, core_seconds: f64) {
        self.done_s += core_seconds;
        self.watch.reach((self.done_s * STEPS_PER_SECOND) as u64);
    }

    /// Writes the files of a finished experiment, and the report.
    fn put(&mut self, place: usize, finished: Finished) -> Result<()> {
        files::write_experiment(&finished, self.options)?;
        let kept = folder::keep(&finished, self.options.out.as_deref(), self.circumstances)?;
        self.watch.note(&format!("{}: {}", finished.id, in_words(finished.tally())));
        (self.finished[place], self.kept[place]) = (Some(finished), Some(kept));
        let count = self.kept.iter().flatten().count();
        self.watch.say(format!("{count} of {} experiments", self.kept.len()));
        self.write_report()
    }

    fn write_report(&self) -> Result<()> {
        let all: Vec<&Kept> = self.kept.iter().flatten().chain(&self.others).collect();
        files::write_report(&all, self.options, self.kept.len() + self.others.len())
    }
}

fn in_words(tally: Tally) -> String {
    if tally.total() == 0 {
        return "nothing published to compare with".to_owned();
    }
    let mut words = format!(
        "{} of {} reproduced, {} differ as predicted, {} not reproduced, {} too few to tell",
        tally.reproduced,
        tally.total(),
        tally.differ_as_predicted,
        tally.not_reproduced,
        tally.too_few_to_tell
    );
    if tally.not_measured > 0 {
        words.push_str(&format!(", {} not measured", tally.not_measured));
    }
    words
}

/// What is shown of the experiments that this command has run, and of others that were there before.
fn found(finished: Vec<Finished>, kept: &[&Kept], options: &Options) -> Result<Found> {
    let mut found = Found::new(&files::summary(kept, options), TABLE_WIDTH, Vec::new())?;
    let ids: Vec<String> = finished.iter().map(|finished| finished.id.clone()).collect();
    for finished in finished {
        let comparisons = (!finished.comparisons.is_empty()).then(|| finished.comparison_table());
        let Finished { id, title, point_count, presented, .. } = finished;
        let briefly = if comparisons.is_none() { presented.briefly } else { Vec::new() };
        let has_tables = comparisons.is_some() || !briefly.is_empty();
        found.tables.extend(comparisons.into_iter().chain(briefly));
        if let Some(out) = options.out.as_ref().filter(|_| !has_tables) {
            let points = out.join(&id).join("points.csv");
            found = found.closing(format!("{title}: {point_count} points, in {}", points.display()));
        } else if !has_tables {
            found.tables.push(presented.points.clone());
        }
        found = found.plots(presented.plots).series(id, presented.points);
    }
    for kept in kept.iter().filter(|kept| !ids.contains(&kept.id)) {
        found = found.closing(format!("{}, from before: {}", kept.id, in_words(kept.tally)));
    }
    let tally = Tally::sum(kept.iter().map(|kept| kept.tally));
    let report = options.report().map_or_else(String::new, |report| format!(" Report: {report}"));
    let is_silent = tally.total() == 0 && report.is_empty();
    Ok(if is_silent { found } else { found.closing(format!("{}.{report}", in_words(tally))) })
}

/// Why the command fails, unless all verdicts match the recorded ones.
fn conclude(finished: &[&Kept], of: usize, options: &Options) -> Option<Error> {
    if finished.len() < of {
        let message = format!("interrupted: {} of {of} experiments are finished", finished.len());
        let hint = match &options.out {
            Some(out) => format!("they are in {}; the same command continues from there", out.display()),
            None => "--quick takes less time".to_owned(),
        };
        return Some(Interrupted::error(message, hint));
    }
    let changed = Tally::sum(finished.iter().map(|finished| finished.tally)).changed;
    if options.quick || changed == 0 {
        return None;
    }
    let report = options.report().unwrap_or_else(|| "the table".to_owned());
    let message = format!("{changed} verdicts differ from the recorded ones");
    let hint = format!(
        "look for `recorded` in {report}; where the new verdict is right, put it into the row as `verdict`, and where it is \
         `too few to tell`, use more `frames`, `trials` or `runs`"
    );
    Some(Hinted::error(message, hint))
}
