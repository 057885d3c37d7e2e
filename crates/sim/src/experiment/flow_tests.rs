//! Experiments with flows: a short run of each that is built in, what is refused, and what holds for every seed.

use super::flow_run::{measured_percentile, measured_slowdown, percentile};
use super::*;
use crate::parameters::RunConfig;
use linkmend_experiment::{Event, ExperimentError, run_all};
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn parse(rest: &str) -> Result<Experiment, ExperimentError> {
    let head = "id = \"x\"\ntitle = \"t\"\nsource = \"s\"\n";
    Experiment::parse("x.toml", &format!("{head}{rest}"), Path::new(""))
}

fn all_outcomes(experiments: &[Experiment], threads: usize) -> Vec<Vec<Outcome>> {
    let mut outcomes: Vec<Vec<Option<Outcome>>> =
        experiments.iter().map(|experiment| vec![None; experiment.points.len()]).collect();
    run_all(experiments, 1, threads, &AtomicBool::new(false), |event| match event {
        Event::Progress(_) => {}
        Event::Point { experiment, point, outcome } => outcomes[experiment][point] = Some(outcome),
        Event::Failed { experiment, point, failure } => {
            panic!("{} {point}: {}", experiments[experiment].id, failure.error)
        }
    });
    let complete = |outcomes: Vec<Option<Outcome>>| outcomes.into_iter().flatten().collect();
    outcomes.into_iter().map(complete).collect()
}

fn outcomes(experiments: &[Experiment], threads: usize) -> Vec<Vec<FlowOutcome>> {
    let flows = |outcome: Outcome| outcome.flows().cloned().expect("of flows");
    let all = all_outcomes(experiments, threads).into_iter();
    all.map(|outcomes| outcomes.into_iter().map(flows).collect()).collect()
}

#[test]
fn a_short_run_of_every_built_in_file_has_plots_and_tables() {
    let experiments: Vec<Experiment> = built_in()
        .unwrap_or_else(|error| panic!("{error}"))
        .into_iter()
        .filter(|experiment| experiment.points.iter().any(|point| matches!(point.task, RunConfig::Flows(_))))
        .map(linkmend_experiment::Experiment::quick)
        .collect();
    assert!(experiments.len() > 20, "{}", experiments.len());
    for (experiment, outcomes) in experiments.iter().zip(all_outcomes(&experiments, 2)) {
        assert_eq!(outcomes.len(), experiment.points.len(), "{}", experiment.id);
        let is_beyond = experiment.source.contains("nothing published");
        assert_eq!(experiment.published.is_empty(), is_beyond, "{}", experiment.id);
        assert!(!plots::all(experiment, &outcomes).is_empty(), "{}", experiment.id);
        let rows = tables::points(experiment, &outcomes).to_csv().lines().count();
        assert_eq!(rows, 1 + outcomes.len(), "{}", experiment.id);
    }
}

/// A file's folder is where its paths start, as on the command line they start from the working folder.
#[test]
fn a_topology_can_be_a_file_and_its_path_starts_from_the_experiments_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let network = "switches: [{name: t1, layer: 0}, {name: t2, layer: 0}, {name: s1, layer: 1}]\n\
                   links: [{from: t1, to: s1, speed: 25G}, {from: t2, to: s1, speed: 25G}]\n\
                   hosts: [{name: a, to: t1}, {name: b, to: t2}]\n";
    std::fs::write(folder.path().join("net.yaml"), network).expect("it is written");
    let text = |topology: &str| {
        format!(
            "id = \"x\"\ntitle = \"t\"\nsource = \"s\"\n[base]\n\
             transport = \"dctcp\"\nsize = \"10kB\"\ntrials = 20\ntopology = \"{topology}\"\n[[sweep]]\nprofile = [\"tofino\", \"daemon\"]\n\
             scheme = \"ordered\"\nloss = 1e-3\n"
        )
    };
    let experiment = Experiment::parse("x.toml", &text("net.yaml"), folder.path()).expect("a file");
    let RunConfig::Flows(config) = &experiment.points[0].task else { panic!("flows") };
    assert_eq!((config.graph.links().count(), config.graph.hosts().count()), (4, 2));
    outcomes(&[experiment], 1);
    let error = Experiment::parse("x.toml", &text("none.yaml"), folder.path()).expect_err("no such file");
    assert!(error.to_string().contains("none.yaml"), "{error}");
}

const SMALL: &str = "[base]\nsize = \"24387B\"\ntrials = 200\nruns = 3\ntransport = [\"dctcp\", \"rdma\"]\n\
    [[sweep]]\nloss = 0\n[[sweep]]\nloss = 1e-2\nscheme = [\"none\", \"ordered\"]\n";

#[test]
fn threads_change_nothing() {
    let experiments = [parse(SMALL).expect("a file")];
    assert_eq!(outcomes(&experiments, 1), outcomes(&experiments, 2));
}

