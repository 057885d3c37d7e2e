//! What agents tell each other about a link's direction. It is named by the port that receives, whose agent asks for
//! protection; the agent of the port that sends carries it out, and reports.
//!
//! Both are states and not events: what is true last is all that counts. Each has a generation, which only its one writer
//! increases, so that what comes twice, late or in another order changes nothing.

use crate::PortName;
use linkmend_dataplane::config::ProtectMode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
    /// Whether the link should be disabled.
    #[serde(default)]
    pub disable: bool,
    /// Why, for people.
    pub reason: String,
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
            Effect::Rehearsed => "rehearsed",
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

impl DirectionState {
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
