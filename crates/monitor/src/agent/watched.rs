//! A port under watch, and what it needs.

use super::Policy;
use crate::PortName;
use crate::counters::{Irregularity, Reading};
use crate::detection::{Change, Detector, Settings, State};
use crate::exchange::{Protection, Request};
use crate::findings::{Finding, PortFinding};
use crate::forecast::EarlyWarning;
use linkmend_protocol::copies_for;
use std::time::Duration;

/// How long a port may be missing before nothing is known of it. Its switch may be busy.
const ABSENT_AFTER: Duration = Duration::from_secs(30);
/// A link whose rate has fallen by this much is asked for anew, though it needs as many copies as before.
const FALL_LEAST: f64 = 10.0;
/// How long before it is forgotten.
const GONE_AFTER: Duration = Duration::from_hours(1);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Watched {
    name: PortName,
    pub(super) detector: Detector,
    pub(super) early_warning: EarlyWarning,
    /// Why the latest reading said nothing.
    pub(super) irregularity: Option<Irregularity>,
    pub(super) polled: Option<Duration>,
    /// Whether the latest poll did not have this port.
    pub(super) missing: bool,
    /// Whether the link was found corrupting since something was asked for.
    pub(super) found: bool,
    /// Since when all readings could be compared, or the port was down in all of them: whether it was down, and since when.
    steady: Option<(bool, Duration)>,
}

impl Watched {
    pub(super) fn new(name: PortName) -> Watched {
        Watched {
            early_warning: EarlyWarning::of(name.port()),
            name,
            detector: Detector::default(),
            irregularity: None,
            polled: None,
            missing: false,
            found: false,
            steady: None,
        }
    }

    pub(super) fn name(&self) -> &PortName {
        &self.name
    }

    pub(super) fn handle_reading(
        &mut self,
        settings: &Settings,
        now: Duration,
        reading: Reading,
    ) -> Option<Change> {
        (self.missing, self.polled) = (false, Some(now));
        let outcome = self.detector.handle_reading(settings, now, reading);
        self.irregularity = outcome.err();
        let is_down = match self.irregularity {
            None => Some(false),
            Some(Irregularity::Down) => Some(true),
            Some(_) => None,
        };
        if is_down != self.steady.map(|(is_down, _)| is_down) {
            self.steady = is_down.map(|is_down| (is_down, now));
        }
        let change = match outcome {
            Err(Irregularity::NotCounted) => self.detector.handle_absence(),
            Err(Irregularity::Down) => self.detector.handle_down(),
            outcome => outcome.ok().flatten(),
        };
        self.found |= change.is_some_and(|change| change.to.corrupts() && !change.from.corrupts());
        change
    }

    /// The latest poll did not have this port. After a while, nothing is known of it.
    pub(super) fn handle_absence(&mut self, now: Duration) -> Option<Change> {
        let polled = self.polled.filter(|polled| now.saturating_sub(*polled) >= ABSENT_AFTER)?;
        if self.irregularity == Some(Irregularity::Absent) {
            return None;
        }
        tracing::warn!(
            "{}: no counters for {} s; {}",
            self.name,
            (now - polled).as_secs(),
            Irregularity::Absent
        );
        self.irregularity = Some(Irregularity::Absent);
        self.steady = None;
        self.detector.handle_absence()
    }

    /// What is certain about the link at `now`; `None` if it cannot be judged.
    pub(super) fn finding(
        &self,
        settings: &Settings,
        now: Duration,
        sender: Option<&PortName>,
    ) -> Option<PortFinding> {
        let (is_down, since) = self.steady?;
        let of = |finding| Some(PortFinding::new(finding, sender.cloned()));
        if !is_down && let Some(shown_at) = self.detector.shown_at(settings) {
            return Some(PortFinding {
                calm_s: now.saturating_sub(shown_at).as_secs(),
                loss_rate: Some(self.detector.loss_rate()),
                counted: Some(self.detector.counted()),
                ..PortFinding::new(Finding::Corrupting, sender.cloned())
            });
        }
        // What others count may be of a few minutes ago: a port that has just been repaired may be the source of that.
        if now.saturating_sub(since) < settings.hold_down {
            return None;
        }
        match (is_down, self.detector.state()) {
            (true, _) => of(Finding::Down),
            (false, State::Healthy) => of(Finding::Healthy),
            (false, _) => None,
        }
    }

    /// Whether the port has been away for so long that it may be forgotten, and nothing of it has to be remembered.
    pub(super) fn is_gone(&self, now: Duration) -> bool {
        let polled = self.polled.unwrap_or_default();
        self.missing && !self.detector.state().corrupts() && now.saturating_sub(polled) >= GONE_AFTER
    }

