//! Random networks of 96 switches in which no two ToRs are alike.

use linkmend_random::Random;
use linkmend_topology::{Names, SwitchId, Topology, TopologyBuilder};

/// Switches of each layer, ToRs first.
const THREE: [u32; 3] = [60, 24, 12];
const FOUR: [u32; 4] = [48, 24, 14, 10];
/// Links of a network.
pub const LINKS: usize = 490;
/// One link of so many skips a layer, where it can.
const SKIPS: u64 = 12;

/// The network with this number: those with even numbers have three layers, the others four. Every switch has a link up; the other links
/// begin anywhere below the top layer, so that degrees differ, links run in parallel, and some skip a layer.
pub fn uneven(number: u64) -> Topology {
    let mut random = Random::new(number, "test/uneven");
    let mut below = move |bound: usize| (random.next_u64() % bound as u64) as usize;
    let widths: &[u32] = if number.is_multiple_of(2) { &THREE } else { &FOUR };
    let mut builder = TopologyBuilder::default();
    let layers: Vec<Vec<SwitchId>> = (0_u8..)
        .zip(widths)
        .map(|(layer, width)| (0..*width).map(|_| builder.switch(layer, Some(0))).collect())
        .collect();
    let lower: Vec<(usize, SwitchId)> = layers[..layers.len() - 1]
        .iter()
        .enumerate()
        .flat_map(|(layer, switches)| switches.iter().map(move |switch| (layer, *switch)))
        .collect();
    for place in 0..LINKS {
        let (layer, switch) = lower.get(place).copied().unwrap_or_else(|| lower[below(lower.len())]);
        let skips = layer + 2 < layers.len() && below(SKIPS as usize) == 0;
        let above = &layers[layer + if skips { 2 } else { 1 }];
        builder.link(switch, above[below(above.len())], super::BITS_PER_SECOND);
    }
    builder.build(Names::Numbers("by hand".to_owned())).expect("every switch has a way up")
}

/// The loss rate of each link: from 10^-8 to 10^-2, each decade as likely as the others.
pub fn loss_rates(topology: &Topology, number: u64) -> Vec<f64> {
    let mut random = Random::new(number, "test/uneven/loss");
    (0..topology.link_count()).map(|_| libm::pow(10.0, -2.0 - 6.0 * random.uniform())).collect()
}
