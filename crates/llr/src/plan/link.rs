//! From a cable to the parameters of its ports.

use super::{FRAME_BYTES_MIN, NS_PER_METRE, Step, budget, overheads};
use crate::config::{Config, FrameAction, REPLAY_COUNT_UNLIMITED};
use crate::presets::{HPE_TIMER_NS, hpe_replay_timer};
use crate::sequence::SEQUENCE_SPACE;
use crate::time::Span;
use linkmend_diagnose::ParameterError;

/// Preamble and gap of a frame on the line, in bytes.
const FRAME_OVERHEAD_BYTES: u64 = 20;
/// Meta's study recommends at least two replays (FBOSS).
const REPLAYS_MIN: u8 = 2;
/// The replay timer is at least this many loops: one for the ACK, and one in case that ordered sets are lost.
const TIMER_LOOPS_MIN: u64 = 2;
/// The register's maximum.
const TIMER_NS_MAX: u64 = 65_535;
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
    /// Share of the line rate that the replay buffer and go-back-N leave, with full frames.
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
/// The loop is the time on the cable and Meta's overheads. The port keeps a loop's bytes, if its buffer holds them. The replay
/// timer is HPE's three loops and 500 ns, within HPE's bounds, but at least two loops. The count makes FLUSH as rare as
/// demanded.
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
    let loop_bytes = loop_time.octets(input.rate_bps);
    let (bytes, arithmetic) = outstanding_bytes(input, loop_bytes);
    push("outstanding bytes", arithmetic, bytes as f64, "B", "outstanding_data_max: the BDP");
    let frames = bytes.div_ceil(FRAME_BYTES_MIN);
    push("outstanding frames", format!("{bytes} / 64 B"), frames as f64, "frames", "as Meta");
    let (timer_ns, arithmetic) = replay_timer(loop_time);
    push("replay timer", arithmetic.to_owned(), timer_ns as f64, "ns", "HPE's rule");
    let (count, years) = replay_count(input, timer_ns > 0);
    let loss = if input.loss == 0.0 { "0".to_owned() } else { format!("{:e}", input.loss) };
    let chance = format!("2 x {loss} lost per replay");
    push("replay count", chance, f64::from(count), "replays", "derived; at least 2 (Meta)");
    let arithmetic = if timer_ns > 0 { "1 / (losses x chance^count)" } else { "1 / (losses x chance)" };
    push("from FLUSH to FLUSH", arithmetic.to_owned(), years, "years", "derived");
    let window = loop_time.0 as f64 / input.frame_time().0 as f64;
    push("full frames per loop", "loop / time of a frame".to_owned(), window, "frames", "derived");
    let held = if bytes < loop_bytes { bytes as f64 / loop_bytes as f64 } else { 1.0 };
    // A loss costs the frames that the port sends in a loop.
    let throughput = held * go_back_n_throughput(input.loss, held * window);
    let arithmetic =
        if held < 1.0 { "h (1 - p) / (1 - p + p h W), h: share held" } else { "(1 - p) / (1 - p + p W)" };
    push("throughput", arithmetic.to_owned(), throughput, "", "derived, go-back-N");
    let warnings = warnings(input, loop_bytes, frames, timer_ns);
    let config = config(input, (bytes, frames, timer_ns, count), loop_time);
    Ok(Plan { steps, config, loop_time, throughput, warnings })
}

/// A loop's bytes, or those of the buffer if that is smaller, and how they were computed.
fn outstanding_bytes(input: &PlanInput, loop_bytes: u64) -> (u64, String) {
    match input.buffer_bytes {
        Some(buffer) if buffer < loop_bytes => (buffer, format!("the buffer; a loop has {loop_bytes} B")),
        _ => (loop_bytes, "loop at line rate".to_owned()),
    }
}

/// HPE's rule, in ns, and how it was applied. HPE's upper bound is shorter than long loops, after which every frame would be
/// retransmitted; 0, which turns the timer off, if even the register's maximum is.
fn replay_timer(loop_time: Span) -> (u64, &'static str) {
    if loop_time >= Span::from_nanos(TIMER_NS_MAX) {
        return (0, "off: a loop is longer than 65535 ns");
    }
    let (shortest, longest) = HPE_TIMER_NS;
    let nanos = |span: Span| span.0.div_ceil(1_000);
    let rule = nanos(hpe_replay_timer(loop_time));
    let least = nanos(Span(loop_time.0.saturating_mul(TIMER_LOOPS_MIN)));
    match rule.clamp(shortest, longest) {
        clamped if clamped < least => (least, "2 x loop, which exceeds HPE's 15500 ns"),
        clamped if clamped < rule => (clamped, "3 x loop + 500 ns, at most 15500 ns"),
        clamped if clamped > rule => (clamped, "3 x loop + 500 ns, at least 1000 ns"),
        clamped => (clamped, "3 x loop + 500 ns"),
    }
}

/// The share of the line rate that go-back-N leaves if a share `loss` of frames is lost, and each loss costs `window`
/// frames.
pub fn go_back_n_throughput(loss: f64, window: f64) -> f64 {
    (1.0 - loss) / (1.0 - loss + loss * window)
}

