//! Decides which source acts next.
//!
//! Most things in a simulated network happen in order: the frames in flight on one wire arrive in the order in which
//! they were sent, and so do those in one recirculation loop or one port's service. Each such sequence is a *source*
//! with its own first-in-first-out queue; only the time of its head is here. This queue therefore has as many entries
//! as there are sources, however many frames are in flight. Entries are never inserted or removed, only changed.
//!
//! # The total order of events
//!
//! Events happen in the order of `(time, source)`: the earlier time first and, at the same time, the source with the
//! lower index, which was added first. Events of one source happen in that source's own order. Nothing else matters:
//! neither when an event was scheduled, nor how often its source was rescheduled. The order is therefore the same on
//! every machine, and the same after a fast-forward, which moves all events but does not repeat their scheduling.

use crate::time::Time;
use std::hint::{cold_path, select_unpredictable};

/// Up to this many sources, the queue stores only the times, and searches them for each event: one search per event,
/// however many sources the event sets. While sources are few, its branches are an advantage, because the pattern of
/// one or two links is regular, and the processor predicts the winner and lets the event begin before the search has
/// ended. With 24 sources the tree is as fast on links, and on random times it is always faster
/// (`benches/event_queue`).
const MOST_SEARCHED: usize = 16;
/// Times that are searched before checking whether there are more.
const STRIDE: usize = 8;

/// Number of sources that share a leaf of the tree. Their times fill a cache line, and comparing all of them takes as
/// long as three rounds but stores nothing in between.
const BLOCK: usize = 8;

/// The next event time of every source, earliest first.
///
/// The loop of a simulator is: [`next`](Self::next), advance the clock, let the source act, then [`set`](Self::set) or
/// [`clear`](Self::clear) that source and every other source whose head it changed.
///
/// Few sources are searched. More are the players of a tournament: the leaves of a binary tree are the winners of
/// blocks of sources, each inner node is the winner of its two children, and the root is who acts next. A change
/// replays the matches between one leaf and the root, without branches, since winners are hard to predict. The
/// addresses of the opponents depend only on the leaf, so they are all loaded at once.
#[derive(Debug, Clone)]
pub struct EventQueue {
    /// By source, in picoseconds; whole blocks when there is a tree.
    times: Vec<u64>,
    /// The implicit tree: the root at 1, the children of `i` at `2i` and `2i + 1`, the leaves in its second half, a
    /// power of two of them. Empty when the times are searched.
    tree: Vec<Head>,
    /// How many sources there are; the times beyond stay idle.
    sources: usize,
    /// Leaves that were changed and not replayed, if that is [deferred](EventQueue::defer).
    deferred: Vec<usize>,
    is_deferring: bool,
}

/// A source and when it acts.
#[derive(Debug, Clone, Copy)]
struct Head {
    time: u64,
    source: usize,
}

impl Head {
    const IDLE: Head = Head { time: Time::NEVER.0, source: 0 };

    /// The earlier of two heads. If their times are equal, the left one, whose source must have the lower index.
    #[inline]
    fn earlier(left: Head, right: Head) -> Head {
        let wins = left.time <= right.time;
        Head {
            time: select_unpredictable(wins, left.time, right.time),
            source: select_unpredictable(wins, left.source, right.source),
        }
    }

    /// The earliest of a stride that begins with the source `first`.
    #[inline]
    fn of_stride(times: &[u64; STRIDE], first: usize) -> Head {
        let mut head = Head { time: times[0], source: first };
        for (at, &time) in times.iter().enumerate().skip(1) {
            if time < head.time {
                // A branch for the processor to predict, instead of two selections.
                cold_path();
                head = Head { time, source: first + at };
            }
        }
        head
    }

    /// The winner of a block, of which `first` is the first source.
    #[inline]
    fn of_block(block: [u64; BLOCK], first: usize) -> Head {
        let head = |at: usize| Head { time: block[at], source: first + at };
        let quarter = |at: usize| Head::earlier(head(at), head(at + 1));
        let half = |at: usize| Head::earlier(quarter(at), quarter(at + 2));
        Head::earlier(half(0), half(4))
    }
}

