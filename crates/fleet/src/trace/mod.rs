//! Corruption traces: which link starts to corrupt when, and how much (appendix D).

mod authors;
mod csv;
mod generate;
mod loss_buckets;
mod parquet;

pub use self::parquet::{read_parquet, write_parquet};
pub use authors::{AuthorsTrace, read_authors};
pub use csv::{read_csv, write_csv};
pub use generate::{SharedFailures, TraceParameterError, TraceParameters};
pub use loss_buckets::{LossBucket, LossDistribution, WithinBucket};

use crate::topology::LinkId;

/// A link starts to corrupt, or changes its loss rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossEvent {
    /// Seconds since the trace began.
    pub time_s: u64,
    /// Which link.
    pub link: LinkId,
    /// Share of frames it loses from now on; 0 to 1.
    pub loss_rate: f64,
}

/// Longest trace: 200 years, so that times stay far from overflow.
pub const MAX_TIME_S: u64 = 200 * 366 * 86_400;

/// Loss events in order, each in a second of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    events: Vec<LossEvent>,
}

impl Trace {
    /// Takes events that are in order of time. As in the authors' simulator, an event in an occupied second moves to the
    /// next free one.
    pub fn new(mut events: Vec<LossEvent>) -> Trace {
        debug_assert!(events.is_sorted_by_key(|event| event.time_s));
        let mut free = 0;
        for event in &mut events {
            event.time_s = event.time_s.max(free);
            free = event.time_s + 1;
        }
        Trace { events }
    }

    /// The events, in strictly ascending time.
    pub fn events(&self) -> &[LossEvent] {
        &self.events
    }
}

/// What is wrong with an event, if anything is, given the time of the one before it.
fn fault(event: &LossEvent, links: usize, previous_s: u64) -> Option<String> {
    let LossEvent { time_s, link, loss_rate } = *event;
    if time_s > MAX_TIME_S {
        return Some(format!("time_s {time_s} is beyond 200 years"));
    }
    if time_s < previous_s {
        return Some(format!("time_s {time_s} comes after {previous_s}; events must be in order of time"));
    }
    if link.index() >= links {
        return Some(format!("link {} does not exist; the topology has {links} links, from 0 on", link.0));
    }
    if !(loss_rate > 0.0 && loss_rate <= 1.0) {
        return Some(format!("loss rate {loss_rate} is not above 0 and at most 1"));
    }
    None
}
