//! The receiver of one lane: gap detection, de-duplication, Rx buffer, backpressure, recovery timeout.
//!
//! It implements Algorithm 1 (de-duplication and in-order recovery), Algorithm 2 (backpressure) and `ackNoTimeout` of
//! section 3 of the paper. The Tofino inspects a buffered frame when it returns from recirculation; this state machine
//! hands frames out with [`Receiver::poll_deliver`], whenever its driver can take them.

mod limits;
mod report;
mod sliding;
mod unconfirmed;

use crate::frame::FrameHandle;
use crate::mode::Mode;
use crate::sequence::{FIRST_ABSOLUTE, LongSequenceNumber, SequenceNumber};
use crate::stats::{BufferStats, Stats};
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
pub(crate) use limits::ReceiverLimits;
use report::ReportProgress;
use unconfirmed::UnconfirmedFrame;

/// What happens to a frame that was given to the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Deliver it to the inner port, now.
    Deliver,
    /// It is kept, and will be returned by [`Receiver::poll_deliver`].
    Buffered,
    /// It was seen before or given up.
    Duplicate,
    /// The Rx buffer has no room: the frame counts as missing.
    Overflow,
    /// Its number cannot be of this session, or is too far ahead for a single frame to be believed.
    OutOfWindow,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SlotState {
    #[default]
    Missing,
    /// Received and delivered (non-blocking), or given up.
    Done,
    /// Received, and waiting for its turn.
    Buffered,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    detected_at: Instant,
    /// When it was first reported to the sender, if it was.
    listed_at: Instant,
    frame: FrameHandle,
    bytes: u32,
    state: SlotState,
    /// It is missing, but has arrived before and did not fit.
    overflowed: bool,
}

/// The receiver of one lane. `deliver <= cumulative <= highest`, all within one window.
#[derive(Debug)]
pub(crate) struct Receiver {
    slots: Box<[Slot]>,
    mask: u64,
    mode: Mode,
    limits: ReceiverLimits,
    /// Next number to pass to the inner port (`ackNo` of Algorithm 1).
    deliver: u64,
    /// First missing number, or `highest`.
    cumulative: u64,
    /// One beyond the highest number seen (`latestRxSeqNo + 1`).
    highest: u64,
    missing: u64,
    reported: ReportProgress,
    unconfirmed: UnconfirmedFrame,
    /// Waiting for missing frames counts from here, if they were noticed before.
    wait_from: Instant,
    buffer: BufferStats,
    /// Frames of an ended session that are still to be delivered, in order.
    flush: VecDeque<(FrameHandle, u32)>,
    paused: bool,
}

impl Receiver {
    pub(crate) fn new(mode: Mode, window_frames: u32, limits: ReceiverLimits) -> Receiver {
        Receiver {
            slots: vec![Slot::default(); window_frames as usize].into_boxed_slice(),
            mask: u64::from(window_frames) - 1,
            mode,
            limits,
            deliver: FIRST_ABSOLUTE,
            cumulative: FIRST_ABSOLUTE,
            highest: FIRST_ABSOLUTE,
            missing: 0,
            reported: ReportProgress::new(FIRST_ABSOLUTE),
            unconfirmed: UnconfirmedFrame::default(),
            wait_from: Instant(0),
            buffer: BufferStats::default(),
            flush: VecDeque::with_capacity(window_frames as usize),
            paused: false,
        }
    }

    /// Begins a session at `first`. Frames that an old session still buffers are delivered first.
    pub(crate) fn start(&mut self, first: u64, stats: &mut Stats) {
        self.end(stats);
        (self.deliver, self.cumulative, self.highest) = (first, first, first);
        self.reported = ReportProgress::new(first);
        self.unconfirmed = UnconfirmedFrame::default();
    }

    /// Ends the session: buffered frames will be delivered in order, without waiting for missing ones.
    pub(crate) fn end(&mut self, stats: &mut Stats) {
        self.flush_before(self.highest);
        self.cumulative = self.highest;
        stats.unrecovered_frames += core::mem::take(&mut self.missing);
        self.paused = false;
    }

