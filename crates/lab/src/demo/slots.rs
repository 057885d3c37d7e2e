//! A running demo: its slots, and the condition of the link in each.

use std::collections::BTreeSet;

use linkmend_control::CorruptionModel;
use linkmend_dataplane::ProtectionSettings;
use linkmend_diagnose::Diagnose;
use linkmend_protocol::Mode;

use super::turns::{NoiseSummary, TurnPlan, Turns, take_turns};
use super::{Condition, DemoOptions};
use crate::delay_line::{DelayLineError, DelayLines};
use crate::generator::GeneratorError;
use crate::link_ends::{LinkEnds, LinkEndsError};
use crate::noise::{Disturbance, NoiseWatch, Watch};
use crate::stop::RunControl;
use crate::tcp::TcpError;
use crate::topology::{Lab, LabError};

/// Why the demo could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// See [`LabError`].
    #[error("laboratory")]
    Lab(#[from] LabError),
    /// See [`DelayLineError`].
    #[error("delay lines")]
    DelayLines(#[from] DelayLineError),
    /// See [`LinkEndsError`].
    #[error("link ends")]
    LinkEnds(#[from] LinkEndsError),
    /// See [`TcpError`].
    #[error("TCP traffic")]
    Tcp(#[from] TcpError),
    /// See [`GeneratorError`].
    #[error("frame generator")]
    Generator(#[from] GeneratorError),
    /// The demo was stopped.
    #[error("stopped before its end")]
    Stopped,
}

impl Diagnose for DemoError {
    fn hint(&self) -> Option<String> {
        match self {
            DemoError::Lab(error) => error.hint(),
            DemoError::DelayLines(error) => error.hint(),
            DemoError::LinkEnds(error) => error.hint(),
            DemoError::Tcp(error) => error.hint(),
            DemoError::Generator(error) => error.hint(),
            DemoError::Stopped => None,
        }
    }
}

/// The beginning of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    pub experiment: &'a str,
    /// The condition within the experiment.
    pub detail: &'a str,
    /// The number of slots begun before, in all experiments.
    pub index: usize,
    /// The number of slots of all experiments, including the repeats so far.
    pub total: usize,
}

/// Follows the progress of the demo.
pub trait Observer: Sync {
    /// A slot begins.
    fn step(&self, step: &Step<'_>);
}

/// A running demo.
pub(super) struct Demo<'a> {
    pub(super) options: &'a DemoOptions,
    pub(super) lab: &'a Lab,
    pub(super) ends: LinkEnds,
    pub(super) control: RunControl,
    pub(super) lines: Option<DelayLines>,
    pub(super) watch: NoiseWatch,
    pub(super) observer: &'a dyn Observer,
    /// The number of slots of all experiments, without repeats.
    pub(super) slots: usize,
    pub(super) steps_done: usize,
    pub(super) repeats: usize,
}

impl Demo<'_> {
    /// Measures each of the labelled `conditions`, in turns. Disturbed slots are repeated.
    pub(super) fn in_turns<C, T>(
        &mut self,
        experiment: &str,
        plan: &TurnPlan,
        conditions: &[(String, C)],
        measure: impl Fn(&Self, &C) -> Result<T, DemoError>,
    ) -> Result<(Turns<T>, NoiseSummary), DemoError> {
        let mut tried = BTreeSet::new();
        take_turns(plan, conditions.len(), |index, round| {
            let (label, condition) = &conditions[index];
            self.repeats += usize::from(!tried.insert((index, round)));
            self.step(experiment, label)?;
            self.begin_slot();
            let value = measure(self, condition)?;
            if self.control.stop.is_stopped() {
                return Err(DemoError::Stopped);
            }
            Ok((value, self.end_slot()))
        })
    }

    fn begin_slot(&mut self) {
        if let Some(lines) = &self.lines {
            lines.report();
        }
        self.watch.begin();
    }

    fn end_slot(&mut self) -> Disturbance {
        let mut disturbance = self.watch.end();
        let lines = self.lines.iter().flat_map(DelayLines::report);
        let worst_late_ns = lines.map(|line| line.worst_late_ns).max().unwrap_or(0);
        disturbance.worst_loop_ns = disturbance.worst_loop_ns.max(worst_late_ns);
        disturbance
    }

    /// Announces the next slot.
    fn step(&mut self, experiment: &str, detail: &str) -> Result<(), DemoError> {
        if self.control.stop.is_stopped() {
            return Err(DemoError::Stopped);
        }
        let total = self.slots + self.repeats;
        self.observer.step(&Step { experiment, detail, index: self.steps_done, total });
        self.steps_done += 1;
        Ok(())
    }

    /// Brings the link into a condition.
    pub(super) fn set(&self, condition: Condition, loss: f64) -> Result<(), DemoError> {
        let protect = |mode| self.ends.protect(Some(protection(mode, loss)));
        let corruption = match condition {
            Condition::Healthy => None,
            // A rate of 0 keeps the daemon forwarding, so that frames take the same path at all rates.
            _ => Some(CorruptionModel::Iid { rate: loss }),
        };
        self.ends.corrupt(corruption)?;
        match condition {
            Condition::Healthy | Condition::Unprotected => self.ends.protect(None)?,
            Condition::Ordered => protect(Mode::Ordered)?,
            Condition::NonBlocking => protect(Mode::NonBlocking)?,
        }
        // Unprotected frames take the same path through the daemon at the sending end.
        let forward = (condition == Condition::Unprotected).then_some(CorruptionModel::Iid { rate: 0.0 });
        self.ends.corrupt_reverse(forward)?;
        Ok(self.ends.reset_extremes()?)
    }
}

/// Copies according to Equation 2 for the paper's target of 1e-8, from the loss rate that is injected.
fn protection(mode: Mode, loss: f64) -> ProtectionSettings {
    let copies = linkmend_protocol::Copies::Target { target_loss: 1e-8, initial_loss: loss.max(1e-8) };
    ProtectionSettings { copies, ..ProtectionSettings::new(mode) }
}
