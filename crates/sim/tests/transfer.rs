//! One TCP connection over a path with a rate, a delay, a queue and given losses.

use linkmend_sim::corruption::Corruption;
use linkmend_sim::flows::TransportKind;
use linkmend_sim::time::{Rate, Time};
use linkmend_sim::transfer::{TransferConfig, TransferPath, TransferReport, run};
use std::sync::atomic::AtomicBool;

const MILLISECOND: Time = Time::from_nanos(1_000_000);

/// 100 Mbit/s, 10 ms there and back, and as much in the queue as is under way.
fn config(transport: TransportKind, lost: &[u64], milliseconds: u64) -> TransferConfig {
    let path = TransferPath {
        rate: Rate::from_bits_per_second(100_000_000).expect("exact"),
        delay: Time(5 * MILLISECOND.0),
        queue_bytes: 125_000,
        losses: Corruption::Recorded(lost.into()),
    };
    TransferConfig::linux(transport, path, Time(milliseconds * MILLISECOND.0), 1).expect("it is TCP")
}

fn transfer(config: &TransferConfig) -> TransferReport {
    run(config, &AtomicBool::new(false)).expect("valid").expect("nothing stops it")
}

#[test]
fn a_connection_fills_a_path_that_loses_nothing() {
    for transport in [TransportKind::Reno, TransportKind::Cubic, TransportKind::Bbr] {
        let report = transfer(&config(transport, &[], 5_000));
        let goodput_bps = report.delivered_bytes as f64 * 8.0 / report.seconds;
        // 1,448 of 1,538 octets on the wire are payload.
        let most_bps = 100e6 * 1448.0 / 1538.0;
        assert!(goodput_bps > 0.98 * most_bps && goodput_bps < most_bps, "{transport:?}: {goodput_bps}");
        assert_eq!((report.frames_lost, report.timeouts, report.samples.len()), (0, 0, 500), "{transport:?}");
        assert!(report.retransmitted_segments <= report.queue_drops, "{transport:?}: {report:?}");
    }
}

#[test]
fn the_listed_frames_are_lost_and_sent_again() {
    let lost = [5, 100, 101, 102, 2_000];
    let report = transfer(&config(TransportKind::Cubic, &lost, 2_000));
    assert_eq!((report.frames_lost, report.needlessly_retransmitted_segments), (5, 0));
    assert_eq!(report.retransmitted_segments, 5 + report.queue_drops);
    assert_eq!(report.timeouts, 0, "fast retransmission recovers all of them");
}

#[test]
fn a_round_trip_is_the_paths_delay_and_what_hosts_add() {
    let mut slow = config(TransportKind::Cubic, &[], 100);
    slow.tcp.initial_window = 2;
    let first = transfer(&slow).samples[2];
    let rtt_s = first.rtt_s.expect("measured");
    // A frame lasts 123 us, and each host takes 50 us to receive.
    assert!((0.0101..0.0107).contains(&rtt_s), "{rtt_s}");
}

#[test]
fn the_same_seed_gives_the_same_transfer() {
    let lost: Vec<u64> = (0..200).map(|nth| nth * 97).collect();
    for transport in [TransportKind::Reno, TransportKind::Bbr] {
        let config = config(transport, &lost, 1_000);
        assert_eq!(transfer(&config), transfer(&config));
    }
}

#[test]
fn what_cannot_be_transferred_is_refused_by_name() {
    let good = config(TransportKind::Reno, &[], 1_000);
    let cases: [(TransferConfig, &str); 4] = [
        (TransferConfig { duration: Time::ZERO, ..good.clone() }, "duration"),
        (TransferConfig { sample_interval: Time(1), ..good.clone() }, "sample-interval"),
        (
            TransferConfig { path: TransferPath { queue_bytes: 1, ..good.path.clone() }, ..good.clone() },
            "queue",
        ),
        (
            TransferConfig { path: TransferPath { delay: Time::NEVER, ..good.path.clone() }, ..good.clone() },
            "delay",
        ),
    ];
    for (config, parameter) in cases {
        let error = run(&config, &AtomicBool::new(false)).expect_err(parameter);
        assert_eq!(error.parameter, parameter);
    }
    let rdma = TransferConfig::linux(TransportKind::Rdma, good.path, MILLISECOND, 1).expect_err("no TCP");
    assert_eq!((rdma.parameter, rdma.value.as_str()), ("transport", "rdma"));
    assert_eq!(
        run(&config(TransportKind::Reno, &[], 1_000), &AtomicBool::new(true)),
        Ok(None),
        "it was stopped"
    );
}
