//! Links that fail under flows, and switches that hand over what they lost.

use linkmend_quantity::{BitRate, ByteSize, Count, LossRate, Span};
use linkmend_sim::flows::{
    self, Detection, FailoverReport, FlowsReport, HandOffKind, HostKernel, Reroute, SchemeKind, TransportKind,
};
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::time::Time;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const fn us(us: u64) -> Time {
    Time::from_nanos(us * 1_000)
}

const fn span(us: u64) -> Option<Span> {
    Some(Span(Duration::from_micros(us)))
}

/// SQR's testbed, with a failure each 4 ms.
fn setup(reroute: Reroute, hand_off: HandOffKind) -> RunParameters {
    RunParameters {
        transport: Some(TransportKind::Cubic),
        speed: Some(BitRate(10_000_000_000)),
        handshake: Some(true),
        rto_min: span(4_000),
        host_latency: span(40),
        failure_every: span(4_000),
        down_for: span(2_000).filter(|_| reroute == Reroute::Local),
        reroute: Some(reroute),
        hand_off: Some(hand_off),
        size: Some("web-search:100kB".parse().expect("a workload")),
        ..RunParameters::default()
    }
}

/// How long a run is.
#[derive(Clone, Copy)]
enum Length {
    /// Flows, one after the other.
    Trials(u64),
    /// One flow that does not end, in microseconds.
    Endless(u64),
}

fn run(setup: &RunParameters, length: Length) -> (FlowsReport, FailoverReport) {
    let parameters = match length {
        Length::Trials(count) => RunParameters { trials: Some(Count(count)), ..setup.clone() },
        Length::Endless(us) => RunParameters { duration: span(us), ..setup.clone() },
    };
    let config = parameters.flows(Path::new("")).expect("valid");
    let report = flows::run(&config, 2, &AtomicBool::new(false), &|| ()).expect("it runs").expect("it ends");
    let failover = report.failover.clone().expect("links fail");
    (report, failover)
}

#[test]
fn without_hand_off_flows_that_meet_a_failure_wait_for_timers() {
    for reroute in [Reroute::ShareBackup, Reroute::Local] {
        let (report, failover) = run(&setup(reroute, HandOffKind::None), Length::Trials(300));
        let hit = failover.hit_fct_us.expect("some are hit");
        assert!(failover.stats.frames_lost > 10 && failover.stats.frames_recovered == 0, "{failover:?}");
        assert!(report.flows.retransmissions + report.flows.timeouts > 0);
        // A lost SYN is retransmitted after a second.
        assert!(hit.max > 1e6 && hit.p50 > 2e3, "{hit:?}");
        assert_eq!((report.flows.unfinished_flows, report.flows.failed_flows), (0, 0));
    }
}

/// The least timeout of 4 ms and a round trip are two ticks of 4 ms, which count from the next one.
#[test]
fn a_kernel_of_250_ticks_waits_for_two_to_three_of_them() {
    for (host_kernel, least, most) in
        [(HostKernel::Linux54, 2_000.0, 8_000.0), (HostKernel::Linux413, 8_000.0, 13_000.0)]
    {
        let setup = RunParameters {
            host_kernel: Some(host_kernel),
            handshake: None,
            failure_every: span(40_000),
            ..setup(Reroute::ShareBackup, HandOffKind::None)
        };
        let hit = run(&setup, Length::Trials(1_000)).1.hit_fct_us.expect("some are hit");
        assert!(hit.min > least && hit.p50 < most, "{host_kernel:?}: {hit:?}");
    }
}

/// Then most failures meet a flow that has begun, and its receiver waits for longer than the link is down.
#[test]
fn without_pauses_most_failures_interrupt_a_flow() {
    let longer = |pause| {
        let setup = RunParameters {
            pause: span(pause),
            failure_every: span(20_000),
            ..setup(Reroute::ShareBackup, HandOffKind::Sqr)
        };
        run(&setup, Length::Trials(5_000)).1.recovery_longer_share.expect("some were interrupted")
    };
    let (often, seldom) = (longer(0), longer(2_000));
    assert!(often > 0.8 && seldom < 0.6, "{often} {seldom}");
}

#[test]
fn a_latency_that_is_its_minimum_is_always_the_same() {
    let setup = RunParameters {
        size: Some("1000B".parse().expect("a size")),
        host_latency: span(45),
        host_latency_min: span(45),
        ..setup(Reroute::ShareBackup, HandOffKind::Sqr)
    };
    let times = run(&setup, Length::Trials(200)).1.other_delivery_us.expect("some are not hit");
    // Three times a latency, and less than half as much for the network.
    assert!(times.min == times.max && times.min > 135.0 && times.min < 200.0, "{times:?}");
}

