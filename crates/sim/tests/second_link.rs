//! Flows over a protected link that has a second one, of which one fails again and again.

use linkmend_sim::corruption::Corruption;
use linkmend_sim::flows::{
    self, Demand, FlowsConfig, FlowsReport, SecondLink, SecondLinkReport, TransportKind,
};
use linkmend_sim::link::config::ProfileName;
use linkmend_sim::network::{Cut, Cuts, HandOff, LinkId, Noticed};
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::time::Time;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const fn us(us: u64) -> Time {
    Time::from_nanos(us * 1_000)
}

fn cuts(cut: Cut, noticed: Noticed) -> Cuts {
    let detection = if noticed == Noticed::Carrier { us(30) } else { us(100) };
    Cuts { cut, noticed, detection, every: us(4_000), down_for: us(2_000), failures_max: u64::MAX }
}

fn second(cuts: Cuts) -> SecondLink {
    SecondLink { cuts: Some(cuts), silence: us(200), return_after: us(300), corruption: None }
}

fn setup(seed: u64) -> RunParameters {
    RunParameters { seed: Some(seed), ..RunParameters::default() }.or(&[
        ("topology", "line:switches=2,hosts=2"),
        ("transport", "cubic"),
        ("speed", "25G"),
        ("scheme", "ordered"),
        ("loss", "1e-3"),
        ("both-directions", "true"),
    ])
}

fn config(setup: &RunParameters, demand: Demand, second_link: Option<SecondLink>) -> FlowsConfig {
    let folder = Path::new("");
    let graph = setup.graph(folder).expect("a line");
    FlowsConfig { second_link, ..setup.flows_in(graph, demand, folder).expect("valid") }
}

fn measure(config: &FlowsConfig) -> FlowsReport {
    flows::run(config, 2, &AtomicBool::new(false), &|| ()).expect("it runs").expect("it ends")
}

fn run(setup: &RunParameters, demand: Demand, second: SecondLink) -> (FlowsReport, SecondLinkReport) {
    let report = measure(&config(setup, demand, Some(second)));
    let second = report.second_link.clone().expect("there is a second link");
    (report, second)
}

fn trials(count: u64) -> Demand {
    Demand::trials(count, 1_000_000).expect("above 0")
}

fn endless() -> Demand {
    Demand::Endless { duration: us(60_000) }
}

/// That hosts noticed nothing: no loss, no reordering, no timeout.
fn assert_unnoticed(report: &FlowsReport, what: &str) {
    assert_eq!((report.flows.retransmissions, report.flows.timeouts), (0, 0), "{what}: {report:?}");
    assert_eq!(
        (report.flows.affected_flows.sacked, report.network.frames_given_up),
        (0, 0),
        "{what}: {report:?}"
    );
    assert_eq!((report.flows.unfinished_flows, report.flows.failed_flows), (0, 0), "{what}: {report:?}");
}

#[test]
fn flows_do_not_notice_that_a_link_fails_if_there_is_a_second_one() {
    let mut seed = 0;
    for profile in ProfileName::ALL {
        for noticed in [Noticed::Carrier, Noticed::Silence] {
            for cut in [Cut::Primary, Cut::Either] {
                seed += 1;
                let setup = RunParameters { profile: Some(profile), ..setup(seed) };
                let (report, second) = run(&setup, trials(100), second(cuts(cut, noticed)));
                let what = format!("{} {noticed:?} {cut:?} {second:?}", profile.name());
                assert_unnoticed(&report, &what);
                assert!(
                    second.stats.frames_cut > 40 && second.stats.frames_resent >= second.stats.frames_cut,
                    "{what}"
                );
                assert!(second.stats.failovers > 20 && second.stats.returns > 20, "{what}");
                assert!(
                    second.stats.frames_corrupted > 20 && report.flows.affected_flows.corrupted > 20,
                    "{what}"
                );
                assert!(second.hit_fct_us.is_some_and(|hit| hit.count > 2), "{what}");
                // Detection, the announcement, and the ways there: not the time that the link is down.
                let gap = second.gap_us.expect("frames were lost");
                assert!(gap.count > 2 && gap.max < 250.0, "{what}");
            }
        }
    }
}

#[test]
fn without_a_second_link_the_same_flows_wait_for_timers() {
    // Longer than a retransmission timeout of hosts.
    let down_for = us(20_000);
    let cuts = Cuts { every: us(30_000), down_for, ..cuts(Cut::Primary, Noticed::Carrier) };
    let mut alone = config(&setup(1), trials(100), None);
    let mut failing = cuts.failing(alone.corrupting[0], LinkId(0), HandOff::None);
    (failing.backup, failing.reconfiguration) = (None, Time(down_for.0 - failing.detection.0));
    alone.failing = vec![failing];
    let report = measure(&alone);
    assert!(report.flows.timeouts > 3 && report.flows.retransmissions > 3, "{report:?}");
    assert!(report.second_link.is_none());
    let (report, second) = run(&setup(1), trials(100), second(cuts));
    assert_unnoticed(&report, &format!("{second:?}"));
    assert!(second.stats.failovers > 5, "{second:?}");
}

