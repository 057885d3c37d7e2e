//! What all ToRs together can gain from their own links, given the choice above them.
//!
//! ToRs below the same switches that must keep and reach the same can give up the same sets of links. For a group of such ToRs, a node
//! of the search therefore determines only which sets fit, and looks up what the group gains: there are few different
//! families of sets that fit, at most 168 with four switches.

use super::demand::Trackers;
use super::keeping::heaviest_keeping;
use super::subset::{Cost, Item, Subset, fits, sum};
use super::{Candidate, lower_switch};
use crate::network::Network;
use linkmend_topology::{LinkId, SwitchId};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of uplinks of a ToR in a group: a set of its uplinks is one bit of a u64.
const MAX_UPLINKS: usize = 6;

/// A ToR and the candidates among its own links.
struct Tor {
    switch: SwitchId,
    candidates: Vec<Candidate>,
    /// What it must reach, as indices of the trackers.
    demands: Vec<usize>,
}

/// What ToRs have in common that can give up the same sets of links.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    /// The upper ends of their active links, one entry for each link, and how fast it is.
    uppers: Vec<(SwitchId, u64)>,
    required: [u64; 2],
    demands: Vec<usize>,
}

/// ToRs of one kind.
struct Group {
    kind: Kind,
    /// The active links up of one of them, in the order of its kind.
    links: Vec<LinkId>,
    /// For each ToR and each set of uplinks: the weight gained by disabling the candidates among them.
    benefit: Vec<Vec<i128>>,
    /// What the group gains, by the family of sets that fit.
    known: BTreeMap<u64, i128>,
}

/// What ToRs gain by a choice of their own links, and what no choice exceeds. The two differ where the search for a ToR's
/// choice was cut short.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gain {
    pub(super) found: i128,
    pub(super) most: i128,
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
    pub(super) fn new(network: &Network, trackers: &Trackers, lower: &[Candidate]) -> Gains {
        let tors = tors(network, trackers, lower);
        let mut groups: BTreeMap<Kind, Group> = BTreeMap::new();
        let mut single = Vec::new();
        for (index, tor) in tors.iter().enumerate() {
            let mut uplinks = uplinks(network, tor);
            if uplinks.len() > MAX_UPLINKS {
                single.push(index);
                continue;
            }
            uplinks.sort_unstable();
            let kind = Kind {
                uppers: uplinks.iter().map(|uplink| (uplink.upper, uplink.weight)).collect(),
                required: network.must_keep(tor.switch),
                demands: tor.demands.clone(),
            };
            let links = uplinks.iter().map(|uplink| uplink.link).collect();
            let new = || Group { kind: kind.clone(), links, benefit: Vec::new(), known: BTreeMap::new() };
            groups.entry(kind.clone()).or_insert_with(new).benefit.push(benefit(tor, &uplinks));
        }
        Gains { groups: groups.into_values().collect(), tors, single }
    }

    /// What all ToRs gain. A ToR that already has too few paths can spare only links that are not on any path.
    pub(super) fn total(&mut self, network: &Network, trackers: &Trackers) -> Gain {
        let grouped = self.groups.iter_mut().map(|group| group.gain(network, trackers)).sum();
        let mut total = Gain { found: grouped, most: grouped };
        for &index in &self.single {
            let (subset, most) = gain_of(network, trackers, &self.tors[index]);
            total.found += subset.weight;
            total.most += most;
        }
        total
    }

    /// How many groups and ToRs are asked for the total.
    pub(super) fn count(&self) -> u64 {
        (self.groups.len() + self.single.len()) as u64
    }

    /// All candidates.
    pub(super) fn candidates(&self) -> impl Iterator<Item = Candidate> + '_ {
        self.tors.iter().flat_map(|tor| tor.candidates.iter().copied())
    }

    /// The links that all ToRs give up for this gain.
    pub(super) fn members(&self, network: &Network, trackers: &Trackers) -> Vec<LinkId> {
        let members = |tor: &Tor| {
            let taken = gain_of(network, trackers, tor).0.members;
            taken.into_iter().map(|place| tor.candidates[place].link).collect::<Vec<LinkId>>()
        };
        self.tors.iter().flat_map(members).collect()
    }
}

