//! Corruption traces: which link starts to corrupt when, and how much (appendix D).

mod authors;
mod csv;
mod file;
mod generate;
mod loss_buckets;

pub use self::csv::{read_csv, write_csv};
pub use authors::{AuthorsTrace, parse_authors, read_authors};
pub use file::{TraceFile, TraceFormat};
pub use generate::{SharedFailures, TraceParameters};
pub use loss_buckets::{LossBucket, LossDistribution, WithinBucket};

use linkmend_topology::LinkId;

/// A link begins to corrupt, or changes its loss rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossEvent {
    /// Seconds since the trace began.
    pub time_s: u64,
    pub link: LinkId,
    /// Share of frames that it loses from now on; 0 to 1.
    pub loss_rate: f64,
}

/// The longest trace: 200 years, so that times stay far from overflow.
pub const MAX_TIME_S: u64 = 200 * 366 * 86_400;

/// The largest number of events in a trace; each takes 24 bytes of memory.
pub const MAX_EVENTS: usize = 100_000_000;

/// Loss events in order, each in a second of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    events: Vec<LossEvent>,
}

impl Trace {
    /// Takes events in order of time. As in the authors' simulator, an event in an occupied second moves to the next
    /// free one.
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

/// Events of a file, checked one by one.
struct EventList {
    events: Vec<LossEvent>,
    links: usize,
    /// Time of the last event, as it stands in the file.
    previous_s: u64,
    /// The first second after all events, including those that moved.
    free_s: u64,
}

impl EventList {
    /// An empty list for a network with this many links.
    fn new(links: usize) -> EventList {
        EventList { events: Vec::new(), links, previous_s: 0, free_s: 0 }
    }

    /// Adds an event, or returns what is wrong with it.
    fn push(&mut self, event: LossEvent) -> Result<(), String> {
        let LossEvent { time_s, link, loss_rate } = event;
        if time_s > MAX_TIME_S {
            return Err(format!("time_s {time_s} is beyond 200 years"));
        }
        if time_s < self.previous_s {
            let previous_s = self.previous_s;
            return Err(format!("time_s {time_s} comes after {previous_s}; events must be in order of time"));
        }
        let moved_s = time_s.max(self.free_s);
        if moved_s > MAX_TIME_S {
            return Err(format!("time_s {time_s} is taken, and the next free second is beyond 200 years"));
        }
        if link.index() >= self.links {
            let links = self.links;
            return Err(format!(
                "link {} does not exist; the topology has {links} links, numbered from 0",
                link.0
            ));
        }
        if !(loss_rate > 0.0 && loss_rate <= 1.0) {
            return Err(format!("loss rate {loss_rate} is not above 0 and at most 1"));
        }
        if self.events.len() == MAX_EVENTS {
            return Err(format!("there are more than {MAX_EVENTS} events"));
        }
        self.previous_s = time_s;
        self.free_s = moved_s + 1;
        self.events.push(event);
        Ok(())
    }

    fn finish(self) -> Trace {
        Trace::new(self.events)
    }
}
