//! From a cable to the parameters of its ports.

use super::{FRAME_BYTES_MIN, NS_PER_METRE, Step, overheads};
use crate::config::{Config, FrameAction, REPLAY_COUNT_UNLIMITED};
use crate::presets::hpe_replay_timer;
use crate::sequence::SEQUENCE_SPACE;
use crate::time::Span;
use linkmend_diagnose::ParameterError;

/// Preamble and gap of a frame on the line, in bytes.
const FRAME_OVERHEAD_BYTES: u64 = 20;
/// Meta's study recommends at least two replays (FBOSS).
const REPLAYS_MIN: u8 = 2;
const SECONDS_PER_YEAR: f64 = 365.25 * 86_400.0;
const FRAME_BYTES: (u32, u32) = (64, 65_535);
const CABLE_METRES_MAX: u32 = 100_000;

/// The link to plan for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanInput {
    pub rate_bps: u64,
    pub cable_m: u32,
    /// Latency of the PHYs, on the way there and back, in ns.
    pub phy_ns: u64,
    pub mtu_bytes: u32,
    /// The share of frames that the line damages.
    pub loss: f64,
    /// Distance of ACKs in bytes.
    pub spacing_bytes: u32,
    /// The replay buffer, if it is known.
    pub buffer_bytes: Option<u64>,
    /// How rare FLUSH by count shall be: years from one to the next.
    pub years_between_flushes: f64,
}

/// The parameters, and how they came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub steps: Vec<Step>,
    pub config: Config,
    /// From sending a frame to hearing of it, with all waiting.
    pub loop_time: Span,
    /// Share of the line rate that go-back-N leaves, with full frames.
    pub throughput: f64,
    /// What the plan cannot do.
    pub warnings: Vec<String>,
}

impl PlanInput {
    fn check(&self) -> Result<(), ParameterError> {
        let demand = |holds: bool, parameter, value: String, requirement: &'static str| {
            if holds { Ok(()) } else { Err(ParameterError::new(parameter, value, requirement)) }
        };
        let (smallest, largest) = FRAME_BYTES;
        let is_frame = (smallest..=largest).contains(&self.mtu_bytes);
        let is_spacing = (400..=16_384).contains(&self.spacing_bytes);
        let is_loss = (0.0..0.5).contains(&self.loss);
        let is_rate = (1_000_000_000..=10_000_000_000_000).contains(&self.rate_bps);
        let is_rare = self.years_between_flushes > 0.0 && self.years_between_flushes.is_finite();
        demand(is_rate, "rate", self.rate_bps.to_string(), "must be 1 Gb/s to 10 Tb/s")?;
        let cable = self.cable_m.to_string();
        demand(self.cable_m <= CABLE_METRES_MAX, "cable", cable, "must be at most 100000 m")?;
        demand(self.phy_ns <= 1_000_000, "phy", self.phy_ns.to_string(), "must be at most 1 ms")?;
        demand(is_frame, "mtu", self.mtu_bytes.to_string(), "must be 64 to 65535 bytes")?;
        demand(is_spacing, "spacing", self.spacing_bytes.to_string(), "must be 400 to 16384 bytes")?;
        demand(is_loss, "loss", self.loss.to_string(), "must be at least 0 and below 0.5")?;
        let buffer = self.buffer_bytes.unwrap_or(u64::MAX);
        let holds_a_frame = buffer >= u64::from(self.mtu_bytes);
        demand(holds_a_frame, "buffer", buffer.to_string(), "must hold a frame of the largest size")?;
        let years = self.years_between_flushes.to_string();
        demand(is_rare, "years between flushes", years, "must be above 0")
    }

    /// Time of a full frame on the line.
    fn frame_time(&self) -> Span {
        Span::of_octets(u64::from(self.mtu_bytes) + FRAME_OVERHEAD_BYTES, self.rate_bps)
    }
}

