//! Dynamic interrupt moderation, as Linux does it for the testbed's cards ("Net DIM", Documentation/networking/net_dim.rst;
//! the levels are those of its receive profile).
//!
//! The card waits for some time after an interrupt before the next one. How long is one of five levels. After every 64
//! interrupts the host compares the traffic since then with that before. If a step was an improvement, the next step goes
//! the same way; otherwise it goes back. An improvement is more bytes a second; if there are about as many, more frames a
//! second; if there are about as many, fewer interrupts a second. Where steps go to and fro, it stays until the traffic
//! changes.

use crate::time::Time;

/// Least time between two interrupts at each level.
const INTERVALS: [Time; 5] = [
    Time::from_nanos(1_000),
    Time::from_nanos(8_000),
    Time::from_nanos(64_000),
    Time::from_nanos(128_000),
    Time::from_nanos(256_000),
];
/// The level at which a card begins.
const FIRST_LEVEL: usize = 1;
/// A card that has gathered this many frames interrupts without waiting.
pub(super) const FRAMES_MAX: u32 = 256;
/// Interrupts between two decisions.
const INTERRUPTS: u32 = 64;
/// Rates that differ by no more than this share of the older are alike.
const ALIKE: f64 = 0.1;
/// After this many steps without staying anywhere, it rests as many decisions.
const STEPS_MAX: u32 = 10;

/// Rates between two decisions, per second.
#[derive(Debug, Clone, Copy, Default)]
struct Rates {
    bytes: f64,
    frames: f64,
    interrupts: f64,
}

/// How traffic compares with that before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Better,
    Alike,
    Worse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Each step makes the interval longer, or shorter.
    Stepping { longer: bool },
    /// At the best level, until the traffic changes.
    Staying,
    /// Resting for this many decisions.
    Resting(u32),
}

/// The moderation of a card's interrupts.
#[derive(Debug)]
pub(super) struct Moderation {
    level: usize,
    phase: Phase,
    /// Steps to shorter and to longer intervals since the last turn to that side.
    steps: [u32; 2],
    /// Steps since it stayed anywhere.
    all_steps: u32,
    before: Rates,
    began: Time,
    interrupts: u32,
    frames: u64,
    bytes: u64,
}

impl Default for Moderation {
    fn default() -> Moderation {
        Moderation::begin(Time::ZERO)
    }
}

impl Moderation {
    /// The moderation of a queue that has received nothing yet.
    pub(super) fn begin(now: Time) -> Moderation {
        Moderation {
            level: FIRST_LEVEL,
            phase: Phase::Stepping { longer: true },
            steps: [0; 2],
            all_steps: 0,
            before: Rates::default(),
            began: now,
            interrupts: 0,
            frames: 0,
            bytes: 0,
        }
    }

    /// The least time between two interrupts now.
    pub(super) fn interval(&self) -> Time {
        INTERVALS[self.level]
    }

    /// The card has interrupted for these frames and bytes.
    pub(super) fn interrupted(&mut self, now: Time, frames: u32, bytes: u64) {
        self.interrupts += 1;
        self.frames += u64::from(frames);
        self.bytes += bytes;
        if self.interrupts < INTERRUPTS {
            return;
        }
        let seconds = Time(now.0 - self.began.0).as_secs();
        if seconds > 0.0 {
            let rate = |count: f64| count / seconds;
            let rates = Rates {
                bytes: rate(self.bytes as f64),
                frames: rate(self.frames as f64),
                interrupts: rate(f64::from(self.interrupts)),
            };
            self.decide(rates);
        }
        (self.began, self.interrupts, self.frames, self.bytes) = (now, 0, 0, 0);
    }

    fn decide(&mut self, rates: Rates) {
        let comparison = compare(&self.before, &rates);
        let was_moving = matches!(self.phase, Phase::Stepping { .. });
        match self.phase {
            Phase::Staying if comparison != Comparison::Alike => self.set_out(),
            Phase::Staying => {}
            Phase::Resting(decisions) if decisions <= 1 => self.set_out(),
            Phase::Resting(decisions) => self.phase = Phase::Resting(decisions - 1),
            Phase::Stepping { longer } => {
                let longer = if comparison == Comparison::Better { longer } else { self.turn(longer) };
                let [back, on] = [self.steps[usize::from(!longer)], self.steps[usize::from(longer)]];
                if back > 1 && on == 1 {
                    self.stay();
                } else {
                    self.step(longer);
                }
            }
        }
        // While it stays, traffic is compared with that for which it stays.
        if was_moving || matches!(self.phase, Phase::Stepping { .. }) {
            self.before = rates;
        }
    }

    /// Begins to step again.
    fn set_out(&mut self) {
        self.step(self.level == 0);
    }

    fn turn(&mut self, longer: bool) -> bool {
        self.steps[usize::from(!longer)] = 0;
        !longer
    }

    fn step(&mut self, longer: bool) {
        let last = if longer { INTERVALS.len() - 1 } else { 0 };
        if self.all_steps == STEPS_MAX {
            (self.steps, self.all_steps) = ([0; 2], 0);
            self.phase = Phase::Resting(STEPS_MAX);
        } else if self.level == last {
            self.stay();
        } else {
            self.level = if longer { self.level + 1 } else { self.level - 1 };
            self.steps[usize::from(longer)] += 1;
            self.all_steps += 1;
            self.phase = Phase::Stepping { longer };
        }
    }

    fn stay(&mut self) {
        (self.steps, self.all_steps) = ([0; 2], 0);
        self.phase = Phase::Staying;
    }
}

fn compare(before: &Rates, now: &Rates) -> Comparison {
    let differs = |before: f64, now: f64| (now - before).abs() > ALIKE * before;
    let order = |is_better: bool| if is_better { Comparison::Better } else { Comparison::Worse };
    if differs(before.bytes, now.bytes) {
        order(now.bytes > before.bytes)
    } else if differs(before.frames, now.frames) {
        order(now.frames > before.frames)
    } else if differs(before.interrupts, now.interrupts) {
        order(now.interrupts < before.interrupts)
    } else {
        Comparison::Alike
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels over 300 decisions, if the traffic at each level is this many bytes a second.
    fn levels(bytes_per_second: impl Fn(usize) -> f64) -> Vec<usize> {
        let mut moderation = Moderation::default();
        let mut levels = Vec::new();
        for _ in 0..300 {
            let level = moderation.level;
            let interrupts = 1.0 / INTERVALS[level].as_secs();
            let bytes = bytes_per_second(level);
            moderation.decide(Rates { bytes, frames: bytes / 1_500.0, interrupts });
            levels.push(level);
        }
        levels
    }

    #[test]
    fn traffic_that_no_level_changes_gets_the_fewest_interrupts() {
        let levels = levels(|_| 1.25e9);
        assert_eq!(levels[..4], [1, 2, 3, 4]);
        assert!(levels[10..].iter().all(|level| *level == 4), "{levels:?}");
    }

    #[test]
    fn traffic_that_waits_for_interrupts_gets_them_sooner() {
        // A window of 60 kB over 50 us and the interval.
        let levels = levels(|level| 60_000.0 / (50e-6 + INTERVALS[level].as_secs()));
        assert!(levels[20..].iter().all(|level| *level <= 2), "{levels:?}");
    }
}
