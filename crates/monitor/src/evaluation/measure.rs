//! The measurements of one cell.

use super::link::Link;
use super::paper::PaperRule;
use super::{DetectionCell, EvaluationOptions, FULL_LOAD, FalseAlarmCell, POLL, YEAR_S};
use crate::detection::Detector;
use linkmend_random::Random;
use linkmend_statistics::Counted;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Polls of a healthy link before it begins to corrupt, which the window then has.
const HEALTHY_POLLS: u32 = 1_200;
/// After so many polls it looks whether it is to stop.
const POLLS_A_LOOK: u64 = 1 << 16;
/// Polls after which a loss counts as not found: a day.
const POLLS_MOST: u32 = 86_400;

fn frames_per_poll(load: f64) -> u64 {
    (load * FULL_LOAD * POLL.as_secs_f64()).round() as u64
}

/// Starts the loss rate again and again.
pub(super) fn detection(
    options: &EvaluationOptions,
    loss_rate: f64,
    load: f64,
    stop: &AtomicBool,
) -> DetectionCell {
    let mut times = Vec::new();
    let mut paper_times = Vec::new();
    for run in (0..options.runs).take_while(|_| !stop.load(Ordering::Relaxed)) {
        let random = Random::new(options.seed, &format!("detection {loss_rate:e} {load} {run}"));
        let (ours, papers) = time_to_detect(options, random, loss_rate, load);
        times.extend(ours);
        paper_times.extend(papers);
    }
    let percentile = |times: &mut Vec<f64>, share: f64| {
        times.sort_by(f64::total_cmp);
        // Runs in which nothing was found took longer than all others.
        let rank = ((options.runs as f64 * share).ceil() as usize).max(1) - 1;
        times.get(rank).copied()
    };
    DetectionCell {
        loss_rate,
        load,
        runs: options.runs,
        found: times.len(),
        median_s: percentile(&mut times, 0.5),
        p95_s: percentile(&mut times, 0.95),
        paper_median_s: percentile(&mut paper_times, 0.5),
    }
}

/// Seconds until the loss is found, and until the paper's rule finds it.
fn time_to_detect(
    options: &EvaluationOptions,
    mut random: Random,
    loss_rate: f64,
    load: f64,
) -> (Option<f64>, Option<f64>) {
    let settings = &options.settings;
    // The loss begins somewhere between two polls.
    let begun = random.uniform();
    let mut link = Link::new(random, frames_per_poll(load));
    let mut detector = Detector::default();
    let mut paper = PaperRule::default();
    let (mut ours, mut papers) = (None, None);
    for poll in 0..HEALTHY_POLLS + POLLS_MOST {
        let first = poll == HEALTHY_POLLS;
        if first {
            link.corrupt(loss_rate);
        }
        let since = POLL * poll;
        let increment = link.poll(if first { begun } else { 1.0 });
        let waited = || f64::from(poll - HEALTHY_POLLS) + begun;
        if papers.is_none() && paper.alarm(settings, since, increment) {
            papers = Some(waited());
        }
        if ours.is_none() {
            let _ = detector.handle_reading(settings, since + POLL, link.reading());
            ours = detector.state().corrupts().then(waited);
        }
        if ours.is_some() && papers.is_some() {
            break;
        }
    }
    (ours, papers)
}

/// Alarms about a healthy link, ours and those of the paper's rule.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Alarms {
    ours: u64,
    papers: u64,
}

/// Watches a healthy link for a part of its years.
pub(super) fn false_alarms(
    options: &EvaluationOptions,
    background: f64,
    load: f64,
    (link_years, part): (f64, u64),
    stop: &AtomicBool,
) -> Alarms {
    let settings = &options.settings;
    let random = Random::new(options.seed, &format!("healthy {background:e} {part}"));
    let mut link = Link::new(random, frames_per_poll(load));
    link.corrupt(background);
    let mut detector = Detector::default();
    let mut paper = PaperRule::default();
    let mut alarms = Alarms::default();
    let polls = (link_years * YEAR_S / POLL.as_secs_f64()) as u64;
    let mut now = Duration::ZERO;
    for poll in 0..polls {
        if poll % POLLS_A_LOOK == 0 && stop.load(Ordering::Relaxed) {
            break;
        }
        let increment = link.poll(1.0);
        alarms.papers += u64::from(paper.alarm(settings, now, increment));
        now += POLL;
        let change = detector.handle_reading(settings, now, link.reading()).ok().flatten();
        alarms.ours += u64::from(change.is_some_and(|change| change.to.corrupts()));
    }
    alarms
}

/// The parts of a healthy link's years together.
pub(super) fn pool(background: f64, load: f64, link_years: f64, parts: &[Alarms]) -> FalseAlarmCell {
    let alarms = parts.iter().map(|part| part.ours).sum();
    let papers: u64 = parts.iter().map(|part| part.papers).sum();
    let (low, high) = Counted::single(alarms, 1.0).interval(1.0);
    FalseAlarmCell {
        background,
        load,
        link_years,
        alarms,
        per_link_year: alarms as f64 / link_years,
        interval: (low / link_years, high / link_years),
        paper_per_link_year: papers as f64 / link_years,
    }
}
