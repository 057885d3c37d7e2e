//! Names of links: derived where a file gives none, and checked so that each means one link.

use super::error::TopologyFault;
use super::some_of::some_of;
use crate::link_name::{BETWEEN, Closeness, Reader};
use crate::{LinkId, Names, SwitchId, Topology};
use std::collections::BTreeMap;

/// Names links without a name after their ends and ports, in the order in which the file has them. `first` is the end that
/// it names first.
pub(super) fn derive(topology: &mut Topology, first: impl Fn(LinkId) -> SwitchId) {
    let Names::Given { links, .. } = &topology.names else { return };
    let nameless: Vec<usize> = (0..links.len()).filter(|&number| links[number].is_empty()).collect();
    let derived: Vec<String> = nameless
        .iter()
        .map(|&number| LinkId(number as u32))
        .map(|link| topology.ends_from(link, first(link)))
        .collect();
    if let Names::Given { links, .. } = &mut topology.names {
        nameless.into_iter().zip(derived).for_each(|(number, name)| links[number] = name);
    }
}

/// Two links of one name, the later one first.
pub(super) fn twice(topology: &Topology) -> Option<[LinkId; 2]> {
    let Names::Given { links, .. } = &topology.names else { return None };
    let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
    links.iter().enumerate().find_map(|(number, name)| {
        let first = first_of.insert(name, number)?;
        Some([number, first].map(|number| LinkId(number as u32)))
    })
}

/// A link whose name also describes the ends of others. A file that uses it may mean either.
pub(super) fn misleading(topology: &Topology) -> Option<(LinkId, TopologyFault)> {
    let reader = Reader::new(topology);
    let plain = topology.switches().all(|switch| {
        let name = topology.names().switch(switch);
        !name.contains([':', '/', '#']) && !name.contains(BETWEEN)
    });
    let Names::Given { links, .. } = &topology.names else { return None };
    links.iter().zip(topology.links()).find_map(|(name, link)| {
        if !name.contains([':', '/']) && !name.contains(BETWEEN) {
            return None;
        }
        // Among plain names, those of a link's own ends can mean no other. Most names are of this kind.
        let ends = topology.link(link);
        if plain && [ends.lower, ends.upper].iter().any(|&first| *name == topology.ends_from(link, first)) {
            return None;
        }
        let others: Vec<LinkId> =
            reader.links(name, Closeness::Exact).into_iter().filter(|other| *other != link).collect();
        let means: Vec<String> = others.iter().map(|&other| topology.ends_of(other)).collect();
        (!others.is_empty())
            .then(|| (link, TopologyFault::NameOfEnds { name: name.clone(), means: some_of(&means) }))
    })
}
