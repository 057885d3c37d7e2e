//! The capacity of each zone towards the top layer.

use super::extremes::OrderedCounts;
use linkmend_topology::{LinkId, Topology, ZoneId};
use std::ops::Range;

/// Capacity of every zone: the minimum, over the gaps between layers, of the summed effective capacity of the links
/// that cross the gap. A link that skips layers crosses several gaps. The mean and the minimum over zones include only
/// zones with ToRs, since others are no pods.
#[derive(Debug, Clone)]
pub(super) struct ZoneCapacity {
    layers: usize,
    /// Bits per second, by zone and by layer below the gap.
    by_layer: Vec<u64>,
    of_zone: Vec<u64>,
    is_pod: Vec<bool>,
    pods: u64,
    zones: OrderedCounts<u64>,
    sum: u128,
}

impl ZoneCapacity {
    pub(super) fn new(topology: &Topology) -> ZoneCapacity {
        let layers = topology.layer_count() - 1;
        let mut by_layer = vec![0; topology.zone_count() * layers];
        for link in (0..topology.link_count() as u32).map(LinkId) {
            let first = topology.zone_of(link).index() * layers;
            for sum in &mut by_layer[first..first + layers][gaps(topology, link)] {
                *sum += topology.capacity(link);
            }
        }
        let of_zone: Vec<u64> = by_layer.chunks(layers).map(least).collect();
        let mut is_pod = vec![false; topology.zone_count()];
        for zone in topology.tors().iter().filter_map(|tor| topology.switch(*tor).zone) {
            is_pod[zone.index()] = true;
        }
        let mut zones = OrderedCounts::default();
        let (mut pods, mut sum) = (0, 0);
        for (&capacity, _) in of_zone.iter().zip(&is_pod).filter(|(_, is_pod)| **is_pod) {
            zones.insert(capacity);
            pods += 1;
            sum += u128::from(capacity);
        }
        ZoneCapacity { layers, by_layer, of_zone, is_pod, pods, zones, sum }
    }

    /// Applies a change of a link's effective capacity.
    pub(super) fn change(&mut self, topology: &Topology, link: LinkId, before: u64, after: u64) {
        let zone = topology.zone_of(link).index();
        let sums = &mut self.by_layer[zone * self.layers..(zone + 1) * self.layers];
        for sum in &mut sums[gaps(topology, link)] {
            *sum = *sum - before + after;
        }
        let now = least(sums);
        let then = std::mem::replace(&mut self.of_zone[zone], now);
        if now != then && self.is_pod[zone] {
            self.zones.remove(then);
            self.zones.insert(now);
            self.sum = self.sum - u128::from(then) + u128::from(now);
        }
    }

    pub(super) fn bits_per_second(&self, zone: ZoneId) -> u64 {
        self.of_zone[zone.index()]
    }

    pub(super) fn min_gbps(&self) -> f64 {
        self.zones.min().unwrap_or(0) as f64 / 1e9
    }

    pub(super) fn mean_gbps(&self) -> f64 {
        self.sum as f64 / 1e9 / self.pods as f64
    }
}

/// The gaps that a link crosses, each named by the layer below it.
fn gaps(topology: &Topology, link: LinkId) -> Range<usize> {
    let ends = topology.link(link);
    usize::from(topology.switch(ends.lower).layer)..usize::from(topology.switch(ends.upper).layer)
}

fn least(by_layer: &[u64]) -> u64 {
    by_layer.iter().copied().min().unwrap_or(0)
}
