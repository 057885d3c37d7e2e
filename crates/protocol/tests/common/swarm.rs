//! One seed of the fault swarm: draws a topology and faults, runs them, heals the link, and demands delivery.

use super::ledger::LossCause;
use super::link::{ControlFaults, Link, Loss};
use super::node::Source;
use super::pair::{A, B, Pair, Settings, quick_config};
use super::random::Random;
use linkmend_protocol::{Config, Copies, Format, Level, Mode, Tick, Ticks};

/// More events than any seed needs: a run beyond it would never end.
const STEPS_MAX: u64 = 300_000;

pub struct Run {
    pub pair: Pair,
    random: Random,
    /// No session was ended by a fault, so the counters must be exact.
    unbroken: bool,
}

impl Run {
    pub fn new(seed: u64) -> Run {
        let mut random = Random::new(seed);
        random.next();
        let settings = Settings {
            config: draw_config(&mut random),
            mbps: random.log_between(200, 100_000),
            delay_ns: random.log_between(50, 50_000),
            seed: random.next(),
        };
        let mut pair = Pair::new(settings);
        // Two ends of one link may be configured differently.
        if settings.config.format == Format::Transparent && random.chance(0.3) {
            // Rarely their formats differ, too; then neither protects anything.
            let format = if random.chance(0.1) { Format::Compact } else { Format::Transparent };
            let config = Config { format, ..draw_config(&mut random) };
            pair.nodes[B] = super::node::Node::new(B, config, random.next());
        }
        let rings = [0, 0, 2_000, 50_000];
        let delivery_gaps = [0, 0, 0, 1_000, 20_000];
        for node in &mut pair.nodes {
            node.check_wire = seed.is_multiple_of(16);
            node.ring_ns = *random.pick(&rings);
            node.delivery_gap_ns = *random.pick(&delivery_gaps);
        }
        if random.chance(0.3) {
            pair.links[B] = Link::new(random.log_between(200, 100_000), random.log_between(50, 50_000));
        }
        Run { pair, random, unbroken: true }
    }

    /// Panics when the protocol breaks a promise.
    pub fn drive(&mut self) {
        let compact = [A, B].iter().any(|&end| self.pair.nodes[end].end.config().format == Format::Compact);
        self.draw_faults(compact);
        for end in [A, B] {
            let described = format!("{end} {:?}", self.pair.nodes[end].end.config());
            self.pair.note(|| described);
        }
        let lanes: f64 = *self.random.pick(&[1.0, 0.0, 0.5]);
        for end in [A, B] {
            if end == A || self.random.chance(0.6) {
                let copies = self.draw_copies();
                self.pair.protect(end, copies);
            }
            self.pair.nodes[end].source = Some(Source {
                next_at: 0,
                gap_max_ns: self.random.log_between(100, 100_000),
                burst_max: self.random.log_between(1, 60),
                bytes_max: self.random.log_between(64, 1_500),
                ordered: if compact { lanes.round() } else { lanes },
                remaining: self.random.between(0, 150),
            });
        }
        for _ in 0..self.random.below(8) {
            let span = self.random.log_between(1_000, 3_000_000);
            self.run_for(span);
            self.act(compact);
        }
        let span = self.random.log_between(1_000, 3_000_000);
        self.run_for(span);
        self.heal();
        self.demand_delivery();
    }

    fn run_for(&mut self, span_ns: u64) {
        let until = self.pair.now + span_ns;
        while self.pair.step(until) {
            assert!(self.pair.steps < STEPS_MAX, "no end of events: {}", self.pair.describe());
        }
        self.pair.now = until;
    }

    fn draw_copies(&mut self) -> Copies {
        if self.random.chance(0.7) {
            Copies::Fixed(self.random.between(1, 4) as u8)
        } else {
            Copies::Target { target_loss: 1e-8, initial_loss: 1e-3 }
        }
    }

