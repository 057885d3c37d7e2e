//! The configuration of the ports of a link with LLR: a published profile or a rule, and registers that override it.

use super::{LinkConfig, ParameterError};
use crate::link::WIRE_OVERHEAD_BYTES;
use crate::link::scheme::{LlrConfig, ORDERED_SET_OCTETS, SelectiveConfig};
use crate::time::Time;
use linkmend_llr::config::field;
use linkmend_llr::plan::{PlanInput, plan};
use linkmend_llr::presets::{PRESETS, hpe, preset};
use linkmend_llr::{Config, Span};
use std::fmt;
use std::str::FromStr;

/// A profile as requested: the name of a preset or a rule, followed by registers as `name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlrProfile {
    text: String,
    base: Base,
    registers: Vec<(String, String)>,
    sees_damaged: bool,
}

/// Where the values of registers that are not set come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// HPE's rule, applied to the loop of the link.
    Loop,
    /// The planner's values for the cable.
    Plan,
    Preset(Config),
}

/// Whether a receiver sees damaged frames: the only value that is not a register.
const SEES_DAMAGED: &str = "sees_damaged";
/// How rare the planner makes FLUSH: one every ten years.
const YEARS_BETWEEN_FLUSHES: f64 = 10.0;

impl Default for LlrProfile {
    /// HPE's rule.
    fn default() -> LlrProfile {
        LlrProfile { text: "loop".to_owned(), base: Base::Loop, registers: Vec::new(), sees_damaged: true }
    }
}

impl fmt::Display for LlrProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for LlrProfile {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<LlrProfile, ParameterError> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let base = match (name, preset(name)) {
            ("loop", _) => Base::Loop,
            ("plan", _) => Base::Plan,
            (_, Some(preset)) => Base::Preset(preset.config),
            _ => {
                let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
                let requirement = format!("must begin with loop, plan or a profile: {}", names.join(", "));
                return Err(ParameterError::new("llr", format!("\"{text}\""), requirement));
            }
        };
        let mut profile = LlrProfile { text: text.to_owned(), base, ..LlrProfile::default() };
        let mut tried = Config::default();
        let mut named = Vec::new();
        for part in parts {
            let Some((name, value)) = part.split_once('=') else {
                let requirement =
                    "must have a register and its value after each comma, such as replay_count_max=3";
                return Err(ParameterError::new("llr", format!("\"{part}\""), requirement));
            };
            let known = field(name).unwrap_or(name);
            if named.contains(&known) {
                return Err(ParameterError::new("llr", part, format!("must not set {known} twice")));
            }
            named.push(known);
            match (name, value) {
                (SEES_DAMAGED, "yes" | "no") => profile.sees_damaged = value == "yes",
                (SEES_DAMAGED, _) => {
                    return Err(ParameterError::new(
                        "llr",
                        part,
                        format!("{SEES_DAMAGED} must be yes or no"),
                    ));
                }
                _ => {
                    tried.set(name, value).map_err(|error| {
                        ParameterError::new("llr", part, format!("{} {}", error.parameter, error.requirement))
                    })?;
                    profile.registers.push((name.to_owned(), value.to_owned()));
                }
            }
        }
        Ok(profile)
    }
}

impl LlrProfile {
    /// The configuration of both ports of a link.
    ///
    /// # Errors
    /// A register that is out of range, or that this link cannot use.
    pub fn config(&self, link: &LinkConfig) -> Result<LlrConfig, ParameterError> {
        let mut registers = match self.base {
            Base::Preset(config) => config,
            Base::Loop => hpe(Span(link.ordered_set_loop().0), link.rate.bits_per_second()),
            Base::Plan => planned(link)?,
        };
        let refused = |requirement: String| ParameterError::new("llr", self, requirement);
        for (name, value) in &self.registers {
            registers.set(name, value).map_err(|error| refused(error.requirement))?;
        }
        registers.check().map_err(|error| refused(error.to_string()))?;
        if registers.outstanding_bytes_max < link.frame_bytes {
            let most = registers.outstanding_bytes_max;
            return Err(refused(format!(
                "lets {most} bytes be outstanding, so that a frame of {} B is never sent; set outstanding_bytes_max",
                link.frame_bytes
            )));
        }
        Ok(LlrConfig { registers, rate: link.rate, sees_damaged: self.sees_damaged })
    }
}

impl LinkConfig {
    /// From an ordered set to its answer, such as from an INIT to its echo.
    fn ordered_set_loop(&self) -> Time {
        let way = self.wire_latency() + self.ingress_latency() + self.rate.time_of(ORDERED_SET_OCTETS.into());
        Time(2 * way.0)
    }

