//! What is known without a simulation: throughput without loss, Equation 1, Little's law, the utilisation law.

mod common;

use common::ledger::{Fate, Ledger};
use common::{GIGABITS, binomial, gigabits, simulate};
use linkmend_sim::link::config::{Backpressure, Buffering, Copies, Mode, Protection};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::network::{FRAME_BYTES_MIN, WIRE_OVERHEAD_BYTES};
use linkmend_sim::stress::{StressReport, run_observed};
use linkmend_sim::time::Time;

/// The authors' data header.
const HEADER_BYTES: u64 = 3;
const FRAME_BYTES: [u32; 8] = [64, 81, 128, 512, 1500, 1518, 4096, 9000];
/// Frames before buffer levels are recorded, in runs of at least ten times as many.
const WARM_UP_FRAMES: usize = 1_000;

/// A link with so much room that it is never held up, and so much time that every copy comes in it.
fn roomy(gbps: u64, loss: f64, mode: Mode) -> LinksConfig {
    let paper = LinksConfig::paper(gigabits(gbps), loss, mode);
    let protection = Protection {
        window_frames: 32_768,
        recovery_timeout_ns: 100_000,
        backpressure: Some(Backpressure { pause_bytes: 8_000_000, resume_bytes: 7_000_000 }),
        ..paper.links[0].protection.expect("the paper's link is protected")
    };
    paper.with_link(|link| (link.protection, link.buffering) = (Some(protection), Buffering::Direct))
}

fn watch(config: &LinksConfig) -> (StressReport, Ledger) {
    let config = LinksConfig { full: true, ..config.clone() };
    let (report, ledger, _) =
        run_observed(&config, Ledger::default(), None, &mut |_| true).expect("valid parameters");
    (report, ledger)
}

/// Picoseconds that a frame and its gap last.
fn wire_time(config: &LinksConfig) -> u64 {
    let header = if config.links[0].protection.is_some() { HEADER_BYTES } else { 0 };
    config.links[0].rate.time_of(u64::from(config.links[0].frame_bytes) + header + WIRE_OVERHEAD_BYTES).0
}

/// The last digit included: the same integers, divided in the same way. The first frame of a protected link waits for
/// the end of the idle slot under way.
fn assert_line_rate(config: &LinksConfig) {
    let report = simulate(config);
    let elapsed = (report.simulated_ns * 1e3).round() as u64;
    let wait = elapsed.checked_sub(config.frames * wire_time(config)).expect("no faster than the link");
    let slot = config.links[0].rate.time_of(u64::from(FRAME_BYTES_MIN) + WIRE_OVERHEAD_BYTES).0;
    let most = if config.links[0].protection.is_some() { slot } else { 1 };
    assert!(wait < most, "{wait} ps more than the frames last: {config:?}");
    let bits_per_ps = (config.frames * u64::from(config.links[0].frame_bytes)) as f64 * 8.0 / elapsed as f64;
    let rate = config.links[0].rate.bits_per_second() as f64;
    assert_eq!(report.simulated_ns, Time(elapsed).as_nanos(), "{config:?}");
    assert_eq!(report.effective_speed_gbps, bits_per_ps * 1e3, "{config:?}");
    assert_eq!(report.effective_speed_pct, bits_per_ps * 1e14 / rate, "{config:?}");
    assert_eq!((report.frames_undelivered, report.frames_lost, report.retransmitted_copies), (0, 0, 0));
}

#[test]
fn throughput_without_loss_is_the_closed_form_to_the_last_digit() {
    for gbps in GIGABITS {
        for frame_bytes in FRAME_BYTES {
            for mode in Mode::ALL {
                let direct = LinksConfig { frames: 10_007, ..roomy(gbps, 0.0, mode) }
                    .with_link(|link| link.frame_bytes = frame_bytes);
                assert_line_rate(&direct);
                assert_line_rate(&direct.clone().with_link(|link| link.protection = None));
                // A recirculation port as slow as the link is busy all the time; a slower one is overloaded.
                if gbps <= 100 {
                    let mut recirculating = direct;
                    recirculating.links[0].buffering = Buffering::Recirculating;
                    recirculating.links[0].protection.as_mut().expect("protected").backpressure = None;
                    assert_line_rate(&recirculating);
                }
            }
        }
    }
}

