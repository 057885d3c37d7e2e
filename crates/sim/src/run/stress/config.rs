//! Parameters of a stress run.

use crate::corruption::Corruption;
use crate::link::config::{LinkConfig, Mode, ParameterError, check};
use crate::run::flows::{Recovery, SchemeKind};
use crate::time::Rate;
use linkmend_quantity::LossRate;

/// A stress run: a link, what is sent over it, and how it is measured. [`StressConfig::paper`] has the paper's values.
#[derive(Debug, Clone, PartialEq)]
pub struct StressConfig {
    /// The link; all frames have the length that it is set up for.
    pub link: LinkConfig,
    /// What recovers on it, if it is not what its description says.
    pub recovery: Recovery,
    /// Seed of everything random.
    pub seed: u64,
    /// Original frames to send.
    pub frames: u64,
    /// Importance sampling: the link corrupts retransmitted copies with this probability instead, and the report
    /// corrects the effective loss for it. For losses too rare to count; everything else in the report then describes a
    /// link that loses more copies. Only with iid corruption, and above its rate.
    pub copy_loss: Option<f64>,
    /// Simulate every event, even those of the steady state. The results are the same.
    pub full: bool,
}

impl StressConfig {
    /// A million frames over a link of the paper's testbed: see [`LinkConfig::paper`].
    pub fn paper(rate: Rate, loss: f64, mode: Mode) -> StressConfig {
        StressConfig::over(LinkConfig::paper(rate, loss, mode))
    }

    /// A million frames over a link.
    pub fn over(link: LinkConfig) -> StressConfig {
        StressConfig {
            link,
            recovery: Recovery::Described,
            seed: 1,
            frames: 1_000_000,
            copy_loss: None,
            full: false,
        }
    }

    /// The same run with another link, which `change` makes of this one.
    #[must_use]
    pub fn with_link(mut self, change: impl FnOnce(&mut LinkConfig)) -> StressConfig {
        change(&mut self.link);
        self
    }

    /// Checks that the run can be watched: what recovers is what the link's description says.
    ///
    /// # Errors
    /// [`ParameterError`], if it is another scheme.
    pub fn check_observable(&self) -> Result<(), ParameterError> {
        let name = match self.recovery {
            Recovery::Described => return Ok(()),
            Recovery::Wharf(_) => SchemeKind::Wharf.name(),
            Recovery::Llr(_) => SchemeKind::Llr.name(),
        };
        let requirement =
            "must be none, ordered or non-blocking where a run is captured or recorded over time";
        Err(ParameterError::new("scheme", name, requirement))
    }

    /// Checks everything; the first parameter that cannot be used is named.
    ///
    /// # Errors
    /// [`ParameterError`].
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.link.validate()?;
        self.link.validate_frames(self.frames)?;
        self.copy_loss.map_or(Ok(()), |copy_loss| self.validate_copy_loss(copy_loss))
    }

    /// Whether copies can be lost more often than originals.
    fn validate_copy_loss(&self, copy_loss: f64) -> Result<(), ParameterError> {
        let least = match self.link.corruption {
            Corruption::Iid { loss } => loss,
            _ => f64::INFINITY,
        };
        let single_round = self.link.protection.is_some_and(|protection| protection.max_rounds == 1);
        check(
            single_round,
            "copy-loss",
            LossRate(copy_loss),
            "needs a protected link with one round of retransmission",
        )?;
        check(
            copy_loss >= least && copy_loss < 1.0,
            "copy-loss",
            LossRate(copy_loss),
            "must lie between the loss rate of iid corruption and 1",
        )
    }
}
