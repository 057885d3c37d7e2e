//! What few ports have. It is in a box, because a network may have thousands of ports.

use super::pipeline::Pipeline;
use crate::corruption::CorruptionProcess;
use crate::time::Time;

/// What few ports have.
#[derive(Debug)]
pub(crate) struct Rare {
    /// How the link corrupts copies, if differently.
    pub(crate) copy_corruption: Option<CorruptionProcess>,
    /// The frames behind the port that are not yet forwarded, if its scheme acts before the pipeline.
    pub(crate) pipeline: Option<Pipeline>,
    /// Length of the frames for which losses are stated.
    pub(crate) stated_bytes: u32,
}

impl Rare {
    /// When the next frame leaves the pipeline behind the port.
    pub(crate) fn pipeline_at(&self) -> Time {
        self.pipeline.as_ref().map_or(Time::NEVER, Pipeline::next_at)
    }

    /// It, if the port needs any of it.
    pub(crate) fn if_needed(self, goes_back: bool) -> Option<Box<Rare>> {
        let is_needed = self.copy_corruption.is_some() || self.pipeline.is_some() || goes_back;
        is_needed.then(|| Box::new(self))
    }
}
