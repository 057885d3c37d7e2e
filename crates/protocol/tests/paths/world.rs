//! Two nodes, two paths between them, and the driver that the documentation of `paths` asks for.

use crate::common::pair::quick_config;
use crate::common::{FrameId, Link, Node, Random, Source, Wire, ledger::Ledger};
use linkmend_protocol::merge::{Arrival, Merge, MergeConfig, Merged};
use linkmend_protocol::paths::{Path, PathChange, Paths, PathsConfig};
use linkmend_protocol::schedule::Waiting;
use linkmend_protocol::share::Spread;
use linkmend_protocol::{
    Config, Control, Copies, DataHeader, Instant, LinkEnd, Mode, Protection, ReceiveState, Tick,
    TransmitState,
};

/// One path, both directions.
pub struct Cable {
    /// By sending end.
    pub links: [Link; 2],
    /// What does not pass: by sending end.
    pub cut: [bool; 2],
}

pub struct World {
    pub now: u64,
    pub nodes: [Node; 2],
    pub paths: [Paths; 2],
    /// By end: what makes one queue of both paths, if frames go out on both.
    pub merges: Option<[Merge; 2]>,
    /// By end: what spreads frames over both paths, if each goes out on one of them.
    pub spreads: Option<[Spread; 2]>,
    /// By end: since when frames have been waiting for a path.
    pub waiting_since: [Option<u64>; 2],
    pub cables: [Cable; 2],
    pub ledger: Ledger,
    pub random: Random,
    pub changes: [Vec<PathChange>; 2],
    /// Frames that arrived on a path that was left.
    pub late: u64,
}

/// How far the port of the other path may run ahead of the link.
pub const RING_NS: u64 = 100_000;

fn merge(config: &PathsConfig, shares: bool) -> Merge {
    let of = if shares { MergeConfig::sharing } else { MergeConfig::duplicating };
    Merge::new(of(config, 4 << 20))
}

/// 200 us until a silent path has failed, and 2 ms until it is trusted again.
pub fn quick_paths() -> PathsConfig {
    PathsConfig {
        detection: Tick::Nanosecond.micros(200),
        return_after: Tick::Nanosecond.millis(2),
        ..PathsConfig::new(Tick::Nanosecond)
    }
}

impl World {
    pub fn new(seed: u64, mbps: [u64; 2], delay_ns: [u64; 2], configs: [PathsConfig; 2]) -> World {
        let mut random = Random::new(seed);
        let mut nodes = [0, 1].map(|index| Node::new(index, quick_config(), random.next()));
        // Both clocks are the true time; the swarm of one path has others.
        nodes.iter_mut().for_each(|node| node.clock_offset = 0);
        let paths = configs.map(|config| Paths::new(config, random.next() as u32).expect("valid"));
        let cable = |index: usize| Cable {
            links: [0, 1].map(|_| Link::new(mbps[index], delay_ns[index])),
            cut: [false; 2],
        };
        let mut ledger = Ledger::default();
        ledger.strict_order = true;
        World {
            now: 0,
            nodes,
            paths,
            merges: None,
            spreads: None,
            waiting_since: [None; 2],
            cables: [cable(0), cable(1)],
            ledger,
            random,
            changes: [Vec::new(), Vec::new()],
            late: 0,
        }
    }

    /// Both directions protected, and both paths known to both ends.
    pub fn protected(seed: u64, mbps: [u64; 2], delay_ns: [u64; 2]) -> World {
        World::protected_with(seed, mbps, delay_ns, [quick_paths(); 2])
    }

    pub fn protected_with(seed: u64, mbps: [u64; 2], delay_ns: [u64; 2], configs: [PathsConfig; 2]) -> World {
        World::new(seed, mbps, delay_ns, configs).opened()
    }

    /// The same with every frame on both paths.
    pub fn duplicating(seed: u64, mbps: [u64; 2], delay_ns: [u64; 2], configs: [PathsConfig; 2]) -> World {
        let mut world = World::merging(seed, mbps, delay_ns, configs, false);
        world.nodes.iter_mut().for_each(|node| node.sent = Some(Vec::new()));
        world.opened()
    }

