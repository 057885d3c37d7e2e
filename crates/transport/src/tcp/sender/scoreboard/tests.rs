//! The scoreboard against a model that walks the whole window each time, and what its operations cost.

use super::*;
use proptest::prelude::*;

const LENGTH: u64 = 10;

/// RFC 6675's definitions, literally.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    start: u64,
    length: u64,
    sent: u64,
    sacked: bool,
    lost: bool,
    resent: bool,
}

#[derive(Debug, Default)]
struct Model {
    entries: Vec<Entry>,
    next: u64,
    clock: u64,
}

impl Model {
    fn count(&self, is_counted: impl Fn(&Entry) -> bool) -> u32 {
        self.entries.iter().filter(|entry| is_counted(entry)).count() as u32
    }

    /// SetPipe(): what is neither SACKed nor lost, and what was retransmitted.
    fn pipe(&self) -> u32 {
        self.count(|entry| !entry.sacked && !entry.lost) + self.count(|entry| entry.resent)
    }

    fn waits(entry: &&Entry) -> bool {
        entry.lost && !entry.resent
    }

    fn next_to_resend(&self) -> Option<u64> {
        self.entries.iter().find(Model::waits).map(|entry| entry.start)
    }

    fn sent_first(&self) -> Option<u64> {
        let in_flight = self.entries.iter().filter(|entry| !entry.sacked && !Model::waits(entry));
        in_flight.min_by_key(|entry| (entry.sent, entry.start)).map(|entry| entry.start)
    }

    fn sack(&mut self, start: u64, end: u64) {
        for entry in &mut self.entries {
            if start <= entry.start && entry.start + entry.length <= end && !entry.sacked {
                *entry = Entry { sacked: true, lost: false, resent: false, ..*entry };
            }
        }
    }

    fn mark_lost_below(&mut self, threshold: u32) {
        for place in 0..self.entries.len() {
            let above = self.entries[place..].iter().filter(|entry| entry.sacked).count();
            let entry = &mut self.entries[place];
            if !entry.sacked && above >= threshold as usize {
                entry.lost = true;
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send(u8),
    /// Blocks by their place in the window, in segments and a few bytes.
    Sack(u8, u8, u8),
    Acknowledge(u8),
    LoseBelow(u32),
    /// Loses what was sent before this share of the time.
    LoseByTime(u8),
    Resend(u8),
    ResendNewest,
    /// Divides one of the segments.
    Split(u8),
    Timeout,
    Renege,
    Undo,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..20_u8).prop_map(Step::Send),
        6 => (any::<u8>(), 1..30_u8, 0..3_u8).prop_map(|(from, count, odd)| Step::Sack(from, count, odd)),
        3 => (0..12_u8).prop_map(Step::Acknowledge),
        3 => (1..6_u32).prop_map(Step::LoseBelow),
        2 => any::<u8>().prop_map(Step::LoseByTime),
        4 => (1..8_u8).prop_map(Step::Resend),
        1 => Just(Step::ResendNewest),
        2 => any::<u8>().prop_map(Step::Split),
        1 => Just(Step::Timeout),
        1 => Just(Step::Renege),
        1 => Just(Step::Undo),
    ];
    prop::collection::vec(step, 1..80)
}

#[derive(Debug, Default)]
struct Both {
    board: Scoreboard,
    model: Model,
}

impl Both {
    fn apply(&mut self, step: &Step) {
        self.model.clock += 1;
        match *step {
            Step::Send(count) => (0..count).for_each(|_| self.send()),
            Step::Sack(from, count, odd) => {
                let Some(head) = self.model.entries.first() else { return };
                let window = self.model.entries.len() as u64;
                let start = head.start + u64::from(from) * window / 256 * LENGTH + u64::from(odd);
                let end = (start + u64::from(count) * LENGTH).min(self.model.next);
                self.model.sack(start, end);
                self.board.sack(start..end, |record| assert!(!record.marks.contains(Marks::SACKED)));
            }
            Step::Acknowledge(count) => (0..count).for_each(|_| {
                let popped = self.board.pop().map(|record| record.start);
                let expected = (!self.model.entries.is_empty()).then(|| self.model.entries.remove(0).start);
                assert_eq!(popped, expected);
            }),
            Step::LoseBelow(threshold) => {
                self.model.mark_lost_below(threshold);
                self.board.mark_lost_below(threshold);
            }
            Step::LoseByTime(share) => self.lose_by_time(self.model.clock * u64::from(share) / 256),
            Step::Resend(count) => (0..count).for_each(|_| {
                if let Some(number) = self.board.next_to_resend() {
                    self.resend(number);
                }
            }),
            Step::ResendNewest => {
                if let Some(number) = self.board.newest()
                    && !self.board.at(number).marks.contains(Marks::SACKED)
                {
                    self.resend(number);
                }
            }
            Step::Split(place) => self.split(u64::from(place)),
            Step::Timeout => {
                self.board.mark_all_lost(|_| true);
                for entry in self.model.entries.iter_mut().filter(|entry| !entry.sacked) {
                    (entry.lost, entry.resent) = (true, false);
                }
            }
            Step::Renege => {
                self.board.forget_sacks();
                self.model.entries.iter_mut().for_each(|entry| entry.sacked = false);
            }
            Step::Undo => {
                self.board.forget_losses();
                self.model.entries.iter_mut().for_each(|entry| entry.lost = false);
            }
        }
    }

