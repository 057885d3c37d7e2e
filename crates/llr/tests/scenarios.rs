//! Whole links: Meta's limit of bytes, pre-emption, a cut, and what testers show.

use linkmend_llr::config::{Choices, ControlInsertion};
use linkmend_llr::link::{A, B, Link, LinkConfig};
use linkmend_llr::presets::preset;
use linkmend_llr::{Config, Frame, FrameHandle, Span, TransmitState};

const RATE_BPS: u64 = 400_000_000_000;

fn running(config: Config, delay_ns: u64) -> Link {
    let delay = Span::from_nanos(delay_ns);
    let mut link = Link::new(LinkConfig { rate_bps: RATE_BPS, delay, ports: [config, config], seed: 1 })
        .expect("in range");
    link.enable();
    link.run_for(Span::from_nanos(20_000));
    link
}

/// Full frames in both directions.
fn load(link: &mut Link, frames: u64, bytes: u32) {
    for handle in (1..=frames).map(FrameHandle) {
        link.offer(A, Frame { handle, bytes, poisoned: false }, true);
        link.offer(B, Frame { handle, bytes, poisoned: false }, true);
    }
}

/// The share of the line rate that Meta's profile has over so much cable.
fn share_with_metas_profile(cable_m: u64) -> f64 {
    let config = preset("meta-400g").expect("it exists").config;
    let mut link = running(config, 5 * cable_m);
    let begin = link.now();
    load(&mut link, 2_000, 9_000);
    link.run_for(Span::from_nanos(1_000_000));
    assert_eq!(link.port(A).counters().transmit.replayed_frames, 0);
    let last = link.delivered(B).last().expect("frames were delivered");
    assert_eq!(last.handle, FrameHandle(2_000));
    let taken = last.at.since(begin).0 - Span::from_nanos(5 * cable_m).0;
    (Span::of_octets(9_020, RATE_BPS).0 * 2_000) as f64 / taken as f64
}

/// 105,800 B are 11 frames of 9,000 B, so ACKs have to come within 1,984 ns.
#[test]
fn metas_limit_of_bytes_holds_the_line_rate_for_150_metres_and_not_for_its_reach() {
    let (near, far) = (share_with_metas_profile(150), share_with_metas_profile(211));
    assert!(near > 0.99 && (0.7..0.9).contains(&far), "{near} {far}");
}

/// Without pre-emption, an ACK waits for the end of the frame that is being sent.
#[test]
fn pre_emption_shortens_the_wait_for_acks() {
    let acknowledged = |control_insertion| {
        let config = Config {
            choices: Choices { control_insertion, ..Choices::default() },
            replay_timer_ns: 60_000,
            ..Config::default()
        };
        let mut link = running(config, 250);
        for handle in 1..=20 {
            link.offer(B, Frame { handle: FrameHandle(handle), bytes: 65_000, poisoned: false }, true);
        }
        link.offer_many(1, 1, 64);
        // The frame arrives after 252 ns, in B's first frame of 1,300 ns.
        let step = Span::from_nanos(10);
        let began = link.now();
        while link.acknowledged(A).is_empty() {
            link.run_for(step);
        }
        link.now().since(began).as_nanos_f64()
    };
    let between = acknowledged(ControlInsertion::BetweenFrames);
    let inside = acknowledged(ControlInsertion::PUBLISHED);
    assert!((1_550.0..1_570.0).contains(&between), "{between}: B's frame and the way back");
    assert!((500.0..520.0).contains(&inside), "{inside}: two ways");
}

/// A short cut is repaired by the timer, and nothing is given up.
#[test]
fn a_cut_shorter_than_the_pcs_timer_loses_nothing() {
    let patient = Config {
        pcs_lost_timeout_ns: 50_000,
        replay_timer_ns: 5_000,
        replay_count_max: 2,
        ..Config::default()
    };
    let mut link = running(patient, 250);
    link.offer_many(1, 10_000, 1_000);
    link.run_for(Span::from_nanos(3_000));
    for end in [A, B] {
        link.set_pcs(end, false);
    }
    link.run_for(Span::from_nanos(40_000));
    for end in [A, B] {
        link.set_pcs(end, true);
    }
    link.run_for(Span::from_nanos(1_000_000));
    assert!(link.delivered(B).iter().map(|delivered| delivered.handle.0).eq(1..=10_000));
    assert_eq!((link.flushed(A).len(), link.acknowledged(A).len()), (0, 10_000));
}

#[test]
fn testers_see_numbers_and_times_that_agree_with_the_counters() {
    let config = Config { replay_timer_ns: 5_000, first_sequence: 1, ..Config::default() };
    let mut link = running(config, 250);
    link.faults_mut(A).lose.extend([10]);
    link.offer_many(1, 100, 64);
    link.run_for(Span::from_nanos(20_000));
    let (a, b) = (link.port(A).testers(link.now()), link.port(B).testers(link.now()));
    assert_eq!((a.tx_seq.0, b.rx_next_seq.0, a.outstanding_frames), (101, 101, 0));
    assert_eq!((a.replayed_frames, a.replayed_bytes), (91, 91 * 64));
    let total: u64 = a.transmit_times.iter().map(|(_, span)| span.0).sum();
    assert_eq!(total, link.now().0, "every moment was spent in a state");
    let in_replay = a.transmit_times.iter().find(|(state, _)| *state == TransmitState::Replay);
    let nanos = in_replay.map_or(0.0, |(_, span)| span.as_nanos_f64());
    assert!((150.0..=153.0).contains(&nanos), "{nanos}: 90 frames of 1.68 ns");
}
