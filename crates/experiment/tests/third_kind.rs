//! A kind that compares schemes: percentiles over many flows, and ratios of them with their intervals.

use linkmend_experiment::{
    Combination, Event, Experiment, ExperimentError, Head, Kind, Metric, Parameters, PointOf, Quantity, Run,
    Runs, Source, Value, run_all, tables,
};
use linkmend_random::Random;
use serde::Deserialize;
use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Flows over a lossy path, whose last loss costs a timeout unless the link repairs it.
#[derive(Debug, Clone)]
struct Flows;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowParameters {
    scheme: Option<String>,
    flows: Option<u64>,
}

impl Parameters for FlowParameters {
    fn keys() -> impl Iterator<Item = &'static str> {
        ["scheme", "flows"].into_iter()
    }

    fn label_of(key: &str) -> &'static str {
        if key == "scheme" { "scheme" } else { "flows" }
    }

    fn value_of(&self, key: &str) -> Option<Value> {
        match key {
            "scheme" => self.scheme.as_ref().map(Value::word),
            _ => self.flows.map(|flows| Value::number(flows, flows as f64)),
        }
    }

    fn needs_no_heading(key: &str) -> bool {
        key == "scheme"
    }
}

/// The completion times of the flows of each run, in seconds.
type Outcome = Runs<Vec<f64>>;

fn percentile(outcome: &Outcome, share: f64) -> Option<f64> {
    let mut times: Vec<f64> = outcome.iter().flatten().copied().collect();
    let rank = (share * times.len() as f64) as usize;
    let rank = if share < 1.0 { rank } else { times.len().saturating_sub(1) };
    (rank < times.len()).then(|| *times.select_nth_unstable_by(rank, f64::total_cmp).1)
}

macro_rules! percentiles {
    ($($name:literal, $share:expr;)*) => {
        [$(Metric {
            name: $name,
            label: "flow completion time",
            quantity: Quantity::Time,
            scale: 1e-6,
            read: |outcome, _| percentile(outcome, $share).and_then(linkmend_experiment::Measurement::exact),
        }),*]
    };
}

static METRICS: [Metric<Outcome>; 4] = percentiles! {
    "fct_us.p50", 0.5;
    "fct_us.p99", 0.99;
    "fct_us.p99_9", 0.999;
    "fct_us.max", 1.0;
};

impl Kind for Flows {
    type Parameters = FlowParameters;
    type Task = (bool, u64);
    type Outcome = Outcome;
    type Error = Infallible;
    type File = Head;

    fn metrics((): &()) -> &'static [Metric<Outcome>] {
        &METRICS
    }

    fn task(
        (): &(),
        at: &Combination<FlowParameters>,
        _source: Source<'_>,
        _folder: &Path,
    ) -> Result<(FlowParameters, (bool, u64)), ExperimentError> {
        let repaired = at.parameters.scheme.as_deref() == Some("repaired");
        Ok((at.parameters.clone(), (repaired, at.parameters.flows.unwrap_or(1_000))))
    }

    fn run(
        &(repaired, flows): &(bool, u64),
        run: Run,
        _progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Outcome>, Infallible> {
        let mut random = Random::new(run.seed, "flows");
        let mut flow = || {
            let (length_s, lost) = (20e-6 * (1.0 + random.uniform()), random.uniform() < 0.05);
            length_s + if lost && !repaired { 1e-3 } else { 0.0 }
        };
        Ok(Some(Runs::one((0..flows).map(|_| flow()).collect())))
    }

    /// Schemes get the same flows and the same losses.
    fn seed(base_seed: u64, id: &str, point: &PointOf<Flows>, number: u64) -> u64 {
        point.shared_seed(base_seed, id, number, &["scheme"])
    }

    const SHOWS_RUNS: bool = true;
}

const FILE: &str = r#"
id = "flows"
title = "Flow completion times"
source = "our own"

[base]
runs = 20

[[sweep]]
scheme = ["none", "repaired"]
flows = [20, 40]

[[published]]
metric = "fct_us.p99"
at = { scheme = "none" }
over = { scheme = "repaired" }
value = 26
tolerance = { relative = 0.1 }

[[published]]
metric = "fct_us.p50"
at = { scheme = "none" }
over = { scheme = "repaired" }
of = "greatest"
value = 1
tolerance = { absolute = 0.1 }
"#;

fn parse(text: &str) -> Result<Experiment<Flows>, ExperimentError> {
    Experiment::parse("flows.toml", text, Path::new(""))
}