/// Plans the ports of a link.
///
/// The loop is the time on the cable and Meta's overheads; the port keeps a loop's bytes; the replay timer is HPE's three
/// loops and 500 ns; the count makes FLUSH as rare as demanded.
///
/// # Errors
/// A parameter that is out of its range.
pub fn plan(input: &PlanInput) -> Result<Plan, ParameterError> {
    input.check()?;
    let mut steps = Vec::new();
    let mut push = |name, arithmetic: String, value: f64, unit, source| {
        steps.push(Step { name, arithmetic, value, unit, source });
    };
    let phy = Span::from_nanos(input.phy_ns);
    let (overhead, overhead_steps) = overheads(input.rate_bps, phy, input.mtu_bytes, input.spacing_bytes);
    let cable = Span::from_nanos(2 * NS_PER_METRE * u64::from(input.cable_m));
    let loop_time = cable + overhead;
    let metres = format!("2 x 5 ns/m x {} m", input.cable_m);
    push("cable, both ways", metres, cable.as_nanos_f64(), "ns", "5 ns/m");
    for step in overhead_steps {
        push(step.name, step.arithmetic, step.value, step.unit, step.source);
    }
    push("loop", "sum of the above".to_owned(), loop_time.as_nanos_f64(), "ns", "derived");
    let bytes = loop_time.octets(input.rate_bps);
    push(
        "outstanding bytes",
        "loop at line rate".to_owned(),
        bytes as f64,
        "B",
        "outstanding_data_max: the BDP",
    );
    let frames = bytes.div_ceil(FRAME_BYTES_MIN);
    push("outstanding frames", format!("{bytes} / 64 B"), frames as f64, "frames", "as Meta");
    let timer_ns = hpe_replay_timer(loop_time).0.div_ceil(1_000);
    push("replay timer", "3 x loop + 500 ns".to_owned(), timer_ns as f64, "ns", "HPE's rule");
    let (count, years) = replay_count(input);
    let chance = format!("2 x {:e} lost per replay", input.loss);
    push("replay count", chance, f64::from(count), "replays", "derived; at least 2 (Meta)");
    push("from FLUSH to FLUSH", "1 / (losses x chance^count)".to_owned(), years, "years", "derived");
    let window = loop_time.0 as f64 / input.frame_time().0 as f64;
    push("full frames per loop", "loop / time of a frame".to_owned(), window, "frames", "derived");
    let throughput = go_back_n_throughput(input.loss, window);
    push("throughput", "(1 - p) / (1 - p + p W)".to_owned(), throughput, "", "derived, go-back-N");
    let warnings = warnings(input, bytes, frames, timer_ns, loop_time);
    let config = config(input, (bytes, frames, timer_ns, count), loop_time);
    Ok(Plan { steps, config, loop_time, throughput, warnings })
}

/// The share of the line rate that go-back-N leaves if a share `loss` of frames is lost, and each loss costs `window`
/// frames.
pub fn go_back_n_throughput(loss: f64, window: f64) -> f64 {
    (1.0 - loss) / (1.0 - loss + loss * window)
}

/// The smallest count that makes FLUSH rare enough, and the years between two of them.
///
/// A replay makes no progress if its first frame or the ACK is lost, so its chance is about twice the loss rate.
fn replay_count(input: &PlanInput) -> (u8, f64) {
    let losses_per_year = input.loss * SECONDS_PER_YEAR * 1e12 / input.frame_time().0 as f64;
    let fails = 1.0 - (1.0 - input.loss) * (1.0 - input.loss);
    let mut flushes_per_year = losses_per_year * fails;
    for count in REPLAYS_MIN..REPLAY_COUNT_UNLIMITED {
        flushes_per_year *= fails;
        if flushes_per_year * input.years_between_flushes <= 1.0 {
            return (count, 1.0 / flushes_per_year);
        }
    }
    (REPLAY_COUNT_UNLIMITED, f64::INFINITY)
}

fn warnings(input: &PlanInput, bytes: u64, frames: u64, timer_ns: u64, loop_time: Span) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(buffer) = input.buffer_bytes.filter(|buffer| *buffer < bytes) {
        let share = 100.0 * buffer as f64 / bytes as f64;
        warnings.push(format!(
            "the buffer of {buffer} B holds {share:.0} % of a loop: that share of the line rate is the most without loss"
        ));
    }
    if frames > u64::from(SEQUENCE_SPACE / 2) {
        warnings.push(format!("{frames} small frames exceed half of the sequence numbers, 524288"));
    }
    if timer_ns > 65_535 {
        let consequence = if loop_time > Span::from_nanos(65_535) {
            "which is shorter than the loop: frames are retransmitted although nothing was lost"
        } else {
            "which is set instead"
        };
        warnings.push(format!(
            "a replay timer of {timer_ns} ns exceeds the register's maximum, 65535 ns, {consequence}"
        ));
    }
    warnings
}

