//! Paths and metrics after every change, against walks over random layered networks.

mod graphs;

use graphs::{cases, links, needs::capacity, topologies, walk, zones};
use linkmend_fleet::Constraint;
use linkmend_fleet::network::{Metrics, Network};
use linkmend_topology::paths::Paths;
use linkmend_topology::speeds::speed_weights;
use linkmend_topology::{LinkId, SwitchId, Topology, ZoneId, fat_tree};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn path_counts_that_follow_every_change_equal_walks(
        topology in topologies(),
        changes in prop::collection::vec(any::<u32>(), 1..40),
    ) {
        let mut paths = Paths::new(&topology);
        let mut reported: BTreeMap<SwitchId, u64> =
            topology.tors().iter().map(|tor| (*tor, paths.count(*tor))).collect();
        for change in changes {
            let link = LinkId(change % topology.link_count() as u32);
            let mut follow = |tor: SwitchId, before: u64, after: u64| {
                assert_eq!(reported.insert(tor, after), Some(before), "changes are reported in one chain");
                assert_ne!(before, after);
            };
            if paths.is_active(link) {
                paths.remove(&topology, link, &mut follow);
            } else {
                paths.add(&topology, link, &mut follow);
            }
            let active: Vec<bool> = links(&topology).map(|link| paths.is_active(link)).collect();
            let afresh = Paths::with_active(&topology, active.clone());
            for switch in topology.switches() {
                let walked = walk(&topology, switch, &|link| active[link.index()]);
                prop_assert_eq!(paths.count(switch), walked);
                prop_assert_eq!(afresh.count(switch), walked);
            }
            for (tor, count) in &reported {
                prop_assert_eq!(*count, paths.count(*tor));
            }
        }
    }

    #[test]
    fn shares_of_capacity_that_follow_every_change_equal_walks(
        topology in topologies(),
        changes in prop::collection::vec(any::<u32>(), 1..40),
    ) {
        let weights = speed_weights(&topology);
        prop_assert!(weights.as_ref().is_none_or(|weights| weights.are_exact));
        let of = weights.map_or_else(|| vec![1; topology.link_count()], |weights| weights.of);
        let whole = Paths::weighted(&topology, of.clone());
        let mut counts = whole.clone();
        for change in changes {
            let link = LinkId(change % topology.link_count() as u32);
            if counts.is_active(link) {
                counts.remove(&topology, link, &mut |_, _, _| {});
            } else {
                counts.add(&topology, link, &mut |_, _, _| {});
            }
            for &tor in topology.tors() {
                let (left, all) = capacity(&topology, tor, &|link| counts.is_active(link));
                prop_assert_eq!(u128::from(counts.count(tor)) * all, u128::from(whole.count(tor)) * left);
            }
        }
    }

    #[test]
    fn zones_are_what_is_connected_below_the_top(topology in topologies()) {
        let top = topology.layer_count() as u8 - 1;
        let mut found: BTreeMap<u32, BTreeSet<SwitchId>> = BTreeMap::new();
        for switch in topology.switches() {
            match topology.switch(switch).zone {
                Some(zone) => { found.entry(zone.0).or_default().insert(switch); }
                None => prop_assert_eq!(topology.switch(switch).layer, top),
            }
        }
        let mut seen = BTreeSet::new();
        let mut number = 0;
        for switch in topology.switches().filter(|switch| topology.switch(*switch).layer < top) {
            if seen.contains(&switch) {
                continue;
            }
            let part = connected(&topology, switch, top);
            prop_assert_eq!(&found[&number], &part);
            seen.extend(part);
            number += 1;
        }
        let is_top_peer = |link: &LinkId| {
            topology.is_peer(*link) && topology.switch(topology.link(*link).upper).layer == top
        };
        number += u32::from(links(&topology).any(|link| is_top_peer(&link)));
        prop_assert_eq!(topology.zone_count(), number as usize);
    }

    #[test]
    fn metrics_that_follow_every_change_equal_those_of_a_walk(
        topology in topologies(),
        constraint in 0.0_f64..1.0,
        changes in prop::collection::vec((any::<u32>(), 0..4_u8, 1..1000_u32), 1..40),
    ) {
        let mut network = Network::new(&topology, Constraint::paper(constraint), 1e-18);
        let mut naive = Naive { topology: &topology, links: links(&topology).map(|link| Now::clean(&topology, link)).collect() };
        for (link, what, amount) in changes {
            let link = LinkId(link % topology.link_count() as u32);
            change(&mut network, &mut naive, link, what, amount);
            naive.check(&network)?;
        }
    }
}

