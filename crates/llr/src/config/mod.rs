//! The registers of one port (Ultra Ethernet specification, Table 5-9), their ranges, and the choices.

mod choices;
mod error;
mod named;

use choices::DEFAULT_CHOICES;
pub use choices::{
    Choices, ControlInsertion, CountedReplays, IneligibleInReplay, InitWhileRunning, NackInReplay, NackRearm,
    OPEN_QUESTIONS, OpenQuestion, PoisonPattern, ReplayTimerStart,
};
pub use error::ConfigError;
pub use named::{NAMES, field};

use crate::sequence::{SEQUENCE_SPACE, SequenceNumber, SequenceSpace};

/// The replay count that means no limit.
pub const REPLAY_COUNT_UNLIMITED: u8 = 255;
/// The longest replay timer: 65,536 is refused (FBOSS).
const REPLAY_TIMER_NS_MAX: u64 = 65_535;
/// The longest PCS-lost and data age timers (FBOSS).
const LONG_TIMER_NS_MAX: u64 = 4_290_000_000;
/// The target spacing of control ordered sets (FBOSS).
const SPACING_BYTES: (u64, u64) = (400, 16_384);

/// What happens to new eligible frames while the transmitter is in INIT or FLUSH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum FrameAction {
    /// They are dropped, and counted as `TX_DISCARD`.
    Discard,
    /// They wait. This exerts backpressure, so nothing is lost.
    Block,
    /// They are sent without a number, unprotected.
    #[default]
    BestEffort,
}

/// The registers of one port, with SAI's defaults. The names are those of the specification, with units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Config {
    /// Whether the peer may initialise this end's receiver.
    pub local: bool,
    /// Whether this end's transmitter may initialise the peer's receiver.
    pub remote: bool,
    /// Maximum number of outstanding frames (`outstanding_seq_max`), 1 to half of the sequence space. SAI gives no
    /// default, and does not allow a change while the port is running.
    pub outstanding_frames_max: u32,
    /// Maximum number of outstanding bytes (`outstanding_data_max`), 1 to 2^32 - 1. It should be the link's
    /// bandwidth-delay product. A frame larger than this is never sent. SAI gives no default here either.
    pub outstanding_bytes_max: u32,
    /// `replay_timer_max`, up to 65,535 ns; at 0, the timer is off.
    pub replay_timer_ns: u32,
    /// `replay_ct_max`: replays without progress before FLUSH, 1 to 254; 255 means no limit.
    pub replay_count_max: u8,
    /// `pcs_lost_status_timer_max`: how long the PCS may be lost before FLUSH, up to 4.29e9 ns; at 0, FLUSH is immediate.
    pub pcs_lost_timeout_ns: u32,
    /// `data_age_timer_max`: how old an outstanding frame may become before FLUSH, up to 4.29e9 ns; at 0, the timer is off.
    pub data_age_timeout_ns: u32,
    /// `llr_init_behavior`.
    pub init_action: FrameAction,
    /// `llr_flush_behavior`.
    pub flush_action: FrameAction,
    /// `re_init_on_discard`: the transmitter goes from FLUSH to INIT by itself, without management.
    pub re_init_on_discard: bool,
    /// `ctlos_target_spacing`: distance from one ACK or NACK to the next, 400 to 16,384 bytes on the line.
    pub ctlos_spacing_bytes: u32,
    /// Sequence numbers of the wire format: a power of two up to 2^20.
    pub sequence_space: u32,
    /// The number of the first frame, below `sequence_space`.
    pub first_sequence: u32,
    pub choices: Choices,
}

/// [`Config::default`], for constants.
pub(crate) const SAI_DEFAULTS: Config = Config {
    local: true,
    remote: true,
    outstanding_frames_max: SEQUENCE_SPACE / 2,
    outstanding_bytes_max: u32::MAX,
    replay_timer_ns: 0,
    replay_count_max: 1,
    pcs_lost_timeout_ns: 0,
    data_age_timeout_ns: 0,
    init_action: FrameAction::BestEffort,
    flush_action: FrameAction::BestEffort,
    re_init_on_discard: false,
    ctlos_spacing_bytes: 2_048,
    sequence_space: SEQUENCE_SPACE,
    first_sequence: 0,
    choices: DEFAULT_CHOICES,
};

/// The smallest and the largest value of a register, with 20-bit numbers.
fn limits(register: &str) -> (u64, u64) {
    match register {
        "outstanding_frames_max" => (1, (SEQUENCE_SPACE / 2).into()),
        "replay_timer_ns" => (0, REPLAY_TIMER_NS_MAX),
        "replay_count_max" => (1, REPLAY_COUNT_UNLIMITED.into()),
        "pcs_lost_timeout_ns" | "data_age_timeout_ns" => (0, LONG_TIMER_NS_MAX),
        "ctlos_spacing_bytes" => SPACING_BYTES,
        _ => (1, u32::MAX.into()),
    }
}

impl Default for Config {
    /// SAI's defaults. Limits for which SAI gives none are the maxima that the wire format allows.
    fn default() -> Config {
        SAI_DEFAULTS
    }
}