    /// The same with every frame on one of the paths, by what each delivers.
    pub fn sharing(seed: u64, mbps: [u64; 2], delay_ns: [u64; 2]) -> World {
        World::sharing_with(seed, mbps, delay_ns, quick_paths(), quick_config())
    }

    pub fn sharing_with(
        seed: u64,
        mbps: [u64; 2],
        delay_ns: [u64; 2],
        paths: PathsConfig,
        config: Config,
    ) -> World {
        let configs = [paths; 2];
        let mut world = World::merging(seed, mbps, delay_ns, configs, true);
        for node in &mut world.nodes {
            let config = Config { explicit_acks: true, ..config };
            node.end = LinkEnd::new(config, world.random.next()).expect("valid");
        }
        world.spreads = Some(configs.map(|config| Spread::new(config.detection, config.tick)));
        world.opened()
    }

    fn merging(
        seed: u64,
        mbps: [u64; 2],
        delay_ns: [u64; 2],
        configs: [PathsConfig; 2],
        shares: bool,
    ) -> World {
        let mut world = World::new(seed, mbps, delay_ns, configs);
        world.merges = Some([0, 1].map(|end| merge(&configs[end], shares)));
        world.ledger.two_paths = true;
        for node in &mut world.nodes {
            let config = Config { explicit_acks: true, ..*node.end.config() };
            node.end.reconfigure(config).expect("valid");
        }
        world
    }

    fn opened(self) -> World {
        let mut world = self;
        for node in &mut world.nodes {
            let protection = Protection { copies: Copies::Fixed(1) };
            node.protection = Some(protection);
            node.end.protect(Instant(0), protection);
        }
        world.run_for(10_000_000);
        assert!(world.nodes.iter().all(|node| node.end.status().transmit == TransmitState::Active));
        assert!(world.paths.iter().all(|paths| Path::ALL.iter().all(|&path| paths.is_heard(path))));
        world
    }

    pub fn offer(&mut self, end: usize, mode: Mode, count: u64, bytes: u32) -> Vec<FrameId> {
        let frames: Vec<_> = (0..count).map(|_| self.ledger.offer(end, mode, bytes)).collect();
        for &frame in &frames {
            self.nodes[end].queues.push(Waiting { frame, bytes, mode });
        }
        self.service(end);
        frames
    }

    /// Lets both ends send bursts of frames, in modes that are drawn.
    pub fn send_both_ways(&mut self, draw: &mut Random) {
        let ordered = [0.0, 0.5, 1.0][draw.below(3) as usize];
        for node in &mut self.nodes {
            node.source = Some(Source {
                next_at: self.now,
                gap_max_ns: 20_000,
                burst_max: 8,
                bytes_max: 1_500,
                ordered,
                remaining: 3_000,
            });
        }
    }

    /// Cuts a path in one direction or mends it. What is on its way is lost.
    pub fn cut(&mut self, path: Path, from: usize, cut: bool) {
        let Cable { links, cut: cuts } = &mut self.cables[path as usize];
        cuts[from] = cut;
        while let Some(wire) = links[from].pop_arrival(u64::MAX) {
            if let Wire::Data { frame, .. } = wire {
                self.ledger.refused(frame);
            }
        }
    }

    /// Cuts or mends both directions; with a carrier that says so.
    pub fn cut_both(&mut self, path: Path, cut: bool, carrier: bool) {
        for end in 0..2 {
            self.cut(path, end, cut);
            if carrier {
                self.paths[end].handle_carrier(Instant(self.now), path, !cut);
                if let Some(merges) = self.merges.as_mut().filter(|_| cut) {
                    merges[end].handle_failure(path);
                }
            }
        }
        (0..2).for_each(|end| self.service(end));
    }

    /// An end loses its whole state and begins again, while the paths keep what they hold.
    pub fn restart(&mut self, end: usize) {
        let (seed, own) = (self.random.next(), self.random.next() as u32);
        self.nodes[end].crash(self.now, seed, &mut self.ledger);
        self.paths[end] = Paths::new(*self.paths[end].config(), own).expect("was valid");
        if let Some(merges) = &mut self.merges {
            merges[end] = merge(self.paths[end].config(), self.spreads.is_some());
            self.nodes[end].held = 0;
        }
        self.service(end);
    }

