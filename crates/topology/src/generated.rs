//! Networks that are generated from a few numbers.

use crate::builder::PORTS_PER_PIPE;
use crate::{FabricParameters, Names, Topology, TopologyBuilder, TopologyError};
use linkmend_quantity::BitRate;

/// Pipes of a ToR and of a fabric switch, as in the authors' model of this fabric.
const TOR_PIPES: u32 = 2;
const FABRIC_SWITCH_PIPES: u32 = 6;

impl FabricParameters {
    /// Checks whether the network can be built.
    ///
    /// # Errors
    /// The first parameter that is out of its range, or that there would be more than 2^31 links.
    pub fn check(&self) -> Result<(), TopologyError> {
        in_range("pods", self.pods, 65_536, "1 to 65,536")?;
        in_range("tors_per_pod", self.tors_per_pod, 4096, "1 to 4,096")?;
        in_range("fabric_switches_per_pod", self.fabric_switches_per_pod, 64, "1 to 64")?;
        in_range("spines_per_plane", self.spines_per_plane, 4096, "1 to 4,096")?;
        if self.links() > 1 << 31 {
            return Err(TopologyError::parameter("links", self.links(), "must be at most 2,147,483,648"));
        }
        Ok(())
    }

    /// Builds the network.
    ///
    /// # Errors
    /// If a parameter is out of its range, or there would be more than 2^31 links.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        self.check()?;
        let mut builder = TopologyBuilder::with_capacity(self.links() as usize);
        let mut fabric_switches = Vec::new();
        for _ in 0..self.pods {
            let tors: Vec<_> = (0..self.tors_per_pod).map(|_| builder.switch(0, Some(TOR_PIPES))).collect();
            let switches: Vec<_> = (0..self.fabric_switches_per_pod)
                .map(|_| builder.switch(1, Some(FABRIC_SWITCH_PIPES)))
                .collect();
            for &tor in &tors {
                for &fabric_switch in &switches {
                    builder.link(tor, fabric_switch, self.bits_per_second);
                }
            }
            fabric_switches.push(switches);
        }
        for plane in 0..self.fabric_switches_per_pod as usize {
            for _ in 0..self.spines_per_plane {
                let spine = builder.switch(2, None);
                for pod in &fabric_switches {
                    builder.link(pod[plane], spine, self.bits_per_second);
                }
            }
        }
        builder.build(Names::Fabric(*self))
    }
}

/// A fat tree of `k`-port switches: `k` pods of `k`/2 ToRs and `k`/2 aggregation switches, `k`²/4 core switches.
///
/// # Errors
/// If `k` is odd or not from 2 to 256.
pub fn fat_tree(k: u32, bits_per_second: u64) -> Result<Topology, TopologyError> {
    if !(2..=256).contains(&k) || !k.is_multiple_of(2) {
        return Err(TopologyError::parameter("k", k, "must be even, 2 to 256"));
    }
    let half = k / 2;
    // Half of a ToR's ports lead to hosts, but they count for its pipes too.
    let tor_pipes = Some(k.div_ceil(PORTS_PER_PIPE));
    let mut builder = TopologyBuilder::default();
    let mut aggregation = Vec::new();
    for _ in 0..k {
        let tors: Vec<_> = (0..half).map(|_| builder.switch(0, tor_pipes)).collect();
        let switches: Vec<_> = (0..half).map(|_| builder.switch(1, None)).collect();
        for &tor in &tors {
            for &switch in &switches {
                builder.link(tor, switch, bits_per_second);
            }
        }
        aggregation.push(switches);
    }
    for core in 0..half * half {
        let switch = builder.switch(2, None);
        for pod in &aggregation {
            builder.link(pod[(core / half) as usize], switch, bits_per_second);
        }
    }
    builder.build(Names::Numbers(format!("fat-tree:k={k},speed={}", BitRate(bits_per_second))))
}

/// A network in which every leaf has a link to every spine.
///
/// # Errors
/// If there are no leaves or spines, or more than 65,536 of either.
pub fn leaf_spine(leaves: u32, spines: u32, bits_per_second: u64) -> Result<Topology, TopologyError> {
    in_range("leaves", leaves, 65_536, "1 to 65,536")?;
    in_range("spines", spines, 65_536, "1 to 65,536")?;
    let mut builder = TopologyBuilder::default();
    let lower: Vec<_> = (0..leaves).map(|_| builder.switch(0, None)).collect();
    let upper: Vec<_> = (0..spines).map(|_| builder.switch(1, None)).collect();
    for &leaf in &lower {
        for &spine in &upper {
            builder.link(leaf, spine, bits_per_second);
        }
    }
    let speed = BitRate(bits_per_second);
    builder.build(Names::Numbers(format!("leaf-spine:leaves={leaves},spines={spines},speed={speed}")))
}

fn in_range(name: &'static str, value: u32, most: u32, range: &'static str) -> Result<(), TopologyError> {
    if value == 0 || value > most {
        return Err(TopologyError::parameter(name, value, &format!("must be {range}")));
    }
    Ok(())
}
