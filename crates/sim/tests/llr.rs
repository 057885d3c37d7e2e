//! Link Layer Retry as a scheme: what it loses, how fast it is, what its ports count, and that skipping changes nothing.

mod common;

use common::{assert_nothing_lost, bytes_of, gigabits, simulate};
use linkmend_llr::plan::go_back_n_throughput;
use linkmend_quantity::{Count, LossRate};
use linkmend_sim::corruption::Corruption;
use linkmend_sim::flows::{FlowsReport, Recovery, SchemeKind, TransportKind, run as run_flows};
use linkmend_sim::link::config::{LinkConfig, LlrProfile};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::parameters::RunParameters;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A link with LLR, and what else is changed of it.
fn config(gbps: u64, loss: f64, profile: &str, change: impl FnOnce(&mut LinkConfig)) -> LinksConfig {
    let mut link = SchemeKind::Llr.link(gigabits(gbps), loss);
    change(&mut link);
    let profile: LlrProfile = profile.parse().expect(profile);
    let recovery = Recovery::Llr(profile.config(&link).expect("the link can use it"));
    LinksConfig { recovery, frames: 200_000, ..LinksConfig::over(link) }
}

#[test]
fn every_frame_arrives_once_and_in_order() {
    for gbps in [25, 100, 400, 800] {
        for loss in [1e-5, 1e-3, 1e-2] {
            let report = simulate(&config(gbps, loss, "loop", |_| {}));
            assert_nothing_lost(&report);
            assert!(report.frames_lost > 0, "{gbps} {loss}");
            assert_eq!(report.frames_sent, 200_000);
        }
    }
}

/// Bursts, bit errors, losses of ordered sets, small and large frames, kilometres.
#[test]
fn nothing_is_lost_under_bursts_bit_errors_and_losses_in_both_directions() {
    for (index, corruption) in [
        Corruption::GilbertElliott { loss: 1e-2, mean_burst_frames: 8.0 },
        Corruption::PerBit { bit_error_rate: 1e-6 },
        Corruption::iid(0.05),
    ]
    .into_iter()
    .enumerate()
    {
        for frame_bytes in [64, 1_518, 9_018] {
            for distance_m in [1, 500, 10_000] {
                let change = |link: &mut LinkConfig| {
                    link.corruption = corruption.clone();
                    link.reverse_corruption = Corruption::iid(0.2);
                    link.frame_bytes = frame_bytes;
                    link.distance_m = distance_m;
                };
                let config = config(400, 0.0, "loop,nack_rearm=each-replay", change);
                let report = simulate(&LinksConfig { frames: 20_000, ..config });
                assert_nothing_lost(&report);
                assert!(report.frames_lost > 0, "{index} {frame_bytes} {distance_m}");
            }
        }
    }
}

/// Each loss costs the frames of one loop: (1 - p) / (1 - p + p W).
#[test]
fn speed_is_that_of_go_back_n() {
    for (distance_m, loss) in [(10, 1e-3), (200, 1e-3), (200, 1e-2), (500, 1e-3)] {
        let config = config(400, loss, "loop", |link| link.distance_m = distance_m);
        let config = LinksConfig { frames: 2_000_000, ..config };
        let report = simulate(&config);
        let frame_ns = config.links[0].rate.time_of(1_538).as_nanos();
        // A loss costs the frames that leave during the round trip, the wait for the next ACK slot, and the frame being sent.
        let way_ns = 66.0 + 5.0 * f64::from(distance_m);
        let window = (2.0 * way_ns) / frame_ns + 1.5;
        let expected = 100.0 * go_back_n_throughput(loss, window) * 1_518.0 / 1_538.0;
        let share = report.effective_speed_pct / expected;
        assert!(
            (0.985..1.01).contains(&share),
            "{distance_m} m {loss}: {} of {expected}",
            report.effective_speed_pct
        );
    }
}

#[test]
fn skipping_the_steady_state_changes_nothing() {
    let profiles = ["loop", "loop,data_age_timeout_ns=0,replay_timer_start=oldest-frame", "plan"];
    for profile in profiles {
        for (gbps, frame_bytes, loss) in
            [(400, 1_518, 1e-4), (100, 9_018, 1e-3), (800, 64, 1e-5), (400, 1_024, 0.0)]
        {
            let config = config(gbps, loss, profile, |link| link.frame_bytes = frame_bytes);
            let fast = simulate(&config);
            let full = simulate(&LinksConfig { full: true, ..config.clone() });
            assert_eq!(bytes_of(&fast), bytes_of(&full), "{profile} {gbps} {frame_bytes} {loss}");
            let skips = fast.events < full.events / 2;
            println!("{profile} {gbps}G {frame_bytes} B {loss:e}: {} of {} events", fast.events, full.events);
            assert!(
                skips || loss > 5e-5,
                "{profile} {gbps} {frame_bytes}: {} of {}",
                fast.events,
                full.events
            );
        }
    }
}