/// Of the frames lost, each copy is lost like the original, and independently. The interval is exact, and so wide that
/// one seed in a million would fail.
#[test]
fn effective_loss_is_that_of_equation_1() {
    for (loss, copies) in [(1e-2, 1), (1e-2, 2), (5e-2, 2), (5e-2, 3)] {
        for mode in Mode::ALL {
            let mut config = LinksConfig { frames: 1_000_000, seed: 11, ..roomy(100, loss, mode) };
            let protection = config.links[0].protection.as_mut().expect("protected");
            protection.copies = Copies::Fixed(copies);
            let report = simulate(&config);
            let expected = libm::pow(loss, f64::from(copies) + 1.0);
            let undelivered = report.frames_undelivered;
            let case = format!("{undelivered} undelivered at {loss} with {copies} copies, {mode:?}");
            assert!(binomial::is_plausible(config.frames, undelivered, expected, 1e-6), "{case}");
            assert!(binomial::is_plausible(config.frames, report.frames_lost, loss, 1e-6), "{case}");
            assert_eq!(report.recovery_timeouts, undelivered, "{case}: what is given up is what is lost");
            assert_eq!(report.effective_loss_rate, undelivered as f64 / config.frames as f64);
        }
    }
}

/// Time that frames spend somewhere while it is observed, times their bytes: what Little's law says the level adds up
/// to.
fn byte_picoseconds(
    config: &LinksConfig,
    from: Time,
    until: Time,
    stays: impl Iterator<Item = (Time, Time)>,
) -> f64 {
    let inside = |(entered, left): (Time, Time)| {
        let (entered, left) = (entered.0.max(from.0), left.0.min(until.0));
        u128::from(left.saturating_sub(entered))
    };
    let total: u128 = stays.map(inside).sum();
    (total * u128::from(config.links[0].frame_bytes)) as f64
}

fn mean(levels: &[(u64, f64)]) -> f64 {
    levels.iter().map(|(bytes, share)| *bytes as f64 * share).sum()
}

/// Levels are recorded from the last frame of the warm-up to the last frame of all.
fn observed(fates: &[Fate]) -> (Time, Time) {
    (fates[WARM_UP_FRAMES - 1].sent_at, fates[fates.len() - 1].sent_at)
}

fn assert_close(measured: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((measured - expected).abs() <= tolerance * expected, "{what}: {measured} instead of {expected}");
}

/// When each frame is acknowledged, from the ACKs that the sender receives: without loss, those of the frames in turn.
fn acknowledged_at(ledger: &Ledger) -> Vec<Time> {
    let mut acknowledged = Vec::new();
    let mut before = None;
    for &(at, next) in &ledger.acks {
        // The first ACK of the session stands for those before it: it is the first frame's.
        let frames = before.map_or(1, |before| next.wrapping_sub(before));
        acknowledged.extend((0..frames).map(|_| at));
        before = Some(next);
    }
    acknowledged.resize(ledger.fates.len(), Time::NEVER);
    acknowledged
}

#[test]
fn the_tx_buffer_follows_littles_law() {
    for (gbps, frame_bytes) in [(10, 1518), (25, 64), (100, 1518), (100, 9000), (400, 256), (800, 4096)] {
        for mode in Mode::ALL {
            let config = LinksConfig { frames: 20_000, ..roomy(gbps, 0.0, mode) }
                .with_link(|link| link.frame_bytes = frame_bytes);
            let (report, ledger) = watch(&config);
            let (from, until) = observed(&ledger.fates);
            let acknowledged = acknowledged_at(&ledger);
            let stays = ledger.fates.iter().zip(&acknowledged).map(|(fate, at)| (fate.sent_at, *at));
            let held = byte_picoseconds(&config, from, until, stays);
            let case = format!("{gbps}G, {frame_bytes} bytes, {mode:?}");
            let level = mean(&report.tx_buffer_levels);
            assert_close(level, held / (until - from).0 as f64, 1e-12, &case);
            // The law itself: level = arrival rate x time in the buffer, here of all frames that came and went.
            let whole = (WARM_UP_FRAMES..ledger.fates.len()).filter(|&id| acknowledged[id] <= until);
            let stays: Vec<f64> =
                whole.map(|id| (acknowledged[id] - ledger.fates[id].sent_at).0 as f64).collect();
            let mean_stay = stays.iter().sum::<f64>() / stays.len() as f64;
            let arrivals = f64::from(frame_bytes) / wire_time(&config) as f64;
            assert_close(level, arrivals * mean_stay, 1e-3, &case);
        }
    }
}

