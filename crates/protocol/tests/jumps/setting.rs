//! What one seed draws for a test of jumps.

use crate::random::Random;
use linkmend_protocol::{Config, FallbackConfig, Format, Mode, Tick, Ticks};

/// Timers from here on are not reached before the jump is over; afterwards the test waits for them.
pub const OUT_OF_REACH: Ticks = Ticks(1 << 44);
/// Only an end that has lost its peer waits this long.
pub const NEVER: Ticks = Ticks(1 << 60);

/// One end's port and traffic. Periods are in steps; 0 means never.
#[derive(Debug, Clone, Copy)]
pub struct Port {
    pub mode: Mode,
    /// A frame waits every this many steps; its length repeats after `sizes` frames.
    pub frame_every: u64,
    pub sizes: u64,
    pub bytes_min: u32,
    /// The port has time for dummies and ACKs every this many steps, if nothing else waits.
    pub idle_every: u64,
    /// Copies of a lost frame.
    pub copies: u8,
}

impl Port {
    pub fn bytes(&self, id: u64) -> u32 {
        self.bytes_min + (id % self.sizes) as u32 * 37
    }
}

#[derive(Debug, Clone)]
pub struct Setting {
    pub seed: u64,
    pub config: Config,
    pub ports: [Port; 2],
    /// The duration of a step, and how many steps a frame is in flight.
    pub interval: u64,
    pub delay: u64,
    /// Steps with losses before the search for a cycle, and how many frames are lost then and after the jump.
    pub stormy_steps: u64,
    pub loss: f64,
    /// Cycles to jump over.
    pub cycles: u64,
}

impl Setting {
    pub fn draw(seed: u64) -> Setting {
        let mut random = Random::new(seed);
        random.next();
        let (interval, delay) = (random.log_between(1, 2_000), random.log_between(1, 40));
        let both = random.chance(0.3);
        let ports = [draw_port(&mut random, true), draw_port(&mut random, both)];
        Setting {
            seed,
            config: draw_config(&mut random, interval, delay),
            ports,
            interval,
            delay,
            stormy_steps: random.between(0, 300),
            loss: *random.pick(&[0.0, 0.005, 0.02, 0.1, 0.3]),
            cycles: random.log_between(1, 20),
        }
    }
}

fn draw_port(random: &mut Random, sends: bool) -> Port {
    Port {
        mode: *random.pick(&Mode::ALL),
        frame_every: if sends { *random.pick(&[1, 1, 1, 2, 3, 7]) } else { 0 },
        sizes: *random.pick(&[1, 1, 2, 3]),
        bytes_min: random.log_between(64, 8_900) as u32,
        idle_every: *random.pick(&[1, 1, 1, 2, 3, 4, 0]),
        copies: random.between(1, 3) as u8,
    }
}

fn draw_config(random: &mut Random, interval: u64, delay: u64) -> Config {
    let round_trip = 2 * delay * interval;
    let steps = |random: &mut Random, max: u64| Ticks(random.log_between(1, max) * interval);
    let ack_gap = if random.chance(0.5) { Ticks::ZERO } else { steps(random, 20) };
    let ack_interval = match random.below(4) {
        0 => ack_gap + steps(random, 4 * delay),
        1 => ack_gap + steps(random, 1_000),
        _ => OUT_OF_REACH,
    };
    let dummy_delay = match random.below(4) {
        0 => Ticks::ZERO,
        1 => steps(random, 10),
        _ => Ticks(round_trip * 2),
    };
    let dummy_interval_min = Ticks(random.between(1, 3) * round_trip + 1);
    // Small enough for pauses, or too large for any.
    let pause_bytes = if random.chance(0.3) { random.between(2_000, 60_000) } else { 8 << 20 };
    Config {
        format: Format::Compact,
        window_frames: 1 << random.between(4, 9),
        window_bytes: if random.chance(0.3) { 1 << 16 } else { 16 << 20 },
        rx_buffer_bytes: if random.chance(0.2) { (1 << 16).max(pause_bytes) } else { 16 << 20 },
        pause_bytes,
        resume_bytes: pause_bytes / 2,
        recovery_timeout: Ticks(round_trip * random.between(2, 6) + 1),
        max_rounds: *random.pick(&[1, 2, 255]),
        ack_gap,
        ack_interval,
        dummy_delay,
        dummy_copies: random.between(1, 3) as u8,
        dummy_interval_min,
        dummy_interval_max: *random.pick(&[dummy_interval_min, dummy_interval_min * 8, OUT_OF_REACH]),
        keepalive: OUT_OF_REACH,
        peer_timeout: OUT_OF_REACH * 4,
        session_expiry: OUT_OF_REACH * random.between(4, 6),
        handshake_min: Ticks(round_trip * 2),
        handshake_max: NEVER * 4,
        hello_interval: NEVER,
        fallback: FallbackConfig { enabled: false, ..FallbackConfig::new(Tick::Nanosecond) },
        ..Config::new(Tick::Nanosecond)
    }
}
