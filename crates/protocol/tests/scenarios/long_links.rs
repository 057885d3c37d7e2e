//! Links on which much is lost within one round trip: fast ones, long ones, and those that lose a fifth.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Settings, pair::quick_config};
use linkmend_protocol::{Config, Mode, Tick, Ticks, effective_loss};

/// A link of this many Mb/s whose ends are `delay_ns` apart, with room for everything that a round trip contains.
fn settings(mbps: u64, delay_ns: u64, window_frames: u32, max_rounds: u8) -> Settings {
    let round_trip = Ticks(2 * delay_ns);
    let config = Config {
        window_frames,
        window_bytes: 1 << 30,
        rx_buffer_bytes: 1 << 30,
        pause_bytes: 1 << 30,
        max_rounds,
        ack_interval: Tick::Nanosecond.micros(200),
        dummy_interval_min: Tick::Nanosecond.micros(200),
        dummy_interval_max: Tick::Nanosecond.millis(10),
        recovery_timeout: round_trip * 10 + Tick::Nanosecond.millis(20),
        keepalive: round_trip + Tick::Nanosecond.millis(1),
        peer_timeout: round_trip * 4 + Tick::Nanosecond.millis(30),
        session_expiry: round_trip * 8 + Tick::Nanosecond.millis(60),
        handshake_min: round_trip + Tick::Nanosecond.millis(1),
        handshake_max: round_trip * 2 + Tick::Nanosecond.millis(5),
        ..quick_config()
    };
    Settings { config, mbps, delay_ns, seed: 5 }
}

fn protected(settings: Settings, copies: u8, loss: f64) -> Pair {
    let mut pair = Pair::protected(settings, copies);
    pair.links[A].loss = Loss::Iid(loss);
    pair
}

/// An end that lists 32 holes in one feedback must list the others within the same round trip, or it gives them up.
#[test]
fn hundreds_of_holes_in_a_round_trip_are_all_recovered() {
    for (mode, loss, copies) in [(Mode::Ordered, 0.05, 6), (Mode::NonBlocking, 0.2, 11)] {
        let mut settings = settings(10_000, MILLI, 8_192, 255);
        settings.config.recovery_timeout = Tick::Nanosecond.millis(20);
        let mut pair = protected(settings, copies, loss);
        pair.offer(A, mode, 40_000, 200);
        pair.run_until_idle(4_000 * MILLI);
        pair.assert_all_delivered(A);
        assert!(pair.stats(B).lost_frames > (35_000.0 * loss) as u64);
        assert_eq!(pair.stats(B).given_up_frames(), 0);
        pair.assert_accounts();
    }
}

/// Lost reports of new losses are repeated.
#[test]
fn hundreds_of_holes_are_recovered_though_the_other_direction_loses_as_much() {
    let mut pair = protected(settings(10_000, 500 * MICRO, 8_192, 255), 11, 0.2);
    pair.links[B].loss = Loss::Iid(0.2);
    pair.offer(A, Mode::Ordered, 20_000, 200);
    pair.run_until_idle(4_000 * MILLI);
    pair.assert_all_delivered(A);
    assert_eq!(pair.stats(B).given_up_frames(), 0);
    // A report that has not come is no reason to send a frame again.
    let stats = pair.stats(A);
    let once = 11 * pair.stats(B).lost_frames;
    assert!(stats.retransmitted_copies <= once, "{} copies, one round is {once}", stats.retransmitted_copies);
}

/// One lost feedback out of many delays the frames that it listed by an ACK interval, and no others.
#[test]
fn a_lost_part_of_a_loss_report_costs_one_interval() {
    let settings = settings(10_000, 500 * MICRO, 8_192, 255);
    let mut pair = protected(settings, 1, 0.0);
    pair.links[A].loss = Loss::originals(|position| (1_000..3_000).contains(&position) && position % 10 == 0);
    let mut feedbacks = 0;
    pair.links[B].loss = Loss::script(move |wire| {
        let lists = matches!(wire, crate::common::Wire::Control(control)
            if matches!(&**control, linkmend_protocol::Control::Feedback(feedback)
                if feedback.lanes[Mode::NonBlocking].missing().len() > 0));
        feedbacks += u32::from(lists);
        feedbacks == 100 && lists
    });
    pair.offer(A, Mode::NonBlocking, 5_000, 200);
    pair.run_until_idle(50 * MILLI);
    let latency = pair.stats(B).recovery_latency;
    assert_eq!(latency.count(), 200);
    let (round_trip, interval) = (MILLI, settings.config.ack_interval.0);
    assert!(latency.max() < round_trip + interval + 50 * MICRO, "{} ns", latency.max());
    assert!(latency.max() > round_trip + interval / 2, "the test lost a notification: {} ns", latency.max());
}

/// Paper mode: one round of N copies leaves `loss^(N+1)` (Equation 1), whatever the link's length.
fn equation_1(settings: Settings, loss: f64, copies: u8, frames: u64, bytes: u32) {
    for mode in Mode::ALL {
        let mut pair = protected(settings, copies, loss);
        pair.offer(A, mode, frames, bytes);
        pair.run_until_idle(60_000 * MILLI);
        let expected = effective_loss(loss, copies) * frames as f64;
        let margin = 4.0 * expected.sqrt();
        let lost = pair.stats(B).given_up_frames() as f64;
        assert!(
            (lost - expected).abs() < margin,
            "{mode}: {lost} lost, {expected:.1} +- {margin:.1} expected"
        );
        pair.assert_accounts();
    }
}

#[test]
fn equation_1_holds_at_10g_over_200_km() {
    equation_1(settings(10_000, MILLI, 16_384, 1), 0.05, 1, 40_000, 200);
    equation_1(settings(10_000, MILLI, 16_384, 1), 0.2, 2, 30_000, 200);
}

#[test]
fn equation_1_holds_at_400g_over_10_km() {
    equation_1(settings(400_000, 50 * MICRO, 8_192, 1), 0.05, 1, 40_000, 1_500);
    equation_1(settings(400_000, 50 * MICRO, 32_768, 1), 0.2, 2, 40_000, 300);
}

#[test]
fn equation_1_holds_at_1g_over_a_round_trip_of_100_ms() {
    equation_1(settings(1_000, 50 * MILLI, 16_384, 1), 0.2, 2, 30_000, 1_500);
}

/// What a feedback covers moves back when much is missing. Frames must not be counted by it, or they are counted twice
/// or not at all.
#[test]
fn the_loss_rate_is_right_with_hundreds_of_holes_in_a_round_trip() {
    for loss in [0.02, 0.1, 0.2] {
        let mut settings = settings(10_000, 500 * MICRO, 8_192, 255);
        settings.config.loss_window_frames = 30_000;
        let mut pair = protected(settings, 6, loss);
        pair.offer(A, Mode::NonBlocking, 45_000, 200);
        pair.run_until_idle(4_000 * MILLI);
        let measured = pair.nodes[A].end.status().measured_loss.expect("a window is full");
        assert!((measured / loss - 1.0).abs() < 0.1, "{measured} measured at {loss}");
    }
}
