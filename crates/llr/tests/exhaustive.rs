//! Every pattern of losses on small links: sequence spaces of 8 and 16, windows up to half, each of the first transmissions
//! delivered, lost or damaged, and each of the first control ordered sets delivered or lost.

mod common;

use linkmend_llr::config::{Choices, ControlInsertion, NackInReplay, NackRearm, ReplayTimerStart};
use linkmend_llr::link::{A, B, Link, LinkConfig};
use linkmend_llr::{Config, Span};

const RATE_BPS: u64 = 100_000_000_000;
/// Transmissions of A whose fate is enumerated: three each.
const DATA_DEPTH: u32 = 7;
/// Control ordered sets of B, after initialisation, whose fate is enumerated: two each.
const CONTROL_DEPTH: u32 = 5;
const FRAMES: u64 = 9;

struct Pattern {
    data: u32,
    control: u32,
}

/// Runs one pattern. The windows are smaller than the number of frames, so that numbers wrap in a space of 8.
fn run(config: Config, delay: Span, pattern: &Pattern) -> Link {
    let parameters = LinkConfig { rate_bps: RATE_BPS, delay, ports: [config, config], seed: 0 };
    let mut link = Link::new(parameters).expect("in range");
    link.enable();
    link.run_for(Span::from_nanos(3_000));
    let first_control = link.faults_mut(B).controls() + 1;
    let mut digits = pattern.data;
    for ordinal in 1..=u64::from(DATA_DEPTH) {
        match digits % 3 {
            0 => {}
            1 => link.faults_mut(A).lose.extend([ordinal]),
            _ => link.faults_mut(A).damage.extend([ordinal]),
        }
        digits /= 3;
    }
    let lost = (0..CONTROL_DEPTH).filter(|bit| pattern.control >> bit & 1 == 1);
    link.faults_mut(B).lose_control.extend(lost.map(|bit| first_control + u64::from(bit)));
    link.offer_many(1, FRAMES, 64);
    link.run_for(Span::from_nanos(100_000));
    link
}

fn explore(config: Config, delay: Span) {
    for data in 0..3u32.pow(DATA_DEPTH) {
        for control in 0..1u32 << CONTROL_DEPTH {
            let pattern = Pattern { data, control };
            let link = run(config, delay, &pattern);
            let judged =
                common::judge_end(&link, FRAMES).and_then(|()| common::flushes_for_a_reason(&link, &config));
            if let Err(problem) = judged {
                panic!("data {data}, control {control}, {delay:?}, {config:?}: {problem}");
            }
        }
    }
}

fn small(sequence_space: u32, outstanding_frames_max: u32) -> Config {
    Config {
        sequence_space,
        outstanding_frames_max,
        replay_timer_ns: 2_000,
        replay_count_max: 255,
        ctlos_spacing_bytes: 400,
        first_sequence: sequence_space - 2,
        ..Config::default()
    }
}

#[test]
fn a_space_of_eight_with_every_window() {
    for window in 1..=4 {
        explore(small(8, window), Span::from_nanos(20));
    }
}

#[test]
fn a_space_of_sixteen_with_its_largest_window_on_a_short_and_a_long_cable() {
    explore(small(16, 8), Span::from_nanos(5));
    explore(small(16, 8), Span::from_nanos(300));
}

#[test]
fn other_choices_are_as_safe() {
    let eager = Choices {
        nack_rearm: NackRearm::EachReplay,
        replay_timer_start: ReplayTimerStart::OldestFrame,
        control_insertion: ControlInsertion::InsideFrames { first_after_octets: 8, apart_octets: 8 },
        ..Choices::default()
    };
    explore(Config { choices: eager, ..small(8, 4) }, Span::from_nanos(20));
    let lazy = Choices { nack_in_replay: NackInReplay::AcknowledgeOnly, ..Choices::default() };
    explore(Config { choices: lazy, ..small(8, 4) }, Span::from_nanos(20));
}

/// With a count, FLUSH ends some patterns; before it, nothing is lost, doubled or reordered, and the link recovers.
#[test]
fn a_limited_count_flushes_and_initialises_again() {
    let config = Config { replay_count_max: 1, re_init_on_discard: true, ..small(8, 4) };
    explore(config, Span::from_nanos(20));
    let link = run(config, Span::from_nanos(20), &Pattern { data: 0, control: 31 });
    assert!(link.port(A).transmitter().last_flush().is_some(), "this pattern flushes");
}
