//! Two links between two ends, of which one fails again and again.

use linkmend_sim::corruption::Corruption;
use linkmend_sim::flows::Detection;
use linkmend_sim::link::config::{Buffering, Mode};
use linkmend_sim::link::{FRAME_BYTES_MIN, LinkConfig, WIRE_OVERHEAD_BYTES};
use linkmend_sim::links::{self, Layout, LinksConfig, LinksReport, Pair, PairReport};
use linkmend_sim::network::{Cut, Cuts, Noticed};
use linkmend_sim::time::{Rate, Time};

/// What the transparent format adds to a frame.
const HEADER_BYTES: u64 = 8;

const fn us(us: u64) -> Time {
    Time::from_nanos(us * 1_000)
}

fn link(gbps: u64, loss: f64, mode: Mode) -> LinkConfig {
    let rate = Rate::from_bits_per_second(gbps * 1_000_000_000).expect("exact");
    let corruption = if loss > 0.0 { Corruption::iid(loss) } else { Corruption::None };
    LinkConfig {
        corruption: corruption.clone(),
        reverse_corruption: corruption,
        ..LinkConfig::paper(rate, loss, mode)
    }
}

/// Two of these links at four fifths of their rate. The primary one fails 50 times, every 2 ms for 500 us.
fn usual() -> Pair {
    Pair {
        cuts: Cuts {
            cut: Cut::Primary,
            noticed: Noticed::Carrier,
            detection: Detection::F10.time(),
            every: us(2_000),
            down_for: us(500),
            failures_max: 50,
        },
        silence: us(200),
        return_after: us(200),
        sqr: false,
    }
}

/// Cuts follow each other faster than usual, so that many fit into a test.
fn quick(failures_max: u64) -> Pair {
    let cuts = Cuts { every: us(600), down_for: us(250), failures_max, ..usual().cuts };
    Pair { cuts, silence: us(40), return_after: us(100), ..usual() }
}

fn over(link: LinkConfig, pair: Pair) -> LinksConfig {
    let link = link.buffered(Buffering::Direct);
    LinksConfig { load: 0.8, layout: Layout::Pair(pair), ..LinksConfig::over(link) }
}

fn run(config: &LinksConfig) -> LinksReport {
    links::run(config, &mut |_| true).expect("it runs")
}

fn second(report: &LinksReport) -> &PairReport {
    report.second_link.as_ref().expect("there are two")
}

/// Whether nothing was lost, delivered twice or, unless that is allowed, delivered out of order, in either direction.
fn is_hitless(report: &LinksReport, is_ordered: bool) -> bool {
    report.streams.iter().all(|stream| {
        let way = &stream.delivery;
        way.frames_undelivered + way.frames_duplicated == 0 && (way.frames_reordered == 0 || !is_ordered)
    })
}

#[test]
fn whatever_is_cut_and_corrupted_nothing_is_lost_duplicated_or_reordered() {
    let (mut in_use, mut late, mut corrupted) = (0, 0, 0);
    for seed in 0..24 {
        let mode = [Mode::Ordered, Mode::NonBlocking][(seed % 2) as usize];
        let loss = [1e-3, 1e-2][(seed / 2 % 2) as usize];
        let noticed = [Noticed::Carrier, Noticed::Silence][(seed / 4 % 2) as usize];
        let gbps = [10, 25, 100][(seed % 3) as usize];
        let pair = quick(36);
        let cut = if seed % 5 == 0 { Cut::Primary } else { Cut::Either };
        let pair = Pair { cuts: Cuts { cut, noticed, ..pair.cuts }, ..pair };
        let report = run(&LinksConfig { seed, reverse_load: 0.3, ..over(link(gbps, loss, mode), pair) });
        let what = || format!("seed {seed}: {:?}", report.streams);
        assert!(report.ending.drained && is_hitless(&report, mode == Mode::Ordered), "{}", what());
        let second = second(&report);
        assert_eq!((second.cuts.len(), report.streams.len()), (36, 2));
        assert!(second.frames_cut > 0 && second.frames_resent > 0, "{}", what());
        in_use += second.cuts.iter().filter(|cut| cut.in_use).count();
        late += second.late_frames;
        corrupted += second.frames_corrupted;
    }
    assert!(in_use > 300 && corrupted > 1_000, "{in_use} {late} {corrupted}");
}

