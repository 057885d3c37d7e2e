//! Where a value is in a device's tree, and whether anything here wants it.

use super::message::{Path, PathElem};
use crate::source::names::{Counter, NAMES};

/// Elements of a path. OpenConfig's own have at most half of them.
const ELEMENTS_MOST: usize = 32;

/// A value that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Leaf {
    /// A counter, by which of its paths: the first is preferred.
    Counter(Counter, u8),
    /// Wrong bits of a lane.
    Lane(u8),
    OperStatus,
    Kind,
    Speed,
    NegotiatedSpeed,
    FecMode,
    /// When counters began again.
    LastClear,
    Transceiver,
}

/// What a leaf belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Interface(String, Leaf),
    Component(String, Leaf),
    /// When the device was started.
    BootTime,
}

/// Leaves of an interface besides counters, by their path beneath `interfaces/interface`.
const ATTRIBUTES: [(&str, Leaf); 7] = [
    ("state/oper-status", Leaf::OperStatus),
    ("state/type", Leaf::Kind),
    ("state/transceiver", Leaf::Transceiver),
    ("state/counters/last-clear", Leaf::LastClear),
    ("ethernet/state/port-speed", Leaf::Speed),
    ("ethernet/state/negotiated-port-speed", Leaf::NegotiatedSpeed),
    ("ethernet/state/fec-mode", Leaf::FecMode),
];

const BOOT_TIME: &str = "system/state/boot-time";
const TRANSCEIVER: &str = "transceiver/";

/// An element of a path without the name of its module, with the only key that matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub name: String,
    /// The key `name` of an interface or a component, or `id` of a lane. `None` if it is not there or stands for all (`*`).
    pub key: Option<String>,
}

impl Step {
    pub fn new(name: &str, key: Option<&str>) -> Step {
        Step { name: without_module(name).to_owned(), key: key.filter(|&key| key != "*").map(str::to_owned) }
    }

    fn of(elem: &PathElem) -> Step {
        let key = ["name", "id"].iter().find_map(|&key| {
            elem.key.iter().find(|(name, _)| without_module(name) == key).map(|(_, value)| value.as_str())
        });
        Step::new(&elem.name, key)
    }
}

/// `openconfig-interfaces:interfaces` is `interfaces`: some devices name the module, and some a prefix of their own for it.
pub(super) fn without_module(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, name)| name)
}

/// The whole path, from that of a notification and that of an update; `None` if it is longer than any that makes sense.
pub(super) fn joined(prefix: Option<&Path>, path: Option<&Path>) -> Option<Vec<Step>> {
    let elements = || prefix.iter().chain(&path).flat_map(|path| &path.elem);
    (elements().count() <= ELEMENTS_MOST).then(|| elements().map(Step::of).collect())
}

/// What is at a path, if it is kept.
pub(super) fn place(steps: &[Step]) -> Option<Place> {
    let (first, rest) = steps.split_first()?;
    if first.name == "system" {
        return (text(steps) == BOOT_TIME).then_some(Place::BootTime);
    }
    let (entry, rest) = rest.split_first()?;
    let name = entry.key.clone()?;
    let beneath = text(rest);
    match (first.name.as_str(), entry.name.as_str()) {
        ("interfaces", "interface") => {
            interface_leaf(&beneath, rest).map(|leaf| Place::Interface(name, leaf))
        }
        ("components", "component") if beneath.starts_with(TRANSCEIVER) => {
            counter(&beneath).map(|leaf| Place::Component(name, leaf))
        }
        _ => None,
    }
}

/// Whether it is a counter of an interface, and does not say of which.
pub(super) fn is_nameless(steps: &[Step]) -> bool {
    let [first, entry, rest @ ..] = steps else { return false };
    let is_interface = first.name == "interfaces" && entry.name == "interface" && entry.key.is_none();
    is_interface && matches!(interface_leaf(&text(rest), rest), Some(Leaf::Counter(..)))
}

fn interface_leaf(beneath: &str, steps: &[Step]) -> Option<Leaf> {
    let attribute = ATTRIBUTES.iter().find(|(path, _)| *path == beneath).map(|&(_, leaf)| leaf);
    match attribute.or_else(|| counter(beneath))? {
        Leaf::Counter(Counter::LaneBitErrors, _) => {
            let lane = steps.iter().find_map(|step| step.key.as_ref())?;
            lane.parse().ok().map(Leaf::Lane)
        }
        Leaf::Counter(..) if beneath.starts_with(TRANSCEIVER) => None,
        leaf => Some(leaf),
    }
}

