//! The capacity and the paths that remain to pods and ToRs after the plan.

use super::Plan;
use crate::constraint::percent;
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

/// The capacity that remains to a ToR, as shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TorCapacity {
    pub before: f64,
    /// After the plan.
    pub left: f64,
    /// The minimum that it must keep.
    pub required: f64,
}

/// The paths and the capacity that remain to a ToR.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TorAfterPlan {
    pub tor: SwitchId,
    /// Paths to the top layer with all links in operation.
    pub installed: u64,
    pub before: u64,
    /// Paths after the plan.
    pub paths: u64,
    /// The minimum that it must keep.
    pub required: u64,
    /// `None` if it must keep none, or its share is that of its paths.
    pub capacity: Option<TorCapacity>,
    /// Whether it has less than it must keep.
    pub is_short: bool,
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

    /// What it has left, in words.
    pub fn left(&self) -> String {
        let paths = format!("{} of {} paths", self.paths, self.installed);
        self.capacity.map_or(paths.clone(), |capacity| {
            format!("{paths} and {} of its capacity", percent(capacity.left))
        })
    }

    /// What it must keep, in words.
    pub fn must_keep(&self) -> String {
        match self.capacity {
            None => self.required.to_string(),
            Some(capacity) if self.required == 0 => format!("{} of its capacity", percent(capacity.required)),
            Some(capacity) => format!("{} and {}", self.required, percent(capacity.required)),
        }
    }

    /// Paths above the minimum; negative if there are too few. Where capacity counts, the same share of it in paths, if that
    /// is less.
    pub fn spare(&self) -> f64 {
        let paths = self.paths as f64 - self.required as f64;
        let by_capacity = |capacity: TorCapacity| (capacity.left - capacity.required) * self.installed as f64;
        self.capacity.map_or(paths, |capacity| paths.min(by_capacity(capacity)))
    }
}

impl Plan<'_> {
    /// Whether ToRs must keep a share of their capacity that is not told by their paths.
    pub fn counts_capacity(&self) -> bool {
        self.after.shares().is_some()
    }

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
            capacity: self.after.shares().map(|shares| TorCapacity {
                before: self.before.shares().map_or(1.0, |shares| shares.left(tor)),
                left: shares.left(tor),
                required: self.settings.constraint.capacity,
            }),
            is_short: self.after.is_short(tor),
        }
    }

    /// The pods with reported links or missing capacity, the worst first: those with ToRs below their minimum, then
    /// those whose ToRs have the least to spare, then those with the smallest share of their capacity.
    pub fn affected_zones(&self) -> Vec<ZoneAfterPlan> {
        let mut zones = self.zones();
        zones.retain(|zone| zone.is_pod() && zone.is_affected());
        // The spare of a ToR with too few paths is negative, so this order puts it first.
        let spare = |zone: &ZoneAfterPlan| zone.worst.map_or(f64::INFINITY, |tor| tor.spare());
        zones.sort_by(|one, other| {
            spare(one)
                .total_cmp(&spare(other))
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
