//! Training jobs: what the ranks do in each step, and where they are.

use super::hosts::time;
use super::table::RunParameters;
use crate::link::config::ParameterError;
use crate::run::flows::{CollectiveJob, Job, Training};
use crate::time::Time;

impl RunParameters {
    /// Whether the hosts run a training job, instead of sending flows of their own accord.
    pub fn is_training(&self) -> bool {
        self.collective.is_some()
    }

    /// The training job, if there is one.
    ///
    /// # Errors
    /// What is missing, or contradicts what else is set.
    pub(super) fn training(&self) -> Result<Option<Training>, ParameterError> {
        let Some(kind) = self.collective else {
            let of_jobs = ["steps", "compute", "ranks", "groups", "channels", "rank-order"];
            self.refuse(&of_jobs, "needs a training job: set `collective`")?;
            return Ok(None);
        };
        let others = ["trials", "pause", "load", "duration", "incast", "traffic"];
        self.refuse(&others, "cannot be combined with a training job, whose `steps` say how long it takes")?;
        let sizes = self.size.clone().ok_or_else(|| ParameterError::new("size", "", "must be given"))?;
        let requirement = "must be one size for a collective operation";
        let bytes = sizes.only().ok_or_else(|| ParameterError::new("size", sizes.name(), requirement))?;
        Ok(Some(Training {
            job: Job::Collective(CollectiveJob {
                kind,
                bytes,
                ranks: self.ranks,
                groups: self.groups.unwrap_or(1),
                channels: self.channels.unwrap_or(1),
            }),
            order: self.rank_order.unwrap_or_default(),
            steps: self.steps.map_or(1, |steps| steps.0),
            compute: self.compute.map_or(Time::ZERO, time),
        }))
    }
}
