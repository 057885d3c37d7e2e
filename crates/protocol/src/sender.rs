//! The sender of one lane: sequence numbers, Tx buffer, retransmission (sections 3.1, 3.4, A.2).
//!
//! The life of a frame here: [`Sender::send`] numbers it and keeps its handle; a feedback either releases it or lists
//! it as missing; a missing frame is queued, and [`Sender::poll_retransmission`] emits its copies; the feedback that no
//! longer lists it releases it.
//!
//! When may a frame be retransmitted again? The link is a queue: once the receiver has seen anything that was sent
//! *after* the copies, they are known to be lost. Each retransmission therefore records a [`Mark`], and a later report
//! counts only if it was written beyond that mark. This needs no timer and sends no spurious copies, and stale or
//! repeated reports do no harm.

mod beyond;
mod leading;
mod path_change;
mod report;
mod two_paths;
mod withdrawal;

use crate::config::Config;
use crate::frame::{FrameHandle, LaneFeedback, SequenceRange};
use crate::mode::Mode;
use crate::sequence::{FIRST_ABSOLUTE, LongSequenceNumber, SequenceNumber, WINDOW_MAX};
use crate::stats::{BufferStats, Stats};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use two_paths::NotFollowed;

/// What had been sent on the link at some moment: the next new sequence number, and the number of dummies.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    next: u64,
    dummy_stamp: u16,
}

/// What is known about what a receiver had seen when it wrote a report.
#[derive(Debug, Clone, Copy)]
enum SeenByReceiver {
    /// Nothing is known.
    Unknown,
    /// The latest dummy, by its stamp. About frames, the report claims more than was sent.
    Dummies(u16),
    /// The latest dummy, by its stamp, and the frames.
    All(u16),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SlotState {
    /// Released, or never used.
    #[default]
    Free,
    /// Sent, with unknown fate.
    Outstanding,
    /// Reported missing, copies not sent yet.
    Queued,
    /// Reported missing, copies sent.
    Retransmitted,
}

/// The state that every frame needs. Its [`Mark`] is stored elsewhere: few frames are retransmitted, and a window of
/// small slots stays in the cache.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    frame: FrameHandle,
    bytes: u32,
    rounds: u8,
    state: SlotState,
}

const _: () = assert!(size_of::<Slot>() == 12);

/// A frame whose copies have not all been sent.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    sequence: u64,
    /// Copies still to send; 0 until the first goes out, which fixes their number.
    copies_left: u8,
    /// Whether they were lost before they were asked for, with the path that they were on: the link has then lost nothing.
    by_path_change: bool,
}

impl Waiting {
    fn new(sequence: u64) -> Waiting {
        Waiting { sequence, copies_left: 0, by_path_change: false }
    }
}

/// The sender of one lane.
#[derive(Debug)]
pub(crate) struct Sender {
    slots: Box<[Slot]>,
    /// When the copies of a frame in [`SlotState::Retransmitted`] were sent.
    marks: Box<[Mark]>,
    mask: u64,
    window_frames: u64,
    window_bytes: u64,
    mode: Mode,
    max_rounds: u8,
    /// Whether frames are resent more often than that, because there is another path, and whether one has been.
    is_patient: bool,
    pub(crate) is_stuck: bool,
    /// Whether the peer's receiver gives up by timeout, according to its newest feedback.
    pub(crate) by_clock: bool,
    /// First number not acknowledged cumulatively.
    first: u64,
    /// Every frame below it is released or in `missing`.
    covered: u64,
    /// One beyond the highest frame that a feedback has reported on. It is above `covered` if a frame in between is
    /// lost: there, a frame may be in any state until the report is repeated.
    touched: u64,
    /// The next new number.
    next: u64,
    /// Everything before it is released. It is updated only when somebody asks.
    held_from: u64,
    /// The value of `held_from` at its last announcement, and one beyond the last frame given up.
    announced: u64,
    exhausted: u64,
    /// The next new number at the time of that announcement.
    announced_at: u64,
    buffer: BufferStats,
    /// Frames below `covered` that were reported missing and are not yet released, ascending.
    missing: VecDeque<u64>,
    retransmit_queue: VecDeque<Waiting>,
    not_followed: NotFollowed,
    /// Whether the peer's receiver asked to hold the normal queue.
    pub(crate) paused: bool,
}

