//! What was decided and found, with its evidence, for the audit log.

use super::watched::Watched;
use crate::PortName;
use crate::detection::{Change, Of, State};
use crate::exchange::{Acknowledgement, Effect, Protection, Request};
use crate::forecast::Forecast;
use crate::optics::{Advice, OpticsFinding};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Smaller probabilities are not told apart.
const CHANCE_TOLD_LEAST: f64 = 1e-12;

/// A line of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// Since the monitor was started.
    #[serde(rename = "uptime_s", serialize_with = "seconds")]
    pub at: Duration,
    /// The port that receives in the direction concerned.
    pub port: PortName,
    /// Whether nothing was done about it, and only said what would be.
    #[serde(skip_serializing_if = "is_false")]
    pub dry_run: bool,
    #[serde(flatten)]
    pub kind: DecisionKind,
    /// What to repair, if the optics of the link tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

/// What was decided or found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DecisionKind {
    /// What is known of a link has changed.
    State {
        from: State,
        to: State,
        /// Of the stretch of time that decided.
        frames: u64,
        corrupted_frames: u64,
        /// Whether these are uncorrectable codewords, and as many frames as fit into all codewords.
        #[serde(skip_serializing_if = "is_false")]
        codewords: bool,
        loss_rate: f64,
        /// 95 % confidence interval of the loss rate.
        interval: (f64, f64),
        /// Probability of so many corrupted frames at the activation rate.
        chance: f64,
        /// The loss rate that FEC counters predict for a link that corrupts. If it is far below the measured one, frames are lost in
        /// bursts, and not by a weak signal.
        #[serde(skip_serializing_if = "Option::is_none")]
        forecast: Option<Forecast>,
    },
    /// Frames are going to be lost, or no longer.
    Forecast {
        expects_loss: bool,
        /// Of the last minute; absent if nothing was corrected in it.
        forecast: Option<Forecast>,
    },
    /// Something about a port's optics has become abnormal, or normal again.
    Optics {
        /// All that is abnormal now, in words.
        abnormal: Vec<String>,
        optics: OpticsFinding,
    },
    /// What to repair about a link that corrupts frames, as far as it is known now.
    Advice,
    /// A port has flapped by itself so often within 24 hours.
    Flaps { flaps: u32 },
    /// Ports have flapped within ten seconds, of all that are watched, or of those that lead to another switch.
    FlapsAtOnce {
        ports: u64,
        of: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        peer: Option<String>,
    },
    /// Most ports with transceivers of one type have flapped by themselves within 24 hours, and few others.
    FlapsOfModules { vendor: String, part: String, ports: u64, of: u64 },
    /// The receiving end has asked for something.
    Request {
        generation: u64,
        protection: Option<Protection>,
        disable: bool,
        /// The link that corrupts what arrives here; nothing is to be done then.
        #[serde(skip_serializing_if = "Option::is_none")]
        downstream_of: Option<String>,
        reason: String,
    },
    /// The plan has decided about a link of which this is one port.
    Plan {
        verdict: PlanVerdict,
        /// The port at the other end.
        peer: PortName,
        /// Its name in the topology; empty if it is no longer planned for.
        link: String,
        /// Why, or what went wrong.
        reason: String,
    },
    /// The sending end has done something.
    Effect { generation: u64, effect: Effect, error: Option<String> },
}

/// What came of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanVerdict {
    /// The link should be disabled, which is left to people.
    Advised,
    /// It was disabled.
    Disabled,
    /// It is not disabled yet, because as many as may be are.
    Held,
    /// It is not disabled, because it is not certain that it corrupts.
    Unsure,
    /// A command for it has failed.
    Failed,
    /// It was disabled, and is in operation to see whether it still corrupts frames.
    Tried,
    /// It was tried, and is disabled again.
    TrialFailed,
    /// It was disabled, and does not corrupt any more.
    Returned,
}

impl Decision {
    fn new(at: Duration, port: PortName, kind: DecisionKind) -> Decision {
        Decision { at, port, dry_run: false, kind, advice: None }
    }

    /// What came of a plan for the link between two ports.
    pub fn of_plan(
        at: Duration,
        ports: [PortName; 2],
        verdict: PlanVerdict,
        link: String,
        reason: String,
    ) -> Decision {
        let [port, peer] = ports;
        Decision::new(at, port, DecisionKind::Plan { verdict, peer, link, reason })
    }

