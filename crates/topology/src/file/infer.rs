//! Layers that no file says outright, from words, drawings and cables, each with its reason.
//!
//! Words come first, because they are what people mean: the roles in labels, groups and names. A node without a role is
//! no spine, even if it is cabled like one: border routers and traffic generators hang there, too. Where that leaves
//! doubt about the top layer, whose switches are what paths lead to, [`Inferred::top_guess`] says so.

use super::TopologyFault;
use super::roles::{self, Role, Word};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a node before anything is inferred.
#[derive(Debug, Clone, Default)]
pub(super) struct Hints {
    pub name: String,
    /// A layer that the file or an option gives.
    pub layer: Option<u64>,
    /// Words about it, the most trusted first, each with what it is: `group`, `label role`.
    pub words: Vec<(&'static str, String)>,
    /// How high it is drawn: 1 is the top.
    pub level: Option<u64>,
    /// Whether it is of a kind that does not forward as a fabric does, unless words say otherwise.
    pub is_host: bool,
    /// Whether it routes although it is of a host's kind: a Linux machine with FRR.
    pub routes: bool,
}

/// How sure a layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// The file, rules or an option say it.
    Told,
    /// A word in a label, group or name says it.
    Named,
    /// It follows from a letter, a drawing or from cables.
    Guessed,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Layer {
        layer: u64,
        basis: Basis,
        reason: String,
    },
    Host,
    /// It forwards, but is no part of the layers.
    Outside {
        reason: String,
    },
}

pub(super) struct Inferred {
    pub places: Vec<Place>,
    /// Why the top layer is a guess, if it is.
    pub top_guess: Option<String>,
}

/// Finds the place of each node; links are pairs of nodes.
pub(super) fn infer(nodes: &[Hints], links: &[[usize; 2]]) -> Result<Inferred, TopologyFault> {
    if nodes.iter().any(|node| node.layer.is_some()) {
        let told = |node: &Hints| match node.layer {
            Some(layer) => Place::Layer { layer, basis: Basis::Told, reason: "told".to_owned() },
            None => Place::Host,
        };
        return Ok(Inferred { places: nodes.iter().map(told).collect(), top_guess: None });
    }
    let only_hosts =
        nodes.iter().all(|node| node.is_host && word_of(node).is_none_or(|(word, _)| word == Word::Host));
    if only_hosts && !nodes.iter().any(|node| node.routes) {
        return Err(TopologyFault::OnlyHosts);
    }
    let graph = Neighbours::new(nodes.len(), links);
    let words: Vec<Option<(Word, String)>> = nodes.iter().map(word_of).collect();
    let is_bottom = |(word, _): &(Word, String)| matches!(word, Word::Role(Role::Tor | Role::Leaf));
    if words.iter().flatten().any(is_bottom) {
        return by_roles(nodes, &words, &graph, None);
    }
    if let Some(bottom) = nodes.iter().filter(|node| !node.is_host).filter_map(|node| node.level).max() {
        return Ok(by_level(nodes, bottom));
    }
    let letters: Vec<Option<(Word, String)>> = nodes
        .iter()
        .zip(&words)
        .map(|(node, word)| {
            let guess = || {
                Some((
                    roles::letter(&node.name).filter(|_| !node.is_host || node.routes)?,
                    "one letter".to_owned(),
                ))
            };
            word.clone().or_else(guess)
        })
        .collect();
    if letters.iter().flatten().any(is_bottom) {
        let why = "only the letters l and s in names indicate which switches are leaves and spines";
        return by_roles(nodes, &letters, &graph, Some(why));
    }
    if only_hosts {
        return Err(TopologyFault::OnlyHosts);
    }
    let reason = "no label, group or name identifies ToRs, leaves or access switches";
    Err(TopologyFault::AmbiguousLayers { reason: reason.to_owned() })
}

/// The first word about a node, and where it stands. A node of a host's kind is a switch only if a word says so.
fn word_of(node: &Hints) -> Option<(Word, String)> {
    let about = node.words.iter().map(|(what, text)| (*what, text));
    let found = about.chain([("name", &node.name)]).find_map(|(what, text)| {
        let word = roles::word(text)?;
        Some((word, if what == "name" { what.to_owned() } else { format!("{what} `{text}`") }))
    });
    found.filter(|(word, _)| !node.is_host || *word != Word::Outside)
}

