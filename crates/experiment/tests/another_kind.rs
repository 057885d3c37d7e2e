//! Another kind of experiments needs nothing but its parameters, its metrics, and a function that does one run.

use linkmend_experiment::{
    Combination, Event, Experiment, ExperimentError, Head, Kind, Measurement, Metric, Parameters, Pooled,
    Quantity, Run, Source, Value, run_all,
};
use linkmend_random::Random;
use linkmend_report::{Tolerance, Verdict};
use serde::Deserialize;
use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Throws of dice.
#[derive(Debug, Clone)]
struct Dice;

/// What can be varied, as files write it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DiceParameters {
    sides: Option<u64>,
    throws: Option<u64>,
}

impl Parameters for DiceParameters {
    fn keys() -> impl Iterator<Item = &'static str> {
        ["sides", "throws"].into_iter()
    }

    fn label_of(key: &str) -> &'static str {
        if key == "sides" { "sides" } else { "throws" }
    }

    fn value_of(&self, key: &str) -> Option<Value> {
        let value = if key == "sides" { self.sides } else { self.throws };
        value.map(|value| Value::number(value, value as f64))
    }

    fn needs_no_heading(_key: &str) -> bool {
        false
    }

    fn only_lengthens(key: &str) -> bool {
        key == "throws"
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Thrown {
    throws: u64,
    ones: u64,
}

impl Pooled for Thrown {
    type Pool = Thrown;

    fn pool(first: Thrown) -> Thrown {
        first
    }

    fn add(pool: &mut Thrown, other: Thrown) {
        pool.throws += other.throws;
        pool.ones += other.ones;
    }

    fn finish(pool: Thrown) -> Thrown {
        pool
    }
}

static METRICS: [Metric<Thrown>; 1] = [Metric {
    name: "ones_pct",
    label: "ones",
    quantity: Quantity::Share,
    scale: 0.01,
    read: |thrown, _| Measurement::counted(thrown.ones, thrown.throws, 1.0),
}];

impl Kind for Dice {
    type Parameters = DiceParameters;
    type Task = (u64, u64);
    type Outcome = Thrown;
    type Error = Infallible;
    type File = Head;

    fn metrics((): &()) -> &'static [Metric<Thrown>] {
        &METRICS
    }

    fn task(
        (): &(),
        at: &Combination<DiceParameters>,
        source: Source<'_>,
        _folder: &Path,
    ) -> Result<(DiceParameters, (u64, u64)), ExperimentError> {
        let (sides, throws) = (at.parameters.sides.unwrap_or(6), at.parameters.throws.unwrap_or(1_000));
        if sides == 0 {
            return Err(source.error(at.place_of("sides"), "sides = 0: must be at least 1"));
        }
        let resolved = DiceParameters { sides: Some(sides), throws: Some(throws) };
        Ok((resolved, (sides, throws)))
    }

    fn run(
        &(sides, throws): &(u64, u64),
        run: Run,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<Thrown>, Infallible> {
        let mut random = Random::new(run.seed, "dice");
        let ones = (0..throws).filter(|_| random.uniform() * (sides as f64) < 1.0).count() as u64;
        Ok(progress(1.0).then_some(Thrown { throws, ones }))
    }

    fn work(&(_, throws): &(u64, u64)) -> f64 {
        throws as f64
    }
}

const FILE: &str = r#"
id = "dice"
title = "Throws of dice"
source = "our own"

[base]
throws = 5000
runs = 20

[[sweep]]
sides = [2, 6]

[[published]]
metric = "ones_pct"
at = { sides = 6 }
value = 16.667
tolerance = { absolute = 1 }

[[published]]
metric = "ones_pct"
of = "greatest"
value = 50
tolerance = { absolute = 1 }
"#;

fn parse(text: &str) -> Result<Experiment<Dice>, ExperimentError> {
    Experiment::parse("dice.toml", text, Path::new(""))
}

fn outcomes(experiment: &Experiment<Dice>, threads: usize) -> Vec<Option<Thrown>> {
    let (mut outcomes, mut done) = (vec![None; experiment.points.len()], 0.0);
    run_all(std::slice::from_ref(experiment), 7, threads, &AtomicBool::new(false), |event| match event {
        Event::Progress(part) => done += part,
        Event::Point { point, outcome, .. } => outcomes[point] = Some(outcome),
        Event::Failed { failure, .. } => match failure.error {},
    });
    assert!((done - experiment.total_work()).abs() < 1e-6, "{done} of {}", experiment.total_work());
    outcomes
}

#[test]
fn a_kind_is_parameters_metrics_and_a_run_and_the_frame_does_the_rest() {
    let experiment = parse(FILE).expect("a file");
    let words: Vec<String> = experiment.points.iter().map(|point| experiment.describe(point)).collect();
    assert_eq!(words, ["sides 2", "sides 6"]);
    let of_one = outcomes(&experiment, 1);
    assert_eq!(of_one, outcomes(&experiment, 3), "threads change nothing");
    assert!(
        of_one.iter().flatten().all(|thrown| thrown.throws == 20 * 5_000),
        "20 runs are pooled: {of_one:?}"
    );
    let rows = experiment.compare(&of_one);
    let labels: Vec<&str> = rows.iter().map(|row| row.published.metric.as_str()).collect();
    assert_eq!(labels, ["ones, sides 6", "ones, most of all points"]);
    for row in rows {
        let measured = row.measured.expect("every point was run");
        assert!(measured.interval.is_some(), "it was counted");
        assert!((measured.value - row.published.value).abs() < 0.01, "{measured:?} of {:?}", row.published);
    }
}

#[test]
fn what_is_wrong_with_a_file_of_another_kind_is_named_with_its_line() {
    for (wrong, message) in [
        (
            "sides = [2, 6]\nfaces = 3",
            "dice.toml:12: unknown key `faces`, expected runs or one of sides, throws",
        ),
        ("sides = [2, 0]", "dice.toml:11: sides = 0: must be at least 1"),
        ("sides = [2, 2]", "dice.toml:11: `sides` lists 2 twice; leave one of them out"),
        ("sides = [2, 7]", "dice.toml:13: no point of the sweep matches these parameters of `at`"),
    ] {
        let error = parse(&FILE.replace("sides = [2, 6]", wrong)).expect_err(wrong).to_string();
        assert_eq!(error, message);
    }
    let error = parse(&FILE.replace("ones_pct", "twos_pct")).expect_err("no such metric").to_string();
    assert_eq!(error, "dice.toml:14: there is no metric `twos_pct`");
}

/// The points of dice with 2, 6 and 20 sides, and rows of other kinds than numbers.
fn with_rows(rows: &str) -> Result<Experiment<Dice>, ExperimentError> {
    let (head, _) = FILE.split_once("[[published]]").expect("rows");
    parse(&format!("{}{rows}", head.replace("sides = [2, 6]", "sides = [20, 2, 6]")))
}

#[test]
fn a_shape_is_judged_by_its_worst_step_in_the_order_of_the_parameter() {
    let shape = |along: &str, at: &str| {
        let row =
            format!("[[published]]\nkind = \"shape\"\nmetric = \"ones_pct\"\n{at}\n{along} = \"sides\"\n");
        let experiment = with_rows(&row).expect("a file");
        let [row] = &experiment.compare(&outcomes(&experiment, 1))[..] else { panic!("a row") };
        row.clone()
    };
    let falls = shape("falls-along", "");
    assert_eq!(falls.published.metric, "ones, falls with sides: greatest ratio of a point to the one before");
    // From 2 to 6 sides it falls to a third, and from 6 to 20 to 0.3.
    let worst = falls.measured.expect("it was measured").value;
    assert!((worst - 1.0 / 3.0).abs() < 0.01, "{worst}");
    assert_eq!(falls.comparison().verdict(), Verdict::Reproduced);
    let rises = shape("rises-along", "at = { sides = [6, 20] }");
    assert!(
        rises.published.metric.starts_with("ones, sides 6 or 20, rises with sides: least ratio"),
        "{rises:?}"
    );
    assert_eq!(rises.comparison().verdict(), Verdict::NotReproduced);
}

#[test]
fn a_row_of_another_kind_says_what_that_kind_needs_and_nothing_else() {
    let row = |rest: &str| {
        let row = format!("[[published]]\nmetric = \"ones_pct\"\n{rest}\n");
        with_rows(&row).expect_err(rest).to_string().trim_start_matches("dice.toml:").to_owned()
    };
    for (rest, message) in [
        ("kind = \"shape\"", "a shape needs either `rises-along` or `falls-along`"),
        (
            "rises-along = \"sides\"\nvalue = 1",
            "`rises-along` and `falls-along` belong to `kind = \"shape\"`",
        ),
        ("kind = \"shape\"\nrises-along = \"sides\"\nvalue = 1", "a shape has no `value`"),
        ("kind = \"shape\"\nrises-along = \"throws\"", "each with its own number for that parameter"),
        ("kind = \"shape\"\nrises-along = \"sides\"\nat = { sides = 6 }", "a shape needs two points or more"),
        ("kind = \"equality\"\nvalue = 1\ntolerance = \"at-most\"", "must be `{ relative = SHARE }`"),
        ("value = 1\ntolerance = { equality = 0.1 }", "write `kind = \"equality\"`"),
        ("value = 1", "a published value needs `value` and `tolerance`"),
    ] {
        assert!(row(rest).contains(message), "{rest}: {}", row(rest));
    }
    let row = "[[published]]\nkind = \"equality\"\nmetric = \"ones_pct\"\nvalue = 17\ntolerance = { relative = 0.1 }\n";
    let experiment = with_rows(row).expect("a file");
    assert_eq!(experiment.published[0].tolerance, Tolerance::Equality(0.1));
}