/// With count 2 and no re-initialisation, a link that loses everything for a while is given up.
#[test]
fn a_flush_without_re_initialisation_ends_the_traffic_and_is_said() {
    let recorded = Corruption::Recorded((1_000..1_200).collect::<Vec<u64>>().into());
    let stays = config(400, 0.0, "meta-400g", |link| link.corruption = recorded.clone());
    let report = simulate(&stays);
    assert!(report.frames_undelivered > 0);
    assert!(report.warnings[0].contains("sent nothing from then on"), "{:?}", report.warnings);
    let again = "meta-400g,re_init_on_discard=yes";
    let resumed = simulate(&config(400, 0.0, again, |link| link.corruption = recorded));
    // Two windows of 69 frames.
    assert!(resumed.frames_undelivered <= 138, "{}", resumed.frames_undelivered);
    assert_eq!(resumed.frames_sent, 200_000);
}

/// The window of otg-default lasts 378 us here, and its data age 4.2 s: a timer that is lost during a replay is missed.
#[test]
fn the_replay_timer_expires_while_a_long_window_is_still_being_sent() {
    let change = |link: &mut LinkConfig| (link.frame_bytes, link.distance_m) = (9_216, 100);
    let otg = config(400, 3e-2, "otg-default", change);
    let report = simulate(&LinksConfig { frames: 20_000, ..otg });
    assert_nothing_lost(&report);
    assert!(report.retransmission_delay_ns.max < 10_000_000.0, "{}", report.retransmission_delay_ns.max);
}

/// A data age that is never reached changes nothing, however short the replay timer is.
#[test]
fn a_long_data_age_does_not_stop_the_replay_timer() {
    for timer_ns in [1, 100, 1_000, 1_200] {
        let [with, without] = [4_000_000_000_u64, 0].map(|age_ns| {
            let registers = format!("loop,replay_timer_ns={timer_ns},data_age_timeout_ns={age_ns}");
            bytes_of(&simulate(&LinksConfig { frames: 5_000, ..config(400, 1e-2, &registers, |_| {}) }))
        });
        assert_eq!(with, without, "{timer_ns} ns");
    }
}

#[test]
fn a_replay_timer_below_the_loop_is_said() {
    let warnings = |profile: &str, distance_m: u32| {
        let far = config(25, 0.0, profile, |link| link.distance_m = distance_m);
        simulate(&LinksConfig { frames: 1_000, ..far }).warnings
    };
    assert_eq!(warnings("loop", 100), Vec::<String>::new());
    assert!(warnings("loop", 10_000)[0].contains("15500 ns"), "{:?}", warnings("loop", 10_000));
    let longest = warnings("loop,replay_timer_ns=65535", 10_000);
    assert!(longest[0].contains("too short for this link"), "{longest:?}");
    assert_eq!(warnings("loop,replay_timer_ns=0", 10_000), Vec::<String>::new());
}

/// No replay timer is as long as a loop of 10 km, so the planner turns it off.
#[test]
fn without_losses_a_planned_port_replays_nothing_over_10_km() {
    let report = simulate(&config(400, 0.0, "plan", |link| link.distance_m = 10_000));
    assert!(report.effective_speed_pct > 98.6, "{} %", report.effective_speed_pct);
    assert_eq!(report.warnings, [""; 0]);
}

#[test]
fn a_profile_needs_the_scheme() {
    let parameters = RunParameters {
        llr: Some(LlrProfile::default()),
        scheme: Some(SchemeKind::Ordered),
        ..RunParameters::default()
    };
    let error = parameters.line_rate(Path::new(".")).expect_err("refused").to_string();
    assert!(error.contains("needs `scheme` llr"), "{error}");
}

/// Flows of hosts never notice the losses, and without losses the link is as long as any other.
#[test]
fn hosts_notice_nothing() {
    let run = |scheme: SchemeKind, loss: f64, transport: TransportKind| {
        let parameters = RunParameters {
            scheme: Some(scheme),
            loss: Some(LossRate(loss)),
            transport: Some(transport),
            size: Some("24387B".parse().expect("a size")),
            trials: Some(Count(2_000)),
            ..RunParameters::default()
        };
        let config = parameters.flows(Path::new(".")).expect("valid parameters");
        run_flows(&config, 2, &AtomicBool::new(false), &|| ()).expect("valid").expect("nothing stops it")
    };
    for transport in [TransportKind::Dctcp, TransportKind::Rdma] {
        let clean = run(SchemeKind::None, 0.0, transport);
        let quiet = run(SchemeKind::Llr, 0.0, transport);
        let lossy = run(SchemeKind::Llr, 1e-2, transport);
        let median = |report: &FlowsReport| report.flows.fct_us.as_ref().expect("flows end").p50;
        let apart = (median(&quiet) / median(&clean) - 1.0).abs();
        assert!(apart < 1e-3, "{transport:?}: {} and {}", median(&quiet), median(&clean));
        assert!(lossy.network.frames_corrupted > 200, "{}", lossy.network.frames_corrupted);
        assert_eq!(lossy.flows.retransmissions, 0, "{transport:?}");
    }
}
