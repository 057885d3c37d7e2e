//! The course of the demo.

use std::time::Instant;

use linkmend_dataplane::{CorruptionModel, ProtectionSettings};
use linkmend_protocol::Mode;

use super::{Condition, DemoOptions, DemoResult, fct, goodput, stress, timeline};
use crate::generator::GeneratorError;
use crate::link_ends::{LinkEnds, LinkEndsError};
use crate::stop::{RunControl, StopFlag};
use crate::tcp::{self, TcpError, TrafficPath};
use crate::topology::{Lab, LabError, LabOptions};

/// Why the demo could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// See [`LabError`].
    #[error("laboratory")]
    Lab(#[from] LabError),
    /// See [`LinkEndsError`].
    #[error("link ends")]
    LinkEnds(#[from] LinkEndsError),
    /// See [`TcpError`].
    #[error("TCP traffic")]
    Tcp(#[from] TcpError),
    /// See [`GeneratorError`].
    #[error("frame generator")]
    Generator(#[from] GeneratorError),
    /// It was stopped.
    #[error("stopped before its end")]
    Stopped,
}

/// Is told how the demo goes on.
pub trait Observer: Sync {
    /// A step begins: step `index` (from 0) of `total`. Its progress can be read from `control`.
    fn step(&self, title: &str, index: usize, total: usize, control: &RunControl);
}

/// A demo under way.
pub(super) struct Demo<'a> {
    pub(super) options: &'a DemoOptions,
    pub(super) lab: &'a Lab,
    pub(super) ends: LinkEnds,
    pub(super) control: RunControl,
    observer: &'a dyn Observer,
    steps_done: usize,
}

/// Runs it all in a laboratory that is taken down again.
///
/// # Errors
/// [`DemoError`]; the laboratory is gone then, too.
pub fn run(options: &DemoOptions, stop: &StopFlag, observer: &dyn Observer) -> Result<DemoResult, DemoError> {
    let started = Instant::now();
    let lab = Lab::up(LabOptions {
        prefix: options.prefix.clone(),
        remove_on_drop: true,
        ..LabOptions::default()
    })?;
    let ends = LinkEnds::start(&lab, options.ports(), options.seed)?;
    let control = RunControl { stop: stop.clone(), ..RunControl::default() };
    let mut demo = Demo { options, lab: &lab, ends, control, observer, steps_done: 0 };
    tcp::wait_until_reachable(&TrafficPath::ipv4(&lab), std::time::Duration::from_secs(5), stop)?;
    let ports = demo.ends.report()?.1.link.description;
    let result = DemoResult {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        options: options.clone(),
        ports,
        kernel: nix::sys::utsname::uname()
            .map(|name| name.release().to_string_lossy().into_owned())
            .unwrap_or_default(),
        stress: stress::run(&mut demo)?,
        fct: fct::run(&mut demo)?,
        goodput: goodput::run(&mut demo)?,
        timeline: timeline::run(&mut demo)?,
        seconds: started.elapsed().as_secs_f64(),
    };
    Ok(result)
}

impl Demo<'_> {
    /// Announces the next step.
    pub(super) fn step(&mut self, title: &str) -> Result<(), DemoError> {
        if self.control.stop.is_stopped() {
            return Err(DemoError::Stopped);
        }
        let cells = self.options.congestion_controls.len() * goodput::cells(self.options);
        let total = 2 * Condition::ALL.len() + cells + 1;
        self.observer.step(title, self.steps_done, total, &self.control);
        self.steps_done += 1;
        Ok(())
    }

    /// Brings the link into a condition.
    pub(super) fn set(&self, condition: Condition, loss: f64) -> Result<(), DemoError> {
        let protect = |mode| self.ends.protect(Some(protection(mode, loss)));
        let corruption = match condition {
            Condition::Healthy => None,
            // A rate of 0 keeps the daemon forwarding, so that all rates take the same path.
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

/// Copies by Equation 2 for the paper's target of 1e-8, from the loss rate that is injected.
fn protection(mode: Mode, loss: f64) -> ProtectionSettings {
    let copies = linkmend_protocol::Copies::Target { target_loss: 1e-8, initial_loss: loss.max(1e-8) };
    ProtectionSettings { copies, ..ProtectionSettings::new(mode) }
}
