//! One port under watch.

use super::evidence::Evidence;
use super::settings::Settings;
use super::window::{Stretch, Window};
use crate::counters::{Difference, Increment, Irregularity, Reading};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Evidence as likely as this by chance is shown to people, and nothing is done about it.
const SUSPECT_CHANCE: f64 = 0.05;
/// A link that begins to corrupt again and again waits at most 2^4 times the hold-down.
const DOUBLINGS_MOST: u32 = 4;

/// What is known of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its port was not polled twice yet, or does not count corrupted frames.
    #[default]
    Unknown,
    /// Nothing speaks for corruption.
    Healthy,
    /// Frames were corrupted; it may have been chance, or one event.
    Suspect,
    /// It corrupts, or has not been healthy for long enough since.
    Corrupting,
    /// It corrupts so much that it should be disabled.
    Severe,
}

impl State {
    /// Its name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            State::Unknown => "unknown",
            State::Healthy => "healthy",
            State::Suspect => "suspect",
            State::Corrupting => "corrupting",
            State::Severe => "severe",
        }
    }

    /// Whether the link needs protection.
    pub const fn corrupts(self) -> bool {
        matches!(self, State::Corrupting | State::Severe)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A state that a poll has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub from: State,
    pub to: State,
}

/// Watches one port. Call [`handle_reading`](Self::handle_reading) with every poll; everything else can be asked at any
/// time, and changes with polls only.
#[derive(Debug, Clone, Default)]
pub struct Detector {
    difference: Difference,
    polled: Option<Duration>,
    window: Window,
    state: State,
    /// What decided last that the link corrupts.
    evidence: Option<Evidence>,
    /// The loss rate to protect against, while the link corrupts.
    loss_rate: f64,
    /// What arrived since corruption was seen last.
    calm: Stretch,
    healthy_since: Option<Duration>,
    doublings: u32,
}

impl Detector {
    /// The link was found corrupting at this rate by a monitor before a restart. It counts as corrupting until the
    /// hold-down has passed.
    pub fn resume(&mut self, loss_rate: f64, now: Duration) {
        self.state = State::Corrupting;
        self.loss_rate = loss_rate;
        self.calm = Stretch { since: now, ..Stretch::default() };
    }

    /// Takes a reading made at `now`, on a clock that never goes back, and returns how it changes the state.
    ///
    /// # Errors
    /// Why this reading says nothing about corruption. The state stays as it is, except that a port which does not count
    /// is unknown unless it was known to corrupt.
    pub fn handle_reading(
        &mut self,
        settings: &Settings,
        now: Duration,
        reading: Reading,
    ) -> Result<Option<Change>, Irregularity> {
        let since = self.polled.replace(now);
        let increment = self.difference.handle_reading(now, reading)?;
        self.window.push(since.unwrap_or(now), increment);
        self.window.forget_before(now.saturating_sub(settings.window_time));
        let to = if self.state.corrupts() {
            self.while_corrupting(settings, now, increment)
        } else {
            self.while_not_corrupting(settings, now, increment)
        };
        Ok(self.change(to))
    }

    /// The port cannot be read any more. What was healthy is unknown then; what corrupted counts as corrupting.
    pub fn handle_absence(&mut self) -> Option<Change> {
        self.difference = Difference::default();
        self.polled = None;
        let to = if self.state.corrupts() { self.state } else { State::Unknown };
        self.change(to)
    }

    /// What is known of the link.
    pub fn state(&self) -> State {
        self.state
    }

    /// The loss rate to protect against; 0 unless the link corrupts.
    pub fn loss_rate(&self) -> f64 {
        self.loss_rate
    }

    /// Share of corrupted frames among the latest [`Settings::window_frames`]; `None` before frames have come.
    pub fn current_loss_rate(&self, settings: &Settings) -> Option<f64> {
        self.window.latest(settings.window_frames).loss_rate()
    }

    /// The frames of that share.
    pub fn current(&self, settings: &Settings) -> Stretch {
        self.window.latest(settings.window_frames)
    }

