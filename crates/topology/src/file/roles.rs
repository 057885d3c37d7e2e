//! Layers of switches without labels, from their names and links.

use super::TopologyFault;
use std::collections::{BTreeMap, VecDeque};

/// A switch without labels.
pub(super) struct Unlabelled<'a> {
    pub name: &'a str,
    pub group: Option<&'a str>,
}

/// The role that a name suggests. Only the order of roles matters; networks may leave some of them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Tor,
    Leaf,
    Aggregation,
    Spine,
    Superspine,
}

/// The layer of each switch: its distance from the lowest ones, which are ToRs or leaves by name. Switches with one
/// role must be on one layer, and those with a higher role on a higher one. A link within a layer is left for the
/// builder to refuse.
pub(super) fn layers(switches: &[Unlabelled<'_>], links: &[[usize; 2]]) -> Result<Vec<u64>, TopologyFault> {
    let ambiguous = |reason: String| TopologyFault::AmbiguousLayers { reason };
    let roles: Vec<Option<Role>> =
        switches.iter().map(|switch| switch.group.and_then(role).or_else(|| role(switch.name))).collect();
    let lowest = roles.iter().flatten().min().copied().filter(|&lowest| lowest <= Role::Leaf);
    let lowest = lowest.ok_or_else(|| ambiguous("no group or name says `tor` or `leaf`".to_owned()))?;
    let distances = distances(switches.len(), links, |switch| roles[switch] == Some(lowest));
    let mut layer_of: BTreeMap<Role, (u64, &str)> = BTreeMap::new();
    let mut layers = Vec::with_capacity(switches.len());
    for ((switch, role), distance) in switches.iter().zip(&roles).zip(distances) {
        let layer = distance
            .ok_or_else(|| ambiguous(format!("{} has no path to a {}", switch.name, describe(lowest))))?;
        layers.push(layer);
        let Some(role) = *role else { continue };
        let &mut (usual, example) = layer_of.entry(role).or_insert((layer, switch.name));
        if usual != layer {
            return Err(ambiguous(format!(
                "{example} is {usual} and {} is {layer} above the lowest layer, but both are called {}",
                switch.name,
                describe(role)
            )));
        }
    }
    let roles: Vec<_> = layer_of.iter().collect();
    for pair in roles.windows(2) {
        let [(low, (low_layer, low_name)), (high, (high_layer, high_name))] = [pair[0], pair[1]];
        if low_layer >= high_layer {
            return Err(ambiguous(format!(
                "{high_name} ({}) is not above {low_name} ({})",
                describe(*high),
                describe(*low)
            )));
        }
    }
    Ok(layers)
}

/// Links from each switch to the nearest of the lowest ones, breadth-first.
fn distances(count: usize, links: &[[usize; 2]], lowest: impl Fn(usize) -> bool) -> Vec<Option<u64>> {
    let mut neighbours = vec![Vec::new(); count];
    for &[one, other] in links {
        neighbours[one].push(other);
        neighbours[other].push(one);
    }
    let mut distances: Vec<Option<u64>> = (0..count).map(|switch| lowest(switch).then_some(0)).collect();
    let mut queue: VecDeque<usize> = (0..count).filter(|&switch| lowest(switch)).collect();
    while let Some(switch) = queue.pop_front() {
        let next = distances[switch].map(|distance| distance + 1);
        for &neighbour in &neighbours[switch] {
            if distances[neighbour].is_none() {
                distances[neighbour] = next;
                queue.push_back(neighbour);
            }
        }
    }
    distances
}

/// The first word of a name that suggests a role. Digits and punctuation end a word: `dc1-leaf12` suggests `leaf`.
fn role(name: &str) -> Option<Role> {
    let lower = name.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().find_map(|(at, &word)| match word {
        "tor" | "tors" => Some(Role::Tor),
        "leaf" | "leafs" | "leaves" => Some(Role::Leaf),
        "agg" | "aggregation" | "fabric" => Some(Role::Aggregation),
        "spine" | "spines" if at > 0 && words[at - 1] == "super" => Some(Role::Superspine),
        "spine" | "spines" => Some(Role::Spine),
        "superspine" | "superspines" | "core" | "cores" => Some(Role::Superspine),
        _ => None,
    })
}

fn describe(role: Role) -> &'static str {
    match role {
        Role::Tor => "tor",
        Role::Leaf => "leaf",
        Role::Aggregation => "agg",
        Role::Spine => "spine",
        Role::Superspine => "superspine or core",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_a_name_give_its_role() {
        for (name, expected) in [
            ("dc1-leaf12", Some(Role::Leaf)),
            ("border-leaf-1", Some(Role::Leaf)),
            ("ToR_3", Some(Role::Tor)),
            ("super-spine1", Some(Role::Superspine)),
            ("superspine1", Some(Role::Superspine)),
            ("spine1", Some(Role::Spine)),
            ("storage1", None),
            ("leaflet", None),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
