//! Acknowledgements: first counted, then acted upon.

use super::delivery_rate::Newest;
use super::rack::Rack;
use super::scoreboard::{Marks, Record};
use super::send_buffer::Cork;
use super::{Acknowledged, REORDERING_MAX, Sender, is_older};
use crate::tcp::config::Ecn;
use crate::tcp::congestion::{AckSample, CongestionControl, Phase};
use crate::tcp::receiver::clock;
use crate::tcp::segment::{Flags, SackBlocks, Segment};
use crate::time::{Instant, Nanos};
use std::ops::Range;

/// One acknowledgement and what it has changed so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Ack {
    pub now: Instant,
    /// SND.UNA before it.
    pub previous: u64,
    /// Whether it acknowledges new data cumulatively.
    pub has_advanced: bool,
    /// The timestamp that it echoes.
    pub echo: Option<u32>,
    /// Whether it echoes congestion (ECE).
    pub is_marked: bool,
    /// Whether it is a duplicate as defined in RFC 5681, section 2, if there is no SACK.
    pub is_duplicate: bool,
    /// Whether it is neither data nor a window update, so that it may be a duplicate.
    pub is_pure: bool,
    /// Whether it reports a duplicate (RFC 2883), and that of a loss probe.
    pub has_dsack: bool,
    pub has_probe_dsack: bool,
    /// Segments newly acknowledged, cumulatively or selectively, and cumulatively alone.
    pub delivered: u32,
    pub acknowledged: u32,
    /// Whether blocks are new.
    pub has_new_sacks: bool,
    /// Whether a segment has arrived that was sent once only and before the recovery point (RFC 5682, section 3.1).
    pub is_original_delivered: bool,
    /// Whether to restart the timer.
    pub restarts_timer: bool,
    /// State before it.
    pub in_flight_before: u32,
    lost_before: u64,
    sacked_end_before: u64,
    /// When segments were sent that were sent once: the first and the last of those newly acknowledged, and SACKed.
    acknowledged_sent: Option<(Instant, Instant)>,
    sacked_sent: Option<(Instant, Instant)>,
    has_resent: bool,
    /// Where the lowest segment begins that has arrived after one above it.
    reordered_from: Option<u64>,
    newest: Newest,
}

/// What both kinds of delivery need.
struct Measures<'a> {
    rack: &'a mut Rack,
    min_rtt: Nanos,
    recovery_end: u64,
}

impl Ack {
    /// Counts a segment that was neither acknowledged nor SACKed before.
    fn deliver(&mut self, record: &Record, is_sack: bool, measures: &mut Measures<'_>) {
        self.delivered += 1;
        self.newest.delivered(record);
        measures.rack.delivered(self.now, record, measures.min_rtt);
        if record.marks.contains(Marks::EVER_RESENT) {
            return;
        }
        let sent = if is_sack { &mut self.sacked_sent } else { &mut self.acknowledged_sent };
        *sent = Some((sent.map_or(record.sent_at, |(first, _)| first), record.sent_at));
        if record.end() <= measures.recovery_end {
            self.is_original_delivered = true;
        }
        if record.start < self.sacked_end_before {
            self.reordered_from = Some(self.reordered_from.map_or(record.start, |low| low.min(record.start)));
        }
    }

    /// Since `sent_at`.
    fn since(&self, sent_at: Instant) -> Nanos {
        self.now.since(sent_at)
    }
}

impl Sender {
    /// An acceptable segment with ACK has arrived.
    pub fn handle_ack(&mut self, now: Instant, segment: &Segment) -> Acknowledged {
        if segment.acknowledgement > self.next {
            return Acknowledged::AHEAD;
        }
        self.check_application_limit();
        if self.cork == Cork::UntilNext {
            self.cork = Cork::Out;
        }
        let has_new_window = self.update_peer_window(segment);
        if self.board.is_empty() {
            self.handle_late_dsack(now, segment, has_new_window);
            return Acknowledged::default();
        }
        let mut ack = self.begin(now, segment, has_new_window);
        if self.settings.sack {
            self.handle_sack(&mut ack, segment.acknowledgement, &segment.sack);
        }
        self.handle_cumulative(&mut ack, segment.acknowledgement);
        if !self.settings.sack {
            self.count_without_sack(&mut ack);
        }
        self.note_reordering(&ack);
        let mut sample = self.measure(&mut ack);
        let context = self.context(now);
        self.controller.acknowledged(&context, &sample, &mut self.window);
        self.settle_probe(&ack, segment.acknowledgement);
        let look_again = self.respond(&mut ack);
        sample.lost = (self.board.lost_total() - ack.lost_before).min(u64::from(u32::MAX)) as u32;
        self.set_window(&ack, &sample);
        self.update_pacing_rate(now);
        self.restart_timer_after_ack(&ack, look_again);
        Acknowledged { bytes: self.unacknowledged - ack.previous, is_ahead: false }
    }