impl Sender {
    pub(crate) fn new(mode: Mode, config: &Config) -> Sender {
        let Config { window_frames, window_bytes, max_rounds, .. } = *config;
        assert!(
            window_frames.is_power_of_two() && window_frames <= WINDOW_MAX,
            "checked by Config::validate"
        );
        let capacity = window_frames as usize;
        Sender {
            slots: vec![Slot::default(); capacity].into_boxed_slice(),
            marks: vec![Mark::default(); capacity].into_boxed_slice(),
            mask: u64::from(window_frames) - 1,
            window_frames: u64::from(window_frames),
            window_bytes,
            mode,
            max_rounds,
            is_patient: false,
            is_stuck: false,
            by_clock: false,
            first: FIRST_ABSOLUTE,
            covered: FIRST_ABSOLUTE,
            touched: FIRST_ABSOLUTE,
            next: FIRST_ABSOLUTE,
            held_from: FIRST_ABSOLUTE,
            announced: FIRST_ABSOLUTE,
            exhausted: FIRST_ABSOLUTE,
            announced_at: FIRST_ABSOLUTE,
            buffer: BufferStats::default(),
            missing: VecDeque::with_capacity(capacity),
            retransmit_queue: VecDeque::with_capacity(capacity),
            not_followed: NotFollowed::default(),
            paused: false,
        }
    }

    /// Narrows the window to what the receiver can hold.
    pub(crate) fn limit_window(&mut self, frames: u32) {
        self.window_frames = u64::from(frames).clamp(1, self.mask + 1);
    }

    /// Replaces the bounds, for parameters that are measured after the start.
    pub(crate) fn set_limits(&mut self, config: &Config) {
        (self.window_bytes, self.max_rounds) = (config.window_bytes, config.max_rounds);
    }

    /// Starts a new session at `first`. Frames of the old one must have been released or abandoned.
    pub(crate) fn start(&mut self, first: u64) {
        debug_assert!(self.is_drained(), "abandon before start");
        (self.first, self.covered, self.touched, self.next) = (first, first, first, first);
        (self.held_from, self.announced, self.exhausted) = (first, first, first);
        self.announced_at = first;
        (self.paused, self.by_clock) = (false, false);
        self.forget_rounds();
    }

    #[inline]
    fn index(&self, sequence: u64) -> usize {
        (sequence & self.mask) as usize
    }

    /// Whether a frame of `bytes` may be sent now, as far as the bounds of the Tx buffer are concerned. A frame longer
    /// than the bound is sent alone: if it were held, everything behind it would wait forever.
    #[inline]
    pub(crate) fn has_room(&self, bytes: u32) -> bool {
        let fits = self.buffer.now + u64::from(bytes) <= self.window_bytes || self.buffer.frames == 0;
        self.next - self.first < self.window_frames && fits
    }

    /// Numbers a frame and keeps it. The caller has checked [`Sender::has_room`].
    #[inline]
    pub(crate) fn send(&mut self, frame: FrameHandle, bytes: u32) -> SequenceNumber {
        debug_assert!(self.next - self.first < self.window_frames, "send without room");
        let sequence = self.next;
        self.next += 1;
        let index = self.index(sequence);
        self.slots[index] = Slot { frame, bytes, rounds: 0, state: SlotState::Outstanding };
        self.buffer.add(u64::from(bytes));
        SequenceNumber::from_absolute(sequence)
    }

    /// A cumulative acknowledgement alone, as piggybacked on data.
    #[inline]
    pub(crate) fn handle_ack(&mut self, next: SequenceNumber, released: &mut VecDeque<FrameHandle>) -> bool {
        let Some(next) = next.expand(self.first) else { return false };
        if next > self.next {
            return false;
        }
        self.acknowledge(next, released);
        true
    }

    /// Whether one lane of a feedback is within a window of the present.
    pub(crate) fn is_of_this_time(&self, feedback: &LaneFeedback) -> bool {
        feedback.cumulative.expand(self.first).is_some()
    }

    /// Whether more has been acknowledged than one lane of a feedback knows, which means that it is late.
    pub(crate) fn is_beyond(&self, feedback: &LaneFeedback) -> bool {
        feedback.cumulative.expand(self.first).is_some_and(|cumulative| cumulative < self.first)
    }

    /// Handles one lane of a feedback; `false` if it does not fit what was sent (malformed, or of another time).
    pub(crate) fn handle_feedback(
        &mut self,
        feedback: &LaneFeedback,
        dummy_stamp: u16,
        released: &mut VecDeque<FrameHandle>,
        stats: &mut Stats,
    ) -> bool {
        self.take_report(feedback, SeenByReceiver::All(dummy_stamp), released, stats)
    }