    /// What decided last that the link corrupts, or makes it a suspect.
    pub fn evidence(&self) -> Option<Evidence> {
        self.evidence
    }

    /// How long the link must be without corruption: the hold-down, or longer if it has been corrupting repeatedly.
    pub fn hold_down(&self, settings: &Settings) -> Duration {
        settings.hold_down.saturating_mul(1 << self.doublings)
    }

    /// Since when nothing was corrupted, while the link counts as corrupting.
    pub fn calm_since(&self) -> Option<Duration> {
        self.state.corrupts().then_some(self.calm.since)
    }

    fn while_not_corrupting(&mut self, settings: &Settings, now: Duration, increment: Increment) -> State {
        // Without a new corrupted frame, evidence only gets weaker.
        if increment.corrupted == 0 && self.state != State::Suspect {
            return State::Healthy;
        }
        self.evidence = Evidence::above(settings.activate, &self.window, settings.false_alarm);
        let Some(evidence) = self.evidence.filter(|evidence| evidence.chance <= SUSPECT_CHANCE) else {
            self.evidence = None;
            return State::Healthy;
        };
        if increment.corrupted == 0 || !evidence.rules_out_chance(settings.false_alarm) {
            return State::Suspect;
        }
        let relapse = self.healthy_since.is_some_and(|since| now - since <= settings.flap_memory);
        self.doublings = if relapse { (self.doublings + 1).min(DOUBLINGS_MOST) } else { 0 };
        self.calm = Stretch { since: now, ..Stretch::default() };
        self.loss_rate = evidence.loss_rate();
        self.severity(settings)
    }

    fn while_corrupting(&mut self, settings: &Settings, now: Duration, increment: Increment) -> State {
        self.calm.frames = self.calm.frames.saturating_add(increment.frames);
        self.calm.corrupted = self.calm.corrupted.saturating_add(increment.corrupted);
        if increment.corrupted > 0 && self.calm.loss_rate() > Some(settings.deactivate) {
            self.calm = Stretch { since: now, ..Stretch::default() };
            self.forget_before_a_rise(settings);
            let evidence = Evidence::above(settings.activate, &self.window, settings.false_alarm);
            if let Some(evidence) = evidence.filter(|found| found.rules_out_chance(settings.false_alarm)) {
                self.evidence = Some(evidence);
                self.loss_rate = evidence.loss_rate();
                return self.severity(settings);
            }
        }
        // As many frames at the former rate would have shown a corrupted one.
        let expected = self.loss_rate * self.calm.frames as f64;
        let long_enough = now.saturating_sub(self.calm.since) >= self.hold_down(settings);
        if !long_enough || expected < -libm::log(settings.false_alarm) {
            return self.state;
        }
        self.window.clear();
        self.evidence = None;
        self.loss_rate = 0.0;
        self.healthy_since = Some(now);
        State::Healthy
    }

    /// If the link has begun to corrupt more, what it did before says no more about it. Otherwise the higher rate would show
    /// itself only when the lower one of an hour no longer outweighs it.
    fn forget_before_a_rise(&mut self, settings: &Settings) {
        let risen = Evidence::above(self.loss_rate, &self.window, settings.false_alarm);
        if let Some(risen) = risen.filter(|risen| risen.rules_out_chance(settings.false_alarm)) {
            self.window.forget_before(risen.stretch.since);
        }
    }

    /// Whether a corrupting link is severe: if some stretch rules out that it corrupts no more than the limit, and after that
    /// until it is certainly below half of it.
    fn severity(&self, settings: &Settings) -> State {
        let limit = settings.disable;
        let is_severe = match (self.state, self.evidence) {
            (State::Severe, Some(evidence)) => {
                evidence.loss_rate() >= limit / 2.0 || evidence.interval().1 >= limit / 2.0
            }
            (State::Severe, None) => true,
            _ => Evidence::above(limit, &self.window, settings.false_alarm)
                .is_some_and(|evidence| evidence.rules_out_chance(settings.false_alarm)),
        };
        if is_severe { State::Severe } else { State::Corrupting }
    }