#[test]
fn a_percentile_of_several_runs_is_that_of_all_their_flows() {
    let experiments = [parse(SMALL).expect("a file")];
    let outcomes = outcomes(&experiments, 2).remove(0).into_iter().map(Outcome::Flows);
    let named = |name: &str| metric_named(name).expect("it is there");
    for outcome in outcomes {
        let value = |name| named(name).value(&outcome).expect("flows ended").value;
        let runs = outcome.flows().expect("of flows").each().map(Outcome::Flows);
        let each: Vec<f64> = runs.map(|run| named("fct_us.p50").value(&run).expect("flows").value).collect();
        let (low, high) =
            (each.iter().copied().fold(f64::MAX, f64::min), each.iter().copied().fold(0.0, f64::max));
        assert!((low..=high).contains(&value("fct_us.p50")), "{each:?}");
        assert!(value("fct_us.min") <= value("fct_us.p50") && value("fct_us.p99") <= value("fct_us.max"));
        let interval = named("fct_us.p90").value(&outcome).and_then(|measured| measured.interval);
        let (low, high) = interval.expect("it is estimated");
        assert!(low <= value("fct_us.p90") && value("fct_us.p90") <= high);
        assert_eq!(named("fct_us.p99_99").value(&outcome), None, "600 flows do not tell");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    for (rest, message) in [
        ("[base]\ntransport = \"tcp\"\n", "x.toml:5: transport: must be one of dctcp, cubic"),
        ("[base]\nsize = \"0B\"\n", "x.toml:5: size: "),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"web-search\"\ntraffic = \"ping-pong\"\ntrials = 3\n",
            "must be one size",
        ),
        ("[base]\ntransport = \"dctcp\"\nsize = \"143B\"\nload = \"50%\"\n", "`load` with `duration`"),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\ndummy-copies = 0\n",
            "dummy-copies = 0: needs `scheme` ordered or non-blocking",
        ),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\nload = \"50%\"\nduration = \"1ms\"\nincast = 2\n",
            "`trials` with `incast`",
        ),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\nincast = 2\n",
            "must be 1 to 1: all hosts but the last",
        ),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\nloss = 1e-3\ncorrupting-links = 5\n",
            "must be at most the 4 links",
        ),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\nhost-recovery = \"go-back-n\"\n",
            "with TCP, go-back-n or selective-repeat",
        ),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\ntopology = \"fat-tree:k=4,hosts=0\"\n",
            "must have at least 2 hosts",
        ),
        // As the command line does: what is nothing without another key.
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\nhand-off = \"sqr\"\n",
            "hand-off = sqr: needs `failure-every`",
        ),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\ndetection = \"f10\"\n",
            "detection = f10: needs `failure-every`",
        ),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\ndown-for = \"1ms\"\n",
            "down-for = 1ms: needs `failure-every`",
        ),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\nsqr-margin = \"1us\"\n",
            "sqr-margin = 1us: needs `failure-every`",
        ),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\nplacement = \"hashed\"\n",
            "placement = hashed: needs `parallel-queues`",
        ),
        (
            "[base]\nsize = \"143B\"\ntransport = \"rdma\"\ndummy-gap = \"1us\"\n",
            "dummy-gap = 1us: needs `rdma-m",
        ),
        (
            "[base]\ntransport = \"dctcp\"\nsize = \"143B\"\ntraffic = \"ping-pong\"\nincast = 1\ntrials = 3\n",
            "traffic = ping-pong: has no `incast`",
        ),
    ] {
        let error = parse(rest).expect_err(rest).to_string();
        assert!(error.contains(message), "{error}");
    }
}

const CONDITIONS: &str = "size = \"24387B\"\ntrials = 10_000\nruns = 5\n\
    [[sweep]]\nloss = 0\n[[sweep]]\nloss = 1e-3\nscheme = [\"ordered\", \"non-blocking\", \"none\"]\n";

/// The runs of no loss, ordered mode, non-blocking mode and loss, run by run.
fn run_by_run(transport: &str) -> Vec<[FlowOutcome; 4]> {
    let experiments = [parse(&format!("[base]\ntransport = \"{transport}\"\n{CONDITIONS}")).expect("a file")];
    let outcomes = outcomes(&experiments, 2).remove(0);
    (0..outcomes[0].count())
        .map(|run| [0, 1, 2, 3].map(|point| outcomes[point].each().nth(run).expect("as many runs")))
        .collect()
}

