//! One port under watch.

use super::codewords::CodewordWindow;
use super::evidence::{Evidence, Of};
use super::flaps::Flaps;
use super::settings::Settings;
use super::window::{Stretch, Window};
use crate::counters::{Codewords, Difference, Increment, Irregularity, Reading};
use crate::findings::Counted;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Evidence as likely as this by chance is shown to people, and nothing is done about it.
const SUSPECT_CHANCE: f64 = 0.05;
/// For how many windows a link that does not corrupt is remembered: a day.
const WINDOWS_OF_BURSTS: u32 = 24;
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
    flaps: Flaps,
    polled: Option<Duration>,
    window: Window,
    /// Of a port that counts uncorrectable codewords; empty otherwise.
    codewords: CodewordWindow,
    /// Whether the link was found corrupting by its codewords, which say as well when it no longer does.
    by_codewords: bool,
    state: State,
    /// What decided last that the link corrupts.
    evidence: Option<Evidence>,
    /// The loss rate to protect against, while the link corrupts.
    loss_rate: f64,
    /// The smallest dispersion that has shown since that the link corrupts. The polls in which corruption begins and ends
    /// see a part of it, and look like bursts.
    dispersion: f64,
    /// The loss rate of a link that corrupted before its port went down, until it is known what it does now.
    former: Option<f64>,
    /// What arrived since corruption was seen last, or since the port came up.
    calm: Stretch,
    /// The same of all readings of this monitor, whatever one before a restart knew.
    clean: Stretch,
    /// All that this monitor has seen.
    counted: Counted,
    healthy_since: Option<Duration>,
    doublings: u32,
    /// When the reading before the latest was made: what was counted since came later.
    previous: Duration,
    /// When corrupted frames last showed that the link corrupts, at the earliest.
    shown_at: Duration,
}

impl Detector {
    /// The link was found corrupting at this rate by a monitor before a restart. It counts as corrupting until the
    /// hold-down has passed. Rates at which nothing is protected have been found by nobody.
    pub fn resume(&mut self, settings: &Settings, loss_rate: f64, now: Duration) {
        (self.former, self.evidence, self.by_codewords) = (None, None, false);
        self.state = State::Corrupting;
        self.loss_rate = loss_rate.max(settings.activate);
        self.calm = Stretch { since: now, ..Stretch::default() };
    }

    /// Takes a reading made at `now`, on a clock that never goes back, and returns how it changes the state.
    ///
    /// # Errors
    /// Why this reading says nothing about corruption. The state stays as it is; see [`handle_absence`](Self::handle_absence)
    /// and [`handle_down`](Self::handle_down) for ports that do not count, and those that are down.
    pub fn handle_reading(
        &mut self,
        settings: &Settings,
        now: Duration,
        reading: Reading,
    ) -> Result<Option<Change>, Irregularity> {
        let since = self.polled.replace(now);
        self.previous = since.unwrap_or(now);
        let outcome = self.difference.handle_reading(now, reading);
        let flapped = outcome == Err(Irregularity::Flap);
        if let Some(why) = self.flaps.handle_reading(settings, now, since, &reading, flapped) {
            self.see_nothing(now);
            if !self.state.corrupts() {
                self.forget_window();
            }
            return Err(why);
        }
        if outcome == Err(Irregularity::Hidden) {
            self.see_nothing(now);
        }
        let increment = outcome?;
        let codewords = self.difference.codewords();
        self.note_clean(settings, since.unwrap_or(now), now, seen(increment, codewords));
        self.counted.frames = self.counted.frames.saturating_add(increment.frames);
        self.counted.corrupted = self.counted.corrupted.saturating_add(increment.corrupted);
        self.counted.corrupted_polls += u64::from(increment.corrupted > 0);
        self.window.push(since.unwrap_or(now), increment);
        self.codewords.push(since.unwrap_or(now), codewords);
        let oldest = now.saturating_sub(settings.window_time.saturating_mul(self.windows_remembered()));
        self.window.forget_before(oldest);
        self.codewords.forget_before(oldest);
        let increment = match (self.state.corrupts() || self.is_in_doubt(), self.by_codewords) {
            (true, false) => Increment { frames: increment.frames, ..seen(increment, codewords) },
            _ => seen(increment, codewords),
        };
        let to = if let Some(former) = self.former {
            self.while_in_doubt(settings, now, increment, former)
        } else if self.state.corrupts() {
            self.while_corrupting(settings, now, increment)
        } else {
            self.while_not_corrupting(settings, now, increment)
        };
        Ok(self.change(to))
    }

