//! How many protected links share a forwarding pipe, and with it its recirculation ports (section 5).

use super::extremes::OrderedCounts;
use linkmend_topology::{LinkId, Topology};

/// Protected links on each pipe of every switch.
#[derive(Debug, Clone)]
pub(super) struct ProtectedPerPipe {
    /// Where the pipes of each switch begin in `links`.
    first: Vec<u32>,
    links: Vec<u32>,
    busy: OrderedCounts<u32>,
}

impl ProtectedPerPipe {
    pub(super) fn new(topology: &Topology) -> ProtectedPerPipe {
        let mut first = Vec::with_capacity(topology.switch_count() + 1);
        let mut pipes = 0;
        for switch in topology.switches() {
            first.push(pipes);
            pipes += topology.switch(switch).pipes;
        }
        first.push(pipes);
        ProtectedPerPipe { first, links: vec![0; pipes as usize], busy: OrderedCounts::default() }
    }

    pub(super) fn add(&mut self, topology: &Topology, link: LinkId) {
        for place in self.places(topology, link) {
            let count = &mut self.links[place];
            if *count > 0 {
                self.busy.remove(*count);
            }
            *count += 1;
            self.busy.insert(*count);
        }
    }

    pub(super) fn remove(&mut self, topology: &Topology, link: LinkId) {
        for place in self.places(topology, link) {
            let count = &mut self.links[place];
            self.busy.remove(*count);
            *count -= 1;
            if *count > 0 {
                self.busy.insert(*count);
            }
        }
    }

    pub(super) fn max(&self) -> u64 {
        self.busy.max().unwrap_or(0).into()
    }

    pub(super) fn on_pipes_of(&self, topology: &Topology, link: LinkId) -> u32 {
        let [lower, upper] = self.places(topology, link).map(|place| self.links[place]);
        lower.max(upper)
    }

    pub(super) fn on_switches_of(&self, topology: &Topology, link: LinkId) -> u32 {
        let ends = topology.link(link);
        let [lower, upper] = [ends.lower, ends.upper].map(|switch| {
            let pipes = self.first[switch.index()] as usize..self.first[switch.index() + 1] as usize;
            self.links[pipes].iter().sum::<u32>()
        });
        lower.max(upper)
    }

    fn places(&self, topology: &Topology, link: LinkId) -> [usize; 2] {
        topology.pipes_of(link).map(|(switch, pipe)| (self.first[switch.index()] + pipe) as usize)
    }
}