    pub fn run_for(&mut self, span_ns: u64) {
        let until = self.now + span_ns;
        while self.step(until) {}
        self.now = until;
    }

    pub fn is_idle(&self) -> bool {
        self.ledger.undelivered == 0
            && self.nodes.iter().all(|node| {
                node.queued() == 0
                    && node.end.status().outstanding_frames == 0
                    && node.source.as_ref().is_none_or(|source| source.remaining == 0)
            })
    }

    pub fn run_until_idle(&mut self, limit_ns: u64) {
        let until = self.now + limit_ns;
        while !self.is_idle() {
            assert!(self.step(until), "not idle after {limit_ns} ns: {}", self.describe());
        }
    }

    pub fn describe(&self) -> String {
        let ends = [0, 1].map(|end| {
            format!(
                "{:?}\n{:?}\n{:?}",
                self.nodes[end].end.status(),
                self.paths[end],
                self.changes[end].last()
            )
        });
        format!("at {}, {} undelivered\n{}\n{}", self.now, self.ledger.undelivered, ends[0], ends[1])
    }

    fn step(&mut self, until: u64) -> bool {
        let mut at = u64::MAX;
        for end in 0..2 {
            at = at.min(self.sends_at(end)).min(self.paths[end].next_timeout().0);
            let waits = self.merges.as_ref().and_then(|merges| merges[end].next_timeout());
            at = at.min(waits.map_or(u64::MAX, |at| at.0));
            for cable in &self.cables {
                at = at.min(cable.links[end].next_arrival().unwrap_or(u64::MAX));
            }
        }
        if at > until {
            return false;
        }
        self.now = self.now.max(at);
        for end in 0..2 {
            for path in Path::ALL {
                while let Some(wire) = self.cables[path as usize].links[1 - end].pop_arrival(self.now) {
                    self.arrive(end, path, wire);
                }
            }
            self.nodes[end].offer_due(self.now, &mut self.ledger, &mut self.random);
            self.service(end);
        }
        true
    }

    fn arrive(&mut self, end: usize, path: Path, wire: Wire) {
        if self.cables[path as usize].cut[1 - end] {
            if let Wire::Data { frame, .. } = wire {
                self.ledger.refused(frame);
            }
            return;
        }
        let now = Instant(self.now);
        self.paths[end].heard(now, path);
        if let Wire::Control(control) = &wire
            && let Control::Probe(probe) = &**control
        {
            self.paths[end].handle_probe(now, path, probe);
            self.nodes[end].end.handle_control(now, control);
            return;
        }
        if let Wire::Control(control) = &wire
            && !matches!(**control, Control::Hello { .. })
        {
            self.paths[end].note_control(path);
        }
        if self.merges.is_some() {
            return self.arrive_merged(end, path, wire);
        }
        if !matches!(wire, Wire::Plain { .. }) && !self.paths[end].takes(path) {
            self.late += 1;
            if let Wire::Data { frame, .. } = wire {
                self.ledger.refused(frame);
            }
            return;
        }
        self.nodes[end].arrive(self.now, wire, &mut self.ledger);
    }