#[test]
fn one_long_flow_keeps_its_rate_in_both_directions_of_a_cut() {
    for both_directions in [true, false] {
        // CUBIC would fill the queue until it overflows.
        let setup = RunParameters {
            both_directions: Some(both_directions),
            transport: Some(TransportKind::Dctcp),
            ..setup(3)
        };
        let (report, second) = run(&setup, endless(), second(cuts(Cut::Primary, Noticed::Carrier)));
        assert_eq!((report.flows.retransmissions, report.flows.timeouts), (0, 0), "{second:?}");
        // Two ends count each of 14 failures.
        assert!(
            (26..=30).contains(&second.stats.cuts) && second.stats.cuts == second.stats.cuts_in_use,
            "{second:?}"
        );
        assert_eq!(second.stats.failovers, second.stats.cuts, "{second:?}");
        assert!(report.goodput_gbps > 20.0, "{} Gbit/s", report.goodput_gbps);
    }
}

#[test]
fn a_backup_that_corrupts_more_is_recovered_as_well() {
    let noisy = SecondLink {
        corruption: Some(Corruption::iid(1e-2)),
        ..second(cuts(Cut::Primary, Noticed::Carrier))
    };
    let (report, second) = run(&setup(4), trials(100), noisy);
    assert_unnoticed(&report, "1e-2 on the second link");
    let (_, equal) = run(&setup(4), trials(100), self::second(cuts(Cut::Primary, Noticed::Carrier)));
    assert!(second.stats.frames_corrupted > 2 * equal.stats.frames_corrupted, "{second:?} {equal:?}");
}

#[test]
fn when_both_links_fail_nothing_is_lost_but_time() {
    for noticed in [Noticed::Carrier, Noticed::Silence] {
        let both = Cuts { down_for: us(300), ..cuts(Cut::Both, noticed) };
        let (report, second) = run(&setup(5), trials(100), second(both));
        assert_unnoticed(&report, &format!("{noticed:?} {second:?}"));
        let gap = second.gap_us.expect("frames were lost");
        assert!(gap.max > 299.0 && gap.max < 600.0, "{noticed:?} {gap:?}");
    }
}

#[test]
fn rdma_does_not_go_back() {
    for transport in [TransportKind::Rdma, TransportKind::RdmaDcqcn] {
        let setup = RunParameters { transport: Some(transport), ..setup(6) };
        let (report, second) = run(&setup, trials(60), second(cuts(Cut::Primary, Noticed::Carrier)));
        assert!(second.stats.frames_cut > 50, "{second:?}");
        assert_eq!(
            (report.flows.retransmissions, report.flows.timeouts, report.flows.unfinished_flows),
            (0, 0, 0),
            "{second:?}"
        );
    }
}

#[test]
fn the_same_seed_has_the_same_report_on_any_number_of_threads() {
    let config = |seed| config(&setup(seed), trials(30), Some(second(cuts(Cut::Either, Noticed::Silence))));
    let on = |threads| flows::run(&config(7), threads, &AtomicBool::new(false), &|| ()).expect("it runs");
    assert_eq!(on(1), on(3));
    assert_ne!(on(1).map(|report| report.second_link), Some(measure(&config(8)).second_link));
}

#[test]
fn a_second_link_that_never_fails_changes_nothing_for_hosts() {
    let spare = SecondLink { cuts: None, ..SecondLink::default() };
    let (report, second) = run(&setup(9), trials(50), spare);
    assert_unnoticed(&report, "no failures");
    assert_eq!(
        (second.stats.cuts, second.stats.failovers, second.stats.frames_cut, second.stats.frames_resent),
        (0, 0, 0, 0)
    );
    assert!(second.stats.frames_corrupted > 10 && second.gap_us.is_none());
}

#[test]
fn what_does_not_go_with_a_second_link_is_refused() {
    type Change = &'static dyn Fn(&mut FlowsConfig);
    fn of(config: &mut FlowsConfig) -> &mut Cuts {
        config.second_link.as_mut().expect("set").cuts.as_mut().expect("set")
    }
    let cases: [(&str, Change); 6] = [
        ("second-link", &|config| config.link.protection = None),
        ("second-link", &|config| {
            config.failing = vec![of(config).failing(LinkId(2), LinkId(9), HandOff::None)]
        }),
        ("down-for", &|config| of(config).down_for = us(20)),
        ("failure-every", &|config| of(config).every = us(1_000)),
        ("silence", &|config| config.second_link.as_mut().expect("set").silence = us(19)),
        ("detection", &|config| {
            (of(config).noticed, of(config).detection) = (Noticed::Silence, us(19));
        }),
    ];
    for (parameter, change) in cases {
        let mut config = config(&setup(1), trials(1), Some(second(cuts(Cut::Primary, Noticed::Carrier))));
        config.validate().expect("valid");
        change(&mut config);
        assert_eq!(config.validate().expect_err("refused").parameter, parameter);
    }
}
