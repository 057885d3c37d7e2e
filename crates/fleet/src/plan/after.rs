//! The capacity and the paths that remain to pods and ToRs after the plan.

use super::Plan;
use linkmend_topology::{SwitchId, ZoneId};

/// The capacity and the paths that remain to a pod.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZoneAfterPlan {
    pub zone: ZoneId,
    /// Bits per second towards the top layer with all links in operation.
    pub installed: u64,
    /// Bits per second today, without protection.
    pub before: u64,
    /// Bits per second after the plan.
    pub capacity: u64,
    /// The ToR that is closest to its minimum of paths; the first of several. `None` in a pod without ToRs.
    pub worst: Option<TorAfterPlan>,
    /// ToRs with fewer paths than installed.
    pub affected_tors: u64,
    /// Reported links of the pod.
    pub reported: u64,
}

/// The paths that remain to a ToR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TorAfterPlan {
    pub tor: SwitchId,
    /// Paths to the top layer with all links in operation.
    pub installed: u64,
    pub before: u64,
    /// Paths after the plan.
    pub paths: u64,
    /// The minimum that it must keep.
    pub required: u64,
}

impl ZoneAfterPlan {
    /// Whether a link of the pod was reported, or capacity or paths are missing.
    pub fn is_affected(&self) -> bool {
        self.reported > 0 || self.capacity < self.installed || self.affected_tors > 0
    }

    /// Whether it is a pod, and not the place of peer links between switches of the top layer.
    pub fn is_pod(&self) -> bool {
        self.installed > 0 || self.worst.is_some()
    }

    /// The share of the installed capacity that remains.
    pub fn share(&self) -> f64 {
        if self.installed == 0 { 1.0 } else { self.capacity as f64 / self.installed as f64 }
    }
}

impl TorAfterPlan {
    /// Whether it has fewer paths than installed.
    pub fn is_affected(&self) -> bool {
        self.paths < self.installed
    }

    /// Whether it has fewer paths than it must keep.
    pub fn is_short(&self) -> bool {
        self.paths < self.required
    }

    /// Paths above the minimum; negative if there are too few.
    fn spare(&self) -> i128 {
        i128::from(self.paths) - i128::from(self.required)
    }
}

impl Plan<'_> {
    /// What remains to each ToR, in ascending order of switches.
    pub fn tors(&self) -> impl Iterator<Item = TorAfterPlan> {
        self.topology.tors().iter().map(|&tor| self.tor(tor))
    }

    /// What remains to one ToR.
    pub fn tor(&self, tor: SwitchId) -> TorAfterPlan {
        TorAfterPlan {
            tor,
            installed: self.clean.paths().count(tor),
            before: self.before.paths().count(tor),
            paths: self.after.paths().count(tor),
            required: self.after.required(tor),
        }
    }

    /// The pods with reported links or missing capacity, the worst first: those with ToRs below their minimum, then
    /// those whose ToRs have the fewest paths to spare, then those with the smallest share of their capacity.
    pub fn affected_zones(&self) -> Vec<ZoneAfterPlan> {
        let mut zones = self.zones();
        zones.retain(|zone| zone.is_pod() && zone.is_affected());
        // The spare of a ToR with too few paths is negative, so this order puts it first.
        let spare = |zone: &ZoneAfterPlan| zone.worst.map_or(i128::MAX, |tor| tor.spare());
        zones.sort_by(|one, other| {
            spare(one)
                .cmp(&spare(other))
                .then(one.share().total_cmp(&other.share()))
                .then(one.zone.cmp(&other.zone))
        });
        zones
    }

    /// What remains to each pod, in ascending order of zones.
    pub fn zones(&self) -> Vec<ZoneAfterPlan> {
        let mut zones: Vec<ZoneAfterPlan> = (0..self.topology.zone_count() as u32)
            .map(|zone| ZoneAfterPlan {
                zone: ZoneId(zone),
                installed: self.clean.zone_capacity(ZoneId(zone)),
                before: self.before.zone_capacity(ZoneId(zone)),
                capacity: self.carried_out.zone_capacity(ZoneId(zone)),
                worst: None,
                affected_tors: 0,
                reported: 0,
            })
            .collect();
        for planned in self.links() {
            zones[self.topology.zone_of(planned.link).index()].reported += 1;
        }
        for tor in self.tors() {
            let Some(zone) = self.topology.switch(tor.tor).zone else { continue };
            let zone = &mut zones[zone.index()];
            zone.affected_tors += u64::from(tor.is_affected());
            if zone.worst.is_none_or(|worst| tor.spare() < worst.spare()) {
                zone.worst = Some(tor);
            }
        }
        zones
    }
}
