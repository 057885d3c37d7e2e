//! Two links between two ends, of which one fails again and again.

use linkmend_sim::corruption::Corruption;
use linkmend_sim::flows::Detection;
use linkmend_sim::link::config::Mode;
use linkmend_sim::link::{FRAME_BYTES_MIN, LinkConfig, WIRE_OVERHEAD_BYTES};
use linkmend_sim::scenario::two_links::{self, Cut, Noticed, TwoLinksConfig, TwoLinksReport, TwoLinksRow};
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

/// Cuts follow each other faster than usual, so that many fit into a test.
fn quick(link: LinkConfig) -> TwoLinksConfig {
    TwoLinksConfig {
        every: us(600),
        down_for: us(250),
        silence: us(40),
        return_after: us(100),
        ..TwoLinksConfig::over(link)
    }
}

fn run(config: &TwoLinksConfig) -> TwoLinksReport {
    two_links::run(config, &mut |_| true).expect("it runs")
}

fn row(config: &TwoLinksConfig) -> TwoLinksRow {
    run(config).rows.swap_remove(0)
}

#[test]
fn whatever_is_cut_and_corrupted_nothing_is_lost_duplicated_or_reordered() {
    let (mut in_use, mut late, mut corrupted) = (0, 0, 0);
    for seed in 0..24 {
        let mode = [Mode::Ordered, Mode::NonBlocking][(seed % 2) as usize];
        let loss = [1e-3, 1e-2][(seed / 2 % 2) as usize];
        let noticed = [Noticed::Carrier, Noticed::Silence][(seed / 4 % 2) as usize];
        let gbps = [10, 25, 100][(seed % 3) as usize];
        let config = TwoLinksConfig {
            seed,
            noticed,
            cut: if seed % 5 == 0 { Cut::Primary } else { Cut::Either },
            cuts: 36,
            reverse_load: 0.3,
            ..quick(link(gbps, loss, mode))
        };
        let row = row(&config);
        let what = || format!("seed {seed}: {:?} {:?}", row.forward, row.reverse);
        assert!(row.drained && row.is_hitless(mode == Mode::Ordered), "{}", what());
        assert_eq!(row.cuts.len(), 36);
        assert!(row.frames_cut > 0 && row.frames_resent > 0, "{}", what());
        in_use += row.cuts.iter().filter(|cut| cut.in_use).count();
        late += row.late_frames;
        corrupted += row.frames_corrupted;
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
            let config = TwoLinksConfig { detections: vec![detection], ..TwoLinksConfig::over(link.clone()) };
            let row = row(&config);
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
            assert_eq!(recovery.count, config.cuts);
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
    let config = TwoLinksConfig {
        noticed: Noticed::Silence,
        detections: vec![Detection::After(us(50))],
        ..TwoLinksConfig::over(link(25, 1e-3, Mode::Ordered))
    };
    let row = row(&config);
    assert!(row.is_hitless(true) && row.failovers == config.cuts, "{} failovers", row.failovers);
    let recovery = row.recovery_us.expect("links failed");
    // Either end may be the first to notice, and what it heard last was sent before the failure.
    assert!(recovery.min > 50.0 && recovery.max < 50.0 + 10.0, "{recovery:?}");
}

#[test]
fn sqr_meets_the_same_failures() {
    for detection in [Detection::Squelch, Detection::F10] {
        let config = TwoLinksConfig {
            detections: vec![detection],
            cuts: 12,
            beside_sqr: true,
            ..TwoLinksConfig::over(link(10, 0.0, Mode::Ordered))
        };
        let [ours, sqr] = run(&config).rows.try_into().expect("two rows");
        assert_eq!((ours.scheme, sqr.scheme), ("linkguardian", "sqr"));
        assert!(ours.is_hitless(true) && ours.drained && sqr.drained);
        assert_eq!((sqr.forward.frames_lost, sqr.forward.frames_reordered), (0, 0), "{:?}", sqr.forward);
        let moments = |row: &TwoLinksRow| row.cuts.iter().map(|cut| cut.at_us).collect::<Vec<f64>>();
        assert_eq!(moments(&ours), moments(&sqr), "the same failures");
        assert_eq!(ours.forward.frames_sent, sqr.forward.frames_sent);
        assert_eq!((ours.failovers, sqr.failovers, sqr.frames_corrupted), (12, 12, 0));
        // A copy is kept for as long as a failure may be unknown, and until it passes the next time.
        let kept = (detection.time().as_nanos() * config.load * 10.0 / 8.0) as u64;
        assert!(sqr.steady_buffer_bytes >= kept, "{kept}: {sqr:?}");
        assert!(ours.steady_buffer_bytes < 2 * 1_518 + 1_518 * 3, "what is on its way: {ours:?}");
        let [ours, sqr] = [&ours, &sqr].map(|row| row.recovery_us.expect("links failed"));
        let detection = detection.time().as_nanos() / 1e3;
        assert!(ours.min > detection && sqr.min > detection, "{ours:?} {sqr:?}");
    }
}

#[test]
fn the_same_seed_has_the_same_report() {
    let config = TwoLinksConfig { cuts: 10, beside_sqr: true, ..quick(link(25, 1e-2, Mode::Ordered)) };
    assert_eq!(run(&config), run(&config));
    assert_ne!(run(&config).rows, run(&TwoLinksConfig { seed: 2, ..config }).rows);
}

#[test]
fn a_run_that_is_not_wanted_ends() {
    let config = TwoLinksConfig { beside_sqr: true, ..TwoLinksConfig::over(link(100, 0.0, Mode::Ordered)) };
    let report = two_links::run(&config, &mut |_| false).expect("valid");
    assert_eq!(report.rows.len(), 1);
    assert!(report.rows[0].interrupted && !report.rows[0].drained);
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    type Change = dyn Fn(&mut TwoLinksConfig);
    let cases: [(&str, &Change); 16] = [
        ("cuts", &|config| config.cuts = 0),
        ("cuts", &|config| config.cuts = 100_001),
        ("cuts", &|config| (config.cuts, config.every) = (100_000, us(1_000_000))),
        ("cuts", &|config| (config.cuts, config.every) = (100_000, us(30_000))),
        ("speeds", &|config| config.links.clear()),
        ("detection", &|config| config.detections.clear()),
        ("detection", &|config| config.detections = vec![Detection::After(Time::ZERO)]),
        ("detection", &|config| {
            (config.noticed, config.detections) = (Noticed::Silence, vec![Detection::Squelch]);
        }),
        ("silence", &|config| config.silence = us(19)),
        ("load", &|config| config.load = 0.0),
        ("load", &|config| config.load = f64::NAN),
        ("reverse-load", &|config| config.reverse_load = 1.1),
        ("down-for", &|config| config.down_for = us(30)),
        ("failure-every", &|config| config.every = us(500)),
        ("cut", &|config| (config.cut, config.beside_sqr) = (Cut::Either, true)),
        ("protection", &|config| config.links[0].protection = None),
    ];
    for (parameter, change) in cases {
        let mut config = TwoLinksConfig::over(link(100, 0.0, Mode::Ordered));
        config.validate().expect("valid");
        change(&mut config);
        let error = config.validate().expect_err("refused");
        assert_eq!(error.parameter, parameter, "{error}");
        assert_eq!(two_links::run(&config, &mut |_| panic!("nothing runs")), Err(error));
    }
}
