//! A run with random parameters, all of which follow from one seed.

use super::{Draw, GIGABITS, gigabits};
use linkmend_sim::corruption::{Corruption, Transceiver};
use linkmend_sim::link::config::{Backpressure, Buffering, Copies, Mode, Protection, SwitchHardware};
use linkmend_sim::links::LinksConfig;

/// How bad the link of a case is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossSeverity {
    /// Nothing lost in any direction up to one frame in twenty.
    Moderate,
    /// One frame in a hundred to one in three, bursts, and the other direction as bad.
    Severe,
}

/// A case: its parameters, and what they follow from.
#[derive(Debug, Clone)]
pub struct Case {
    pub seed: u64,
    pub config: LinksConfig,
}

/// Frame lengths with something special about them: the bounds, those that last as long as an idle slot or a multiple of
/// it, and those of ordinary traffic.
const FRAME_BYTES: [u32; 14] = [64, 65, 81, 84, 128, 145, 256, 512, 1024, 1497, 1500, 1518, 4096, 9000];

impl Case {
    /// # Panics
    /// If the parameters drawn cannot be used, which would be a fault of this generator.
    pub fn new(seed: u64, severity: LossSeverity) -> Case {
        let mut draw = Draw::new(seed, "case");
        // Half of the fair cases are links that are idle but for their traffic, where fast-forward finds most to skip.
        let calm = severity == LossSeverity::Moderate && draw.one_in(2);
        let rate = gigabits(draw.pick(if calm { &GIGABITS[..5] } else { &GIGABITS }));
        let frame_bytes =
            if draw.one_in(3) { draw.between(64, 9000) as u32 } else { draw.pick(&FRAME_BYTES) };
        let frames = frames(&mut draw, severity);
        let mut config = LinksConfig::paper(rate, 0.0, Mode::Ordered);
        config.seed = seed;
        config.frames = frames;
        config.links[0].frame_bytes = frame_bytes;
        config.links[0].corruption = corruption(&mut draw, severity, frame_bytes, frames);
        config.links[0].buffering = draw.pick(&[Buffering::Recirculating, Buffering::Direct]);
        if !calm {
            config.links[0].distance_m =
                if draw.one_in(3) { draw.log_between(1, 10_000) } else { draw.between(0, 100) } as u32;
            if severity == LossSeverity::Severe || draw.one_in(2) {
                config.links[0].reverse_corruption = corruption(&mut draw, severity, 64, frames);
            }
            config.links[0].switch = switch(&mut draw);
        }
        let unprotected = severity == LossSeverity::Moderate && draw.one_in(12);
        config.links[0].protection = (!unprotected).then(|| protection(&mut draw, &config));
        if let (true, Some(protection)) = (calm, &mut config.links[0].protection) {
            // The window does not close before the round trip is over.
            protection.window_frames = 32_768;
        }
        config.validate_stress().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        Case { seed, config }
    }
}

/// A few runs are longer than the sequence space.
fn frames(draw: &mut Draw, severity: LossSeverity) -> u64 {
    match severity {
        LossSeverity::Moderate if draw.one_in(40) => draw.between(70_000, 150_000),
        LossSeverity::Moderate => draw.log_between(1, 20_000),
        LossSeverity::Severe => draw.log_between(1, 8_000),
    }
}

fn switch(draw: &mut Draw) -> SwitchHardware {
    let mut switch = SwitchHardware::default();
    if draw.one_in(2) {
        switch.egress_latency_ns = draw.between(0, 2_000);
        switch.ingress_latency_ns = draw.between(0, 2_000);
        switch.loop_latency_ns = draw.between(100, 3_000);
        switch.recirculation_rate = gigabits(draw.pick(&[40, 100, 100, 200, 400]));
        switch.recirculation_bytes = draw.log_between(65_536, 2_000_000);
        switch.timer_interval_ns = draw.pick(&[0, 1, 10, 100, 100, 1_000]);
    }
    switch
}

fn protection(draw: &mut Draw, config: &LinksConfig) -> Protection {
    let buffer = match config.links[0].buffering {
        Buffering::Recirculating => config.links[0].switch.recirculation_bytes,
        Buffering::Direct => 1_000_000,
    };
    let resume_bytes = draw.log_between(1, buffer - 2);
    let pause_bytes = if draw.one_in(2) {
        // As the paper sets it: a little above, in frames.
        (resume_bytes + u64::from(config.links[0].frame_bytes) * draw.between(1, 4)).min(buffer)
    } else {
        draw.between(resume_bytes + 1, buffer)
    };
    Protection {
        mode: draw.pick(&Mode::ALL),
        copies: if draw.one_in(3) {
            Copies::Target { loss: draw.log_uniform(1e-12, 1e-2) }
        } else {
            Copies::Fixed(draw.between(1, 4) as u8)
        },
        recovery_timeout_ns: draw.log_between(200, 200_000),
        backpressure: (!draw.one_in(3)).then_some(Backpressure { pause_bytes, resume_bytes }),
        dummy_copies: draw.between(0, 3) as u8,
        max_rounds: draw.between(1, 3) as u8,
        window_frames: 1 << draw.between(4, 15),
    }
}

fn corruption(draw: &mut Draw, severity: LossSeverity, bytes: u32, frames: u64) -> Corruption {
    let loss = match severity {
        LossSeverity::Moderate if draw.one_in(6) => return Corruption::None,
        LossSeverity::Moderate => draw.log_uniform(1e-5, 5e-2).min(draw.log_uniform(1e-4, 1.0)),
        LossSeverity::Severe => draw.log_uniform(1e-2, 0.33),
    };
    match draw.between(0, 5) {
        0 | 1 => Corruption::iid(loss),
        2 => Corruption::PerBit { bit_error_rate: loss / (8.0 * f64::from(bytes)) },
        3 => Corruption::GilbertElliott { loss, mean_burst_frames: draw.log_uniform(1.0, 50.0) },
        4 => recording(draw, loss, frames),
        _ => attenuated(draw, loss, bytes),
    }
}

/// Gaps of any length between the frames listed, and some runs of them.
fn recording(draw: &mut Draw, loss: f64, frames: u64) -> Corruption {
    let mut next = draw.log_between(1, (1.0 / loss) as u64) - 1;
    let mut listed = Vec::new();
    while next < frames && listed.len() < 1 << 16 {
        let run = if draw.one_in(4) { draw.log_between(1, 20) } else { 1 };
        listed.extend(next..next + run);
        next += run + draw.log_between(1, (4.0 / loss) as u64);
    }
    Corruption::Recorded(listed.into())
}

/// The curves are so steep that a loss is sought rather than an attenuation.
fn attenuated(draw: &mut Draw, loss: f64, bytes: u32) -> Corruption {
    let transceiver = draw.pick(&Transceiver::ALL);
    let at = |attenuation_db| Corruption::Attenuated { transceiver, attenuation_db };
    let (mut low, mut high) = (0.0, 30.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if at(middle).frame_loss(bytes) < loss { low = middle } else { high = middle }
    }
    at(low)
}
