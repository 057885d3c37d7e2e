//! The optimizers against all subsets of a zone's corrupting links, on random layered networks.

mod graphs;

use graphs::uneven::{loss_rates, uneven};
use graphs::{cases, links, needs::keeps, topologies, walk, zones};
use linkmend_fleet::Constraint;
use linkmend_fleet::network::Network;
use linkmend_fleet::optimizer::{Decision, Effort, Objective, exact, exact_together, exact_within, greedy};
use linkmend_topology::{LinkId, Topology, ZoneId};
use proptest::prelude::*;

/// Corrupting links of a whole network: all subsets of them are tried.
const MOST_CORRUPTING: usize = 11;

fn is_short(network: &Network) -> bool {
    let is_active = |link: LinkId| !network.is_disabled(link);
    let topology = network.topology();
    topology
        .tors()
        .iter()
        .any(|tor| network.is_short(*tor) || walk(topology, *tor, &is_active) < network.required(*tor))
}

/// What has disabled the disabled links of a network.
#[derive(Clone, Copy, PartialEq)]
enum Disabled {
    /// The fast checker.
    Checked,
    /// Failures as well, which do not respect any ToR's paths.
    Failed,
}

/// A network in which some links corrupt, protected or not, and others are disabled.
fn troubled<'a>(
    topology: &'a Topology,
    constraint: Constraint,
    troubles: &[(u32, u32, u8)],
    disabled: Disabled,
) -> Network<'a> {
    // Computed on first use, which would look like a change of the network.
    topology.installed();
    let mut network = Network::new(topology, constraint, 1e-18);
    for &(link, amount, what) in troubles {
        let link = LinkId(link % topology.link_count() as u32);
        if network.is_disabled(link) {
            continue;
        }
        if network.corrupting(link).is_none()
            && links(topology).filter(|&link| network.corrupting(link).is_some()).count() == MOST_CORRUPTING
        {
            continue;
        }
        // Multiples of 2^-20 add up exactly, and often tie.
        network.corrupt(link, f64::from(amount) / 2_f64.powi(20));
        if what % 3 == 1 {
            let capacity = topology.capacity(link) / 16 * (16 - u64::from(what % 16));
            network.protect(link, f64::from(amount % 7) / 2_f64.powi(40), capacity);
        }
        let failed = disabled == Disabled::Failed && what % 8 < 3;
        if failed || what % 4 == 0 && network.may_disable(link) {
            network.disable(link);
        }
    }
    network
}

fn objective_value(network: &Network, link: LinkId, objective: Objective) -> f64 {
    let full = network.topology().capacity(link);
    let link = network.corrupting(link).expect("the link corrupts");
    match objective {
        Objective::Penalty => link.loss_rate,
        Objective::Effective { capacity_weight } => {
            let lost = (full - link.capacity) as f64 / full as f64;
            link.effective_loss_rate + capacity_weight * lost
        }
    }
}

/// The greatest weight of a set of links that may be disabled together.
fn brute_force(network: &Network, constraint: Constraint, links: &[LinkId], objective: Objective) -> f64 {
    let mut most = 0.0_f64;
    for set in 0_u32..1 << links.len() {
        let members =
            links.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1).map(|(_, link)| *link);
        let members: Vec<LinkId> = members.collect();
        let benefit = members.iter().map(|&link| objective_value(network, link, objective)).sum::<f64>();
        if benefit > most && keeps(network, constraint, &members) {
            most = benefit;
        }
    }
    most
}

/// The fast checker over all links, the worst first.
fn naive_greedy(
    network: &Network,
    constraint: Constraint,
    links: &[LinkId],
    objective: Objective,
) -> Vec<LinkId> {
    let mut worst_first = links.to_vec();
    worst_first.sort_by(|&one, &other| {
        let objective_value = |link| objective_value(network, link, objective);
        objective_value(other).total_cmp(&objective_value(one)).then(one.cmp(&other))
    });
    let mut taken = Vec::new();
    for link in worst_first {
        taken.push(link);
        if !keeps(network, constraint, &taken) {
            taken.pop();
        }
    }
    taken.sort_unstable();
    taken
}

