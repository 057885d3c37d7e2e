//! What to do today about links that corrupt: which to disable, to protect and to repair first, and what capacity
//! remains (sections 3.6 and 5).
//!
//! [`read_links`] reads what the operator reports, [`Plan::new`] tells sources of corruption and links behind them apart
//! ([`attribution`](crate::attribution)) and decides, [`Plan::repairs`] orders the repairs,
//! [`Plan::zones`] and [`Plan::tors`] return what remains, and [`Plan::explain`] gives the reasons.
//!
//! A link whose loss rate is at or below the target is as good as protection could make it, so it is only watched; the
//! paper, too, calls a link corrupting only above 10^-8 (Table 1). The exact optimizer decides about all others, and
//! those that it leaves in operation are protected.

mod after;
mod counterfactual;
mod decide;
mod explain;
mod protect;
mod repairs;
mod reported;
mod suspects;
#[cfg(test)]
mod tests;

pub use after::{TorAfterPlan, TorCapacity, ZoneAfterPlan};
pub use explain::Explanation;
pub use protect::{Mode, Protection};
pub use repairs::{Origin, Repair};
pub use reported::{ReportedLink, read_links};

use crate::attribution::Culprit;
use crate::constraint::Constraint;
use crate::deployment::Deployment;
use crate::exact_sum;
use crate::network::Network;
use crate::optimizer::Objective;
use crate::protection::{ProtectionLimits, ProtectionTable};
pub use linkmend_topology::{FindError, LinkFinder};
use linkmend_topology::{LinkId, SwitchId, Topology, ZoneId};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use suspects::Suspect;

/// The constraints and the objective of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSettings {
    /// What every ToR must keep.
    pub constraint: Constraint,
    /// Loss rate that protection must reach. A link at or below it needs no protection; 0 to 1.
    pub target_loss: f64,
    /// What the optimizer minimises.
    pub objective: Objective,
    /// What protection in ordered mode leaves of loss and capacity.
    pub protection: ProtectionTable,
    /// Share of a link's capacity that ordered mode must leave. If it leaves less, non-blocking mode is chosen; 0 to 1.
    pub min_capacity: f64,
    /// Which links can be protected.
    pub deployment: Deployment,
    /// How much protection a switch can provide.
    pub limits: ProtectionLimits,
    /// How many repairs are under way at a time; 0 counts as 1.
    pub crew: u32,
    /// Whether no switch is cut-through, so that every link that counts corrupted frames corrupts them itself.
    pub store_and_forward: bool,
}

/// What is known of a network beside the links that are reported.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surroundings {
    /// The highest loss rate of the links outside the topology over which each switch receives corrupted frames.
    pub entering: BTreeMap<SwitchId, f64>,
    /// Directions of links of which nobody knows whether they corrupt, by the switches that receive. What they may feed is not
    /// disabled. Without any, links that are not reported are healthy.
    pub unjudged: BTreeSet<(LinkId, SwitchId)>,
}

/// Why a link that should be protected cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectionObstacle {
    /// A switch at one of its ends cannot protect links.
    NotUpgraded,
    /// A pipe of this switch already protects as many links as it may, each with a higher loss rate.
    PipeFull {
        /// The switch with the full pipe.
        switch: SwitchId,
        /// How many links a pipe may protect.
        limit: u32,
    },
    /// This switch already protects as many links as it may, each with a higher loss rate.
    SwitchFull {
        /// The full switch.
        switch: SwitchId,
        /// How many links a switch may protect.
        limit: u32,
    },
}

/// What to do about a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// It was disabled before, and stays disabled until it is repaired.
    KeepDisabled,
    /// Take the link out of operation.
    Disable,
    /// Protect the link: it cannot be disabled, or disabling others is better.
    Protect(Protection),
    /// The link should be protected, but cannot be.
    Leave(ProtectionObstacle),
    /// The loss rate is at or below the target: leave the link alone, but keep watching it.
    Watch,
    /// It only carries frames that this source has corrupted: nothing is wrong with it.
    Downstream(Culprit),
}

