//! Training jobs: what the ranks do in each step, and where they are.

use super::table::RunParameters;
use crate::link::config::ParameterError;
use crate::run::flows::{CollectiveJob, Job, Training};
use crate::time::Time;
use linkmend_collective::read::{
    Format, GoalOptions, Input, WorkloadOptions, parse_connection_matrix, parse_goal, parse_workload,
};
use std::path::Path;
use std::sync::Arc;

impl RunParameters {
    /// Whether the hosts run a training job, instead of sending flows of their own accord.
    pub fn is_training(&self) -> bool {
        self.collective.is_some() || self.program.is_some()
    }

    /// The training job, if there is one. A relative path in `program` starts from `folder`.
    ///
    /// # Errors
    /// What is missing, or contradicts what else is set.
    pub(super) fn training(&self, folder: &Path) -> Result<Option<Training>, ParameterError> {
        let of_jobs = ["steps", "compute", "ranks", "groups", "channels", "rank-order"];
        if !self.is_training() {
            self.refuse(&of_jobs, "needs a training job: set `collective` or `program`")?;
            return Ok(None);
        }
        let others = ["trials", "pause", "load", "duration", "incast", "traffic"];
        self.refuse(&others, "cannot be combined with a training job, whose `steps` say how long it takes")?;
        let (job, left_out) = match &self.program {
            Some(path) => self.read_program(&folder.join(path))?,
            None => (self.collective_job()?, Vec::new()),
        };
        Ok(Some(Training {
            job,
            order: self.rank_order.unwrap_or_default(),
            steps: self.steps.map_or(1, |steps| steps.0),
            compute: self.compute.map_or(Time::ZERO, Time::from),
            left_out,
        }))
    }

    fn collective_job(&self) -> Result<Job, ParameterError> {
        let sizes = self.size.clone().ok_or_else(|| ParameterError::new("size", "", "must be given"))?;
        let requirement = "must be one size for a collective operation";
        let bytes = sizes.only().ok_or_else(|| ParameterError::new("size", sizes.name(), requirement))?;
        Ok(Job::Collective(CollectiveJob {
            kind: self.collective.unwrap_or_default(),
            bytes,
            ranks: self.ranks,
            groups: self.groups.unwrap_or(1),
            channels: self.channels.unwrap_or(1),
        }))
    }

    /// The program in a file, and what of the file is not in it.
    fn read_program(&self, path: &Path) -> Result<(Job, Vec<String>), ParameterError> {
        self.refuse(
            &["collective", "size", "groups"],
            "cannot be combined with `program`, which says what ranks do",
        )?;
        let wrong =
            |requirement: String| ParameterError::new("program", path.display().to_string(), requirement);
        let content = std::fs::read(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let formats = "must begin like a connection matrix (`Nodes`), GOAL (`num_ranks`) or a workload of AICB \
            (`HYBRID_TRANSFORMER`, `MICRO`)";
        let format = Format::of(&content).ok_or_else(|| wrong(formats.to_owned()))?;
        if format != Format::Workload {
            self.refuse(&["ranks", "channels"], "needs a workload of AICB; other files say it themselves")?;
        }
        let Input { program, left_out } = match format {
            Format::ConnectionMatrix => parse_connection_matrix(&content),
            Format::Goal => parse_goal(&content, &GoalOptions::default()),
            Format::Workload => parse_workload(
                &content,
                &WorkloadOptions {
                    ranks: self.ranks,
                    channels: self.channels.unwrap_or(1),
                    ..WorkloadOptions::default()
                },
            ),
        }
        .map_err(|error| wrong(format!("cannot be used: {error}")))?;
        Ok((Job::Program(Arc::new(program)), left_out))
    }
}