    fn begin(&mut self, now: Instant, segment: &Segment, has_new_window: bool) -> Ack {
        let has_payload = segment.sequence_length() > 0;
        let echo = segment.timestamps.map(|timestamps| timestamps.echo).filter(|&echo| echo != 0);
        let is_pure = !has_payload && !has_new_window;
        Ack {
            now,
            previous: self.unacknowledged,
            echo: if self.settings.timestamps { echo } else { None },
            is_marked: self.settings.ecn != Ecn::Off && segment.flags.contains(Flags::ECE),
            is_duplicate: is_pure && segment.acknowledgement == self.unacknowledged,
            is_pure,
            in_flight_before: self.board.pipe(),
            lost_before: self.board.lost_total(),
            sacked_end_before: self.board.highest_sacked(self.unacknowledged),
            ..Ack::default()
        }
    }

    /// RFC 9293, section 3.10.7.4: SND.WND, from the newest segment. Returns whether the window has changed.
    fn update_peer_window(&mut self, segment: &Segment) -> bool {
        let window = u64::from(segment.window);
        let is_newer = segment.acknowledgement > self.unacknowledged
            || segment.sequence > self.window_sequence
            || (segment.sequence == self.window_sequence && (window > self.peer_window || window == 0));
        if segment.acknowledgement < self.unacknowledged || !is_newer {
            return false;
        }
        let has_changed = window != self.peer_window;
        self.set_peer_window(window, segment.sequence);
        has_changed
    }

    /// Nothing is outstanding, and still a DSACK may say that the last retransmissions were not needed (RFC 3708) or that
    /// segments are reordered (RFC 8985, section 6.2, step 4).
    fn handle_late_dsack(&mut self, now: Instant, segment: &Segment, has_new_window: bool) {
        if !self.settings.sack {
            return;
        }
        let mut ack = self.begin(now, segment, has_new_window);
        self.handle_sack(&mut ack, segment.acknowledgement, &segment.sack);
        self.settle_probe(&ack, segment.acknowledgement);
        if ack.has_dsack && matches!(self.recovery.phase, Phase::Open | Phase::Disorder) {
            self.try_undo_by_dsack(now);
        }
    }

    /// RFC 2018, section 5, and RFC 2883, section 4.
    fn handle_sack(&mut self, ack: &mut Ack, acknowledgement: u64, sack: &SackBlocks) {
        let mut blocks = sack.iter();
        let (first, second) = (blocks.next(), blocks.next());
        let Some(first) = first else { return };
        let is_inside =
            second.as_ref().is_some_and(|second| second.start <= first.start && first.end <= second.end);
        let is_dsack = first.end <= acknowledgement || is_inside;
        if is_dsack {
            self.handle_dsack(ack, &first);
        }
        // In rising order, as each block is marked up to its end before the next is looked at.
        for block in sack.iter().skip(usize::from(is_dsack)) {
            self.handle_block(ack, block);
        }
        ack.has_new_sacks = ack.delivered > 0;
    }

    fn handle_block(&mut self, ack: &mut Ack, block: Range<u64>) {
        let is_valid = block.start < block.end && block.end <= self.next && block.start >= ack.previous;
        if !is_valid {
            return;
        }
        let mut measures = Measures {
            rack: &mut self.rack,
            min_rtt: self.min_rtt.least().unwrap_or_default(),
            recovery_end: self.recovery.end,
        };
        self.board.sack(block, |record| ack.deliver(record, true, &mut measures));
    }

    /// A segment has arrived twice (RFC 3708, section 2). If more duplicates are reported than were sent, the network
    /// has duplicated them.
    fn handle_dsack(&mut self, ack: &mut Ack, block: &Range<u64>) {
        let length = block.end.saturating_sub(block.start);
        if length == 0 || length > self.largest_window {
            return;
        }
        let segments = length.div_ceil(u64::from(self.mss));
        ack.has_probe_dsack = segments == 1 && self.probe.is_end(block.end);
        self.counts.duplicates_reported += segments;
        if self.counts.duplicates_reported > self.counts.resent {
            return;
        }
        ack.has_dsack = true;
        if !ack.has_probe_dsack && self.settings.adapt_reordering_window {
            self.rack.handle_dsack(self.unacknowledged, self.next);
        }
        if block.start < self.unacknowledged || self.board.is_resent_and_sacked(block.start) {
            self.recovery.undo.handle_dsack(block.end, segments);
        }
    }

