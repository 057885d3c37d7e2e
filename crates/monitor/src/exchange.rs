//! What agents tell each other about a link's direction. It is named by the port that receives, whose agent asks for
//! protection; the agent of the port that sends carries it out, and reports.
//!
//! Both are states and not events: what is true last is all that counts. Each has a generation, which only its one writer
//! increases, so that what comes twice, late or in another order changes nothing.

use crate::PortName;
use linkmend_control::ProtectMode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// How a direction should be protected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Protection {
    pub mode: ProtectMode,
    /// The measured loss rate.
    pub loss_rate: f64,
    /// Effective loss rate to stay below.
    pub target: f64,
    /// Retransmitted copies of a lost frame, by Equation 2.
    pub copies: u8,
}

/// What the receiving end asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Request {
    /// Increases with every change.
    pub generation: u64,
    /// `None` if the direction needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// The port that sends, as the receiving end knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<PortName>,
    /// What neighbours hear the receiving port called, if that is not its name. A request of generation 0 asks for nothing and
    /// only says this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Whether the link should be disabled.
    #[serde(default)]
    pub disable: bool,
    /// Whether no frame was lost yet, and the loss rate is one that is expected.
    #[serde(default, skip_serializing_if = "is_false")]
    pub expected: bool,
    /// The link, by its name in the topology, whose corrupted frames this direction only passes on. Protecting it would spare
    /// none of them, so that nothing is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downstream_of: Option<String>,
    /// Why, for people.
    pub reason: String,
}

impl Request {
    /// What the sending end has to do.
    #[must_use]
    pub fn to_carry_out(mut self) -> Request {
        self.protection = self.protection.filter(|_| self.downstream_of.is_none());
        self
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// What the sending end did about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Nothing is protected.
    #[default]
    Dormant,
    /// Protection was switched on, and its peer has not agreed yet.
    Starting,
    /// Frames are protected.
    Active,
    /// It was only written down (dry run).
    Rehearsed,
    /// It could not be done.
    Failed,
}

impl Effect {
    /// Its name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Effect::Dormant => "dormant",
            Effect::Starting => "starting",
            Effect::Active => "active",
            Effect::Rehearsed => "would be done",
            Effect::Failed => "failed",
        }
    }
}

/// What the sending end says of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Acknowledgement {
    /// The request that it is about.
    pub generation: u64,
    pub effect: Effect,
    /// What went wrong, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Since which start of its machine this holds: what a command has set up does not outlive that. Of an agent with keys and a
    /// command, the run of its program follows behind a space.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot: String,
}

/// All that is known of a direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DirectionState {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledgement: Option<Acknowledgement>,
}

/// Directions by the ports that receive.
pub type Directions = BTreeMap<PortName, DirectionState>;

/// How far the clocks of two machines may be apart.
const CLOCKS_APART_MOST: Duration = Duration::from_hours(24);
/// Most copies of a lost frame.
const COPIES_MOST: u8 = 16;

/// The highest generation that is believed `since_1970`: as many as there have been nanoseconds, which no agent reaches that
/// changes something a million times a second. A bound that moves leaves room above every generation that was ever believed:
/// whoever writes the highest keeps nobody from writing the next one.
pub fn generation_most(since_1970: Duration) -> u64 {
    let most = (since_1970 + CLOCKS_APART_MOST).as_nanos();
    u64::try_from(most).unwrap_or(u64::MAX)
}

impl DirectionState {
    /// Refuses what no agent writes: a bus is open to others.
    ///
    /// # Errors
    /// The first value that makes no sense.
    pub fn check(&self, generation_most: u64) -> Result<(), String> {
        let latest = self.request_generation().max(self.acknowledgement_generation());
        if let Some(generation) = latest.filter(|generation| *generation > generation_most) {
            return Err(format!(
                "its generation is {generation}, but must be at most {generation_most} today"
            ));
        }
        let Some(protection) = self.request.as_ref().and_then(|request| request.protection) else {
            return Ok(());
        };
        let Protection { loss_rate, target, copies, .. } = protection;
        if !(1..=COPIES_MOST).contains(&copies) {
            return Err(format!("it requests {copies} copies, but must request 1 to {COPIES_MOST}"));
        }
        for (name, share) in [("loss rate", loss_rate), ("target", target)] {
            if !(share > 0.0 && share <= 1.0) {
                return Err(format!("its {name} is {share}, but must be above 0 and at most 1"));
            }
        }
        Ok(())
    }

    /// Takes what is not older from `other`; whether anything has changed.
    pub fn advance(&mut self, other: DirectionState) -> bool {
        let before = self.clone();
        let newer = other.acknowledgement_generation() >= self.acknowledgement_generation();
        if other.request_generation() >= self.request_generation() {
            self.request = other.request;
        }
        if newer {
            self.acknowledgement = other.acknowledgement;
        }
        *self != before
    }

    /// Generation of the request; `None` is before all others.
    pub fn request_generation(&self) -> Option<u64> {
        self.request.as_ref().map(|request| request.generation)
    }

    /// Generation of the request that was acknowledged last.
    pub fn acknowledgement_generation(&self) -> Option<u64> {
        self.acknowledgement.as_ref().map(|acknowledgement| acknowledgement.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever was believed once, the next one is believed as well.
    #[test]
    fn there_is_room_above_every_generation_that_is_believed() {
        let today = Duration::from_secs(1_764_000_000);
        let highest = generation_most(today);
        assert_eq!(state(highest, None).check(highest), Ok(()));
        let next = state(highest + 1, Some(highest + 1));
        assert!(next.check(highest).is_err(), "not at the same moment");
        assert_eq!(next.check(generation_most(today + Duration::from_millis(1))), Ok(()));
        assert!(state(i64::MAX as u64, None).check(highest).is_err(), "for 200 years");
        assert_eq!(state(1_000_000, None).check(generation_most(Duration::ZERO)), Ok(()), "a clock of 1970");
    }

    fn state(request: u64, acknowledgement: Option<u64>) -> DirectionState {
        let of = |generation| Acknowledgement { generation, ..Acknowledgement::default() };
        let request = Request { generation: request, ..Request::default() };
        DirectionState { request: Some(request), acknowledgement: acknowledgement.map(of) }
    }

    #[test]
    fn what_is_older_changes_nothing_and_what_is_newer_says_so() {
        let mut known = state(3, Some(2));
        assert!(!known.advance(state(3, Some(2))), "the same");
        assert!(!known.advance(state(2, Some(1))), "older");
        assert_eq!(known, state(3, Some(2)));
        assert!(known.advance(state(2, Some(3))), "a newer acknowledgement beside an older request");
        assert_eq!(known, state(3, Some(3)));
        assert!(known.advance(state(4, None)));
        assert_eq!(known, state(4, Some(3)), "nothing is not newer than something");
    }
}