/// "At and above the 99.9th percentile": a percentile of ten thousand flows is known within an interval, so what is not
/// above another one must not begin above where that ends.
#[test]
fn for_every_seed_no_loss_is_best_then_ordered_then_non_blocking_and_loss_is_far_worse() {
    for transport in ["dctcp", "bbr"] {
        for (number, conditions) in run_by_run(transport).iter().enumerate() {
            for share in [0.999, 0.9999] {
                let [none, ordered, non_blocking, loss] =
                    conditions.each_ref().map(|runs| measured_percentile(runs, share).expect("flows"));
                let not_above = |one: linkmend_experiment::Measurement,
                                 other: linkmend_experiment::Measurement| {
                    one.interval.expect("known").0 <= other.interval.expect("known").1
                };
                let seen = format!(
                    "{transport}, seed {number}, {share}: {none:?} {ordered:?} {non_blocking:?} {loss:?}"
                );
                assert!(not_above(none, ordered) && not_above(ordered, non_blocking), "{seen}");
                assert!(loss.value > 5.0 * non_blocking.value, "{seen}");
            }
        }
    }
}

#[test]
fn for_every_seed_rdma_gains_nothing_by_non_blocking_mode_but_its_timeouts() {
    for (number, [none, ordered, non_blocking, loss]) in run_by_run("rdma").iter().enumerate() {
        let at = |runs, share| percentile(runs, share).expect("flows");
        let timeouts = |runs: &FlowOutcome| runs.iter().map(|run| run.report.flows.timeouts).sum::<u64>();
        let resent =
            |runs: &FlowOutcome| runs.iter().map(|run| run.report.flows.retransmissions).sum::<u64>();
        assert_eq!((timeouts(none), timeouts(ordered), timeouts(non_blocking)), (0, 0, 0), "seed {number}");
        // Of ten thousand flows, about ten lose their last packet: as many as are above the 99.9th percentile.
        assert!(timeouts(loss) > 0 && at(loss, 0.9999) > 5.0 * at(ordered, 0.9999), "seed {number}");
        // Go-back-N retransmits whatever came before the frame that was missing.
        assert_eq!(resent(ordered), 0, "seed {number}");
        assert!(resent(non_blocking) > resent(loss) / 2, "seed {number}");
        let (low, high) = (at(loss, 0.99) * 0.9, at(loss, 0.99) * 1.1);
        assert!((low..=high).contains(&at(non_blocking, 0.99)), "seed {number}");
    }
}

/// Slowdown is 1 where nothing else is under way: at this load flows hardly meet, cards do not moderate, and these
/// need one packet.
#[test]
fn flows_of_an_idle_network_take_the_time_that_slowdown_compares_with() {
    let file = "[base]\ntopology = \"line:switches=2,hosts=4,host-speed=25G\"\nload = 0.0005\n\
        duration = \"40ms\"\nruns = 2\nsize = \"google-all-rpc\"\ntransport = [\"dctcp\", \"rdma\"]\n";
    let experiments = [parse(file).expect("a file")];
    for outcome in outcomes(&experiments, 2).remove(0) {
        let median = measured_slowdown(&outcome, 0..=1_000, 0.5).expect("flows").value;
        assert!((0.95..1.1).contains(&median), "{median}");
    }
}

/// TCP and RDMA over two links, of which one fails and both corrupt: no host notices.
#[test]
fn several_kinds_of_traffic_share_a_link_that_fails_over() {
    let text = include_str!("../../../../examples/failover.toml");
    assert!(text.lines().count() <= 25);
    let experiments = [Experiment::parse("failover.toml", text, Path::new("")).expect("a file")];
    let outcomes = outcomes(&experiments, 1).remove(0);
    let run = outcomes[0].iter().next().expect("a run");
    let second = run.report.second_link.as_ref().expect("a second link");
    assert!(
        second.stats.failovers >= 5 && second.stats.frames_cut > 100 && second.stats.frames_corrupted > 10,
        "{second:?}"
    );
    assert_eq!(
        (run.report.flows.retransmissions, run.report.flows.timeouts, run.report.network.frames_given_up),
        (0, 0, 0)
    );
    assert_eq!(run.report.traffic.len(), 2);
    for traffic in &run.report.traffic {
        assert_eq!(traffic.flows.fct_us.map(|fct| fct.count), Some(2_000), "{}", traffic.name);
    }
    for (change, to, message) in [
        (
            "\"left1\"",
            "\"left7\"",
            "failover.toml:LINE: hosts = left7: must be a host of the topology for `storage`: left0, left1",
        ),
        ("\"left1\"", "\"left0\"", "takes part in `web` and in `storage`"),
        ("second-link = true", "noticed = \"silence\"", "needs `reroute` local"),
        ("\"storage\"", "\"web\"", "is the name of two"),
    ] {
        let error = Experiment::parse("failover.toml", &text.replace(change, to), Path::new(""));
        let table = text[..text.find(change).expect("it is there")].rfind("[[traffic]]").unwrap_or(0);
        let message = message.replace("LINE", &(text[..table].lines().count() + 1).to_string());
        let error = error.expect_err(&message).to_string();
        assert!(error.contains(&message), "{error}");
    }
}