    /// Replaces the limits, for parameters that are measured after the start.
    pub(crate) fn set_limits(&mut self, limits: ReceiverLimits) {
        self.limits = limits;
    }

    /// Handles the common case: the next frame of a lane that waits for nothing. `true` if it is that, to be delivered
    /// now.
    #[inline]
    pub(crate) fn accept_next(&mut self, sequence: SequenceNumber) -> bool {
        let next = self.highest;
        if sequence != SequenceNumber::from_absolute(next) || self.deliver != next || !self.flush.is_empty() {
            return false;
        }
        (self.deliver, self.cumulative, self.highest) = (next + 1, next + 1, next + 1);
        true
    }

    /// Takes a frame that arrived with number `sequence` and is not for [`Receiver::accept_next`].
    pub(crate) fn handle_data(
        &mut self,
        now: Instant,
        sequence: SequenceNumber,
        frame: FrameHandle,
        bytes: u32,
        stats: &mut Stats,
    ) -> Verdict {
        let Some(sequence) = sequence.expand(self.highest) else { return Verdict::OutOfWindow };
        if sequence >= self.highest {
            self.slide(sequence + 1, stats);
            if sequence - self.base() > self.mask || self.is_unconfirmed(sequence, sequence + 1) {
                return Verdict::OutOfWindow;
            }
            self.reveal(now, sequence, stats);
            self.highest = sequence + 1;
            self.slots[(sequence & self.mask) as usize] =
                Slot { detected_at: now, state: SlotState::Missing, ..Slot::default() };
            self.missing += 1;
            let verdict = self.fill(sequence, frame, bytes);
            stats.rx_buffer_overflows += u64::from(verdict == Verdict::Overflow);
            return verdict;
        }
        let slot = &self.slots[(sequence & self.mask) as usize];
        if sequence < self.base() || slot.state != SlotState::Missing {
            return Verdict::Duplicate;
        }
        let waited = now.since(slot.detected_at).0;
        let verdict = self.fill(sequence, frame, bytes);
        if verdict == Verdict::Overflow {
            stats.overflowed_copies += 1;
            if self.limits.resends {
                self.slots[(sequence & self.mask) as usize].listed_at = now;
            }
        } else {
            stats.recovered_frames += 1;
            stats.recovery_latency.record(waited);
        }
        verdict
    }

    /// Learns from the authors' dummy, which names no session, that everything before `next` has been sent: what has
    /// not arrived is missing. `false` if `next` cannot be of this session; one that is too far ahead must be announced
    /// twice.
    pub(crate) fn handle_announcement(
        &mut self,
        now: Instant,
        next: SequenceNumber,
        stats: &mut Stats,
    ) -> bool {
        let Some(next) = next.expand(self.highest) else { return false };
        if next <= self.highest {
            // A dummy that was overtaken announces less than is known, which changes nothing.
            return true;
        }
        self.slide(next, stats);
        self.is_unconfirmed(next, next) || self.reveal(now, next, stats)
    }

    /// Learns from a dummy that everything before `next` has been sent, and that the sender no longer holds what is
    /// missing before `held_from`. `false` if either cannot be of this session, or of the current time.
    pub(crate) fn handle_dummy(
        &mut self,
        now: Instant,
        next: LongSequenceNumber,
        held_from: LongSequenceNumber,
        stats: &mut Stats,
    ) -> bool {
        let (Some(next), Some(held_from)) = (next.expand(self.highest), held_from.expand(self.highest))
        else {
            return false;
        };
        if held_from > next || (next > self.highest && !self.reveal(now, next, stats)) {
            return false;
        }
        // The paper's receiver waits for its clock. In non-blocking mode only a window waits: that of the sender, which
        // may be the smaller one and stand still.
        let obeys = self.mode == Mode::NonBlocking || !self.limits.by_clock_alone;
        // With room in this window, the clock would have given the frame up before long.
        let by_clock = self.limits.by_clock_alone && self.highest - self.base() <= self.mask / 2;
        while self.cumulative < held_from.min(self.highest) && (obeys || self.waits_for_room(self.cumulative))
        {
            self.give_up();
            let count = if by_clock { &mut stats.recovery_timeouts } else { &mut stats.withdrawn_frames };
            *count += 1;
        }
        true
    }

