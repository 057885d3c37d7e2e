//! What an end knows of one path.

use crate::time::{Instant, Ticks};

/// What an end knows of one path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch {
    pub(super) has_carrier: bool,
    /// When the peer was heard last, and since when it is without a break, or the port has a carrier.
    pub(super) heard_at: Option<Instant>,
    pub(super) heard_from: Instant,
    /// Since when both ends hear each other on it.
    pub(super) good_from: Option<Instant>,
    /// When the next probe is due, and how many are to follow it at once.
    pub(super) probe_at: Instant,
    pub(super) repeats: u8,
    /// The number of the next probe.
    pub(super) probe_number: u32,
    /// The number of the peer's latest probe.
    pub(super) peer_number: Option<u32>,
    /// Whether probes of the other path arrive on it.
    pub(super) is_crossed: bool,
}

impl Watch {
    pub(super) fn new() -> Watch {
        Watch {
            has_carrier: true,
            heard_at: None,
            heard_from: Instant(0),
            good_from: None,
            probe_at: Instant(0),
            repeats: 0,
            probe_number: 0,
            peer_number: None,
            is_crossed: false,
        }
    }

    #[inline]
    pub(super) fn hear(&mut self, now: Instant, detection: Ticks) {
        if !self.is_heard(now, detection) {
            self.heard_from = now;
        }
        self.heard_at = Some(now);
    }

    /// Whether the peer was heard lately.
    #[inline]
    pub(super) fn is_heard(&self, now: Instant, detection: Ticks) -> bool {
        self.has_carrier && self.heard_at.is_some_and(|at| now < at + detection)
    }

    /// When it has failed, if the peer is heard on `other` until then and not on this one. A peer that stood still is silent on
    /// both, and the one that it is heard on first says nothing of the other.
    pub(super) fn fails_at(&self, other: &Watch, detection: Ticks) -> Instant {
        self.heard_at.unwrap_or_default().max(self.heard_from).max(other.heard_from) + detection
    }

    /// Takes back the silence of a time in which this end did not listen.
    pub(super) fn skip(&mut self, silence: Ticks) {
        if let Some(at) = &mut self.heard_at {
            *at = *at + silence;
        }
    }

    /// Notes the number of a probe of the peer; returns how many before it are missing.
    pub(super) fn count(&mut self, number: u32) -> u32 {
        let ahead = self.peer_number.map_or(1, |last| number.wrapping_sub(last) as i32);
        self.peer_number = Some(number);
        u32::try_from(ahead.saturating_sub(1)).unwrap_or(0)
    }
}
