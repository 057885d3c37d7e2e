//! The idealised selective retry: it loses and reorders nothing, costs one copy for each loss, and skipping changes nothing.

mod common;

use common::{assert_nothing_lost, bytes_of, gigabits, simulate};
use linkmend_quantity::{Count, LossRate};
use linkmend_sim::corruption::Corruption;
use linkmend_sim::flows::{FlowsReport, SchemeKind, TransportKind, run as run_flows};
use linkmend_sim::link::config::{LinkConfig, LlrProfile};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::parameters::RunParameters;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn config(gbps: u64, loss: f64, change: impl FnOnce(&mut LinkConfig)) -> LinksConfig {
    let mut link = SchemeKind::Selective.link(gigabits(gbps), loss);
    change(&mut link);
    let recovery = SchemeKind::Selective.recovery(&link, loss, &LlrProfile::default()).expect("usable");
    LinksConfig { recovery, frames: 200_000, ..LinksConfig::over(link) }
}

#[test]
fn each_loss_costs_one_copy_whatever_the_length() {
    for gbps in [25, 100, 400, 800] {
        for distance_m in [1, 500, 10_000] {
            for loss in [1e-5, 1e-3, 1e-2] {
                let config = config(gbps, loss, |link| link.distance_m = distance_m);
                let report = simulate(&LinksConfig { frames: 1_000_000, ..config });
                assert_nothing_lost(&report);
                let resent = report.retransmitted_copies as f64 / report.frames_lost as f64;
                assert!((0.99..1.05).contains(&resent), "{gbps} {distance_m} {loss}: {resent}");
                let expected = 100.0 * (1.0 - loss) * 1_518.0 / 1_538.0;
                let share = report.effective_speed_pct / expected;
                // At the end, the last copies take a few loops.
                let end = 4.0 * 10.0 * f64::from(distance_m) / report.simulated_ns;
                assert!((0.997 - end..1.001).contains(&share), "{gbps} {distance_m} {loss}: {share}");
            }
        }
    }
}

/// Feedback is lost, too, and the oldest frame is then retransmitted after a timeout.
#[test]
fn nothing_is_lost_under_bursts_bit_errors_and_losses_in_both_directions() {
    let models = [
        Corruption::GilbertElliott { loss: 1e-2, mean_burst_frames: 8.0 },
        Corruption::PerBit { bit_error_rate: 1e-6 },
        Corruption::iid(0.05),
    ];
    for corruption in &models {
        for frame_bytes in [64, 1_518, 9_018] {
            for distance_m in [1, 500, 10_000] {
                let config = config(400, 0.0, |link| {
                    link.corruption = corruption.clone();
                    link.reverse_corruption = Corruption::iid(0.2);
                    link.frame_bytes = frame_bytes;
                    link.distance_m = distance_m;
                });
                let report = simulate(&LinksConfig { frames: 20_000, ..config });
                assert_nothing_lost(&report);
                assert!(report.frames_lost > 0, "{corruption:?} {frame_bytes} {distance_m}");
            }
        }
    }
}

#[test]
fn skipping_the_steady_state_changes_nothing() {
    for (gbps, frame_bytes, loss) in
        [(400, 1_518, 1e-4), (100, 9_018, 1e-3), (800, 64, 1e-5), (400, 1_024, 0.0), (25, 2_028, 1e-5)]
    {
        for distance_m in [2, 1_000] {
            let config = config(gbps, loss, |link| {
                link.frame_bytes = frame_bytes;
                link.distance_m = distance_m;
            });
            let fast = simulate(&config);
            let full = simulate(&LinksConfig { full: true, ..config.clone() });
            assert_eq!(bytes_of(&fast), bytes_of(&full), "{gbps} {frame_bytes} {loss}");
            let skips = fast.events < full.events / 2;
            // A kilometre holds many frames, all of which are simulated after a loss.
            assert!(
                skips || loss > 5e-5 || distance_m > 2,
                "{gbps} {frame_bytes}: {} of {}",
                fast.events,
                full.events
            );
        }
    }
}

#[test]
fn hosts_notice_nothing() {
    let run = |loss: f64, transport: TransportKind| {
        let parameters = RunParameters {
            scheme: Some(SchemeKind::Selective),
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
        let (clean, lossy) = (run(0.0, transport), run(1e-2, transport));
        assert_eq!(lossy.flows.retransmissions, 0, "{transport:?}");
        let p99 = |report: &FlowsReport| report.flows.fct_us.as_ref().expect("flows end").p99;
        let apart = p99(&lossy) / p99(&clean) - 1.0;
        assert!(apart < 0.05, "{transport:?}: {} and {}", p99(&lossy), p99(&clean));
    }
}