/// The smallest count that makes FLUSH rare enough, and the years between two of them.
///
/// A replay makes no progress if its first frame or the ACK is lost, so its chance is about twice the loss rate.
/// Without a timer, the first replay that makes no progress ends in FLUSH.
fn replay_count(input: &PlanInput, has_timer: bool) -> (u8, f64) {
    let losses_per_year = input.loss * SECONDS_PER_YEAR * 1e12 / input.frame_time().0 as f64;
    let fails = 1.0 - (1.0 - input.loss) * (1.0 - input.loss);
    let mut flushes_per_year = losses_per_year * fails;
    if !has_timer {
        return (REPLAYS_MIN, 1.0 / flushes_per_year);
    }
    for count in REPLAYS_MIN..REPLAY_COUNT_UNLIMITED {
        flushes_per_year *= fails;
        if flushes_per_year * input.years_between_flushes <= 1.0 {
            return (count, 1.0 / flushes_per_year);
        }
    }
    (REPLAY_COUNT_UNLIMITED, f64::INFINITY)
}

fn warnings(input: &PlanInput, loop_bytes: u64, frames: u64, timer_ns: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(buffer) = input.buffer_bytes.filter(|buffer| *buffer < loop_bytes) {
        let share = 100.0 * buffer as f64 / loop_bytes as f64;
        let phy = Span::from_nanos(input.phy_ns);
        let meta = budget(buffer, input.rate_bps, phy, input.mtu_bytes, input.spacing_bytes);
        warnings.push(format!(
            "the buffer of {buffer} B holds {share:.0} % of a loop: that share of the line rate is the most without loss"
        ));
        warnings.push(format!(
            "the whole buffer may be outstanding, which hung Meta's ports (FBOSS); Meta's budget allows {} B",
            meta.outstanding_bytes
        ));
    }
    if frames > u64::from(SEQUENCE_SPACE / 2) {
        warnings.push(format!("{frames} small frames exceed half of the sequence numbers, 524288"));
    }
    if timer_ns > TIMER_NS_MAX {
        warnings.push(format!(
            "a replay timer of {timer_ns} ns exceeds the register's maximum, 65535 ns, which is set instead"
        ));
    }
    if timer_ns == 0 {
        warnings.push(
            "the loop is longer than the register's maximum, 65535 ns, after which all frames would be retransmitted although \
             nothing was lost: the replay timer is off, and a lost NACK or retransmission ends in FLUSH"
                .to_owned(),
        );
    }
    warnings
}

fn config(
    input: &PlanInput,
    (bytes, frames, timer_ns, count): (u64, u64, u64, u8),
    loop_time: Span,
) -> Config {
    let timer_ns = timer_ns.min(TIMER_NS_MAX);
    let loop_ns = loop_time.0.div_ceil(1_000);
    // A frame is too old only after every replay has had its time.
    let rounds = u64::from(count.min(REPLAY_COUNT_UNLIMITED - 1)) + 2;
    let age_ns = rounds * (timer_ns + loop_ns);
    Config {
        outstanding_frames_max: frames.min(u64::from(SEQUENCE_SPACE / 2)) as u32,
        outstanding_bytes_max: u32::try_from(bytes).unwrap_or(u32::MAX),
        replay_timer_ns: timer_ns as u32,
        replay_count_max: count,
        pcs_lost_timeout_ns: 10 * (if timer_ns == 0 { loop_ns } else { timer_ns }) as u32,
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

    #[test]
    fn no_more_bytes_are_outstanding_than_the_buffer_holds() {
        let full = plan(&PlanInput { buffer_bytes: Some(79_606), ..META }).expect("in range");
        assert_eq!((full.config.outstanding_bytes_max, full.warnings.len()), (79_606, 0));
        let half = plan(&PlanInput { buffer_bytes: Some(39_803), loss: 1e-2, ..META }).expect("in range");
        assert_eq!(
            (value(&half, "outstanding bytes"), value(&half, "outstanding frames")),
            (39_803.0, 622.0)
        );
        assert_eq!((half.config.outstanding_bytes_max, half.config.outstanding_frames_max), (39_803, 622));
        let expected = 0.5 * go_back_n_throughput(1e-2, 0.5 * value(&half, "full frames per loop"));
        assert!((half.throughput - expected).abs() < 1e-12, "{}", half.throughput);
        assert!(half.warnings[0].contains("50 %"), "{:?}", half.warnings);
        assert!(half.warnings[1].contains("allows 10200 B"), "{:?}", half.warnings);
    }

    /// HPE's bounds are 1,000 and 15,500 ns. Loops of 5,592, 10,592 and 20,592 ns.
    #[test]
    fn the_replay_timer_keeps_to_hpes_bounds_unless_two_loops_are_longer() {
        let timer = |cable_m| {
            let plan = plan(&PlanInput { cable_m, ..META }).expect("in range");
            assert_eq!(value(&plan, "replay timer"), f64::from(plan.config.replay_timer_ns));
            plan.config.replay_timer_ns
        };
        assert_eq!((timer(500), timer(1_000), timer(2_000)), (15_500, 21_185, 41_185));
        let short = PlanInput { cable_m: 0, phy_ns: 0, mtu_bytes: 64, spacing_bytes: 400, ..META };
        assert_eq!(plan(&short).expect("in range").config.replay_timer_ns, 1_000);
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
        assert_eq!((plan.config.replay_timer_ns, plan.config.outstanding_frames_max), (0, 524_288));
        assert!(plan.config.pcs_lost_timeout_ns > 1_000_000, "{:?}", plan.config);
        assert_eq!(plan.warnings.len(), 2, "{:?}", plan.warnings);
        // Two loops of 40 us are too long, but one is not.
        let plan = super::plan(&PlanInput { cable_m: 4_000, ..META }).expect("in range");
        assert_eq!(plan.config.replay_timer_ns, 65_535);
        assert_eq!(plan.warnings.len(), 1, "{:?}", plan.warnings);
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
