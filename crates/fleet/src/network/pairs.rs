//! Whether ToRs can still reach each other.
//!
//! Two ToRs that have the same n switches of the top layer above them lose each other only if one of them has lost one half
//! of these at least. Path counts, which are known anyway, bound what a ToR has lost, so that in most cases nothing needs to
//! be searched: in a fabric whose ToRs keep more than half of their paths, never.

use super::below::tors_below;
use super::{Network, Trial};
use linkmend_topology::{LinkId, SwitchId, Topology, ZoneId};
use std::collections::{BTreeMap, BTreeSet};

/// What is kept up to date about pairs of ToRs.
#[derive(Debug, Clone)]
pub(super) struct Pairs {
    /// Whether ToRs that have the paths that they must keep can reach each other in any case.
    guaranteed: bool,
    /// ToRs with fewer paths than they must keep.
    short: u32,
    /// A ToR like all others, if they are alike: with as many paths, as many of them to each switch of the top layer.
    typical: Option<SwitchId>,
}

impl Pairs {
    pub(super) fn new(topology: &Topology, required: &[u64]) -> Pairs {
        let installed = topology.installed();
        let losses = topology.tors().iter().map(|&tor| installed.lost_tops(tor, required[tor.index()]));
        let [first, second] = two_largest(losses);
        let like = |tor: &SwitchId| (installed.paths(*tor), installed.lost_tops(*tor, 0));
        let typical = topology.tors().first().copied();
        let typical = typical.filter(|first| topology.tors().iter().all(|tor| like(tor) == like(first)));
        Pairs { guaranteed: first + second < installed.least_common(), short: 0, typical }
    }

    /// Follows a ToR's number of paths.
    pub(super) fn change(&mut self, required: u64, before: u64, after: u64) {
        match (before >= required, after >= required) {
            (true, false) => self.short += 1,
            (false, true) => self.short -= 1,
            _ => {}
        }
    }
}

fn two_largest(values: impl Iterator<Item = u64>) -> [u64; 2] {
    values.fold(
        [0, 0],
        |[first, second], value| {
            if value > first { [value, first] } else { [first, second.max(value)] }
        },
    )
}

/// What ToRs of a zone have in common: how many switches of the top layer they reach, their zone, all that they reach, and
/// all that they would reach with all links in operation.
type Alike = (u32, ZoneId, Box<[u64]>, Box<[u64]>);

/// A ToR that a link's removal takes switches from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Affected {
    after: Box<[u64]>,
    before: Box<[u64]>,
}