fn outcomes(experiment: &Experiment<Flows>, threads: usize) -> Vec<Outcome> {
    let mut outcomes = vec![None; experiment.points.len()];
    run_all(std::slice::from_ref(experiment), 7, threads, &AtomicBool::new(false), |event| match event {
        Event::Progress(_) => {}
        Event::Point { point, outcome, .. } => outcomes[point] = Some(outcome),
        Event::Failed { failure, .. } => match failure.error {},
    });
    outcomes.into_iter().map(|outcome| outcome.expect("every point was run")).collect()
}

#[test]
fn a_ratio_of_two_schemes_has_an_interval_over_the_runs_that_they_share() {
    let experiment = parse(FILE).expect("a file");
    assert_eq!(experiment.results(), 80, "four points, twenty runs of each");
    let outcomes = outcomes(&experiment, 2);
    let rows = experiment.compare(&outcomes.into_iter().map(Some).collect::<Vec<_>>());
    let labels: Vec<&str> = rows.iter().map(|row| row.published.metric.as_str()).collect();
    assert_eq!(
        labels,
        ["flow completion time, none, over repaired", "flow completion time, most of none, over repaired"]
    );
    for row in rows {
        let measured = row.measured.expect("every point was run");
        let (low, high) = measured.interval.expect("the runs are kept apart");
        assert!(low <= measured.value && measured.value <= high, "{measured:?}");
        assert!(high / low < 1.1, "the schemes have the same flows: {measured:?}");
        assert_eq!(row.published.quantity, Quantity::Plain);
        assert_eq!(row.comparison().verdict(), linkmend_report::Verdict::Reproduced);
    }
}

#[test]
fn what_grows_with_the_length_of_a_run_is_taken_of_each_run() {
    let row = "\n[[published]]\nmetric = \"fct_us.max\"\nat = { scheme = \"repaired\", flows = 20 }\nvalue = 39\n\
               tolerance = { relative = 0.05 }\n";
    let text = format!("{FILE}{row}of = \"each-run\"\n{row}");
    let experiment = parse(&text).expect("a file");
    let outcomes: Vec<_> = outcomes(&experiment, 2).into_iter().map(Some).collect();
    let rows = experiment.compare(&outcomes);
    let [.., of_run, of_all] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(of_run.published.metric, "flow completion time, median of the runs of repaired, flows 20");
    let [of_run, of_all] = [of_run, of_all].map(|row| row.measured.expect("every point was run"));
    // The median of the greatest of 20 uniform values is 20 * (1 + 0.5^(1/20)) = 39.3 us; of all 400, one is almost 40.
    assert!((of_run.value - 39.3e-6).abs() < 0.4e-6 && of_all.value > 39.8e-6, "{of_run:?} {of_all:?}");
    let (low, high) = of_run.interval.expect("twenty runs");
    assert!(low < of_run.value && of_run.value < high && high <= of_all.value, "{of_run:?}");
    assert_eq!(of_all.interval, None);
    let ratio = FILE.replacen("of = \"greatest\"", "of = \"each-run\"", 1);
    let error = parse(&ratio).expect_err("a ratio").to_string();
    assert_eq!(error, "flows.toml:20: `of = \"each-run\"` cannot be combined with `over`");
}

#[test]
fn the_percentiles_of_a_distribution_are_the_columns_of_a_table() {
    let experiment = parse(FILE).expect("a file");
    let of_one = outcomes(&experiment, 1);
    assert_eq!(of_one, outcomes(&experiment, 3), "threads change nothing");
    let table = tables::of_distribution("Flow completion times".to_owned(), (&experiment, &of_one), "fct_us");
    let text = table.to_text(80, false);
    for word in ["scheme", "flows", "median", "99 %", "99.9 %", "repaired"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(table.to_csv().lines().count(), 1 + 4);
}

#[test]
fn a_ratio_that_cannot_be_is_refused_with_its_line() {
    for (wrong, message) in [
        (
            "over = { scheme = \"ideal\" }",
            "flows.toml:13: no point of the sweep matches these parameters of `over`",
        ),
        (
            "over = { scheme = \"none\" }",
            "flows.toml:13: `at` and `over` select the same point, which would be compared with itself",
        ),
        (
            "over = { scheme = [\"none\", \"repaired\"] }",
            "flows.toml:16: `over` takes one value of each parameter",
        ),
    ] {
        let text = FILE.replacen("over = { scheme = \"repaired\" }", wrong, 1);
        let error = parse(&text).expect_err(wrong).to_string();
        assert_eq!(error, message);
    }
}