/// Without corruption and with traffic one way, everything about a failure follows from the times of the link.
#[test]
fn the_recovery_time_is_detection_a_way_and_the_frames_that_come_twice() {
    for gbps in [10, 25, 100] {
        for detection in [Detection::Squelch, Detection::F10] {
            let link = link(gbps, 0.0, Mode::Ordered);
            let rate = link.rate;
            let cuts = Cuts { detection: detection.time(), ..usual().cuts };
            let config = over(link.clone(), Pair { cuts, ..usual() });
            let report = run(&config);
            let row = second(&report);
            let lasts = |bytes: u64| rate.time_of(bytes + WIRE_OVERHEAD_BYTES).as_nanos();
            let [frame, plain, control] = [
                u64::from(link.frame_bytes) + HEADER_BYTES,
                u64::from(link.frame_bytes),
                u64::from(FRAME_BYTES_MIN),
            ]
            .map(lasts);
            let (egress, ingress) = (
                link.switch.egress_latency_ns as f64 + 5.0 * f64::from(link.distance_m),
                link.switch.ingress_latency_ns as f64,
            );
            let interval = plain / config.load;
            // An ACK for what arrives later than this before the failure does not reach the sender's port: it is lost with the
            // link, and the frame is retransmitted in vain, ahead of the first one that is missing. An ACK may wait for the one
            // before it or for a probe.
            let unacknowledged = ingress + control + egress;
            let twice_least = (unacknowledged / interval).floor();
            let twice_most = ((unacknowledged + 2.0 * control) / interval).ceil();
            // Three probes announce the change. One that was due may be on the wire already.
            let rest = 3.0 * control + egress + frame;
            let least = detection.time().as_nanos() + rest + twice_least * frame;
            // The last delivery before the failure lies up to a frame's interval back.
            let most = detection.time().as_nanos() + rest + twice_most * frame + interval + control;
            let recovery = row.recovery_us.expect("links failed");
            assert_eq!(recovery.count, cuts.failures_max);
            assert!(
                recovery.min * 1e3 >= least && recovery.max * 1e3 <= most,
                "{gbps}G {detection}: {} to {} ns, not {least} to {most}",
                recovery.min * 1e3,
                recovery.max * 1e3
            );
            for cut in &row.cuts {
                let twice = cut.duplicates_dropped as f64;
                assert!((twice_least..=twice_most).contains(&twice), "{gbps}G {detection}: {cut:?}");
                // The ends go on sending into the void until they know.
                let sent_in_vain = (detection.time().as_nanos() + egress) / interval;
                assert!((cut.frames_lost as f64 - sent_in_vain).abs() <= 2.0, "{sent_in_vain}: {cut:?}");
                assert_eq!(cut.frames_resent, cut.frames_lost + cut.duplicates_dropped, "{cut:?}");
            }
        }
    }
}

#[test]
fn silence_is_noticed_after_the_detection_time() {
    let cuts = Cuts { noticed: Noticed::Silence, detection: us(50), ..usual().cuts };
    let report = run(&over(link(25, 1e-3, Mode::Ordered), Pair { cuts, ..usual() }));
    let row = second(&report);
    assert!(is_hitless(&report, true) && row.failovers == cuts.failures_max, "{} failovers", row.failovers);
    let recovery = row.recovery_us.expect("links failed");
    // Either end may be the first to notice, and what it heard last was sent before the failure.
    assert!(recovery.min > 50.0 && recovery.max < 50.0 + 10.0, "{recovery:?}");
}

