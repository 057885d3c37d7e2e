//! What an end knows about one path as a receiver, and when it sends its own probes there.

use super::arrivals::Arrivals;
use super::config::PROBES;
use crate::time::{Instant, Ticks};

/// Each turn contains a full-size probe. If shorter probes have arrived in this many turns since the last full-size
/// one, that many full-size probes were lost.
const TURNS_WITHOUT_FULL: u8 = 6;
/// A path that loses probes of any size may lose that many in a row by chance, so one more turn is required for every
/// this many losses in its history. At any loss rate, it then takes days until chance is mistaken for a size limit.
const LOSSES_PER_TURN: u8 = 4;

/// What an end knows about one path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch {
    pub(super) has_carrier: bool,
    /// When the peer was heard last, and since when it is without a break, or the port has a carrier.
    pub(super) heard_at: Option<Instant>,
    pub(super) heard_from: Instant,
    /// In how many turns shorter probes have arrived since the latest of full size, and when in the last of them.
    shorts: u8,
    short_at: Instant,
    /// How often the peer sends probes here.
    interval: Ticks,
    pub(super) arrivals: Arrivals,
    /// Whether probes of the other path arrive on it.
    pub(super) is_crossed: bool,
    /// Whether the peer's latest probe here says that it sends on the other path, and how many such probes have arrived since
    /// the latest control frame of another kind.
    pub(super) is_other_named: bool,
    pub(super) probes_alone: u8,
    /// When another end than the peer sent a probe here, if the peer has sent none since.
    pub(super) foreign_at: Option<Instant>,
    /// Whether there is a third end on it, as the driver says.
    pub(super) is_shared: bool,
    /// Since when this end could send on it, if it is to return.
    pub(super) fit_from: Option<Instant>,
    /// When the latest probe went out, when the next one is due, and how many are to follow that immediately.
    pub(super) probed_at: Instant,
    pub(super) probe_at: Instant,
    pub(super) repeats: u8,
    /// The number of the next probe, and when the latest of full size went out.
    probe_number: u32,
    full_sent_at: Option<Instant>,
}

impl Watch {
    pub(super) fn new() -> Watch {
        Watch {
            has_carrier: true,
            heard_at: None,
            heard_from: Instant(0),
            shorts: 0,
            short_at: Instant(0),
            interval: Ticks::ZERO,
            arrivals: Arrivals::default(),
            is_crossed: false,
            is_other_named: false,
            probes_alone: 0,
            foreign_at: None,
            is_shared: false,
            fit_from: None,
            probed_at: Instant(0),
            probe_at: Instant(0),
            repeats: 0,
            probe_number: 0,
            full_sent_at: None,
        }
    }

    /// How long the peer may be silent. A peer that sends fewer probes than this end needs, because it does not know
    /// this yet, is given the time of four of its own intervals.
    fn patience(&self, detection: Ticks) -> Ticks {
        detection.max(self.interval * PROBES)
    }

    #[inline]
    pub(super) fn hear(&mut self, now: Instant, detection: Ticks) {
        if !self.is_heard(now, detection) {
            self.heard_from = now;
        }
        self.heard_at = Some(now);
    }

    /// Forgets how the probes of a writer arrived, because there is a new writer.
    pub(super) fn forget(&mut self) {
        (self.shorts, self.arrivals) = (0, Arrivals::default());
    }

    /// The path was interrupted, and may have changed.
    pub(super) fn interrupted(&mut self) {
        self.shorts = 0;
        self.arrivals.interrupted();
    }

    /// Records a probe of the peer, and the time it took; returns how many before it are missing.
    pub(super) fn note_arrival(&mut self, number: u32, way_us: u32) -> u32 {
        if self.arrivals.is_interruption(number) {
            self.interrupted();
        }
        self.arrivals.note(number, way_us)
    }

    /// Records what a probe of the peer says about itself. `turn`: how often one of full size is to be expected.
    pub(super) fn note_probe(&mut self, now: Instant, interval: Ticks, turn: Ticks, is_full: bool) {
        if is_full {
            self.shorts = 0;
        } else if now >= self.short_at + most_of(turn) {
            (self.shorts, self.short_at) = (self.shorts.saturating_add(1), now);
        }
        self.interval = interval;
    }

    /// Whether the peer was heard recently.
    #[inline]
    pub(super) fn is_heard(&self, now: Instant, detection: Ticks) -> bool {
        self.has_carrier && self.heard_at.is_some_and(|at| now < at + self.patience(detection))
    }

    /// When the path has failed, if the peer is heard on `other` until then but not on this one. A stalled peer is
    /// silent on both, and the path on which it is heard first says nothing about the other one.
    pub(super) fn fails_at(&self, other: &Watch, detection: Ticks) -> Instant {
        self.heard_at.unwrap_or_default().max(self.heard_from).max(other.heard_from)
            + self.patience(detection)
    }

    /// Whether it has failed.
    pub(super) fn fails(&self, other: &Watch, now: Instant, detection: Ticks) -> bool {
        !self.has_carrier || (other.is_heard(now, detection) && now >= self.fails_at(other, detection))
    }

    /// Whether frames arrive, but no full-size ones.
    pub(super) fn loses_full(&self) -> bool {
        let others_lost = self.arrivals.lost().saturating_sub(self.shorts);
        self.shorts >= TURNS_WITHOUT_FULL + others_lost / LOSSES_PER_TURN
    }

    /// Discounts the silence of a time in which this end was not listening.
    pub(super) fn skip(&mut self, silence: Ticks) {
        if let Some(at) = &mut self.heard_at {
            *at = *at + silence;
        }
    }

    /// Records a probe of this end, when the next one follows, and how often it is one of full size; returns its
    /// number, and whether it is one. An announcement is short, because frames wait behind it.
    pub(super) fn probed(&mut self, now: Instant, wait: Ticks, turn: Ticks) -> (u32, bool) {
        let number = self.probe_number;
        self.probed_at = now;
        self.probe_number = number.wrapping_add(1);
        if self.repeats > 0 {
            self.repeats -= 1;
            return (number, false);
        }
        self.probe_at = now + wait;
        let is_full = self.full_sent_at.is_none_or(|at| now >= at + most_of(turn));
        if is_full {
            self.full_sent_at = Some(now);
        }
        (number, is_full)
    }

    /// Undoes the latest probe, which was not sent. If it was to have full size, so has the next one.
    pub(super) fn probe_dropped(&mut self, number: u32, is_full: bool) {
        self.probe_number = number;
        if is_full {
            self.full_sent_at = None;
        }
    }

    /// Asks for a probe now, and for `repeats` more.
    pub(super) fn announce(&mut self, now: Instant, repeats: u8) {
        self.probe_at = now;
        self.repeats = self.repeats.max(repeats);
    }
}

/// Slightly less than a turn: the probe that is due then may arrive a little early.
fn most_of(turn: Ticks) -> Ticks {
    Ticks(turn.0 / 4 * 3)
}
