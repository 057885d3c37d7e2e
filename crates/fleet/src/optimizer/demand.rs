//! What ToRs must still reach, so that no two of them lose each other.

use crate::network::Network;
use linkmend_topology::{Installed, LinkId, SwitchId, Topology, ZoneId};
use std::rc::Rc;

/// The ToRs that a demand is made of.
#[derive(Debug)]
pub(super) enum Who {
    Everyone,
    OfZone(ZoneId),
    /// In ascending order.
    These(Vec<SwitchId>),
}

/// Each of these ToRs must reach a switch of this set.
#[derive(Debug)]
pub(super) struct Demand {
    pub(super) who: Who,
    /// Which switches of the top layer are in the set.
    pub(super) tops: Box<[u64]>,
    /// Which switches of a zone are in it: the words behind those of the top layer.
    pub(super) inside: Option<(ZoneId, Box<[u64]>)>,
}

impl Demand {
    /// Whether it is made of a ToR.
    pub(super) fn is_of(&self, topology: &Topology, tor: SwitchId) -> bool {
        match &self.who {
            Who::Everyone => true,
            Who::OfZone(zone) => topology.switch(tor).zone == Some(*zone),
            Who::These(tors) => tors.binary_search(&tor).is_ok(),
        }
    }

    /// Whether what a ToR of a zone reaches meets it.
    pub(super) fn is_met(&self, zone: ZoneId, reached: &[u64]) -> bool {
        let any = |set: &[u64], reached: &[u64]| set.iter().zip(reached).any(|(one, other)| one & other != 0);
        let words = self.tops.len();
        let inside = self.inside.as_ref().filter(|(of, _)| *of == zone);
        any(&self.tops, &reached[..words]) || inside.is_some_and(|(_, set)| any(set, &reached[words..]))
    }

    fn contains(&self, topology: &Topology, installed: &Installed, switch: SwitchId) -> bool {
        let (zone, place) = (topology.switch(switch).zone, installed.place(switch));
        let in_set = |set: &[u64]| set.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1);
        match (zone, &self.inside) {
            (None, _) => in_set(&self.tops),
            (Some(zone), Some((of, set))) if zone == *of => in_set(set),
            (Some(_), _) => false,
        }
    }
}

/// Follows, for one demand, which switches of a zone reach its set.
struct Tracker {
    demand: Rc<Demand>,
    /// For each place of the zone: how many active links up lead to a switch that reaches the set or is in it.
    ways: Vec<u32>,
    is_in: Vec<bool>,
    is_asked: Vec<bool>,
}

impl Tracker {
    fn new(network: &Network, zone: ZoneId, demand: Rc<Demand>) -> Tracker {
        let topology = network.topology();
        let installed = topology.installed();
        let members = installed.switches_of(zone);
        // Bits of a set behind those of the switches above the ToRs have no meaning.
        let is_above = |switch: &SwitchId| topology.switch(*switch).layer > 0;
        let is_in = |switch: &SwitchId| is_above(switch) && demand.contains(topology, installed, *switch);
        let is_in = members.iter().map(is_in).collect();
        // A ToR without any link up reaches nobody, so nobody can lose it.
        let has_way = |tor: SwitchId| topology.up(tor).iter().any(|hop| network.paths().is_active(hop.link));
        let is_asked = |tor: &SwitchId| {
            topology.switch(*tor).layer == 0 && has_way(*tor) && demand.is_of(topology, *tor)
        };
        let is_asked = members.iter().map(is_asked).collect();
        let mut tracker = Tracker { ways: vec![0; members.len()], demand, is_in, is_asked };
        for (place, switch) in members.iter().enumerate() {
            let active = topology.up(*switch).iter().filter(|hop| network.paths().is_active(hop.link));
            tracker.ways[place] = active.filter(|hop| tracker.reaches(topology, hop.switch)).count() as u32;
        }
        tracker
    }

    /// Whether a switch reaches the set or is in it.
    fn reaches(&self, topology: &Topology, switch: SwitchId) -> bool {
        let installed = topology.installed();
        if topology.switch(switch).zone.is_none() {
            return self.demand.contains(topology, installed, switch);
        }
        let place = installed.place(switch);
        self.is_in[place] || self.ways[place] > 0
    }

    /// Follows a way up from a switch that is lost or, with `back`, regained. Returns how many of the ToRs that are asked
    /// begin or cease to reach the set.
    fn follow(&mut self, network: &Network, switch: SwitchId, back: bool) -> u32 {
        let topology = network.topology();
        let place = topology.installed().place(switch);
        let ways = self.ways[place];
        self.ways[place] = if back { ways + 1 } else { ways - 1 };
        if self.is_in[place] || ways.max(self.ways[place]) > 1 {
            return 0;
        }
        if topology.switch(switch).layer == 0 {
            return u32::from(self.is_asked[place]);
        }
        let active = topology.down(switch).iter().filter(|hop| network.paths().is_active(hop.link));
        active.map(|hop| self.follow(network, hop.switch, back)).sum()
    }
}

/// All demands on ToRs of one zone.
pub(super) struct Trackers {
    list: Vec<Tracker>,
}

impl Trackers {
    /// `None` if a ToR does not even reach now what it must reach.
    pub(super) fn new(network: &Network, zone: ZoneId, demands: &[Rc<Demand>]) -> Option<Trackers> {
        let trackers = demands.iter().map(|demand| Tracker::new(network, zone, demand.clone()));
        let list: Vec<Tracker> =
            trackers.filter(|tracker| tracker.is_asked.iter().any(|is_asked| *is_asked)).collect();
        let is_met = |tracker: &Tracker| {
            let mut asked = tracker.is_asked.iter().zip(&tracker.ways).filter(|(is_asked, _)| **is_asked);
            asked.all(|(_, ways)| *ways > 0)
        };
        list.iter().all(is_met).then_some(Trackers { list })
    }

    /// Follows a link that has just been removed. Returns how many more demands of ToRs are not met.
    pub(super) fn remove(&mut self, network: &Network, link: LinkId) -> u32 {
        self.follow(network, link, false)
    }

    /// Follows a link that has just been restored. Returns how many more demands of ToRs are met.
    pub(super) fn restore(&mut self, network: &Network, link: LinkId) -> u32 {
        self.follow(network, link, true)
    }

    fn follow(&mut self, network: &Network, link: LinkId, back: bool) -> u32 {
        let (topology, ends) = (network.topology(), network.topology().link(link));
        let mut changed = 0;
        for tracker in &mut self.list {
            if tracker.reaches(topology, ends.upper) {
                changed += tracker.follow(network, ends.lower, back);
            }
        }
        changed
    }

    /// The demands that are made of a ToR, by index.
    pub(super) fn of(&self, topology: &Topology, tor: SwitchId) -> Vec<usize> {
        let place = topology.installed().place(tor);
        (0..self.list.len()).filter(|&index| self.list[index].is_asked[place]).collect()
    }

    /// Whether a switch reaches the set of a demand or is in it.
    pub(super) fn reaches(&self, topology: &Topology, index: usize, switch: SwitchId) -> bool {
        self.list[index].reaches(topology, switch)
    }

    /// In which of the sets a switch of the top layer is.
    pub(super) fn membership(&self, topology: &Topology, switch: SwitchId) -> Vec<bool> {
        self.list.iter().map(|tracker| tracker.reaches(topology, switch)).collect()
    }
}
