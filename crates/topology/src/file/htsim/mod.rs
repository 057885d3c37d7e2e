//! Fat trees of htsim (`.topo`): a few numbers for the network and for each of its two or three tiers.
//!
//! [`settings`] reads and checks the numbers, and this file wires the network as htsim does.

mod settings;

pub(super) use settings::is_htsim;

use super::draft::{Draft, DraftSwitch, Location};
use super::{HostLink, Loaded, PortCable, TopologyFault, TopologyFileError, TopologyFileOptions};
use crate::SwitchId;
use linkmend_quantity::{BitRate, Distance};
use settings::{Settings, Shape, Tier};

/// The latency of a metre of fibre, as simulators count it.
const NANOS_PER_METRE: u64 = 5;

pub(super) fn read(
    text: &str,
    file: String,
    options: &TopologyFileOptions,
) -> Result<Loaded, TopologyFileError> {
    if options.layers.is_some() {
        let reason = "this file specifies the layers itself (`Tier`), so rules for layers cannot be used";
        return Err(TopologyFault::form(reason).at(&file, None));
    }
    let settings = settings::read(text, &file)?;
    let shape = settings.shape().map_err(|fault| fault.at(&file, None))?;
    let mut draft = Draft::default();
    let number = draft.file(file);
    let mut wiring = Wiring { draft, settings, shape, options, file: number };
    let switches = wiring.switches()?;
    wiring.hosts(&switches[0])?;
    wiring.pods(&switches)?;
    if let [_, aggregation, core] = switches.as_slice() {
        wiring.core(aggregation, core)?;
    }
    let warnings = wiring.settings.left_out();
    wiring.draft.finish(warnings)
}

/// The cables with the ports that this reader gives them.
pub(super) fn cables(text: &str, file: String) -> Result<Vec<PortCable>, TopologyFileError> {
    // Speeds have nothing to do with cabling.
    let options = TopologyFileOptions { default_speed: Some(BitRate(1)), ..TopologyFileOptions::default() };
    let loaded = read(text, file, &options)?;
    let names = loaded.topology.names();
    let named = |(switch, port): &(SwitchId, String)| (names.switch(*switch), port.clone());
    Ok(loaded.cables.iter().map(|cable| cable.ends.each_ref().map(named)).collect())
}

struct Wiring<'a> {
    draft: Draft,
    settings: Settings,
    shape: Shape,
    options: &'a TopologyFileOptions,
    file: u32,
}

impl Wiring<'_> {
    /// The switches of each tier, numbered from 1.
    fn switches(&mut self) -> Result<Vec<Vec<SwitchId>>, TopologyFileError> {
        let names: &[&str] =
            if self.settings.tiers.len() == 2 { &["leaf", "spine"] } else { &["tor", "agg", "core"] };
        let mut switches = Vec::new();
        for (layer, (name, count)) in (0..).zip(names.iter().zip(self.shape.switches)) {
            let location = self.at(layer as usize);
            let mut tier = Vec::new();
            for number in 1..=count {
                let name = format!("{name}{number}");
                tier.push(self.draft.switch(DraftSwitch {
                    name,
                    layer,
                    pod: None,
                    pipes: None,
                    location,
                })?);
            }
            switches.push(tier);
        }
        Ok(switches)
    }

    /// Nodes are numbered from 0, as in htsim.
    fn hosts(&mut self, tors: &[SwitchId]) -> Result<(), TopologyFileError> {
        let Tier { radix_down, speed, .. } = self.settings.tiers[0];
        let (speed, length) = (speed.or(self.options.default_speed), self.length(0));
        let location = self.at(0);
        for (tor, &switch) in (0..).zip(tors) {
            for port in 0..radix_down {
                let host = format!("host{}", tor * radix_down + port);
                let port = Some(format!("down{}", port + 1));
                self.draft.host_link(HostLink { host, switch, port, speed, length }, location)?;
            }
        }
        Ok(())
    }

    /// Within a pod, each switch of tier 0 has a bundle to each of tier 1.
    fn pods(&mut self, switches: &[Vec<SwitchId>]) -> Result<(), TopologyFileError> {
        let [tors, aggregations] = [self.shape.tors_of_pod, self.shape.aggregations_of_pod];
        for (tor, &lower) in (0..).zip(&switches[0]) {
            for position in 0..aggregations {
                let upper = switches[1][(tor / tors * aggregations + position) as usize];
                self.bundle([lower, upper], [position, tor % tors], 1)?;
            }
        }
        Ok(())
    }

    /// Switches of tier 1 at the same place of their pods share the switches of tier 2 above them.
    fn core(&mut self, aggregation: &[SwitchId], core: &[SwitchId]) -> Result<(), TopologyFileError> {
        let (positions, bundle) = (self.shape.aggregations_of_pod, self.settings.tiers[2].bundle);
        for (number, &lower) in (0..).zip(aggregation) {
            for above in 0..self.settings.tiers[1].radix_up / bundle {
                let upper = core[(number % positions + positions * above) as usize];
                self.bundle([lower, upper], [above, number / positions], 2)?;
            }
        }
        Ok(())
    }

    /// The links of one bundle to a switch of this tier; `places` are those of the bundle at both ends.
    fn bundle(
        &mut self,
        ends: [SwitchId; 2],
        places: [u64; 2],
        tier: usize,
    ) -> Result<(), TopologyFileError> {
        let Tier { bundle, speed, .. } = self.settings.tiers[tier];
        let (location, length) = (self.at(tier), self.length(tier));
        for link in 1..=bundle {
            let speed = speed.or(self.options.default_speed).ok_or_else(|| {
                let link = ends.map(|end| self.draft.name(end)).join("--");
                let how = "`Downlink_speed_Gbps` of its upper tier";
                self.draft.refuse(location, TopologyFault::NoSpeed { link, how })
            })?;
            self.draft.link(ends, None, speed, length, location)?;
            let [up, down] = places.map(|place| place * bundle + link);
            self.draft.ports([format!("up{up}"), format!("down{down}")]);
        }
        Ok(())
    }

    fn at(&self, tier: usize) -> Location {
        Location { file: self.file, line: self.settings.tiers[tier].line }
    }

    fn length(&self, tier: usize) -> Option<Distance> {
        let nanos = self.settings.tiers[tier].latency_nanos?;
        Some(Distance((nanos + NANOS_PER_METRE / 2) / NANOS_PER_METRE))
    }
}
