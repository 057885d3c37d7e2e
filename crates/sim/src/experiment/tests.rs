//! Experiment files: all that are built in, and what is refused; and that threads change nothing.

use super::*;
use crate::parameters::{RunConfig, RunParameters};
use linkmend_experiment::{Event, ExperimentError, Failure, Kind as _, run_all};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const HEAD: &str = "id = \"x\"\ntitle = \"t\"\nsource = \"s\"\n";

fn parse(rest: &str) -> Result<Experiment, ExperimentError> {
    Experiment::parse("x.toml", &format!("{HEAD}{rest}"), Path::new(""))
}

fn refused(rest: &str) -> String {
    parse(rest).expect_err(rest).to_string()
}

#[test]
fn built_in_experiments_can_be_used() {
    let experiments = built_in().unwrap_or_else(|error| panic!("{error}"));
    let ids: BTreeSet<&str> = experiments.iter().map(|experiment| experiment.id.as_str()).collect();
    assert_eq!(ids.len(), experiments.len(), "two experiments of one name");
    for experiment in &experiments {
        assert!(!experiment.points.is_empty() && !experiment.extra.plots.is_empty(), "{}", experiment.id);
        assert!(!experiment.about.is_empty(), "{}", experiment.id);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let files = Experiment::read_folder(&folder).unwrap_or_else(|error| panic!("{error}"));
    let in_folder: BTreeSet<&str> = files.iter().map(|experiment| experiment.id.as_str()).collect();
    assert_eq!(in_folder, ids, "every file of the folder is built in");
}

#[test]
fn a_sweep_is_the_product_of_its_lists() {
    let experiment = parse(
        "[base]\nframes = 100\nloss = 0\n[[sweep]]\nspeed = [\"25G\", \"100G\"]\nscheme = [\"ordered\", \"none\"]\n\
         [[sweep]]\nspeed = \"25G\"\nscheme = \"ordered\"\n[[sweep]]\ndistance = \"2km\"\nruns = 3\n",
    )
    .expect("a sweep");
    let words: Vec<String> = experiment.points.iter().map(|point| experiment.describe(point)).collect();
    let expected = [
        "25G, distance 2 m, ordered",
        "25G, distance 2 m, unprotected",
        "100G, distance 2 m, ordered",
        "100G, distance 2 m, unprotected",
        "100G, distance 2 km, ordered",
    ];
    assert_eq!(words, expected, "the point where two sweeps cross is one");
    assert_eq!(experiment.points[4].runs, 3);
    assert_eq!(experiment.varied, ["speed", "distance", "scheme"]);
}

#[test]
fn errors_name_file_line_and_key() {
    let cases = [
        ("speeed = 1\n", "x.toml:4: unknown field `speeed`"),
        (
            "[base]\nspeeed = \"25G\"\n",
            "x.toml:5: unknown key `speeed`, expected runs or one of transport, host-recovery,",
        ),
        ("[base]\nspeed = 25\n", "x.toml:5: speed: `25` has no unit; a rate is written like `25G`"),
        ("[base]\nspeed = \"0G\"\n", "x.toml:5: speed = 0bit/s: must be above 0"),
        ("[[sweep]]\nloss = [1e-3, 2]\n", "x.toml:5: loss: `2` is not a loss rate"),
        ("[[sweep]]\nloss = []\n", "x.toml:5: `loss` has no value"),
        ("[[sweep]]\nloss = [1e-3, \"0.1%\"]\n", "x.toml:5: `loss` lists 1e-3 twice; leave one of them out"),
        (
            "[base]\nframes = 5\nframes = 6\n",
            "x.toml:6: `frames` is given twice; leave one of them out, or write",
        ),
        (
            "[base]\npause-threshold = \"30kB\"\nresume-threshold = \"40kB\"\n",
            "x.toml:6: resume-threshold = 40kB: must be below `pause-threshold`, which is 30kB",
        ),
        ("[base]\nwindow = 65536\n", "x.toml:5: window = 65536: "),
        ("[base]\nframes = 0\n", "x.toml:5: frames = 0: "),
        ("[base]\ncopies = 17\n", "x.toml:5: copies = 17: must be 1 to 16"),
        ("[base]\nframe-size = \"63B\"\n", "x.toml:5: frame-size = 63B: "),
        ("[base]\nmean-burst = 0.5\n", "x.toml:5: mean-burst = 0.5: "),
        (
            "[base]\nloss = 0.1\nbit-error-rate = 0.1\n",
            "x.toml:5: loss = 0.1: cannot be combined with `bit-error-rate`",
        ),
        ("[base]\nattenuation = \"3dB\"\n", "x.toml:5: attenuation = 3dB: needs `transceiver` as well"),
        (
            "[base]\nlosses = \"/nonexistent\"\n",
            "x.toml:5: losses = /nonexistent: cannot be read: No such file",
        ),
        ("[base]\nruns = 0\n", "x.toml:5: runs = 0: must be from 1"),
        ("[base]\ntrials = 5\n", "x.toml:5: trials = 5: needs hosts: set `transport`"),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"1kB\"\nframes = 5\n",
            "x.toml:7: frames = 5: cannot be used in a run with hosts",
        ),
        (
            "[[plot]]\nkind = \"bars\"\nx = \"loss\"\nabove-percentile = 5\ny = \"pauses\"\n",
            "x.toml:4: `above-percentile` requires a plot of kind `tail`",
        ),
        (
            "[[published]]\nmetric = \"speed\"\nvalue = 1\ntolerance = \"at-most\"\n",
            "x.toml:5: there is no metric `speed`",
        ),
        (
            "[[published]]\nmetric = \"pauses\"\nvalue = 1\ntolerance = { factor = 0.5 }\n",
            "x.toml:7: a relative tolerance must be from 0 to below 1, an absolute one 0 or more, a factor 1 or more",
        ),
        (
            "[[published]]\nmetric = \"pauses\"\nat = { speed = \"25G\" }\nvalue = 1\ntolerance = \"at-most\"\n",
            "x.toml:4: no point of the sweep matches these parameters of `at`",
        ),
        ("[[plot]]\ntitle = \"p\"\nkind = \"points\"\ny = \"pauses\"\n", "x.toml:4: this plot needs `x`"),
        (
            "[[plot]]\ntitle = \"p\"\nkind = \"boxes\"\ny = \"pauses\"\n",
            "x.toml:4: the `y` of boxes must be `tx_buffer_bytes`",
        ),
    ];
    for (text, message) in cases {
        let error = refused(text);
        assert!(error.starts_with(message), "{text}: {error}");
    }
    let error = Experiment::parse("x.toml", "id = \"A b\"\ntitle = \"t\"\nsource = \"s\"\n", Path::new(""));
    assert!(error.expect_err("a bad name").to_string().starts_with("x.toml:1: id = `A b`"));
}

