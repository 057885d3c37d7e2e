//! A network over time: loss events, the strategy's reactions, repairs.
//!
//! # One loss event
//!
//! [`simulate`] takes one event after the other from a timeline ([`next`](timeline::Timeline::next)).
//!
//! **A link begins to corrupt** ([`handle_loss`](Run::handle_loss)). An event on a disabled link is counted and skipped.
//! Otherwise [`corrupt`](Network::corrupt) adds the loss to the penalty, and the link is protected with what its
//! [row](crate::protection::ProtectionTable::row) leaves, unless the deployment, or the limit of a pipe or switch, forbids it.
//! Then CorrOpt's fast checker asks whether every ToR keeps enough paths without the link, and whom it can reach
//! ([`may_disable`](Network::may_disable)). If so, the link is disabled ([`disable_or_postpone`](Run::disable_or_postpone)) and
//! listed for repair ([`add`](backlog::Backlog::add)).
//!
//! **The repair.** [`begin_repairs`](Run::begin_repairs) takes as many links as the crew can work on
//! ([`start_next`](backlog::Backlog::start_next)), draws how long each takes ([`draw`](crate::repair::RepairDelays::draw)), and
//! schedules its end ([`schedule`](timeline::Timeline::schedule)). Then the link returns, clean
//! ([`enable`](Network::enable)), and [`exact`](crate::optimizer::exact) decides which of the zone's other corrupting links to
//! disable.
//!
//! After each event, [`metrics`](Network::metrics) are averaged over time ([`record`](summary::Accumulator::record)).

mod backlog;
mod series;
mod summary;
mod timeline;

pub use series::SeriesWriter;
pub use summary::{MetricSummary, Summary};

use crate::constraint::Constraint;
use crate::deployment::Deployment;
use crate::network::{Metrics, Network, Refusal};
use crate::optimizer::{self, Objective};
use crate::protection::{ProtectionLimits, ProtectionTable};
use crate::repair::{Crew, RepairDelays, TakeDown};
use crate::strategy::Strategy;
use crate::trace::{LossEvent, Trace};
use backlog::Backlog;
use linkmend_quantity::words;
use linkmend_random::Random;
use linkmend_topology::{LinkId, Topology, ZoneId};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use summary::Accumulator;
use timeline::{Event, Timeline};

words! {
    /// Which optimizer runs after a repair.
    #[derive(Default, serde::Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Optimizer {
        /// The exact optimizer.
        #[default]
        Exact = "exact",
        /// Disable the worst link that can be disabled, then the next.
        Greedy = "greedy",
    }
}

/// The settings of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The strategy against corrupting links.
    pub strategy: Strategy,
    /// What every ToR must keep.
    pub constraint: Constraint,
    /// How long repairs take.
    pub repair: RepairDelays,
    /// The crew; `None` if every repair begins at once.
    pub crew: Option<Crew>,
    /// Seed of the repair times.
    pub seed: u64,
    /// What protection leaves of loss and capacity.
    pub protection: ProtectionTable,
    /// Which links can be protected.
    pub deployment: Deployment,
    /// How much protection a switch can provide.
    pub limits: ProtectionLimits,
    /// What the optimizer minimises.
    pub objective: Objective,
    /// Which optimizer runs after repairs.
    pub optimizer: Optimizer,
    /// The loss rate that a clean link counts as.
    pub clean_loss_rate: f64,
}

impl Settings {
    /// The settings of section 4.8, with one strategy and the paper's constraint: a share of its paths for each ToR.
    pub fn paper(strategy: Strategy, constraint: f64, seed: u64) -> Settings {
        Settings {
            strategy,
            constraint: Constraint::paper(constraint),
            repair: RepairDelays::paper(),
            crew: None,
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

/// An event and what it changed. The metrics before it have been the same since the previous event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// When it happened, in seconds.
    pub time_s: u64,
    /// The link that it happened to.
    pub link: LinkId,
    /// The metrics until this event.
    pub before: Metrics,
    /// The metrics from this event on.
    pub after: Metrics,
}

/// Runs a trace, and continues after its last loss event until the last repair. `observe` receives every event,
/// including skipped ones, and the network after it.
pub fn simulate(
    topology: &Topology,
    trace: &Trace,
    settings: &Settings,
    observe: &mut impl FnMut(&Step, &Network),
) -> Summary {
    let mut watch = |step: &Step, network: &Network<'_>| {
        observe(step, network);
        true
    };
    run_while(topology, trace, settings, &mut watch).0
}

/// The same, as long as `observe` says so; `None` if it said no.
pub fn simulate_while(
    topology: &Topology,
    trace: &Trace,
    settings: &Settings,
    observe: &mut impl FnMut(&Step, &Network) -> bool,
) -> Option<Summary> {
    let (summary, is_complete) = run_while(topology, trace, settings, observe);
    is_complete.then_some(summary)
}

fn run_while(
    topology: &Topology,
    trace: &Trace,
    settings: &Settings,
    observe: &mut impl FnMut(&Step, &Network) -> bool,
) -> (Summary, bool) {
    let mut run = Run::new(topology, trace, settings);
    let mut before = run.network.metrics();
    let mut accumulator = Accumulator::default();
    while let Some(event) = run.timeline.next() {
        let (time_s, link) = match event {
            Event::Loss(event) => {
                run.handle_loss(event);
                (event.time_s, event.link)
            }
            Event::Repair { time_s, link } => {
                run.handle_repair(time_s, link);
                (time_s, link)
            }
        };
        run.begin_repairs(time_s);
        let after = run.network.metrics();
        accumulator.record(time_s, &after);
        if !observe(&Step { time_s, link, before, after }, &run.network) {
            return (run.summary, false);
        }
        before = after;
    }
    accumulator.finish(&mut run.summary);
    (run.summary, true)
}

struct Run<'a> {
    network: Network<'a>,
    timeline: Timeline<'a>,
    settings: &'a Settings,
    random: Random,
    /// Corrupting links that would be protected if it were not for the limits.
    waiting: BTreeSet<LinkId>,
    /// Protected links that may be disabled but stay in operation until somebody can repair them, the worst first.
    postponed: BTreeSet<(Reverse<i128>, LinkId)>,
    backlog: Backlog,
    /// Zones where links stay in operation only so that ToRs do not lose each other.
    limited: BTreeSet<ZoneId>,
    summary: Summary,
}