fn counter(beneath: &str) -> Option<Leaf> {
    NAMES.iter().find_map(|names| {
        let at = names.openconfig.iter().position(|&path| path == beneath)?;
        Some(Leaf::Counter(names.counter, u8::try_from(at).ok()?))
    })
}

/// The names of steps with slashes between them.
fn text(steps: &[Step]) -> String {
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    names.join("/")
}

/// What a deletion is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Removed<'a>(pub &'a [Step]);

impl Removed<'_> {
    /// Whether it has this interface, or all; and then, whether this leaf of it.
    pub fn has_interface(&self, name: &str, leaf: Leaf) -> bool {
        self.entry("interfaces", "interface", name).is_some_and(|rest| is_beneath(&path_of(leaf), rest))
    }

    /// The same of a component.
    pub fn has_component(&self, name: &str, leaf: Leaf) -> bool {
        self.entry("components", "component", name).is_some_and(|rest| is_beneath(&path_of(leaf), rest))
    }

    /// The steps beneath an entry of this list, if it is removed, or something in it.
    fn entry(&self, container: &str, list: &str, name: &str) -> Option<&[Step]> {
        let Some((first, rest)) = self.0.split_first() else { return Some(&[]) };
        let Some((entry, rest)) = rest.split_first() else { return (first.name == container).then_some(&[]) };
        let is_meant = first.name == container && entry.name == list;
        (is_meant && entry.key.as_deref().is_none_or(|key| key == name)).then_some(rest)
    }
}

/// The path of a leaf beneath its entry, with the key of a lane in it.
fn path_of(leaf: Leaf) -> Vec<Step> {
    let (path, lane) = match leaf {
        Leaf::Counter(counter, at) => (counter.names().openconfig[usize::from(at)], None),
        Leaf::Lane(lane) => (Counter::LaneBitErrors.names().openconfig[0], Some(lane.to_string())),
        _ => (ATTRIBUTES.iter().find(|(_, other)| *other == leaf).map_or("", |(path, _)| path), None),
    };
    let key = |name: &str| lane.as_deref().filter(|_| name == "channel");
    path.split('/').map(|name| Step::new(name, key(name))).collect()
}

/// Whether a path begins with these steps.
fn is_beneath(path: &[Step], steps: &[Step]) -> bool {
    let fits =
        |(one, step): (&Step, &Step)| one.name == step.name && (step.key.is_none() || one.key == step.key);
    steps.len() <= path.len() && path.iter().zip(steps).all(fits)
}

