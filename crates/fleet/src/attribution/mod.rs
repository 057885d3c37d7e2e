//! Which links corrupt frames, and which only carry frames that were corrupted further up their path.
//!
//! A cut-through switch has begun to send a frame before it can know that the frame is corrupted. It passes the frame on
//! with a check sequence that is certainly wrong ("stomped"), so every port further down the path counts it as well. By
//! its own counters, a healthy link behind such a switch looks like one that corrupts.
//!
//! [`attribute`] finds the smallest set of sources that explains all counts. It knows the valley-free paths that frames
//! take, and two facts about loss rates:
//!
//! - Corruption does not choose frames by where they go. The share of bad frames on a link is therefore an average over
//!   the paths that lead to it, and not above the share on the source where the worst of them begins. Every link in
//!   between counts some of these frames.
//! - A switch that passes bad frames on does so on all links among which it divides its traffic. If most of them count
//!   nothing, or far less, a link corrupts frames itself.
//!
//! Which switches are cut-through is not known. The second fact therefore decides whom to blame, but not whom to disable:
//! a link that another could feed is at best [`Verdict::Uncertain`], however unlikely it is that it does.

mod flow;
#[cfg(test)]
mod tests;

use flow::{Direction, Flow};
use linkmend_topology::{LinkId, SwitchId, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// How far a measured loss rate may exceed that of the source of its bad frames. Long frames are corrupted more often than
/// short ones, and rates are not measured at the same moment.
const SLACK: f64 = 1.5;

/// What the ports of a link have counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counted {
    pub link: LinkId,
    /// Share of frames that arrive corrupted, 0 to 1; the higher one if the receiver is not known.
    pub loss_rate: f64,
    /// The switch whose port has counted it; `None` if it may be either.
    pub receiver: Option<SwitchId>,
}

/// What is known of a network's counters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// Links that count corrupted frames. One that does at both ends has an entry for each.
    pub links: Vec<Counted>,
    /// The highest share of corrupted frames that a switch receives over links outside the topology, like those of hosts.
    pub entering: BTreeMap<SwitchId, f64>,
    /// Links out of operation, so that their silence says nothing.
    pub disabled: BTreeSet<LinkId>,
    /// Directions of links of which nobody knows whether they corrupt, by the switches that receive: their silence says
    /// nothing either, so that what they lead to may be healthy.
    pub unjudged: BTreeSet<(LinkId, SwitchId)>,
    /// The loss rate from which on links are certainly among [`links`](Self::links).
    pub reported_from: f64,
}

/// Where bad frames may begin. The order breaks ties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Culprit {
    /// A link outside the topology, at this switch.
    Outside(SwitchId),
    Link(LinkId),
    /// A link of which nobody knows whether it corrupts.
    Unjudged(LinkId),
}

/// Whether a link corrupts frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It does: nothing upstream has counted enough.
    Source,
    /// It is blamed, but this one has counted enough to be the source, or is not judged.
    Uncertain(Culprit),
    /// It only carries bad frames, most of them from this source.
    Downstream(Culprit),
}

/// What is found out about a link that counts corrupted frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attribution {
    pub verdict: Verdict,
    /// The highest rate that it has counted in a direction in which it is blamed; for a victim, in any.
    pub loss_rate: f64,
}

/// Says of every link that counts corrupted frames whether it corrupts them.
pub fn attribute(topology: &Topology, counts: &Counts) -> BTreeMap<LinkId, Attribution> {
    let flow = Flow::new(topology, counts);
    // By descending rate, so that the first to reach a direction is the worst that does.
    let (mut by_sources, mut by_any) = (Reach::new(), Reach::new());
    let mut explained: BTreeMap<Direction, Option<Culprit>> = BTreeMap::new();
    for origin in flow.origins() {
        spread(&flow, origin, &mut by_any);
        let blamed = match origin {
            Culprit::Outside(_) => true,
            Culprit::Link(link) => explain(&flow, link, &by_sources, &mut explained),
            Culprit::Unjudged(_) => false,
        };
        if blamed {
            spread(&flow, origin, &mut by_sources);
        }
    }
    // After all others, so that a link that counts is named rather than one of which nothing is known.
    let mut by_unjudged = Reach::new();
    for origin in flow.unjudged() {
        spread(&flow, origin, &mut by_unjudged);
    }
    let doubts = [by_any, by_unjudged];
    flow.links().map(|link| (link, judge(&flow, link, &explained, &doubts))).collect()
}

