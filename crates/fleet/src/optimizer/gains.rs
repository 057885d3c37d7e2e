//! What all ToRs together can gain from their own links, under what is chosen above them.
//!
//! ToRs that hang on the same switches and must keep as many paths can give up the same sets of links. So of all ToRs of
//! such a group only the sets that fit are found out at a node of the search, and what the group gains is looked up: there
//! are few different families of sets that fit, at most 168 on four switches.

use super::subset::{Item, Subset, heaviest};
use super::{Candidate, lower_switch};
use crate::network::Network;
use linkmend_topology::{LinkId, SwitchId};
use std::collections::{BTreeMap, HashMap};

/// Most uplinks of a ToR in a group: its sets are bits of a u64.
const MAX_UPLINKS: usize = 6;

/// A ToR with its own candidates.
struct Tor {
    switch: SwitchId,
    candidates: Vec<Candidate>,
}

/// ToRs below the same switches.
struct Group {
    /// The upper ends of their active links, one for each link.
    uppers: Vec<SwitchId>,
    required: u64,
    /// For each ToR and set of uplinks, by bits, what disabling the candidates among them is worth.
    benefit: Vec<Vec<i128>>,
    /// What the group gains, by the sets that fit.
    known: HashMap<u64, i128>,
}

/// All ToRs of a zone that have candidates.
pub(super) struct Gains {
    tors: Vec<Tor>,
    groups: Vec<Group>,
    /// ToRs with too many uplinks for a group, by index.
    single: Vec<usize>,
}

impl Gains {
    /// From the candidates that are links of ToRs, each ToR's in falling weight.
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
            |((uppers, required), benefit)| Group { uppers, required, benefit, known: HashMap::new() };
        Gains { groups: groups.into_iter().map(group).collect(), tors, single }
    }

    /// What all ToRs gain. One that is short already can spare nothing but links that no path leads through.
    pub(super) fn total(&mut self, network: &Network) -> i128 {
        let grouped: i128 = self.groups.iter_mut().map(|group| group.gain(network)).sum();
        let single = self.single.iter().map(|&index| gain_of(network, &self.tors[index]).weight);
        grouped + single.sum::<i128>()
    }

    /// The links that all ToRs give up for that.
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
        let paths: Vec<u64> = self.uppers.iter().map(|&upper| network.paths().of(upper)).collect();
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

/// What disabling the candidates of each set of uplinks is worth.
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

/// What a ToR can gain from its own links under what is chosen, and which of them.
fn gain_of(network: &Network, tor: &Tor) -> Subset {
    let (topology, paths) = (network.topology(), network.paths());
    let slack = paths.of(tor.switch).saturating_sub(network.required(tor.switch));
    let item = |candidate: &Candidate| Item {
        weight: candidate.weight,
        paths: paths.of(topology.link(candidate.link).upper),
    };
    let items: Vec<Item> = tor.candidates.iter().map(item).collect();
    heaviest(&items, slack)
}

/// Groups candidates of ToRs, each group in falling weight.
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
