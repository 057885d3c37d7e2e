//! Builds checked topologies from lists of switches and links.

use crate::layered::PortNames;
use crate::layered::{Adjacency, Hop, Link, Switch, Topology};
use crate::paths::check_paths;
use crate::{LinkId, Names, SwitchId, TopologyError, ZoneId};
use std::sync::OnceLock;

/// Ports of one forwarding pipe. The authors' simulator assumes as many for switches without a number of pipes.
pub(crate) const PORTS_PER_PIPE: u32 = 16;

/// Collects switches and links.
#[derive(Debug, Default)]
pub struct TopologyBuilder {
    layers: Vec<u8>,
    pipes: Vec<Option<u32>>,
    ends: Vec<(SwitchId, SwitchId)>,
    capacity: Vec<u64>,
}

impl TopologyBuilder {
    /// An empty network with room for this many links.
    pub fn with_capacity(links: usize) -> TopologyBuilder {
        TopologyBuilder {
            ends: Vec::with_capacity(links),
            capacity: Vec::with_capacity(links),
            ..TopologyBuilder::default()
        }
    }

    /// Adds a switch. Without a number of `pipes` it has one for every 16 ports.
    pub fn switch(&mut self, layer: u8, pipes: Option<u32>) -> SwitchId {
        self.layers.push(layer);
        self.pipes.push(pipes);
        SwitchId(self.layers.len() as u32 - 1)
    }

    /// Adds a link between two switches that were added before, in either order.
    pub fn link(&mut self, one: SwitchId, other: SwitchId, bits_per_second: u64) -> LinkId {
        self.ends.push((one, other));
        self.capacity.push(bits_per_second);
        LinkId(self.ends.len() as u32 - 1)
    }

    /// Checks the network and orders it.
    ///
    /// # Errors
    /// If it has fewer than two layers, more than 255, no ToR, a ToR without a path, or too many paths.
    pub fn build(self, names: Names) -> Result<Topology, TopologyError> {
        let highest = self.layers.iter().copied().max().unwrap_or(0);
        if highest == 0 {
            return Err(TopologyError::OneLayer { highest });
        }
        if highest == u8::MAX {
            return Err(TopologyError::parameter("layer", highest, "must be 0 to 254"));
        }
        if !self.layers.contains(&0) {
            return Err(TopologyError::NoTor);
        }
        let mut links = Vec::with_capacity(self.ends.len());
        let mut ports = vec![0_u32; self.layers.len()];
        for &(one, other) in &self.ends {
            let (low, high) = (self.layers[one.index()], self.layers[other.index()]);
            let (lower, upper) = if low <= high { (one, other) } else { (other, one) };
            let mut port = |switch: SwitchId| {
                let next = &mut ports[switch.index()];
                *next += 1;
                *next - 1
            };
            links.push(Link { lower, upper, lower_port: port(lower), upper_port: port(upper) });
        }
        let is_peer = |link: &Link| self.layers[link.lower.index()] == self.layers[link.upper.index()];
        let mut zones = zones(&self.layers, highest, &links);
        let is_top_peer = |link: &Link| is_peer(link) && self.layers[link.upper.index()] == highest;
        zones.count += u32::from(links.iter().any(is_top_peer));
        let climbs = |link: &Link, ends| (!is_peer(link)).then_some(ends);
        let down = Adjacency::new(self.layers.len(), &links, |link| [climbs(link, (link.upper, link.lower))]);
        let switches: Vec<Switch> = (0..self.layers.len())
            .map(|index| Switch {
                layer: self.layers[index],
                zone: zones.of[index],
                pipes: self.pipes[index].unwrap_or(ports[index].div_ceil(PORTS_PER_PIPE)).max(1),
                above_tors: above_tors(&self.layers, down.hops(SwitchId(index as u32))),
            })
            .collect();
        let tors = (0..switches.len() as u32).map(SwitchId).filter(|tor| switches[tor.index()].layer == 0);
        let topology = Topology {
            tors: tors.collect(),
            up: Adjacency::new(switches.len(), &links, |link| [climbs(link, (link.lower, link.upper))]),
            beside: Adjacency::new(switches.len(), &links, |link| {
                let both = [(link.lower, link.upper), (link.upper, link.lower)];
                both.map(|ends| is_peer(link).then_some(ends))
            }),
            down,
            switches,
            links,
            capacity: self.capacity,
            layers: highest + 1,
            zones: zones.count,
            names,
            installed: OnceLock::new(),
            ports: PortNames::default(),
        };
        check_paths(&topology)?;
        Ok(topology)
    }
}

fn above_tors(layers: &[u8], down: &[Hop]) -> bool {
    let mut below: Vec<SwitchId> = down.iter().map(|hop| hop.switch).collect();
    below.sort_unstable();
    below.iter().all(|switch| layers[switch.index()] == 0) && below.windows(2).all(|pair| pair[0] != pair[1])
}

struct Zones {
    of: Vec<Option<ZoneId>>,
    count: u32,
}

/// The connected parts of the network without its top layer, numbered by their first switch.
fn zones(layers: &[u8], top: u8, links: &[Link]) -> Zones {
    let mut parent: Vec<u32> = (0..layers.len() as u32).collect();
    for link in links {
        if layers[link.upper.index()] < top && layers[link.lower.index()] < layers[link.upper.index()] {
            let one = root(&mut parent, link.lower.0);
            let other = root(&mut parent, link.upper.0);
            parent[one.max(other) as usize] = one.min(other);
        }
    }
    let mut number = vec![None; layers.len()];
    let mut count = 0;
    let mut of = Vec::with_capacity(layers.len());
    for (switch, &layer) in layers.iter().enumerate() {
        if layer == top {
            of.push(None);
            continue;
        }
        let root = root(&mut parent, switch as u32) as usize;
        let zone = *number[root].get_or_insert_with(|| {
            count += 1;
            ZoneId(count - 1)
        });
        of.push(Some(zone));
    }
    Zones { of, count }
}

fn root(parent: &mut [u32], mut switch: u32) -> u32 {
    while parent[switch as usize] != switch {
        parent[switch as usize] = parent[parent[switch as usize] as usize];
        switch = parent[switch as usize];
    }
    switch
}