    fn send(&mut self) {
        self.model.clock += 1;
        let now = Instant(self.model.clock);
        self.board.push(Record::new(self.model.next, LENGTH as u16, now, Snapshot::default()));
        let (start, sent) = (self.model.next, self.model.clock);
        let entry = Entry { start, length: LENGTH, sent, ..Entry::default() };
        self.model.entries.push(entry);
        self.model.next += LENGTH;
    }

    fn resend(&mut self, number: u32) {
        self.model.clock += 1;
        let start = self.board.at(number).start;
        self.board.resend(number, Instant(self.model.clock), Snapshot::default());
        for entry in self.model.entries.iter_mut().filter(|entry| entry.start == start) {
            (entry.resent, entry.sent) = (true, self.model.clock);
        }
    }

    fn split(&mut self, share: u64) {
        let place = self.model.entries.len() as u64 * share / 256;
        let Some(entry) = self.model.entries.get(place as usize).copied() else { return };
        if entry.sacked || entry.length < 2 {
            return;
        }
        let length = entry.length / 2;
        let number = self.board.split(self.board.head + place as u32, length as u16);
        assert_eq!(self.board.at(number).start, entry.start);
        self.model.entries[place as usize].length = length;
        let rest = Entry { start: entry.start + length, length: entry.length - length, ..entry };
        self.model.entries.insert(place as usize + 1, rest);
    }

    fn lose_by_time(&mut self, until: u64) {
        while let Some(oldest) = self.board.sent_first() {
            if self.board.at(oldest).sent_at.0 > until {
                break;
            }
            self.board.mark_lost(oldest);
        }
        let is_due = |entry: &&mut Entry| !entry.sacked && entry.sent <= until;
        for entry in self.model.entries.iter_mut().filter(is_due) {
            (entry.lost, entry.resent) = (true, false);
        }
        let last = self.board.last_before(|record| record.sent_at.0 <= until);
        // The answer may have been later at an earlier call, with a later time.
        assert!(last.is_none_or(|last| !self.board.at(last).marks.contains(Marks::SACKED)));
    }