impl<'a> Run<'a> {
    fn new(topology: &'a Topology, trace: &'a Trace, settings: &'a Settings) -> Run<'a> {
        let network = Network::new(topology, settings.constraint, settings.clean_loss_rate);
        Run {
            backlog: Backlog::new(settings.crew, &network),
            network,
            timeline: Timeline::new(trace, settings.repair.delays_s()),
            settings,
            random: Random::new(settings.seed, "fleet/repair"),
            waiting: BTreeSet::new(),
            postponed: BTreeSet::new(),
            limited: BTreeSet::new(),
            summary: Summary::default(),
        }
    }

    /// Handles a loss event: protects the link at once, then disables it if that is possible (section 3.6).
    fn handle_loss(&mut self, event: LossEvent) {
        self.summary.loss_events += 1;
        if self.network.is_disabled(event.link) {
            self.summary.skipped_events += 1;
            return;
        }
        self.postponed.remove(&self.postponed_as(event.link));
        self.network.corrupt(event.link, event.loss_rate);
        if self.settings.strategy.protects() {
            self.protect(event.link);
        }
        if self.settings.strategy.disables() {
            match self.network.refusal(event.link) {
                None => self.disable_or_postpone(event.time_s, event.link),
                Some(refusal) => {
                    self.summary.fast_checker_rejections += 1;
                    if let Refusal::Parted(..) = refusal {
                        self.limited.insert(self.network.topology().zone_of(event.link));
                    }
                }
            }
        }
        self.backlog.invalidate(self.network.topology().zone_of(event.link));
    }

    /// Handles a repair: other links of the same zone may now be disabled, and those of other zones that kept ToRs connected.
    fn handle_repair(&mut self, time_s: u64, link: LinkId) {
        self.summary.repairs += 1;
        self.backlog.finish_one();
        self.network.enable(link);
        let zone = self.network.topology().zone_of(link);
        if self.settings.strategy.optimizes() {
            let mut zones = self.limited.clone();
            zones.insert(zone);
            zones.into_iter().for_each(|zone| self.optimize(time_s, zone));
        }
        self.backlog.invalidate(zone);
    }

    fn optimize(&mut self, time_s: u64, zone: ZoneId) {
        let optimize = match self.settings.optimizer {
            Optimizer::Exact => optimizer::exact,
            Optimizer::Greedy => optimizer::greedy,
        };
        let decision = optimize(&mut self.network, zone, self.settings.objective);
        if self.settings.optimizer == Optimizer::Exact && !decision.proven {
            self.summary.unproven_decisions += 1;
        }
        if decision.limited {
            self.limited.insert(zone);
        } else {
            self.limited.remove(&zone);
        }
        for link in decision.disable {
            self.disable_or_postpone(time_s, link);
        }
    }

    fn disable_or_postpone(&mut self, time_s: u64, link: LinkId) {
        let is_protected = self.network.corrupting(link).is_some_and(|link| link.protected);
        let waits = self.settings.crew.is_some_and(|crew| crew.take_down == TakeDown::ForRepair);
        if is_protected && waits {
            self.postponed.insert(self.postponed_as(link));
        } else {
            self.disable(time_s, link);
        }
    }

    /// The key of a link among the postponed ones.
    fn postponed_as(&self, link: LinkId) -> (Reverse<i128>, LinkId) {
        let capacity = self.network.topology().capacity(link);
        let weight = |corrupting| self.settings.objective.weight(corrupting, capacity);
        (Reverse(self.network.corrupting(link).map_or(0, weight)), link)
    }

    fn disable(&mut self, time_s: u64, link: LinkId) {
        let Some(corrupting) = self.network.corrupting(link).copied() else { return };
        self.network.disable(link);
        self.waiting.remove(&link);
        self.backlog.add(self.network.topology(), time_s, link, corrupting.loss_rate);
        if corrupting.protected && !self.waiting.is_empty() {
            for link in std::mem::take(&mut self.waiting) {
                self.protect(link);
                self.backlog.invalidate(self.network.topology().zone_of(link));
            }
        }
    }

    /// Begins repairs while the crew has capacity: of disabled links first, then of postponed ones.
    fn begin_repairs(&mut self, time_s: u64) {
        while self.backlog.is_free() {
            let next = self.backlog.start_next(&mut self.network, self.settings.objective, time_s);
            if let Some((link, waited_s)) = next {
                self.summary.repair_wait_s += waited_s;
                let delay = self.settings.repair.draw(&mut self.random);
                self.timeline.schedule(time_s, link, delay);
                continue;
            }
            // If the link may not be disabled any more, the optimizer will find it again when a link of its zone comes
            // back.
            let Some((_, link)) = self.postponed.pop_first() else { break };
            if self.network.may_disable(link) {
                self.disable(time_s, link);
                self.backlog.invalidate(self.network.topology().zone_of(link));
            }
        }
        self.summary.max_waiting_repairs = self.summary.max_waiting_repairs.max(self.backlog.len() as u64);
    }

    /// Protects a corrupting link if that is possible, or adapts its protection to a new loss rate.
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
