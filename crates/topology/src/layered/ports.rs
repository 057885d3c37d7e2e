//! The names of ports, as far as an operator's file has them.

use crate::{Link, LinkId, SwitchId, Topology};

/// The ports of links that name at least one, in ascending order of links.
#[derive(Debug, Clone, Default)]
pub(crate) struct PortNames {
    links: Vec<LinkId>,
    /// That of the lower switch first.
    names: Vec<[Option<Box<str>>; 2]>,
}

impl PortNames {
    /// Adds the ports of a link that comes after all others.
    pub fn push(&mut self, link: LinkId, names: [Option<Box<str>>; 2]) {
        debug_assert!(self.links.last().is_none_or(|last| *last < link), "links come in order");
        self.links.push(link);
        self.names.push(names);
    }

    fn of(&self, link: LinkId) -> [Option<&str>; 2] {
        let place = self.links.binary_search(&link);
        place.map_or([None, None], |place| self.names[place].each_ref().map(Option::as_deref))
    }
}

impl Topology {
    /// The ports of a link, that of the lower switch first, as far as the network file names them.
    pub fn ports(&self, link: LinkId) -> [Option<&str>; 2] {
        self.ports.of(link)
    }

    /// The port that a link has at one of its two switches, if the network file names it.
    pub fn port_at(&self, link: LinkId, switch: SwitchId) -> Option<&str> {
        let [lower, upper] = self.ports(link);
        if self.link(link).lower == switch { lower } else { upper }
    }

    /// All links between two switches, in ascending order.
    pub fn links_between(&self, one: SwitchId, other: SwitchId) -> Vec<LinkId> {
        let joins = |from: SwitchId, to: SwitchId| {
            self.up(from).iter().filter(move |hop| hop.switch == to).map(|hop| hop.link)
        };
        let beside = self.beside(one).iter().filter(|hop| hop.switch == other).map(|hop| hop.link);
        joins(one, other).chain(joins(other, one)).chain(beside).collect()
    }

    /// All links of a switch.
    pub fn links_of(&self, switch: SwitchId) -> impl Iterator<Item = LinkId> {
        let hops = self.up(switch).iter().chain(self.down(switch)).chain(self.beside(switch));
        hops.map(|hop| hop.link)
    }

    /// A link's two ends with their ports, the lower first: `tor1:swp1--spine1:swp7`. One of several links whose ports are
    /// not known has its place among them instead: `tor1--spine1#2`.
    pub fn ends_of(&self, link: LinkId) -> String {
        self.ends_from(link, self.link(link).lower)
    }

    /// The same with the end at the switch `first` before the other.
    pub(crate) fn ends_from(&self, link: LinkId, first: SwitchId) -> String {
        let Link { lower, upper, .. } = *self.link(link);
        let second = if first == lower { upper } else { lower };
        let text = [first, second].map(|switch| self.end_of(link, switch)).join("--");
        if self.ports(link).iter().any(Option::is_some) {
            return text;
        }
        let parallel = self.links_between(lower, upper);
        match parallel.iter().position(|other| *other == link) {
            Some(place) if parallel.len() > 1 => format!("{text}#{}", place + 1),
            _ => text,
        }
    }

    /// One end of a link: the switch, and the port if it is known.
    fn end_of(&self, link: LinkId, switch: SwitchId) -> String {
        let name = self.names().switch(switch);
        match self.port_at(link, switch) {
            Some(port) => format!("{name}:{port}"),
            None => name,
        }
    }

    /// What a link is called: the name that the network file gives it, or its ends if it has only a number.
    pub fn label(&self, link: LinkId) -> String {
        if self.names().has_links() { self.names().link(link) } else { self.ends_of(link) }
    }

    /// The ends of a link with their ports, if its label does not say them.
    pub fn ends_beside_label(&self, link: LinkId) -> Option<String> {
        let label = self.label(link);
        let ends = self.link(link);
        let says = |switch| label.contains(&self.end_of(link, switch));
        (!says(ends.lower) || !says(ends.upper)).then(|| self.ends_of(link))
    }

    /// What a link is called, with its ends and ports if that does not say them: `cable 7 (tor1:swp1--spine1:swp7)`.
    pub fn full_label(&self, link: LinkId) -> String {
        let label = self.label(link);
        match self.ends_beside_label(link) {
            Some(ends) => format!("{label} ({ends})"),
            None => label,
        }
    }
}