impl Action {
    /// Its name in tables and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Action::KeepDisabled => "keep disabled",
            Action::Disable => "disable",
            Action::Protect(_) => "protect",
            Action::Leave(_) => "leave",
            Action::Watch => "watch",
            Action::Downstream(_) => "downstream",
        }
    }
}

/// A link and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedLink {
    pub link: LinkId,
    /// Loss rate on the wire, where it is known; that of corrupted frames that arrive, if others corrupt them.
    pub loss_rate: Option<f64>,
    /// What to do about it.
    pub action: Action,
    /// What the link adds to the objective, or would add, while it is in operation. 0 for links that the optimizer did
    /// not decide about.
    pub objective_value: f64,
    /// Where its corrupted frames come from or, unless it is [`Action::Downstream`], may come from. Such a link is never
    /// disabled.
    pub upstream: Option<Culprit>,
}

/// The state of the network before or after the plan, in a few numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Sum of the loss rates of links in operation, including those that are only watched.
    pub penalty: f64,
    /// Sum of the loss rates that protection leaves on these links.
    pub effective_penalty: f64,
    /// Links that are disabled.
    pub disabled: u64,
    /// Links that are protected.
    pub protected: u64,
    /// ToRs with less than they must keep.
    pub short_tors: u64,
    /// Pairs of ToRs that can reach each other while all links are in operation, and cannot now.
    pub parted_pairs: u64,
}

/// How far from the best a plan can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// By how much a better choice could lower the objective, at most.
    pub objective: f64,
    /// The same as a share of the objective that the plan leaves; 0 to 1.
    pub share: f64,
}

/// The actions for the reported links, and the network before and after them.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    topology: &'a Topology,
    settings: PlanSettings,
    suspects: Vec<Suspect>,
    links: BTreeMap<LinkId, PlannedLink>,
    /// The network with all links in operation, to compare with.
    clean: Network<'a>,
    /// The network as it was reported, without protection.
    before: Network<'a>,
    /// The network after the plan, with capacities as the objective prices them.
    after: Network<'a>,
    /// The same network with the capacities that links really have.
    carried_out: Network<'a>,
    /// The links that the optimizer assumed to be impossible to protect.
    obstacles: decide::ProtectionObstacles,
    proven: bool,
    gap: Option<f64>,
    /// Computed on first use.
    repairs: OnceCell<Vec<Repair>>,
}

impl<'a> Plan<'a> {
    /// Decides what to do. If a link was reported several times with the same receiver, the last report counts.
    ///
    /// # Panics
    /// If a link is not one of the topology's; [`read_links`] refuses those.
    pub fn new(topology: &'a Topology, reported: &[ReportedLink], settings: PlanSettings) -> Plan<'a> {
        Plan::within(topology, reported, Surroundings::default(), settings)
    }

    /// The same where more is known of the network.
    ///
    /// # Panics
    /// As [`Plan::new`].
    pub fn within(
        topology: &'a Topology,
        reported: &[ReportedLink],
        surroundings: Surroundings,
        settings: PlanSettings,
    ) -> Plan<'a> {
        let (suspects, victims) = suspects::tell_apart(topology, reported, surroundings, &settings);
        let mut decided = decide::decide(topology, &suspects, &settings);
        decided.links.extend(victims.into_iter().map(|victim| (victim.link, PlannedLink::from(victim))));
        Plan {
            clean: decide::clean_network(topology, &settings),
            before: decide::reported_network(topology, &suspects, &settings),
            after: decided.network,
            carried_out: decided.carried_out,
            links: decided.links,
            obstacles: decided.obstacles,
            proven: decided.proven,
            gap: decided.gap,
            topology,
            settings,
            suspects,
            repairs: OnceCell::new(),
        }
    }