    /// Handles the authors' loss notification of one hole. It says neither what lies behind the hole nor what had been
    /// seen when it was written, so it can only request a first retransmission.
    pub(crate) fn handle_notification(
        &mut self,
        next: SequenceNumber,
        hole: SequenceRange,
        released: &mut VecDeque<FrameHandle>,
        stats: &mut Stats,
    ) -> bool {
        let Some(cumulative) = next.expand(self.first) else { return false };
        let end = hole.first.plus(u64::from(hole.length));
        let mut lane = LaneFeedback::new(LongSequenceNumber::from_absolute(cumulative), end, self.paused);
        lane.push_missing(hole) && self.take_report(&lane, SeenByReceiver::Unknown, released, stats)
    }

    fn take_report(
        &mut self,
        feedback: &LaneFeedback,
        known: SeenByReceiver,
        released: &mut VecDeque<FrameHandle>,
        stats: &mut Stats,
    ) -> bool {
        // The long number shows the age; the others are within a window of it.
        let Some(cumulative) = feedback.cumulative.expand(self.first) else { return false };
        let numbers = [feedback.from, feedback.covered, feedback.seen];
        let [Some(from), Some(covered), Some(seen)] = numbers.map(|number| number.expand(self.first)) else {
            return false;
        };
        if !([cumulative, from, covered, seen, self.next].is_sorted()) {
            return false;
        }
        let mut at = from;
        for range in feedback.missing() {
            match range.first.expand(self.first) {
                Some(start) if start >= at && start + u64::from(range.length) <= covered => {
                    at = start + u64::from(range.length);
                }
                _ => return false,
            }
        }
        self.acknowledge(cumulative, released);
        let seen = match known {
            SeenByReceiver::Unknown => None,
            SeenByReceiver::Dummies(dummy_stamp) => Some(Mark { next: 0, dummy_stamp }),
            SeenByReceiver::All(dummy_stamp) => Some(Mark { next: seen, dummy_stamp }),
        };
        self.check_announced(cumulative, seen);
        let from = from.max(self.first);
        if covered > from {
            self.update_missing(feedback, from..covered, seen, released, stats);
        }
        true
    }

    /// Emits the next copy to retransmit: its handle and number. `copies` is the number of copies for one loss,
    /// `dummy_stamp` the number of dummies sent so far.
    pub(crate) fn poll_retransmission(
        &mut self,
        copies: u8,
        dummy_stamp: u16,
        stats: &mut Stats,
    ) -> Option<(FrameHandle, SequenceNumber)> {
        loop {
            let (slots, mask) = (&mut self.slots, self.mask);
            let waiting = self.retransmit_queue.front_mut()?;
            let sequence = waiting.sequence;
            let index = (sequence & mask) as usize;
            let slot = &mut slots[index];
            if sequence < self.first || slot.state != SlotState::Queued {
                // It was acknowledged in the meantime.
                self.retransmit_queue.pop_front();
                continue;
            }
            if waiting.copies_left == 0 {
                waiting.copies_left = copies;
            }
            waiting.copies_left -= 1;
            if waiting.copies_left == 0 {
                slot.state = SlotState::Retransmitted;
                // A round on the path that was left says nothing about this one.
                slot.rounds = if waiting.by_path_change { 0 } else { slot.rounds.saturating_add(1) };
                self.marks[index] = Mark { next: self.next, dummy_stamp };
                self.retransmit_queue.pop_front();
            }
            stats.retransmitted_copies += 1;
            stats.retransmitted_bytes += u64::from(slot.bytes);
            return Some((slot.frame, SequenceNumber::from_absolute(sequence)));
        }
    }

    /// The frame whose copies [`Sender::poll_retransmission`] would emit next.
    #[inline]
    pub(crate) fn next_retransmission(&self) -> Option<FrameHandle> {
        self.retransmit_queue.iter().find_map(|&Waiting { sequence, .. }| {
            let slot = &self.slots[self.index(sequence)];
            (sequence >= self.first && slot.state == SlotState::Queued).then_some(slot.frame)
        })
    }

    /// Lets the copies of `frame` go next, if it waits for retransmission. Another frame with some copies sent keeps
    /// the rest for later.
    pub(crate) fn prefer_retransmission(&mut self, frame: FrameHandle) -> bool {
        let waits = |&Waiting { sequence, .. }: &Waiting| {
            let slot = &self.slots[(sequence & self.mask) as usize];
            sequence >= self.first && slot.state == SlotState::Queued && slot.frame == frame
        };
        let Some(place) = self.retransmit_queue.iter().position(waits) else { return false };
        if let Some(waiting) = self.retransmit_queue.remove(place) {
            self.retransmit_queue.push_front(waiting);
        }
        true
    }

    /// Whether any frame has been reported missing and is not yet acknowledged.
    pub(crate) fn is_repairing(&self) -> bool {
        !self.missing.is_empty() || !self.retransmit_queue.is_empty() || self.touched != self.covered
    }