    /// Time in which nothing could be seen is no time without corruption.
    fn see_nothing(&mut self, now: Duration) {
        self.calm = Stretch { since: now, ..Stretch::default() };
        self.clean = self.calm;
    }

    /// The port is down. It neither corrupts nor is healthy: what its link does now is seen when it is up again.
    pub fn handle_down(&mut self) -> Option<Change> {
        self.clean = Stretch::default();
        if self.state.corrupts() {
            self.former = Some(std::mem::take(&mut self.loss_rate));
        }
        self.forget_window();
        self.evidence = None;
        self.change(State::Unknown)
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

    /// How often the port has flapped.
    pub fn flaps(&self) -> u64 {
        self.flaps.counted()
    }

    /// All that was counted in readings that could be compared.
    pub fn counted(&self) -> Counted {
        self.counted
    }

    /// The latest [`Settings::window_frames`] frames, and how many of them were corrupted.
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

    /// Since when nothing was corrupted, while the link counts as corrupting or is in doubt.
    pub fn calm_since(&self) -> Option<Duration> {
        (self.state.corrupts() || self.is_in_doubt()).then_some(self.calm.since)
    }

    /// When counters last showed that the link corrupts, at the earliest; `None` if it does not, if only a monitor before a
    /// restart has seen it, or if as many frames have come since as would have shown it again.
    pub fn shown_at(&self, settings: &Settings) -> Option<Duration> {
        let is_shown = self.state.corrupts() && self.evidence.is_some();
        (is_shown && !self.would_have_shown(settings, self.loss_rate)).then_some(self.shown_at)
    }

    /// Whether the link corrupted before its port went down, and it is not known yet whether it still does.
    pub fn is_in_doubt(&self) -> bool {
        self.former.is_some()
    }

    fn while_in_doubt(
        &mut self,
        settings: &Settings,
        now: Duration,
        increment: Increment,
        former: f64,
    ) -> State {
        self.note_calm(settings, now, increment);
        let state = self.while_not_corrupting(settings, now, increment);
        if state.corrupts() {
            self.former = None;
            return state;
        }
        if self.is_over(settings, now, former) { self.end(now) } else { State::Unknown }
    }

    fn while_not_corrupting(&mut self, settings: &Settings, now: Duration, increment: Increment) -> State {
        // Without a new corrupted frame, evidence only gets weaker.
        if increment.corrupted == 0 && self.state != State::Suspect {
            return State::Healthy;
        }
        self.evidence = self.evidence_above(settings, settings.activate);
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
        self.dispersion = evidence.dispersion;
        self.by_codewords = evidence.of == Of::Codewords;
        self.shown_at = self.previous;
        self.severity(settings)
    }

    fn while_corrupting(&mut self, settings: &Settings, now: Duration, increment: Increment) -> State {
        if self.note_calm(settings, now, increment) {
            self.forget_before_a_rise(settings);
            let evidence = self.evidence_above(settings, settings.activate);
            if let Some(evidence) = evidence.filter(|found| found.rules_out_chance(settings.false_alarm)) {
                self.evidence = Some(evidence);
                self.loss_rate = evidence.loss_rate();
                self.dispersion = self.dispersion.min(evidence.dispersion);
                self.by_codewords = evidence.of == Of::Codewords;
                self.shown_at = self.previous;
                return self.severity(settings);
            }
        }
        if self.is_over(settings, now, self.loss_rate) { self.end(now) } else { self.state }
    }

    /// Adds to what this monitor has seen without corruption.
    fn note_clean(&mut self, settings: &Settings, since: Duration, now: Duration, increment: Increment) {
        if self.clean == Stretch::default() {
            self.clean.since = since;
        }
        self.clean.frames = self.clean.frames.saturating_add(increment.frames);
        self.clean.corrupted = self.clean.corrupted.saturating_add(increment.corrupted);
        if increment.corrupted > 0 && self.clean.loss_rate() > Some(settings.deactivate) {
            self.clean = Stretch { since: now, ..Stretch::default() };
        }
    }

    /// Whether this monitor has seen for the hold-down that nothing is corrupted, in as many frames as would have shown any rate
    /// that links are protected against.
    pub fn rules_out_corruption(&self, settings: &Settings) -> bool {
        let seen = self.polled.unwrap_or_default().saturating_sub(self.clean.since);
        let frames = -libm::log(settings.false_alarm) / settings.activate;
        seen >= self.hold_down(settings) && self.clean.frames as f64 >= frames
    }

    /// Adds to the time without corruption, or begins it anew; whether it began anew.
    fn note_calm(&mut self, settings: &Settings, now: Duration, increment: Increment) -> bool {
        self.calm.frames = self.calm.frames.saturating_add(increment.frames);
        self.calm.corrupted = self.calm.corrupted.saturating_add(increment.corrupted);
        let ends = increment.corrupted > 0 && self.calm.loss_rate() > Some(settings.deactivate);
        if ends {
            self.calm = Stretch { since: now, ..Stretch::default() };
        }
        ends
    }

    /// Whether there was no corruption for the hold-down, and in as many frames as would have shown one at the former rate.
    fn is_over(&self, settings: &Settings, now: Duration, former: f64) -> bool {
        let long_enough = now.saturating_sub(self.calm.since) >= self.hold_down(settings);
        long_enough && self.would_have_shown(settings, former)
    }

    /// Whether as many frames have come without corruption as would have shown one at this rate.
    fn would_have_shown(&self, settings: &Settings, loss_rate: f64) -> bool {
        // Bursts are rarer than what they corrupt.
        loss_rate / self.dispersion.max(1.0) * self.calm.frames as f64 >= -libm::log(settings.false_alarm)
    }

    fn end(&mut self, now: Duration) -> State {
        self.forget_window();
        (self.evidence, self.former, self.loss_rate) = (None, None, 0.0);
        self.healthy_since = Some(now);
        State::Healthy
    }

    /// If the link has begun to corrupt more, what it did before says no more about it. Otherwise the higher rate would show
    /// itself only when the lower one of an hour no longer outweighs it.
    fn forget_before_a_rise(&mut self, settings: &Settings) {
        let risen = self.evidence_above(settings, self.loss_rate);
        if let Some(risen) = risen.filter(|risen| risen.rules_out_chance(settings.false_alarm)) {
            self.window.forget_before(risen.stretch.since);
            self.codewords.forget_before(risen.stretch.since);
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
            _ => self
                .evidence_above(settings, limit)
                .is_some_and(|evidence| evidence.rules_out_chance(settings.false_alarm)),
        };
        if is_severe { State::Severe } else { State::Corrupting }
    }

    /// What speaks most for a loss rate above this one: codewords and frames together where a port counts both.
    fn evidence_above(&self, settings: &Settings, rate: f64) -> Option<Evidence> {
        if self.codewords.is_empty() {
            return Evidence::above(rate, Of::Frames, &self.window, settings.false_alarm);
        }
        self.codewords.above(rate, settings.false_alarm)
    }

    /// Rare bursts take hours to be told from chance. A rate that falls while the link corrupts is to be seen within one window.
    fn windows_remembered(&self) -> u32 {
        if self.state.corrupts() { 1 } else { WINDOWS_OF_BURSTS }
    }

    fn forget_window(&mut self) {
        self.window.clear();
        self.codewords.clear();
    }

    fn change(&mut self, to: State) -> Option<Change> {
        let from = std::mem::replace(&mut self.state, to);
        (from != to).then_some(Change { from, to })
    }
}

/// What a poll has seen of the link, in frames or in codewords, whichever are more.
fn seen(increment: Increment, codewords: Option<Codewords>) -> Increment {
    codewords.map_or(increment, |Codewords { as_frames, .. }| Increment {
        frames: increment.frames.max(as_frames.frames),
        corrupted: increment.corrupted.max(as_frames.corrupted),
    })
}