#[test]
fn what_these_parameters_need_is_said() {
    let trials = || RunParameters { trials: Some(Count(10)), ..setup(Reroute::Local, HandOffKind::None) };
    let rdma =
        RunParameters { transport: Some(TransportKind::Rdma), handshake: None, rto_min: None, ..trials() };
    let kernel = Some(HostKernel::Linux413);
    let refused = [
        (RunParameters { trials: None, duration: span(1_000), pause: span(0), ..trials() }, "needs `trials`"),
        (RunParameters { pause: span(2_000_000), ..trials() }, "at most 1 s"),
        (RunParameters { host_latency_min: span(41), ..trials() }, "at most `host-latency`"),
        (RunParameters { host_latency: None, host_latency_min: span(1), ..trials() }, "needs `host-latency`"),
        (RunParameters { host_kernel: kernel, ..rdma }, "needs a TCP transport"),
    ];
    for (parameters, requirement) in refused {
        let error = parameters.flows(Path::new("")).expect_err(requirement).to_string();
        assert!(error.contains(requirement), "{error}");
    }
}

#[test]
fn with_hand_off_nothing_is_lost_or_reordered_whatever_the_reroute() {
    let reroutes = [Reroute::ShareBackup, Reroute::Local, Reroute::After(us(1_000)), Reroute::After(us(0))];
    for hand_off in [HandOffKind::Sqr, HandOffKind::Acknowledged] {
        for (reroute, detection) in reroutes.into_iter().zip([
            Detection::F10,
            Detection::F10,
            Detection::Squelch,
            Detection::After(us(100)),
        ]) {
            let mut setup = setup(reroute, hand_off);
            setup.detection = Some(detection);
            setup.failure_every = span(4_700);
            let (report, failover) = run(&setup, Length::Trials(1_000));
            let what = format!("{reroute} {hand_off:?} {failover:?}");
            assert!(failover.stats.frames_lost + failover.stats.frames_held > 10, "{what}");
            assert_eq!(failover.stats.frames_recovered, failover.stats.frames_lost, "{what}");
            assert_eq!((report.flows.retransmissions, report.flows.timeouts), (0, 0), "{what}");
            assert_eq!(report.flows.affected_flows.sacked, 0, "nothing was reordered: {what}");
            // Nobody waits longer than route failure time, margin and order take together.
            let most = (detection.time() + reroute.time()).as_nanos() / 1e3;
            let wait =
                failover.hit_fct_us.expect("some are hit").max - failover.other_fct_us.expect("others").p50;
            assert!(wait < 2.0 * most + 700.0, "{wait} us: {what}");
        }
    }
}

#[test]
fn one_long_flow_does_not_notice_a_failure() {
    for hand_off in [HandOffKind::Sqr, HandOffKind::Acknowledged] {
        let mut setup = setup(Reroute::ShareBackup, hand_off);
        setup.failure_every = span(20_000);
        let (report, failover) = run(&setup, Length::Endless(110_000));
        assert_eq!((failover.stats.failures, report.flows.retransmissions, report.flows.timeouts), (5, 0, 0));
        assert_eq!(
            (failover.stats.frames_recovered, report.flows.affected_flows.sacked),
            (failover.stats.frames_lost, 0)
        );
        assert!(report.goodput_gbps > 8.0, "{} Gbit/s", report.goodput_gbps);
        // SQR sends what had arrived within its margin; who knows what arrived sends nothing twice.
        match hand_off {
            HandOffKind::Sqr => {
                // The delay time at line rate: 30 us and 1.8 us, and the first pass after that.
                assert!((37_500..45_000).contains(&failover.stats.steady_buffer_bytes), "{failover:?}");
                assert!((700_000..1_100_000).contains(&failover.stats.failed_buffer_bytes), "{failover:?}");
            }
            _ => assert_eq!(failover.stats.frames_duplicated, 0),
        }
        assert_eq!(failover.recovery_longer_share, Some(1.0), "the flow never pauses: {failover:?}");
    }
}

#[test]
fn copies_kept_for_the_detection_time_alone_miss_what_was_on_its_way() {
    let mut setup = setup(Reroute::Local, HandOffKind::Sqr);
    setup.sqr_margin = span(0);
    let (report, failover) = run(&setup, Length::Trials(2_000));
    assert!(failover.stats.frames_recovered < failover.stats.frames_lost, "{failover:?}");
    assert!(report.flows.retransmissions > 0);
}

#[test]
fn the_backstop_loses_what_it_has_no_room_for_and_nothing_else() {
    let mut setup = setup(Reroute::ShareBackup, HandOffKind::Sqr);
    setup.failure_every = span(20_000);
    setup.sqr_buffer = Some(ByteSize(20_000));
    let (report, failover) = run(&setup, Length::Endless(50_000));
    assert!(
        failover.stats.frames_not_kept > 100 && failover.stats.steady_buffer_bytes <= 20_000,
        "{failover:?}"
    );
    assert!(failover.stats.failed_buffer_bytes <= 20_000 && report.flows.retransmissions > 0, "{failover:?}");
}

