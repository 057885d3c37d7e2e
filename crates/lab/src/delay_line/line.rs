//! One direction of a delay line, from one interface to another.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use linkmend_linux::clock::{monotonic_ns, realtime_ns};
use linkmend_linux::packet_ring::{HeldFrame, PacketRing};
use linkmend_linux::packet_socket::{SEND_BATCH, SendBatch};
use serde::{Deserialize, Serialize};

use super::losses::Losses;
use super::schedule::Schedule;
use crate::passing::is_full;

/// How often [`Line::serve`] runs before it asks the kernel for dropped frames: about every 50 ms of a busy line.
const ROUNDS_PER_LOOK: u32 = 512;
/// Two clocks that are read within this time count as read together.
const TOGETHER_NS: u64 = 5_000;
/// How often the clocks are read if the thread is interrupted in between each time.
const READINGS_MAX: u32 = 8;

/// Counters of one direction of a delay line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineReport {
    /// The direction, from one interface to the other.
    pub name: String,
    /// Frames that have left the line.
    pub forwarded_frames: u64,
    /// Frames dropped because too much waited in front of the rate: congestion, as at any full queue.
    pub queue_drops: u64,
    /// Frames lost on purpose ([`super::DelayLines::lose`]), or because the link is cut.
    #[serde(default)]
    pub lost_frames: u64,
    /// Frames that the kernel dropped because the line's memory was full, as this process had not run for too long.
    pub overflow_drops: u64,
    /// Frames that the next interface refused, for example because they exceed its MTU.
    pub refused_frames: u64,
    /// The largest delay beyond its due time with which a frame has left since the last report, ns.
    pub worst_late_ns: u64,
}

/// Counters that a line's thread writes and anybody may read.
#[derive(Debug, Default)]
pub(super) struct Counters {
    forwarded: AtomicU64,
    queue_drops: AtomicU64,
    lost: AtomicU64,
    overflow_drops: AtomicU64,
    refused: AtomicU64,
    worst_late_ns: AtomicU64,
}

impl Counters {
    /// Copies the counters, under a name, and resets the worst lateness to 0.
    pub(super) fn report(&self, name: &str) -> LineReport {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LineReport {
            name: name.to_owned(),
            forwarded_frames: read(&self.forwarded),
            queue_drops: read(&self.queue_drops),
            lost_frames: read(&self.lost),
            overflow_drops: read(&self.overflow_drops),
            refused_frames: read(&self.refused),
            worst_late_ns: self.worst_late_ns.swap(0, Ordering::Relaxed),
        }
    }
}

#[derive(Clone, Copy)]
struct Waiting {
    frame: HeldFrame,
    /// When it leaves, on the line's clock, which is CLOCK_MONOTONIC.
    due_ns: u64,
    /// Whether the frame is dropped. It is not sent, but its position is returned in its turn.
    dropped: bool,
}

/// One direction. The two interfaces are each other's input and output, so a line borrows the ring of its output.
pub(super) struct Line {
    schedule: Schedule,
    waiting: VecDeque<Waiting>,
    batch: SendBatch,
    counters: Arc<Counters>,
    rounds: u32,
    /// Frames lost on purpose, and where others are asked for.
    losses: Option<Losses>,
    requests: Receiver<Losses>,
}

impl Line {
    pub(super) fn new(schedule: Schedule, counters: Arc<Counters>, requests: Receiver<Losses>) -> Self {
        let batch = SendBatch::default();
        Self { schedule, waiting: VecDeque::new(), batch, counters, rounds: 0, losses: None, requests }
    }

    /// Takes what has arrived at `input` and sends what is due out of `output`. Returns whether any frames still wait. Of a
    /// link that is cut, everything on its way is lost.
    pub(super) fn serve(
        &mut self,
        input: &mut PacketRing,
        output: &PacketRing,
        is_cut: bool,
    ) -> io::Result<bool> {
        let now = monotonic_ns();
        self.take(input, now);
        if is_cut {
            self.lose_all();
        }
        while let Some(first) = self.waiting.front().copied().filter(|first| first.due_ns <= now) {
            if first.dropped {
                self.waiting.pop_front();
                input.release_oldest();
            } else if !self.send(input, output, now)? {
                break;
            }
        }
        self.rounds += 1;
        if self.rounds >= ROUNDS_PER_LOOK {
            self.rounds = 0;
            self.counters.overflow_drops.fetch_add(input.take_drops()?, Ordering::Relaxed);
        }
        Ok(!self.waiting.is_empty())
    }

