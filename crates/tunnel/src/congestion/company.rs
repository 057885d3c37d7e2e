//! Whether others fill the queue of the path.

/// The queue that an end keeps in the path when it is alone: enough to notice when the path carries more.
pub(super) const TARGET_NS: u64 = 5_000_000;
/// A queue that an end alone does not cause.
const FOREIGN_NS: u64 = 2 * TARGET_NS;
/// More rounds with such a queue than without, after which others must be there. The bandwidth is remembered for ten
/// rounds, so that a path that carries less than before is not mistaken for others.
const FOREIGN_ROUNDS: u32 = 12;
/// Beside others, an end looks whether it causes the queue itself if that is longer than this.
const LONG_NS: u64 = 3 * TARGET_NS;
/// Trials without a queue after which it is believed to be alone.
const CLEAN_TRIALS: u32 = 2;
/// The time between two trials while it is alone.
const ALONE_NS: u64 = 5_000_000_000;
/// The rounds between two trials beside others: few at first, and twice as many each time that others are found, because a
/// trial leaves them the path.
const ROUNDS_MIN: u32 = 20;
const ROUNDS_MAX: u32 = 160;

/// A trial: for two rounds, half of what the path carries is sent. A queue that remains is that of others, and losses that
/// remain are those of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trial {
    None,
    /// What was in flight before is delivered.
    Draining,
    /// What is sent at half of the rate is delivered.
    Measuring,
}

/// What is believed of others, from the shortest and longest queue of each round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Company {
    has_others: bool,
    foreign_rounds: u32,
    clean_trials: u32,
    longest_ns: u64,
    trial: Trial,
    /// When the next trial begins: at a time while it is alone, after so many rounds beside others.
    trial_at_ns: u64,
    rounds_left: u32,
    rounds_between: u32,
}

impl Company {
    /// Alone.
    pub(super) fn new(now_ns: u64) -> Company {
        Company {
            has_others: false,
            foreign_rounds: 0,
            clean_trials: 0,
            longest_ns: 0,
            trial: Trial::None,
            trial_at_ns: now_ns.saturating_add(ALONE_NS),
            rounds_left: ROUNDS_MIN,
            rounds_between: ROUNDS_MIN,
        }
    }

    /// Whether others fill the queue.
    pub(super) fn has_others(&self) -> bool {
        self.has_others
    }

    /// Whether half of what the path carries is to be sent.
    pub(super) fn is_trial(&self) -> bool {
        self.trial != Trial::None
    }

    /// A queue that an end alone does not fill has overflowed, or marked.
    pub(super) fn handle_congestion(&mut self) {
        if !self.has_others {
            (self.has_others, self.foreign_rounds, self.clean_trials) = (true, 0, 0);
            self.rounds_left = self.rounds_between;
        }
    }

    /// A round is over, in which the queue was between these. Returns whether it was one that shows what the path does at
    /// half of its rate. With `looks_often`, there is such a round every few seconds.
    pub(super) fn handle_round(
        &mut self,
        now_ns: u64,
        shortest_ns: u64,
        longest_ns: u64,
        looks_often: bool,
    ) -> bool {
        match self.trial {
            Trial::Draining => {
                self.trial = Trial::Measuring;
                return false;
            }
            Trial::Measuring => {
                self.trial = Trial::None;
                self.trial_at_ns = now_ns.saturating_add(ALONE_NS);
                self.judge(shortest_ns);
                return true;
            }
            Trial::None => {}
        }
        self.longest_ns = self.longest_ns.max(longest_ns);
        self.rounds_left = self.rounds_left.saturating_sub(1);
        if !self.has_others {
            match shortest_ns {
                ..=TARGET_NS => self.foreign_rounds = self.foreign_rounds.saturating_sub(1),
                FOREIGN_NS.. => self.foreign_rounds += 1,
                _ => {}
            }
            if self.foreign_rounds >= FOREIGN_ROUNDS {
                self.handle_congestion();
            }
        }
        // Beside others, a short queue is no reason to give way: a shallow buffer is empty at times.
        let is_due = match self.has_others {
            true if self.longest_ns >= LONG_NS => self.rounds_left == 0,
            is_beside => now_ns >= self.trial_at_ns && (looks_often || !is_beside),
        };
        if is_due {
            self.trial = Trial::Draining;
        }
        false
    }

    fn judge(&mut self, shortest_ns: u64) {
        if !self.has_others {
            self.rounds_between = (self.rounds_between / 2).max(ROUNDS_MIN);
        } else if shortest_ns >= TARGET_NS {
            self.clean_trials = 0;
            self.rounds_between = (2 * self.rounds_between).min(ROUNDS_MAX);
            self.rounds_left = self.rounds_between;
        } else {
            self.clean_trials += 1;
            self.has_others = self.clean_trials < CLEAN_TRIALS;
            self.rounds_left = ROUNDS_MIN;
        }
        self.longest_ns = 0;
    }
}
