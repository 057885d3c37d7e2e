//! What the simulator knows and the link ends do not: which frames were corrupted, and when that was noticed.

use crate::measure::Histogram;
use crate::time::Time;
use std::collections::VecDeque;

/// A corrupted original on its way through recovery.
#[derive(Debug, Clone, Copy)]
struct Lost {
    id: u64,
    /// When it would have arrived.
    due_at: Time,
    /// When the receiver noticed that it had not.
    noticed_at: Option<Time>,
    copies_lost: u8,
}

/// Follows corrupted originals of one direction until their first copy arrives or the receiver gives them up.
#[derive(Debug, Default)]
pub(super) struct Losses {
    pending: VecDeque<Lost>,
    unnoticed: usize,
    /// From noticing a loss to the arrival of its first copy, ps (Figure 19).
    pub(super) delay: Histogram,
    /// Lengths of runs of consecutive originals lost (Figure 20); the last entry counts all longer ones.
    pub(super) runs: Vec<u64>,
    run: usize,
    pub(super) lost: u64,
    /// Frames of which every copy was corrupted as well.
    pub(super) all_copies_lost: u64,
    /// Frames given up of which every copy was corrupted, and those of which no copy came in time.
    pub(super) given_up_corrupted: u64,
    pub(super) given_up_late: u64,
}

/// Runs of this many frames and more are counted together.
pub(super) const RUNS: usize = 64;

impl Losses {
    /// A protected original was sent.
    #[inline]
    pub(super) fn sent(&mut self, id: u64, due_at: Time, corrupted: bool) {
        self.sent_unprotected(corrupted);
        if corrupted {
            self.unnoticed += 1;
            self.pending.push_back(Lost { id, due_at, noticed_at: None, copies_lost: 0 });
        }
    }

    /// A frame was sent of which there will be no copy.
    #[inline]
    pub(super) fn sent_unprotected(&mut self, corrupted: bool) {
        if corrupted {
            self.lost += 1;
            self.run += 1;
        } else if self.run > 0 {
            self.count_run();
        }
    }

    /// One of `copies` copies was corrupted.
    pub(super) fn copy_lost(&mut self, id: u64, copies: u8) {
        if let Some(lost) = self.pending.iter_mut().find(|lost| lost.id == id) {
            lost.copies_lost = lost.copies_lost.saturating_add(1);
            self.all_copies_lost += u64::from(lost.copies_lost == copies);
        }
    }

    fn count_run(&mut self) {
        let length = self.run.min(RUNS);
        self.runs.resize(self.runs.len().max(length), 0);
        self.runs[length - 1] += 1;
        self.run = 0;
    }

    /// Something arrived that tells the receiver what was sent before it: an original or a dummy.
    #[inline]
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

    /// A copy arrived.
    pub(super) fn copy_arrived(&mut self, id: u64, now: Time) {
        let Some(index) = self.pending.iter().position(|lost| lost.id == id) else { return };
        if let Some(Lost { noticed_at: Some(noticed_at), .. }) = self.pending.remove(index) {
            self.delay.record((now - noticed_at).0);
        }
    }

    /// Forgets what the receiver has given up: what it noticed at or before `until`. Each was sent `copies` times again,
    /// if it was.
    pub(super) fn give_up(&mut self, until: Time, copies: u8) {
        let Losses { pending, given_up_corrupted, given_up_late, .. } = self;
        pending.retain(|lost| {
            let waits = lost.noticed_at.is_none_or(|at| at > until);
            let corrupted = lost.copies_lost >= copies;
            *given_up_corrupted += u64::from(!waits && corrupted);
            *given_up_late += u64::from(!waits && !corrupted);
            waits
        });
    }

    /// The last run of losses may have ended the traffic.
    pub(super) fn finish(&mut self) {
        self.sent_unprotected(false);
    }

    /// Whether nothing is on its way through recovery, and no run is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.run == 0
    }
}
