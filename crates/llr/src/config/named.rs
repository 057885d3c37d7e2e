//! Registers and choices by name, as spelled on command lines and in files: by the names of their fields, of the steps of
//! [`plan`](crate::plan::plan), of the specification, or of SAI.

use super::{
    Config, ControlInsertion, CountedReplays, FrameAction, IneligibleInReplay, InitWhileRunning,
    NackInReplay, NackRearm, ReplayTimerStart, limits,
};
use linkmend_diagnose::ParameterError;

/// A value that has a name.
type Words<T> = &'static [(&'static str, T)];

const ACTIONS: Words<FrameAction> = &[
    ("discard", FrameAction::Discard),
    ("block", FrameAction::Block),
    ("best-effort", FrameAction::BestEffort),
];
const SWITCH: Words<bool> = &[("no", false), ("yes", true), ("false", false), ("true", true)];
const REARM: Words<NackRearm> = &[("never", NackRearm::Never), ("each-replay", NackRearm::EachReplay)];
const IN_REPLAY: Words<NackInReplay> =
    &[("restart", NackInReplay::Restart), ("acknowledge-only", NackInReplay::AcknowledgeOnly)];
const TIMER_START: Words<ReplayTimerStart> =
    &[("last-progress", ReplayTimerStart::LastProgress), ("oldest-frame", ReplayTimerStart::OldestFrame)];
const COUNTED: Words<CountedReplays> = &[("all", CountedReplays::All), ("timer", CountedReplays::Timer)];
const INELIGIBLE: Words<IneligibleInReplay> =
    &[("waits", IneligibleInReplay::Waits), ("overtakes", IneligibleInReplay::Overtakes)];
const INSERTION: Words<ControlInsertion> =
    &[("between-frames", ControlInsertion::BetweenFrames), ("inside-frames", ControlInsertion::PUBLISHED)];
const INIT: Words<InitWhileRunning> = &[
    ("restart-receiver", InitWhileRunning::RestartReceiver),
    ("restart-both", InitWhileRunning::RestartBoth),
    ("ignore", InitWhileRunning::Ignore),
];

/// The names that [`Config::set`] knows.
pub const NAMES: [&str; 17] = [
    "outstanding_frames_max",
    "outstanding_bytes_max",
    "replay_timer_ns",
    "replay_count_max",
    "pcs_lost_timeout_ns",
    "data_age_timeout_ns",
    "ctlos_spacing_bytes",
    "init_action",
    "flush_action",
    "re_init_on_discard",
    "nack_rearm",
    "nack_in_replay",
    "replay_timer_start",
    "counted_replays",
    "ineligible_in_replay",
    "control_insertion",
    "init_while_running",
];

/// Other names of registers, with the field that each one means: those of the planner's steps, of the specification, and of SAI
/// without [`SAI_PREFIX`].
const ALIASES: [(&str, &str); 18] = [
    ("outstanding_frames", "outstanding_frames_max"),
    ("outstanding_bytes", "outstanding_bytes_max"),
    ("replay_timer", "replay_timer_ns"),
    ("replay_count", "replay_count_max"),
    ("outstanding_seq_max", "outstanding_frames_max"),
    ("outstanding_data_max", "outstanding_bytes_max"),
    ("replay_timer_max", "replay_timer_ns"),
    ("replay_ct_max", "replay_count_max"),
    ("pcs_lost_status_timer_max", "pcs_lost_timeout_ns"),
    ("pcs_lost_timeout", "pcs_lost_timeout_ns"),
    ("data_age_timer_max", "data_age_timeout_ns"),
    ("data_age_timeout", "data_age_timeout_ns"),
    ("ctlos_target_spacing", "ctlos_spacing_bytes"),
    ("llr_init_behavior", "init_action"),
    ("init_llr_frame_action", "init_action"),
    ("llr_flush_behavior", "flush_action"),
    ("flush_llr_frame_action", "flush_action"),
    ("re_init_on_flush", "re_init_on_discard"),
];
/// What SAI's names of a profile's attributes begin with.
const SAI_PREFIX: &str = "sai_port_llr_profile_attr_";

/// The field of a register or choice that is known under this name; capitals, spaces and hyphens do not matter.
pub fn field(name: &str) -> Option<&'static str> {
    let plain = name.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    let plain = plain.strip_prefix(SAI_PREFIX).unwrap_or(&plain);
    let alias = ALIASES.into_iter().find(|(alias, _)| *alias == plain).map(|(_, field)| field);
    alias.or_else(|| NAMES.into_iter().find(|known| *known == plain))
}