impl EventQueue {
    /// A queue for the sources `0..sources`, all idle.
    pub fn new(sources: usize) -> EventQueue {
        let (times, nodes) = if sources <= MOST_SEARCHED {
            (sources.next_multiple_of(STRIDE), 0)
        } else {
            let leaves = sources.div_ceil(BLOCK).next_power_of_two();
            (leaves * BLOCK, 2 * leaves)
        };
        EventQueue {
            times: vec![Time::NEVER.0; times],
            tree: vec![Head::IDLE; nodes],
            sources,
            deferred: Vec::new(),
            is_deferring: false,
        }
    }

    /// Adds an idle source and returns its index. It may rebuild everything: meant for construction time.
    pub fn add_source(&mut self) -> usize {
        let source = self.sources;
        if source == self.times.len() {
            let mut larger = EventQueue::new(source + 1);
            (0..source).for_each(|source| larger.set(source, self.time_of(source)));
            *self = larger;
        } else {
            self.sources += 1;
        }
        source
    }

    /// Makes `time` the time of the next event of `source`, instead of what it was, be that earlier or later.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        debug_assert!(source < self.sources, "source {source} of {}", self.sources);
        if self.tree.is_empty() {
            self.times[source] = time.0;
        } else if self.times[source] != time.0 {
            self.times[source] = time.0;
            let block = source / BLOCK;
            if !self.is_deferring {
                self.replay(block);
            } else if !self.deferred.contains(&block) {
                self.deferred.push(block);
            }
        }
    }

    /// From now on, changes take effect on [`next`](Self::next) only when it [catches up](Self::catch_up): for a caller that
    /// changes few sources many times.
    pub fn defer(&mut self) {
        self.is_deferring = true;
    }

    /// Ends what [`defer`](Self::defer) has begun.
    pub fn catch_up(&mut self) {
        self.is_deferring = false;
        while let Some(block) = self.deferred.pop() {
            self.replay(block);
        }
    }

    /// Makes `source` idle.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn clear(&mut self, source: usize) {
        self.set(source, Time::NEVER);
    }

    /// When `source` acts next; [`Time::NEVER`] when it is idle.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn time_of(&self, source: usize) -> Time {
        debug_assert!(source < self.sources, "source {source} of {}", self.sources);
        Time(self.times[source])
    }

    /// The earliest event in the [total order](self#the-total-order-of-events), or `None` when every source is idle.
    /// It stays until its source is [set](Self::set) or [cleared](Self::clear).
    #[inline]
    pub fn next(&self) -> Option<(Time, usize)> {
        let head = if let Some(&root) = self.tree.get(1) { root } else { self.search() };
        (head.time != Time::NEVER.0).then_some((Time(head.time), head.source))
    }

    /// Makes every pending event later by `by`, which changes nothing about their order (fast-forward).
    ///
    /// # Panics
    /// If an event would get past the end of time.
    pub fn shift(&mut self, by: Time) {
        let times = self.times.iter_mut().chain(self.tree.iter_mut().map(|head| &mut head.time));
        for time in times.filter(|time| **time != Time::NEVER.0) {
            let later = time.checked_add(by.0).filter(|later| *later != Time::NEVER.0);
            *time = later.expect("events stay before the end of time");
        }
    }

    /// The earliest of few.
    #[inline(always)]
    fn search(&self) -> Head {
        match self.times.as_chunks() {
            ([few], _) => Head::of_stride(few, 0),
            ([left, right], _) => Head::earlier(Head::of_stride(left, 0), Head::of_stride(right, STRIDE)),
            _ => Head::IDLE,
        }
    }

    /// Plays again the matches between the leaf of a block and the root.
    #[inline(never)]
    fn replay(&mut self, block: usize) {
        let (blocks, _) = self.times.as_chunks();
        let mut winner = Head::of_block(blocks[block], block * BLOCK);
        let mut node = self.tree.len() / 2 + block;
        self.tree[node] = winner;
        while node > 1 {
            let opponent = self.tree[node ^ 1];
            // At one time the left one, at an even place, wins. Between two idle ones it does not matter who does,
            // hence the saturation.
            let is_left = node & 1 == 0;
            let wins = winner.time < opponent.time.saturating_add(u64::from(is_left));
            winner.time = select_unpredictable(wins, winner.time, opponent.time);
            winner.source = select_unpredictable(wins, winner.source, opponent.source);
            node >>= 1;
            self.tree[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What the queue must equal: a list of times, searched from the front.
    #[derive(Default)]
    struct Model(Vec<Time>);

    impl Model {
        fn next(&self) -> Option<(Time, usize)> {
            let pending = self.0.iter().copied().zip(0..).filter(|(time, _)| *time != Time::NEVER);
            pending.min()
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Set(usize, u64),
        Clear(usize),
        SetNext(u64),
        ClearNext,
        Shift(u64),
        Add,
        Deferred(Vec<(usize, u64)>),
    }

    /// Times are few, so that ties are many.
    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (any::<usize>(), 0..20u64).prop_map(|(source, time)| Step::Set(source, time)),
            2 => any::<usize>().prop_map(Step::Clear),
            6 => (0..20u64).prop_map(Step::SetNext),
            1 => Just(Step::ClearNext),
            1 => (0..20u64).prop_map(Step::Shift),
            1 => Just(Step::Add),
            2 => prop::collection::vec((any::<usize>(), 0..20u64), 0..9).prop_map(Step::Deferred),
        ]
    }

    fn apply(step: Step, queue: &mut EventQueue, model: &mut Model) {
        let sources = model.0.len();
        match step {
            Step::Set(source, time) if sources > 0 => {
                queue.set(source % sources, Time(time));
                model.0[source % sources] = Time(time);
            }
            Step::Clear(source) if sources > 0 => {
                queue.clear(source % sources);
                model.0[source % sources] = Time::NEVER;
            }
            Step::SetNext(after) => {
                if let Some((now, source)) = queue.next() {
                    queue.set(source, now + Time(after));
                    model.0[source] = now + Time(after);
                }
            }
            Step::ClearNext => {
                if let Some((_, source)) = queue.next() {
                    queue.clear(source);
                    model.0[source] = Time::NEVER;
                }
            }
            Step::Shift(by) => {
                queue.shift(Time(by));
                let pending = model.0.iter_mut().filter(|time| **time != Time::NEVER);
                pending.for_each(|time| *time += Time(by));
            }
            Step::Add => {
                assert_eq!(queue.add_source(), sources);
                model.0.push(Time::NEVER);
            }
            Step::Deferred(changes) if sources > 0 => {
                queue.defer();
                for (source, time) in changes {
                    apply(Step::Set(source, time), queue, model);
                }
                queue.catch_up();
            }
            Step::Set(..) | Step::Clear(_) | Step::Deferred(_) => {}
        }
    }

    proptest! {
        #[test]
        fn the_queue_agrees_with_a_list_of_times(
            sources in prop_oneof![0..20usize, 20..100usize],
            steps in prop::collection::vec(step(), 0..300),
        ) {
            let mut queue = EventQueue::new(sources);
            let mut model = Model(vec![Time::NEVER; sources]);
            for step in steps {
                apply(step, &mut queue, &mut model);
                prop_assert_eq!(queue.next(), model.next());
                for (source, time) in model.0.iter().enumerate() {
                    prop_assert_eq!(queue.time_of(source), *time);
                }
            }
        }
    }

    #[test]
    fn of_events_at_one_time_the_lower_source_acts_first_whatever_the_order_of_scheduling() {
        for sources in [1, 2, 3, 8, 9, 16, 17, 64, 100] {
            let mut queue = EventQueue::new(sources);
            for source in (0..sources).rev() {
                queue.set(source, Time(3 * source as u64));
                queue.set(source, Time(7));
            }
            for source in 0..sources {
                assert_eq!(queue.next(), Some((Time(7), source)));
                queue.clear(source);
            }
            assert_eq!(queue.next(), None);
        }
    }

    #[test]
    fn the_last_instant_before_never_is_a_time_like_any_other() {
        let last = Time(Time::NEVER.0 - 1);
        let mut queue = EventQueue::new(2);
        queue.set(1, last);
        assert_eq!(queue.next(), Some((last, 1)));
        queue.set(0, last);
        assert_eq!(queue.next(), Some((last, 0)));
    }

    #[test]
    #[should_panic(expected = "end of time")]
    fn shifting_past_the_end_of_time_is_refused() {
        let mut queue = EventQueue::new(1);
        queue.set(0, Time(1));
        queue.shift(Time(u64::MAX - 1));
    }

    #[test]
    #[should_panic(expected = "source 3 of 3")]
    fn a_source_that_was_not_added_is_refused() {
        EventQueue::new(3).set(3, Time::ZERO);
    }
}
