//! A bound on what links weigh that can be disabled together: what a ToR can spare has a price.
//!
//! A ToR may lose so many paths, and a disabled link costs it the paths that lead over it. A path that leads over two disabled links is
//! lost once, so each path's loss is shared out: a link above the ToRs bears a share of what the links above it leave, and the ToR's
//! own link bears the rest. Then the shares of all disabled links add up to no more than the paths that are lost, whatever the links and
//! the shares. With a price for each ToR's paths, no choice therefore weighs more than
//!
//! - the price of all that ToRs may lose, and
//! - for each ToR, the most that its own links can weigh beyond the price of what they bear, among those sets that it could spare alone, and
//! - for each candidate above the ToRs, what it weighs beyond the price of what it bears, if anything.
//!
//! Capacity by speeds counts like paths, with links that count as several, and has prices of its own. This is Lagrange's relaxation of the
//! constraint. [`Prices`] may have any values; [`slope`](super::slope) finds better ones. The bound is computed in integers.

use super::Candidate;
use super::subset::{Cost, fits, sum};
use crate::network::Network;
use linkmend_topology::{LinkId, ZoneId};
use std::collections::BTreeMap;

/// Binary digits behind the point of a share of a path.
const SHARE_BITS: u32 = 20;
const WHOLE: u128 = 1 << SHARE_BITS;
/// The most own links of a ToR of which every set is tried.
const MAX_SETS_OF: usize = 10;

/// Prices of what ToRs can spare, and the share of each candidate above the ToRs.
#[derive(Debug, Clone)]
pub(super) struct Prices {
    /// For each switch of the zone, of a path and of a unit of capacity; 0 above the ToRs.
    pub(super) of: Vec<[f64; 2]>,
    /// For each candidate above the ToRs; 0 to 1.
    pub(super) share: Vec<f64>,
}

/// A link up.
pub(super) struct Way {
    link: LinkId,
    /// The place of its upper switch, unless that is in the top layer.
    pub(super) upper: Option<usize>,
    weight: i128,
    /// The weight in units of the greatest.
    pub(super) relative: f64,
    /// How many links it counts as, where paths and where capacity count.
    pub(super) times: Cost,
    /// The number of a candidate above the ToRs.
    pub(super) open: Option<usize>,
}

/// A zone as a bound needs it.
pub(super) struct Relaxation {
    zone: ZoneId,
    /// The places of the zone, the highest layer first, each with its ways up.
    pub(super) ways: Vec<Vec<Way>>,
    pub(super) is_tor: Vec<bool>,
    /// The greatest weight.
    pub(super) unit: f64,
    /// What of paths and capacity makes a unit, so that a ToR has about as much of both.
    pub(super) units: [f64; 2],
    /// Whether capacity counts beside paths.
    pub(super) measures: usize,
    /// The numbers of candidates above the ToRs.
    numbers: BTreeMap<LinkId, usize>,
    /// What ToRs can spare now.
    pub(super) slack: Vec<Cost>,
    /// Which ways are active now, and what they bring.
    pub(super) active: Vec<Vec<Option<Cost>>>,
}

/// A bound, and what each candidate above the ToRs adds to it.
pub(super) struct Bound {
    pub(super) most: i128,
    /// What a candidate weighs beyond its price, by number. Without a candidate for which that is positive, no choice weighs more than
    /// `most` less this; with one for which it is negative, no more than `most` and this.
    pub(super) beyond: Vec<i128>,
}

