//! What one direction of a virtual link does to the traffic it carries.

use super::OnWire;
use crate::frame::{Control, Integrity};
use crate::sequence::SequenceNumber;
use linkmend_random::Random;
use std::collections::BTreeSet;

/// What happens to ACKs and NACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Feedback {
    #[default]
    Pass,
    /// They are lost.
    Suppressed,
    /// They are replaced by ACKs of an old number.
    FrozenAt(SequenceNumber),
}

/// The faults of one direction. What the direction carries is numbered from 1.
#[derive(Debug, Clone)]
pub struct Faults {
    /// Numbered frames, replays included, that are lost.
    pub lose: BTreeSet<u64>,
    /// Numbered frames, replays included, that arrive with a bad FCS.
    pub damage: BTreeSet<u64>,
    /// Control ordered sets that are lost.
    pub lose_control: BTreeSet<u64>,
    /// Share of all frames that are lost, at random.
    pub loss_share: f64,
    /// Share of all frames that arrive with a bad FCS, at random.
    pub damage_share: f64,
    /// Share of control ordered sets that are lost, at random.
    pub control_loss_share: f64,
    pub feedback: Feedback,
    /// Whether INIT_ECHO carries data that differ from those of the INIT.
    pub wrong_echoes: bool,
    numbered: u64,
    controls: u64,
    random: Random,
}

impl Faults {
    /// A direction without faults; `seed` determines random ones.
    pub fn new(seed: u64, direction: usize) -> Faults {
        let stream = if direction == 0 { "llr forwards" } else { "llr backwards" };
        Faults {
            lose: BTreeSet::new(),
            damage: BTreeSet::new(),
            lose_control: BTreeSet::new(),
            loss_share: 0.0,
            damage_share: 0.0,
            control_loss_share: 0.0,
            feedback: Feedback::default(),
            wrong_echoes: false,
            numbered: 0,
            controls: 0,
            random: Random::new(seed, stream),
        }
    }

    /// How many numbered frames this direction has carried.
    pub const fn numbered(&self) -> u64 {
        self.numbered
    }

    /// How many control ordered sets this direction has carried.
    pub const fn controls(&self) -> u64 {
        self.controls
    }

    fn strikes(&mut self, share: f64) -> bool {
        share > 0.0 && self.random.uniform() < share
    }

    /// What arrives at the other end, or `None` if it is lost.
    pub(super) fn pass(&mut self, what: OnWire) -> Option<OnWire> {
        match what {
            OnWire::Control(control) => self.pass_control(control).map(OnWire::Control),
            OnWire::Numbered { sequence, frame, integrity } => {
                self.numbered += 1;
                if self.lose.contains(&self.numbered) || self.strikes(self.loss_share) {
                    return None;
                }
                let is_damaged = self.damage.contains(&self.numbered) || self.strikes(self.damage_share);
                let integrity = if is_damaged { Integrity::Bad } else { integrity };
                Some(OnWire::Numbered { sequence, frame, integrity })
            }
            OnWire::Plain { frame, integrity } => {
                if self.strikes(self.loss_share) {
                    return None;
                }
                let is_damaged = self.strikes(self.damage_share);
                let integrity = if is_damaged { Integrity::Bad } else { integrity };
                Some(OnWire::Plain { frame, integrity })
            }
        }
    }

    fn pass_control(&mut self, control: Control) -> Option<Control> {
        self.controls += 1;
        if self.lose_control.contains(&self.controls) || self.strikes(self.control_loss_share) {
            return None;
        }
        match (control, self.feedback) {
            (Control::Ack(_) | Control::Nack(_), Feedback::Suppressed) => None,
            (Control::Ack(_) | Control::Nack(_), Feedback::FrozenAt(number)) => Some(Control::Ack(number)),
            (Control::InitEcho { first, data }, _) if self.wrong_echoes => {
                Some(Control::InitEcho { first, data: !data })
            }
            _ => Some(control),
        }
    }
}