/// An experiment could have any verdict on record if its tolerance allowed everything, or its prediction did.
#[test]
fn tolerances_and_predictions_that_cannot_fail_are_refused() {
    let of =
        |rest: &str| refused(&format!("[[published]]\nmetric = \"pauses\"\nvalue = 1\ntolerance = {rest}\n"));
    for (rest, message) in [
        ("{ relative = 1 }", "x.toml:7: a relative tolerance must be from 0 to below 1"),
        (
            "\"at-most\"\npredicted = [2, 3]",
            "x.toml:8: `predicted` requires an `explanation` that names the cause",
        ),
        (
            "\"at-most\"\nexplanation = \" \"\npredicted = [2, 3]",
            "x.toml:9: `predicted` requires an `explanation` that names the cause",
        ),
        (
            "\"at-most\"\nexplanation = \"x\"\npredicted = [0.1, 1e9]",
            "x.toml:9: predicted = [0.1, 1000000000]: must be two positive numbers",
        ),
        (
            "\"at-most\"\nexplanation = \"x\"\npredicted = [0, 1]",
            "x.toml:9: predicted = [0, 1]: must be two positive numbers",
        ),
        (
            "\"at-most\"\nexplanation = \"x\"\npredicted = [3, inf]",
            "x.toml:9: predicted = [3, inf]: must be two positive numbers",
        ),
        (
            "\"at-most\"\nexplanation = \"x\"\npredicted = [3, 2]",
            "x.toml:9: predicted = [3, 2]: must be two positive numbers",
        ),
        (
            "\"at-most\"\nexplanation = \"x\"\nverdict = \"differs-as-predicted\"",
            "x.toml:4: the verdict `differs-as-predicted` requires `predicted`",
        ),
    ] {
        let error = of(rest);
        assert!(error.starts_with(message), "{rest}: {error}");
    }
}