fn check(
    network: &mut Network,
    constraint: Constraint,
    zone: ZoneId,
    objective: Objective,
) -> Result<(), TestCaseError> {
    let before = format!("{network:?}");
    let best = exact(network, zone, objective);
    prop_assert!(best.proven);
    let fast = greedy(network, zone, objective);
    prop_assert_eq!(before, format!("{network:?}"), "an optimizer changed the network");
    let corrupting = network.corrupting_in(zone).to_vec();
    let benefit =
        |links: &[LinkId]| links.iter().map(|&link| objective_value(network, link, objective)).sum::<f64>();
    for decision in [&best, &fast] {
        prop_assert!(decision.disable.is_sorted_by(|one, other| one < other));
        prop_assert!(decision.disable.iter().all(|link| corrupting.contains(link)));
        prop_assert!(keeps(network, constraint, &decision.disable));
        for &link in corrupting.iter().filter(|link| !decision.disable.contains(link)) {
            let mut one_more = decision.disable.clone();
            one_more.push(link);
            prop_assert!(!keeps(network, constraint, &one_more), "{link:?} could be disabled as well");
        }
    }
    prop_assert_eq!(benefit(&best.disable), brute_force(network, constraint, &corrupting, objective));
    prop_assert!(benefit(&best.disable) >= benefit(&fast.disable));
    prop_assert_eq!(&fast.disable, &naive_greedy(network, constraint, &corrupting, objective));
    Ok(())
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn the_exact_optimizer_equals_brute_force(
        topology in topologies(),
        constraint in constraints(),
        troubles in prop::collection::vec((any::<u32>(), 1..64_u32, any::<u8>()), 1..24),
    ) {
        let mut network = troubled(&topology, constraint, &troubles, Disabled::Checked);
        prop_assert!(!is_short(&network));
        for zone in zones(&topology) {
            check(&mut network, constraint, zone, Objective::Penalty)?;
            check(&mut network, constraint, zone, Objective::Effective { capacity_weight: 1.0 / 1024.0 })?;
            check(&mut network, constraint, zone, Objective::Effective { capacity_weight: 0.0 })?;
        }
    }

    #[test]
    fn the_fast_checker_equals_a_walk(
        topology in topologies(),
        constraint in constraints(),
        troubles in prop::collection::vec((any::<u32>(), 1..64_u32, any::<u8>()), 1..24),
    ) {
        let mut network = troubled(&topology, constraint, &troubles, Disabled::Checked);
        for link in links(&topology).filter(|&link| !network.is_disabled(link)).collect::<Vec<_>>() {
            prop_assert_eq!(network.may_disable(link), keeps(&network, constraint, &[link]));
        }
    }

    /// A link that no path leads through costs no ToR anything, whether it has one uplink or several of the same kind,
    /// and whether it has too few paths or not. Any other link costs a ToR with too few paths too much.
    #[test]
    fn where_tors_are_short_already_exactly_links_without_paths_are_free(
        topology in topologies(),
        constraint in constraints(),
        troubles in prop::collection::vec((any::<u32>(), 1..64_u32, any::<u8>()), 1..24),
    ) {
        let mut network = troubled(&topology, constraint, &troubles, Disabled::Failed);
        for link in links(&topology).filter(|&link| !network.is_disabled(link)).collect::<Vec<_>>() {
            prop_assert_eq!(network.may_disable(link), keeps(&network, constraint, &[link]), "{:?}", link);
        }
        for zone in zones(&topology) {
            check(&mut network, constraint, zone, Objective::Penalty)?;
            check(&mut network, constraint, zone, Objective::Effective { capacity_weight: 1.0 / 1024.0 })?;
        }
    }

    /// Pairs of ToRs of different zones must meet, so all zones are decided about together. Then nothing more can be disabled
    /// anywhere.
    #[test]
    fn all_zones_together_equal_brute_force(
        topology in topologies(),
        constraint in constraints(),
        troubles in prop::collection::vec((any::<u32>(), 1..64_u32, any::<u8>()), 1..24),
        failed in any::<bool>(),
    ) {
        let disabled = if failed { Disabled::Failed } else { Disabled::Checked };
        let mut network = troubled(&topology, constraint, &troubles, disabled);
        let before = format!("{network:?}");
        let all: Vec<LinkId> = links(&topology).filter(|&link| network.corrupting(link).is_some()).collect();
        let most = brute_force(&network, constraint, &all, Objective::Penalty);
        let zones: Vec<ZoneId> = zones(&topology).collect();
        let decision = exact_together(&mut network, &zones, Objective::Penalty);
        prop_assert_eq!(before, format!("{network:?}"), "the optimizer changed the network");
        prop_assert!(decision.proven);
        let benefit: f64 =
            decision.disable.iter().map(|&link| objective_value(&network, link, Objective::Penalty)).sum();
        prop_assert_eq!(benefit, most);
        prop_assert!(keeps(&network, constraint, &decision.disable));
    }

    /// Without pairs, zones are independent: optimising each alone is the same as optimising all together.
    #[test]
    fn zone_by_zone_is_as_good_as_all_at_once(
        topology in topologies(),
        share in 0.0_f64..1.0,
        troubles in prop::collection::vec((any::<u32>(), 1..64_u32, any::<u8>()), 1..24),
    ) {
        let constraint = Constraint::paper(share);
        let mut network = troubled(&topology, constraint, &troubles, Disabled::Checked);
        let all: Vec<LinkId> = links(&topology).filter(|&link| network.corrupting(link).is_some()).collect();
        let most = brute_force(&network, constraint, &all, Objective::Penalty);
        let mut benefit = 0.0;
        for zone in zones(&topology) {
            for link in exact(&mut network, zone, Objective::Penalty).disable {
                benefit += objective_value(&network, link, Objective::Penalty);
                network.disable(link);
            }
        }
        prop_assert_eq!(benefit, most);
        prop_assert!(!is_short(&network));
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    /// However little a search may do, its choice keeps what must be kept, and none is better by more than the gap.
    #[test]
    fn a_search_that_is_cut_short_bounds_what_it_missed(
        topology in topologies(),
        constraint in constraints(),
        troubles in prop::collection::vec((any::<u32>(), 1..64_u32, any::<u8>()), 1..24),
        branching in prop_oneof![Just(0), 0..40_u64],
        going_on in prop_oneof![Just(0), 0..100_u64, Just(20_000)],
    ) {
        let mut network = troubled(&topology, constraint, &troubles, Disabled::Checked);
        let before = format!("{network:?}");
        let all: Vec<LinkId> = links(&topology).filter(|&link| network.corrupting(link).is_some()).collect();
        let zones: Vec<ZoneId> = zones(&topology).collect();
        for objective in [Objective::Penalty, Objective::Effective { capacity_weight: 1.0 / 1024.0 }] {
            let most = brute_force(&network, constraint, &all, objective);
            let decision = exact_within(&mut network, &zones, objective, Effort { branching, going_on });
            prop_assert_eq!(&before, &format!("{network:?}"), "the optimizer changed the network");
            prop_assert!(keeps(&network, constraint, &decision.disable));
            let benefit: f64 =
                decision.disable.iter().map(|&link| objective_value(&network, link, objective)).sum();
            let gap = decision.gap().expect("the exact optimizer knows the gap");
            prop_assert!(benefit <= most && most <= benefit + gap + 1e-15, "{benefit} + {gap}, {most}");
            prop_assert_eq!(decision.proven, gap == 0.0);
            prop_assert!(!decision.proven || benefit == most);
        }
    }
}

/// The decision about an uneven network all of whose links corrupt, and the loss that stays.
fn decide_uneven(number: u64, constraint: Constraint, effort: Effort) -> (Decision, f64) {
    let topology = uneven(number);
    let mut network = Network::new(&topology, constraint, 1e-18);
    let rates = loss_rates(&topology, number);
    for (link, rate) in links(&topology).zip(&rates) {
        network.corrupt(link, *rate);
    }
    let zones: Vec<ZoneId> = zones(&topology).collect();
    let decision = exact_within(&mut network, &zones, Objective::Penalty, effort);
    for &link in &decision.disable {
        assert!(network.may_disable(link), "{link:?}");
        network.disable(link);
    }
    let stays = links(&topology).filter_map(|link| network.corrupting(link)).map(|link| link.loss_rate).sum();
    (decision, stays)
}

#[test]
fn uneven_networks_of_three_layers_are_solved() {
    for (number, constraint) in [(10, Constraint::connected(0.75)), (8, Constraint::paper(0.5))] {
        assert!(decide_uneven(number, constraint, Effort::default()).0.proven);
    }
}

#[test]
fn more_effort_leaves_a_smaller_gap_in_uneven_networks() {
    let constraint = Constraint::paper(0.5);
    let little = Effort { branching: 100, going_on: 2_000 };
    let more = Effort { branching: 2_000, going_on: 600_000 };
    let (first, first_stays) = decide_uneven(1, constraint, little);
    let (then, stays) = decide_uneven(1, constraint, more);
    let gap = |decision: &Decision| decision.gap().expect("it is known");
    assert!(stays <= first_stays && gap(&then) < gap(&first), "{first_stays} {stays}");
    assert!(gap(&then) > 0.0 && gap(&then) < stays / 2.0, "{} of {stays}", gap(&then));
    // The same effort finds the same choice.
    assert_eq!(decide_uneven(1, constraint, more).0, then);
}

/// Shares of paths and of capacity, with and without pairs.
fn constraints() -> impl Strategy<Value = Constraint> {
    let share = || prop_oneof![Just(0.0), Just(0.5), Just(0.75), Just(1.0), 0.0_f64..1.0];
    prop_oneof![
        share().prop_map(Constraint::paper),
        share().prop_map(Constraint::connected),
        // Low shares part ToRs.
        (0.0_f64..0.5).prop_map(Constraint::connected),
        (share(), share(), any::<bool>()).prop_map(|(paths, capacity, connected)| Constraint {
            paths,
            capacity,
            connected
        }),
    ]
}