    pub(super) fn of_state(at: Duration, watched: &Watched, change: Change) -> Decision {
        let evidence = watched.detector.evidence();
        let stretch = evidence.map(|evidence| evidence.stretch).unwrap_or_default();
        let kind = DecisionKind::State {
            from: change.from,
            to: change.to,
            frames: stretch.frames,
            corrupted_frames: stretch.corrupted,
            codewords: evidence.is_some_and(|evidence| evidence.of == Of::Codewords),
            loss_rate: evidence.map_or(0.0, |evidence| evidence.loss_rate()),
            interval: evidence.map_or((0.0, 0.0), |evidence| evidence.interval()),
            chance: evidence.map_or(1.0, |evidence| evidence.chance),
            forecast: watched.early_warning.forecast().filter(|_| change.to.corrupts()),
        };
        Decision::new(at, watched.name().clone(), kind)
    }

    pub(super) fn of_forecast(at: Duration, watched: &Watched, expects_loss: bool) -> Decision {
        let kind = DecisionKind::Forecast { expects_loss, forecast: watched.early_warning.forecast() };
        Decision::new(at, watched.name().clone(), kind)
    }

    pub(super) fn of_flaps(at: Duration, port: PortName, kind: DecisionKind) -> Decision {
        Decision::new(at, port, kind)
    }

    pub(super) fn of_optics(at: Duration, port: PortName, optics: OpticsFinding) -> Decision {
        Decision::new(at, port, DecisionKind::Optics { abnormal: optics.abnormalities(), optics })
    }

    pub(super) fn of_advice(at: Duration, port: PortName, advice: Advice) -> Decision {
        Decision { advice: Some(advice), ..Decision::new(at, port, DecisionKind::Advice) }
    }

    /// Whether it belongs to a link that corrupts frames, so that a suggestion belongs beside it.
    pub(super) fn is_about_corruption(&self) -> bool {
        match &self.kind {
            DecisionKind::State { to, .. } => to.corrupts(),
            DecisionKind::Request { protection, downstream_of, .. } => {
                protection.is_some() && downstream_of.is_none()
            }
            _ => false,
        }
    }

    pub(super) fn of_request(at: Duration, watched: &Watched, request: &Request) -> Decision {
        let Request { generation, protection, disable, downstream_of, reason, .. } = request.clone();
        let kind = DecisionKind::Request { generation, protection, disable, downstream_of, reason };
        Decision::new(at, watched.name().clone(), kind)
    }

    pub(super) fn of_effect(
        at: Duration,
        port: &PortName,
        request: &Request,
        acknowledgement: &Acknowledgement,
    ) -> Decision {
        let Acknowledgement { effect, error, .. } = acknowledgement.clone();
        let kind = DecisionKind::Effect { generation: request.generation, effect, error };
        Decision::new(at, port.clone(), kind)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell(f)?;
        self.advice.as_ref().map_or(Ok(()), |advice| write!(f, "; suggestion: {advice}"))
    }
}

