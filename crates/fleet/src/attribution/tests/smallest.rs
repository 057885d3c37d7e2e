//! The set of sources beside a search through all sets.

use crate::attribution::{Counted, Counts, Culprit, Verdict, attribute};
use linkmend_random::Random;
use linkmend_topology::{LinkId, SwitchId, Topology, fat_tree, leaf_spine};
use std::collections::BTreeMap;

/// Whether bad frames of `from` can come to `to` over links that count some, on a path without a valley. Follows all paths.
fn comes_to(topology: &Topology, rates: &BTreeMap<LinkId, f64>, from: LinkId, to: LinkId) -> bool {
    fn goes_on(
        topology: &Topology,
        rates: &BTreeMap<LinkId, f64>,
        (at, came_from, climbs): (SwitchId, SwitchId, bool),
        to: LinkId,
    ) -> bool {
        rates.keys().any(|&link| {
            let ends = topology.link(link);
            let up = climbs && ends.lower == at && ends.upper != came_from;
            let down = ends.upper == at && ends.lower != came_from;
            let is_there = (up || down) && link == to;
            is_there
                || up && goes_on(topology, rates, (ends.upper, at, true), to)
                || down && goes_on(topology, rates, (ends.lower, at, false), to)
        })
    }
    let ends = topology.link(from);
    goes_on(topology, rates, (ends.upper, ends.lower, true), to)
        || goes_on(topology, rates, (ends.lower, ends.upper, false), to)
}

/// Links that are not counted are out of operation, and rates are alike, so that siblings never say anything.
fn draw(random: &mut Random) -> (Topology, BTreeMap<LinkId, f64>) {
    let topology = if random.uniform() < 0.5 { fat_tree(4, 1) } else { leaf_spine(4, 3, 1) };
    let topology = topology.expect("a network");
    let mut rates = BTreeMap::new();
    for _ in 0..8 {
        let link = LinkId((random.uniform() * topology.link_count() as f64) as u32);
        rates.insert(link, 1e-3 * (1.0 + 0.9 * random.uniform()));
    }
    (topology, rates)
}

#[test]
fn no_smaller_set_of_sources_explains_all_counts() {
    let mut several = 0;
    for seed in 0..300 {
        let (topology, rates) = draw(&mut Random::new(seed, "smallest"));
        let links: Vec<LinkId> = rates.keys().copied().collect();
        let explains = |source: LinkId, link: LinkId| {
            rates[&source] >= rates[&link] && comes_to(&topology, &rates, source, link)
        };
        let is_enough = |set: &u32| {
            let chosen = |place: usize| set & (1 << place) != 0;
            links.iter().enumerate().all(|(place, &link)| {
                chosen(place)
                    || (0..links.len()).any(|source| chosen(source) && explains(links[source], link))
            })
        };
        let fewest = (0..1_u32 << links.len()).filter(is_enough).map(u32::count_ones).min();
        let counted = |(&link, &loss_rate): (&LinkId, &f64)| Counted { link, loss_rate, receiver: None };
        let counts = Counts {
            links: rates.iter().map(counted).collect(),
            disabled: topology.links().filter(|link| !rates.contains_key(link)).collect(),
            ..Counts::default()
        };
        let verdicts = attribute(&topology, &counts);
        let mut sources = 0;
        for (&link, attribution) in &verdicts {
            match attribution.verdict {
                Verdict::Downstream(Culprit::Link(source)) => {
                    assert!(explains(source, link), "seed {seed}: {source:?} does not explain {link:?}");
                    let is_blamed = !matches!(verdicts[&source].verdict, Verdict::Downstream(_));
                    assert!(is_blamed, "seed {seed}");
                }
                _ => sources += 1,
            }
        }
        assert_eq!((verdicts.len(), Some(sources)), (links.len(), fewest), "seed {seed}: {verdicts:?}");
        several += u32::from(sources > 1 && sources < links.len() as u32);
    }
    assert!(several > 100, "{several}");
}