    /// Loses what is on its way. The time that it takes of the line's rate is spent.
    fn lose_all(&mut self) {
        for one in self.waiting.iter_mut().filter(|one| !one.dropped) {
            one.dropped = true;
            self.counters.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn take(&mut self, input: &mut PacketRing, now: u64) {
        if let Ok(losses) = self.requests.try_recv() {
            self.losses = Some(losses);
        }
        // The kernel's clock for arrivals may be set while this runs; the line's own may not.
        let epoch_ahead_ns = epoch_ahead_ns(monotonic_ns, realtime_ns);
        while let Some(arrival) = input.take() {
            let arrived_ns = arrival.at_epoch_ns.saturating_sub(epoch_ahead_ns).min(monotonic_ns());
            let due = self.schedule.admit(arrived_ns, arrival.frame.length()).filter(|_| !arrival.truncated);
            if due.is_none() {
                self.counters.queue_drops.fetch_add(1, Ordering::Relaxed);
            }
            // Corruption happens on the wire: what the queue dropped was not there, and what is lost took its time.
            let is_lost = due.is_some()
                && self.losses.as_mut().is_some_and(|losses| losses.takes(input.bytes(arrival.frame)));
            if is_lost {
                self.counters.lost.fetch_add(1, Ordering::Relaxed);
            }
            // The position of a dropped frame is returned in its turn, together with the frame before it.
            let due_ns = due.unwrap_or_else(|| self.waiting.back().map_or(now, |last| last.due_ns));
            let dropped = due.is_none() || is_lost;
            self.waiting.push_back(Waiting { frame: arrival.frame, due_ns, dropped });
        }
    }

    /// Sends the frames at the front that are due. Returns `false` if the interface does not take any at the moment.
    fn send(&mut self, input: &mut PacketRing, output: &PacketRing, now: u64) -> io::Result<bool> {
        let due = self.waiting.iter().take_while(|one| one.due_ns <= now && !one.dropped).take(SEND_BATCH);
        let count = due.clone().count();
        let sent = match self.batch.send(output.as_fd(), due.map(|one| [input.bytes(one.frame)])) {
            Ok(sent) => sent,
            Err(error) if is_full(&error) => return Ok(false),
            Err(error) if is_refusal(&error) => {
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
                self.waiting.pop_front();
                input.release_oldest();
                return Ok(true);
            }
            Err(error) => return Err(error),
        };
        let late = self.waiting.front().map_or(0, |first| now - first.due_ns);
        self.counters.worst_late_ns.fetch_max(late, Ordering::Relaxed);
        self.counters.forwarded.fetch_add(sent as u64, Ordering::Relaxed);
        for _ in 0..sent {
            self.waiting.pop_front();
            input.release_oldest();
        }
        Ok(sent == count)
    }
}

/// Whether the interface is down or refuses this frame. The frame is then lost, as on any wire.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMSGSIZE | libc::ENETDOWN | libc::EINVAL | libc::ENXIO))
}

/// How far the clock of arrivals is ahead of the line's own. A thread that is interrupted between the two readings
/// reads them again. What remains of an interruption makes frames late, never early.
fn epoch_ahead_ns(mut own: impl FnMut() -> u64, mut epoch: impl FnMut() -> u64) -> u64 {
    let (mut ahead, mut shortest) = (0, u64::MAX);
    for _ in 0..READINGS_MAX {
        let before = own();
        let at_epoch = epoch();
        let after = own();
        let took = after.saturating_sub(before);
        if took < shortest {
            (ahead, shortest) = (at_epoch.saturating_sub(after), took);
        }
        if took <= TOGETHER_NS {
            break;
        }
    }
    ahead
}

/// Waits until one of them can be read, or until `wait_ms` is over.
pub(crate) fn wait_for_frames(rings: &[BorrowedFd<'_>], wait_ms: u16) {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let mut waiting: Vec<_> = rings.iter().map(|ring| PollFd::new(*ring, PollFlags::POLLIN)).collect();
    // A signal ends the wait early, which does no harm.
    let _ = poll(&mut waiting, PollTimeout::from(wait_ms));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const AHEAD_NS: u64 = 1_000_000_000_000;

    /// The difference found by a thread that is held up for `stalls` before each of its readings.
    fn ahead_with(stalls: &[u64]) -> u64 {
        let (time, readings) = (Cell::new(0), Cell::new(0));
        let read = || {
            time.set(time.get() + 50 + stalls.get(readings.get()).copied().unwrap_or(0));
            readings.set(readings.get() + 1);
            time.get()
        };
        epoch_ahead_ns(read, || AHEAD_NS + read())
    }

    #[test]
    fn a_thread_that_is_interrupted_between_two_clocks_dates_no_arrival_early() {
        const STALL: u64 = 15_000_000;
        let undisturbed = ahead_with(&[]);
        assert_eq!(undisturbed, AHEAD_NS - 50);
        // Interrupted before the first reading, between the clocks, and after both.
        for stalls in [&[STALL][..], &[0, STALL], &[0, 0, STALL]] {
            assert_eq!(ahead_with(stalls), undisturbed, "{stalls:?}");
        }
        // Interrupted every time: the difference is then too small, and arrivals seem later than they were.
        let ahead = ahead_with(&[STALL; 64]);
        assert!((AHEAD_NS - STALL - 50..AHEAD_NS).contains(&ahead), "{ahead}");
    }
}
