//! Which view of one switch and which of the other are the two ends of one link.
//!
//! Both switches have dumps. A view names the port at the other end in one of several ways: by the interface, by a
//! description, by an alias as SONiC's, or by a number that says nothing. Where the words leave several possibilities,
//! the order of aliases and ports decides; where they contradict the other end, nothing does.

use super::dump::View;
use std::collections::{BTreeMap, BTreeSet};

/// The ports of a switch that has a dump, as its neighbours may name them.
#[derive(Default)]
pub(super) struct Ports {
    /// Ports with neighbours, and all that a CONFIG_DB lists.
    pub known: BTreeSet<String>,
    /// The port of each alias, from a CONFIG_DB.
    pub by_alias: BTreeMap<String, String>,
}

/// One end: the switch's own name, its ports, and what it sees of the other.
pub(super) struct End<'a> {
    pub name: &'a str,
    pub ports: &'a Ports,
    pub views: Vec<&'a View>,
}

/// What the pairs are, by place in the two lists of views.
pub(super) struct Pairs {
    pub pairs: Vec<[usize; 2]>,
    pub known: Known,
}

/// What is known of the ports of several links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// What the switches announce says it.
    Ports,
    /// They are taken in the order of the aliases that the switches announce.
    Order,
    /// Only how many links there are.
    Number,
}

/// A view that has no counterpart: of which end, and its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unpaired {
    pub end: usize,
    pub view: usize,
    /// The view of the other end with which it disagrees, if there is one left.
    pub other: Option<usize>,
}

/// Pairs the views of two switches.
pub(super) fn pair(ends: &[End<'_>; 2]) -> Result<Pairs, Unpaired> {
    let [one, other] = ends;
    let [mut here_left, mut there_left] =
        [one, other].map(|end| (0..end.views.len()).collect::<Vec<usize>>());
    let mut pairs = Vec::new();
    // Words first: a pair is certain if one view names the other's port and is not contradicted.
    here_left.retain(|&here| {
        let fits = |there: &usize| {
            let words = [
                word(other, one.views[here], &other.views[*there].port),
                word(one, other.views[*there], &one.views[here].port),
            ];
            words.contains(&Word::Names) && !words.contains(&Word::NamesAnother)
        };
        let found = there_left.iter().position(fits);
        if let Some(place) = found {
            pairs.push([here, there_left.remove(place)]);
        }
        found.is_none()
    });
    let left = [here_left, there_left];
    let silent = |(end, far): (&End<'_>, &End<'_>), view: &usize| named(far, end.views[*view]).is_empty();
    let unclear = left[0].iter().all(|view| silent((one, other), view))
        && left[1].iter().all(|view| silent((other, one), view));
    if left[0].len() != left[1].len() || !unclear {
        let end = usize::from(left[0].is_empty());
        return Err(Unpaired { end, view: left[end][0], other: left[1 - end].first().copied() });
    }
    let by_alias = in_order(ends, &left);
    let known = match (left[0].len(), &by_alias) {
        (0 | 1, _) => Known::Ports,
        (_, Some(_)) => Known::Order,
        (_, None) => Known::Number,
    };
    pairs.extend(by_alias.unwrap_or_else(|| {
        let [here, there] = [sorted(one, &left[0]), sorted(other, &left[1])];
        here.into_iter().zip(there).map(|(here, there)| [here, there]).collect()
    }));
    pairs.sort_unstable();
    Ok(Pairs { pairs, known })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Names,
    NamesAnother,
    Nothing,
}

/// What a view says of a port of the switch `far` that it sees.
fn word(far: &End<'_>, view: &View, port: &str) -> Word {
    let named = named(far, view);
    if named.contains(&port) {
        Word::Names
    } else if named.is_empty() {
        Word::Nothing
    } else {
        Word::NamesAnother
    }
}

/// The ports of the switch `far` that a view may mean. An interface is meant even if no dump knows it; a description is
/// a port's name only if it is that of a port.
fn named<'a>(far: &End<'a>, view: &'a View) -> Vec<&'a str> {
    if let Some(interface) = &view.interface
        && (far.ports.known.contains(interface) || !view.described_as_known(far))
    {
        return vec![interface];
    }
    let id = Some(&view.id).filter(|id| far.ports.known.contains(*id));
    let alias = far.ports.by_alias.get(&view.id);
    id.or(alias).map(String::as_str).into_iter().chain(described(far, view)).collect()
}

fn described<'a>(far: &End<'_>, view: &'a View) -> Option<&'a str> {
    let text = view.description.as_deref()?;
    // Sites that describe a port by its own name put the switch's name before it.
    let own = text.strip_prefix(far.name).and_then(|rest| rest.strip_prefix(':'));
    own.or(Some(text)).filter(|port| far.ports.known.contains(*port))
}

impl View {
    fn described_as_known(&self, far: &End<'_>) -> bool {
        described(far, self).is_some()
    }
}

/// Pairs in the order of ports, if the aliases by which each end knows the other's ports are in the same order.
fn in_order(ends: &[End<'_>; 2], left: &[Vec<usize>; 2]) -> Option<Vec<[usize; 2]>> {
    let [one, other] = ends;
    let [here, there] = [sorted(one, &left[0]), sorted(other, &left[1])];
    let by_alias = |end: &End<'_>, views: &[usize]| {
        let mut ranked: Vec<usize> = views.to_vec();
        let alias = |view: &usize| end.views[*view].alias.as_deref();
        if views.iter().any(|view| alias(view).is_none()) {
            return None;
        }
        ranked.sort_by_key(|view| alias(view).map(natural));
        Some(ranked)
    };
    // The view with the n-th alias faces the n-th port of the other end.
    let (from_here, from_there) = (by_alias(one, &here)?, by_alias(other, &there)?);
    let pairs: Vec<[usize; 2]> = from_here.iter().zip(&there).map(|(&here, &there)| [here, there]).collect();
    let back = here.iter().zip(&from_there).map(|(&here, &there)| [here, there]);
    back.into_iter().all(|pair| pairs.contains(&pair)).then_some(pairs)
}

/// Views in the order of their own ports.
fn sorted(end: &End<'_>, views: &[usize]) -> Vec<usize> {
    let mut views = views.to_vec();
    views.sort_by_key(|view| natural(&end.views[*view].port));
    views
}

/// The parts of a name, numbers by value: `Ethernet8` comes before `Ethernet12`.
fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (word, number) = rest.split_at(digits);
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        parts.push((word.to_owned(), number[..end].parse().unwrap_or(u64::MAX)));
        rest = &number[end..];
    }
    parts
}
