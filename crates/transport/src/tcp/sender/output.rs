//! What is sent, and when: retransmissions, new data, bursts, pacing, restart after idle times.

use super::path::PathProbe;
use super::scoreboard::{Marks, Record};
use super::send_buffer::Cork;
use super::{Acknowledged, Outgoing, Sender};
use crate::tcp::config::Ecn;
use crate::tcp::congestion::{CongestionControl, Phase, window_pacing_rate};
use crate::tcp::segment::{Codepoint, Flags};
use crate::time::{Instant, Nanos};

/// Segments that leave before pacing begins (Linux: the initial window is not paced).
const UNPACED: u64 = 10;
/// A paced burst is what the rate sends in 2^-10 s (Linux: `sk_pacing_shift`).
const BURST_SHIFT: u32 = 10;
/// What segmentation offload takes at most, and so what a packet of the send buffer holds.
const PACKET_BYTES_MAX: u64 = 65_160;
/// Windows of a peer up to this size are filled by one packet, larger ones by two at least.
const SMALL_WINDOW_MAX: u64 = 536;
/// Paced bursts are longer on short paths: by the limit of offload, halved for each of these (Linux: `tcp_tso_rtt_log`).
const BURST_RTT_SHIFT: u32 = 9;

/// What is sent regardless of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forced {
    /// The oldest segment, after a timeout (RFC 6298, section 5.4).
    Oldest,
    /// A probe of the tail (RFC 8985, section 7.3): new data, or else the newest segment again.
    Probe,
}

/// The sender's output state.
#[derive(Debug, Clone, Default)]
pub(super) struct Output {
    pub forced: Option<Forced>,
    /// The peer is to be told that the window is reduced (RFC 3168, section 6.1.2).
    pub owes_cwr: bool,
    /// When data was last sent.
    pub last_sent_at: Option<Instant>,
    /// The host's own queue takes nothing.
    pub is_queue_full: bool,
    /// What was written leaves though it is not a full segment: `TCP_NODELAY` was set, and nothing written since.
    pub leaves_at_once: bool,
    /// The end of the small segment sent last.
    small_end: u64,
    /// Whether the window was full, the most that was outstanding, and the byte whose acknowledgement makes both old.
    pub is_window_limited: bool,
    pub usage_max: u32,
    usage_end: u64,
}

/// Spreads transmissions over time.
#[derive(Debug, Clone, Default)]
pub(super) struct Pacer {
    /// Bytes a second.
    pub rate: Option<u64>,
    next_at: Instant,
    /// Whether something waits for it.
    is_waited_for: bool,
}

impl Pacer {
    fn is_open(&self, now: Instant) -> bool {
        self.rate.is_none() || self.next_at <= now
    }

    /// A burst is sent. If the last one was sent late, this one makes up for it, by at most half of its time.
    fn handle_sent(&mut self, now: Instant, bytes: u32) {
        let Some(rate) = self.rate else { return };
        let span = Nanos(u64::from(bytes) * 1_000_000_000 / rate.max(1));
        let credit = now.since(self.next_at).min(span / 2);
        self.next_at = self.next_at.max(now) + span.saturating_sub(credit);
    }

    /// When what waits may leave.
    pub fn timer(&self) -> Option<Instant> {
        self.is_waited_for.then_some(self.next_at)
    }
}

impl Acknowledged {
    pub(super) const AHEAD: Acknowledged = Acknowledged { bytes: 0, is_ahead: true };
}

impl Sender {
    /// What to send next, if anything.
    pub fn poll(&mut self, now: Instant) -> Option<Outgoing> {
        let forced = self.output.forced.take();
        if self.output.is_queue_full {
            return None;
        }
        if let Some(forced) = forced
            && let Some(outgoing) = self.poll_forced(now, forced)
        {
            return Some(outgoing);
        }
        if self.unsent() == 0 && self.board.next_to_resend().is_none() {
            self.pacer.is_waited_for = false;
            return None;
        }
        self.pacer.is_waited_for = !self.pacer.is_open(now) && self.board.pipe() < self.window.cwnd;
        if !self.pacer.is_open(now) {
            return None;
        }
        if self.recovery.sends_new_first {
            // RFC 5682, section 3.1, step 2b: new data tells whether the timeout was spurious.
            let outgoing = self.poll_new(now);
            if outgoing.is_some() || self.next > self.recovery.end {
                return outgoing;
            }
            self.recovery.sends_new_first = false;
            self.recovery.is_f_rto = false;
        }
        self.poll_lost(now).or_else(|| match self.path_probe(now) {
            PathProbe::Sends(length) => Some(self.send_path_probe(now, length)),
            PathProbe::Waits => None,
            PathProbe::NotNow => self.poll_new(now),
        })
    }