    fn check(&self) {
        let (board, model) = (&self.board, &self.model);
        assert_eq!(board.len(), model.entries.len() as u32, "outstanding");
        assert_eq!(board.sacked(), model.count(|entry| entry.sacked), "SACKed");
        assert_eq!(board.lost(), model.count(|entry| entry.lost), "lost");
        assert_eq!(board.resent(), model.count(|entry| entry.resent), "retransmitted");
        assert_eq!(board.pipe(), model.pipe(), "pipe");
        assert_eq!(board.next_to_resend().map(|number| board.at(number).start), model.next_to_resend());
        assert_eq!(board.sent_first().map(|number| board.at(number).start), model.sent_first());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// RFC 6675, sections 3 and 4.
    #[test]
    fn the_scoreboard_counts_as_a_model_that_walks_the_window(steps in steps()) {
        let mut both = Both::default();
        for step in &steps {
            both.apply(step);
            both.check();
        }
    }

    #[test]
    fn the_scoreboard_survives_the_end_of_its_numbers(steps in steps()) {
        let mut both = Both::default();
        (both.board.head, both.board.tail) = (NONE - 60, NONE - 60);
        for step in &steps {
            both.apply(step);
            both.check();
        }
    }
}

/// A scoreboard of this many segments that were sent at once.
fn sent(window: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for segment in 0..window {
        board.push(Record::new(segment * LENGTH, LENGTH as u16, Instant(0), Snapshot::default()));
    }
    board.visits = 0;
    board
}

/// A window of `window` segments, sent at once; every `hole`-th is lost, and SACKs arrive for two segments at a time, with
/// three blocks as a receiver would send them. Returns visits per acknowledgement.
fn visits_per_ack(window: u64, hole: u64) -> f64 {
    let mut board = sent(window);
    let (mut acks, mut blocks): (u64, Vec<Range<u64>>) = (0, Vec::new());
    for segment in (0..window).step_by(2) {
        for arrived in [segment, segment + 1].into_iter().filter(|segment| segment % hole != 0) {
            let start = arrived * LENGTH;
            match blocks.first_mut() {
                Some(block) if block.end == start => block.end += LENGTH,
                _ => blocks.insert(0, start..start + LENGTH),
            }
        }
        acks += 1;
        for block in blocks.iter().take(3) {
            board.sack(block.clone(), |_| ());
        }
        board.mark_lost_below(3);
        while let Some(number) = board.next_to_resend() {
            board.resend(number, Instant(segment), Snapshot::default());
        }
    }
    // The retransmissions arrive: blocks join, and the acknowledgement advances over each of them.
    for segment in (0..window).step_by(hole as usize) {
        acks += 1;
        let end = (segment + hole).min(window) * LENGTH;
        while board.head().is_some_and(|head| head.end() <= end) {
            board.pop();
        }
        for block in blocks.iter().take(3).filter(|block| block.start >= end) {
            board.sack(block.clone(), |_| ());
        }
    }
    assert!(board.is_empty());
    board.visits as f64 / acks as f64
}

/// The cost of an acknowledgement does not depend on the window but for the search for the beginning of a new block.
#[test]
fn an_acknowledgement_visits_few_records_however_large_the_window_is() {
    for hole in [7, 100, 1_000] {
        let [small, large] = [1_000, 100_000].map(|window| visits_per_ack(window, hole));
        println!("every {hole}th lost: {small:.1} visits per ACK at 1,000 segments, {large:.1} at 100,000");
        assert!(large < 25.0, "{large} visits at a loss of 1 in {hole}");
        assert!(large < small + 5.0, "{large} visits after {small}");
    }
}

/// One block that grows downwards and upwards in turn, as when a network reorders: what it covers is not walked again.
#[test]
fn a_block_that_grows_at_both_ends_is_not_walked_again() {
    let count = 20_000;
    let mut board = sent(2 * count);
    for step in 1..count {
        let (start, end) = ((count - step) * LENGTH, (count + step) * LENGTH);
        board.sack(start..end, |_| ());
    }
    let per_block = board.visits as f64 / count as f64;
    println!("{per_block:.1} visits per block");
    assert!(per_block < 40.0, "{per_block} visits per block");
}

/// A record is no larger than what a segment needs: there are as many as segments are outstanding.
#[test]
fn a_record_takes_48_bytes() {
    assert!(size_of::<Record>() <= 48, "{} bytes", size_of::<Record>());
}

/// What is known of a block holds numbers, which a division below it changes.
#[test]
fn a_block_below_which_segments_are_divided_is_not_mistaken_for_another() {
    let mut board = sent(10);
    board.sack(50..70, |_| ());
    board.split(0, 5);
    board.split(1, 2);
    board.sack(50..80, |_| ());
    let mut starts = Vec::new();
    while let Some(number) = board.sent_first() {
        starts.push(board.at(number).start);
        board.mark_lost(number);
    }
    assert_eq!(starts, [0, 5, 7, 10, 20, 30, 40, 80, 90]);
}