#[test]
fn what_is_written_out_reads_back_as_the_same_run() {
    let full = RunParameters { full: Some(true), no_backpressure: Some(true), ..RunParameters::default() };
    let config = full.line_rate(Path::new("")).expect("the paper's");
    let text = toml::to_string(&full.written_out(&config)).expect("TOML");
    let again: RunParameters = toml::from_str(&text).expect("it reads back");
    assert_eq!(again.line_rate(Path::new("")).expect("the same"), config);
}

/// Seeds are derived from what parameters were called first: other seeds would change every number.
#[test]
fn seeds_stay_what_they_are() {
    let seed_of = |id: &str, point: usize| {
        let experiments = built_in().expect("they parse");
        let experiment = experiments.iter().find(|experiment| experiment.id == id).expect("it is there");
        RunExperiments::seed(1, id, &experiment.points[point], 0)
    };
    let seeds =
        [("fig8", 0), ("fig9b", 0), ("fig10", 1), ("rdma-fig12", 0)].map(|(id, point)| seed_of(id, point));
    assert_eq!(seeds, [1_204_960_317, 4_092_987_138, 2_519_570_791, 548_332_674]);
}

/// One vocabulary: any parameter may be x, and a scheme is named as for hosts.
#[test]
fn wharf_protects_line_rate_traffic_and_flows_can_be_drawn() {
    let text = "[base]\nloss = 1e-2\nframes = 20000\n[[sweep]]\nscheme = [\"none\", \"wharf\"]\n";
    let experiment = parse(text).expect("a file");
    let lost = |point: usize| {
        let outcome = Outcome::run(&experiment.points[point].task, 1, &mut |_| true).expect("it runs");
        outcome.expect("it ends").report().expect("of line-rate traffic").frames_undelivered
    };
    assert!(lost(0) > 100 && lost(1) < lost(0) / 4, "{} {}", lost(0), lost(1));
    let text = "[base]\ntransport = \"cubic\"\nspeed = \"10G\"\nduration = \"2ms\"\nloss = 1e-3\n[[sweep]]\n\
                mean-burst = [1, 4]\n[[plot]]\nkind = \"points\"\nx = \"mean-burst\"\ny = \"goodput_gbps\"\n";
    let experiment = parse(text).expect("a file");
    let run = |point: &Point| Outcome::run(&point.task, 1, &mut |_| true).expect("it runs").expect("it ends");
    let outcomes: Vec<Outcome> = experiment.points.iter().map(run).collect();
    let csv = plots::all(&experiment, &outcomes)[0].to_csv();
    assert_eq!(csv.lines().count(), 3, "{csv}");
}

const SMALL: &str = "[base]\nframes = 2000\nloss = \"1%\"\n[[sweep]]\nscheme = [\"ordered\", \"non-blocking\"]\n\
                     runs = 7\n[[sweep]]\nspeed = \"25G\"\n[[expected]]\ntheory = \"equation-1\"\n\
                     [[published]]\nmetric = \"frames_sent\"\nvalue = 30000\ntolerance = { absolute = 0 }\n";

fn outcomes(threads: usize, seed: u64) -> Vec<Option<Outcome>> {
    let experiments = [parse(SMALL).expect("small")];
    let mut outcomes = vec![None; experiments[0].points.len()];
    let mut done = 0.0_f64;
    run_all(&experiments, seed, threads, &AtomicBool::new(false), |event| match event {
        Event::Progress(part) => done += part,
        Event::Point { point, outcome, .. } => outcomes[point] = Some(outcome),
        Event::Failed { failure: Failure { error, .. }, .. } => panic!("{error}"),
    });
    let work: f64 = experiments[0].total_work();
    assert!((done - work).abs() < 1.0, "progress comes to its end: {done} of {work}");
    outcomes
}

#[test]
fn the_greatest_and_the_least_of_several_points_can_be_compared() {
    let row = |of: &str| {
        format!("{SMALL}[[published]]\nmetric = \"frames_sent\"\nvalue = 1\n{of}tolerance = \"at-least\"\n")
    };
    let measured = |of: &str| {
        let experiment = parse(&row(of)).expect("small");
        let outcomes = outcomes(2, 1);
        compare(&experiment, &outcomes)[1].measured.expect("measured").value
    };
    let [all, greatest, least] = ["", "of = \"greatest\"\n", "of = \"least\"\n"].map(measured);
    assert_eq!((all, greatest, least), (30_000.0, 14_000.0, 2_000.0));
    assert!(refused(&row("of = \"middle\"\n")).contains("unknown variant `middle`"));
}

