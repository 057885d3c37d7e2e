//! Questions that public sources leave open: a named choice for each, with a default and the reason for it.

use super::ConfigError;

/// Bounds of the interval between INITs.
const INIT_INTERVAL_NS: (u64, u64) = (1, 4_290_000_000);
/// Bounds of both distances of control ordered sets inside a frame: the largest frame is below 64 KiB.
const INSERTION_OCTETS: (u64, u64) = (8, 65_535);

/// When a receiver sends another NACK for the same expected number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum NackRearm {
    /// Never: if a NACK or a replayed frame is lost, only the replay timer recovers from it. This is the default,
    /// because SAI's design has one NACK for each gap, and NACK_SENT sends neither ACKs nor NACKs.
    #[default]
    Never,
    /// When a replay has begun (recognised by a number that does not rise) and the frame with the expected number is
    /// bad or missing again. This is faster, and it is safe, because a NACK only states the last good number.
    EachReplay,
}

/// How a transmitter reacts to a NACK that arrives during a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum NackInReplay {
    /// The replay restarts after the number in the NACK. This is the default, because a frame lost during the replay is
    /// then recovered without the timer.
    #[default]
    Restart,
    /// It only acknowledges. If a replayed frame was lost, the timer recovers it.
    AcknowledgeOnly,
}

/// What starts the replay timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ReplayTimerStart {
    /// The last ACK that made progress, the end of the last replay, or a frame sent while nothing was outstanding. This
    /// is the default, because SAI says that the timer expires "if no further ACKs are received".
    #[default]
    LastProgress,
    /// The last transmission of the oldest outstanding frame.
    OldestFrame,
}

/// Which replays without progress the replay counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CountedReplays {
    /// All of them. This is the default, because the register descriptions of SAI and FBOSS do not distinguish causes.
    /// The published tests (LLR-05, 07, 09) contain only replays triggered by the timer.
    #[default]
    All,
    /// Only those triggered by the timer.
    Timer,
}

/// Whether a frame without a number may be sent during a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum IneligibleInReplay {
    /// It waits. This is the default, because ADVANCE is the only state that accepts new frames (FBOSS).
    #[default]
    Waits,
    /// It goes first: it has no number, so it cannot disturb the order of frames that have one.
    Overtakes,
}

/// Where a control ordered set may be inserted while a frame is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ControlInsertion {
    /// After the frame. This is the default, because Meta's budget subtracts the time of a full frame in each
    /// direction, and therefore does not rely on pre-emption.
    #[default]
    BetweenFrames,
    /// Inside the frame (pre-emption), after its first `first_after_octets` and at least `apart_octets` apart. A
    /// published taxonomy of messages gives 256 and 2,048 octets.
    InsideFrames { first_after_octets: u32, apart_octets: u32 },
}

impl ControlInsertion {
    /// Pre-emption with the only published distances.
    pub const PUBLISHED: ControlInsertion =
        ControlInsertion::InsideFrames { first_after_octets: 256, apart_octets: 2_048 };
}

/// Which frame check sequence marks a frame as poisoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PoisonPattern {
    /// The correct one with all bits inverted. This is the default, because a cut-through switch inverts it when it
    /// discovers that a frame it is already forwarding is damaged.
    #[default]
    Inverted,
    /// The correct one XOR this value.
    Xor(u32),
}

/// What happens when an INIT arrives in a direction that is already running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum InitWhileRunning {
    /// The receiver restarts with the INIT's number, and the other direction continues. This is the default, because
    /// each direction is enabled separately, and a peer that re-initialises after FLUSH (LLR-09) needs it.
    #[default]
    RestartReceiver,
    /// This end's transmitter also discards all outstanding frames and re-initialises, because the peer may have
    /// restarted and lost its state for both directions. It does not do so if it began to initialise less than
    /// `init_interval_ns` ago, because the INIT is then the peer's response.
    RestartBoth,
    /// The INIT is not answered. A peer can then re-initialise only after this end has been disabled and enabled again.
    Ignore,
}

/// The answers to all questions that public sources leave open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Choices {
    pub nack_rearm: NackRearm,
    pub nack_in_replay: NackInReplay,
    pub replay_timer_start: ReplayTimerStart,
    pub counted_replays: CountedReplays,
    pub ineligible_in_replay: IneligibleInReplay,
    pub control_insertion: ControlInsertion,
    pub poison_pattern: PoisonPattern,
    pub init_while_running: InitWhileRunning,
    /// Interval at which an INIT is repeated until it is echoed, 1 to 4.29e9 ns; no source gives it. The default of
    /// 10,000 ns is longer than any loop that LLR can protect, so that the delay of the echo measures the loop.
    pub init_interval_ns: u64,
}

