//! Puts datagrams in the order of their numbers.

use crate::counters::Counters;
use crate::decisions::{Decided, Decisions};
use crate::wire::{HEADER_BYTES, Report};

/// How far the newest datagram may be ahead of the one that is waited for, and how many may wait.
pub const HELD_MAX: usize = 1024;
/// How many bytes of datagrams may wait.
pub const HELD_BYTES_MAX: usize = 2 << 20;
/// The longest wait for a missing datagram. Paths that reorder by more than this are rare, and the frames that wait behind
/// a loss must not wait for long.
pub const WAIT_MAX_NS: u64 = 50_000_000;

/// For how many numbers it is remembered when they were missed and whether they arrived.
const HISTORY: usize = 4096;
const _: () = assert!(HELD_MAX < HISTORY, "what is waited for is remembered");
/// How long a delay is remembered at least; twice as long at most.
const EPOCH_NS: u64 = 30_000_000_000;
/// Added to the longest delay seen, besides a quarter of it, because the loop reads the socket in batches.
const SLACK_NS: u64 = 500_000;

/// What is known about a number.
#[derive(Clone, Copy, Debug)]
struct Seen {
    number: u64,
    /// When it arrived, or when a higher one did.
    at_ns: u64,
    has_arrived: bool,
}

/// The longest delay by which a datagram came after one with a higher number, over the last one or two epochs.
#[derive(Debug, Default)]
struct Delay {
    before_ns: u64,
    now_ns: u64,
    epoch_ends_ns: u64,
}

impl Delay {
    /// Begins another epoch if it is time. A path that has not reordered for two epochs is not waited for.
    fn turn(&mut self, now_ns: u64) {
        if now_ns >= self.epoch_ends_ns {
            let is_next = now_ns - self.epoch_ends_ns < EPOCH_NS;
            self.before_ns = if is_next { self.now_ns } else { 0 };
            self.now_ns = 0;
            self.epoch_ends_ns = now_ns.saturating_add(EPOCH_NS);
        }
    }

    /// A delay above the longest wait teaches nothing, because waiting for it would be in vain.
    fn learn(&mut self, delay_ns: u64) {
        if delay_ns <= WAIT_MAX_NS {
            // One of no nanoseconds, within a batch, is reordering, too.
            self.now_ns = self.now_ns.max(delay_ns).max(1);
        }
    }

    fn wait_ns(&self) -> u64 {
        match self.before_ns.max(self.now_ns) {
            0 => 0,
            longest => (longest + longest / 4 + SLACK_NS).min(WAIT_MAX_NS),
        }
    }
}

/// Hands on datagrams in the order of their numbers, each once.
///
/// A missing number is waited for as long as the path has recently delayed a datagram beyond the next one, and a little
/// longer: not at all on a path that has not reordered. A gap that is not filled by then is a loss. So a path that begins
/// to reorder costs one loss, from which the wait is learned.
#[derive(Debug)]
pub struct Resequencer {
    /// The next number to hand on, and the highest that has arrived; `None` before the first.
    place: Option<(u64, u64)>,
    seen: Vec<Seen>,
    /// Datagrams that wait, at the place of their number.
    held: Vec<Option<Vec<u8>>>,
    free: Vec<Vec<u8>>,
    held_count: usize,
    held_bytes: usize,
    delay: Delay,
    decisions: Decisions,
    /// Datagrams that came after they had been given up.
    came_late: u64,
    counters: Counters,
}

impl Default for Resequencer {
    fn default() -> Self {
        let nothing = Seen { number: u64::MAX, at_ns: 0, has_arrived: false };
        Resequencer {
            place: None,
            seen: vec![nothing; HISTORY],
            held: (0..HELD_MAX).map(|_| None).collect(),
            free: Vec::with_capacity(HELD_MAX),
            held_count: 0,
            held_bytes: 0,
            delay: Delay::default(),
            decisions: Decisions::default(),
            came_late: 0,
            counters: Counters::default(),
        }
    }
}

impl Resequencer {
    /// Handles a datagram, which a queue may have marked. `deliver` is called with each number that is next, and its bytes.
    pub fn handle(
        &mut self,
        now_ns: u64,
        number: u64,
        bytes: &[u8],
        is_marked: bool,
        deliver: &mut impl FnMut(u64, &[u8]),
    ) {
        self.delay.turn(now_ns);
        self.counters.datagrams += 1;
        let duplicates = self.counters.duplicates;
        let is_next = self.note(now_ns, number);
        if self.counters.duplicates == duplicates {
            self.counters.bytes += (HEADER_BYTES + bytes.len()) as u64;
            self.counters.marked += u64::from(is_marked);
        }
        if !is_next {
            return;
        }
        self.make_room(bytes.len(), deliver);
        self.release(now_ns, deliver);
        let Some((next, highest)) = self.place else { return };
        if number == next {
            deliver(number, bytes);
            self.place = Some((next + 1, highest));
            self.release(now_ns, deliver);
        } else {
            let mut memory = self.free.pop().unwrap_or_default();
            memory.clear();
            memory.extend_from_slice(bytes);
            self.held_bytes += memory.len();
            self.held_count += 1;
            self.held[number as usize % HELD_MAX] = Some(memory);
        }
    }