impl Decision {
    /// Everything but the suggestion.
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = &self.port;
        match &self.kind {
            DecisionKind::State { .. } => tell_state(f, port, &self.kind),
            DecisionKind::Forecast { expects_loss, forecast } => {
                let going = if *expects_loss { "is" } else { "is no longer" };
                write!(f, "{port}: {going} expected to lose frames")?;
                forecast.map_or(Ok(()), |forecast| write!(f, ": {forecast}"))
            }
            DecisionKind::Optics { abnormal, .. } if abnormal.is_empty() => {
                write!(f, "{port}: its optics are normal again")
            }
            DecisionKind::Optics { abnormal, .. } => write!(f, "{port}: {}", abnormal.join("; ")),
            DecisionKind::Advice => write!(f, "{port}: corrupts frames"),
            DecisionKind::Flaps { flaps } => write!(f, "{port}: flapped {flaps} times within 24 h"),
            DecisionKind::FlapsAtOnce { ports, of, peer } => {
                let which = peer.as_ref().map_or_else(String::new, |peer| format!(" that lead to {peer}"));
                write!(
                    f,
                    "{port}: {ports} of {of} ports{which} flapped within 10 s, so it is not their links"
                )
            }
            DecisionKind::FlapsOfModules { vendor, part, ports, of } => write!(
                f,
                "{port}: {ports} of {of} ports with {vendor} {part} have flapped within 24 h, others rarely: suspect that type of \
                 transceiver"
            ),
            DecisionKind::Request { protection: Some(_), downstream_of: Some(upstream), reason, .. } => {
                write!(f, "{port}: needs no protection, because it is downstream of {upstream}: {reason}")
            }
            DecisionKind::Request { protection: Some(protection), disable, reason, .. } => {
                let Protection { mode, copies, .. } = protection;
                let disable = if *disable { "; should be disabled" } else { "" };
                let requests = if self.dry_run { "would request" } else { "requests" };
                write!(f, "{port}: {requests} protection, {mode}, copies {copies}: {reason}{disable}")
            }
            DecisionKind::Request { protection: None, reason, .. } => {
                write!(f, "{port}: needs no protection: {reason}")
            }
            DecisionKind::Plan { verdict, peer, reason, .. } => {
                let done = match (verdict, self.dry_run) {
                    (PlanVerdict::Advised, _) => "should be disabled",
                    (PlanVerdict::Held, _) => "should be disabled, but is not yet",
                    (PlanVerdict::Unsure, _) => "is not disabled",
                    (PlanVerdict::Disabled, false) => "was disabled",
                    (PlanVerdict::Disabled, true) => "would be disabled",
                    (PlanVerdict::Failed, _) => "is not in the intended state",
                    (PlanVerdict::Tried, false) => "is put on trial",
                    (PlanVerdict::Tried, true) => "would be put on trial",
                    (PlanVerdict::TrialFailed, false) => "failed its trial and is disabled again",
                    (PlanVerdict::TrialFailed, true) => "would be disabled again",
                    (PlanVerdict::Returned, false) => "is back",
                    (PlanVerdict::Returned, true) => "would be enabled",
                };
                write!(f, "{port}: its link to {peer} {done}: {reason}")
            }
            DecisionKind::Effect { effect: Effect::Rehearsed, .. } => {
                write!(f, "{port}: its sender would do so (dry run)")
            }
            DecisionKind::Effect { effect, error, .. } => {
                write!(f, "{port}: its sender is {}", effect.name())?;
                error.as_ref().map_or(Ok(()), |error| write!(f, ": {error}"))
            }
        }
    }
}

/// A change of state, with its evidence as far as that means something.
fn tell_state(f: &mut fmt::Formatter<'_>, port: &PortName, kind: &DecisionKind) -> fmt::Result {
    let DecisionKind::State {
        from,
        to,
        frames,
        corrupted_frames,
        codewords,
        loss_rate,
        chance,
        forecast,
        ..
    } = kind
    else {
        return Ok(());
    };
    write!(f, "{port}: {from} -> {to}")?;
    if *corrupted_frames > 0 {
        let of = match codewords {
            true => format!("uncorrectable codewords in the time of {frames} frames"),
            false => format!("of {frames} frames corrupted"),
        };
        write!(f, ": {corrupted_frames} {of} ({loss_rate:.1e}); ")?;
        // Beyond this, nobody believes the model to hold.
        match *chance < CHANCE_TOLD_LEAST {
            true => write!(f, "probability of chance below {CHANCE_TOLD_LEAST:.0e}")?,
            false => write!(f, "probability of chance {chance:.1e}")?,
        }
    }
    forecast.map_or(Ok(()), |forecast| write!(f, "; FEC counters: {forecast}"))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
fn is_false(value: &bool) -> bool {
    !value
}

fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_state_tells_its_evidence_as_far_as_it_means_something() {
        let told = |corrupted_frames, chance| {
            let kind = DecisionKind::State {
                from: State::Healthy,
                to: State::Suspect,
                frames: 1_000,
                corrupted_frames,
                codewords: false,
                loss_rate: 1e-3,
                interval: (0.0, 0.0),
                chance,
                forecast: None,
            };
            let port = PortName::new("leaf1", "a").expect("a name");
            Decision::new(Duration::ZERO, port, kind).to_string()
        };
        assert_eq!(told(0, 1.0), "leaf1/a: healthy -> suspect");
        let some = "leaf1/a: healthy -> suspect: 1 of 1000 frames corrupted (1.0e-3); probability of chance";
        assert_eq!(told(1, 2e-12), format!("{some} 2.0e-12"));
        assert_eq!(told(1, 1e-12), format!("{some} 1.0e-12"));
        assert_eq!(told(1, 9e-13), format!("{some} below 1e-12"));
    }
}
