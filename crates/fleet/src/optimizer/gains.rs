//! What all ToRs together can gain from their own links, given the choice above them.
//!
//! ToRs below the same switches that must keep the same number of paths can give up the same sets of links. For a group
//! of such ToRs, a node of the search therefore determines only which sets fit, and looks up what the group gains:
//! there are few different families of sets that fit, at most 168 with four switches.

use super::subset::{Item, Subset, heaviest};
use super::{Candidate, lower_switch};
use crate::network::Network;
use linkmend_topology::{LinkId, SwitchId};
use std::collections::BTreeMap;

/// Largest number of uplinks of a ToR in a group: a set of its uplinks is one bit of a u64.
const MAX_UPLINKS: usize = 6;

/// A ToR and the candidates among its own links.
struct Tor {
    switch: SwitchId,
    candidates: Vec<Candidate>,
}

/// ToRs below the same switches that must keep the same number of paths.
struct Group {
    /// The upper ends of their active links, one entry for each link.
    uppers: Vec<SwitchId>,
    required: u64,
    /// For each ToR and each set of uplinks: the weight gained by disabling the candidates among them.
    benefit: Vec<Vec<i128>>,
    /// What the group gains, by the family of sets that fit.
    known: BTreeMap<u64, i128>,
}

/// All ToRs of a zone that have candidates among their links.
pub(super) struct Gains {
    tors: Vec<Tor>,
    groups: Vec<Group>,
    /// ToRs with too many uplinks for a group, by index.
    single: Vec<usize>,
}

impl Gains {
    /// Takes the candidates that are ToRs' own links, those of each ToR in descending order of weight.
    pub(super) fn new(network: &Network, lower: &[Candidate]) -> Gains {
        let tors = tors(network, lower);
        let mut groups: BTreeMap<(Vec<SwitchId>, u64), Vec<Vec<i128>>> = BTreeMap::new();
        let mut single = Vec::new();
        for (index, tor) in tors.iter().enumerate() {
            let mut uplinks: Vec<(SwitchId, LinkId)> = network
                .topology()
                .up(tor.switch)
                .iter()
                .filter(|hop| network.paths().is_active(hop.link))
                .map(|hop| (hop.switch, hop.link))
                .collect();
            if uplinks.len() > MAX_UPLINKS {
                single.push(index);
                continue;
            }
            uplinks.sort_unstable();
            let uppers = uplinks.iter().map(|(upper, _)| *upper).collect();
            let key = (uppers, network.required(tor.switch));
            groups.entry(key).or_default().push(benefit(tor, &uplinks));
        }
        let group =
            |((uppers, required), benefit)| Group { uppers, required, benefit, known: BTreeMap::new() };
        Gains { groups: groups.into_iter().map(group).collect(), tors, single }
    }

    /// What all ToRs gain. A ToR that already has too few paths can spare only links that are not on any path.
    pub(super) fn total(&mut self, network: &Network) -> i128 {
        let grouped: i128 = self.groups.iter_mut().map(|group| group.gain(network)).sum();
        let single = self.single.iter().map(|&index| gain_of(network, &self.tors[index]).weight);
        grouped + single.sum::<i128>()
    }

    /// The links that all ToRs give up for this gain.
    pub(super) fn members(&self, network: &Network) -> Vec<LinkId> {
        let members = |tor: &Tor| {
            let taken = gain_of(network, tor).members;
            taken.into_iter().map(|place| tor.candidates[place].link).collect::<Vec<LinkId>>()
        };
        self.tors.iter().flat_map(members).collect()
    }
}

impl Group {
    fn gain(&mut self, network: &Network) -> i128 {
        let paths: Vec<u64> = self.uppers.iter().map(|&upper| network.paths().count(upper)).collect();
        let slack = paths.iter().sum::<u64>().saturating_sub(self.required);
        let mut fitting = 0_u64;
        for set in 0..1_usize << paths.len() {
            let cost: u64 = (0..paths.len()).filter(|bit| set >> bit & 1 == 1).map(|bit| paths[bit]).sum();
            fitting |= u64::from(cost <= slack) << set;
        }
        let benefit = &self.benefit;
        *self.known.entry(fitting).or_insert_with(|| {
            let best = |benefit: &Vec<i128>| {
                let fit = (0..benefit.len()).filter(|set| fitting >> set & 1 == 1).map(|set| benefit[set]);
                fit.max().unwrap_or(0)
            };
            benefit.iter().map(best).sum()
        })
    }
}

/// The weight gained by disabling the candidates of each set of uplinks.
fn benefit(tor: &Tor, uplinks: &[(SwitchId, LinkId)]) -> Vec<i128> {
    let weight = |link: LinkId| {
        let candidate = tor.candidates.iter().find(|candidate| candidate.link == link);
        candidate.map_or(0, |candidate| candidate.weight)
    };
    let weights: Vec<i128> = uplinks.iter().map(|(_, link)| weight(*link)).collect();
    (0..1_usize << weights.len())
        .map(|set| (0..weights.len()).filter(|bit| set >> bit & 1 == 1).map(|bit| weights[bit]).sum())
        .collect()
}

/// The largest gain of a ToR from its own links under the current choice, and the links that give it.
fn gain_of(network: &Network, tor: &Tor) -> Subset {
    let (topology, paths) = (network.topology(), network.paths());
    let slack = paths.count(tor.switch).saturating_sub(network.required(tor.switch));
    let item = |candidate: &Candidate| Item {
        weight: candidate.weight,
        paths: paths.count(topology.link(candidate.link).upper),
    };
    let items: Vec<Item> = tor.candidates.iter().map(item).collect();
    heaviest(&items, slack)
}

/// Groups candidates by ToR, each group in descending order of weight.
fn tors(network: &Network, lower: &[Candidate]) -> Vec<Tor> {
    let mut tors: Vec<Tor> = Vec::new();
    for &candidate in lower {
        let switch = lower_switch(network, candidate.link);
        match tors.iter_mut().find(|tor| tor.switch == switch) {
            Some(tor) => tor.candidates.push(candidate),
            None => tors.push(Tor { switch, candidates: vec![candidate] }),
        }
    }
    tors
}