/// A path for a subscription, in which `*` stands for all names.
pub(super) fn wanted(path: &str) -> Path {
    let elem = path.split('/').map(|name| {
        let is_list = matches!(name, "interface" | "component");
        let key = is_list.then(|| ("name".to_owned(), "*".to_owned())).into_iter().collect();
        PathElem { name: name.to_owned(), key }
    });
    Path { elem: elem.collect(), ..Path::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Steps of a path in text: `interfaces/interface[eth0]/state`.
    fn steps(path: &str) -> Vec<Step> {
        let step = |text: &str| match text.split_once('[') {
            Some((name, key)) => Step::new(name, Some(key.trim_end_matches(']'))),
            None => Step::new(text, None),
        };
        path.split('/').filter(|text| !text.is_empty()).map(step).collect()
    }

    fn interface(path: &str) -> Option<(String, Leaf)> {
        match place(&steps(path))? {
            Place::Interface(name, leaf) => Some((name, leaf)),
            _ => None,
        }
    }

    #[test]
    fn modules_and_their_prefixes_do_not_matter() {
        let leaf = Leaf::Counter(Counter::Unicast, 0);
        for path in [
            "interfaces/interface[eth0]/state/counters/in-unicast-pkts",
            "openconfig-interfaces:interfaces/interface[eth0]/state/counters/in-unicast-pkts",
            "oc-if:interfaces/oc-if:interface[eth0]/oc-if:state/oc-if:counters/in-unicast-pkts",
        ] {
            assert_eq!(interface(path), Some(("eth0".to_owned(), leaf)), "{path}");
        }
    }

    #[test]
    fn only_what_is_used_has_a_place() {
        let of = |path| interface(path).map(|(_, leaf)| leaf);
        assert_eq!(of("interfaces/interface[a]/state/oper-status"), Some(Leaf::OperStatus));
        assert_eq!(
            of("interfaces/interface[a]/phy/channels/channel[3]/state/raw-errors"),
            Some(Leaf::Lane(3))
        );
        assert_eq!(of("interfaces/interface[a]/phy/channels/channel[300]/state/raw-errors"), None);
        assert_eq!(of("interfaces/interface[a]/transceiver/state/fec-corrected-bits"), None);
        for path in [
            "",
            "interfaces",
            "interfaces/interface",
            "interfaces/interface/state/oper-status",
            "interfaces/interface[*]/state/oper-status",
            "interfaces/interface[a]",
            "interfaces/interface[a]/state/counters/out-pkts",
            "interfaces/interface[a]/subinterfaces/subinterface[0]/state/counters/in-pkts",
        ] {
            assert_eq!(place(&steps(path)), None, "{path}");
        }
        let fec = steps("components/component[Ethernet1]/transceiver/state/fec-uncorrectable-words");
        let leaf = Leaf::Counter(Counter::Uncorrectable, 3);
        assert_eq!(place(&fec), Some(Place::Component("Ethernet1".to_owned(), leaf)));
        assert_eq!(place(&steps(BOOT_TIME)), Some(Place::BootTime));
        assert!(is_nameless(&steps("interfaces/interface/state/counters/in-pkts")));
        assert!(!is_nameless(&steps("interfaces/interface[a]/state/counters/in-pkts")));
    }

    #[test]
    fn a_deletion_has_what_is_beneath_it_and_no_more() {
        let pkts = Leaf::Counter(Counter::AllFrames, 0);
        let has = |path: &str, leaf| Removed(&steps(path)).has_interface("a", leaf);
        for whole in ["", "interfaces", "interfaces/interface[a]", "interfaces/interface[*]/state/counters"] {
            assert!(has(whole, pkts), "{whole}");
        }
        for other in
            ["components", "interfaces/interface[b]", "interfaces/interface[a]/ethernet", "interfaces/x"]
        {
            assert!(!has(other, pkts), "{other}");
        }
        assert!(!has("interfaces/interface[a]/state/counters/in-pkts/more", pkts));
        assert!(!has("interfaces/interface[a]/state/counters", Leaf::OperStatus));
        let lane = "interfaces/interface[a]/phy/channels/channel[1]";
        assert!(has(lane, Leaf::Lane(1)) && !has(lane, Leaf::Lane(2)));
        let component = steps("components/component[a]");
        assert!(Removed(&component).has_component("a", Leaf::Counter(Counter::Uncorrectable, 2)));
        assert!(!Removed(&component).has_interface("a", pkts));
    }

    #[test]
    fn a_prefix_and_a_path_are_one() {
        let path = |path: &str| Path { elem: wanted(path).elem, ..Path::default() };
        let all = joined(Some(&path("interfaces/interface")), Some(&path("state"))).expect("short");
        assert_eq!(all, steps("interfaces/interface[*]/state"));
        assert_eq!(joined(None, None), Some(Vec::new()));
        assert_eq!(joined(Some(&path(&"a/".repeat(20))), Some(&path(&"a/".repeat(20)))), None);
    }

    proptest! {
        /// Every leaf is removed by each beginning of its own path.
        #[test]
        fn what_has_a_place_can_be_deleted(at in 0_usize..NAMES.len(), length in 0_usize..6) {
            for path in NAMES[at].openconfig.iter().filter(|path| !path.starts_with(TRANSCEIVER)) {
                let path = path.replace("channel/", "channel[7]/");
                let all = steps(&format!("interfaces/interface[a]/{path}"));
                let Some(Place::Interface(name, leaf)) = place(&all) else { panic!("{path} has no place") };
                prop_assert!(Removed(&all[..length.min(all.len())]).has_interface(&name, leaf));
                prop_assert!(!Removed(&all).has_interface("b", leaf));
            }
        }
    }
}
