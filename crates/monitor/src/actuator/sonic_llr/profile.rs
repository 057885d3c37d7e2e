//! Profiles: those that exist, and those that are planned for a port.

use linkmend_llr::Config;
use linkmend_llr::config::FrameAction;
use linkmend_llr::plan::{PlanInput, plan};

pub(super) use crate::actuator::sonic_database::Fields;

/// The name that profiles begin with which are planned here.
const PLANNED: &str = "linkmend";
/// A planned profile is made for links that lose this share of frames: far more than most that are protected, so that one profile
/// does for all ports of a speed and length.
const LOSS: f64 = 1e-2;
/// Latency of both PHYs, from Meta's budget.
const PHY_NS: u64 = 132;
const YEARS_BETWEEN_FLUSHES: f64 = 10.0;
/// What a switch adds to the MTU of a port for the frame around it: addresses, type, a VLAN tag and the check sequence.
const FRAME_AROUND_MTU: u32 = 22;
const MEGABIT: u64 = 1_000_000;

/// The fields of a profile, with the names by which a switch says that it supports them.
const SUPPORTED_NAMES: [(&str, &str); 9] = [
    ("max_outstanding_frames", "OUTSTANDING_FRAMES_MAX"),
    ("max_outstanding_bytes", "OUTSTANDING_BYTES_MAX"),
    ("max_replay_timer", "REPLAY_TIMER_MAX"),
    ("max_replay_count", "REPLAY_COUNT_MAX"),
    ("pcs_lost_timeout", "PCS_LOST_TIMEOUT"),
    ("data_age_timeout", "DATA_AGE_TIMEOUT"),
    ("ctlos_spacing_bytes", "CTLOS_TARGET_SPACING"),
    ("init_action", "INIT_LLR_FRAME_ACTION"),
    ("flush_action", "FLUSH_LLR_FRAME_ACTION"),
];
/// Those that every profile must have.
const MANDATORY: [&str; 2] = ["max_outstanding_frames", "max_outstanding_bytes"];

/// What is known of a port's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub speed_mbit: u64,
    pub cable_m: u32,
    pub mtu: u32,
}

impl Link {
    /// From the port's fields in CONFIG_DB, and the length of its cable there, like `40m`.
    ///
    /// # Errors
    /// What is missing, for people.
    pub fn of(port: &Fields, cable: Option<&str>) -> Result<Link, String> {
        let speed = port.get("speed").and_then(|speed| speed.parse::<u64>().ok()).filter(|speed| *speed > 0);
        let cable_m =
            cable.and_then(|cable| cable.strip_suffix('m')?.parse::<u32>().ok()).filter(|length| *length > 0);
        let mtu = port.get("mtu").and_then(|mtu| mtu.parse().ok());
        Ok(Link {
            speed_mbit: speed.ok_or("the port has no speed in CONFIG_DB")?,
            cable_m: cable_m
                .ok_or("CONFIG_DB has no length of its cable (CABLE_LENGTH); a profile cannot be planned")?,
            mtu: mtu.unwrap_or(9_100),
        })
    }

    /// The profile's name, and its fields as far as the switch supports them.
    ///
    /// # Errors
    /// Why there can be none, for people.
    pub fn profile(&self, supported: &str) -> Result<(String, Fields), String> {
        let input = PlanInput {
            rate_bps: self.speed_mbit.saturating_mul(MEGABIT),
            cable_m: self.cable_m,
            phy_ns: PHY_NS,
            mtu_bytes: self.mtu.saturating_add(FRAME_AROUND_MTU),
            loss: LOSS,
            spacing_bytes: Config::default().ctlos_spacing_bytes,
            buffer_bytes: None,
            years_between_flushes: YEARS_BETWEEN_FLUSHES,
        };
        let planned = plan(&input).map_err(|error| format!("cannot plan a profile: {error}"))?;
        let supported: Vec<&str> = supported.split(',').map(str::trim).collect();
        let is_supported = |field: &str| {
            SUPPORTED_NAMES.iter().any(|(name, says)| *name == field && supported.contains(says))
        };
        if let Some(missing) = MANDATORY.iter().find(|field| !is_supported(field)) {
            return Err(format!("the switch does not support the field {missing} of a profile"));
        }
        let fields = fields(&planned.config).into_iter().filter(|(field, _)| is_supported(field)).collect();
        Ok((format!("{PLANNED}_{}_{}m", self.speed_mbit, self.cable_m), fields))
    }
}