    /// The topology that was planned for.
    pub fn topology(&self) -> &'a Topology {
        self.topology
    }

    /// The constraints and the objective of the plan.
    pub fn settings(&self) -> &PlanSettings {
        &self.settings
    }

    /// What to do about each link, in ascending order of links.
    pub fn links(&self) -> impl Iterator<Item = &PlannedLink> {
        self.links.values()
    }

    /// What to do about each link, in the order in which an operator reads it: by action, then by descending loss rate.
    pub fn by_urgency(&self) -> Vec<&PlannedLink> {
        let rank = |link: &PlannedLink| match link.action {
            Action::Disable => 0,
            Action::Protect(_) => 1,
            Action::Leave(_) => 2,
            Action::KeepDisabled => 3,
            Action::Watch => 4,
            Action::Downstream(_) => 5,
        };
        let mut links: Vec<&PlannedLink> = self.links.values().collect();
        links.sort_by(|one, other| {
            let loss = |link: &PlannedLink| link.loss_rate.unwrap_or(0.0);
            rank(one)
                .cmp(&rank(other))
                .then(loss(other).total_cmp(&loss(one)))
                .then(one.link.cmp(&other.link))
        });
        links
    }

    /// What to do about one link, if it was reported.
    pub fn link(&self, link: LinkId) -> Option<&PlannedLink> {
        self.links.get(&link)
    }

    /// Whether it is proven that no better choice exists. False if a search was cut short, and if limits of protection
    /// were reached, because loss rates then determine which links are protected.
    pub fn is_proven(&self) -> bool {
        self.proven
    }

    /// By how much a better choice could lower the objective, at most: 0 if it is proven that none exists. `None` if limits of protection
    /// were reached.
    pub fn gap(&self) -> Option<Gap> {
        let objective: f64 = self.topology.zones().map(|zone| self.objective_of(zone)).sum();
        let share = |gap: f64| if gap > 0.0 { (gap / objective).min(1.0) } else { 0.0 };
        self.gap.map(|gap| Gap { objective: gap, share: share(gap) })
    }

    fn objective_of(&self, zone: ZoneId) -> f64 {
        as_number(objective_of_zone(&self.after, zone, self.settings.objective))
    }

    /// The network as it was reported, without protection.
    pub fn totals_before(&self) -> Totals {
        self.totals(&self.before)
    }

    /// The network after the plan.
    pub fn totals_after(&self) -> Totals {
        self.totals(&self.after)
    }

    fn totals(&self, network: &Network) -> Totals {
        let mut totals = Totals {
            penalty: 0.0,
            effective_penalty: 0.0,
            disabled: 0,
            protected: 0,
            short_tors: 0,
            parted_pairs: network.parted_pairs(),
        };
        for planned in self.links.values() {
            if network.is_disabled(planned.link) {
                totals.disabled += 1;
                continue;
            }
            if matches!(planned.action, Action::Downstream(_)) {
                continue;
            }
            let loss_rate = planned.loss_rate.unwrap_or(0.0);
            totals.penalty += loss_rate;
            let corrupting = network.corrupting(planned.link);
            totals.effective_penalty += corrupting.map_or(loss_rate, |link| link.effective_loss_rate);
            totals.protected += u64::from(corrupting.is_some_and(|link| link.protected));
        }
        totals.short_tors = self.topology.tors().iter().filter(|tor| network.is_short(**tor)).count() as u64;
        totals
    }

    /// The number of protected links on the pipe that has the most of them after the plan.
    pub fn max_protected_per_pipe(&self) -> u64 {
        self.after.metrics().max_protected_links_per_pipe
    }
}

/// The value of the objective in a zone, in steps of 2^-94.
fn objective_of_zone(network: &Network, zone: ZoneId, objective: Objective) -> i128 {
    network.corrupting_in(zone).iter().map(|&link| objective_of(network, link, objective)).sum()
}

/// What a link adds to the objective, in steps of 2^-94; 0 unless it corrupts and is in operation.
fn objective_of(network: &Network, link: LinkId, objective: Objective) -> i128 {
    let capacity = network.topology().capacity(link);
    network.corrupting(link).map_or(0, |corrupting| objective.weight(corrupting, capacity))
}

/// Converts steps of 2^-94 to a floating-point number.
fn as_number(steps: i128) -> f64 {
    exact_sum::value(steps)
}

/// Where corrupted frames come from, for people.
pub fn culprit_name(topology: &Topology, culprit: Culprit) -> String {
    match culprit {
        Culprit::Link(link) | Culprit::Unjudged(link) => topology.label(link),
        Culprit::Outside(switch) => format!("a host's link of {}", topology.names().switch(switch)),
    }
}