fn config(
    input: &PlanInput,
    (bytes, frames, timer_ns, count): (u64, u64, u64, u8),
    loop_time: Span,
) -> Config {
    let bytes = input.buffer_bytes.map_or(bytes, |buffer| bytes.min(buffer));
    let timer_ns = timer_ns.min(65_535);
    // A frame is too old only after every replay has had its time.
    let rounds = u64::from(count.min(REPLAY_COUNT_UNLIMITED - 1)) + 2;
    let age_ns = rounds * (timer_ns + loop_time.0.div_ceil(1_000));
    Config {
        outstanding_frames_max: frames.min(u64::from(SEQUENCE_SPACE / 2)) as u32,
        outstanding_bytes_max: u32::try_from(bytes).unwrap_or(u32::MAX),
        replay_timer_ns: timer_ns as u32,
        replay_count_max: count,
        pcs_lost_timeout_ns: 10 * timer_ns as u32,
        data_age_timeout_ns: age_ns.min(4_290_000_000) as u32,
        flush_action: FrameAction::Block,
        ctlos_spacing_bytes: input.spacing_bytes,
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: PlanInput = PlanInput {
        rate_bps: 400_000_000_000,
        cable_m: 100,
        phy_ns: 132,
        mtu_bytes: 9_000,
        loss: 1e-6,
        spacing_bytes: 2_048,
        buffer_bytes: None,
        years_between_flushes: 10.0,
    };

    fn value(plan: &Plan, name: &str) -> f64 {
        plan.steps.iter().find(|step| step.name == name).expect(name).value
    }

    /// 1,000 ns of cable and 592.12 ns of Meta's overheads.
    #[test]
    fn a_hundred_metres_at_400g() {
        let plan = plan(&META).expect("in range");
        assert_eq!(plan.loop_time, Span(1_592_120));
        assert_eq!((plan.config.outstanding_bytes_max, plan.config.outstanding_frames_max), (79_606, 1_244));
        assert_eq!(plan.config.replay_timer_ns, 5_277, "3 x 1,592.12 + 500");
        assert_eq!((plan.config.check(), plan.warnings.len()), (Ok(()), 0));
        // 5.5 million frames a second lose 5.5; times 2e-6 squared, 2.2e-11 FLUSHes a second.
        assert_eq!(plan.config.replay_count_max, 2);
        let years = value(&plan, "from FLUSH to FLUSH");
        assert!((1_400.0..1_460.0).contains(&years), "{years}");
        assert!((value(&plan, "full frames per loop") - 8.83).abs() < 0.01);
        let lossy = super::plan(&PlanInput { loss: 1e-3, ..META }).expect("in range");
        assert_eq!(lossy.config.replay_count_max, 5, "5,540 losses a second times 2e-3 to the power of 5");
        assert!((plan.throughput - (1.0 - 8.83e-6)).abs() < 1e-7);
    }

    /// Meta's 105,800 B of outstanding data last 2,116 ns at line rate: the whole loop, overheads included, so the cable may
    /// have 152 m, not the 211 m of its budget.
    #[test]
    fn the_outstanding_bytes_have_to_last_for_the_whole_loop() {
        let bytes =
            |cable_m| plan(&PlanInput { cable_m, ..META }).expect("in range").config.outstanding_bytes_max;
        assert!(bytes(152) <= 105_800 && bytes(153) > 105_800, "{} {}", bytes(152), bytes(153));
        let short = PlanInput { cable_m: 211, buffer_bytes: Some(105_800), ..META };
        let plan = plan(&short).expect("in range");
        assert_eq!(plan.config.outstanding_bytes_max, 105_800);
        assert!(plan.warnings[0].contains("holds 78 % of a loop"), "{:?}", plan.warnings);
    }

    #[test]
    fn what_the_registers_cannot_hold_is_said_and_capped() {
        let far = PlanInput { cable_m: 100_000, mtu_bytes: 64, loss: 0.3, ..META };
        let plan = plan(&far).expect("in range");
        assert_eq!(plan.config.check(), Ok(()));
        assert_eq!((plan.config.replay_timer_ns, plan.config.outstanding_frames_max), (65_535, 524_288));
        assert_eq!(plan.warnings.len(), 2, "{:?}", plan.warnings);
    }

    #[test]
    fn what_cannot_be_planned_is_refused_by_name() {
        let refused = |input: PlanInput| plan(&input).expect_err("out of range").parameter;
        assert_eq!(refused(PlanInput { loss: 0.5, ..META }), "loss");
        assert_eq!(refused(PlanInput { loss: f64::NAN, ..META }), "loss");
        assert_eq!(refused(PlanInput { mtu_bytes: 63, ..META }), "mtu");
        assert_eq!(refused(PlanInput { rate_bps: 0, ..META }), "rate");
        assert_eq!(refused(PlanInput { spacing_bytes: 399, ..META }), "spacing");
        assert_eq!(refused(PlanInput { cable_m: 100_001, ..META }), "cable");
        assert_eq!(refused(PlanInput { buffer_bytes: Some(8_999), ..META }), "buffer");
        assert_eq!(refused(PlanInput { years_between_flushes: 0.0, ..META }), "years between flushes");
    }

    /// With 2 % lost: 94 % at a loop of three frames, 80 % at 12, 41 % at 70.
    #[test]
    fn go_back_n_pays_a_loop_for_each_loss() {
        let share = |window| (100.0 * go_back_n_throughput(0.02, window)).round();
        assert_eq!((share(3.0), share(12.0), share(70.0)), (94.0, 80.0, 41.0));
    }
}
