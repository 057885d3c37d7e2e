//! The part of a link end that both directions use.

use super::{Control, LinkEnd};
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
    pub(super) peer_heard_at: Option<Instant>,
    peer_was_known: bool,
    pub(super) hello_at: Instant,
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
            peer_heard_at: None,
            peer_was_known: false,
            hello_at: Instant(0),
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
        // SplitMix64 (Steele, Lea, Flood 2014).
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    }

    pub(super) fn event(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Notes that a control frame with Linkmend's magic has arrived.
    pub(super) fn heard_peer(&mut self, now: Instant) {
        if self.peer_heard_at.is_none() {
            self.event(Event::PeerSeen);
            // Answers at once, so that both ends know each other.
            self.hello_at = now;
        }
        self.peer_heard_at = Some(now);
        self.peer_was_known = true;
    }

    /// When a silent peer is forgotten.
    pub(super) fn peer_forgotten_at(&self) -> Option<Instant> {
        let memory = self.config.hello_interval * 3 + self.config.peer_timeout;
        self.peer_heard_at.map(|at| at + memory)
    }

    pub(super) fn forget_silent_peer(&mut self, now: Instant) {
        if self.peer_forgotten_at().is_some_and(|at| now >= at) {
            self.peer_heard_at = None;
            self.mismatched_format = None;
            self.event(Event::PeerGone);
        }
    }

    /// Notes that another control frame was sent, which tells the peer as much as a hello would.
    #[inline]
    pub(super) fn postpone_hello(&mut self, now: Instant) {
        self.hello_at = self.hello_at.max(now + self.config.hello_interval);
    }

    /// When a hello is due. The authors' protocol has none.
    pub(super) fn hello_due_at(&self) -> Option<Instant> {
        (!self.is_sessionless()).then_some(self.hello_at)
    }

    pub(super) fn poll_hello(&self, now: Instant) -> Option<Control> {
        self.hello_due_at().is_some_and(|at| now >= at).then_some(Control::Hello)
    }
}

impl LinkEnd {
    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.shared.events.pop_front()
    }

    /// Whether the peer is known to speak Linkmend (a valid control frame within three hello intervals).
    pub fn peer_known(&self) -> bool {
        self.shared.peer_forgotten_at().is_some_and(|at| self.shared.now < at)
    }
    /// Whether a peer has been known since this end started.
    pub const fn peer_was_known(&self) -> bool {
        self.shared.peer_was_known
    }
}