    fn poll_forced(&mut self, now: Instant, forced: Forced) -> Option<Outgoing> {
        match forced {
            Forced::Oldest => {
                // An acknowledgement may have come first.
                let oldest = self.board.oldest()?;
                let is_wanted = !self.board.at(oldest).marks.contains(Marks::SACKED);
                is_wanted.then(|| self.resend(now, oldest))
            }
            Forced::Probe => {
                let outgoing = match self.new_data_length(1, u64::from(self.mss)) {
                    Some(length) => Some(self.send_new(now, length, self.mss)),
                    None => self.probe_tail(now),
                };
                self.probe_sent(now, outgoing.as_ref());
                outgoing
            }
        }
    }

    /// RFC 8985, section 7.3: the segment with the highest number, unless it has arrived.
    fn probe_tail(&mut self, now: Instant) -> Option<Outgoing> {
        let newest = self.board.newest()?;
        let has_arrived = self.board.at(newest).marks.contains(Marks::SACKED);
        (!has_arrived).then(|| self.resend(now, newest))
    }

    /// RFC 6675, section 5, step C, with NextSeg() rule 1: a lost segment, if the window has room.
    fn poll_lost(&mut self, now: Instant) -> Option<Outgoing> {
        let number = self.board.next_to_resend()?;
        if self.board.pipe() >= self.window.cwnd {
            return None;
        }
        // A peer that has shrunk its window still takes the first segment (RFC 9293, section 3.8.6).
        let record = self.board.at(number);
        if record.end() > self.window_end() && record.start != self.unacknowledged {
            return None;
        }
        Some(self.resend(now, number))
    }

    fn resend(&mut self, now: Instant, number: u32) -> Outgoing {
        let number = self.divide(number);
        let snapshot = self.rate.snapshot(now, false);
        let record = *self.board.at(number);
        self.board.resend(number, now, snapshot);
        self.note_retransmission(now);
        self.recovery.prr.sent += u64::from(self.is_reducing());
        let has_fin = record.marks.contains(Marks::FIN);
        let length = u32::from(record.length) - u32::from(has_fin && record.length > 0);
        let mut flags = Flags::default();
        if has_fin {
            flags.insert(Flags::FIN);
        }
        if record.end() >= self.written && self.pushed == self.written && length > 0 {
            flags.insert(Flags::PSH);
        }
        self.counts.resent += 1;
        self.counts.bytes_resent += u64::from(length);
        self.count_sent(now, length, 1);
        if self.board.oldest() == Some(number) {
            self.restart_timer_for_oldest(now);
        }
        // RFC 3168, section 6.1.5: retransmissions are not ECN-capable; those of DCTCP are in Linux.
        let is_capable = self.settings.ecn == Ecn::Dctcp;
        let codepoint = if is_capable { Codepoint::Ect0 } else { Codepoint::NotEct };
        let (sequence, segment) = (record.start, length);
        Outgoing { sequence, length, segment, flags, is_retransmission: true, codepoint }
    }

    fn poll_new(&mut self, now: Instant) -> Option<Outgoing> {
        if self.unsent() == 0 {
            return None;
        }
        if self.board.is_empty() && self.new_data_length(1, u64::from(self.mss)).is_some() {
            self.end_idle(now);
        }
        let room = self.window.cwnd.saturating_sub(self.board.pipe());
        // A FIN on its own is not held back by the window.
        let is_only_fin = self.next == self.written;
        if room == 0 && !is_only_fin {
            self.note_usage(true);
            return None;
        }
        let length = self.new_data_length(room, self.burst_bytes())?;
        Some(self.send_new(now, length, self.mss))
    }

    /// How many bytes of new data may leave at once; the peer's window takes them, and they are whole segments but for the
    /// last of the stream. 0 stands for a FIN alone.
    fn new_data_length(&self, segments: u32, burst_bytes: u64) -> Option<u32> {
        let mss = u64::from(self.mss);
        let record_end = self.buffer.record_end(self.next);
        let unsent = record_end.unwrap_or(self.written).saturating_sub(self.next);
        let room = self.window_end().saturating_sub(self.next);
        if unsent == 0 {
            return (self.unsent() > 0 && room > 0).then_some(0);
        }
        let length = unsent.min(u64::from(segments) * mss).min(burst_bytes).min(room);
        let rest = length % mss;
        let waits = || record_end.is_none_or(|end| end == self.written) && self.holds_small();
        let holds_rest = length < unsent || (rest > 0 && !self.is_finishing && waits());
        let length = if holds_rest { length - rest } else { length };
        // A burst has at most 2^32 bytes, as its limit has.
        (length > 0).then_some(length.min(u64::from(u32::MAX)) as u32)
    }