    fn draw_loss(&mut self) -> Loss {
        match self.random.below(8) {
            0 | 1 => Loss::None,
            2 => Loss::Iid(1e-3),
            3 => Loss::Iid(0.02),
            4 => Loss::Iid(0.1),
            5 => Loss::Iid(0.4),
            6 => Loss::Burst { to_bad: 0.02, to_good: 0.2, loss: 0.9, bad: false },
            _ => Loss::Burst { to_bad: 0.005, to_good: 0.02, loss: 1.0, bad: false },
        }
    }

    fn draw_faults(&mut self, compact: bool) {
        for end in [A, B] {
            self.pair.links[end].loss = self.draw_loss();
            // The authors' ACKs name neither session nor lane, so they rely on a link that does not delay them.
            if !compact && self.random.chance(0.5) {
                self.pair.links[end].control = ControlFaults {
                    duplicate: 0.1,
                    delay: 0.1,
                    delay_max_ns: self.random.log_between(1_000, 500_000),
                };
            }
        }
    }

    /// A random event at a link end.
    fn act(&mut self, compact: bool) {
        let end = self.random.below(2) as usize;
        let action = self.random.below(12);
        if action != 0 && self.pair.nodes[end].starved_until > self.pair.now {
            return;
        }
        match action {
            0 => {
                self.unbroken = false;
                self.pair.crash(end);
            }
            1 => {
                let span = self.random.log_between(10_000, 20_000_000);
                self.pair.starve(end, span, false);
            }
            2 => {
                self.unbroken = false;
                let span = self.random.log_between(10_000, 20_000_000);
                self.pair.starve(end, span, true);
            }
            3 | 4 => self.pair.unprotect(end),
            5 | 6 => {
                let copies = self.draw_copies();
                self.pair.protect(end, copies);
            }
            7 => self.jump(end),
            8 => self.reconfigure(end),
            9 => {
                let mode = if compact { self.lane() } else { *self.random.pick(&Mode::ALL) };
                let count = self.random.log_between(1, 200);
                self.pair.offer(end, mode, count, 700);
            }
            _ => self.draw_faults(compact),
        }
    }

    /// The lane that a compact link end uses in this seed.
    fn lane(&self) -> Mode {
        let ordered = self.pair.nodes[A].source.as_ref().is_some_and(|source| source.ordered > 0.5);
        if ordered { Mode::Ordered } else { Mode::NonBlocking }
    }

    fn jump(&mut self, end: usize) {
        let span = self.random.log_between(1_000, 100_000_000);
        let back = self.random.chance(0.5);
        self.pair.note(|| format!("{end} clock jumps by {span} ns, back {back}"));
        let node = &mut self.pair.nodes[end];
        node.clock_offset = if back { node.clock_offset - span } else { node.clock_offset + span };
        self.pair.service(end);
    }

    fn reconfigure(&mut self, end: usize) {
        let drawn = draw_config(&mut self.random);
        let end = &mut self.pair.nodes[end].end;
        let old = *end.config();
        // Bounds may only grow, because the check of the buffers' extremes knows one bound.
        let config = Config {
            window_bytes: old.window_bytes.max(drawn.window_bytes),
            rx_buffer_bytes: old.rx_buffer_bytes.max(drawn.rx_buffer_bytes),
            ..drawn
        };
        end.reconfigure(config).expect("valid");
        self.pair.note(|| format!("reconfigured: {config:?}"));
    }

    fn heal(&mut self) {
        self.pair.note(|| "heals".into());
        for end in [A, B] {
            self.pair.links[end].loss = Loss::None;
            self.pair.links[end].control = ControlFaults::default();
        }
    }

    /// Longest time that a healed link may need: every timeout of the protocol, a few times.
    fn bound_ns(&self) -> u64 {
        let bound = |end: usize| {
            let config = self.pair.nodes[end].end.config();
            4 * (config.peer_timeout.0
                + config.session_expiry.0
                + config.recovery_timeout.0
                + config.handshake_max.0
                + config.dummy_interval_max.0
                + config.keepalive.0)
        };
        200_000_000 + bound(A) + bound(B)
    }

