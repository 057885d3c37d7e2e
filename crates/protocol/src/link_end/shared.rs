//! The part of a link end that both directions use.

use super::LinkEnd;
use super::acquaintance::{Acquaintance, mix};
use crate::config::{Config, Format};
use crate::event::Event;
use crate::stats::Stats;
use crate::time::{Instant, Ticks};
use alloc::collections::VecDeque;

/// Events kept for [`LinkEnd::poll_event`]; older ones make room.
const EVENTS_MAX: usize = 64;

/// Parameters, the time, what is known about the peer, counters, events.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) now: Instant,
    /// How far the driver's clock has jumped back; the time here does not.
    pub(super) clock_lead: Ticks,
    random: u64,
    pub(super) mismatched_format: Option<Format>,
    pub(super) peer: Acquaintance,
    events: VecDeque<Event>,
    pub(super) stats: Stats,
}

impl Shared {
    pub(super) fn new(config: Config, seed: u64) -> Shared {
        Shared {
            config,
            now: Instant(0),
            clock_lead: Ticks::ZERO,
            random: seed,
            mismatched_format: None,
            peer: Acquaintance::new(seed),
            events: VecDeque::with_capacity(EVENTS_MAX),
            stats: Stats::default(),
        }
    }

    /// Whether frames carry the authors' headers.
    #[inline]
    pub(super) fn is_compact(&self) -> bool {
        self.config.format != Format::Transparent
    }

    /// Whether the peer speaks the authors' protocol.
    #[inline]
    pub(super) fn is_sessionless(&self) -> bool {
        self.config.format == Format::Linkguardian
    }

    pub(super) fn next_random(&mut self) -> u32 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random) as u32
    }

    pub(super) fn event(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

impl LinkEnd {
    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.shared.events.pop_front()
    }
}