    /// A small segment waits while another small one is outstanding (Minshall's modification of Nagle's algorithm), or while
    /// more is to follow.
    fn holds_small(&self) -> bool {
        let nagle =
            self.settings.nagle && !self.board.is_empty() && self.output.small_end > self.unacknowledged;
        !self.output.leaves_at_once && (self.cork != Cork::Out || nagle)
    }

    /// Most bytes of a packet in the send buffer: half the largest window that the peer has had, in whole segments.
    pub(super) fn packet_bytes(&self) -> u64 {
        let mss = u64::from(self.mss);
        let window = self.largest_window;
        let limit = if window > SMALL_WINDOW_MAX { window / 2 } else { window };
        (limit.min(PACKET_BYTES_MAX) / mss).max(1) * mss
    }

    /// Bytes beyond those written that could be sent now. Pacing sends none ahead of time.
    pub(super) fn sendable(&self) -> u64 {
        if self.pacer.rate.is_some() || self.output.is_queue_full {
            return 0;
        }
        let segments = self.window.cwnd.saturating_sub(self.board.pipe());
        let mss = u64::from(self.mss);
        let room = self.window_end().saturating_sub(self.next) / mss;
        let end = self.next.saturating_add(room.min(u64::from(segments)) * mss);
        end.saturating_sub(self.written)
    }

    /// Maximum number of bytes sent together: what segmentation offload accepts, and no more than a pacing sender's
    /// burst.
    fn burst_bytes(&self) -> u64 {
        self.burst_bytes_at(self.pacer.rate, u64::from(self.settings.offload_bytes))
    }

    fn burst_bytes_at(&self, rate: Option<u64>, offload: u64) -> u64 {
        let mss = u64::from(self.mss);
        let limit = match rate {
            None => offload,
            Some(rate) => {
                let rtt = self.min_rtt.least().map_or(u64::MAX, |rtt| rtt.as_micros() >> BURST_RTT_SHIFT);
                let for_short_paths = if rtt < 32 { offload >> rtt } else { 0 };
                let paced = (rate >> BURST_SHIFT).saturating_add(for_short_paths);
                paced.max(u64::from(self.settings.burst_segments_min) * mss).min(offload)
            }
        };
        (limit / mss).max(1) * mss
    }

    /// Counts what leaves the send buffer. Linux splits it into bursts whether it paces or not.
    fn take_from_buffer(&mut self, now: Instant, from: u64, to: u64) {
        if self.buffer.counts_packets() {
            let rate = self.pacer.rate.or_else(|| window_pacing_rate(&self.context(now)));
            let burst_bytes = self.burst_bytes_at(rate, PACKET_BYTES_MAX);
            self.buffer.sent(from, to, burst_bytes);
        }
        self.buffer.leave_records(to);
    }

    /// Sends `length` bytes of new data in segments of at most `segment`, and the FIN if it follows them and the peer's window
    /// takes it.
    pub(super) fn send_new(&mut self, now: Instant, length: u32, segment: u32) -> Outgoing {
        let sequence = self.next;
        let is_first = self.board.is_empty();
        let snapshot = self.rate.snapshot(now, is_first);
        let end = sequence + u64::from(length);
        let has_fin = self.is_finishing && end == self.written && end < self.window_end();
        let mut left = length;
        let mut segments = 0;
        while left > 0 || (has_fin && segments == 0) {
            let payload = left.min(segment);
            left -= payload;
            let takes_fin = has_fin && left == 0;
            let size = payload as u16 + u16::from(takes_fin);
            let mut record = Record::new(self.next, size, now, snapshot);
            if takes_fin {
                record.marks.insert(Marks::FIN);
            }
            self.board.push(record);
            self.next = record.end();
            segments += 1;
        }
        if !length.is_multiple_of(segment) {
            self.output.small_end = end;
        }
        if self.is_reducing() {
            self.recovery.prr.sent += u64::from(segments);
        }
        let mut flags = Flags::default();
        if has_fin {
            flags.insert(Flags::FIN);
        }
        // The end of what was written is pushed, and the end of a burst, so that the peer does not wait to join more.
        let is_pushed = end == self.written && self.pushed == self.written;
        if length > 0 && (is_pushed || segments > 1 || self.buffer.record_end(sequence) == Some(end)) {
            flags.insert(Flags::PSH);
        }
        let is_ecn = self.settings.ecn != Ecn::Off;
        if is_ecn && length > 0 && std::mem::take(&mut self.output.owes_cwr) {
            flags.insert(Flags::CWR);
        }
        if self.buffer.has_boundaries() {
            self.take_from_buffer(now, sequence, end);
        }
        self.count_sent(now, length, segments);
        self.note_usage(self.board.pipe() >= self.window.cwnd);
        self.restart_timer_for_new(now, is_first);
        let is_capable = is_ecn && (length > 0 || self.settings.ecn == Ecn::Dctcp);
        let codepoint = if is_capable { Codepoint::Ect0 } else { Codepoint::NotEct };
        Outgoing { sequence, length, segment, flags, is_retransmission: false, codepoint }
    }

