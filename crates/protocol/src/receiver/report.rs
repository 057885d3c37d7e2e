//! What a receiver reports about a lane: the missing frames, in stretches, each in a feedback of its own.
//!
//! On a fast or long link, more frames may be missing at a time than one feedback can list. New losses are reported
//! immediately, in as many feedback frames as they need. In addition, everything is repeated, stretch by stretch, as
//! often as the link end chooses, which compensates for lost reports.

use super::{Receiver, SlotState};
use crate::frame::{LaneFeedback, RANGES_MAX, RUN_LENGTH_MAX, SequenceRange};
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use crate::time::Instant;
use core::ops::Range;

/// How far losses have been reported.
#[derive(Debug, Clone)]
pub(super) struct ReportProgress {
    /// Everything missing before this has been listed in some feedback.
    pub(super) until: u64,
    /// The part that is still to be repeated.
    pub(super) again: Range<u64>,
}

impl ReportProgress {
    /// The state at the beginning of a session.
    pub(super) fn new(first: u64) -> ReportProgress {
        ReportProgress { until: first, again: first..first }
    }
}

impl Receiver {
    /// A report on what has not been reported yet, as far as one feedback holds it; on everything if that is not much
    /// more.
    pub(crate) fn report_new_losses(&mut self, now: Instant) -> LaneFeedback {
        let all_fits = self.missing <= RANGES_MAX as u64;
        self.report(now, if all_fits { self.cumulative } else { self.reported.until.max(self.cumulative) })
    }

    /// Begins to repeat everything, unless a repetition is in progress.
    pub(crate) fn begin_repetition(&mut self) {
        if !self.has_more_repetition() {
            self.reported.again = self.cumulative..self.highest;
        }
    }

    /// A report on the next stretch of the repetition.
    pub(crate) fn report_repetition(&mut self, now: Instant) -> LaneFeedback {
        let feedback = self.report(now, self.reported.again.start.max(self.cumulative));
        // Both are within one window.
        self.reported.again.start = feedback.covered.expand(self.highest).unwrap_or(self.highest);
        feedback
    }

    /// Whether the repetition has not reached its end.
    pub(crate) fn has_more_repetition(&self) -> bool {
        self.missing > 0 && self.reported.again.start.max(self.cumulative) < self.reported.again.end
    }

    /// The first run of missing frames.
    pub(crate) fn first_hole(&self) -> Option<SequenceRange> {
        let run = (self.cumulative..self.highest).take_while(|&sequence| self.is_missing(sequence));
        let length = run.count() as u16;
        (length > 0).then(|| SequenceRange { first: SequenceNumber::from_absolute(self.cumulative), length })
    }

    /// Records that a hole was reported by itself, in order, as the published program does.
    pub(crate) fn report_hole(&mut self, now: Instant, hole: SequenceRange) {
        let Some(first) = hole.first.expand(self.highest) else { return };
        let end = first + u64::from(hole.length);
        for sequence in first.max(self.reported.until)..end {
            self.slots[(sequence & self.mask) as usize].listed_at = now;
        }
        self.reported.until = self.reported.until.max(end);
    }

    /// A report with the cumulative number, and what is missing from `from` on, as far as one feedback holds it.
    fn report(&mut self, now: Instant, from: u64) -> LaneFeedback {
        let wire = SequenceNumber::from_absolute;
        let cumulative = LongSequenceNumber::from_absolute(self.cumulative);
        let mut feedback = LaneFeedback::new(cumulative, wire(self.highest), self.paused);
        (feedback.from, feedback.by_clock) = (wire(from), self.limits.by_clock_alone);
        let mut left = if from == self.cumulative { self.missing } else { u64::MAX };
        let (mut at, mut covered) = (from, self.highest);
        while left > 0 {
            while at < self.highest && !self.is_missing(at) {
                at += 1;
            }
            let start = at;
            let overflowed = start < self.highest && self.is_overflowed(start);
            let end = self.highest.min(start + u64::from(RUN_LENGTH_MAX));
            while at < end && self.is_missing(at) && self.is_overflowed(at) == overflowed {
                at += 1;
            }
            if start == at {
                break;
            }
            let length = at - start;
            left -= length;
            let run = SequenceRange { first: wire(start), length: length as u16 };
            let fits = if overflowed { feedback.push_overflowed(run) } else { feedback.push_missing(run) };
            if !fits {
                covered = start;
                break;
            }
            self.listed(now, start.max(self.reported.until)..at);
        }
        feedback.covered = wire(covered);
        self.reported.until = self.reported.until.max(covered);
        feedback
    }

    /// Records when frames were first reported: from now on the sender can resend them.
    fn listed(&mut self, now: Instant, new: Range<u64>) {
        for sequence in new {
            let slot = &mut self.slots[(sequence & self.mask) as usize];
            debug_assert_eq!(slot.state, SlotState::Missing);
            slot.listed_at = now;
        }
    }
}
