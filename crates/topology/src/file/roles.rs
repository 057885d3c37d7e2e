//! What the words in a name, a group or a label say of a switch.

/// The place that a word gives a switch in a fabric. Only the order matters; networks may leave some of them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Tor,
    Leaf,
    Aggregation,
    Spine,
    Superspine,
}

/// What a word says of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// It is a switch of the fabric.
    Role(Role),
    /// It uses the fabric.
    Host,
    /// It forwards, but not as a part of the fabric: routers, firewalls, gateways.
    Outside,
}

impl Role {
    /// The word for messages.
    pub fn name(self) -> &'static str {
        match self {
            Role::Tor => "tor or access",
            Role::Leaf => "leaf",
            Role::Aggregation => "agg",
            Role::Spine => "spine",
            Role::Superspine => "superspine or core",
        }
    }
}

/// The last word that says something: `leaf1-client2` is a client, and `dc1-leaf12` a leaf.
pub(super) fn word(text: &str) -> Option<Word> {
    if let Some(of_sonic) = sonic_type(text) {
        return Some(of_sonic);
    }
    let words = words(text);
    (0..words.len()).rev().find_map(|at| {
        let before = at.checked_sub(1).map(|before| &words[before][..]);
        meaning(&words[at], before)
    })
}

/// The types of devices in SONiC's CONFIG_DB and minigraphs, whose words mean something else: its leaves are above the ToRs.
fn sonic_type(text: &str) -> Option<Word> {
    let role = match text.to_ascii_lowercase().strip_prefix("backend").unwrap_or(&text.to_ascii_lowercase()) {
        "torrouter" => Role::Tor,
        "leafrouter" => Role::Leaf,
        "spinerouter" | "lowerspinerouter" => Role::Spine,
        "upperspinerouter" | "fabricspinerouter" => Role::Superspine,
        "regionalhub" | "coreregionalhub" | "aznghub" | "mgmttorrouter" | "mgmtleafrouter"
        | "bmcmgmttorrouter" | "devicemgmttor" => return Some(Word::Outside),
        "server" | "ucs" => return Some(Word::Host),
        _ => return None,
    };
    Some(Word::Role(role))
}

/// What one letter before a number may mean, where nothing says it in full: `l01` and `s01`.
pub(super) fn letter(name: &str) -> Option<Word> {
    match &words(name)[..] {
        [.., last] if last == "l" => Some(Word::Role(Role::Leaf)),
        [.., last] if last == "s" => Some(Word::Role(Role::Spine)),
        [.., last] if last == "h" => Some(Word::Host),
        _ => None,
    }
}

fn meaning(word: &str, before: Option<&str>) -> Option<Word> {
    let role = match word {
        "spine" | "spines" if before == Some("super") => Role::Superspine,
        "tor" | "tors" | "access" => Role::Tor,
        "lf" | "lfsw" => Role::Leaf,
        "agg" | "aggs" | "aggregation" | "dist" | "distribution" | "fabric" => Role::Aggregation,
        "sp" | "spsw" => Role::Spine,
        "core" | "cores" | "coredist" => Role::Superspine,
        "host" | "hosts" | "server" | "servers" | "srv" | "client" | "clients" | "pc" | "vm" | "vms"
        | "gpu" | "compute" | "worker" | "tester" | "ixia" | "trex" | "laptop" | "guest" | "storage"
        | "tenant" => {
            return Some(Word::Host);
        }
        "border" | "router" | "routers" | "rt" | "fw" | "firewall" | "gw" | "gateway" | "dci" | "dcgw"
        | "wan" | "edge" | "oob" | "mgmt" | "exit" | "isp" | "pe" | "ce" | "external" | "internet" => {
            return Some(Word::Outside);
        }
        _ if ["superspine", "superspines"].contains(&word) => Role::Superspine,
        _ if ["leaf", "leafs", "leaves"].iter().any(|end| word.ends_with(end)) => Role::Leaf,
        _ if ["spine", "spines", "spline"].iter().any(|end| word.ends_with(end)) => Role::Spine,
        _ => return None,
    };
    Some(Word::Role(role))
}

/// Words in lower case. Digits, punctuation and capitals within begin a new one.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for letter in text.chars() {
        if !letter.is_alphabetic() || (letter.is_uppercase() && was_lower && word.len() > 2) {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphabetic() {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words.push(word);
    // What follows a number is a variant: `leaf1a`.
    let is_variant = |word: &str| word.len() == 1 && matches!(word, "a" | "b" | "c" | "d" | "e");
    words.retain(|word| !word.is_empty() && !is_variant(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_a_name_give_its_role() {
        let role = |role| Some(Word::Role(role));
        for (name, expected) in [
            ("dc1-leaf12", role(Role::Leaf)),
            ("border-leaf-1", role(Role::Leaf)),
            ("borderleaf", role(Role::Leaf)),
            ("serviceLeaf01", role(Role::Leaf)),
            ("leaf1a", role(Role::Leaf)),
            ("ToR_3", role(Role::Tor)),
            ("super-spine1", role(Role::Superspine)),
            ("superspine1", role(Role::Superspine)),
            ("spine1", role(Role::Spine)),
            ("dc1spines", role(Role::Spine)),
            ("dc1-sp01", role(Role::Spine)),
            ("leaf1-gpu2", Some(Word::Host)),
            ("borderGateway01", Some(Word::Outside)),
            ("dcgw1-dc1", Some(Word::Outside)),
            ("l01", None),
            ("leaflet", None),
        ] {
            assert_eq!(word(name), expected, "{name}");
        }
        assert_eq!([letter("L01"), letter("s2"), letter("r1")], [role(Role::Leaf), role(Role::Spine), None]);
    }
}