    fn count_sent(&mut self, now: Instant, bytes: u32, segments: u32) {
        self.counts.bytes_sent += u64::from(bytes);
        self.counts.segments_sent += u64::from(segments);
        self.output.last_sent_at = Some(now);
        if self.counts.segments_sent > UNPACED {
            self.pacer.handle_sent(now, bytes);
        }
    }

    /// Remembers how much of the window was in use, for a round trip.
    fn note_usage(&mut self, is_limited: bool) {
        let outstanding = self.board.len();
        let output = &mut self.output;
        let is_old = self.unacknowledged >= output.usage_end;
        if is_old || is_limited || (!output.is_window_limited && outstanding > output.usage_max) {
            output.is_window_limited = is_limited;
            output.usage_max = outstanding;
            output.usage_end = self.next;
        }
    }

    /// RFC 5681, section 4.1: after an idle time of more than a timeout, the window is no larger than the initial one. As
    /// in Linux, it is halved for each timeout that has passed.
    pub(super) fn end_idle(&mut self, now: Instant) {
        let Some(last) = self.output.last_sent_at else { return };
        let idle = now.since(last);
        let timeout = self.round_trip.timeout();
        if self.settings.restart_after_idle && !self.is_controlled && idle > timeout {
            self.window.ssthresh = self.current_threshold();
            let least = self.settings.initial_window.min(self.window.cwnd);
            let halvings = (idle.0 / timeout.0.max(1)).min(31) as u32;
            self.window.cwnd = (self.window.cwnd >> halvings).max(least);
        }
        self.pacer.is_waited_for = false;
        let context = self.context(now);
        self.controller.idle_ended(&context, idle);
        self.update_pacing_rate(now);
        // The idle time counts once.
        self.output.last_sent_at = Some(now);
    }

    /// What slow start may grow back to: three quarters of the window, as it was reached without a loss.
    pub(super) fn current_threshold(&self) -> u32 {
        let window = self.window;
        if self.is_reducing() {
            window.ssthresh
        } else {
            window.ssthresh.max((window.cwnd >> 1) + (window.cwnd >> 2))
        }
    }

    /// Whether there is something to send, nothing outstanding whose acknowledgement might let it go, and no room in the peer's
    /// window (RFC 9293, section 3.8.6.1), or it is held back for more to follow.
    pub fn waits_for_window(&self) -> bool {
        self.board.is_empty()
            && self.unsent() > 0
            && (self.output.is_queue_full || self.new_data_length(1, u64::from(self.mss)).is_none())
    }

    /// A segment that fills the rest of the peer's window, however small (RFC 9293, section 3.8.6.2.1: after a time the
    /// sender no longer waits for more room). `None` if there is no room at all.
    pub fn poll_partial(&mut self, now: Instant) -> Option<Outgoing> {
        let room = self.window_end().saturating_sub(self.next);
        let end = self.buffer.record_end(self.next).unwrap_or(self.written);
        let length = end.saturating_sub(self.next).min(u64::from(self.mss)).min(room);
        (length > 0).then(|| {
            let mut outgoing = self.send_new(now, length as u32, self.mss);
            outgoing.flags.insert(Flags::PSH);
            outgoing
        })
    }

    /// Whether recovery or ECN is reducing the window at present.
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.recovery.phase, Phase::Reduced | Phase::Recovery)
    }
}
