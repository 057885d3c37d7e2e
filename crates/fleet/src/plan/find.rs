//! Finds links by number, by name, or by their two ends.

use super::ends_of;
use linkmend_diagnose::{Diagnose, Fault};
use linkmend_topology::{LinkId, Names, SwitchId, Topology, ZoneId};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Separates the names of a link's two ends.
const BETWEEN: &str = "--";
/// How many links of a pod or switch a message names before it counts the others.
const MAX_NAMED: usize = 4;

/// Why a link was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No link has this name or number.
    #[error("there is no link `{written}`; links are numbered 0 to {last}, or written like {example}")]
    Unknown {
        /// The name as it was written.
        written: String,
        /// Number of the last link.
        last: usize,
        /// A link of this network by its ends.
        example: String,
    },
    /// The name belongs to something other than a link.
    #[error("`{written}` is {what}, not a link; its links are {links}")]
    NotALink {
        /// The name as it was written.
        written: String,
        /// What it is the name of.
        what: &'static str,
        /// Some of its links, as text.
        links: String,
        /// All of its links.
        of: Vec<LinkId>,
    },
    /// No link connects the two switches.
    #[error("there is no link between {one} and {other}, though both switches exist")]
    NotJoined {
        /// Name of one end.
        one: String,
        /// Name of the other end.
        other: String,
    },
    /// Several links have this name.
    #[error("`{written}` may be any of the links {numbers}; write the number of one")]
    Several {
        /// The name as it was written.
        written: String,
        /// Numbers of these links.
        numbers: String,
    },
}

impl Diagnose for FindError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

/// Finds links of one network. Names are sorted when a link is first looked up by name.
#[derive(Debug)]
pub struct LinkFinder<'a> {
    topology: &'a Topology,
    links: OnceCell<BTreeMap<String, Vec<LinkId>>>,
    switches: OnceCell<BTreeMap<String, SwitchId>>,
}

impl<'a> LinkFinder<'a> {
    /// A finder for this network.
    pub fn new(topology: &'a Topology) -> LinkFinder<'a> {
        LinkFinder { topology, links: OnceCell::new(), switches: OnceCell::new() }
    }

    /// Finds a link by its name, with its two halves in either order, by its number, or by the names of its ends in either
    /// order with `--` between them. Switches also go by full names, and by names in another case.
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
        // Names may contain the separator themselves, so every position of it is tried.
        let halves = || {
            let places = written.match_indices(BETWEEN).map(|(place, _)| place);
            places.map(|place| (&written[..place], &written[place + BETWEEN.len()..]))
        };
        let turned = halves().find_map(|(one, other)| self.by_name().get(&format!("{other}{BETWEEN}{one}")));
        if let Some(links) = turned {
            return self.only(written, links);
        }
        let ends = halves().find_map(|(one, other)| Some((self.switch(one)?, self.switch(other)?)));
        match ends {
            Some((one, other)) => self.between(written, one, other),
            None => Err(self.something_else(written).unwrap_or_else(|| FindError::Unknown {
                written: written.to_owned(),
                last: self.topology.link_count().saturating_sub(1),
                example: ends_of(self.topology, LinkId(0)),
            })),
        }
    }

    /// Finds a pod or a switch of that name that has links.
    fn something_else(&self, written: &str) -> Option<FindError> {
        let topology = self.topology;
        let zones = (0..topology.zone_count() as u32).map(ZoneId);
        let zone = zones.into_iter().find(|&zone| topology.names().zone(zone) == written);
        let switch = self.by_switch().get(written);
        let all = (0..topology.link_count() as u32).map(LinkId);
        let (what, of): (_, Vec<LinkId>) = match (zone, switch) {
            (Some(zone), _) => ("a pod", all.filter(|&link| topology.zone_of(link) == zone).collect()),
            (None, Some(&switch)) => {
                let ends_there = |link: &LinkId| {
                    let ends = topology.link(*link);
                    ends.lower == switch || ends.upper == switch
                };
                ("a switch", all.filter(ends_there).collect())
            }
            (None, None) => return None,
        };
        let named: Vec<String> = of.iter().take(MAX_NAMED).map(|&link| self.name_of(link)).collect();
        let links = match of.len().saturating_sub(MAX_NAMED) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        };
        Some(FindError::NotALink { written: written.to_owned(), what, links, of })
    }

    /// How a link can be written: by its name, or by its ends if it has only a number.
    pub fn name_of(&self, link: LinkId) -> String {
        match self.topology.names() {
            Names::Given { .. } => self.topology.names().link(link),
            Names::Fabric(_) | Names::Numbers(_) => ends_of(self.topology, link),
        }
    }

    /// All links between two switches, whose names may come in either order; none if a switch is not one of the network's.
    pub fn all_between(&self, one: &str, other: &str) -> Vec<LinkId> {
        let switches = self.by_switch();
        let ends = switches.get(one).zip(switches.get(other));
        ends.map_or_else(Vec::new, |(one, other)| self.joining(*one, *other))
    }

    fn joining(&self, one: SwitchId, other: SwitchId) -> Vec<LinkId> {
        let joins = |from: SwitchId, to: SwitchId| {
            self.topology.up(from).iter().filter(move |hop| hop.switch == to).map(|hop| hop.link)
        };
        let beside = self.topology.beside(one).iter().filter(|hop| hop.switch == other).map(|hop| hop.link);
        joins(one, other).chain(joins(other, one)).chain(beside).collect()
    }

    fn between(&self, written: &str, one: SwitchId, other: SwitchId) -> Result<LinkId, FindError> {
        let links = self.joining(one, other);
        if links.is_empty() {
            let names = self.topology.names();
            return Err(FindError::NotJoined { one: names.switch(one), other: names.switch(other) });
        }
        self.only(written, &links)
    }

    fn only(&self, written: &str, links: &[LinkId]) -> Result<LinkId, FindError> {
        match links {
            [link] => Ok(*link),
            _ => {
                let numbers: Vec<String> = links.iter().map(|link| link.0.to_string()).collect();
                Err(FindError::Several { written: written.to_owned(), numbers: numbers.join(", ") })
            }
        }
    }

    /// The links that have names; the others are known only by number.
    fn by_name(&self) -> &BTreeMap<String, Vec<LinkId>> {
        self.links.get_or_init(|| {
            let mut links: BTreeMap<String, Vec<LinkId>> = BTreeMap::new();
            if matches!(self.topology.names(), Names::Given { .. }) {
                for link in (0..self.topology.link_count() as u32).map(LinkId) {
                    links.entry(self.topology.names().link(link)).or_default().push(link);
                }
            }
            links
        })
    }

    /// The switch of this name, or the only one whose name differs in case or in having a domain.
    fn switch(&self, written: &str) -> Option<SwitchId> {
        if let Some(switch) = self.by_switch().get(written) {
            return Some(*switch);
        }
        let folded = written.to_lowercase();
        let label = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        let is_same = |name: &str| {
            let name = name.to_lowercase();
            name == folded
                || (label(&name) == label(&folded) && (label(&name) == name || label(&folded) == folded))
        };
        let mut same = self.by_switch().iter().filter(|(name, _)| is_same(name)).map(|(_, switch)| *switch);
        same.next().filter(|_| same.next().is_none())
    }

    fn by_switch(&self) -> &BTreeMap<String, SwitchId> {
        self.switches.get_or_init(|| {
            let switches = (0..self.topology.switch_count() as u32).map(SwitchId);
            switches.map(|switch| (self.topology.names().switch(switch), switch)).collect()
        })
    }
}
