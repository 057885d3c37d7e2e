//! What a text may mean as two ends of a link, or as one.

use crate::{LinkId, SwitchId, Topology};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// Separates the names of a link's two ends.
pub(crate) const BETWEEN: &str = "--";
/// Either separates a switch and its port.
const BEFORE_PORT: [char; 2] = [':', '/'];
/// Comes before the place of a link among those between the same switches.
const BEFORE_PLACE: char = '#';

/// How closely a name must be that of a switch or port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closeness {
    Exact,
    /// In any case, and with more or less of a domain.
    Alike,
}

/// One end as it may be meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct End<'t> {
    pub switch: SwitchId,
    /// The port as it is written, if one is.
    pub port: Option<&'t str>,
}

/// Reads texts as ends of links of one network. Names are sorted on first use.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    topology: &'a Topology,
    by_name: OnceCell<BTreeMap<String, SwitchId>>,
    /// Switches by the first part of their names, in lower case.
    by_label: OnceCell<BTreeMap<String, Vec<SwitchId>>>,
}

impl<'a> Reader<'a> {
    pub fn new(topology: &'a Topology) -> Reader<'a> {
        Reader { topology, by_name: OnceCell::new(), by_label: OnceCell::new() }
    }

    /// Every link that a text may mean.
    pub fn links(&self, text: &str, closeness: Closeness) -> BTreeSet<LinkId> {
        let mut links = BTreeSet::new();
        for [one, other] in self.pairs(text, closeness) {
            links.extend(self.joining(one, other, closeness));
        }
        if let Some((text, place)) = with_place(text) {
            for [one, other] in self.pairs(text, closeness) {
                if one.port.is_none() && other.port.is_none() {
                    let parallel = self.topology.links_between(one.switch, other.switch);
                    links.extend(place.checked_sub(1).and_then(|place| parallel.get(place)));
                }
            }
        }
        for end in self.ends(text, closeness).into_iter().filter(|end| end.port.is_some()) {
            links.extend(self.topology.links_of(end.switch).filter(|link| self.is_at(*link, end, closeness)));
        }
        links
    }

    /// Every way to read a text as two ends. Names may have the separator in them, so every place of it is tried.
    pub(super) fn pairs<'t>(&self, text: &'t str, closeness: Closeness) -> Vec<[End<'t>; 2]> {
        let mut pairs = Vec::new();
        for (one, other) in halves(text) {
            let others = self.ends(other, closeness);
            if others.is_empty() {
                continue;
            }
            let ones = self.ends(one, closeness);
            pairs.extend(ones.into_iter().flat_map(|one| others.iter().map(move |&other| [one, other])));
        }
        pairs
    }

    /// Every way to read a text as a switch, or as a switch and a port.
    pub(super) fn ends<'t>(&self, text: &'t str, closeness: Closeness) -> Vec<End<'t>> {
        let whole = self.switches(text, closeness).into_iter().map(|switch| End { switch, port: None });
        let mut ends: Vec<End<'t>> = whole.collect();
        for (place, _) in text.match_indices(BEFORE_PORT) {
            let port = &text[place + 1..];
            if !port.is_empty() {
                let switches = self.switches(&text[..place], closeness);
                ends.extend(switches.into_iter().map(|switch| End { switch, port: Some(port) }));
            }
        }
        ends
    }

    /// The switches that a text may name.
    pub(super) fn switches(&self, text: &str, closeness: Closeness) -> Vec<SwitchId> {
        if closeness == Closeness::Exact {
            return self.by_name().get(text).copied().into_iter().collect();
        }
        let written = text.to_lowercase();
        let candidates = self.by_label().get(label(&written)).map_or(&[][..], Vec::as_slice);
        let is_alike = |switch: &&SwitchId| {
            let name = self.topology.names().switch(**switch).to_lowercase();
            name == written || has_domain(&name, &written) || has_domain(&written, &name)
        };
        candidates.iter().filter(is_alike).copied().collect()
    }

    /// The links between two ends.
    fn joining(&self, one: End<'_>, other: End<'_>, closeness: Closeness) -> Vec<LinkId> {
        let mut links = self.topology.links_between(one.switch, other.switch);
        links.retain(|&link| self.is_at(link, one, closeness) && self.is_at(link, other, closeness));
        links
    }

    fn is_at(&self, link: LinkId, end: End<'_>, closeness: Closeness) -> bool {
        let Some(port) = end.port else { return true };
        self.topology.port_at(link, end.switch).is_some_and(|named| match closeness {
            Closeness::Exact => named == port,
            Closeness::Alike => named.eq_ignore_ascii_case(port),
        })
    }

    pub(super) fn by_name(&self) -> &BTreeMap<String, SwitchId> {
        self.by_name.get_or_init(|| {
            self.topology.switches().map(|switch| (self.topology.names().switch(switch), switch)).collect()
        })
    }

    fn by_label(&self) -> &BTreeMap<String, Vec<SwitchId>> {
        self.by_label.get_or_init(|| {
            let mut switches: BTreeMap<String, Vec<SwitchId>> = BTreeMap::new();
            for switch in self.topology.switches() {
                let name = self.topology.names().switch(switch).to_lowercase();
                switches.entry(label(&name).to_owned()).or_default().push(switch);
            }
            switches
        })
    }
}

/// A text parted at each place of the separator.
pub(super) fn halves(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices(BETWEEN).map(|(place, _)| (&text[..place], &text[place + BETWEEN.len()..]))
}

/// A text without `#2` at its end, and that number.
pub(super) fn with_place(text: &str) -> Option<(&str, usize)> {
    let (text, place) = text.rsplit_once(BEFORE_PLACE)?;
    Some((text, place.parse().ok()?))
}

/// The first part of a name with a domain.
fn label(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// Whether `long` is `short` with more of a domain. An IPv4 address has none.
fn has_domain(long: &str, short: &str) -> bool {
    let is_number = label(short).chars().all(|c| c.is_ascii_digit());
    let is_domain =
        |text: &str| text.starts_with('.') && text.chars().all(|c| c.is_alphanumeric() || ".-_".contains(c));
    !is_number && long.strip_prefix(short).is_some_and(is_domain)
}