impl Relaxation {
    pub(super) fn new(
        network: &Network,
        zone: ZoneId,
        upper: impl Iterator<Item = Candidate>,
        own: impl Iterator<Item = Candidate>,
    ) -> Relaxation {
        let topology = network.topology();
        let installed = topology.installed();
        let upper: Vec<Candidate> = upper.collect();
        let numbers: BTreeMap<LinkId, usize> =
            upper.iter().enumerate().map(|(number, candidate)| (candidate.link, number)).collect();
        let weights: BTreeMap<LinkId, i128> =
            upper.iter().copied().chain(own).map(|candidate| (candidate.link, candidate.weight)).collect();
        let unit = weights.values().max().map_or(1.0, |weight| *weight as f64);
        let places = installed.switches_of(zone);
        let way = |link: LinkId| {
            let above = topology.link(link).upper;
            let weight = weights.get(&link).copied().unwrap_or(0);
            Way {
                link,
                upper: topology.switch(above).zone.map(|_| installed.place(above)),
                weight,
                relative: weight as f64 / unit,
                times: [1, network.shares().map_or(0, |shares| shares.weight(link))],
                open: numbers.get(&link).copied(),
            }
        };
        let is_active = |link: &LinkId| network.paths().is_active(*link);
        let ways = places.iter().map(|place| {
            topology.up(*place).iter().map(|hop| hop.link).filter(is_active).map(way).collect::<Vec<Way>>()
        });
        let is_tor: Vec<bool> = places.iter().map(|place| topology.switch(*place).layer == 0).collect();
        let tors = || places.iter().filter(|place| topology.switch(**place).layer == 0);
        let paths: f64 = tors().map(|tor| network.paths().count(*tor) as f64).sum();
        let capacity = |shares: &crate::network::Shares| tors().map(|tor| shares.count(*tor) as f64).sum();
        let capacity: f64 = network.shares().map_or(paths, capacity);
        let mut relaxation = Relaxation {
            zone,
            ways: ways.collect(),
            is_tor,
            unit,
            units: [1.0, (capacity / paths).max(1.0)],
            measures: if network.shares().is_some() { 2 } else { 1 },
            numbers,
            slack: Vec::new(),
            active: Vec::new(),
        };
        relaxation.look_at(network);
        relaxation
    }

    /// The number of a candidate above the ToRs.
    pub(super) fn number(&self, link: LinkId) -> usize {
        self.numbers[&link]
    }

    /// How many links a bound looks at.
    pub(super) fn size(&self) -> u64 {
        self.ways.iter().map(|ways| ways.len() as u64 + 1).sum::<u64>() * self.measures as u64
    }

    /// Prices that ask nothing for a path.
    pub(super) fn free(&self) -> Prices {
        Prices { of: vec![[0.0; 2]; self.ways.len()], share: vec![0.5; self.numbers.len()] }
    }

    /// Takes the network as it is now. The links removed in it are no longer part of the choice.
    pub(super) fn look_at(&mut self, network: &Network) {
        let places = network.topology().installed().switches_of(self.zone);
        self.slack.clear();
        self.slack.extend(places.iter().map(|place| network.slack(*place)));
        self.active.clear();
        let bring = |way: &Way| network.paths().is_active(way.link).then(|| network.brings(way.link));
        self.active.extend(self.ways.iter().map(|ways| ways.iter().map(bring).collect()));
    }

    /// The active ways up from a place, each with its index and what it brings.
    pub(super) fn up(&self, place: usize) -> impl Iterator<Item = (usize, &Way, Cost)> {
        let ways = self.ways[place].iter().zip(&self.active[place]).enumerate();
        ways.filter_map(|(index, (way, brings))| Some((index, way, (*brings)?)))
    }

    /// The bound that these prices give for a choice among the candidates that are `open`, beside what is removed already. `None` if a
    /// number does not fit.
    pub(super) fn bound(&self, prices: &Prices, open: &[bool]) -> Option<Bound> {
        let mut charged = Charges { own: Vec::new(), upper: vec![0; prices.share.len()], all: 0 };
        for of in 0..self.measures {
            self.charge(prices, open, of, &mut charged)?;
        }
        let mut bound = Bound { most: charged.all, beyond: vec![0; prices.share.len()] };
        let mut own = charged.own.iter();
        for place in (0..self.ways.len()).filter(|place| self.is_tor[*place]) {
            let mut items = Vec::new();
            for (index, way, cost) in self.up(place) {
                let charged = own.next().copied().unwrap_or(0);
                let beyond = way.weight.saturating_sub(charged);
                if beyond > 0 {
                    items.push((index, beyond, cost));
                }
            }
            bound.most = bound.most.checked_add(heaviest_set(&items, self.slack[place]).0)?;
        }
        for place in (0..self.ways.len()).filter(|place| !self.is_tor[*place]) {
            for (_, way, _) in self.up(place) {
                let Some(number) = way.open.filter(|number| open[*number]) else { continue };
                bound.beyond[number] = way.weight.saturating_sub(charged.upper[number]);
                bound.most = bound.most.checked_add(bound.beyond[number].max(0))?;
            }
        }
        Some(bound)
    }