    /// Goes on where a monitor before a restart was: what was protected stays so until it has been healthy for long enough.
    pub(super) fn resume(&mut self, settings: &Settings, now: Duration, loss_rate: f64) {
        if !self.detector.state().corrupts() {
            self.detector.resume(settings, loss_rate, now);
        }
    }

    /// What to ask for, if it differs from what was asked for last, or is about another sender than then. `upstream` corrupts
    /// what the port counts, if that is known. What is only a `record` is asked for anew once it is measured.
    pub(super) fn request(
        &self,
        policy: &Policy,
        last: Option<&Request>,
        sender: Option<&PortName>,
        upstream: Option<&String>,
        record: bool,
    ) -> Option<Request> {
        // Whether a port that was down still needs what was asked for is not known yet.
        if self.detector.is_in_doubt() || record && !self.is_measured(policy) {
            return None;
        }
        let asked = last.and_then(|last| last.protection);
        let need = self.need(policy);
        let generation = last.map_or(1, |last| last.generation.saturating_add(1));
        let Some(Need { loss_rate, mut disable, expected, mut reason }) = need else {
            if asked.is_none() && !record || self.detector.state() == State::Unknown {
                return None;
            }
            let reason = match last.is_some_and(|last| last.expected) {
                true => "frame loss is no longer expected, or links are no longer armed",
                false => "no corruption during the hold-down",
            };
            let reason = reason.to_owned();
            return Some(Request { generation, reason, ..Request::default() });
        };
        // Fewer copies than before only if they are certainly enough: a few frames at the beginning say little.
        let enough = |asked: Protection| {
            let surely = self.detector.evidence().map(|evidence| evidence.interval().1);
            surely.is_some_and(|rate| copies_for(rate, policy.target) < asked.copies)
        };
        let kept = asked.filter(|asked| !enough(*asked)).map_or(0, |asked| asked.copies);
        let copies = copies_for(loss_rate, policy.target).max(kept);
        // The search for the source of what others count goes by the rate.
        let has_fallen = |asked: Protection| loss_rate < asked.loss_rate / FALL_LEAST;
        let same = asked.is_some_and(|asked| {
            let is_same = (asked.mode, asked.target, asked.copies) == (policy.mode, policy.target, copies);
            is_same && !has_fallen(asked)
        });
        let downstream_of = upstream.filter(|_| !expected).cloned();
        if let Some(upstream) = &downstream_of {
            disable = false;
            reason = format!("loss rate {loss_rate:.1e}, from frames that {upstream} corrupts");
        }
        let sender_is_known = last.is_some_and(|last| sender.is_none() || last.sender.as_ref() == sender);
        // A link that is found again is requested again, so that the planner that tried it learns of it.
        if same
            && !self.found
            && !record
            && sender_is_known
            && last.is_some_and(|last| {
                (last.disable, last.expected, &last.downstream_of) == (disable, expected, &downstream_of)
            })
        {
            return None;
        }
        let protection = Protection { mode: policy.mode, loss_rate, target: policy.target, copies };
        let protection = Some(protection);
        Some(Request {
            generation,
            protection,
            disable,
            expected,
            downstream_of,
            reason,
            ..Request::default()
        })
    }

    /// Whether the port's own counters tell what it needs: that it corrupts, or that it does not.
    fn is_measured(&self, policy: &Policy) -> bool {
        match self.detector.state() {
            State::Unknown => false,
            state if state.corrupts() => self.detector.evidence().is_some(),
            _ if self.early_warning.expected().is_some() => true,
            _ => self.detector.rules_out_corruption(&policy.detection),
        }
    }

    /// What the link needs; `None` if it is healthy, or nothing is known of it.
    fn need(&self, policy: &Policy) -> Option<Need> {
        let state = self.detector.state();
        if state.corrupts() {
            let (loss_rate, disable) = (self.detector.loss_rate(), state == State::Severe);
            let reason = match disable {
                true => format!("loss rate {loss_rate:.1e}, too high for protection"),
                false => format!("loss rate {loss_rate:.1e}"),
            };
            return Some(Need { loss_rate, disable, expected: false, reason });
        }
        let loss_rate = self.early_warning.expected().filter(|_| policy.arm)?;
        let reason = format!("early warning, expected loss rate {loss_rate:.1e}");
        Some(Need { loss_rate, disable: false, expected: true, reason })
    }
}

/// A loss rate to protect against, and why.
struct Need {
    loss_rate: f64,
    disable: bool,
    expected: bool,
    reason: String,
}
