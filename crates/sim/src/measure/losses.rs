//! What the simulator knows but the link ends do not: which frames were corrupted, and when this was noticed.

use super::histogram::Histogram;
use crate::link::Scheme;
use crate::link::scheme::Account;
use crate::time::Time;
use std::collections::VecDeque;

/// An original in recovery: it was corrupted, or arrived but did not fit into the buffer.
#[derive(Debug, Clone, Copy)]
struct Lost<H> {
    id: u64,
    header: H,
    /// When it would have arrived.
    due_at: Time,
    /// When the receiver noticed that it was missing.
    noticed_at: Option<Time>,
    copies_sent: u32,
    copies_lost: u32,
    /// Whether it or a copy of it did not fit into the Rx buffer.
    overflowed: bool,
}

/// Tracks originals of one direction that were corrupted or did not fit, until the receiver has them or gives up on
/// them.
#[derive(Debug)]
pub(super) struct Losses<S: Scheme> {
    pending: VecDeque<Lost<S::Header>>,
    unnoticed: usize,
    /// Time from noticing a loss to the arrival of its first copy, in ps (Figure 19).
    pub(super) delay: Histogram,
    /// Lengths of runs of consecutive originals lost (Figure 20); the last entry counts all longer ones.
    pub(super) runs: Vec<u64>,
    run: usize,
    pub(super) lost: u64,
    /// Frames of which every copy was corrupted as well.
    pub(super) all_copies_lost: u64,
    pub(super) given_up: GivenUp,
}

/// Frames that the receiver gave up on, each counted once, by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GivenUp {
    /// The frame and every copy were corrupted.
    pub corrupted: u64,
    /// The frame was corrupted, and no copy arrived in time.
    pub late: u64,
    /// The frame or a copy arrived, but did not fit into the Rx buffer, or into a window full of held frames.
    pub overflowed: u64,
}

/// Runs of this many frames and more are counted together.
pub(super) const RUNS: usize = 64;

impl<H: Copy> Lost<H> {
    fn new(id: u64, header: &H, due_at: Time, noticed_at: Option<Time>) -> Lost<H> {
        Lost { id, header: *header, due_at, noticed_at, copies_sent: 0, copies_lost: 0, overflowed: false }
    }
}

impl<S: Scheme> Default for Losses<S> {
    fn default() -> Self {
        Losses {
            pending: VecDeque::new(),
            unnoticed: 0,
            delay: Histogram::default(),
            runs: Vec::new(),
            run: 0,
            lost: 0,
            all_copies_lost: 0,
            given_up: GivenUp::default(),
        }
    }
}

/// How many copies of a lost frame a scheme sends; more than can be lost if it sends them until one arrives.
fn copies<S: Scheme>(sender: &S) -> u32 {
    sender.account().map_or(Some(1), Account::copies).map_or(u32::MAX, u32::from)
}

impl<S: Scheme> Losses<S> {
    /// Records that a protected original was sent.
    #[inline(always)]
    pub(super) fn sent(&mut self, id: u64, header: &S::Header, due_at: Time, corrupted: bool) {
        self.sent_unprotected(corrupted);
        if corrupted {
            self.unnoticed += 1;
            self.pending.push_back(Lost::new(id, header, due_at, None));
        }
    }

    /// Records that a frame was sent that will have no copies.
    #[inline(always)]
    pub(super) fn sent_unprotected(&mut self, corrupted: bool) {
        if corrupted {
            self.lost += 1;
            self.run += 1;
        } else if self.run > 0 {
            self.count_run();
        }
    }

    /// Records that one of the sender's copies was sent.
    pub(super) fn copy_sent(&mut self, id: u64, corrupted: bool, sender: &S) {
        if let Some(lost) = self.pending.iter_mut().find(|lost| lost.id == id) {
            lost.copies_sent += 1;
            if corrupted {
                lost.copies_lost += 1;
                self.all_copies_lost += u64::from(lost.copies_lost == copies(sender));
            }
        }
    }

    fn count_run(&mut self) {
        let length = self.run.min(RUNS);
        self.runs.resize(self.runs.len().max(length), 0);
        self.runs[length - 1] += 1;
        self.run = 0;
    }

    /// Records an arrival that tells the receiver what was sent before it: an original or a dummy.
    #[inline(always)]
    pub(super) fn arrived(&mut self, now: Time) {
        if self.unnoticed > 0 {
            self.notice(now);
        }
    }

    fn notice(&mut self, now: Time) {
        for lost in self.pending.iter_mut().rev().take_while(|lost| lost.noticed_at.is_none()) {
            if lost.due_at < now {
                lost.noticed_at = Some(now);
                self.unnoticed -= 1;
            }
        }
    }

    /// Records that a copy arrived. The receiver now has its frame, unless it did not fit.
    pub(super) fn copy_arrived(&mut self, id: u64, now: Time, overflowed: bool) {
        let Some(index) = self.pending.iter().position(|lost| lost.id == id) else { return };
        let lost = &mut self.pending[index];
        let first = !lost.overflowed;
        if first && let Some(noticed_at) = lost.noticed_at {
            self.delay.record((now - noticed_at).0);
        }
        lost.overflowed |= overflowed;
        if !overflowed {
            self.forget(index);
        }
    }

    /// Whether the frame is tracked.
    pub(super) fn follows(&self, id: u64) -> bool {
        self.pending.iter().any(|lost| lost.id == id)
    }

    /// Records that an original arrived but did not fit.
    pub(super) fn overflowed(&mut self, id: u64, header: &S::Header, now: Time) {
        self.pending.push_back(Lost { overflowed: true, ..Lost::new(id, header, now, Some(now)) });
    }

    fn forget(&mut self, index: usize) {
        if self.pending.remove(index).is_some_and(|lost| lost.noticed_at.is_none()) {
            self.unnoticed -= 1;
        }
    }

    /// Counts and forgets frames that the receiver has given up on. Each was to be retransmitted in as many copies as
    /// the sender makes.
    pub(super) fn give_up(&mut self, sender: &S, receiver: &S) {
        if self.pending.is_empty() {
            return;
        }
        let copies = copies(sender);
        for index in (0..self.pending.len()).rev() {
            let lost = self.pending[index];
            if !receiver.account().is_some_and(|account| account.has_moved_past(&lost.header)) {
                continue;
            }
            let all_corrupted = lost.copies_lost == lost.copies_sent && lost.copies_lost >= copies;
            let GivenUp { corrupted, late, overflowed } = &mut self.given_up;
            *match (lost.overflowed, all_corrupted) {
                (true, _) => overflowed,
                (false, true) => corrupted,
                (false, false) => late,
            } += 1;
            self.forget(index);
        }
    }

    /// Ends a run of losses that was cut short by the end of the traffic.
    pub(super) fn finish(&mut self) {
        self.sent_unprotected(false);
    }

    /// Whether nothing is in recovery, and no run of losses is in progress.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.run == 0
    }
}