    fn handle_cumulative(&mut self, ack: &mut Ack, acknowledgement: u64) {
        if acknowledgement <= self.unacknowledged {
            return;
        }
        ack.has_advanced = true;
        let min_rtt = self.min_rtt.least().unwrap_or_default();
        let mut measures = Measures { rack: &mut self.rack, min_rtt, recovery_end: self.recovery.end };
        let has_sacked_original = ack.is_original_delivered;
        let mut fills_hole = false;
        while let Some(head) = self.board.head() {
            if head.end() > acknowledgement {
                break;
            }
            let Some(record) = self.board.pop() else { break };
            ack.acknowledged += 1;
            let is_resent = record.marks.contains(Marks::EVER_RESENT);
            ack.has_resent |= is_resent;
            fills_hole |= is_resent && ack.since(record.sent_at) >= min_rtt;
            if !record.marks.contains(Marks::SACKED) {
                ack.deliver(&record, false, &mut measures);
            }
        }
        if fills_hole {
            // RFC 5682, section 3.1, step 2: a retransmission that has arrived lets what is above it be acknowledged, which
            // the receiver may have held for long while the blocks that said so were lost. As in RFC 8985, section 6.2,
            // step 2, it was the original that arrived if the answer came sooner than a round trip.
            ack.is_original_delivered = has_sacked_original;
        }
        if self.board.head().is_some_and(|head| head.start < acknowledgement) {
            self.board.trim(acknowledgement);
        }
        self.counts.bytes_acked += acknowledgement - self.unacknowledged;
        self.unacknowledged = acknowledgement;
        self.buffer.acknowledged(acknowledgement);
        self.settle_path_probe();
        self.unanswered_since = None;
        self.counts.timeouts_in_a_row = 0;
        ack.restarts_timer |= ack.acknowledged > 0;
    }

    /// A peer without SACK: each duplicate stands for a segment that has arrived (RFC 5681, section 3.2), and what is then
    /// acknowledged has been counted already.
    fn count_without_sack(&mut self, ack: &mut Ack) {
        // What was acknowledged beside a retransmission may have arrived long before, out of order.
        ack.is_original_delivered &= !ack.has_resent;
        if ack.has_advanced {
            if ack.acknowledged > 0 {
                ack.delivered = self.board.uncount_duplicates(ack.acknowledged);
            }
        } else if ack.is_duplicate && self.board.count_duplicate() {
            ack.delivered += 1;
        }
    }

    /// The degree of reordering is the distance between segments that have arrived in reverse order (the idea is from
    /// RFC 4653, section 3, the measure from Linux).
    fn note_reordering(&mut self, ack: &Ack) {
        if let Some(low) = ack.reordered_from
            && self.settings.sack
        {
            self.raise_reordering(low, ack.sacked_end_before);
        }
    }

    /// A segment that begins at `low` has arrived after one that ends at `high`.
    pub(super) fn raise_reordering(&mut self, low: u64, high: u64) {
        if low >= high {
            return;
        }
        let degree = (high - low).div_ceil(u64::from(self.mss)).min(u64::from(REORDERING_MAX)) as u32;
        self.reordering = self.reordering.max(degree);
        self.counts.reordering_seen = self.counts.reordering_seen.saturating_add(1);
    }

    /// Round-trip time, timeout and delivery rate.
    fn measure(&mut self, ack: &mut Ack) -> AckSample {
        let (rtt, latest) = self.round_trip_of(ack);
        if let Some(latest) = latest {
            self.min_rtt.sample(ack.now, latest);
        }
        if let Some(rtt) = rtt {
            self.round_trip.sample(rtt, self.unacknowledged, self.next);
        }
        if !ack.has_advanced
            && let (Some((first, _)), Some(head)) = (ack.sacked_sent, self.board.head())
        {
            // What was sent since the oldest segment does not postpone its timeout.
            ack.restarts_timer |= first < head.sent_at;
        }
        let rate = self.rate.sample(ack.now, ack.delivered, ack.newest, self.min_rtt.least());
        if ack.is_marked {
            self.rate.delivered_marked += u64::from(ack.delivered);
        }
        AckSample {
            delivered: ack.delivered,
            acknowledged: ack.acknowledged,
            acknowledged_bytes: self.unacknowledged - ack.previous,
            lost: 0,
            marked: ack.is_marked,
            rtt: latest,
            in_flight_before: ack.in_flight_before,
            rate,
        }
    }

    /// The samples for the timeout, from the segment that was sent first, and for congestion control, from the one that was
    /// sent last. RFC 6298, section 3 (Karn): segments that were retransmitted give none, but for their timestamps
    /// (RFC 7323, section 4.1).
    fn round_trip_of(&self, ack: &Ack) -> (Option<Nanos>, Option<Nanos>) {
        let acknowledged = ack.acknowledged_sent.filter(|_| !ack.has_resent);
        let latest = ack.sacked_sent.or(acknowledged).map(|(_, last)| ack.since(last));
        if let Some((first, _)) = acknowledged.or(ack.sacked_sent) {
            return (Some(ack.since(first)), latest);
        }
        match ack.echo {
            Some(echo) if ack.acknowledged > 0 && !is_older(clock(ack.now), echo) => {
                let ticks = clock(ack.now).wrapping_sub(echo).max(1);
                let rtt = Nanos::from_millis(u64::from(ticks));
                // An echo older than the connection would be nobody's.
                let rtt = (ticks < i32::MAX as u32 && rtt.0 <= ack.now.0.max(1_000_000)).then_some(rtt);
                (rtt, rtt)
            }
            _ => (None, None),
        }
    }
}
