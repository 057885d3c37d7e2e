//! From a replay buffer to the round trip that it leaves for cable: Meta's budget.

use super::{FRAME_BYTES_MIN, NS_PER_METRE, Step, overheads};
use crate::time::Span;

/// What a replay buffer allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    pub steps: Vec<Step>,
    /// What is left of the buffer's time; 0 if the overheads need all of it.
    pub round_trip_ns: u64,
    pub outstanding_bytes: u64,
    pub outstanding_frames: u64,
    /// The longest cable, if the whole round trip is spent on it.
    pub reach_m: u64,
}

/// Meta's arithmetic: the buffer's time at line rate, less the overheads, rounded to nanoseconds.
///
/// The result is the profile's limit of bytes. Meta found that the whole buffer as the limit hangs the port.
pub fn budget(buffer_bytes: u64, rate_bps: u64, phy: Span, mtu_bytes: u32, spacing_bytes: u32) -> Budget {
    let buffer = Span::of_octets(buffer_bytes, rate_bps);
    let (overhead, mut steps) = overheads(rate_bps, phy, mtu_bytes, spacing_bytes);
    let round_trip_ns = buffer.0.saturating_sub(overhead.0).saturating_add(500) / 1_000;
    let outstanding_bytes = Span::from_nanos(round_trip_ns).octets(rate_bps);
    let outstanding_frames = outstanding_bytes.div_ceil(FRAME_BYTES_MIN);
    let reach_m = round_trip_ns / (2 * NS_PER_METRE);
    let meta = "Meta's budget (FBOSS)";
    let first = Step {
        name: "the buffer, at line rate",
        arithmetic: format!("{buffer_bytes} B"),
        value: buffer.as_nanos_f64(),
        unit: "ns",
        source: meta,
    };
    steps.insert(0, first);
    let step = |name, arithmetic, value: u64, unit, source| Step {
        name,
        arithmetic,
        value: value as f64,
        unit,
        source,
    };
    let rest = format!("{} - {} ns", buffer.as_nanos_f64(), overhead.as_nanos_f64());
    steps.extend([
        step("left of the round trip", rest, round_trip_ns, "ns", meta),
        step("outstanding bytes", format!("{round_trip_ns} ns at line rate"), outstanding_bytes, "B", meta),
        step("outstanding frames", format!("{outstanding_bytes} / 64 B"), outstanding_frames, "frames", meta),
        step("reach", format!("{round_trip_ns} / (2 x 5) ns/m"), reach_m, "m", "5 ns/m"),
    ]);
    Budget { steps, round_trip_ns, outstanding_bytes, outstanding_frames, reach_m }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u64 = 400_000_000_000;

    /// FBOSS: 2,708 ns are 135,400 B; 2,116 ns are left, 105,800 B, 1,654 frames.
    #[test]
    fn metas_budget_is_met_to_the_byte() {
        let budget = budget(135_400, RATE, Span::from_nanos(132), 9_000, 2_048);
        assert_eq!(budget.steps[0].value, 2_708.0);
        assert_eq!(
            (budget.round_trip_ns, budget.outstanding_bytes, budget.outstanding_frames),
            (2_116, 105_800, 1_654)
        );
        assert_eq!(budget.reach_m, 211);
        let overhead: f64 = budget.steps[1..7].iter().map(|step| step.value).sum();
        assert!((2_708.0 - overhead - 2_115.88).abs() < 1e-6, "{overhead}");
    }

    #[test]
    fn a_buffer_below_the_overheads_allows_nothing() {
        let budget = budget(1_000, RATE, Span::from_nanos(132), 9_000, 2_048);
        assert_eq!((budget.round_trip_ns, budget.outstanding_bytes, budget.reach_m), (0, 0, 0));
    }
}
