//! Finds the link that a name means.

use super::error::FindError;
use super::reading::{Closeness, End, Reader, halves, with_place};
use crate::{LinkId, SwitchId, Topology, ZoneId};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// How many links of a pod or switch a message names before it counts the others.
const MAX_NAMED: usize = 4;
/// The same of links that a name may mean, of which one is to be chosen.
const MAX_CANDIDATES: usize = 8;

/// Finds links of one network by the names in the module's documentation. Names are sorted when a link is first looked up
/// by name.
#[derive(Debug)]
pub struct LinkFinder<'a> {
    topology: &'a Topology,
    links: OnceCell<BTreeMap<String, Vec<LinkId>>>,
    reader: Reader<'a>,
}

impl<'a> LinkFinder<'a> {
    /// A finder for this network.
    pub fn new(topology: &'a Topology) -> LinkFinder<'a> {
        LinkFinder { topology, links: OnceCell::new(), reader: Reader::new(topology) }
    }

    /// Finds a link by its name, by its number, or by its ends with or without ports in either order. Switches also go by full
    /// or short names, and by names in another case.
    ///
    /// # Errors
    /// If there is none, or several.
    pub fn find(&self, written: &str) -> Result<LinkId, FindError> {
        if let Some(links) = self.by_name().get(written) {
            return self.only(written, links);
        }
        if let Ok(number) = written.parse::<u32>()
            && (number as usize) < self.topology.link_count()
        {
            return Ok(LinkId(number));
        }
        let mut exact = self.reader.links(written, Closeness::Exact);
        let turned =
            halves(written).filter_map(|(one, other)| self.by_name().get(&format!("{other}--{one}")));
        exact.extend(turned.flatten());
        let links = if exact.is_empty() { self.reader.links(written, Closeness::Alike) } else { exact };
        if links.is_empty() {
            return Err(self.why_none(written));
        }
        self.only(written, &links.into_iter().collect::<Vec<LinkId>>())
    }

    /// All links between two switches, whose names may come in either order; none if a switch is not one of the network's.
    pub fn all_between(&self, one: &str, other: &str) -> Vec<LinkId> {
        let switches = self.reader.by_name();
        let ends = switches.get(one).zip(switches.get(other));
        ends.map_or_else(Vec::new, |(one, other)| self.topology.links_between(*one, *other))
    }

    fn only(&self, written: &str, links: &[LinkId]) -> Result<LinkId, FindError> {
        match links {
            [link] => Ok(*link),
            _ => Err(FindError::Several {
                written: written.to_owned(),
                count: links.len(),
                links: self.some_of(links, MAX_CANDIDATES),
            }),
        }
    }

    fn why_none(&self, written: &str) -> FindError {
        let (topology, names) = (self.topology, self.topology.names());
        let text = with_place(written).map_or(written, |(text, _)| text);
        let pairs = [written, text].map(|text| self.reader.pairs(text, Closeness::Alike));
        if let Some([one, other]) = pairs.iter().flatten().next() {
            let links = topology.links_between(one.switch, other.switch);
            let [one, other] = [one, other].map(|end| names.switch(end.switch));
            if links.is_empty() {
                return FindError::NotJoined { one, other };
            }
            let links = self.some_of(&links, MAX_CANDIDATES);
            return FindError::OtherPorts { written: written.to_owned(), one, other, links };
        }
        if let Some(error) = self.something_else(written) {
            return error;
        }
        let ends = self.reader.ends(written, Closeness::Alike);
        if let Some(&End { switch, port: Some(port) }) = ends.iter().find(|end| end.port.is_some()) {
            let links = self.some_of(&topology.links_of(switch).collect::<Vec<_>>(), MAX_CANDIDATES);
            return FindError::NoPort { switch: names.switch(switch), port: port.to_owned(), links };
        }
        FindError::Unknown {
            written: written.to_owned(),
            last: topology.link_count().saturating_sub(1),
            example: topology.ends_of(LinkId(0)),
        }
    }

    /// Finds a pod or a switch of that name that has links.
    fn something_else(&self, written: &str) -> Option<FindError> {
        let topology = self.topology;
        let mut zones = (0..topology.zone_count() as u32).map(ZoneId);
        let zone = zones.find(|&zone| topology.names().zone(zone) == written);
        let switch: Option<SwitchId> = self.reader.switches(written, Closeness::Alike).first().copied();
        let (what, of): (_, Vec<LinkId>) = match (zone, switch) {
            (Some(zone), _) => {
                ("a pod", topology.links().filter(|&link| topology.zone_of(link) == zone).collect())
            }
            // Each once, in order: a switch's own lists have them by direction.
            (None, Some(switch)) => {
                let links: BTreeSet<LinkId> = topology.links_of(switch).collect();
                ("a switch", links.into_iter().collect())
            }
            (None, None) => return None,
        };
        let links = self.some_of(&of, MAX_NAMED);
        Some(FindError::NotALink { written: written.to_owned(), what, links, of })
    }

    fn some_of(&self, links: &[LinkId], most: usize) -> String {
        let named: Vec<String> =
            links.iter().take(most).map(|&link| self.topology.full_label(link)).collect();
        match links.len().saturating_sub(most) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }

    /// The links that have names; the others are known only by number.
    fn by_name(&self) -> &BTreeMap<String, Vec<LinkId>> {
        self.links.get_or_init(|| {
            let mut links: BTreeMap<String, Vec<LinkId>> = BTreeMap::new();
            if self.topology.names().has_links() {
                for link in self.topology.links() {
                    links.entry(self.topology.names().link(link)).or_default().push(link);
                }
            }
            links
        })
    }
}