    /// Frames outstanding, how many of those are not covered, and the Tx buffer in bytes.
    pub(crate) fn steady_state(&self) -> (u64, u64, u64) {
        (self.next - self.first, self.next - self.covered, self.buffer.now)
    }

    /// Advances as if `frames` more had been sent and acknowledged; outstanding frames keep their order.
    pub(crate) fn fast_forward(&mut self, frames: u64) {
        let outstanding: Vec<Slot> = (self.first..self.next)
            .map(|sequence| core::mem::take(&mut self.slots[self.index(sequence)]))
            .collect();
        self.first += frames;
        self.covered += frames;
        self.touched += frames;
        self.next += frames;
        for (sequence, slot) in (self.first..).zip(outstanding) {
            let index = self.index(sequence);
            self.slots[index] = slot;
        }
    }

    /// Releases everything unacknowledged, whose fate is unknown. Returns the number of frames.
    pub(crate) fn abandon(&mut self, released: &mut VecDeque<FrameHandle>) -> u64 {
        let mut count = 0;
        for sequence in self.first..self.next {
            count += u64::from(self.release(sequence, released));
        }
        (self.first, self.covered, self.touched) = (self.next, self.next, self.next);
        self.missing.clear();
        self.retransmit_queue.clear();
        self.paused = false;
        self.window_frames = self.mask + 1;
        count
    }

    /// Whether any copy waits to be retransmitted.
    #[inline]
    pub(crate) fn has_retransmissions(&self) -> bool {
        !self.retransmit_queue.is_empty() && self.next_retransmission().is_some()
    }

    /// Whether everything sent has been acknowledged.
    pub(crate) fn is_drained(&self) -> bool {
        self.first == self.next
    }

    /// The next new number, as dummies announce it.
    pub(crate) fn next_sequence(&self) -> SequenceNumber {
        SequenceNumber::from_absolute(self.next)
    }

    /// Frames sent and not yet acknowledged cumulatively.
    pub(crate) fn outstanding(&self) -> u64 {
        self.next - self.first
    }

    pub(crate) fn buffer(&self) -> &BufferStats {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut BufferStats {
        &mut self.buffer
    }

    #[inline]
    fn acknowledge(&mut self, cumulative: u64, released: &mut VecDeque<FrameHandle>) {
        if cumulative <= self.first {
            return;
        }
        if self.first < self.touched {
            self.release_touched(cumulative, released);
        }
        let begin = self.first.max(self.touched);
        self.first = cumulative;
        if begin < cumulative {
            self.release_outstanding(begin, cumulative, released);
            self.touched = cumulative;
        }
        self.covered = self.covered.max(cumulative);
    }

    /// Releases frames that a feedback has reported on and left in place.
    #[inline(never)]
    fn release_touched(&mut self, cumulative: u64, released: &mut VecDeque<FrameHandle>) {
        for sequence in self.first..cumulative.min(self.touched) {
            self.release(sequence, released);
        }
        while self.missing.front().is_some_and(|&sequence| sequence < cumulative) {
            self.missing.pop_front();
        }
        self.forget_acknowledged();
    }

    /// Releases `begin..end`, none of which has been reported on: the common case, in one or two slices.
    #[inline]
    fn release_outstanding(&mut self, begin: u64, end: u64, released: &mut VecDeque<FrameHandle>) {
        if end - begin == 1 {
            let index = self.index(begin);
            let slot = &mut self.slots[index];
            slot.state = SlotState::Free;
            self.buffer.remove(u64::from(slot.bytes));
            return released.push_back(slot.frame);
        }
        self.release_run(begin, end, released);
    }

    fn release_run(&mut self, begin: u64, end: u64, released: &mut VecDeque<FrameHandle>) {
        let (from, count) = (self.index(begin), (end - begin) as usize);
        let tail = count.min(self.slots.len() - from);
        let mut bytes = 0;
        for run in [from..from + tail, 0..count - tail] {
            let run = &mut self.slots[run];
            released.extend(run.iter().map(|slot| slot.frame));
            for slot in run {
                debug_assert_eq!(slot.state, SlotState::Outstanding, "beyond `covered`");
                bytes += u64::from(slot.bytes);
                slot.state = SlotState::Free;
            }
        }
        self.buffer.remove_all(count as u64, bytes);
    }

    fn release(&mut self, sequence: u64, released: &mut VecDeque<FrameHandle>) -> bool {
        let index = self.index(sequence);
        let slot = &mut self.slots[index];
        if slot.state == SlotState::Free {
            return false;
        }
        slot.state = SlotState::Free;
        self.buffer.remove(u64::from(slot.bytes));
        released.push_back(slot.frame);
        true
    }
}

#[cfg(test)]
mod tests;