    /// What is wrong with registers that can be set, but not used well, on this link.
    pub(crate) fn llr_shortfall(&self, llr: &LlrConfig) -> Option<String> {
        let wire_bytes = u64::from(self.frame_bytes) + WIRE_OVERHEAD_BYTES;
        let first_ack = (self.ordered_set_loop() + self.rate.time_of(wire_bytes)).0.div_ceil(1_000);
        let timer = u64::from(llr.registers.replay_timer_ns);
        let remedy = match first_ack {
            ..=65_535 => format!("raise `replay_timer_ns` to at least {first_ack}"),
            _ => "the register's maximum of 65535 ns is too short for this link; with 0, the timer is off"
                .to_owned(),
        };
        (1..first_ack).contains(&timer).then(|| {
            format!(
                "the replay timer expires after {timer} ns, but the first ACK takes at least {first_ack} ns: frames are \
                 retransmitted although nothing was lost; {remedy}"
            )
        })
    }

    /// The ports of an idealised selective retry on this link.
    pub(crate) fn selective(&self) -> SelectiveConfig {
        SelectiveConfig::new(self.rate, self.ordered_set_loop(), self.frame_bytes)
    }
}

fn planned(link: &LinkConfig) -> Result<Config, ParameterError> {
    let fibre_ns = 5 * u64::from(link.distance_m);
    let way_ns = (link.wire_latency() + link.ingress_latency()).0 / 1_000;
    let planned = plan(&PlanInput {
        rate_bps: link.rate.bits_per_second(),
        cable_m: link.distance_m,
        phy_ns: 2 * way_ns.saturating_sub(fibre_ns),
        mtu_bytes: link.frame_bytes,
        loss: link.corruption.frame_loss(link.frame_bytes),
        spacing_bytes: Config::default().ctlos_spacing_bytes,
        buffer_bytes: None,
        years_between_flushes: YEARS_BETWEEN_FLUSHES,
    });
    planned.map(|plan| plan.config).map_err(|error| {
        ParameterError::new(
            "llr",
            "plan",
            format!("cannot plan this link: {} {}", error.parameter, error.requirement),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::config::Mode;
    use crate::time::Rate;

    fn refused(text: &str) -> String {
        let rate = Rate::from_bits_per_second(400_000_000_000).expect("whole picoseconds");
        let link = LinkConfig::paper(rate, 1e-3, Mode::Ordered);
        let profile: Result<LlrProfile, _> = text.parse();
        profile.and_then(|profile| profile.config(&link)).expect_err(text).to_string()
    }

    #[test]
    fn registers_replace_those_of_the_profile() {
        let rate = Rate::from_bits_per_second(400_000_000_000).expect("whole picoseconds");
        let link = LinkConfig::paper(rate, 1e-3, Mode::Ordered);
        let config = |text: &str| {
            let profile: LlrProfile = text.parse().expect(text);
            assert_eq!(profile.to_string(), text);
            profile.config(&link).expect(text)
        };
        let meta = config("meta-400g,replay_count_max=9,sees_damaged=no");
        assert_eq!((meta.registers.replay_count_max, meta.registers.outstanding_bytes_max), (9, 105_800));
        assert!(!meta.sees_damaged);
        assert_eq!(config("loop"), LlrProfile::default().config(&link).expect("usable"));
        assert!(config("plan").registers.replay_count_max >= 2);
        // The names of the planner's steps, and of SAI.
        let renamed = config("loop,replay count=4,SAI_PORT_LLR_PROFILE_ATTR_OUTSTANDING_FRAMES_MAX=99");
        let same = config("loop,replay_count_max=4,outstanding_frames_max=99");
        assert_eq!(renamed, same);
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_the_reason() {
        assert!(refused("best").contains("meta-400g"), "{}", refused("best"));
        assert!(refused("loop,fast").contains("replay_count_max=3"));
        assert!(refused("loop,replays=3").contains("must name one of"), "{}", refused("loop,replays=3"));
        assert!(refused("loop,replay_timer_ns=70000").contains("65535"));
        assert!(refused("loop,flush_action=drop").contains("best-effort"));
        assert!(refused("loop,replay_timer_ns=5000,REPLAY_TIMER_MAX=6000").contains("replay_timer_ns twice"));
        assert!(refused("loop,replay_count_max=256").contains("1 to 255"));
        assert!(refused("xena-example").contains("1000 bytes"), "{}", refused("xena-example"));
        assert!(refused("loop,sees_damaged=maybe").contains("yes or no"));
    }
}