#[test]
fn the_rx_buffer_follows_littles_law() {
    for gbps in [10, 100, 400] {
        for (loss, buffering) in
            [(1e-3, Buffering::Direct), (1e-2, Buffering::Direct), (1e-3, Buffering::Recirculating)]
        {
            if gbps > 100 && buffering == Buffering::Recirculating {
                continue;
            }
            let paper = LinksConfig::paper(gigabits(gbps), loss, Mode::Ordered);
            let config = LinksConfig { frames: 50_000, ..paper }.with_link(|link| link.buffering = buffering);
            let (report, ledger) = watch(&config);
            let (from, until) = observed(&ledger.fates);
            let delivered = ledger.fates.iter().filter(|fate| fate.deliveries > 0);
            let stays = delivered.map(|fate| (fate.arrived_at.expect("it arrived"), fate.delivered_at));
            let held = byte_picoseconds(&config, from, until, stays);
            assert!(held > 0.0, "something waited");
            let case = format!("{gbps}G, loss {loss}, {buffering:?}");
            assert_eq!(report.rx_buffer_overflows, 0, "{case}");
            assert_close(mean(&report.rx_buffer_levels), held / (until - from).0 as f64, 1e-12, &case);
        }
    }
}

/// Passes over the recirculation port, from the share of the pipe's capacity that is reported.
fn passes(config: &LinksConfig, share_pct: f64, report: &StressReport) -> f64 {
    share_pct / 100.0 * config.links[0].switch.pipe_packets_per_second as f64 * report.simulated_ns / 1e9
}

#[test]
fn the_recirculation_port_follows_the_utilisation_law() {
    for (gbps, frame_bytes) in [(10, 1518), (10, 9000), (25, 1518), (50, 4096), (100, 1518)] {
        let paper = LinksConfig::paper(gigabits(gbps), 0.0, Mode::Ordered);
        let config = LinksConfig { frames: 50_000, ..paper }.with_link(|link| link.frame_bytes = frame_bytes);
        let report = simulate(&config);
        let elapsed = report.simulated_ns * 1e3;
        let throughput = passes(&config, report.tx_recirculation_pct, &report) / elapsed;
        let wire_bytes = u64::from(frame_bytes) + HEADER_BYTES + WIRE_OVERHEAD_BYTES;
        let service = config.links[0].switch.recirculation_rate.time_of(wire_bytes).0 as f64;
        let case = format!("{gbps}G, {frame_bytes} bytes");
        let utilisation = throughput * service;
        assert!(utilisation <= 1.0 + 1e-3, "{case}: the port is busy {utilisation} of the time");
        // No frame returns sooner than its service and the loop take, and the buffer holds what is on its way.
        let loop_ps = config.links[0].switch.loop_latency_ns as f64 * 1e3;
        let level = mean(&report.tx_buffer_levels) / f64::from(frame_bytes);
        let residence = level / throughput;
        assert!(residence >= (service + loop_ps) * (1.0 - 1e-3), "{case}: {residence} ps for a pass");
        if gbps <= 50 {
            assert!(utilisation < 1.0, "{case}");
        } else {
            // At the rate of the port, one pass for each frame is all it can do.
            assert_close(utilisation, 1.0, 1e-2, &case);
        }
        assert_eq!(report.rx_recirculation_pct, 0.0, "{case}: nothing waits for its turn");
    }
}

/// What is lost and recovered comes a retransmission delay later.
#[test]
fn recovery_takes_at_least_a_round_trip() {
    for mode in Mode::ALL {
        let config = LinksConfig { frames: 100_000, ..roomy(100, 1e-3, mode) };
        let report = simulate(&config);
        let path_ns = config.links[0].switch.egress_latency_ns
            + config.links[0].switch.ingress_latency_ns
            + 5 * u64::from(config.links[0].distance_m);
        // The notification and the copy each travel the path; both have to be sent first.
        let least = 2.0 * path_ns as f64 + wire_time(&config) as f64 / 1e3;
        assert!(report.retransmission_delay_ns.min >= least, "{:?}", report.retransmission_delay_ns);
        assert_eq!(report.retransmission_delay_ns.count + report.frames_undelivered, report.frames_lost);
    }
}
