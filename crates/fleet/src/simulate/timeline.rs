//! Determines which event comes next: a loss event of the trace or a repair.
//!
//! As in the authors' simulator, every event has a second of its own. All loss events are placed first; a repair that
//! falls into an occupied second moves to the next free one when it is scheduled.

use crate::trace::{LossEvent, Trace};
use linkmend_topology::LinkId;
use std::collections::BTreeMap;

/// A loss event or a repair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Event {
    /// A link begins to corrupt.
    Loss(LossEvent),
    /// A disabled link comes back.
    Repair {
        /// When it comes back.
        time_s: u64,
        link: LinkId,
    },
}

/// Loss events and repairs, in order.
#[derive(Debug)]
pub(crate) struct Timeline<'a> {
    trace: &'a [LossEvent],
    /// How many loss events have passed.
    past: usize,
    repairs: BTreeMap<u64, LinkId>,
    delays: Vec<Delay>,
}

/// Repairs with the same delay. They are in the order in which they were scheduled, so the search for a free second
/// continues where the last one ended, however crowded the seconds are.
#[derive(Debug)]
struct Delay {
    delay_s: u64,
    /// The second after this delay's last repair.
    from_s: u64,
    /// The position of the search in the trace.
    cursor: usize,
}

impl<'a> Timeline<'a> {
    pub(crate) fn new(trace: &'a Trace, delays_s: impl Iterator<Item = u64>) -> Timeline<'a> {
        let delays = delays_s.map(|delay_s| Delay { delay_s, from_s: 0, cursor: 0 }).collect();
        Timeline { trace: trace.events(), past: 0, repairs: BTreeMap::new(), delays }
    }

    /// The next event, if any is left.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let loss = self.trace.get(self.past).copied();
        let repair = self.repairs.first_key_value().map(|(time_s, _)| *time_s);
        if let Some(loss) = loss
            && repair.is_none_or(|time_s| loss.time_s < time_s)
        {
            self.past += 1;
            return Some(Event::Loss(loss));
        }
        let (time_s, link) = self.repairs.pop_first()?;
        Some(Event::Repair { time_s, link })
    }

    /// Schedules the repair of a link that is disabled at `now_s`, after the delay with this index. Times must not
    /// decrease.
    pub(crate) fn schedule(&mut self, now_s: u64, link: LinkId, delay: usize) {
        let delay = &mut self.delays[delay];
        // All seconds from the one that the last repair asked for to the one that it got are occupied.
        let mut time_s = (now_s + delay.delay_s).max(delay.from_s);
        loop {
            while self.trace.get(delay.cursor).is_some_and(|event| event.time_s < time_s) {
                delay.cursor += 1;
            }
            let lost = self.trace.get(delay.cursor).is_some_and(|event| event.time_s == time_s);
            if !lost && !self.repairs.contains_key(&time_s) {
                break;
            }
            time_s += 1;
        }
        delay.from_s = time_s + 1;
        self.repairs.insert(time_s, link);
    }
}
