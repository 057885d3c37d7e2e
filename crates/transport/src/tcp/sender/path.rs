//! The search for the longest segments that the path can carry (RFC 4821), as in Linux. From time to time a longer
//! segment is sent, half-way between what the path is known to carry and what it cannot carry. If it is acknowledged,
//! all segments have this length from then on. If only this segment is lost, that does not count as congestion.
//!
//! Sizes are bytes of payload.

use super::Sender;
use super::scoreboard::Marks;
use crate::tcp::config::{PathProbing, TIMESTAMPS_BYTES};
use crate::tcp::congestion::Phase;
use crate::time::{Instant, Nanos};
use std::ops::Range;

/// The minimum window for a probe, in segments, so that losing it is noticed by duplicates (RFC 4821, section 7.4).
const WINDOW_MIN: u32 = 11;
/// Headers of a packet without options: the window keeps its bytes, headers included, when segments become longer.
const HEADERS: u32 = 40;
/// How long retransmissions stay unanswered before long segments are suspected to vanish: four least timeouts, each
/// twice as long as the previous one (Linux: `tcp_retries1` of 3).
const SUSPECTED_AFTER: Nanos = Nanos::from_secs(3);

/// See the module's documentation.
#[derive(Debug, Clone)]
pub(super) struct PathSearch {
    settings: PathProbing,
    is_on: bool,
    /// What the path is known or assumed to carry, and what it may carry at most.
    low: u32,
    high: u32,
    /// What the peer accepts, and what the route is said to carry.
    peer: u32,
    route: u32,
    /// A probe that is not acknowledged.
    probe: Option<Range<u64>>,
    begun_at: Instant,
}

/// Whether a probe is sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathProbe {
    /// With so many bytes.
    Sends(u32),
    /// Not yet: nothing else leaves either, until the windows have room for it and what is to follow it.
    Waits,
    NotNow,
}

impl PathSearch {
    /// Before the peer is known.
    pub fn new(settings: PathProbing) -> PathSearch {
        PathSearch {
            settings,
            is_on: settings.from_beginning,
            low: settings.base_mss,
            high: settings.base_mss,
            peer: 0,
            route: 0,
            probe: None,
            begun_at: Instant::default(),
        }
    }

    fn limit(&self) -> u32 {
        self.route.min(self.peer)
    }

    /// The length of the next probe. A search that is over begins again after a time, between the segments of `mss` bytes in use
    /// and the limit.
    fn next_length(&mut self, now: Instant, mss: u32) -> Option<u32> {
        if self.high.saturating_sub(self.low) >= self.settings.threshold.max(1) {
            return Some(self.low.midpoint(self.high));
        }
        if now.since(self.begun_at) >= self.settings.interval {
            (self.low, self.high, self.begun_at) = (mss, self.limit(), now);
        }
        None
    }
}

impl Sender {
    /// Begins the search, with a peer that takes `peer` bytes. An end that has opened the connection starts with few; one that has
    /// accepted it uses what its route carries and searches beyond (as in Linux).
    pub fn search_path(&mut self, now: Instant, peer: u32, has_opened: bool) {
        let mss = self.mss;
        let Some(path) = &mut self.path else { return };
        (path.peer, path.route, path.high, path.begun_at) = (peer, mss, mss, now);
        if path.is_on && has_opened {
            self.mss = mss.min(path.low);
        }
    }

    /// The route carries segments of `bytes` from now on.
    pub fn set_route(&mut self, bytes: u32) {
        self.mss = self.mss.min(bytes).max(1);
        if let Some(path) = &mut self.path {
            path.route = bytes;
            path.high = path.limit();
        }
    }