impl Group {
    fn gain(&mut self, network: &Network, trackers: &Trackers) -> i128 {
        let Kind { uppers, required, demands } = &self.kind;
        let costs: Vec<Cost> = self.links.iter().map(|&link| network.brings(link)).collect();
        let all = costs.iter().fold([0; 2], |all, cost| sum(all, *cost));
        let slack = [0, 1].map(|of| all[of].saturating_sub(required[of]));
        // For each demand, the uplinks that meet it.
        let topology = network.topology();
        let meeting = |demand: &usize| {
            let meets = |place: &usize| trackers.reaches(topology, *demand, uppers[*place].0);
            (0..uppers.len()).filter(meets).fold(0_usize, |set, place| set | 1 << place)
        };
        let meeting: Vec<usize> = demands.iter().map(meeting).collect();
        let mut fitting = 0_u64;
        let mut spent = [[0; 2]; 1 << MAX_UPLINKS];
        for set in 0..1_usize << costs.len() {
            if set > 0 {
                spent[set] = sum(spent[set & (set - 1)], costs[set.trailing_zeros() as usize]);
            }
            let fits = fits(spent[set], slack) && meeting.iter().all(|meeting| meeting & !set != 0);
            fitting |= u64::from(fits) << set;
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

/// An active link up of a ToR.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Uplink {
    upper: SwitchId,
    /// How many links it counts as where capacity counts.
    weight: u64,
    link: LinkId,
}

fn uplinks(network: &Network, tor: &Tor) -> Vec<Uplink> {
    let up = network.topology().up(tor.switch).iter();
    let weight = |link| network.shares().map_or(1, |shares| shares.weight(link));
    up.filter(|hop| network.paths().is_active(hop.link))
        .map(|hop| Uplink { upper: hop.switch, weight: weight(hop.link), link: hop.link })
        .collect()
}

/// The weight gained by disabling the candidates of each set of uplinks.
fn benefit(tor: &Tor, uplinks: &[Uplink]) -> Vec<i128> {
    let weight = |uplink: &Uplink| {
        let candidate = tor.candidates.iter().find(|candidate| candidate.link == uplink.link);
        candidate.map_or(0, |candidate| candidate.weight)
    };
    let weights: Vec<i128> = uplinks.iter().map(weight).collect();
    (0..1_usize << weights.len())
        .map(|set| (0..weights.len()).filter(|bit| set >> bit & 1 == 1).map(|bit| weights[bit]).sum())
        .collect()
}

/// The largest gain of a ToR from its own links under the current choice that was found, and what none exceeds.
fn gain_of(network: &Network, trackers: &Trackers, tor: &Tor) -> (Subset, i128) {
    let topology = network.topology();
    let slack = network.slack(tor.switch);
    let upper = |candidate: &Candidate| topology.link(candidate.link).upper;
    let item =
        |candidate: &Candidate| Item { weight: candidate.weight, cost: network.brings(candidate.link) };
    let items: Vec<Item> = tor.candidates.iter().map(item).collect();
    if tor.demands.is_empty() {
        return heaviest_keeping(&items, slack, &[]);
    }
    let candidates: BTreeSet<LinkId> = tor.candidates.iter().map(|candidate| candidate.link).collect();
    let staying: Vec<SwitchId> = uplinks(network, tor)
        .into_iter()
        .filter(|uplink| !candidates.contains(&uplink.link))
        .map(|uplink| uplink.upper)
        .collect();
    // The demands that depend on candidates, each as the candidates that meet it.
    let open = tor
        .demands
        .iter()
        .filter(|demand| !staying.iter().any(|upper| trackers.reaches(topology, **demand, *upper)));
    let keep: Vec<Vec<usize>> = open
        .map(|&demand| {
            let meets = |place: &usize| trackers.reaches(topology, demand, upper(&tor.candidates[*place]));
            (0..items.len()).filter(meets).collect()
        })
        .collect();
    heaviest_keeping(&items, slack, &keep)
}

/// Groups candidates by ToR, each group in descending order of weight.
fn tors(network: &Network, trackers: &Trackers, lower: &[Candidate]) -> Vec<Tor> {
    let mut tors: Vec<Tor> = Vec::new();
    for &candidate in lower {
        let switch = lower_switch(network, candidate.link);
        match tors.iter_mut().find(|tor| tor.switch == switch) {
            Some(tor) => tor.candidates.push(candidate),
            None => {
                let demands = trackers.of(network.topology(), switch);
                tors.push(Tor { switch, candidates: vec![candidate], demands });
            }
        }
    }
    tors
}
