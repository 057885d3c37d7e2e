//! A network over time: loss events, what the strategy does about them, repairs.

mod series;
mod summary;

pub use series::SeriesWriter;
pub use summary::{MetricSummary, Summary};

use crate::network::{Metrics, Network};
use crate::optimizer::{self, Objective};
use crate::protection::{Deployment, ProtectionLimits, ProtectionTable};
use crate::repair::RepairDelays;
use crate::strategy::Strategy;
use crate::timeline::{Happening, Timeline};
use crate::topology::{LinkId, Topology};
use crate::trace::{LossEvent, Trace};
use linkmend_random::Random;
use std::collections::BTreeSet;
use summary::Accumulator;

/// Which optimizer runs after a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// Finds the best.
    #[default]
    Exact,
    /// Disables the worst link that can be, then the next.
    Greedy,
}

/// How a network is run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is done about corrupting links.
    pub strategy: Strategy,
    /// Share of its paths that each ToR must keep; 0 to 1.
    pub constraint: f64,
    /// How long repairs take.
    pub repair: RepairDelays,
    /// Seed of the repair times.
    pub seed: u64,
    /// What protection leaves of loss and capacity.
    pub protection: ProtectionTable,
    /// Where protection can be had.
    pub deployment: Deployment,
    /// How much protection a switch can bear.
    pub limits: ProtectionLimits,
    /// What the optimizer makes least.
    pub objective: Objective,
    /// Which optimizer.
    pub optimizer: Optimizer,
    /// Loss rate that a clean link counts with.
    pub clean_loss_rate: f64,
}

impl Settings {
    /// Section 4.8 with one strategy and constraint.
    pub fn paper(strategy: Strategy, constraint: f64, seed: u64) -> Settings {
        Settings {
            strategy,
            constraint,
            repair: RepairDelays::paper(),
            seed,
            protection: ProtectionTable::authors(),
            deployment: Deployment::Everywhere,
            limits: ProtectionLimits::default(),
            objective: Objective::Penalty,
            optimizer: Optimizer::Exact,
            clean_loss_rate: crate::network::CLEAN_LOSS_RATE,
        }
    }
}

/// An event and what it changed. The metrics before it have held since the event before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// When.
    pub time_s: u64,
    /// The metrics until then.
    pub before: Metrics,
    /// The metrics from then on.
    pub after: Metrics,
}

/// Runs a trace, and after its last loss event on to the last repair. `observe` gets every event, skipped ones included.
pub fn simulate(
    topology: &Topology,
    trace: &Trace,
    settings: &Settings,
    observe: &mut impl FnMut(&Step),
) -> Summary {
    let mut run = Run::new(topology, trace, settings);
    let mut before = run.network.metrics();
    let mut accumulator = Accumulator::default();
    while let Some(happening) = run.timeline.next() {
        let time_s = match happening {
            Happening::Loss(event) => {
                run.handle_loss(event);
                event.time_s
            }
            Happening::Repair { time_s, link } => {
                run.handle_repair(time_s, link);
                time_s
            }
        };
        let after = run.network.metrics();
        accumulator.record(time_s, &after);
        observe(&Step { time_s, before, after });
        before = after;
    }
    accumulator.finish(&mut run.summary);
    run.summary
}

struct Run<'a> {
    network: Network<'a>,
    timeline: Timeline<'a>,
    settings: &'a Settings,
    random: Random,
    /// Corrupting links that could be protected were it not for the limits.
    waiting: BTreeSet<LinkId>,
    summary: Summary,
}

impl<'a> Run<'a> {
    fn new(topology: &'a Topology, trace: &'a Trace, settings: &'a Settings) -> Run<'a> {
        Run {
            network: Network::new(topology, settings.constraint, settings.clean_loss_rate),
            timeline: Timeline::new(trace, settings.repair.delays_s()),
            settings,
            random: Random::new(settings.seed, "fleet/repair"),
            waiting: BTreeSet::new(),
            summary: Summary::default(),
        }
    }

    /// A link corrupts: protect it at once, then disable it if that is possible (section 3.6).
    fn handle_loss(&mut self, event: LossEvent) {
        self.summary.loss_events += 1;
        if self.network.is_disabled(event.link) {
            self.summary.skipped_events += 1;
            return;
        }
        self.network.corrupt(event.link, event.loss_rate);
        if self.settings.strategy.protects() {
            self.protect(event.link);
        }
        if self.settings.strategy.disables() {
            if self.network.may_disable(event.link) {
                self.disable(event.time_s, event.link);
            } else {
                self.summary.fast_checker_rejections += 1;
            }
        }
    }

    /// A link comes back: others of its zone may now be disabled in its place.
    fn handle_repair(&mut self, time_s: u64, link: LinkId) {
        self.summary.repairs += 1;
        self.network.enable(link);
        if !self.settings.strategy.optimizes() {
            return;
        }
        let zone = self.network.topology().zone_of(link);
        let optimize = match self.settings.optimizer {
            Optimizer::Exact => optimizer::exact,
            Optimizer::Greedy => optimizer::greedy,
        };
        let decision = optimize(&mut self.network, zone, self.settings.objective);
        if self.settings.optimizer == Optimizer::Exact && !decision.proven {
            self.summary.unproven_decisions += 1;
        }
        for link in decision.disable {
            self.disable(time_s, link);
        }
    }

    fn disable(&mut self, time_s: u64, link: LinkId) {
        let frees = self.network.corrupting(link).is_some_and(|link| link.protected);
        self.network.disable(link);
        self.waiting.remove(&link);
        let delay = self.settings.repair.draw(&mut self.random);
        self.timeline.schedule(time_s, link, delay);
        if frees && !self.waiting.is_empty() {
            for link in std::mem::take(&mut self.waiting) {
                self.protect(link);
            }
        }
    }

    /// Protects a corrupting link if that is possible, or renews its protection at a new loss rate.
    fn protect(&mut self, link: LinkId) {
        let topology = self.network.topology();
        let Some(corrupting) = self.network.corrupting(link).copied() else { return };
        if !corrupting.protected {
            if !self.settings.deployment.covers(topology, link) {
                return;
            }
            let ProtectionLimits { per_pipe, per_switch } = self.settings.limits;
            let full = per_pipe.is_some_and(|most| self.network.protected_on_its_pipes(link) >= most)
                || per_switch.is_some_and(|most| self.network.protected_on_its_switches(link) >= most);
            if full {
                self.waiting.insert(link);
                return;
            }
        }
        let row = self.settings.protection.row(corrupting.loss_rate);
        let capacity = (topology.capacity(link) as f64 * row.capacity).round() as u64;
        self.network.protect(link, row.effective_loss_rate, capacity);
    }
}