/// A change to a link. Which changes are possible depends on the link.
fn change(network: &mut Network, naive: &mut Naive, link: LinkId, what: u8, amount: u32) {
    let topology = naive.topology;
    let now = &mut naive.links[link.index()];
    let loss_rate = f64::from(amount) / 2_f64.powi(20);
    if !now.active {
        network.enable(link);
        *now = Now::clean(topology, link);
    } else if what == 0 && now.corrupting {
        network.disable(link);
        *now = Now { active: false, ..Now::clean(topology, link) };
    } else if what == 1 && now.corrupting {
        let capacity = topology.capacity(link) / 1000 * u64::from(amount);
        network.protect(link, loss_rate / 1024.0, capacity);
        *now = Now { effective: loss_rate / 1024.0, capacity, protected: true, ..*now };
    } else {
        network.corrupt(link, loss_rate);
        let effective = if now.protected { now.effective } else { loss_rate };
        *now = Now { corrupting: true, loss_rate, effective, ..*now };
    }
}

fn connected(topology: &Topology, from: SwitchId, top: u8) -> BTreeSet<SwitchId> {
    let mut part = BTreeSet::from([from]);
    loop {
        let before = part.len();
        for link in links(topology) {
            let ends = topology.link(link);
            if !topology.is_peer(link)
                && topology.switch(ends.upper).layer < top
                && (part.contains(&ends.lower) || part.contains(&ends.upper))
            {
                part.extend([ends.lower, ends.upper]);
            }
        }
        if part.len() == before {
            return part;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Now {
    active: bool,
    corrupting: bool,
    protected: bool,
    loss_rate: f64,
    effective: f64,
    capacity: u64,
}

impl Now {
    fn clean(topology: &Topology, link: LinkId) -> Now {
        Now {
            active: true,
            corrupting: false,
            protected: false,
            loss_rate: 1e-18,
            effective: 1e-18,
            capacity: topology.capacity(link),
        }
    }
}

struct Naive<'a> {
    topology: &'a Topology,
    links: Vec<Now>,
}

impl Naive<'_> {
    /// The least capacity between two layers of a zone.
    fn zone_gbps(&self, zone: ZoneId) -> f64 {
        let across = |gap: u8| {
            let of_zone = links(self.topology).filter(|link| self.topology.zone_of(*link) == zone);
            let crosses = |link: &LinkId| {
                let upper = self.topology.switch(self.topology.link(*link).upper).layer;
                self.topology.layer_of(*link) <= gap && gap < upper
            };
            let active =
                of_zone.filter(crosses).map(|link| self.links[link.index()]).filter(|now| now.active);
            active.map(|now| now.capacity).sum::<u64>()
        };
        (0..self.topology.layer_count() as u8 - 1).map(across).min().unwrap_or(0) as f64 / 1e9
    }

    /// Zones with ToRs.
    fn pods(&self) -> BTreeSet<ZoneId> {
        self.topology.tors().iter().filter_map(|tor| self.topology.switch(*tor).zone).collect()
    }

    fn protected_per_pipe(&self) -> BTreeMap<(SwitchId, u32), u64> {
        let mut pipes = BTreeMap::new();
        for link in links(self.topology).filter(|link| self.links[link.index()].protected) {
            let ends = self.topology.link(link);
            for switch in [ends.lower, ends.upper] {
                let ports = links(self.topology).filter(|other| {
                    let other = self.topology.link(*other);
                    other.lower == switch || other.upper == switch
                });
                let port = ports.take_while(|other| *other != link).count() as u32;
                *pipes.entry((switch, port % self.topology.switch(switch).pipes)).or_insert(0) += 1;
            }
        }
        pipes
    }

    fn metrics(&self) -> Metrics {
        let active = || self.links.iter().filter(|now| now.active);
        let is_active = |link: LinkId| self.links[link.index()].active;
        let paths: Vec<u64> =
            self.topology.tors().iter().map(|tor| walk(self.topology, *tor, &is_active)).collect();
        let gbps: Vec<f64> = self.pods().into_iter().map(|zone| self.zone_gbps(zone)).collect();
        Metrics {
            total_penalty: active().map(|now| now.loss_rate).sum(),
            total_effective_penalty: active().map(|now| now.effective).sum(),
            avg_paths_per_tor: paths.iter().sum::<u64>() as f64 / paths.len() as f64,
            min_paths_per_tor: paths.into_iter().min().unwrap_or(0),
            avg_pod_capacity_gbps: gbps.iter().sum::<f64>() / gbps.len() as f64,
            min_pod_capacity_gbps: gbps.into_iter().fold(f64::INFINITY, f64::min),
            max_loss_rate: active().map(|now| now.loss_rate).fold(1e-18, f64::max),
            disabled_links: self.links.iter().filter(|now| !now.active).count() as u64,
            corrupting_links: active().filter(|now| now.corrupting).count() as u64,
            max_protected_links_per_pipe: self.protected_per_pipe().into_values().max().unwrap_or(0),
        }
    }

    fn check(&self, network: &Network) -> Result<(), TestCaseError> {
        let (ours, theirs) = (network.metrics(), self.metrics());
        for ((ours, theirs), name) in ours.values().into_iter().zip(theirs.values()).zip(Metrics::names()) {
            prop_assert!((ours - theirs).abs() <= 1e-24 + 1e-12 * theirs, "{name}: {ours}, not {theirs}");
        }
        for link in links(self.topology) {
            let now = self.links[link.index()];
            prop_assert_eq!(network.is_disabled(link), !now.active);
            prop_assert_eq!(network.paths().is_active(link), now.active);
            let entry = network.corrupting(link).map(|entry| {
                (entry.link, entry.loss_rate, entry.effective_loss_rate, entry.capacity, entry.protected)
            });
            let corrupts = now.active && now.corrupting;
            let expected = (link, now.loss_rate, now.effective, now.capacity, now.protected);
            prop_assert_eq!(entry, corrupts.then_some(expected));
        }
        for zone in zones(self.topology) {
            prop_assert!((network.zone_capacity(zone) as f64 / 1e9 - self.zone_gbps(zone)).abs() < 1e-6);
            let corrupts = |link: &LinkId| network.corrupting(*link).is_some();
            let expected: BTreeSet<LinkId> = links(self.topology)
                .filter(|link| self.topology.zone_of(*link) == zone && corrupts(link))
                .collect();
            let listed = network.corrupting_in(zone);
            prop_assert_eq!(listed.len(), expected.len());
            prop_assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), expected);
        }
        Ok(())
    }
}

/// As in the authors' simulator, a pipe has sixteen ports, and a fat tree's ToR has as many ports as any other switch.
#[test]
fn switches_of_a_fat_tree_have_a_pipe_for_every_sixteen_ports() {
    for (k, pipes) in [(4, 1), (16, 1), (18, 2), (34, 3)] {
        let topology = fat_tree(k, 100_000_000_000).expect("in range");
        let all = (0..topology.switch_count() as u32).map(SwitchId);
        assert!(all.map(|switch| topology.switch(switch).pipes).all(|found| found == pipes), "k = {k}");
    }
}
