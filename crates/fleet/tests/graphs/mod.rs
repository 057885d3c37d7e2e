//! Random layered networks, and properties of them computed by walking every path.

#[allow(dead_code, reason = "not every test needs it")]
pub mod needs;
#[allow(dead_code, reason = "not every test needs it")]
pub mod uneven;

use linkmend_topology::{
    FabricParameters, LinkId, Names, SwitchId, Topology, TopologyBuilder, ZoneId, fat_tree, leaf_spine,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A configuration with this many cases, the same in every run.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(20230910),
        failure_persistence: None,
        ..Default::default()
    }
}

/// Speed of the slowest links. Sixteenths of it are exact in floating point.
pub const BITS_PER_SECOND: u64 = 1 << 37;

/// Any of the networks in this file.
pub fn topologies() -> impl Strategy<Value = Topology> {
    prop_oneof![
        4 => layered(4),
        2 => layered(3),
        1 => (1_u32..4, 1_u32..4, 1_u32..4, 1_u32..4).prop_map(|(pods, tors, switches, spines)| {
            let shape = FabricParameters {
                pods,
                tors_per_pod: tors,
                fabric_switches_per_pod: switches,
                spines_per_plane: spines,
                bits_per_second: BITS_PER_SECOND,
            };
            shape.build().expect("the parameters are in range")
        }),
        1 => (1_u32..3).prop_map(|half| fat_tree(2 * half, BITS_PER_SECOND).expect("k is in range")),
        1 => (1_u32..5, 1_u32..10).prop_map(|(leaves, spines)| {
            leaf_spine(leaves, spines, BITS_PER_SECOND).expect("the parameters are in range")
        }),
    ]
}

/// Two to four switches in each layer. Every switch has a link to the next layer and several to any higher one, so that
/// links skip layers, run in parallel, join peers, and reach a ToR in many ways. Some networks have links of several speeds. Links come in any order, either end first.
pub fn layered(layers: u8) -> impl Strategy<Value = Topology> {
    let widths = prop::collection::vec(1_usize..4, usize::from(layers));
    let draws = prop::collection::vec((any::<u32>(), any::<u32>(), any::<bool>()), 6..22);
    (widths, draws, any::<u64>()).prop_map(move |(widths, draws, seed)| {
        let mut builder = TopologyBuilder::default();
        let mut random = linkmend_random::Random::new(seed, "test/layered");
        let mut order: Vec<u8> =
            (0..layers).flat_map(|layer| vec![layer; widths[usize::from(layer)] + 1]).collect();
        for place in (1..order.len()).rev() {
            order.swap(place, (random.next_u64() % (place as u64 + 1)) as usize);
        }
        let switches: Vec<(SwitchId, u8)> = order
            .iter()
            .map(|&layer| (builder.switch(layer, Some(1 + u32::from(layer) % 3)), layer))
            .collect();
        let mut links = Vec::new();
        for &(switch, layer) in switches.iter().filter(|(_, layer)| layer + 1 < layers) {
            let above: Vec<SwitchId> =
                switches.iter().filter(|(_, other)| *other == layer + 1).map(|(above, _)| *above).collect();
            links.push((switch, above[(random.next_u64() % above.len() as u64) as usize]));
        }
        for (one, other, turned) in draws {
            let one = switches[one as usize % switches.len()];
            let others: Vec<_> = switches.iter().filter(|other| other.0 != one.0).collect();
            let other = others[other as usize % others.len()];
            links.push(if turned { (one.0, other.0) } else { (other.0, one.0) });
        }
        for place in (1..links.len()).rev() {
            links.swap(place, (random.next_u64() % (place as u64 + 1)) as usize);
        }
        let is_mixed = random.next_u64().is_multiple_of(2);
        for (one, other) in links {
            let times = if is_mixed { [1, 1, 2, 4][(random.next_u64() % 4) as usize] } else { 1 };
            builder.link(one, other, times * BITS_PER_SECOND);
        }
        builder.build(Names::Numbers("by hand".to_owned())).expect("every switch has a way up")
    })
}

/// Counts the paths of a switch over links for which `is_active` holds, one by one.
pub fn walk(topology: &Topology, switch: SwitchId, is_active: &dyn Fn(LinkId) -> bool) -> u64 {
    let top = topology.switches().map(|switch| topology.switch(switch).layer).max();
    if Some(topology.switch(switch).layer) == top {
        return 1;
    }
    let layer = |switch| topology.switch(switch).layer;
    let climbs = |link: LinkId| layer(topology.link(link).upper) > layer(switch);
    let up = links(topology)
        .filter(|&link| topology.link(link).lower == switch && climbs(link) && is_active(link));
    up.map(|link| walk(topology, topology.link(link).upper, is_active)).sum()
}

pub fn links(topology: &Topology) -> impl Iterator<Item = LinkId> + use<> {
    (0..topology.link_count() as u32).map(LinkId)
}

pub fn zones(topology: &Topology) -> impl Iterator<Item = ZoneId> + use<> {
    (0..topology.zone_count() as u32).map(ZoneId)
}
