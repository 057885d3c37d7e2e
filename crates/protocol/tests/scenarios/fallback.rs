//! Automatic fallback (section 5): ordered -> non-blocking -> dormant, and back.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Settings, Source, pair::quick_config};
use linkmend_protocol::{CloseReason, Config, Copies, Event, Level, Mode, Tick};

fn pair() -> Pair {
    let mut config = quick_config();
    config.fallback.enabled = true;
    config.fallback.return_hold = Tick::Nanosecond.millis(3);
    config.fallback.dormant_hold = Tick::Nanosecond.millis(20);
    config.loss_window_frames = 500;
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 4);
    pair.nodes[A].source = Some(Source {
        next_at: 0,
        gap_max_ns: 4 * MICRO,
        burst_max: 1,
        bytes_max: 300,
        ordered: 1.0,
        remaining: u64::MAX,
    });
    pair
}

fn level(pair: &Pair) -> Level {
    pair.nodes[A].end.status().level
}

#[test]
fn a_link_gets_worse_and_better() {
    let mut pair = pair();
    pair.links[A].loss = Loss::Iid(0.01);
    pair.run_for(10 * MILLI);
    assert_eq!(level(&pair), Level::Full);
    pair.links[A].loss = Loss::Iid(0.12);
    pair.run_until(20 * MILLI, |pair| level(pair) == Level::NonBlocking);
    // Still protected, out of order.
    let before = pair.ledger.frames.len();
    pair.run_for(5 * MILLI);
    let lanes: Vec<_> =
        pair.ledger.frames[before + 100..before + 200].iter().filter_map(|record| record.lane).collect();
    assert!(lanes.len() == 100 && lanes.iter().all(|(mode, _)| *mode == Mode::NonBlocking));
    pair.links[A].loss = Loss::Iid(0.6);
    pair.run_until(50 * MILLI, |pair| level(pair) == Level::Dormant);
    pair.run_until(50 * MILLI, |pair| pair.is_dormant(A));
    let closed = |event: &Event| matches!(event, Event::SessionClosed { reason: CloseReason::Fallback, .. });
    assert_eq!(pair.nodes[A].events.iter().filter(|event| closed(event)).count(), 1);
    pair.links[A].loss = Loss::Iid(0.001);
    pair.run_until(100 * MILLI, |pair| level(pair) == Level::NonBlocking && pair.is_active(A));
    pair.run_until(100 * MILLI, |pair| level(pair) == Level::Full);
    pair.nodes[A].source = None;
    pair.run_until_idle(50 * MILLI);
    assert!(pair.stats(A).fallback_changes >= 4);
}

/// Nothing else need happen on the link.
#[test]
fn a_dormant_link_is_tried_again_by_itself() {
    let mut pair = pair();
    for node in &mut pair.nodes {
        let config = Config { hello_interval: Tick::Nanosecond.secs(10), ..*node.end.config() };
        node.end.reconfigure(config).expect("valid");
    }
    pair.links[A].loss = Loss::Iid(0.6);
    pair.run_until(50 * MILLI, |pair| level(pair) == Level::Dormant && pair.is_dormant(A));
    pair.links[A].loss = Loss::None;
    pair.nodes[A].source = None;
    pair.run_for(10 * MILLI);
    assert!(pair.is_dormant(A));
    pair.run_until(20 * MILLI, |pair| level(pair) == Level::NonBlocking && pair.is_active(A));
}

#[test]
fn a_loss_in_the_first_feedback_is_not_a_loss_of_everything() {
    let mut pair = pair();
    pair.nodes[A].source = None;
    // Twelve losses among 400 frames: 3%, below both limits, but all in one report.
    pair.links[A].loss = Loss::originals(|position| (100..112).contains(&position));
    pair.links[B].loss = Loss::script({
        let mut feedbacks = 0;
        move |wire| {
            feedbacks += u32::from(wire.is_feedback());
            wire.is_feedback() && feedbacks < 3
        }
    });
    pair.offer(A, Mode::Ordered, 600, 100);
    pair.run_until_idle(20 * MILLI);
    assert_eq!(level(&pair), Level::Full);
}

#[test]
fn copies_follow_the_measured_loss() {
    let mut pair = pair();
    pair.protect(A, Copies::Target { target_loss: 1e-8, initial_loss: 1e-5 });
    assert_eq!(pair.nodes[A].end.status().copies, 1);
    pair.links[A].loss = Loss::Iid(0.02);
    pair.run_for(20 * MILLI);
    let measured = pair.nodes[A].end.status().measured_loss.expect("a window is full");
    assert!((0.005..0.05).contains(&measured), "{measured}");
    assert!(pair.nodes[A].end.status().copies >= 3);
    assert!(pair.stats(B).recovered_frames > 0);
}
