//! Jumping over undisturbed traffic equals driving it: whatever happens to two link ends afterwards (losses, copies,
//! timeouts, dummies, the end of their sessions) is the same, frame by frame and to the last count.
//!
//! * `LINKMEND_JUMPS_SEEDS=100000`: how many seeds to run;
//! * `LINKMEND_JUMPS_SEED=17`: only that one.

#![expect(clippy::disallowed_methods, reason = "which seeds run is set from outside")]

mod jumps;
#[path = "common/random.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod random;

use jumps::setting::{OUT_OF_REACH, Setting};
use jumps::{Pair, Place};
use linkmend_protocol::{Format, Mode, Ticks};
use std::env;

/// Seeds of an ordinary test run.
const SEEDS: u64 = 1_000;
/// A cycle must be found within this many steps, or there is none.
const CYCLE_STEPS_MAX: usize = 1_000;

/// Drives until the same moment returns. Returns the place of its first occurrence.
fn find_cycle(pair: &mut Pair) -> Option<Place> {
    let mut moments = Vec::new();
    for _ in 0..CYCLE_STEPS_MAX {
        if let Some(moment) = pair.moment() {
            if let Some((_, place)) = moments.iter().find(|(before, _)| *before == moment) {
                return Some(Place::clone(place));
            }
            moments.push((moment, pair.place()));
        }
        pair.steps(1);
    }
    None
}

/// Returns how many frames the jump adds; `None` if nothing repeats itself.
fn jumping_equals_driving(setting: &Setting) -> Option<u64> {
    let (mut driven, mut jumped) = (Pair::new(setting), Pair::new(setting));
    let before = find_cycle(&mut driven)?;
    assert_eq!(find_cycle(&mut jumped).as_ref(), Some(&before), "two twins: {setting:?}");
    let steps = (driven.step - before.step) * setting.cycles;
    let sent = |pair: &Pair| -> u64 { pair.nodes.iter().map(|node| node.end.stats().protected_frames).sum() };
    let first = sent(&driven);
    jumped.jump(&before, setting.cycles);
    driven.steps(steps);
    assert_eq!(driven.place(), jumped.place(), "{setting:?}");
    assert_eq!(driven.moment(), jumped.moment(), "{setting:?}");
    compare_ends(&driven, &jumped);
    let added = sent(&jumped) - first;
    driven.aftermath();
    jumped.aftermath();
    for (driven, jumped) in driven.seen.iter().zip(&jumped.seen) {
        assert_eq!(driven, jumped, "driven, jumped: {setting:?}");
    }
    assert_eq!(driven.seen.len(), jumped.seen.len(), "{setting:?}");
    compare_ends(&driven, &jumped);
    Some(added)
}

fn compare_ends(driven: &Pair, jumped: &Pair) {
    for (end, (driven, jumped)) in driven.nodes.iter().zip(&jumped.nodes).enumerate() {
        let (driven, jumped) = (&driven.end, &jumped.end);
        assert_eq!(driven.stats(), jumped.stats(), "end {end}");
        assert_eq!(driven.status(), jumped.status(), "end {end}");
        assert_eq!(driven.round_trips(), jumped.round_trips(), "end {end}");
        assert_eq!(driven.next_timeout(), jumped.next_timeout(), "end {end}");
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
}

#[test]
fn a_jump_equals_the_traffic_it_replaces() {
    if let Some(seed) = number("LINKMEND_JUMPS_SEED") {
        let setting = Setting::draw(seed);
        println!("{setting:?}: {:?} frames", jumping_equals_driving(&setting));
        return;
    }
    let seeds = number("LINKMEND_JUMPS_SEEDS").unwrap_or(SEEDS);
    let (mut jumps, mut narrow, mut frames) = (0, 0, 0);
    for seed in 0..seeds {
        let setting = Setting::draw(seed);
        let added = jumping_equals_driving(&setting).unwrap_or(0);
        jumps += u64::from(added > 0);
        narrow += u64::from(added > 0 && setting.config.window_frames == 16);
        frames += added;
    }
    println!("{jumps} of {seeds} seeds jump over {frames} frames, {narrow} with windows of 16");
    // The comparison shows nothing if nothing is jumped over.
    assert!(jumps > seeds / 4 && narrow > seeds / 50 && frames > 40 * seeds);
}

/// Full traffic in one direction over a link whose other direction is idle.
fn calm(mode: Mode) -> Setting {
    let mut setting = Setting::draw(5);
    for port in &mut setting.ports {
        (port.mode, port.frame_every, port.idle_every, port.sizes) = (mode, 1, 1, 1);
    }
    setting.ports[1].frame_every = 0;
    setting.config.window_frames = 256;
    setting.config.ack_gap = Ticks::ZERO;
    setting.config.ack_interval = OUT_OF_REACH;
    setting.config.recovery_timeout = Ticks(3 * 2 * 20 * 100);
    setting.config.dummy_delay = Ticks::ZERO;
    Setting { delay: 20, interval: 100, loss: 0.02, stormy_steps: 100, ..setting }
}

/// Numbers of 16 bits and their era wrap several times within the jump.
#[test]
fn a_jump_over_several_eras_equals_the_traffic_it_replaces() {
    for mode in Mode::ALL {
        let added = jumping_equals_driving(&Setting { cycles: 300_001, ..calm(mode) });
        assert!(added > Some(300_000), "{added:?}");
    }
}

/// ACKs in the authors' format are no complete feedbacks. A jump must not make the latest feedback younger than it is,
/// which would delay the answer to the dummies at the end.
#[test]
fn a_complete_feedback_ages_in_a_jump() {
    for steps in [50, 100, 200, 400] {
        let mut setting = Setting { loss: 0.0, stormy_steps: 0, cycles: 1_000, ..calm(Mode::Ordered) };
        setting.config.ack_interval = Ticks(steps * setting.interval);
        assert!(jumping_equals_driving(&setting) > Some(0), "nothing to jump over");
    }
}

/// Its ACKs are numbered, so no cycle leaves everything as it was.
#[test]
fn nothing_is_steady_in_the_transparent_format() {
    for seed in 0..20 {
        let mut setting = Setting::draw(seed);
        setting.config.format = Format::Transparent;
        assert_eq!(jumping_equals_driving(&setting), None);
    }
}

#[test]
fn nothing_is_steady_while_anything_is_missing() {
    let mut pair = Pair::new(&Setting { loss: 0.0, ..calm(Mode::Ordered) });
    find_cycle(&mut pair).expect("a cycle");
    pair.loss = 1.0;
    pair.steps(1);
    pair.loss = 0.0;
    // The gap shows when the next frame arrives, and is closed a round trip later.
    let unsteady = (0..200).filter(|_| {
        pair.steps(1);
        pair.moment().is_none()
    });
    let unsteady = unsteady.count();
    assert!((40..100).contains(&unsteady), "{unsteady} steps");
    assert_eq!(pair.nodes[1].end.stats().recovered_frames, 1);
}
