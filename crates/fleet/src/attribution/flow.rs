//! Where frames go after a link, and what its ports have counted.

use super::{Counts, Culprit};
use linkmend_topology::{Hop, Link, LinkId, SwitchId, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// How far a link's rate may exceed the middle of those beside it if all of them carry the same bad frames. Flows are
/// divided among the links up by chance, and among those down by where they go.
const UNEVEN_UP: f64 = 2.0;
const UNEVEN_DOWN: f64 = 16.0;
/// How far it may exceed the highest of them.
const ABOVE_ALL: f64 = 3.0;

/// One of the two directions of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Direction {
    pub link: LinkId,
    /// Whether frames go to the upper switch.
    pub up: bool,
}

/// The counts of a network by direction.
pub(super) struct Flow<'a> {
    topology: &'a Topology,
    counts: &'a Counts,
    /// Where the receiver is not known, the loss rate stands at both directions.
    rates: BTreeMap<Direction, f64>,
    known_receiver: BTreeSet<LinkId>,
}

impl<'a> Flow<'a> {
    pub fn new(topology: &'a Topology, counts: &'a Counts) -> Flow<'a> {
        let mut rates = BTreeMap::new();
        for counted in &counts.links {
            let Link { lower, upper, .. } = *topology.link(counted.link);
            for (receiver, up) in [(lower, false), (upper, true)] {
                if counted.receiver.is_none_or(|counting| counting == receiver) {
                    rates.insert(Direction { link: counted.link, up }, counted.loss_rate);
                }
            }
        }
        let known = counts.links.iter().filter(|counted| counted.receiver.is_some());
        let known_receiver = known.map(|counted| counted.link).collect();
        Flow { topology, counts, rates, known_receiver }
    }

    /// The links that have counted something, in order.
    pub fn links(&self) -> impl Iterator<Item = LinkId> {
        let links: BTreeSet<LinkId> = self.rates.keys().map(|direction| direction.link).collect();
        links.into_iter()
    }

    /// Everything from which bad frames may come, the highest rate first.
    pub fn origins(&self) -> Vec<Culprit> {
        let outside = self.counts.entering.keys().map(|&switch| Culprit::Outside(switch));
        let mut origins: Vec<Culprit> = outside.chain(self.links().map(Culprit::Link)).collect();
        origins
            .sort_by(|one, other| self.rate_of(*other).total_cmp(&self.rate_of(*one)).then(one.cmp(other)));
        origins
    }

    pub fn rate_of(&self, origin: Culprit) -> f64 {
        match origin {
            Culprit::Outside(switch) => self.counts.entering.get(&switch).copied().unwrap_or(0.0),
            Culprit::Link(link) => {
                self.directions(link).map(|direction| self.rate(direction)).fold(0.0, f64::max)
            }
            Culprit::Unjudged(_) => f64::INFINITY,
        }
    }

    /// The directions of a link in which bad frames were counted, or may have been.
    pub fn directions(&self, link: LinkId) -> impl Iterator<Item = Direction> + use<> {
        let both = [false, true].map(|up| Direction { link, up });
        let counted = both.map(|direction| self.rates.contains_key(&direction).then_some(direction));
        counted.into_iter().flatten()
    }

    /// The links of which nobody knows whether they corrupt, in order.
    pub fn unjudged(&self) -> impl Iterator<Item = Culprit> {
        let links: BTreeSet<LinkId> = self.counts.unjudged.iter().map(|(link, _)| *link).collect();
        links.into_iter().map(Culprit::Unjudged)
    }

    /// The directions of a link of which nobody knows whether it corrupts in them.
    pub fn unjudged_directions(&self, link: LinkId) -> impl Iterator<Item = Direction> + use<> {
        let Link { lower, upper, .. } = *self.topology.link(link);
        let unjudged = [(lower, false), (upper, true)].map(|(receiver, up)| {
            self.counts.unjudged.contains(&(link, receiver)).then_some(Direction { link, up })
        });
        unjudged.into_iter().flatten()
    }

    pub fn rate(&self, direction: Direction) -> f64 {
        self.rates.get(&direction).copied().unwrap_or(0.0)
    }

    pub fn has_known_receiver(&self, link: LinkId) -> bool {
        self.known_receiver.contains(&link)
    }

    /// The directions with bad frames that begin at a switch.
    pub fn leaving(&self, switch: SwitchId) -> impl Iterator<Item = Direction> {
        self.counting(self.topology.up(switch), true)
            .chain(self.counting(self.topology.down(switch), false))
            .map(|(direction, _)| direction)
    }

    /// The directions with bad frames that frames of a direction may take next. What has come down does not go up again, and
    /// nothing turns back.
    pub fn after(&self, direction: Direction) -> impl Iterator<Item = Direction> {
        let (from, to) = self.ends(direction);
        // What comes from a peer has not come down.
        let goes_up = direction.up || self.topology.is_peer(direction.link);
        let up = if goes_up { self.topology.up(to) } else { &[] };
        self.counting(up, true)
            .chain(self.counting(self.topology.down(to), false))
            .filter(move |(_, switch)| *switch != from)
            .map(|(direction, _)| direction)
    }

    fn counting(&self, hops: &'a [Hop], up: bool) -> impl Iterator<Item = (Direction, SwitchId)> {
        hops.iter()
            .map(move |hop| (Direction { link: hop.link, up }, hop.switch))
            .filter(|(direction, _)| self.rates.contains_key(direction))
    }

    /// Whether a direction carries about as many bad frames as those among which its switch divides what comes `over` a
    /// link.
    pub fn is_level_with_its_siblings(&self, direction: Direction, over: Option<LinkId>) -> bool {
        let (from, _) = self.ends(direction);
        let is_from_below = over.is_none_or(|over| self.topology.link(over).upper == from);
        let up = if is_from_below { self.topology.up(from) } else { &[] };
        let down = if direction.up { &[] } else { self.topology.down(from) };
        let all = up.iter().map(|hop| (hop.link, true)).chain(down.iter().map(|hop| (hop.link, false)));
        let mut siblings: Vec<f64> = all
            .filter(|&(link, _)| link != direction.link && Some(link) != over)
            .filter(|(link, _)| !self.counts.disabled.contains(link))
            .map(|(link, up)| self.rate(Direction { link, up }).max(self.counts.reported_from))
            .collect();
        siblings.sort_by(f64::total_cmp);
        let Some(&highest) = siblings.last() else { return true };
        let middle = siblings[(siblings.len() - 1) / 2];
        let uneven = if direction.up { UNEVEN_UP } else { UNEVEN_DOWN };
        let rate = self.rate(direction);
        rate <= uneven * middle && rate <= ABOVE_ALL * highest
    }

    /// Where a direction begins and ends.
    fn ends(&self, direction: Direction) -> (SwitchId, SwitchId) {
        let Link { lower, upper, .. } = *self.topology.link(direction.link);
        if direction.up { (lower, upper) } else { (upper, lower) }
    }
}
