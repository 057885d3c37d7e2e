//! Experiments with fleets: the files that are built in, what is refused, and that threads change nothing.

use super::*;
use linkmend_experiment::{Event, Kind as _, run_all};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The built-in experiments, so reduced that a test has time for them.
fn small() -> Vec<FleetExperiment> {
    let experiments = BUILT_IN.iter().map(|(path, text)| {
        let text = text
            .replace("runs = 30", "runs = 20")
            .replace("days = 365\nruns = 20", "days = 40\nruns = 3\npods = 4")
            .replace("week-from-day = 180", "week-from-day = 20");
        FleetExperiment::parse(path, &text, Path::new("")).unwrap_or_else(|error| panic!("{error}"))
    });
    experiments.collect()
}

fn outcomes(experiments: &[FleetExperiment], threads: usize) -> Vec<Vec<FleetOutcome>> {
    let mut outcomes: Vec<Vec<_>> =
        experiments.iter().map(|experiment| vec![None; experiment.points.len()]).collect();
    let mut done = 0.0;
    run_all(experiments, 7, threads, &AtomicBool::new(false), |event| match event {
        Event::Progress(part) => done += part,
        Event::Point { experiment, point, outcome } => outcomes[experiment][point] = Some(outcome),
        Event::Failed { failure, .. } => match failure.error {},
    });
    let work: f64 = experiments.iter().map(FleetExperiment::core_seconds).sum();
    assert!((done - work).abs() < 1e-6, "progress comes to its end: {done} of {work}");
    let whole = |of_points: Vec<Option<FleetOutcome>>| {
        of_points.into_iter().map(|outcome| outcome.expect("every point has run")).collect()
    };
    outcomes.into_iter().map(whole).collect()
}

#[test]
fn threads_change_nothing_and_runs_follow_the_order_of_their_seeds() {
    let experiments = small();
    let of_one = outcomes(&experiments, 1);
    assert_eq!(of_one, outcomes(&experiments, 3));
    for (experiment, of_points) in experiments.iter().zip(&of_one) {
        for outcome in of_points {
            let seeds: Vec<u64> = match outcome {
                FleetOutcome::Pairs(pairs) => {
                    let kept: Vec<bool> = pairs.iter().map(|pair| !pair.snapshot.is_empty()).collect();
                    let week = experiment.extra == Figure::Week;
                    assert!(!week || kept == [true, false, false], "only the first trace keeps its week");
                    pairs.iter().map(|pair| pair.seed).collect()
                }
                FleetOutcome::Upgrades(runs) => runs.iter().map(|run| run.seed).collect(),
            };
            assert_eq!(seeds, [7, 8, 9], "all points see the same traces");
        }
    }
}

#[test]
fn a_built_in_experiment_is_two_points_of_twenty_or_thirty_years() {
    for experiment in built_in().unwrap_or_else(|error| panic!("{error}")) {
        let words: Vec<String> = experiment.points.iter().map(|point| experiment.describe(point)).collect();
        assert_eq!(words, ["50 % of paths", "75 % of paths"]);
        let years = if experiment.id == "fig15" { 30 } else { 20 };
        assert_eq!((experiment.results(), experiment.core_seconds()), (2 * years, 1.6 * years as f64));
        for point in &experiment.points {
            let quick = FleetExperiments::quick(point);
            assert_eq!((quick.runs, quick.parameters.days), (2, Some(40)));
        }
    }
}

#[test]
fn published_values_are_compared_as_those_of_links_are() {
    let experiments = small();
    let of_all = outcomes(&experiments, 2);
    let rows = experiments[0].compare(&of_all[0].iter().cloned().map(Some).collect::<Vec<_>>());
    let labels: Vec<&str> = rows.iter().map(|row| row.published.metric.as_str()).collect();
    let orders = "reduction of the total penalty (the sum of the loss rates of links in operation), in \
     orders of magnitude";
    let most = "protected links per pipe, maximum";
    let expected = [
        format!("{orders}, 50 % of paths"),
        format!("{orders}, 75 % of paths"),
        format!("{most}, 50 % of paths"),
        format!("{most}, 75 % of paths"),
    ];
    assert_eq!(labels, expected);
    let most = rows[3].measured.expect("every point has run");
    let of_years = tables::years(&experiments[0], &of_all[0]).to_csv();
    assert_eq!(most.interval, None, "the most of all years is no mean");
    assert_eq!(of_years.lines().count(), 1 + 2 * 3, "a row for each year: {of_years}");
    let of_points = tables::means(&experiments[0], &of_all[0]).to_csv();
    assert_eq!(of_points.lines().count(), 1 + 2, "{of_points}");
    assert!(of_points.contains("50 %,") && of_points.contains("75 %,"), "{of_points}");
    let of_weeks = |part: &str| {
        let name = format!("penalty_reduction_week_orders.{part}");
        let metric = experiments[0].metrics.iter().find(|metric| metric.name == name).expect("it exists");
        metric.value(&of_all[0][1]).expect("there are weeks").value
    };
    let [low, middle, high] = ["p5", "p50", "p95"].map(of_weeks);
    assert!(
        0.0 < low && low <= middle && middle <= high && low < high && high < 8.0,
        "{low} {middle} {high}"
    );
    assert!(experiments[2].compare(&[]).is_empty(), "nothing was published about upgrades");
    assert_eq!(plots::all(&experiments[2], &of_all[2]).len(), 2);
}

#[test]
fn what_is_wrong_with_a_file_is_named_with_its_line() {
    let (path, text) = BUILT_IN[0];
    let lines_before = |key: &str| text[..text.find(key).expect(key)].lines().count();
    for (right, wrong, message) in [
        (
            "constraint = [\"50%\", \"75%\"]",
            "constraint = [\"150%\"]",
            "constraint: not a share from 0% to 100%",
        ),
        ("days = 365", "days = 0", "days = 0: must be from 1 to 36600"),
        ("days = 365", "pods = 0", "pods is 0; it must be 1 to 65,536"),
        ("days = 365", "seeds = 20", "unknown key `seeds`, expected runs or one of constraint, pods, days"),
        ("metric = \"pen", "metric = \"den", "there is no metric `denalty_reduction_orders`"),
        ("week-from-day", "week-of-day", "unknown field `week-of-day`"),
    ] {
        let error = FleetExperiment::parse(path, &text.replacen(right, wrong, 1), Path::new(""));
        let error = error.expect_err(wrong).to_string();
        let place = format!("{path}:{}: {message}", lines_before(right) + 1);
        assert!(error.starts_with(&place), "{error}; expected {place}");
    }
    let none = text.replacen("constraint = [\"50%\", \"75%\"]", "pods = [3, 4]", 1);
    let error = FleetExperiment::parse(path, &none, Path::new("")).expect_err("no constraint").to_string();
    assert!(error.contains("requires `constraint`"), "{error}");
}
