//! Runs experiments, shows progress, and writes what is finished.

use super::finished::{Finished, Tally};
use super::{Options, files, list, tables};
use crate::commands::interrupt;
use crate::failure::Hinted;
use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use linkmend_sim::experiment::{Experiment, News, Outcome, run_all};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Width of the tables when standard output is no terminal.
const TABLE_WIDTH: usize = 150;
/// More points than these are left to the files where there is nothing to compare.
const POINTS_PRINTED: usize = 40;

/// Runs them, and prints what came out in their order.
pub fn run(experiments: &[Experiment], options: &Options) -> anyhow::Result<()> {
    // Found out now rather than after the first experiment.
    files::write_report(&[], options, experiments.len())?;
    let stop = interrupt::flag()?;
    let mut collected = Collected::new(experiments, options);
    let mut trouble = Ok(());
    run_all(experiments, options.seed, options.threads(), &stop, |news| {
        if trouble.is_ok() {
            trouble = collected.take(news);
        }
        if trouble.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
    });
    collected.bar.finish_and_clear();
    trouble?;
    let finished: Vec<&Finished<'_>> = collected.finished.iter().flatten().collect();
    show(&finished, options)?;
    conclude(&finished, experiments.len(), options)
}

/// What has come out so far.
struct Collected<'a> {
    experiments: &'a [Experiment],
    options: &'a Options,
    outcomes: Vec<Vec<Option<Outcome>>>,
    finished: Vec<Option<Finished<'a>>>,
    bar: ProgressBar,
    done: f64,
}

impl<'a> Collected<'a> {
    fn new(experiments: &'a [Experiment], options: &'a Options) -> Collected<'a> {
        let work: f64 = experiments.iter().map(list::work).sum();
        // Drawn on standard error, and only on a terminal.
        let bar = ProgressBar::new(work.ceil() as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  [{eta} left]") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        bar.set_message(format!("0 of {} experiments", experiments.len()));
        let outcomes = experiments.iter().map(|experiment| vec![None; experiment.points.len()]).collect();
        let finished = experiments.iter().map(|_| None).collect();
        Collected { experiments, options, outcomes, finished, bar, done: 0.0 }
    }

    /// When an experiment's last point is in, its files are written, and the report with it.
    fn take(&mut self, news: News) -> anyhow::Result<()> {
        let (experiment, point, outcome) = match news {
            News::Progress(part) => {
                self.done += part;
                self.bar.set_position(self.done as u64);
                return Ok(());
            }
            News::Point { experiment, point, outcome } => (experiment, point, outcome),
            News::Failed { experiment, point, seed, error } => {
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
        let finished = Finished::new(&self.experiments[experiment], outcomes);
        files::write_experiment(&finished, self.options)?;
        self.bar.println(format!("{}: {}", finished.experiment.id, in_words(finished.tally())));
        self.finished[experiment] = Some(finished);
        let all: Vec<&Finished<'_>> = self.finished.iter().flatten().collect();
        self.bar.set_message(format!("{} of {} experiments", all.len(), self.experiments.len()));
        files::write_report(&all, self.options, self.experiments.len())
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

fn show(finished: &[&Finished<'_>], options: &Options) -> anyhow::Result<()> {
    if options.json {
        let summary = files::summary(finished, options);
        return Ok(output::print(&serde_json::to_string_pretty(&summary)?)?);
    }
    let (width, colour) = output::terminal(TABLE_WIDTH);
    for finished in finished {
        if !finished.comparisons.is_empty() {
            output::print(&tables::comparisons(finished).to_text(width, colour))?;
        } else if finished.outcomes.len() <= POINTS_PRINTED {
            output::print(&tables::points_briefly(finished).to_text(width, colour))?;
        } else {
            let (title, id) = (&finished.experiment.title, &finished.experiment.id);
            let points = options.out.join(id).join("points.csv");
            output::print(&format!(
                "  {title}: {} points, in {}\n",
                finished.outcomes.len(),
                points.display()
            ))?;
        }
        output::print("\n")?;
    }
    let tally = Tally::sum(finished.iter().map(|finished| finished.tally()));
    let report = options.out.join("report.html");
    Ok(output::print(&format!("{}. Report: {}", in_words(tally), report.display()))?)
}

/// Whether all is well.
fn conclude(finished: &[&Finished<'_>], of: usize, options: &Options) -> anyhow::Result<()> {
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
    if tally.too_few_to_tell > 0 {
        let message = format!(
            "{} values were counted too seldom to tell whether they are within their tolerance",
            tally.too_few_to_tell
        );
        let hint = format!("look for `too few` in {}; more `frames` or `runs` decide it", report.display());
        return Err(Hinted { message, hint }.into());
    }
    Ok(())
}