#[test]
fn several_links_fail_at_once_and_links_may_corrupt_as_well() {
    for scheme in [SchemeKind::Ordered, SchemeKind::NonBlocking] {
        for reroute in [Reroute::ShareBackup, Reroute::Local] {
            let mut setup = setup(reroute, HandOffKind::Sqr);
            setup.failing_links = Some(3);
            setup.scheme = Some(scheme);
            setup.loss = Some(LossRate(1e-3));
            let (report, failover) = run(&setup, Length::Trials(300));
            assert!(failover.stats.frames_lost > 30, "{failover:?}");
            assert_eq!(
                (report.flows.unfinished_flows, report.flows.failed_flows),
                (0, 0),
                "{scheme:?} {reroute}"
            );
        }
    }
}

#[test]
fn what_failed_links_lose_is_not_counted_as_corrupted() {
    let (report, failover) = run(&setup(Reroute::ShareBackup, HandOffKind::Sqr), Length::Trials(300));
    assert!(failover.stats.frames_lost > 10, "{failover:?}");
    assert_eq!(report.network.frames_corrupted, 0);
}

#[test]
fn the_same_seed_has_the_same_report() {
    let setup = setup(Reroute::ShareBackup, HandOffKind::Sqr);
    let [one, other] = [(); 2].map(|()| run(&setup, Length::Trials(100)).0);
    assert_eq!(one, other);
}

/// Failures of links that come back after so many microseconds.
fn without_backup(setup: &mut RunParameters, reroute: u64) {
    (setup.down_for, setup.reroute) = (None, Some(Reroute::After(us(reroute))));
}

/// Takes away the failures, and what needs them.
fn intact(setup: &mut RunParameters) {
    setup.failure_every = None;
    (setup.down_for, setup.reroute, setup.hand_off) = (None, None, None);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |change: &dyn Fn(&mut RunParameters)| {
        let mut setup = RunParameters { trials: Some(Count(10)), ..setup(Reroute::Local, HandOffKind::Sqr) };
        change(&mut setup);
        setup.flows(Path::new("")).expect_err("refused").to_string()
    };
    type Change = dyn Fn(&mut RunParameters);
    let cases: [(&str, &Change); 18] = [
        ("failure-every", &|setup| setup.failure_every = span(2_000)),
        ("failure-every", &|setup| setup.failure_every = span(0)),
        ("down-for", &|setup| setup.down_for = span(30)),
        ("down-for", &|setup| setup.reroute = None),
        ("detection", &|setup| setup.detection = Some(Detection::After(Time::ZERO))),
        ("reroute", &|setup| without_backup(setup, 61_000_000)),
        ("failing-links", &|setup| setup.failing_links = Some(5)),
        ("failing-links", &|setup| setup.failing_links = Some(0)),
        ("reroute", &|setup| {
            without_backup(setup, 5_000_000);
            setup.failure_every = span(10_000_000);
        }),
        ("sqr-buffer", &|setup| setup.sqr_buffer = Some(ByteSize(0))),
        // What is kept until after the next failure is never gone.
        ("sqr-margin", &|setup| setup.sqr_margin = span(3_970)),
        ("sqr-margin", &|setup| {
            setup.failure_every = span(2_000_000_000);
            setup.sqr_margin = span(1_000_000_000);
        }),
        ("sqr-margin", &|setup| {
            setup.hand_off = Some(HandOffKind::Acknowledged);
            setup.sqr_margin = span(1);
        }),
        ("sqr-one-queue", &|setup| {
            setup.hand_off = None;
            setup.sqr_one_queue = Some(true);
        }),
        ("down-for", &|setup| setup.failure_every = None),
        ("detection", &|setup| {
            intact(setup);
            setup.detection = Some(Detection::F10);
        }),
        ("sqr-buffer", &|setup| {
            intact(setup);
            setup.sqr_buffer = Some(ByteSize(1));
        }),
        ("hand-off", &|setup| {
            setup.hand_off = Some(HandOffKind::Acknowledged);
            setup.scheme = Some(SchemeKind::Wharf);
        }),
    ];
    for (parameter, change) in cases {
        let error = refused(change);
        assert!(error.starts_with(&format!("{parameter} = ")), "{parameter}: {error}");
    }
    assert!("tomorrow".parse::<Detection>().expect_err("refused").to_string().contains("f10"));
    assert!("never".parse::<Reroute>().expect_err("refused").to_string().contains("sharebackup"));
    let error = RunParameters::default().set("hand-off", "sqrt").expect_err("refused");
    assert!(error.contains("acknowledged"), "{error}");
}

#[test]
fn what_only_tcp_has_is_refused_with_rdma() {
    for change in [
        RunParameters { handshake: Some(true), ..RunParameters::default() },
        RunParameters { rto_min: span(1), ..RunParameters::default() },
    ] {
        let setup = RunParameters {
            transport: Some(TransportKind::Rdma),
            size: Some("1kB".parse().expect("a size")),
            trials: Some(Count(1)),
            ..change
        };
        let error = setup.flows(Path::new("")).expect_err("refused").to_string();
        assert!(error.contains("TCP"), "{error}");
    }
}