fn by_level(nodes: &[Hints], bottom: u64) -> Inferred {
    let place = |node: &Hints| match node.level.filter(|_| !node.is_host) {
        Some(level) => Place::Layer {
            layer: bottom.saturating_sub(level),
            basis: Basis::Guessed,
            reason: format!("graph-level {level}"),
        },
        None if node.is_host => Place::Host,
        None => {
            Place::Outside { reason: "its layer is unknown: it has no graph-level and no keyword".to_owned() }
        }
    };
    let why =
        "only `graph-level`, which is where a switch is drawn, indicates which switches are above others";
    Inferred { places: nodes.iter().map(place).collect(), top_guess: Some(why.to_owned()) }
}

/// The nodes at the other ends of each node's links.
struct Neighbours(Vec<BTreeSet<usize>>);

impl Neighbours {
    fn new(nodes: usize, links: &[[usize; 2]]) -> Neighbours {
        let mut of = vec![BTreeSet::new(); nodes];
        for &[one, other] in links.iter().filter(|[one, other]| one != other) {
            of[one].insert(other);
            of[other].insert(one);
        }
        Neighbours(of)
    }
}

fn by_roles(
    nodes: &[Hints],
    words: &[Option<(Word, String)>],
    graph: &Neighbours,
    guess: Option<&str>,
) -> Result<Inferred, TopologyFault> {
    let role = |node: usize| match words[node] {
        Some((Word::Role(role), _)) => Some(role),
        _ => None,
    };
    let mut fabric: BTreeMap<usize, Role> =
        (0..nodes.len()).filter_map(|node| Some((node, role(node)?))).collect();
    let alone: BTreeSet<usize> = fabric
        .keys()
        .copied()
        .filter(|&node| !graph.0[node].iter().any(|other| fabric.contains_key(other)))
        .collect();
    fabric.retain(|node, _| !alone.contains(node));
    let (dropped, top_guess) = drop_unreached_top(&mut fabric, graph, nodes);
    let roles: BTreeSet<Role> = fabric.values().copied().collect();
    if roles.len() < 2 {
        let reason = match roles.first() {
            Some(only) => {
                format!("all connected switches with keywords are of the kind {}", only.name())
            }
            None => "no link connects two switches with keywords".to_owned(),
        };
        return Err(TopologyFault::AmbiguousLayers { reason });
    }
    let basis = if guess.is_some() { Basis::Guessed } else { Basis::Named };
    let levels = levels(&fabric, graph);
    let order: Vec<u32> =
        levels.values().map(|(level, _)| *level).collect::<BTreeSet<_>>().into_iter().collect();
    let place = |node: usize| {
        if let Some((level, below)) = levels.get(&node) {
            let layer = order.iter().position(|other| other == level).unwrap_or_default() as u64;
            let said = words[node].as_ref().map_or_else(String::new, |(_, reason)| reason.clone());
            return match below {
                None => Place::Layer { layer, basis, reason: said },
                Some(why) => Place::Layer { layer, basis: Basis::Guessed, reason: format!("{said}; {why}") },
            };
        }
        let reason = match &words[node] {
            Some((Word::Host, _)) => return Place::Host,
            Some((Word::Role(role), _)) if dropped.contains(&node) => {
                format!("its keyword says {}, but not every ToR has a path up to it", role.name())
            }
            Some((Word::Role(role), _)) => {
                format!("its keyword says {}, but no link connects it to a switch of the fabric", role.name())
            }
            Some((Word::Outside, said)) => format!("{said} indicates that it is neither a leaf nor a spine"),
            None if nodes[node].is_host && !nodes[node].routes => return Place::Host,
            None => "no label, group or name indicates its layer".to_owned(),
        };
        Place::Outside { reason }
    };
    let places = (0..nodes.len()).map(place).collect();
    let top_guess = guess.map(str::to_owned).or(top_guess).or_else(|| {
        let is_alone = |leaf| alone.contains(&leaf) && role(leaf) <= Some(Role::Leaf);
        let node = like_a_spine(nodes, words, graph, |leaf| bottom(&levels, &order, leaf), is_alone)?;
        let name = &nodes[node].name;
        Some(format!("{name} is connected to several leaves, and nothing indicates whether it is above them"))
    });
    Ok(Inferred { places, top_guess })
}

/// A node that no word describes and that is cabled to several leaves. A node of a host's kind is one only if leaves have no
/// other way up: two leaves often share a host.
fn like_a_spine(
    nodes: &[Hints],
    words: &[Option<(Word, String)>],
    graph: &Neighbours,
    is_leaf: impl Fn(usize) -> bool,
    is_alone: impl Fn(usize) -> bool,
) -> Option<usize> {
    let several = |node: usize, is: &dyn Fn(usize) -> bool| {
        graph.0[node].iter().filter(|leaf| is(**leaf)).nth(1).is_some()
    };
    (0..nodes.len()).find(|&node| {
        let like_one = !nodes[node].is_host && several(node, &is_leaf);
        words[node].is_none() && (like_one || several(node, &is_alone))
    })
}