    /// Restarts the wait for missing frames after this end did not run for a while, since it has not looked at what
    /// arrived in the meantime.
    pub(crate) fn restart_waits(&mut self, now: Instant) {
        self.wait_from = now;
    }

    /// Gives up on frames that have been missing for longer than the recovery timeout (`ackNoTimeout`), if the timeout
    /// applies.
    pub(crate) fn handle_timeout(&mut self, now: Instant, stats: &mut Stats) {
        while let Some(due_at) = self.next_timeout() {
            if now < due_at {
                return;
            }
            self.give_up();
            stats.recovery_timeouts += 1;
        }
    }

    /// Gives up on everything missing, because nobody can send it any more. Returns the number of frames.
    pub(crate) fn give_up_missing(&mut self) -> u64 {
        let missing = self.missing;
        while self.cumulative < self.highest {
            self.give_up();
        }
        missing
    }

    /// Gives up on the first missing frame.
    fn give_up(&mut self) {
        let slot = &mut self.slots[(self.cumulative & self.mask) as usize];
        debug_assert_eq!(slot.state, SlotState::Missing, "cumulative stands at a missing frame");
        slot.state = SlotState::Done;
        self.missing -= 1;
        self.advance();
    }

    /// When [`Receiver::handle_timeout`] has something to do. Frames that were not yet reported to the sender still
    /// have their whole time.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let counts = self.limits.by_clock && self.cumulative < self.highest.min(self.reported.until);
        (counts && !self.waits_for_room(self.cumulative)).then(|| {
            let slot = &self.slots[(self.cumulative & self.mask) as usize];
            slot.listed_at.max(self.wait_from) + self.limits.recovery_timeout
        })
    }

    /// The next frame whose turn has come, and its length in bytes.
    #[inline]
    pub(crate) fn poll_deliver(&mut self) -> Option<(FrameHandle, u32)> {
        if self.deliver == self.cumulative && self.flush.is_empty() {
            return None;
        }
        if let Some((frame, bytes)) = self.flush.pop_front() {
            self.buffer.remove(u64::from(bytes));
            return Some((frame, bytes));
        }
        while self.deliver < self.cumulative {
            let slot = &mut self.slots[(self.deliver & self.mask) as usize];
            self.deliver += 1;
            if slot.state == SlotState::Buffered {
                slot.state = SlotState::Done;
                self.buffer.remove(u64::from(slot.bytes));
                return Some((slot.frame, slot.bytes));
            }
        }
        None
    }

    /// The buffered frame that [`Receiver::poll_deliver`] would return.
    #[inline]
    pub(crate) fn next_delivery(&self) -> Option<FrameHandle> {
        if let Some((frame, _)) = self.flush.front() {
            return Some(*frame);
        }
        // Frames that were given up leave gaps.
        (self.deliver..self.cumulative).find_map(|sequence| {
            let slot = &self.slots[(sequence & self.mask) as usize];
            (slot.state == SlotState::Buffered).then_some(slot.frame)
        })
    }

    /// Whether the sender has been asked to pause.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Frames between the next delivery and the highest number seen, and the Rx buffer in bytes.
    pub(crate) fn steady_state(&self) -> (u64, u64) {
        (self.highest - self.deliver, self.buffer.now)
    }

    /// Advances as if `frames` more had been received and delivered; buffered frames keep their order.
    pub(crate) fn fast_forward(&mut self, frames: u64) {
        let mask = self.mask;
        let index = |sequence: u64| (sequence & mask) as usize;
        let buffered: Vec<Slot> = (self.deliver..self.highest)
            .map(|sequence| core::mem::take(&mut self.slots[index(sequence)]))
            .collect();
        for (sequence, slot) in (self.deliver + frames..).zip(buffered) {
            self.slots[index(sequence)] = slot;
        }
        self.deliver += frames;
        self.cumulative += frames;
        self.highest += frames;
    }

    /// Algorithm 2: compares the Rx buffer with its thresholds. `Some(state)` when the pause state changed.
    #[inline]
    pub(crate) fn update_pause(&mut self) -> Option<bool> {
        if !self.paused && self.buffer.now >= self.limits.pause_bytes {
            self.paused = true;
            Some(true)
        } else if self.paused && self.buffer.now <= self.limits.resume_bytes {
            self.paused = false;
            Some(false)
        } else {
            None
        }
    }

    /// First number not received, for a piggybacked ACK.
    pub(crate) fn cumulative(&self) -> SequenceNumber {
        SequenceNumber::from_absolute(self.cumulative)
    }

    /// One beyond the highest number seen.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// Number of frames missing now.
    pub(crate) fn missing(&self) -> u64 {
        self.missing
    }

    /// Whether nothing is missing and nothing waits for delivery.
    pub(crate) fn is_drained(&self) -> bool {
        self.deliver == self.highest && self.flush.is_empty()
    }

    pub(crate) fn buffer(&self) -> &BufferStats {
        &self.buffer
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut BufferStats {
        &mut self.buffer
    }

    fn is_missing(&self, sequence: u64) -> bool {
        self.slots[(sequence & self.mask) as usize].state == SlotState::Missing
    }

    /// Whether a missing frame has arrived, and did not fit.
    fn is_overflowed(&self, sequence: u64) -> bool {
        self.slots[(sequence & self.mask) as usize].overflowed
    }

    /// Whether to wait for a missing frame regardless of the timeout: the link did not lose it, and its sender resends
    /// it until there is room.
    fn waits_for_room(&self, sequence: u64) -> bool {
        self.limits.clock_yields && self.is_overflowed(sequence)
    }

    /// First number whose slot is in use.
    fn base(&self) -> u64 {
        self.deliver
    }

    /// Marks `highest..next` as missing. `false` if that would exceed the window.
    fn reveal(&mut self, now: Instant, next: u64, stats: &mut Stats) -> bool {
        if next - self.base() > self.mask + 1 {
            return false;
        }
        let length = next - self.highest;
        if length > 0 {
            for sequence in self.highest..next {
                self.slots[(sequence & self.mask) as usize] =
                    Slot { detected_at: now, state: SlotState::Missing, ..Slot::default() };
            }
            self.highest = next;
            self.missing += length;
            stats.lost_frames += length;
            stats.hole_length.record(length);
        }
        true
    }

    /// Stores the frame of a missing number, or delivers it if it is its turn.
    fn fill(&mut self, sequence: u64, frame: FrameHandle, bytes: u32) -> Verdict {
        let turn = sequence == self.deliver && self.flush.is_empty();
        let slot = &mut self.slots[(sequence & self.mask) as usize];
        let verdict = if turn || self.mode == Mode::NonBlocking {
            slot.state = SlotState::Done;
            Verdict::Deliver
        } else if self.buffer.now + u64::from(bytes) > self.limits.buffer_bytes {
            slot.overflowed = true;
            return Verdict::Overflow;
        } else {
            *slot = Slot { frame, bytes, state: SlotState::Buffered, ..*slot };
            self.buffer.add(u64::from(bytes));
            Verdict::Buffered
        };
        self.missing -= 1;
        if sequence == self.cumulative {
            self.advance();
        }
        if turn {
            self.deliver += 1;
        }
        if self.mode == Mode::NonBlocking {
            self.deliver = self.cumulative;
        }
        verdict
    }

    /// Moves `cumulative` to the next missing number, or to `highest`.
    fn advance(&mut self) {
        self.cumulative += 1;
        if self.missing == 0 {
            self.cumulative = self.highest;
        }
        while self.cumulative < self.highest && !self.is_missing(self.cumulative) {
            self.cumulative += 1;
        }
        if self.mode == Mode::NonBlocking {
            self.deliver = self.cumulative;
        }
    }
}

#[cfg(test)]
mod tests;
