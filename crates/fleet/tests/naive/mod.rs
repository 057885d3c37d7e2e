//! A naive model of the authors' simulator, written from its rules: it recomputes everything after each event, and
//! finds the links to disable by trying all sets.

mod fabric;
mod optimizer;

pub use fabric::Fabric;

use linkmend_fleet::network::Metrics;
use linkmend_fleet::strategy::Strategy;
use linkmend_random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// The protection of a link: loss rate on the wire, loss rate after protection, Gb/s of 100.
pub type Row = (f64, f64, f64);

/// `fig8_stress_100g` of the published results.
pub const AUTHORS_ROWS: [Row; 4] =
    [(1.43e-5, 5.97e-10, 98.76), (9.16e-5, 7.56e-9, 98.74), (1.16e-3, 1.29e-9, 90.88), (1e-2, 1e-8, 60.0)];

/// The rules of a run of the model.
#[derive(Debug, Clone)]
pub struct Rules {
    pub strategy: Strategy,
    pub constraint: f64,
    /// Repair times in seconds, with their shares.
    pub repair: Vec<(u64, f64)>,
    pub seed: u64,
    pub greedy: bool,
    /// Whether the optimizer considers the whole network instead of the pod of the repaired link.
    pub whole_network: bool,
    /// Pods with protection; if empty, all links, including those to the spines.
    pub upgraded: Vec<bool>,
    pub per_pipe: Option<u64>,
    pub per_switch: Option<u64>,
}

/// The observations of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    pub time_s: u64,
    pub before: Metrics,
    pub after: Metrics,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Loss(u32, f64),
    Repair(u32),
}

/// A run of the model.
pub struct Model {
    pub fabric: Fabric,
    rules: Rules,
    least_paths: u64,
    events: BTreeMap<u64, Event>,
    /// Seconds that have ever had an event.
    occupied: BTreeSet<u64>,
    random: Random,
    pub skipped: u64,
    pub repairs: u64,
    pub rejections: u64,
}

impl Model {
    /// `trace` has events in order of time, several of which may share a second.
    pub fn new(fabric: Fabric, trace: &[(u64, u32, f64)], rules: Rules) -> Model {
        let all_paths = fabric.paths(0, 0);
        let mut model = Model {
            fabric,
            least_paths: (rules.constraint * all_paths as f64).ceil() as u64,
            random: Random::new(rules.seed, "fleet/repair"),
            rules,
            events: BTreeMap::new(),
            occupied: BTreeSet::new(),
            skipped: 0,
            repairs: 0,
            rejections: 0,
        };
        for &(time_s, link, loss_rate) in trace {
            model.place(time_s, Event::Loss(link, loss_rate));
        }
        model
    }

    fn place(&mut self, mut time_s: u64, event: Event) {
        while !self.occupied.insert(time_s) {
            time_s += 1;
        }
        self.events.insert(time_s, event);
    }

    pub fn run(&mut self) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut before = self.fabric.metrics();
        while let Some((time_s, event)) = self.events.pop_first() {
            match event {
                Event::Loss(link, loss_rate) => self.loss(time_s, link, loss_rate),
                Event::Repair(link) => self.repair(time_s, link),
            }
            let after = self.fabric.metrics();
            seen.push(Seen { time_s, before, after });
            before = after;
        }
        seen
    }

    fn loss(&mut self, time_s: u64, link: u32, loss_rate: f64) {
        let now = &mut self.fabric.links[link as usize];
        if !now.active {
            self.skipped += 1;
            return;
        }
        now.corrupting = true;
        now.loss_rate = loss_rate;
        if !now.protected {
            now.effective_loss_rate = loss_rate;
        }
        self.protect(link);
        if self.rules.strategy.disables() {
            if self.fabric.may_disable(link, self.least_paths) {
                self.disable(time_s, link);
            } else {
                self.rejections += 1;
            }
        }
    }

    fn repair(&mut self, time_s: u64, link: u32) {
        self.repairs += 1;
        self.fabric.links[link as usize] = self.fabric.clean;
        if self.rules.strategy.optimizes() {
            let pod = (!self.rules.whole_network).then(|| self.fabric.pod(link));
            let choose = if self.rules.greedy { optimizer::greedy } else { optimizer::best };
            for link in choose(&mut self.fabric, pod, self.least_paths) {
                self.disable(time_s, link);
            }
            let left = self.corrupting();
            assert!(
                !left.iter().any(|&link| self.fabric.may_disable(link, self.least_paths)),
                "a link could be disabled, somewhere in the network, and was not"
            );
        }
    }

    fn corrupting(&self) -> Vec<u32> {
        let all = 0..self.fabric.links.len() as u32;
        let corrupts = |link: &u32| {
            let link = &self.fabric.links[*link as usize];
            link.active && link.corrupting
        };
        all.filter(corrupts).collect()
    }

    fn disable(&mut self, time_s: u64, link: u32) {
        let now = &mut self.fabric.links[link as usize];
        now.active = false;
        now.corrupting = false;
        now.protected = false;
        let delay_s = self.draw_delay();
        self.place(time_s + delay_s, Event::Repair(link));
        // The slot that becomes free may go to a link that has waited.
        for link in self.corrupting() {
            if !self.fabric.links[link as usize].protected {
                self.protect(link);
            }
        }
    }

    fn draw_delay(&mut self) -> u64 {
        if let [(delay_s, _)] = self.rules.repair[..] {
            return delay_s;
        }
        let total: f64 = self.rules.repair.iter().map(|(_, share)| share).sum();
        let drawn = self.random.uniform() * total;
        let mut up_to = 0.0;
        for &(delay_s, share) in &self.rules.repair {
            up_to += share;
            if drawn < up_to {
                return delay_s;
            }
        }
        self.rules.repair[self.rules.repair.len() - 1].0
    }

    fn protect(&mut self, link: u32) {
        if !self.rules.strategy.protects() {
            return;
        }
        if !self.fabric.links[link as usize].protected && !self.may_protect(link) {
            return;
        }
        let now = &mut self.fabric.links[link as usize];
        let far = |row: &Row| (row.0 - now.loss_rate).abs();
        let nearest = AUTHORS_ROWS.iter().min_by(|one, other| far(one).total_cmp(&far(other)));
        let (_, effective_loss_rate, gbps_of_100) = nearest.expect("the table has rows");
        now.protected = true;
        now.effective_loss_rate = *effective_loss_rate;
        now.gbps = self.fabric.clean.gbps * gbps_of_100 / 100.0;
    }

    fn may_protect(&self, link: u32) -> bool {
        let fabric = &self.fabric;
        let pipes = fabric.pipes(link);
        let covered = self.rules.upgraded.is_empty()
            || pipes.iter().all(|((layer, pod, _), _)| *layer < 2 && self.rules.upgraded[*pod as usize]);
        let has_room = |most: Option<u64>, used| most.is_none_or(|most| used < most);
        covered
            && pipes.iter().all(|pipe| {
                has_room(self.rules.per_pipe, fabric.protected_at(|other| other == *pipe))
                    && has_room(self.rules.per_switch, fabric.protected_at(|(of, _)| of == pipe.0))
            })
    }
}
