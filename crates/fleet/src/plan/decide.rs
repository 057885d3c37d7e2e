//! Which links to disable and which to protect.

use super::suspects::Suspect;
use super::{Action, PlanSettings, PlannedLink, Protection, ProtectionObstacle, as_number, objective_of};
use crate::network::{CLEAN_LOSS_RATE, Network};
use crate::optimizer::{self, Decision};
use crate::repair::take_down;
use linkmend_topology::{LinkId, SwitchId, Topology, ZoneId};
use std::collections::{BTreeMap, BTreeSet};

/// How often to decide again because limits kept links from being protected. Each round excludes at least one link from
/// protection, and few links share a pipe, so two or three rounds are usual.
const MAX_ROUNDS: u32 = 32;

/// Links that cannot be protected, with the reason.
pub(super) type ProtectionObstacles = BTreeMap<LinkId, ProtectionObstacle>;

pub(super) struct Decided<'a> {
    /// The network after the plan, with capacities as [`protected_network`] prices them.
    pub network: Network<'a>,
    /// The same network with the capacities that links really have.
    pub carried_out: Network<'a>,
    pub links: BTreeMap<LinkId, PlannedLink>,
    /// The links that the optimizer assumed to be impossible to protect.
    pub obstacles: ProtectionObstacles,
    pub proven: bool,
    /// By how much the objective could fall by a better choice, at most; `None` if that is not known.
    pub gap: Option<f64>,
}

/// Decides what to disable as if every corrupting link could be protected. Where limits then forbid protection, it
/// decides again with those links unprotected.
pub(super) fn decide<'a>(
    topology: &'a Topology,
    reported: &[Suspect],
    settings: &PlanSettings,
) -> Decided<'a> {
    let mut obstacles = not_upgraded(topology, reported, settings);
    let mut limited = false;
    for _ in 0..MAX_ROUNDS {
        let weights = protected_network(topology, reported, settings, &obstacles);
        let mut network = weights.clone();
        let choice = disable_best(&mut network, reported, settings);
        let over = over_limits(&network, settings);
        if over.is_empty() {
            let proven = choice.proven && !limited;
            let gap = choice.gap().filter(|_| !limited);
            let decided = carry_out(&weights, &choice.disable, reported, settings, obstacles);
            return Decided { proven, gap, ..decided };
        }
        limited = true;
        obstacles.extend(over);
    }
    // After the last round the choice is kept, and links over the limits go without protection.
    let weights = protected_network(topology, reported, settings, &obstacles);
    let choice = disable_best(&mut weights.clone(), reported, settings);
    carry_out(&weights, &choice.disable, reported, settings, obstacles)
}

/// Disables these links and protects as many of the others as the limits allow, those with the highest loss first.
/// Returns the network and the action for each link, without any proof. `weights` is the network for which the optimizer decided, and
/// `assumed` are the links that it assumed to be impossible to protect.
fn carry_out<'a>(
    weights: &Network<'a>,
    disable: &[LinkId],
    reported: &[Suspect],
    settings: &PlanSettings,
    assumed: ProtectionObstacles,
) -> Decided<'a> {
    let topology = weights.topology();
    let mut obstacles = not_upgraded(topology, reported, settings);
    let mut network = protected_network(topology, reported, settings, &obstacles);
    disable.iter().for_each(|&link| network.disable(link));
    let over = over_limits(&network, settings);
    if !over.is_empty() {
        obstacles.extend(over);
        network = protected_network(topology, reported, settings, &obstacles);
        disable.iter().for_each(|&link| network.disable(link));
    }
    let planned = |reported: &Suspect| {
        let action = action(&network, reported, settings, &obstacles);
        let counted = if matches!(action, Action::Disable) { weights } else { &network };
        let objective_value = as_number(objective_of(counted, reported.link, settings.objective));
        (
            reported.link,
            PlannedLink {
                link: reported.link,
                loss_rate: reported.loss_rate,
                action,
                objective_value,
                upstream: reported.doubt,
            },
        )
    };
    let links = reported.iter().map(planned).collect();
    let mut carried_out = protect(topology, reported, settings, &obstacles, |protection| protection.capacity);
    disable.iter().for_each(|&link| carried_out.disable(link));
    Decided { network, carried_out, links, obstacles: assumed, proven: false, gap: None }
}

/// The action that was taken for a link in a network.
fn action(
    network: &Network,
    reported: &Suspect,
    settings: &PlanSettings,
    obstacles: &ProtectionObstacles,
) -> Action {
    if reported.disabled {
        return Action::KeepDisabled;
    }
    let Some(loss_rate) = corrupts(reported, settings) else { return Action::Watch };
    if network.is_disabled(reported.link) {
        return Action::Disable;
    }
    match obstacles.get(&reported.link) {
        Some(&obstacle) => Action::Leave(obstacle),
        None => Action::Protect(Protection::choose(loss_rate, settings)),
    }
}