    fn service(&mut self, end: usize) {
        let now = Instant(self.now);
        let status = self.nodes[end].end.status();
        let dormant = status.transmit == TransmitState::Dormant && status.receive == ReceiveState::Listening;
        let paths = &mut self.paths[end];
        paths.set_dormant(now, dormant);
        if self.merges.is_none() {
            paths.set_measured_loss(now, self.nodes[end].end.path_loss());
            self.nodes[end].end.set_clean_other(paths.has_clean_other());
        }
        if paths.next_timeout() <= now {
            paths.handle_timeout(now);
        }
        while let Some(change) = paths.poll_change() {
            self.changes[end].push(change);
            self.ledger.path_changed(end);
            if self.merges.is_none() || !self.nodes[end].end.is_confirmed() {
                paths.note_resent(self.nodes[end].end.change_path(now));
            }
        }
        for path in Path::ALL {
            while let Some(probe) = paths.poll_probe(now, path) {
                let wire = Wire::Control(Box::new(Control::Probe(probe)));
                let link = &mut self.cables[path as usize].links[end];
                link.send(self.now, wire, &mut self.random);
                let node = &self.nodes[end].end;
                let position = node.position().filter(|_| self.merges.is_some() && node.is_confirmed());
                if let Some(position) = position {
                    link.send(self.now, Wire::Control(Box::new(position)), &mut self.random);
                }
            }
        }
        self.note_silence(end);
        if let Some(merges) = &mut self.merges
            && merges[end].next_timeout().is_some_and(|at| at <= now)
        {
            merges[end].handle_timeout(now);
            self.drain(end);
        }
        if self.spreads.is_some() {
            return self.share(end);
        }
        let active = self.paths[end].active();
        let link = &mut self.cables[active as usize].links[end];
        self.nodes[end].service(self.now, link, &mut self.ledger, &mut self.random);
        self.duplicate(end, active.other());
    }

    /// Sends on the other path what has just been sent: as copies, and nothing that is not numbered.
    fn duplicate(&mut self, end: usize, path: Path) {
        let Some(sent) = self.nodes[end].sent.as_mut().map(std::mem::take) else { return };
        let is_confirmed = self.nodes[end].end.is_confirmed();
        let link = &mut self.cables[path as usize].links[end];
        for wire in sent {
            let has_room = link.busy_until <= self.now + RING_NS;
            match wire {
                Wire::Data { frame, header, bytes } if is_confirmed && has_room => {
                    let header = DataHeader { retransmitted: true, ..header };
                    link.send(self.now, Wire::Data { frame, header, bytes }, &mut self.random);
                }
                // The receiver takes what a dummy announces for lost if only the dummy is on this path.
                Wire::Control(_) if has_room && (is_confirmed || !wire.is_dummy()) => {
                    link.send(self.now, wire, &mut self.random);
                }
                _ => {}
            }
        }
    }

    fn arrive_merged(&mut self, end: usize, path: Path, wire: Wire) {
        let Some(merges) = &mut self.merges else { return };
        let (merge, node, now) = (&mut merges[end], &mut self.nodes[end], Instant(self.now));
        merge.follow(node.end.receives());
        match wire {
            Wire::Plain { .. } => node.arrive(self.now, wire, &mut self.ledger),
            Wire::Data { frame, .. } if !merge.has_joined(path) => {
                self.late += 1;
                self.ledger.refused(frame);
            }
            Wire::Data { frame, header, bytes } => {
                let handle = node.rx.insert(frame);
                let lacking = node.end.first_lacking(header.mode);
                match merge.handle_data(now, path, &header, handle, bytes, lacking) {
                    Merged::Pass => node.take(self.now, handle, &header, bytes, &mut self.ledger),
                    Merged::Held => {}
                    Merged::Drop => _ = node.rx.remove(handle),
                }
            }
            Wire::Control(control) => {
                if merge.handle_control(now, path, &control) {
                    node.end.handle_control(now, &control);
                    merge.follow(node.end.receives());
                    merge.joins(path, &control);
                }
            }
        }
        self.drain(end);
    }

    /// Gives the link end what no longer waits.
    pub fn drain(&mut self, end: usize) {
        let Some(merges) = &mut self.merges else { return };
        let (merge, node) = (&mut merges[end], &mut self.nodes[end]);
        while let Some(arrival) = merge.poll() {
            match arrival {
                Arrival::Frame { header, frame, bytes } => {
                    node.take(self.now, frame, &header, bytes, &mut self.ledger);
                }
                Arrival::Control { path, control } => {
                    node.end.handle_control(Instant(self.now), &control);
                    merge.follow(node.end.receives());
                    merge.joins(path, &control);
                }
            }
        }
        merge.follow(node.end.receives());
        while let Some(handle) = merge.poll_release() {
            let frame = node.rx.remove(handle);
            self.ledger.refused(frame);
        }
        node.held = merge.held_frames();
    }
}
