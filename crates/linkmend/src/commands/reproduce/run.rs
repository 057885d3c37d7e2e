//! Runs experiments, shows progress, and writes what is finished.

use super::finished::{Finished, Tally};
use super::planned::Planned;
use super::{Options, files, fleet, link, upgrades};
use crate::commands::interrupt;
use crate::failure::Hinted;
use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use linkmend_experiment::{Event, Failure, run_all};
use linkmend_fleet::experiment::Figure;
use linkmend_sim::experiment::{Experiment, Outcome};
use linkmend_sim::stress::StressError;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Width of the tables when standard output is no terminal.
const TABLE_WIDTH: usize = 150;

/// Steps of the progress bar in a second of one core.
const STEPS_PER_SECOND: f64 = 100.0;

/// Runs them, and prints what came out in their order.
pub fn run(planned: &[Planned], options: &Options) -> anyhow::Result<()> {
    // Found out now rather than after the first experiment.
    files::write_report(&[], options, planned.len())?;
    let stop = interrupt::flag()?;
    let mut collected = Collected::new(planned, options);
    run_links(planned, &mut collected, &stop)?;
    run_fleets(planned, &mut collected, &stop)?;
    collected.bar.finish_and_clear();
    let finished: Vec<&Finished> = collected.finished.iter().flatten().collect();
    show(&finished, options)?;
    conclude(&finished, planned.len(), options)
}

/// All simulated links together, so that threads are never idle between two experiments.
fn run_links(planned: &[Planned], collected: &mut Collected<'_>, stop: &AtomicBool) -> anyhow::Result<()> {
    let (places, links): (Vec<usize>, Vec<Experiment>) = planned
        .iter()
        .enumerate()
        .filter_map(|(place, planned)| Some((place, planned.link()?.clone())))
        .unzip();
    let mut sweeps = Sweeps::new(&links, places);
    let mut trouble = Ok(());
    run_all(&links, collected.options.seed, collected.options.threads(), stop, |event| {
        if trouble.is_ok() {
            trouble = sweeps.take(event, collected);
        }
        if trouble.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
    });
    trouble
}

/// Fleets one after the other: each uses all threads itself.
fn run_fleets(planned: &[Planned], collected: &mut Collected<'_>, stop: &AtomicBool) -> anyhow::Result<()> {
    for (place, planned) in planned.iter().enumerate() {
        let Planned::Fleet(experiment) = planned else { continue };
        let options = collected.options;
        let topology = experiment.topology()?;
        let progress = Mutex::new(&mut *collected);
        let pair_done = || {
            if let Ok(mut collected) = progress.lock() {
                collected.advance(fleet::SECONDS_PER_PAIR);
            }
        };
        let (study, threads) = (experiment.study(options.seed), options.threads());
        let finished = match experiment.figure {
            Figure::Week | Figure::Differences => {
                study.run(&topology, threads, stop, &pair_done).map(|pairs| fleet::finish(experiment, &pairs))
            }
            Figure::Deployment => study
                .run_upgrades(&topology, threads, stop, &pair_done)
                .map(|runs| upgrades::finish(experiment, &runs)),
        };
        let Some(finished) = finished else { return Ok(()) };
        collected.put(place, finished)?;
    }
    Ok(())
}

/// What has come out so far.
struct Collected<'a> {
    options: &'a Options,
    finished: Vec<Option<Finished>>,
    bar: ProgressBar,
    done_s: f64,
}