/// Asks the optimizer about all zones that have corrupting links, and disables what it chooses.
pub(super) fn disable_best(network: &mut Network, reported: &[Suspect], settings: &PlanSettings) -> Decision {
    let topology = network.topology();
    let zones: BTreeSet<ZoneId> = reported.iter().map(|reported| topology.zone_of(reported.link)).collect();
    let zones: Vec<ZoneId> = zones.into_iter().collect();
    let choice = optimizer::exact_together(network, &zones, settings.objective);
    choice.disable.iter().for_each(|&link| network.disable(link));
    choice
}

/// The network with all links in operation and clean.
pub(super) fn clean_network<'a>(topology: &'a Topology, settings: &PlanSettings) -> Network<'a> {
    Network::new(topology, settings.constraint, CLEAN_LOSS_RATE)
}

/// The network with the reported links as they are today.
pub(super) fn reported_network<'a>(
    topology: &'a Topology,
    reported: &[Suspect],
    settings: &PlanSettings,
) -> Network<'a> {
    let mut network = clean_network(topology, settings);
    for reported in reported {
        if reported.disabled {
            take_down(&mut network, reported.link);
        } else if let Some(loss_rate) = corrupts(reported, settings) {
            network.corrupt(reported.link, loss_rate);
        }
        if reported.doubt.is_some() {
            network.hold(reported.link);
        }
    }
    network
}

/// The network with the reported links as they are today, and protected wherever that is possible. The objective prices
/// protection at the capacity that ordered mode leaves. Non-blocking mode leaves more, but gives up order; if that were
/// free, a link that loses one frame in fifty would look better than one that loses one in a thousand.
pub(super) fn protected_network<'a>(
    topology: &'a Topology,
    reported: &[Suspect],
    settings: &PlanSettings,
    obstacles: &ProtectionObstacles,
) -> Network<'a> {
    protect(topology, reported, settings, obstacles, |protection| protection.ordered_capacity)
}

fn protect<'a>(
    topology: &'a Topology,
    reported: &[Suspect],
    settings: &PlanSettings,
    obstacles: &ProtectionObstacles,
    capacity: impl Fn(&Protection) -> f64,
) -> Network<'a> {
    let mut network = reported_network(topology, reported, settings);
    for reported in reported.iter().filter(|reported| !obstacles.contains_key(&reported.link)) {
        let Some(loss_rate) = corrupts(reported, settings) else { continue };
        let protection = Protection::choose(loss_rate, settings);
        let capacity = (topology.capacity(reported.link) as f64 * capacity(&protection)).round() as u64;
        network.protect(reported.link, protection.effective_loss_rate, capacity);
    }
    network
}

/// The loss rate of a link, if it is in operation and loses more than the target.
fn corrupts(reported: &Suspect, settings: &PlanSettings) -> Option<f64> {
    reported.loss_rate.filter(|&loss_rate| !reported.disabled && loss_rate > settings.target_loss)
}

fn not_upgraded(topology: &Topology, reported: &[Suspect], settings: &PlanSettings) -> ProtectionObstacles {
    reported
        .iter()
        .filter(|reported| !settings.deployment.covers(topology, reported.link))
        .map(|reported| (reported.link, ProtectionObstacle::NotUpgraded))
        .collect()
}

/// Links whose protection exceeds the limit of a pipe or switch. Those with the highest loss are protected first.
fn over_limits(network: &Network, settings: &PlanSettings) -> ProtectionObstacles {
    let limits = settings.limits;
    if limits.per_pipe.is_none() && limits.per_switch.is_none() {
        return ProtectionObstacles::new();
    }
    let topology = network.topology();
    let mut links: Vec<(f64, LinkId)> = (0..topology.zone_count() as u32)
        .flat_map(|zone| network.corrupting_in(ZoneId(zone)))
        .filter_map(|&link| network.corrupting(link))
        .filter(|link| link.protected)
        .map(|link| (link.loss_rate, link.link))
        .collect();
    links.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let mut on_pipe: BTreeMap<(SwitchId, u32), u32> = BTreeMap::new();
    let mut on_switch: BTreeMap<SwitchId, u32> = BTreeMap::new();
    let mut over = ProtectionObstacles::new();
    for (_, link) in links {
        let pipes = topology.pipes_of(link);
        let full = pipes.iter().find_map(|&(switch, pipe)| {
            let on_pipe = on_pipe.get(&(switch, pipe)).copied().unwrap_or(0);
            let on_switch = on_switch.get(&switch).copied().unwrap_or(0);
            let pipe_full = limits.per_pipe.filter(|&limit| on_pipe >= limit);
            let switch_full = limits.per_switch.filter(|&limit| on_switch >= limit);
            pipe_full
                .map(|limit| ProtectionObstacle::PipeFull { switch, limit })
                .or(switch_full.map(|limit| ProtectionObstacle::SwitchFull { switch, limit }))
        });
        if let Some(obstacle) = full {
            over.insert(link, obstacle);
            continue;
        }
        for (switch, pipe) in pipes {
            *on_pipe.entry((switch, pipe)).or_insert(0) += 1;
            *on_switch.entry(switch).or_insert(0) += 1;
        }
    }
    over
}