#[test]
fn results_depend_on_seeds_and_not_on_threads() {
    let one = outcomes(1, 5);
    assert_eq!(one, outcomes(3, 5));
    assert_ne!(one, outcomes(3, 6));
    let rows = compare(&parse(SMALL).expect("small"), &one);
    assert_eq!(rows.len(), 4, "one published, and Equation 1 at three points");
    let sent = rows[0].measured.expect("measured").value;
    assert_eq!(sent, 30_000.0, "7 + 7 + 1 runs are pooled");
    assert!(rows[1].measured.expect("measured").interval.is_some());
}

#[test]
fn an_experiment_that_is_stopped_leaves_nothing_half_done() {
    let experiments = [parse(SMALL).expect("small")];
    let stop = AtomicBool::new(false);
    let mut points = 0;
    run_all(&experiments, 1, 1, &stop, |event| {
        if let Event::Point { outcome, .. } = event {
            points += 1;
            let frames = outcome.report().map(|report| report.frames_sent);
            assert!(matches!(frames, Some(2_000 | 14_000)), "{frames:?}");
            stop.store(true, Ordering::Relaxed);
        }
    });
    assert!(points >= 1);
}

#[test]
fn a_run_that_fails_says_so_and_the_others_go_on() {
    let mut experiments = [parse(SMALL).expect("small")];
    if let RunConfig::LineRate(config) = &mut experiments[0].points[1].task {
        // Not one handshake passes.
        config.links[0].corruption = crate::corruption::Corruption::Recorded((0..1_000_000).collect());
    }
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    run_all(&experiments, 1, 1, &AtomicBool::new(false), |event| match event {
        Event::Progress(_) => {}
        Event::Point { point, .. } => done.push(point),
        Event::Failed { point, failure, .. } => failed.push((point, failure.error.parameter)),
    });
    done.sort_unstable();
    assert_eq!(done, [0, 2]);
    assert_eq!(failed, [(1, "losses"); 7]);
}

#[test]
fn quick_runs_are_quick() {
    let small = parse(SMALL).expect("small");
    assert!(small.clone().quick().total_work() <= small.total_work());
    for experiment in built_in().expect("they parse") {
        for point in &experiment.points {
            let RunConfig::LineRate(_) = point.task else { continue };
            let quick = RunExperiments::quick(point);
            let work = quick.runs as f64 * RunExperiments::work(&quick.task);
            assert!(work < 200_000.0, "{}: {}", experiment.id, point.key());
        }
    }
}

#[test]
fn a_buffer_is_compared_by_its_highest_level() {
    for (ordinate, name) in
        [(Ordinate::TxBuffer, "tx_buffer_bytes.max"), (Ordinate::RxBuffer, "rx_buffer_bytes.max")]
    {
        assert_eq!(ordinate.published_as().map(|metric| metric.name), Some(name));
    }
    assert_eq!(Ordinate::OfKind.published_as(), None);
}

#[test]
fn a_sweep_can_have_plots_and_tables() {
    let plot = "[[plot]]\ntitle = \"Speed\"\nkind = \"bars\"\nx = \"scheme\"\ny = \"frames_sent\"\n";
    let experiment = parse(&format!("{SMALL}{plot}")).expect("small");
    let outcomes = outcomes(2, 1).into_iter().map(|outcome| outcome.expect("it is finished")).collect();
    let outcomes: Vec<Outcome> = outcomes;
    let plots = plots::all(&experiment, &outcomes);
    assert_eq!(plots.iter().map(linkmend_report::Plot::title).collect::<Vec<_>>(), ["Speed"]);
    assert!(plots[0].to_csv().contains("14000"), "{}", plots[0].to_csv());
    let table = tables::everything(&experiment, &outcomes).to_csv();
    assert!(table.lines().next().is_some_and(|head| head.contains("frames_sent")), "{table}");
    assert_eq!(table.lines().count(), 1 + experiment.points.len(), "{table}");
}