/// How bad frames come to a direction.
#[derive(Debug, Clone, Copy)]
struct Reached {
    origin: Culprit,
    /// The link over which they come to the switch where the direction begins; `None` from outside the topology.
    over: Option<LinkId>,
}

type Reach = BTreeMap<Direction, Reached>;

/// Notes which directions the bad frames of an origin can reach that none of those before has reached, over links that count
/// bad frames.
fn spread(flow: &Flow<'_>, origin: Culprit, reach: &mut Reach) {
    let mut to_visit = Vec::new();
    let mut arrive = |direction: Direction, over, to_visit: &mut Vec<Direction>| {
        if let std::collections::btree_map::Entry::Vacant(place) = reach.entry(direction) {
            place.insert(Reached { origin, over });
            to_visit.push(direction);
        }
    };
    match origin {
        Culprit::Outside(switch) => {
            flow.leaving(switch).for_each(|direction| arrive(direction, None, &mut to_visit));
        }
        Culprit::Link(link) => to_visit.extend(flow.directions(link)),
        Culprit::Unjudged(link) => to_visit.extend(flow.unjudged_directions(link)),
    }
    while let Some(direction) = to_visit.pop() {
        flow.after(direction).for_each(|next| arrive(next, Some(direction.link), &mut to_visit));
    }
}

/// Whether a link is to be blamed: whether none of the sources so far, which all have higher rates, explains it.
fn explain(
    flow: &Flow<'_>,
    link: LinkId,
    sources: &Reach,
    explained: &mut BTreeMap<Direction, Option<Culprit>>,
) -> bool {
    let by = |direction: Direction| {
        let reached = sources.get(&direction)?;
        flow.is_level_with_its_siblings(direction, reached.over).then_some(reached.origin)
    };
    let mut all: Vec<(Direction, Option<Culprit>)> =
        flow.directions(link).map(|direction| (direction, by(direction))).collect();
    // Where it is not known which end has counted, one explanation is enough.
    if !flow.has_known_receiver(link) && all.iter().any(|(_, by)| by.is_some()) {
        all.retain(|(_, by)| by.is_some());
    }
    let is_blamed = all.iter().any(|(_, by)| by.is_none());
    explained.extend(all);
    is_blamed
}

fn judge(
    flow: &Flow<'_>,
    link: LinkId,
    explained: &BTreeMap<Direction, Option<Culprit>>,
    doubts: &[Reach],
) -> Attribution {
    let worst = |one: Direction, other: Direction| flow.rate(one).total_cmp(&flow.rate(other));
    let of_link = || {
        flow.directions(link)
            .filter_map(|direction| explained.get(&direction).map(|origin| (direction, *origin)))
    };
    let blamed = || of_link().filter(|(_, origin)| origin.is_none()).map(|(direction, _)| direction);
    if let Some(direction) = blamed().max_by(|one, other| worst(*one, *other)) {
        let doubt = doubts
            .iter()
            .flat_map(|reach| blamed().map(move |direction| (reach, direction)))
            .find_map(|(reach, direction)| {
                let reached = reach.get(&direction)?;
                (flow.rate(direction) <= SLACK * flow.rate_of(reached.origin)).then_some(reached.origin)
            });
        let verdict = doubt.map_or(Verdict::Source, Verdict::Uncertain);
        return Attribution { verdict, loss_rate: flow.rate(direction) };
    }
    let (direction, origin) = of_link()
        .max_by(|(one, _), (other, _)| worst(*one, *other))
        .expect("a link that has counted is blamed or explained");
    let origin = origin.expect("nobody is blamed here");
    Attribution { verdict: Verdict::Downstream(origin), loss_rate: flow.rate(direction) }
}