    fn change(&mut self, to: State) -> Option<Change> {
        let from = std::mem::replace(&mut self.state, to);
        (from != to).then_some(Change { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port that is polled every second.
    struct Port {
        detector: Detector,
        settings: Settings,
        now: Duration,
        reading: Reading,
    }

    impl Port {
        fn new() -> Port {
            let settings = Settings { hold_down: Duration::from_mins(1), ..Settings::default() };
            let reading = Reading { corrupted_frames: Some(0), ..Reading::default() };
            let mut port = Port { detector: Detector::default(), settings, now: Duration::ZERO, reading };
            assert_eq!(port.poll(0, 0), Err(Irregularity::First));
            port
        }

        fn poll(&mut self, good: u64, corrupted: u64) -> Result<Option<Change>, Irregularity> {
            self.reading.good_frames += good;
            self.reading.corrupted_frames = self.reading.corrupted_frames.map(|count| count + corrupted);
            self.now += Duration::from_secs(1);
            self.detector.handle_reading(&self.settings, self.now, self.reading)
        }

        /// Polls for some seconds, and says after how many the state was reached.
        fn until(&mut self, state: State, seconds: u32, mut poll: impl FnMut(u32) -> (u64, u64)) -> u32 {
            for second in 0..seconds {
                let (good, corrupted) = poll(second);
                let _ = self.poll(good, corrupted);
                if self.detector.state() == state {
                    return second + 1;
                }
            }
            panic!("not {state} after {seconds} s: {:?}", self.detector);
        }
    }

    #[test]
    fn corruption_is_found_in_two_polls_and_over_after_the_hold_down() {
        let mut port = Port::new();
        port.until(State::Healthy, 1, |_| (25_000, 0));
        assert_eq!(port.until(State::Corrupting, 9, |_| (25_000, 25)), 2);
        assert!((port.detector.loss_rate() / 1e-3 - 1.0).abs() < 0.01);
        for _ in 0..50 {
            assert_eq!(port.poll(25_000, 25), Ok(None));
        }
        assert_eq!(port.until(State::Healthy, 99, |_| (25_000, 0)), 60);
        assert_eq!(port.detector.loss_rate(), 0.0);
    }

    #[test]
    fn one_corrupted_frame_on_a_quiet_link_is_shown_and_nothing_more() {
        let mut port = Port::new();
        port.until(State::Suspect, 1, |_| (100, 1));
        for _ in 0..3_700 {
            let _ = port.poll(100, 0);
            assert!(!port.detector.state().corrupts());
        }
        assert_eq!(port.detector.state(), State::Healthy, "after the window");
    }

    #[test]
    fn a_single_burst_is_one_event() {
        let mut port = Port::new();
        port.until(State::Suspect, 1, |_| (1_000_000, 5_000));
        for _ in 0..60 {
            let _ = port.poll(1_000_000, 0);
        }
        assert_eq!(port.detector.state(), State::Suspect);
    }

    #[test]
    fn a_rate_above_the_limit_is_found_though_100_million_frames_would_not_show_it() {
        let mut port = Port::new();
        // 3e-8 of 8 million frames a second: a corrupted frame every four seconds.
        let seconds = port.until(State::Corrupting, 600, |second| (8_000_000, u64::from(second % 4 == 0)));
        assert!((60..200).contains(&seconds), "{seconds}");
    }

    #[test]
    fn an_idle_link_keeps_its_protection() {
        let mut port = Port::new();
        port.until(State::Corrupting, 9, |_| (1_000_000, 1));
        for _ in 0..10_000 {
            assert_eq!(port.poll(10, 0), Ok(None), "too few frames to tell");
        }
        assert_eq!(port.until(State::Healthy, 99, |_| (1_000_000, 0)), 14);
    }

    #[test]
    fn whoever_relapses_waits_longer() {
        let mut port = Port::new();
        for hold_down in [60, 120, 240, 480, 960, 960] {
            port.until(State::Corrupting, 9, |_| (25_000, 25));
            assert_eq!(port.until(State::Healthy, 999, |_| (25_000, 0)), hold_down);
        }
        for _ in 0..86_401 {
            let _ = port.poll(25_000, 0);
        }
        port.until(State::Corrupting, 9, |_| (25_000, 25));
        assert_eq!(port.until(State::Healthy, 999, |_| (25_000, 0)), 60);
    }

    #[test]
    fn severe_links_are_told_from_others_with_hysteresis() {
        let mut port = Port::new();
        assert_eq!(port.until(State::Severe, 9, |_| (10_000, 1_000)), 2);
        // The window still has the worse past, so that it takes a while.
        let seconds = port.until(State::Corrupting, 2_000, |_| (1_000_000, 1_000));
        assert!(seconds < 60, "{seconds}");
    }

    /// An outside tester's traces: a million frames a second, mild for a long time and then bad.
    #[test]
    fn a_link_that_gets_worse_is_found_within_seconds_however_long_it_was_bad_before() {
        for (past, before, now, severe) in [
            (3_600, 1e-2, 0.5, true),
            (3_600, 1e-3, 0.1, true),
            (600, 4e-2, 0.2, true),
            (600, 1e-5, 1e-2, false),
        ] {
            let mut port = Port::new();
            let frames = |rate: f64| (((1.0 - rate) * 1e6) as u64, (rate * 1e6) as u64);
            for _ in 0..past {
                let _ = port.poll(frames(before).0, frames(before).1);
            }
            assert_eq!(port.detector.state(), State::Corrupting);
            for _ in 0..3 {
                let _ = port.poll(frames(now).0, frames(now).1);
            }
            let rate = port.detector.loss_rate();
            assert!((rate / now - 1.0).abs() < 0.01, "{rate} of {now}");
            assert_eq!(port.detector.state() == State::Severe, severe, "{now}");
        }
    }

    #[test]
    fn two_corrupted_frames_are_no_proof_of_a_severe_link() {
        let mut port = Port::new();
        for second in 0..600 {
            let _ = port.poll(0, u64::from(second % 50 == 0));
            let _ = port.poll(1, 0);
            assert_ne!(port.detector.state(), State::Severe, "{second}");
        }
    }

    #[test]
    fn a_lasting_corruption_below_the_limit_lets_nothing_end_and_nothing_begin() {
        let mut port = Port::new();
        for second in 0..7_200 {
            // 2e-9: twice what lets protection end, and a fifth of what begins it.
            let _ = port.poll(10_000_000, u64::from(second % 50 == 0));
            assert!(!port.detector.state().corrupts(), "{second}");
        }
        port.until(State::Corrupting, 9, |_| (10_000_000, 10_000));
        for second in 0..7_200 {
            let _ = port.poll(10_000_000, u64::from(second % 50 == 0));
            assert!(port.detector.state().corrupts(), "{second}");
        }
    }

    #[test]
    fn what_a_flap_a_reset_or_a_lost_counter_says_changes_nothing() {
        let mut port = Port::new();
        port.until(State::Corrupting, 9, |_| (25_000, 25));
        let before = port.detector.loss_rate();
        port.reading.carrier_changes = Some(1);
        assert_eq!(port.poll(0, 9_999), Err(Irregularity::Flap));
        port.reading.corrupted_frames = Some(0);
        assert_eq!(port.poll(0, 0), Err(Irregularity::Reset));
        port.reading.corrupted_frames = None;
        assert_eq!(port.poll(0, 0), Err(Irregularity::NotCounted));
        assert_eq!((port.detector.state(), port.detector.loss_rate()), (State::Corrupting, before));
    }

    #[test]
    fn a_restarted_monitor_goes_on_where_it_was() {
        let mut port = Port::new();
        port.detector = Detector::default();
        port.detector.resume(1e-3, port.now);
        assert_eq!(port.poll(25_000, 0), Err(Irregularity::First));
        assert_eq!(port.until(State::Healthy, 99, |_| (25_000, 0)), 59);
    }
}
