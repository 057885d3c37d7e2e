//! Fields that only a few ports need. They are boxed, because a network may have thousands of ports.

use super::pipeline::Pipeline;
use super::scheme::Insertion;
use crate::corruption::CorruptionProcess;
use crate::time::{Rate, Time};

/// Fields that only a few ports need.
#[derive(Debug)]
pub(crate) struct Rare {
    /// How the link corrupts copies, if it does so differently.
    pub(crate) copy_corruption: Option<CorruptionProcess>,
    /// Frames behind the port that have not been forwarded yet, if its scheme acts before the pipeline.
    pub(crate) pipeline: Option<Pipeline>,
    /// Length of the frames to which loss rates apply.
    pub(crate) stated_bytes: u32,
    /// When ordered sets may be inserted into frames, if ever.
    pub(crate) inserting: Option<Inserting>,
}

/// When an ordered set may be inserted into the frame that is being sent.
#[derive(Debug)]
pub(crate) struct Inserting {
    first_after: Time,
    apart: Time,
    pub(crate) not_before: Time,
}

impl Inserting {
    pub(crate) fn new(insertion: Insertion, rate: Rate) -> Inserting {
        let [first_after, apart] =
            [insertion.first_after_octets, insertion.apart_octets].map(|octets| rate.time_of(octets.into()));
        Inserting { first_after, apart, not_before: Time::ZERO }
    }

    /// The port begins to send a frame.
    pub(crate) fn begin(&mut self, now: Time) {
        self.not_before = now + self.first_after;
    }

    /// An ordered set is inserted.
    pub(crate) fn insert(&mut self, now: Time) {
        self.not_before = now + self.apart;
    }
}

impl Rare {
    /// When the next frame leaves the pipeline behind the port.
    pub(crate) fn pipeline_at(&self) -> Time {
        self.pipeline.as_ref().map_or(Time::NEVER, Pipeline::next_at)
    }

    /// Boxes the fields if the port needs any of them.
    pub(crate) fn if_needed(self, retries: bool) -> Option<Box<Rare>> {
        let is_needed = self.copy_corruption.is_some() || self.pipeline.is_some() || retries;
        is_needed.then(|| Box::new(self))
    }
}
