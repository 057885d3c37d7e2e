//! Published profiles of ports, and HPE's rule that derives one from a measured loop.

use crate::config::{Config, FrameAction, REPLAY_COUNT_UNLIMITED, SAI_DEFAULTS};
use crate::sequence::SEQUENCE_SPACE;
use crate::time::Span;

/// A published profile. Parameters that its source omits have SAI's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    pub name: &'static str,
    /// Who published it, and where.
    pub source: &'static str,
    /// The line rate that it is meant for; `None` if the source names none.
    pub rate_bps: Option<u64>,
    pub cable_m: Option<u32>,
    pub config: Config,
}

/// Giga, of bits per second.
const G: u64 = 1_000_000_000;

/// A row of SONiC's table of examples, all of which have a replay count of 3.
const fn sonic(
    (name, rate_bps, cable_m): (&'static str, u64, u32),
    (frames, bytes): (u32, u32),
    (timer_ns, pcs_ns, age_ns): (u32, u32, u32),
) -> Preset {
    let mut config = SAI_DEFAULTS;
    config.outstanding_frames_max = frames;
    config.outstanding_bytes_max = bytes;
    config.replay_timer_ns = timer_ns;
    config.replay_count_max = 3;
    config.pcs_lost_timeout_ns = pcs_ns;
    config.data_age_timeout_ns = age_ns;
    let source = "sonic-net/SONiC doc/llr (200G, 400G) and doc/scale_up (800G)";
    Preset { name, source, rate_bps: Some(rate_bps), cable_m: Some(cable_m), config }
}

/// The profiles that were found in public sources.
pub const PRESETS: [Preset; 9] = [
    Preset {
        name: "meta-400g",
        source: "facebook/fboss AgentHwLlrTest.cpp: mirrors production on Tomahawk Ultra 1, MTU 9,000",
        rate_bps: Some(400 * G),
        cable_m: None,
        config: Config {
            outstanding_frames_max: 1_654,
            outstanding_bytes_max: 105_800,
            replay_timer_ns: 5_000,
            replay_count_max: 2,
            flush_action: FrameAction::Block,
            ..SAI_DEFAULTS
        },
    },
    sonic(("sonic-200g-5m", 200 * G, 5), (61, 31_184), (5_000, 50_000, 20_000)),
    sonic(("sonic-200g-40m", 200 * G, 40), (71, 35_952), (5_500, 55_000, 24_000)),
    sonic(("sonic-400g-5m", 400 * G, 5), (115, 58_768), (5_000, 50_000, 20_000)),
    sonic(("sonic-400g-40m", 400 * G, 40), (133, 67_760), (5_500, 55_000, 24_000)),
    sonic(("sonic-800g-40m", 800 * G, 40), (264, 135_000), (5_000, 50_000, 20_000)),
    Preset {
        name: "sai-example",
        source: "opencomputeproject/SAI doc/LLR; its count of 255 means no limit, so the count never causes a FLUSH",
        rate_bps: None,
        cable_m: None,
        config: Config {
            outstanding_frames_max: 100,
            outstanding_bytes_max: 102_400,
            replay_timer_ns: 10_000,
            replay_count_max: REPLAY_COUNT_UNLIMITED,
            pcs_lost_timeout_ns: 500,
            data_age_timeout_ns: 100_000,
            ..SAI_DEFAULTS
        },
    },
    Preset {
        name: "otg-default",
        source: "open-traffic-generator/models, classes of Ultra Ethernet LLR",
        rate_bps: None,
        cable_m: None,
        config: Config {
            outstanding_frames_max: 2_047,
            outstanding_bytes_max: 64_000_000,
            replay_timer_ns: 65_535,
            replay_count_max: REPLAY_COUNT_UNLIMITED,
            pcs_lost_timeout_ns: 4_200_000_000,
            data_age_timeout_ns: 4_200_000_000,
            ..SAI_DEFAULTS
        },
    },
    Preset {
        name: "xena-example",
        source: "xenanetworks/open-automation-python-api; its 1,000 bytes block every larger frame",
        rate_bps: None,
        cable_m: None,
        config: Config {
            outstanding_frames_max: 524_288,
            outstanding_bytes_max: 1_000,
            replay_timer_ns: 32_767,
            replay_count_max: 127,
            ..SAI_DEFAULTS
        },
    },
];

/// The preset with this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// What HPE's capacity adds to the bytes in the loop: two frames of 9,216 bytes, plus 9,000 bytes.
const HPE_EXTRA_BYTES: u64 = 2 * 9_216 + 9_000;
/// HPE's bounds for the replay timer, in its second generation.
pub(crate) const HPE_TIMER_NS: (u64, u64) = (1_000, 15_500);

/// The replay timer by HPE's rule, before clamping: three loops plus 500 ns.
pub fn hpe_replay_timer(loop_time: Span) -> Span {
    Span(loop_time.0.saturating_mul(3)) + Span::from_nanos(500)
}

/// HPE's rule for Slingshot, the ancestor of LLR (HewlettPackard/shs-cxi-driver): the loop is measured at startup, and
/// everything else is derived from it. This is a good default if no profile is given.
///
/// The replay timer is clamped to 1,000 to 15,500 ns, and the count has no limit.
pub fn hpe(loop_time: Span, rate_bps: u64) -> Config {
    let bytes = loop_time.octets(rate_bps).saturating_add(HPE_EXTRA_BYTES);
    let frames = bytes.div_ceil(64).min(u64::from(SEQUENCE_SPACE / 2));
    let timer_ns = hpe_replay_timer(loop_time).0.div_ceil(1_000).clamp(HPE_TIMER_NS.0, HPE_TIMER_NS.1);
    Config {
        outstanding_frames_max: frames as u32,
        outstanding_bytes_max: u32::try_from(bytes).unwrap_or(u32::MAX),
        replay_timer_ns: timer_ns as u32,
        replay_count_max: REPLAY_COUNT_UNLIMITED,
        pcs_lost_timeout_ns: 949_700_000,
        data_age_timeout_ns: 4_000_000_000,
        ..SAI_DEFAULTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_preset_can_be_used_and_has_its_own_name() {
        let names: BTreeSet<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), PRESETS.len());
        for preset in PRESETS {
            assert_eq!(preset.config.check(), Ok(()), "{}", preset.name);
        }
        assert_eq!(preset("meta-400g").map(|preset| preset.config.flush_action), Some(FrameAction::Block));
        assert_eq!(preset("meta"), None);
    }

    /// A loop of 1,000 ns at 200 Gb/s: 25,000 B, 3,500 ns.
    #[test]
    fn hpes_rule_follows_the_loop_and_is_clamped() {
        let config = hpe(Span::from_nanos(1_000), 200 * G);
        assert_eq!((config.outstanding_bytes_max, config.replay_timer_ns), (52_432, 3_500));
        assert_eq!(config.outstanding_frames_max, 820);
        assert_eq!(hpe(Span::from_nanos(100), G).replay_timer_ns, 1_000);
        assert_eq!(hpe(Span::from_nanos(1_000_000), G).replay_timer_ns, 15_500);
        assert_eq!(hpe(Span(u64::MAX), u64::MAX).check(), Ok(()));
    }
}