impl Config {
    /// Rejects parameters that are out of range, and names the first of them.
    ///
    /// # Errors
    /// The first parameter that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let space = u64::from(self.sequence_space);
        ConfigError::demand("sequence_space", space, (2, SEQUENCE_SPACE.into()))?;
        let Some(numbers) = SequenceSpace::new(self.sequence_space) else {
            let power = self.sequence_space.next_power_of_two();
            let (min, max) = (u64::from(power / 2), u64::from(power));
            return Err(ConfigError { parameter: "sequence_space", value: space, min, max });
        };
        let frames = u64::from(self.outstanding_frames_max);
        ConfigError::demand("first_sequence", self.first_sequence.into(), (0, space - 1))?;
        ConfigError::demand("outstanding_frames_max", frames, (1, numbers.outstanding_max().into()))?;
        let values = [
            ("outstanding_bytes_max", self.outstanding_bytes_max.into()),
            ("replay_timer_ns", self.replay_timer_ns.into()),
            ("replay_count_max", self.replay_count_max.into()),
            ("pcs_lost_timeout_ns", self.pcs_lost_timeout_ns.into()),
            ("data_age_timeout_ns", self.data_age_timeout_ns.into()),
            ("ctlos_spacing_bytes", self.ctlos_spacing_bytes.into()),
        ];
        for (parameter, value) in values {
            ConfigError::demand(parameter, value, limits(parameter))?;
        }
        self.choices.check()
    }

    /// The space of a checked configuration; the default space if it was not checked.
    pub fn space(&self) -> SequenceSpace {
        SequenceSpace::new(self.sequence_space).unwrap_or_default()
    }

    /// The count of the first frame.
    pub(crate) fn first_count(&self) -> u64 {
        self.space().first_count(SequenceNumber(self.first_sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_diagnose::Diagnose;

    #[test]
    fn what_is_out_of_range_is_refused_with_its_name_value_and_range() {
        let good = Config::default();
        assert_eq!(good.check(), Ok(()));
        let cases = [
            (
                Config { outstanding_frames_max: 524_289, ..good },
                "outstanding_frames_max",
                524_289,
                1,
                524_288,
            ),
            (Config { outstanding_frames_max: 0, ..good }, "outstanding_frames_max", 0, 1, 524_288),
            (
                Config { sequence_space: 16, outstanding_frames_max: 9, ..good },
                "outstanding_frames_max",
                9,
                1,
                8,
            ),
            (Config { outstanding_bytes_max: 0, ..good }, "outstanding_bytes_max", 0, 1, 4_294_967_295),
            (Config { replay_timer_ns: 65_536, ..good }, "replay_timer_ns", 65_536, 0, 65_535),
            (Config { replay_count_max: 0, ..good }, "replay_count_max", 0, 1, 255),
            (
                Config { pcs_lost_timeout_ns: 4_290_000_001, ..good },
                "pcs_lost_timeout_ns",
                4_290_000_001,
                0,
                4_290_000_000,
            ),
            (
                Config { data_age_timeout_ns: u32::MAX, ..good },
                "data_age_timeout_ns",
                4_294_967_295,
                0,
                4_290_000_000,
            ),
            (Config { ctlos_spacing_bytes: 399, ..good }, "ctlos_spacing_bytes", 399, 400, 16_384),
            (Config { ctlos_spacing_bytes: 16_385, ..good }, "ctlos_spacing_bytes", 16_385, 400, 16_384),
            (Config { sequence_space: 1 << 21, ..good }, "sequence_space", 2_097_152, 2, 1_048_576),
            (Config { sequence_space: 1_000, ..good }, "sequence_space", 1_000, 512, 1_024),
            (Config { first_sequence: 1 << 20, ..good }, "first_sequence", 1_048_576, 0, 1_048_575),
        ];
        for (config, parameter, value, min, max) in cases {
            assert_eq!(config.check(), Err(ConfigError { parameter, value, min, max }));
        }
        let error = Config { replay_count_max: 0, ..good }.check().expect_err("refused");
        assert_eq!(error.to_string(), "replay_count_max = 0: must be 1 to 255");
        assert_eq!(error.hint().as_deref(), Some("255 means no limit"));
        let largest = Config {
            replay_timer_ns: 65_535,
            data_age_timeout_ns: 4_290_000_000,
            replay_count_max: 255,
            ..good
        };
        assert_eq!(largest.check(), Ok(()));
    }

    #[test]
    fn choices_are_checked_as_well() {
        let with = |choices| Config { choices, ..Config::default() }.check().map_err(|error| error.parameter);
        let inside = ControlInsertion::InsideFrames { first_after_octets: 256, apart_octets: 7 };
        let refused = "choices.control_insertion.apart_octets";
        assert_eq!(with(Choices { control_insertion: inside, ..Choices::default() }), Err(refused));
        let published = ControlInsertion::PUBLISHED;
        assert_eq!(with(Choices { control_insertion: published, ..Choices::default() }), Ok(()));
        let never = Choices { init_interval_ns: 0, ..Choices::default() };
        assert_eq!(with(never), Err("choices.init_interval_ns"));
        let unmarked = Choices { poison_pattern: PoisonPattern::Xor(0), ..Choices::default() };
        assert_eq!(
            with(unmarked),
            Err("choices.poison_pattern"),
            "it would be the right frame check sequence"
        );
    }

    /// A question without a field could not be answered.
    #[test]
    fn every_open_question_names_a_field() {
        let text = format!("{:?}", Choices::default());
        assert_eq!(text.matches(": ").count(), OPEN_QUESTIONS.len());
        assert!(
            OPEN_QUESTIONS.iter().all(|question| text.contains(&format!("{}: ", question.field))),
            "{text}"
        );
    }
}