    /// Whether to send a probe now. As long as it may be sent soon, nothing else is.
    pub(super) fn path_probe(&mut self, now: Instant) -> PathProbe {
        if self.path.as_ref().is_none_or(|path| !path.is_on || path.probe.is_some()) {
            return PathProbe::NotNow;
        }
        if self.board.is_empty() && self.unsent() > 0 {
            self.end_idle(now);
        }
        let mss = self.mss;
        let is_able = self.recovery.phase == Phase::Open && self.window.cwnd >= WINDOW_MIN;
        let Some(path) = self.path.as_mut().filter(|_| is_able) else { return PathProbe::NotNow };
        let Some(length) = path.next_length(now, mss) else { return PathProbe::NotNow };
        // Enough must follow it that its loss is detected when the following segments arrive.
        let needed = u64::from(length) + (u64::from(self.reordering) + 1) * u64::from(mss);
        let record_end = self.buffer.record_end(self.next).unwrap_or(self.written);
        let in_flight = self.board.pipe();
        if record_end.saturating_sub(self.next) < u64::from(length)
            || self.written.saturating_sub(self.next) < needed
            || self.peer_window < needed
        {
            PathProbe::NotNow
        } else if self.next + needed > self.window_end() {
            PathProbe::Waits
        } else if in_flight + 2 > self.window.cwnd {
            if in_flight > 0 { PathProbe::Waits } else { PathProbe::NotNow }
        } else {
            PathProbe::Sends(length)
        }
    }

    /// The probe counts for two segments while it is in flight.
    pub(super) fn send_path_probe(&mut self, now: Instant, length: u32) -> super::Outgoing {
        let outgoing = self.send_new(now, length, length);
        self.window.cwnd -= 1;
        if let Some(path) = &mut self.path {
            path.probe = Some(outgoing.sequence..self.next);
        }
        outgoing
    }

    /// Segments are as long as the probe once it is acknowledged, and fewer of them fill the window.
    pub(super) fn settle_path_probe(&mut self) {
        let Some(path) = &mut self.path else { return };
        let Some(probe) = path.probe.take_if(|probe| probe.end <= self.unacknowledged) else { return };
        path.low = (probe.end - probe.start) as u32;
        let length = path.low.min(path.limit());
        let headers = HEADERS + if self.settings.timestamps { TIMESTAMPS_BYTES } else { 0 };
        let bytes = u64::from(self.window.cwnd) * u64::from(self.mss + headers);
        self.window.cwnd = (bytes / u64::from(path.low + headers)).max(1) as u32;
        self.window.ssthresh = self.current_threshold();
        self.mss = length;
    }

    /// Whether a loss is that of the probe: it was too long, and is retransmitted in shorter segments without a smaller window (RFC
    /// 4821, section 7.6.2).
    pub(super) fn lose_path_probe(&mut self, now: Instant) -> bool {
        let is_early = matches!(self.recovery.phase, Phase::Open | Phase::Disorder);
        let oldest = self.unacknowledged;
        let Some(path) = self.path.as_mut().filter(|_| is_early) else { return false };
        let Some(probe) = path.probe.take_if(|probe| probe.start == oldest) else { return false };
        path.high = ((probe.end - probe.start) as u32).saturating_sub(1);
        self.window.cwnd += 1;
        if let Some(oldest) = self.board.oldest() {
            self.board.mark_lost(oldest);
        }
        self.recovery.end = self.next;
        self.window.ssthresh = self.current_threshold();
        self.recovery.undo.forget();
        (self.recovery.sends_new_first, self.recovery.is_f_rto) = (false, false);
        self.set_phase(now, Phase::Loss);
        true
    }

    /// Retransmissions have not been answered for a long time: perhaps the path now carries less, and nothing reports
    /// this (RFC 4821, section 7.7).
    pub(super) fn suspect_black_hole(&mut self, now: Instant) {
        let is_long = self.unanswered_since.is_some_and(|since| now.since(since) >= SUSPECTED_AFTER);
        let Some(path) = self.path.as_mut().filter(|_| is_long) else { return };
        if path.is_on {
            path.low = (path.low / 2).min(path.settings.base_mss).max(path.settings.floor_mss);
        } else {
            (path.is_on, path.begun_at) = (true, now);
        }
        self.mss = path.low.min(path.limit());
    }

    /// A segment that is retransmitted is no longer than others are now; its number may be another after that. What a probe
    /// tells is no longer clear then (RFC 4821, section 7.6.4).
    pub(super) fn divide(&mut self, number: u32) -> u32 {
        let Some(path) = &mut self.path else { return number };
        path.probe = None;
        let record = self.board.at(number);
        let payload = u32::from(record.length) - u32::from(record.marks.contains(Marks::FIN));
        if payload > self.mss { self.board.split(number, self.mss as u16) } else { number }
    }
}
