//! What each zone can carry towards the top layer.

use super::extremes::OrderedCounts;
use crate::topology::{LinkId, Topology, ZoneId};

/// Capacity of every zone: the least, over its layers of links, of the sum of their effective capacities.
#[derive(Debug, Clone)]
pub(super) struct ZoneCapacity {
    layers: usize,
    /// Bits per second by zone and layer of the lower switch.
    by_layer: Vec<u64>,
    /// Whether the zone has links on that layer at all: links may skip layers.
    installed: Vec<bool>,
    of_zone: Vec<u64>,
    zones: OrderedCounts<u64>,
    sum: u128,
}

impl ZoneCapacity {
    pub(super) fn new(topology: &Topology) -> ZoneCapacity {
        let layers = topology.layer_count() - 1;
        let mut by_layer = vec![0; topology.zone_count() * layers];
        for link in (0..topology.link_count() as u32).map(LinkId) {
            by_layer[place(topology, layers, link)] += topology.capacity(link);
        }
        let installed: Vec<bool> = by_layer.iter().map(|&capacity| capacity > 0).collect();
        let of_zone: Vec<u64> = by_layer
            .chunks(layers)
            .zip(installed.chunks(layers))
            .map(|(sums, has)| least(sums, has))
            .collect();
        let mut zones = OrderedCounts::default();
        of_zone.iter().for_each(|&capacity| zones.insert(capacity));
        let sum = of_zone.iter().map(|&capacity| u128::from(capacity)).sum();
        ZoneCapacity { layers, by_layer, installed, of_zone, zones, sum }
    }

    /// A link's effective capacity changes.
    pub(super) fn change(&mut self, topology: &Topology, link: LinkId, before: u64, after: u64) {
        let place = place(topology, self.layers, link);
        self.by_layer[place] = self.by_layer[place] - before + after;
        let zone = place / self.layers;
        let layers = zone * self.layers..(zone + 1) * self.layers;
        let now = least(&self.by_layer[layers.clone()], &self.installed[layers]);
        let then = std::mem::replace(&mut self.of_zone[zone], now);
        if now != then {
            self.zones.remove(then);
            self.zones.insert(now);
            self.sum = self.sum - u128::from(then) + u128::from(now);
        }
    }

    pub(super) fn of(&self, zone: ZoneId) -> u64 {
        self.of_zone[zone.index()]
    }

    pub(super) fn min_gbps(&self) -> f64 {
        self.zones.min().unwrap_or(0) as f64 / 1e9
    }

    pub(super) fn mean_gbps(&self) -> f64 {
        self.sum as f64 / 1e9 / self.of_zone.len() as f64
    }
}

fn place(topology: &Topology, layers: usize, link: LinkId) -> usize {
    topology.zone_of(link).index() * layers + usize::from(topology.layer_of(link))
}

fn least(by_layer: &[u64], installed: &[bool]) -> u64 {
    by_layer.iter().zip(installed).filter(|(_, has)| **has).map(|(sum, _)| *sum).min().unwrap_or(0)
}