    /// Adds what links are charged for what they cost of one measure.
    fn charge(&self, prices: &Prices, open: &[bool], of: usize, charges: &mut Charges) -> Option<()> {
        let places = self.ways.len();
        // What is left for the links below each switch, in parts of a path.
        let mut left = vec![0_u128; places];
        let reaches = |left: &[u128], way: &Way| {
            way.upper.map_or(WHOLE, |upper| left[upper]).saturating_mul(u128::from(way.times[of]))
        };
        let bears = |left: &[u128], way: &Way| match way.open {
            Some(number) if open[number] => {
                let share = (prices.share[number] * WHOLE as f64) as u128;
                reaches(left, way).saturating_mul(share) >> SHARE_BITS
            }
            _ => 0,
        };
        for place in (0..places).filter(|place| !self.is_tor[*place]) {
            left[place] = self.up(place).map(|(_, way, _)| reaches(&left, way) - bears(&left, way)).sum();
        }
        let mut price = vec![0_i128; places];
        let mut own = 0;
        for place in (0..places).filter(|place| self.is_tor[*place]) {
            price[place] = (prices.of[place][of] / self.units[of] * self.unit / WHOLE as f64) as i128;
            let spare = i128::from(self.slack[place][of]).checked_mul(WHOLE as i128)?;
            charges.all = charges.all.checked_add(price[place].checked_mul(spare)?)?;
            for (_, way, _) in self.up(place) {
                let charged = price[place].saturating_mul(reaches(&left, way) as i128);
                if charges.own.len() == own {
                    charges.own.push(0);
                }
                charges.own[own] = charged.saturating_add(charges.own[own]);
                own += 1;
            }
        }
        // The lowest first, so that every switch has its price before the switches above it get theirs.
        for place in (0..places).rev() {
            for (_, way, _) in self.up(place) {
                if let Some(number) = way.open.filter(|number| open[*number]) {
                    let charged = price[place].saturating_mul(bears(&left, way) as i128);
                    charges.upper[number] = charged.saturating_add(charges.upper[number]);
                }
                if let Some(upper) = way.upper {
                    let more = price[place].saturating_mul(i128::from(way.times[of]));
                    price[upper] = price[upper].saturating_add(more);
                }
            }
        }
        Some(())
    }
}

/// What links are charged.
struct Charges {
    /// Active links of ToRs, in the order of places.
    own: Vec<i128>,
    /// Candidates above the ToRs, by number.
    upper: Vec<i128>,
    /// What all that ToRs can spare costs.
    all: i128,
}

/// The heaviest set of items, each with its index, weight and cost, that costs at most `slack`, or a weight that is greater, and which
/// indices are in it.
pub(super) fn heaviest_set<W>(items: &[(usize, W, Cost)], slack: Cost) -> (W, u64)
where
    W: Copy + PartialOrd + std::ops::Add<Output = W> + Default,
{
    let all = items.iter().fold((W::default(), [0; 2], 0_u64), |(weight, cost, set), item| {
        (weight + item.1, sum(cost, item.2), set | bit(item.0))
    });
    if fits(all.1, slack) || items.len() > MAX_SETS_OF {
        return (all.0, all.2);
    }
    let mut best = (W::default(), 0);
    try_sets(items, slack, (W::default(), 0), &mut best);
    best
}

fn try_sets<W>(items: &[(usize, W, Cost)], slack: Cost, so_far: (W, u64), best: &mut (W, u64))
where
    W: Copy + PartialOrd + std::ops::Add<Output = W> + Default,
{
    if so_far.0 > best.0 {
        *best = so_far;
    }
    for (place, &(index, weight, cost)) in items.iter().enumerate() {
        if fits(cost, slack) {
            let left = [slack[0] - cost[0], slack[1] - cost[1]];
            try_sets(&items[place + 1..], left, (so_far.0 + weight, so_far.1 | bit(index)), best);
        }
    }
}

/// Sets of ways know the first 64 only. The slope of a bound need not be exact.
fn bit(index: usize) -> u64 {
    1_u64.checked_shl(index as u32).unwrap_or(0)
}