/// [`Choices::default`], for constants.
pub(crate) const DEFAULT_CHOICES: Choices = Choices {
    nack_rearm: NackRearm::Never,
    nack_in_replay: NackInReplay::Restart,
    replay_timer_start: ReplayTimerStart::LastProgress,
    counted_replays: CountedReplays::All,
    ineligible_in_replay: IneligibleInReplay::Waits,
    control_insertion: ControlInsertion::BetweenFrames,
    poison_pattern: PoisonPattern::Inverted,
    init_while_running: InitWhileRunning::RestartReceiver,
    init_interval_ns: 10_000,
};

impl Default for Choices {
    fn default() -> Choices {
        DEFAULT_CHOICES
    }
}

impl Choices {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::demand("choices.init_interval_ns", self.init_interval_ns, INIT_INTERVAL_NS)?;
        if let PoisonPattern::Xor(pattern) = self.poison_pattern {
            let range = (1, u32::MAX.into());
            ConfigError::demand("choices.poison_pattern", pattern.into(), range)?;
        }
        let ControlInsertion::InsideFrames { first_after_octets, apart_octets } = self.control_insertion
        else {
            return Ok(());
        };
        let first = u64::from(first_after_octets);
        ConfigError::demand("choices.control_insertion.first_after_octets", first, INSERTION_OCTETS)?;
        let apart = u64::from(apart_octets);
        ConfigError::demand("choices.control_insertion.apart_octets", apart, INSERTION_OCTETS)
    }
}

/// One question that public sources leave open, as data for a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenQuestion {
    /// The field of [`Choices`] that answers it.
    pub field: &'static str,
    pub question: &'static str,
    pub answers: &'static str,
    /// Why the first answer is the default.
    pub reason: &'static str,
}

/// Every question that public sources leave open. The first answer is the default.
pub const OPEN_QUESTIONS: [OpenQuestion; 9] = [
    OpenQuestion {
        field: "nack_rearm",
        question: "does a receiver NACK the same number again if the replay is lost, too?",
        answers: "never; each replay",
        reason: "one NACK for each gap, and none in NACK_SENT (SAI)",
    },
    OpenQuestion {
        field: "nack_in_replay",
        question: "what is the effect of a NACK that arrives during a replay?",
        answers: "restarts the replay; only acknowledges",
        reason: "a loss during a replay is then repaired without the timer",
    },
    OpenQuestion {
        field: "replay_timer_start",
        question: "what starts the replay timer?",
        answers: "the last progress; sending the oldest frame",
        reason: "it expires \"if no further ACKs are received\" (SAI)",
    },
    OpenQuestion {
        field: "counted_replays",
        question: "which replays does the replay counter count?",
        answers: "all; only those triggered by the timer",
        reason: "the descriptions of the registers do not distinguish causes (SAI, FBOSS)",
    },
    OpenQuestion {
        field: "ineligible_in_replay",
        question: "may a frame without a number be sent during a replay?",
        answers: "no, it waits; yes, it goes first",
        reason: "only ADVANCE accepts new frames (FBOSS)",
    },
    OpenQuestion {
        field: "control_insertion",
        question: "may a control ordered set be inserted into a frame, and where?",
        answers: "no, only between frames; yes, after 256 octets and then every 2,048",
        reason: "Meta's budget subtracts a full frame in each direction",
    },
    OpenQuestion {
        field: "poison_pattern",
        question: "which frame check sequence marks a poisoned frame?",
        answers: "the correct one inverted; the correct one XOR a constant",
        reason: "cut-through switches invert it",
    },
    OpenQuestion {
        field: "init_while_running",
        question: "what is the effect of an INIT in a direction that is already running?",
        answers: "restarts the receiver; restarts both directions; none",
        reason: "re-initialisation after FLUSH needs it (LLR-09), and directions are independent",
    },
    OpenQuestion {
        field: "init_interval_ns",
        question: "how often is an INIT repeated until it is echoed?",
        answers: "10,000 ns; 1 to 4,290,000,000 ns",
        reason: "longer than any loop that LLR can protect, so that the echo measures the loop",
    },
];