fn fields(config: &Config) -> Fields {
    let action = |action| match action {
        FrameAction::Discard => "discard",
        FrameAction::Block => "block",
        FrameAction::BestEffort => "best_effort",
    };
    [
        ("max_outstanding_frames", config.outstanding_frames_max.to_string()),
        ("max_outstanding_bytes", config.outstanding_bytes_max.to_string()),
        ("max_replay_timer", config.replay_timer_ns.to_string()),
        ("max_replay_count", config.replay_count_max.to_string()),
        ("pcs_lost_timeout", config.pcs_lost_timeout_ns.to_string()),
        ("data_age_timeout", config.data_age_timeout_ns.to_string()),
        ("ctlos_spacing_bytes", config.ctlos_spacing_bytes.to_string()),
        ("init_action", action(config.init_action).to_owned()),
        ("flush_action", action(config.flush_action).to_owned()),
    ]
    .map(|(field, value)| (field.to_owned(), value))
    .into()
}

/// Why a profile that exists cannot be used. One end has LLR before the other, and the other may never have it: a port that does
/// not send meanwhile would send nothing.
pub(super) fn fault(name: &str, profile: &Fields) -> Option<String> {
    if let Some(missing) = MANDATORY.iter().find(|field| !profile.contains_key(**field)) {
        return Some(match profile.is_empty() {
            true => format!("CONFIG_DB has no LLR_PROFILE|{name}"),
            false => format!("LLR_PROFILE|{name} has no {missing}"),
        });
    }
    let action = profile.get("init_action").filter(|action| *action != "best_effort")?;
    Some(format!(
        "LLR_PROFILE|{name} has init_action {action}, with which the port would send nothing until the other end has LLR; it \
         must be best_effort"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "OUTSTANDING_FRAMES_MAX, OUTSTANDING_BYTES_MAX, REPLAY_TIMER_MAX, REPLAY_COUNT_MAX, PCS_LOST_TIMEOUT, \
                       DATA_AGE_TIMEOUT, INIT_LLR_FRAME_ACTION, FLUSH_LLR_FRAME_ACTION, RE_INIT_ON_FLUSH, CTLOS_TARGET_SPACING";

    fn port(fields: &[(&str, &str)]) -> Fields {
        fields.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect()
    }

    /// As `linkmend sim llr plan --speed 400G --cable 40m --mtu 9122B --loss 1e-2` prints them.
    #[test]
    fn a_profile_is_what_the_planner_plans() {
        let link = Link::of(&port(&[("speed", "400000"), ("mtu", "9100")]), Some("40m")).expect("complete");
        let (name, fields) = link.profile(ALL).expect("planned");
        assert_eq!(name, "linkmend_400000_40m");
        assert_eq!(fields.len(), 9);
        assert_eq!(
            (fields["init_action"].as_str(), fields["flush_action"].as_str()),
            ("best_effort", "block")
        );
        // 400 ns of cable, 132 of PHYs, 364.88 of frames, 81.92 of ACKs and 18.2 are 997 ns, in which 49,850 bytes are sent.
        assert_eq!(fields["max_outstanding_bytes"], "49850");
        assert_eq!(fault(&name, &fields), None);
        // A Marvell's.
        let few = "OUTSTANDING_BYTES_MAX,OUTSTANDING_FRAMES_MAX,REPLAY_TIMER_MAX";
        let (_, fields) = link.profile(few).expect("planned");
        let names: Vec<&str> = fields.keys().map(String::as_str).collect();
        assert_eq!(names, ["max_outstanding_bytes", "max_outstanding_frames", "max_replay_timer"]);
        assert!(link.profile("REPLAY_TIMER_MAX").expect_err("refused").contains("max_outstanding_frames"));
    }

    #[test]
    fn what_is_not_known_is_said() {
        let complete = port(&[("speed", "400000")]);
        assert!(Link::of(&port(&[]), Some("40m")).expect_err("refused").contains("no speed"));
        for cable in [None, Some("0m"), Some("40"), Some("far")] {
            assert!(Link::of(&complete, cable).expect_err("refused").contains("CABLE_LENGTH"), "{cable:?}");
        }
        assert_eq!(Link::of(&complete, Some("5m")).expect("complete").mtu, 9_100);
    }

    #[test]
    fn a_profile_that_would_stop_a_port_is_refused() {
        let good = [("max_outstanding_frames", "264"), ("max_outstanding_bytes", "135000")];
        assert_eq!(fault("a", &port(&good)), None);
        assert!(fault("a", &port(&[])).expect("refused").contains("CONFIG_DB has no LLR_PROFILE|a"));
        assert!(fault("a", &port(&good[..1])).expect("refused").contains("has no max_outstanding_bytes"));
        for action in ["block", "discard"] {
            let fields = port(&[good[0], good[1], ("init_action", action)]);
            assert!(fault("a", &fields).expect("refused").contains("must be best_effort"));
        }
    }
}