#[test]
fn sqr_meets_the_same_failures() {
    for detection in [Detection::Squelch, Detection::F10] {
        let cuts = Cuts { detection: detection.time(), failures_max: 12, ..usual().cuts };
        let config = over(link(10, 0.0, Mode::Ordered), Pair { cuts, ..usual() });
        let [ours, sqr] =
            [false, true].map(|sqr| run(&over(config.links[0].clone(), Pair { cuts, sqr, ..usual() })));
        assert!(is_hitless(&ours, true) && ours.ending.drained && sqr.ending.drained);
        let way = &sqr.streams[0].delivery;
        assert_eq!((way.frames_undelivered, way.frames_reordered), (0, 0), "{way:?}");
        assert_eq!(ours.streams[0].delivery.frames_sent, way.frames_sent);
        let [ours, sqr] = [second(&ours), second(&sqr)];
        let moments = |row: &PairReport| row.cuts.iter().map(|cut| cut.at_us).collect::<Vec<f64>>();
        assert_eq!(moments(ours), moments(sqr), "the same failures");
        assert_eq!((ours.failovers, sqr.failovers, sqr.frames_corrupted), (12, 12, 0));
        // A copy is kept for as long as a failure may be unknown, and until it passes the next time.
        let kept = (detection.time().as_nanos() * config.load * 10.0 / 8.0) as u64;
        assert!(sqr.steady_buffer_bytes >= kept, "{kept}: {sqr:?}");
        assert!(ours.steady_buffer_bytes < 2 * 1_518 + 1_518 * 3, "what is on its way: {ours:?}");
        let [ours, sqr] = [ours, sqr].map(|row| row.recovery_us.expect("links failed"));
        let detection = detection.time().as_nanos() / 1e3;
        assert!(ours.min > detection && sqr.min > detection, "{ours:?} {sqr:?}");
    }
}

#[test]
fn the_same_seed_has_the_same_report() {
    for sqr in [false, true] {
        let config = over(link(25, 1e-2, Mode::Ordered), Pair { sqr, ..quick(10) });
        assert_eq!(run(&config), run(&config));
        assert_ne!(run(&config).second_link, run(&LinksConfig { seed: 2, ..config }).second_link);
    }
}

#[test]
fn a_run_that_is_not_wanted_ends() {
    let config = over(link(100, 0.0, Mode::Ordered), usual());
    let report = links::run(&config, &mut |_| false).expect("valid");
    assert!(!report.ending.drained, "{:?}", report.ending);
    assert_eq!(second(&report).cuts.len(), 1, "it ended with the first failure");
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    type Change = dyn Fn(&mut LinksConfig, &mut Pair);
    let cases: [(&str, &Change); 15] = [
        ("cuts", &|_, pair| pair.cuts.failures_max = 0),
        ("cuts", &|_, pair| pair.cuts.failures_max = 100_001),
        ("cuts", &|_, pair| (pair.cuts.failures_max, pair.cuts.every) = (100_000, us(1_000_000))),
        ("cuts", &|_, pair| (pair.cuts.failures_max, pair.cuts.every) = (100_000, us(30_000))),
        ("hops", &|config, _| config.links.clear()),
        ("detection", &|_, pair| pair.cuts.detection = Time::ZERO),
        ("detection", &|_, pair| {
            (pair.cuts.noticed, pair.cuts.detection) = (Noticed::Silence, Detection::Squelch.time());
        }),
        ("silence", &|_, pair| pair.silence = us(19)),
        ("load", &|config, _| config.load = 0.0),
        ("load", &|config, _| config.load = f64::NAN),
        ("reverse-load", &|config, _| config.reverse_load = 1.1),
        ("down-for", &|_, pair| pair.cuts.down_for = us(30)),
        ("failure-every", &|_, pair| pair.cuts.every = us(500)),
        ("cut", &|_, pair| (pair.cuts.cut, pair.sqr) = (Cut::Either, true)),
        ("scheme", &|config, _| config.links[0].protection = None),
    ];
    for (parameter, change) in cases {
        let (mut config, mut pair) = (over(link(100, 0.0, Mode::Ordered), usual()), usual());
        config.validate().expect("valid");
        change(&mut config, &mut pair);
        config.layout = Layout::Pair(pair);
        let error = config.validate().expect_err("refused");
        assert_eq!(error.parameter, parameter, "{error}");
        assert_eq!(links::run(&config, &mut |_| panic!("nothing runs")), Err(error));
    }
}
