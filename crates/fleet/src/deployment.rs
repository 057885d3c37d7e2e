//! Which switches can protect links (section 5, incremental deployment).

use crate::rounding::share_of;
use linkmend_diagnose::{Diagnose, Fault};
use linkmend_random::Random;
use linkmend_topology::{LinkId, SwitchId, Topology, ZoneId};
use std::collections::BTreeMap;

/// The name that stands for all switches of the top layer in a list of upgraded switches.
pub const TOP: &str = "top";

/// Which links can be protected: those with both ends upgraded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Deployment {
    /// Every link can be protected.
    #[default]
    Everywhere,
    /// Only links between these switches can be protected. One flag for each switch, by index.
    Switches(Vec<bool>),
}

/// Why a list of upgraded switches was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no pod or switch `{written}`")]
pub struct DeploymentError {
    written: String,
    first: String,
    last: String,
}

impl Diagnose for DeploymentError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        Some(format!("pods are {} to {}, the top layer is `{TOP}`", self.first, self.last))
    }
}

impl Deployment {
    /// Upgrades all switches of these zones, and no others.
    pub fn zones(topology: &Topology, zones: impl IntoIterator<Item = ZoneId>) -> Deployment {
        let mut chosen = vec![false; topology.zone_count()];
        zones.into_iter().for_each(|zone| chosen[zone.index()] = true);
        let upgraded =
            |switch: SwitchId| topology.switch(switch).zone.is_some_and(|zone| chosen[zone.index()]);
        Deployment::Switches(switches(topology).map(upgraded).collect())
    }

    /// Upgrades the pods, switches and [`TOP`] named in a list, one to a line.
    ///
    /// # Errors
    /// If a name is neither a pod nor a switch.
    pub fn listed(topology: &Topology, list: &str) -> Result<Deployment, DeploymentError> {
        let names = list.trim_start_matches('\u{feff}').lines().map(str::trim);
        Deployment::named(topology, names.filter(|name| !name.is_empty()))
    }

    /// Upgrades the top layer, too.
    #[must_use]
    pub fn and_top(mut self, topology: &Topology) -> Deployment {
        if let Deployment::Switches(upgraded) = &mut self {
            let top = switches(topology).filter(|switch| topology.switch(*switch).zone.is_none());
            top.for_each(|switch| upgraded[switch.index()] = true);
        }
        self
    }

    /// Upgrades a share of the zones, from 0 to 1, rounded up and chosen by the seed. The top layer is upgraded last,
    /// once all zones are.
    pub fn share(topology: &Topology, share: f64, seed: u64) -> Deployment {
        let zones = topology.zone_count();
        if share >= 1.0 {
            return Deployment::Everywhere;
        }
        let mut random = Random::new(seed, "fleet/deployment");
        let mut order: Vec<ZoneId> = (0..zones as u32).map(ZoneId).collect();
        for place in (1..zones).rev() {
            let other = (random.uniform() * (place + 1) as f64) as usize;
            order.swap(place, other);
        }
        order.truncate(share_of(zones as u64, share) as usize);
        Deployment::zones(topology, order)
    }

    /// Upgrades zones by name or number, switches by name, and [`TOP`], which always means the top layer.
    ///
    /// # Errors
    /// If a name is none of these.
    pub fn named<'a>(
        topology: &Topology,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Deployment, DeploymentError> {
        let parts = PartNames::new(topology);
        let (mut upgraded, mut zones) =
            (vec![false; topology.switch_count()], vec![false; topology.zone_count()]);
        let mut top = false;
        for written in names {
            match parts.find(written) {
                Some(NamedPart::Top) => top = true,
                Some(NamedPart::Zone(zone)) => zones[zone.index()] = true,
                Some(NamedPart::Switch(switch)) => upgraded[switch.index()] = true,
                None => return Err(parts.error(written)),
            }
        }
        for switch in switches(topology) {
            upgraded[switch.index()] |= topology.switch(switch).zone.map_or(top, |zone| zones[zone.index()]);
        }
        Ok(Deployment::Switches(upgraded))
    }

    /// Whether a link can be protected.
    pub fn covers(&self, topology: &Topology, link: LinkId) -> bool {
        match self {
            Deployment::Everywhere => true,
            Deployment::Switches(upgraded) => {
                let ends = topology.link(link);
                upgraded[ends.lower.index()] && upgraded[ends.upper.index()]
            }
        }
    }
}

fn switches(topology: &Topology) -> impl Iterator<Item = SwitchId> {
    (0..topology.switch_count() as u32).map(SwitchId)
}

/// What a name on a list stands for.
enum NamedPart {
    Top,
    Zone(ZoneId),
    Switch(SwitchId),
}

/// Zones and switches by name.
struct PartNames<'a> {
    topology: &'a Topology,
    zones: BTreeMap<String, ZoneId>,
    switches: BTreeMap<String, SwitchId>,
}

impl<'a> PartNames<'a> {
    fn new(topology: &'a Topology) -> PartNames<'a> {
        let names = topology.names();
        let zones = (0..topology.zone_count() as u32).map(ZoneId);
        PartNames {
            topology,
            zones: zones.map(|zone| (names.zone(zone), zone)).collect(),
            switches: switches(topology).map(|switch| (names.switch(switch), switch)).collect(),
        }
    }

    fn find(&self, written: &str) -> Option<NamedPart> {
        let numbered = || {
            let zone = written.parse().ok().filter(|zone| (*zone as usize) < self.topology.zone_count());
            zone.map(ZoneId)
        };
        let zone = self.zones.get(written).copied();
        let switch = || self.switches.get(written).copied().map(NamedPart::Switch);
        let top = (written == TOP).then_some(NamedPart::Top);
        top.or(zone.map(NamedPart::Zone)).or_else(switch).or_else(|| numbered().map(NamedPart::Zone))
    }

    fn error(&self, written: &str) -> DeploymentError {
        let names = self.topology.names();
        let last = ZoneId((self.topology.zone_count() as u32).saturating_sub(1));
        DeploymentError { written: written.to_owned(), first: names.zone(ZoneId(0)), last: names.zone(last) }
    }
}