impl Network<'_> {
    /// Whether no choice that leaves ToRs the paths that they need can part any two of them, or they may be parted.
    pub(crate) fn meet_for_certain(&self) -> bool {
        self.pairs.as_ref().is_none_or(|pairs| pairs.guaranteed && pairs.short == 0)
    }

    /// Whether path counts show that ToRs can reach each other while links of these zones are removed for a trial. False if
    /// that takes a search.
    pub(crate) fn meet_by_paths(&self, zones: &[ZoneId]) -> bool {
        if self.meet_for_certain() {
            return true;
        }
        let installed = self.topology.installed();
        let of = |zone: &ZoneId| installed.switches_of(*zone).iter().rev();
        let is_tor = |tor: &&SwitchId| self.topology.switch(**tor).layer == 0;
        let tors = zones.iter().flat_map(|zone| of(zone).take_while(is_tor));
        let [first, second] = two_largest(tors.map(|tor| self.lost_tops(*tor)));
        first + second.max(self.others_lost_tops()) < installed.least_common()
    }

    /// The most switches of the top layer that a ToR can have lost.
    fn lost_tops(&self, tor: SwitchId) -> u64 {
        self.topology.installed().lost_tops(tor, self.paths.count(tor))
    }

    /// The most switches of the top layer that any ToR can have lost.
    fn most_lost_tops(&self) -> u64 {
        self.topology.tors().iter().map(|tor| self.lost_tops(*tor)).max().unwrap_or(0)
    }

    /// The most that a ToR can have lost from which the links removed for a trial take nothing.
    fn others_lost_tops(&self) -> u64 {
        match self.pairs.as_ref().and_then(|pairs| pairs.typical) {
            Some(tor) => self.topology.installed().lost_tops(tor, self.tor_paths.min()),
            None => self.most_lost_tops(),
        }
    }

    /// Two ToRs that could reach each other with a link, which is removed for a trial, and no longer can.
    pub(super) fn parted_by(&self, link: LinkId, trial: &Trial) -> Option<(SwitchId, SwitchId)> {
        let (topology, installed) = (self.topology, self.topology.installed());
        let others = if self.on_trial == 1 { self.others_lost_tops() } else { self.most_lost_tops() };
        if trial.lost_tops + trial.lost_tops.max(others) < installed.least_common() {
            return None;
        }
        let is_active = |other: LinkId| self.paths.is_active(other);
        let was_active = |other: LinkId| other == link || self.paths.is_active(other);
        let changes = |switch: SwitchId| {
            let after = installed.reach(topology, switch, is_active);
            let before = installed.reach(topology, switch, was_active);
            (after != before).then_some(Affected { after, before })
        };
        let lower = topology.link(link).lower;
        if topology.is_peer(link) || changes(lower).is_none() {
            return None;
        }
        let mut seen: BTreeSet<Affected> = BTreeSet::new();
        for tor in tors_below(topology, self, link) {
            let Some(affected) = changes(tor).filter(|affected| !seen.contains(affected)) else { continue };
            if let Some(other) = self.lost_by(tor, &affected, &was_active) {
                return Some((tor, other));
            }
            seen.insert(affected);
        }
        None
    }

    /// A ToR that another could reach before, and no longer can.
    fn lost_by(
        &self,
        tor: SwitchId,
        affected: &Affected,
        was_active: &impl Fn(LinkId) -> bool,
    ) -> Option<SwitchId> {
        let (topology, installed) = (self.topology, self.topology.installed());
        let zone = topology.switch(tor).zone;
        let mut in_common = vec![None; installed.class_count()];
        let lost = self.lost_tops(tor);
        let is_lost = |other: &SwitchId| {
            if installed.least_common() > 0 {
                let common = in_common[installed.class(*other)]
                    .get_or_insert_with(|| installed.common_tops(tor, *other));
                if lost + self.lost_tops(*other) < *common {
                    return false;
                }
            }
            let same_zone = topology.switch(*other).zone == zone;
            let after = installed.reach(topology, *other, |link| self.paths.is_active(link));
            !installed.meet(&affected.after, &after, same_zone)
                && installed.meet(&affected.before, &installed.reach(topology, *other, was_active), same_zone)
        };
        topology.tors().iter().copied().filter(|&other| other != tor).find(is_lost)
    }

    /// Pairs of ToRs that can reach each other while all links are in operation, and cannot now.
    pub fn parted_pairs(&self) -> u64 {
        let (topology, installed) = (self.topology, self.topology.installed());
        if 2 * self.most_lost_tops() < installed.least_common() {
            return 0;
        }
        // How many ToRs of one zone reach the same now, and with all links in operation.
        let mut alike: BTreeMap<Alike, u64> = BTreeMap::new();
        let tops =
            |set: &[u64]| set[..installed.top_words()].iter().map(|word| word.count_ones()).sum::<u32>();
        for zone in topology.zones() {
            let now = installed.reach_in(topology, zone, |link| self.paths.is_active(link));
            let then = installed.reach_in(topology, zone, |_| true);
            let is_tor = |switch: &&SwitchId| topology.switch(**switch).layer == 0;
            for tor in installed.switches_of(zone).iter().filter(is_tor) {
                let [now, then] = [&now, &then].map(|reach| reach.row(installed.place(*tor)));
                *alike.entry((tops(now), zone, now.into(), then.into())).or_default() += 1;
            }
        }
        let alike: Vec<_> = alike.into_iter().collect();
        let all = installed.tops().len() as u32;
        let mut parted = 0;
        for (place, ((tops, zone, now, then), count)) in alike.iter().enumerate() {
            // Those that reach nothing have lost each other as well.
            if now.iter().all(|word| *word == 0) {
                parted += count * (count - 1) / 2;
            }
            // Two that together reach more switches of the top layer than there are reach a common one.
            let others = alike[place + 1..].iter().take_while(|((others, ..), _)| tops + others <= all);
            for ((_, other_zone, other_now, other_then), others) in others {
                let same_zone = zone == other_zone;
                if !installed.meet(now, other_now, same_zone) && installed.meet(then, other_then, same_zone) {
                    parted += count * others;
                }
            }
        }
        parted
    }
}