impl<'a> Collected<'a> {
    fn new(planned: &[Planned], options: &'a Options) -> Collected<'a> {
        let seconds: f64 = planned.iter().map(Planned::core_seconds).sum();
        // Drawn on standard error, and only on a terminal.
        let bar = ProgressBar::new((seconds * STEPS_PER_SECOND).ceil() as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  [{eta} left]") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        bar.set_message(format!("0 of {} experiments", planned.len()));
        let finished = planned.iter().map(|_| None).collect();
        Collected { options, finished, bar, done_s: 0.0 }
    }

    fn advance(&mut self, core_seconds: f64) {
        self.done_s += core_seconds;
        self.bar.set_position((self.done_s * STEPS_PER_SECOND) as u64);
    }

    /// Writes the files of an experiment that is finished, and the report with it.
    fn put(&mut self, place: usize, finished: Finished) -> anyhow::Result<()> {
        files::write_experiment(&finished, self.options)?;
        self.bar.println(format!("{}: {}", finished.id, in_words(finished.tally())));
        self.finished[place] = Some(finished);
        let all: Vec<&Finished> = self.finished.iter().flatten().collect();
        self.bar.set_message(format!("{} of {} experiments", all.len(), self.finished.len()));
        files::write_report(&all, self.options, self.finished.len())
    }
}

/// Simulated links of which some points are in.
struct Sweeps<'a> {
    experiments: &'a [Experiment],
    /// Their places among all that is planned.
    places: Vec<usize>,
    outcomes: Vec<Vec<Option<Outcome>>>,
}

impl<'a> Sweeps<'a> {
    fn new(experiments: &'a [Experiment], places: Vec<usize>) -> Sweeps<'a> {
        let outcomes = experiments.iter().map(|experiment| vec![None; experiment.points.len()]).collect();
        Sweeps { experiments, places, outcomes }
    }

    /// When an experiment's last point is in, it is finished.
    fn take(
        &mut self,
        event: Event<Outcome, StressError>,
        collected: &mut Collected<'_>,
    ) -> anyhow::Result<()> {
        let (experiment, point, outcome) = match event {
            Event::Progress(part) => {
                collected.advance(part / Planned::FRAMES_PER_SECOND);
                return Ok(());
            }
            Event::Point { experiment, point, outcome } => (experiment, point, outcome),
            Event::Failed { experiment, point, failure: Failure { seed, error } } => {
                let experiment = &self.experiments[experiment];
                let place = experiment.describe(&experiment.points[point]);
                let message = format!("{}: {place}, seed {seed}: {error}", experiment.id);
                let hint = "`linkmend sim stress` with these parameters and this seed repeats it".to_owned();
                return Err(Hinted { message, hint }.into());
            }
        };
        self.outcomes[experiment][point] = Some(outcome);
        if self.outcomes[experiment].iter().any(Option::is_none) {
            return Ok(());
        }
        let outcomes = self.outcomes[experiment].drain(..).flatten().collect();
        let finished = link::finish(&self.experiments[experiment], outcomes, collected.options)?;
        collected.put(self.places[experiment], finished)
    }
}

fn in_words(tally: Tally) -> String {
    if tally.total() == 0 {
        return "nothing published to compare with".to_owned();
    }
    let mut words = format!(
        "{} inside, {} explained, {} too few to tell, {} outside",
        tally.inside, tally.explained, tally.too_few_to_tell, tally.unexplained
    );
    if tally.not_measured > 0 {
        words.push_str(&format!(", {} not measured", tally.not_measured));
    }
    words
}

fn show(finished: &[&Finished], options: &Options) -> anyhow::Result<()> {
    if options.json {
        let summary = files::summary(finished, options);
        return Ok(output::print(&serde_json::to_string_pretty(&summary)?)?);
    }
    let (width, colour) = output::terminal(TABLE_WIDTH);
    for finished in finished {
        if !finished.comparisons.is_empty() {
            output::print(&finished.comparison_table().to_text(width, colour))?;
        } else if let Some(points) = &finished.briefly {
            output::print(&points.to_text(width, colour))?;
        } else {
            let Finished { title, id, point_count, .. } = finished;
            let points = options.out.join(id).join("points.csv");
            output::print(&format!("  {title}: {point_count} points, in {}\n", points.display()))?;
        }
        output::print("\n")?;
    }
    let tally = Tally::sum(finished.iter().map(|finished| finished.tally()));
    let report = options.out.join("report.html");
    Ok(output::print(&format!("{}. Report: {}", in_words(tally), report.display()))?)
}

/// Whether all is well.
fn conclude(finished: &[&Finished], of: usize, options: &Options) -> anyhow::Result<()> {
    if finished.len() < of {
        let message = format!("interrupted: {} of {of} experiments are finished", finished.len());
        let hint = format!("they are in {}; run the others by their names", options.out.display());
        return Err(Hinted { message, hint }.into());
    }
    let tally = Tally::sum(finished.iter().map(|finished| finished.tally()));
    if options.quick {
        return Ok(());
    }
    let report = options.out.join("report.html");
    if tally.unexplained > 0 {
        let message =
            format!("{} values are outside their tolerance, and nothing explains why", tally.unexplained);
        return Err(Hinted { message, hint: format!("look for `outside` in {}", report.display()) }.into());
    }
    let comparisons = finished.iter().flat_map(|finished| &finished.comparisons);
    let undecided = comparisons.filter(|comparison| comparison.is_undecided()).count();
    if undecided > 0 {
        let message = format!(
            "{undecided} values were counted too seldom to tell whether they are within their tolerance"
        );
        let hint = format!("look for `too few` in {}; more `frames` or `runs` decide it", report.display());
        return Err(Hinted { message, hint }.into());
    }
    Ok(())
}