    /// Gives up the numbers that have been waited for long enough.
    pub fn handle_timeout(&mut self, now_ns: u64, deliver: &mut impl FnMut(u64, &[u8])) {
        self.delay.turn(now_ns);
        self.release(now_ns, deliver);
    }

    /// When [`Resequencer::handle_timeout`] is to be called: `None` if nothing waits.
    pub fn next_timeout(&self) -> Option<u64> {
        let (next, _) = self.place.filter(|_| self.held_count > 0)?;
        Some(self.seen_at(next).at_ns.saturating_add(self.wait_ns()))
    }

    /// How long a missing datagram is waited for now.
    pub fn wait_ns(&self) -> u64 {
        self.delay.wait_ns()
    }

    /// What has arrived so far; `None` before the first datagram. A loss is reported `grace_ns` after the datagram was given
    /// up.
    pub fn report(&mut self, now_ns: u64, grace_ns: u64) -> Option<Report> {
        let (next, highest) = self.place?;
        let arrived_ns = self.seen_at(highest).at_ns;
        let decided = Decided { below: next, given_up: self.counters.lost };
        let decided = self.decisions.report(now_ns, grace_ns, decided, self.came_late);
        Some(Report {
            highest,
            arrived_ns,
            held_ns: now_ns.saturating_sub(arrived_ns),
            bytes: self.counters.bytes,
            decided: decided.below,
            lost: decided.given_up,
            marked: self.counters.marked,
        })
    }

    /// Drops what waits, and begins again with the next datagram, whatever its number.
    pub fn restart(&mut self) {
        self.counters.lost += self.held_count as u64;
        for place in &mut self.held {
            self.free.extend(place.take());
        }
        (self.place, self.held_count, self.held_bytes) = (None, 0, 0);
        self.decisions.restart();
        self.seen.iter_mut().for_each(|seen| seen.number = u64::MAX);
    }

    pub(crate) fn count(&self, counters: &mut Counters) {
        let Counters { datagrams, bytes, lost, reordered, late, duplicates, marked, .. } = self.counters;
        *counters = Counters { datagrams, bytes, lost, reordered, late, duplicates, marked, ..*counters };
    }

    fn seen_at(&self, number: u64) -> &Seen {
        &self.seen[number as usize % HISTORY]
    }

    /// Notes that a number has arrived. Returns whether it is one to be handed on.
    fn note(&mut self, now_ns: u64, number: u64) -> bool {
        let Some((next, highest)) = self.place else {
            self.place = Some((number, number));
            self.seen[number as usize % HISTORY] = Seen { number, at_ns: now_ns, has_arrived: true };
            return true;
        };
        if number > highest {
            let first = (highest + 1).max(number.saturating_sub(HISTORY as u64 - 1));
            for number in first..number {
                self.seen[number as usize % HISTORY] = Seen { number, at_ns: now_ns, has_arrived: false };
            }
            self.seen[number as usize % HISTORY] = Seen { number, at_ns: now_ns, has_arrived: true };
            self.place = Some((next, number));
            return true;
        }
        let seen = &mut self.seen[number as usize % HISTORY];
        if seen.number != number {
            self.counters.late += 1;
            return false;
        }
        if std::mem::replace(&mut seen.has_arrived, true) {
            self.counters.duplicates += 1;
            return false;
        }
        self.delay.learn(now_ns.saturating_sub(seen.at_ns));
        let is_in_time = number >= next;
        *(if is_in_time { &mut self.counters.reordered } else { &mut self.counters.late }) += 1;
        self.came_late += u64::from(!is_in_time);
        is_in_time
    }

    /// Gives up the oldest gaps until a datagram of `bytes` fits beside what waits.
    fn make_room(&mut self, bytes: usize, deliver: &mut impl FnMut(u64, &[u8])) {
        while let Some((next, highest)) = self.place {
            let is_near = highest - next < HELD_MAX as u64;
            if is_near && (self.held_count == 0 || self.held_bytes + bytes <= HELD_BYTES_MAX) {
                return;
            }
            if self.held_count > 0 {
                self.step(next, highest, deliver);
            } else {
                let until = highest - (HELD_MAX as u64 - 1);
                self.counters.lost += until - next;
                self.place = Some((until, highest));
            }
        }
    }

    /// Hands on what is next, and gives up what has been waited for long enough.
    fn release(&mut self, now_ns: u64, deliver: &mut impl FnMut(u64, &[u8])) {
        let wait_ns = self.wait_ns();
        while let Some((next, highest)) = self.place.filter(|(next, highest)| next <= highest) {
            let is_held = self.held[next as usize % HELD_MAX].is_some();
            let seen = self.seen_at(next);
            let is_over = !seen.has_arrived && now_ns.saturating_sub(seen.at_ns) >= wait_ns;
            if !is_held && !is_over {
                return;
            }
            self.step(next, highest, deliver);
        }
    }

    /// Hands on the next datagram if it is there, or else gives it up.
    fn step(&mut self, next: u64, highest: u64, deliver: &mut impl FnMut(u64, &[u8])) {
        match self.held[next as usize % HELD_MAX].take() {
            Some(memory) => {
                deliver(next, &memory);
                self.held_bytes -= memory.len();
                self.held_count -= 1;
                self.free.push(memory);
            }
            None => self.counters.lost += 1,
        }
        self.place = Some((next + 1, highest));
    }
}