fn bottom(levels: &BTreeMap<usize, (u32, Option<String>)>, order: &[u32], node: usize) -> bool {
    levels.get(&node).is_some_and(|(level, _)| Some(level) == order.first())
}

/// Leaves out the highest role while there are ToRs that climb to a lower one only. Returns what was left out, and that
/// the top is a guess then.
fn drop_unreached_top(
    fabric: &mut BTreeMap<usize, Role>,
    graph: &Neighbours,
    nodes: &[Hints],
) -> (BTreeSet<usize>, Option<String>) {
    let mut left_out = BTreeSet::new();
    let mut trial = fabric.clone();
    while let Some(top) = trial.values().max().copied().filter(|top| *top > Role::Leaf) {
        let lost = trial.keys().find(|&&node| !climbs(&trial, graph, node, top)).copied();
        let Some(lost) = lost else {
            // What hangs at border leaves alone is behind them, not above the spines.
            let is_border = |node: usize| nodes[node].name.to_lowercase().contains("border");
            let is_above = |node: &&usize| {
                graph.0[**node].iter().any(|other| trial.contains_key(other) && !is_border(*other))
            };
            let example = left_out.iter().find(is_above).map(|node: &usize| nodes[*node].name.clone());
            *fabric = trial;
            let why = example.map(|name| {
                format!("the keyword of {name} puts it above the highest layer that all ToRs reach")
            });
            return (left_out, why);
        };
        // A ToR without any way up is wrong whatever the top is; it is refused by name.
        if trial[&lost] > Role::Leaf {
            trial.remove(&lost);
            left_out.insert(lost);
            continue;
        }
        let highest: Vec<usize> =
            trial.iter().filter(|(_, role)| **role == top).map(|(node, _)| *node).collect();
        highest.into_iter().for_each(|node| {
            trial.remove(&node);
            left_out.insert(node);
        });
    }
    (BTreeSet::new(), None)
}

/// Whether a node is at `top`, or reaches it over nodes none of which is lower than the one before.
fn climbs(fabric: &BTreeMap<usize, Role>, graph: &Neighbours, node: usize, top: Role) -> bool {
    let mut seen = BTreeSet::from([node]);
    let mut to_visit = vec![node];
    while let Some(node) = to_visit.pop() {
        let role = fabric[&node];
        if role == top {
            return true;
        }
        let higher =
            graph.0[node].iter().filter(|other| fabric.get(other).is_some_and(|other| *other >= role));
        to_visit.extend(higher.filter(|other| seen.insert(**other)));
    }
    false
}

/// The level of each switch, from which layers are counted, and why it is not that of its role. A leaf below leaves is
/// lower than these; a leaf above others that has none below is a ToR itself.
fn levels(fabric: &BTreeMap<usize, Role>, graph: &Neighbours) -> BTreeMap<usize, (u32, Option<String>)> {
    let has_above = |node: usize| graph.0[node].iter().any(|other| fabric.get(other) > fabric.get(&node));
    let is_sub = |node: usize| {
        fabric[&node] <= Role::Leaf
            && !has_above(node)
            && graph.0[node].iter().any(|&other| fabric.get(&other) == fabric.get(&node) && has_above(other))
    };
    let mut levels: BTreeMap<usize, (u32, Option<String>)> = fabric
        .iter()
        .map(|(&node, &role)| {
            let level = 2 * role as u32 + 1;
            let below = "its only uplinks lead to switches of its own kind".to_owned();
            (node, if is_sub(node) { (level - 1, Some(below)) } else { (level, None) })
        })
        .collect();
    let lowest = levels.values().map(|(level, _)| *level).min().unwrap_or_default();
    let tors: Vec<usize> = levels
        .iter()
        .filter(|(node, (level, _))| {
            let is_above = |other: &usize| levels.get(other).is_some_and(|(other, _)| other < level);
            fabric[node] <= Role::Leaf && *level > lowest && !graph.0[**node].iter().any(is_above)
        })
        .map(|(node, _)| *node)
        .collect();
    for tor in tors {
        levels.insert(tor, (lowest, Some("there is no switch below it, so it is a ToR".to_owned())));
    }
    levels
}