impl Config {
    /// Sets a register, or the answer to an open question, by [any of its names](field). Ranges are those of [`Config::check`].
    ///
    /// # Errors
    /// An unknown name, or the values that are allowed.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ParameterError> {
        let Some(name) = field(name) else {
            let requirement =
                format!("must name one of {}, or its name in the specification or in SAI", NAMES.join(", "));
            return Err(ParameterError::new("register", name, requirement));
        };
        let choices = &mut self.choices;
        match name {
            "outstanding_frames_max" => self.outstanding_frames_max = number(name, value)?,
            "outstanding_bytes_max" => self.outstanding_bytes_max = number(name, value)?,
            "replay_timer_ns" => self.replay_timer_ns = number(name, value)?,
            "replay_count_max" => self.replay_count_max = number(name, value)?,
            "pcs_lost_timeout_ns" => self.pcs_lost_timeout_ns = number(name, value)?,
            "data_age_timeout_ns" => self.data_age_timeout_ns = number(name, value)?,
            "ctlos_spacing_bytes" => self.ctlos_spacing_bytes = number(name, value)?,
            "init_action" => self.init_action = word(name, value, ACTIONS)?,
            "flush_action" => self.flush_action = word(name, value, ACTIONS)?,
            "re_init_on_discard" => self.re_init_on_discard = word(name, value, SWITCH)?,
            "nack_rearm" => choices.nack_rearm = word(name, value, REARM)?,
            "nack_in_replay" => choices.nack_in_replay = word(name, value, IN_REPLAY)?,
            "replay_timer_start" => choices.replay_timer_start = word(name, value, TIMER_START)?,
            "counted_replays" => choices.counted_replays = word(name, value, COUNTED)?,
            "ineligible_in_replay" => choices.ineligible_in_replay = word(name, value, INELIGIBLE)?,
            "control_insertion" => choices.control_insertion = word(name, value, INSERTION)?,
            _ => choices.init_while_running = word(name, value, INIT)?,
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(name: &'static str, value: &str) -> Result<T, ParameterError> {
    value.parse().map_err(|_| {
        let (min, max) = limits(name);
        ParameterError::new(name, value, format!("must be a whole number, {min} to {max}"))
    })
}

fn word<T: Copy>(name: &'static str, value: &str, words: Words<T>) -> Result<T, ParameterError> {
    let plain = value.to_ascii_lowercase().replace('_', "-");
    let found = words.iter().find(|(word, _)| *word == plain).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        ParameterError::new(name, value, format!("must be {}", words.join(" or ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_sets_a_field_of_its_own() {
        let values = [
            "7",
            "7",
            "7",
            "7",
            "7",
            "7",
            "700",
            "block",
            "block",
            "yes",
            "each-replay",
            "acknowledge-only",
            "oldest-frame",
            "timer",
            "overtakes",
            "inside-frames",
            "ignore",
        ];
        let mut all = Config::default();
        for (name, value) in NAMES.into_iter().zip(values) {
            let before = all;
            all.set(name, value).expect("it is known");
            assert_ne!(before, all, "{name}");
            let mut alone = Config::default();
            alone.set(name, value).expect("it is known");
            assert_ne!(alone, Config::default(), "{name}");
        }
        assert_eq!(all.check(), Ok(()));
    }

    /// Every register of the specification's Table 5-9, and every step of the planner that is a register.
    #[test]
    fn registers_are_known_by_the_names_of_the_planner_the_specification_and_sai() {
        for (theirs, ours) in [
            ("outstanding bytes", "outstanding_bytes_max"),
            ("replay timer", "replay_timer_ns"),
            ("replay-count", "replay_count_max"),
            ("outstanding_seq_max", "outstanding_frames_max"),
            ("replay_ct_max", "replay_count_max"),
            ("SAI_PORT_LLR_PROFILE_ATTR_OUTSTANDING_FRAMES_MAX", "outstanding_frames_max"),
            ("REPLAY_TIMER_MAX", "replay_timer_ns"),
            ("RE_INIT_ON_FLUSH", "re_init_on_discard"),
            ("SAI_PORT_LLR_PROFILE_ATTR_CTLOS_TARGET_SPACING", "ctlos_spacing_bytes"),
        ] {
            assert_eq!(field(theirs), Some(ours), "{theirs}");
        }
        assert_eq!(field("sai_port_llr_profile_attr_"), None);
        assert!(ALIASES.iter().all(|(alias, field)| NAMES.contains(field) && !NAMES.contains(alias)));
        let mut config = Config::default();
        config.set("FLUSH_LLR_FRAME_ACTION", "BEST_EFFORT").expect("known");
        config.set("RE_INIT_ON_FLUSH", "true").expect("known");
        assert_eq!((config.flush_action, config.re_init_on_discard), (FrameAction::BestEffort, true));
    }

    #[test]
    fn what_cannot_be_set_is_refused_by_name() {
        let refused =
            |name: &str, value: &str| Config::default().set(name, value).expect_err("refused").to_string();
        assert!(refused("replays", "3").contains("replay_count_max"));
        assert!(refused("replay_count", "256").contains("1 to 255"));
        assert!(refused("replay_count_max", "256").contains("1 to 255"));
        assert!(refused("outstanding_bytes_max", "4294967296").contains("1 to 4294967295"));
        assert!(refused("ctlos_spacing_bytes", "many").contains("400 to 16384"));
        assert!(refused("nack_rearm", "always").contains("must be never or each-replay"));
    }
}