    fn demand_delivery(&mut self) {
        let bound = self.bound_ns();
        self.pair.run_until(bound, Pair::is_idle);
        for end in [A, B] {
            if self.pair.nodes[end].protection.is_some() {
                self.pair.run_until(bound, |pair| {
                    let status = pair.nodes[end].end.status();
                    let refused = status.mismatched_format.is_some();
                    assert!(!refused || pair.stats(end).protected_frames == 0, "protected by mistake");
                    pair.is_active(end) || refused || status.level == Level::Dormant
                });
            }
        }
        // A healed link must carry everything that is sent next.
        let before = self.pair.ledger.frames.len();
        let mode = self.lane();
        for end in [A, B] {
            self.pair.offer(end, mode, 20, 200);
        }
        self.pair.run_until(bound, Pair::is_idle);
        for record in &self.pair.ledger.frames[before..] {
            assert!(record.delivered_at.is_some(), "lost on a healed link: {record:?}");
        }
        self.check_accounts();
    }

    fn check_accounts(&self) {
        let pair = &self.pair;
        for end in [A, B] {
            let (sender, receiver) = (pair.stats(end), pair.stats(1 - end));
            let given_up = pair.ledger.count(end, LossCause::GivenUp);
            let past = pair.nodes[1 - end].past.given_up;
            let counted = receiver.recovery_timeouts + receiver.withdrawn_frames + past;
            assert!(given_up <= counted + pair.ledger.exhausted[end]);
            let whole = self.unbroken && sender.abandoned_frames == 0 && receiver.unrecovered_frames == 0;
            if whole && receiver.orphan_frames == 0 && sender.peers_lost == 0 {
                assert_eq!(given_up, counted, "effective loss from {end}: {}", pair.describe());
            }
        }
    }
}

fn draw_config(random: &mut Random) -> Config {
    let base = quick_config();
    let micros = |random: &mut Random, low: u64, high: u64| Ticks(random.log_between(low, high) * 1_000);
    let rx_buffer_bytes = random.between(64 * 1024, 200 * 1024);
    let pause_bytes = random.between(3_000, rx_buffer_bytes);
    let keepalive = micros(random, 200, 1_500);
    let dummy_interval_min = micros(random, 5, 200);
    let dummy_interval_max = dummy_interval_min * random.between(1, 20);
    let ack_gap = Ticks(random.below(5_000));
    let peer_timeout = keepalive.max(dummy_interval_max) * random.between(3, 8);
    let handshake_min = micros(random, 20, 500);
    let mut config = Config {
        format: if random.chance(0.08) { Format::Compact } else { Format::Transparent },
        window_frames: 1 << random.between(4, 8),
        window_bytes: random.between(64 * 1024, 200 * 1024),
        rx_buffer_bytes,
        pause_bytes,
        resume_bytes: random.below(pause_bytes),
        recovery_timeout: micros(random, 50, 4_000),
        max_rounds: *random.pick(&[1, 2, 5, 255]),
        give_up_by_clock: random.chance(0.2),
        ack_gap,
        ack_interval: ack_gap + Ticks(1 + random.log_between(500, 100_000)),
        dummy_delay: Ticks(random.below(10_000)),
        dummy_copies: random.between(1, 3) as u8,
        dummy_interval_min,
        dummy_interval_max,
        keepalive,
        peer_timeout,
        session_expiry: base.session_expiry.max(peer_timeout),
        handshake_min,
        handshake_max: handshake_min * random.between(1, 20),
        loss_window_frames: random.log_between(100, 1_000) as u32,
        ..base
    };
    config.fallback.enabled = random.chance(0.3);
    config.fallback.return_hold = Tick::Nanosecond.millis(2);
    config.fallback.dormant_hold = Tick::Nanosecond.millis(5);
    config.fallback.rx_overflow_max = random.below(30) as u32;
    config
}
