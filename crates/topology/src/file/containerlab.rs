//! containerlab topologies.

use super::draft::{Draft, DraftSwitch, Location, counted, some_of};
use super::roles::{self, Unlabelled};
use super::yaml::{self, Pairs, WithLine};
use super::{HostLink, Loaded, MAX_LINKS, TopologyFault, TopologyFileError, TopologyFileOptions};
use linkmend_quantity::BitRate;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, de::IgnoredAny};
use std::collections::BTreeMap;
use std::fmt;

const LAYER: &str = "linkmend.layer";
const POD: &str = "linkmend.pod";
const SPEED: &str = "linkmend.speed";
const LEVEL: &str = "graph-level";

/// Kinds of nodes that do not forward traffic as a fabric does: hosts, and those that connect a lab with its machine.
const HOST_KINDS: [&str; 6] = ["linux", "host", "bridge", "ovs-bridge", "ext-container", "k8s-kind"];

/// Those of them that only join others.
const BRIDGE_KINDS: [&str; 2] = ["bridge", "ovs-bridge"];

/// Names in the place of a node that are not nodes.
const NOT_NODES: [&str; 6] = ["host", "mgmt-net", "macvlan", "vxlan", "vxlan-stitch", "dummy"];

#[derive(Deserialize)]
struct File {
    topology: Option<Lab>,
}

#[derive(Deserialize)]
struct Lab {
    defaults: Option<Node>,
    kinds: Option<Pairs<Option<Node>>>,
    groups: Option<Pairs<Option<Node>>>,
    nodes: Option<Pairs<Option<Node>>>,
    #[serde(default, deserialize_with = "links")]
    links: Vec<WithLine<LabLink>>,
}

type Labels = Pairs<WithLine<Option<String>>>;

#[derive(Deserialize, Default)]
struct Node {
    kind: Option<String>,
    group: Option<String>,
    labels: Option<Labels>,
}

/// A link in the brief format or in the extended one, in which `veth` links have two endpoints and all others one.
#[derive(Deserialize)]
struct LabLink {
    #[serde(rename = "type")]
    kind: Option<String>,
    endpoints: Option<Vec<Endpoint>>,
    labels: Option<Labels>,
}

struct Endpoint {
    node: String,
    interface: String,
}

fn links<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<WithLine<LabLink>>, D::Error> {
    struct Links(Vec<WithLine<LabLink>>);
    impl<'de> Deserialize<'de> for Links {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            yaml::at_most(deserializer, MAX_LINKS, "links").map(Links)
        }
    }
    Ok(Option::<Links>::deserialize(deserializer)?.map_or_else(Vec::new, |links| links.0))
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EndpointVisitor;
        impl<'de> Visitor<'de> for EndpointVisitor {
            type Value = Endpoint;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`node:interface`, or a mapping with `node` and `interface`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Endpoint, E> {
                let (node, interface) = text
                    .split_once(':')
                    .ok_or_else(|| E::custom(format!("`{text}` is not `node:interface`")))?;
                Ok(Endpoint { node: node.to_owned(), interface: interface.to_owned() })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Endpoint, A::Error> {
                let (mut node, mut interface) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match &key[..] {
                        "node" => node = Some(map.next_value()?),
                        "interface" => interface = Some(map.next_value()?),
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                let node = node.ok_or_else(|| de::Error::missing_field("node"))?;
                let interface = interface.ok_or_else(|| de::Error::missing_field("interface"))?;
                Ok(Endpoint { node, interface })
            }
        }
        deserializer.deserialize_any(EndpointVisitor)
    }
}

/// A node with what it inherits. Its own values come first, then those of its group, its kind, and the defaults.
struct Inherited<'a> {
    name: &'a str,
    line: u32,
    kind: Option<&'a str>,
    group: Option<&'a str>,
    sources: [Option<&'a Node>; 4],
}

impl<'a> Inherited<'a> {
    fn new(lab: &'a Lab, name: &'a WithLine<String>, own: Option<&'a Node>) -> Inherited<'a> {
        let defaults = lab.defaults.as_ref();
        let group = own.and_then(|node| node.group.as_deref());
        let group = group.or(defaults.and_then(|node| node.group.as_deref()));
        let of_group = find(lab.groups.as_ref(), group);
        let kind = [own, of_group, defaults].into_iter().flatten().find_map(|node| node.kind.as_deref());
        let of_kind = find(lab.kinds.as_ref(), kind);
        let sources = [own, of_group, of_kind, defaults];
        Inherited { name: &name.value, line: name.line, kind, group, sources }
    }

    fn label(&self, key: &str) -> Option<WithLine<&'a str>> {
        self.sources.iter().flatten().find_map(|node| label(node.labels.as_ref(), key))
    }

    fn may_be_switch(&self) -> bool {
        !self.kind.is_some_and(|kind| HOST_KINDS.contains(&kind))
    }
}

/// The link of a host at one end and a switch at the other, if that is what it is. A host's cable need not have a speed.
fn host_link(
    wire: &Wire<'_>,
    nodes: &[Inherited<'_>],
    draft: &Draft,
    options: &TopologyFileOptions,
) -> Result<Option<HostLink>, (TopologyFault, u32)> {
    let switches = wire.ends.map(|end| draft.find(nodes[end].name));
    let (switch, at) = match switches {
        [Some(switch), None] => (switch, 0),
        [None, Some(switch)] => (switch, 1),
        _ => return Ok(None),
    };
    let host = &nodes[wire.ends[1 - at]];
    if host.kind.is_some_and(|kind| BRIDGE_KINDS.contains(&kind)) {
        return Ok(None);
    }
    let speed = match speed(wire, nodes, options) {
        Ok(speed) => Some(speed),
        Err((TopologyFault::NoSpeed { .. }, _)) => None,
        Err(wrong) => return Err(wrong),
    };
    let port = Some(wire.interfaces[at].to_owned());
    Ok(Some(HostLink { host: host.name.to_owned(), switch, port, speed, length: None }))
}

fn find<'a>(nodes: Option<&'a Pairs<Option<Node>>>, name: Option<&str>) -> Option<&'a Node> {
    let (_, node) = nodes?.0.iter().find(|(key, _)| Some(&key.value[..]) == name)?;
    node.as_ref()
}

fn label<'a>(labels: Option<&'a Labels>, key: &str) -> Option<WithLine<&'a str>> {
    let (_, value) = labels?.0.iter().find(|(name, _)| name.value == key)?;
    Some(WithLine { value: value.value.as_deref()?, line: value.line })
}

pub(super) fn read(
    text: &str,
    file: String,
    options: &TopologyFileOptions,
) -> Result<Loaded, TopologyFileError> {
    let parsed: File = yaml::parse_foreign(text, &file)?;
    let Some(lab) = &parsed.topology else { return Err(TopologyFault::Empty.at(&file, None)) };
    let named = lab.nodes.as_ref().map_or(&[][..], |nodes| &nodes.0);
    let nodes: Vec<Inherited<'_>> =
        named.iter().map(|(name, own)| Inherited::new(lab, name, own.as_ref())).collect();
    let index: BTreeMap<&str, usize> =
        nodes.iter().enumerate().map(|(number, node)| (node.name, number)).collect();
    let mut warnings = Vec::new();
    let wires = wires(lab, &index, &file, &mut warnings)?;
    let (layers, label) = layers(&nodes, &wires, &file)?;
    let mut draft = Draft::default();
    let number = draft.file(file.clone());
    for (node, layer) in nodes.iter().zip(&layers) {
        let Some(layer) = *layer else { continue };
        let pod = node.label(POD).map(|pod| pod.value.to_owned());
        let location = Location { file: number, line: node.line };
        draft.switch(DraftSwitch { name: node.name.to_owned(), layer, pod, pipes: None, location })?;
    }
    warn_of_hosts(&nodes, &layers, label, &mut warnings);
    for wire in &wires {
        let location = Location { file: number, line: wire.line };
        if wire.ends.iter().any(|&end| layers[end].is_none()) {
            let link =
                host_link(wire, &nodes, &draft, options).map_err(|(fault, line)| fault.at(&file, line))?;
            link.map_or(Ok(()), |link| draft.host_link(link, location))?;
            continue;
        }
        let speed = speed(wire, &nodes, options).map_err(|(fault, line)| fault.at(&file, line))?;
        let ends = wire.ends.map(|end| draft.find(nodes[end].name).expect("was added above"));
        draft.link(ends, Some(wire.name.clone()), speed, None, location)?;
        draft.ports(wire.interfaces.map(str::to_owned));
    }
    draft.finish(warnings)
}

/// A link between two nodes.
struct Wire<'a> {
    ends: [usize; 2],
    /// The interfaces at both ends.
    interfaces: [&'a str; 2],
    /// Both endpoints, which are unique even where the nodes are not.
    name: String,
    line: u32,
    labels: Option<&'a Labels>,
}

/// Links whose ends are both nodes. Others lead out of the lab.
fn wires<'a>(
    lab: &'a Lab,
    nodes: &BTreeMap<&str, usize>,
    file: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<Wire<'a>>, TopologyFileError> {
    let mut wires = Vec::new();
    let mut outside = 0;
    for WithLine { value: link, line } in &lab.links {
        if link.kind.as_ref().is_some_and(|kind| kind != "veth") {
            outside += 1;
            continue;
        }
        let [one, other] = link.endpoints.as_deref().unwrap_or_default() else {
            return Err(TopologyFault::form("a link needs two `endpoints`").at(file, *line));
        };
        let name = format!("{}:{}--{}:{}", one.node, one.interface, other.node, other.interface);
        let known = [one, other].map(|end| nodes.get(&end.node[..]).copied());
        let unknown = [one, other].into_iter().zip(known).find(|(_, known)| known.is_none());
        match (known, unknown) {
            ([Some(near), Some(far)], _) => {
                wires.push(Wire {
                    ends: [near, far],
                    interfaces: [&one.interface, &other.interface],
                    name,
                    line: *line,
                    labels: link.labels.as_ref(),
                });
            }
            (_, Some((end, _))) if !NOT_NODES.contains(&&end.node[..]) => {
                let fault = TopologyFault::UnknownSwitch { link: name, switch: end.node.clone() };
                return Err(fault.at(file, *line));
            }
            _ => outside += 1,
        }
    }
    if outside > 0 {
        warnings.push(format!("left out {} out of the lab", counted(outside, "link", "links")));
    }
    Ok(wires)
}

/// The layer of each node, `None` for hosts, with the label that says it. Without labels, the layers follow from names.
fn layers(
    nodes: &[Inherited<'_>],
    wires: &[Wire<'_>],
    file: &str,
) -> Result<(Vec<Option<u64>>, Option<&'static str>), TopologyFileError> {
    let number = |key: &'static str, node: &Inherited<'_>| {
        let Some(label) = node.label(key) else { return Ok(None) };
        label.value.trim().parse::<u64>().map(Some).map_err(|_| {
            let reason = format!("label {key} of {} is `{}`, not a whole number", node.name, label.value);
            TopologyFault::form(reason).at(file, label.line)
        })
    };
    if nodes.iter().any(|node| node.label(LAYER).is_some()) {
        let layers = nodes.iter().map(|node| number(LAYER, node)).collect::<Result<_, _>>()?;
        return Ok((layers, Some(LAYER)));
    }
    let level = |node| if Inherited::may_be_switch(node) { number(LEVEL, node) } else { Ok(None) };
    let levels = nodes.iter().map(level).collect::<Result<Vec<_>, _>>()?;
    if let Some(bottom) = levels.iter().flatten().max() {
        let layers = levels.iter().map(|level| level.map(|level| bottom - level)).collect();
        return Ok((layers, Some(LEVEL)));
    }
    let switches: Vec<usize> = (0..nodes.len()).filter(|&node| nodes[node].may_be_switch()).collect();
    if switches.is_empty() {
        return Err(
            if nodes.is_empty() { TopologyFault::Empty } else { TopologyFault::OnlyHosts }.at(file, None)
        );
    }
    let mut place = vec![None; nodes.len()];
    switches.iter().enumerate().for_each(|(at, &node)| place[node] = Some(at));
    let links: Vec<[usize; 2]> =
        wires.iter().filter_map(|wire| Some([place[wire.ends[0]]?, place[wire.ends[1]]?])).collect();
    let unlabelled: Vec<Unlabelled<'_>> = switches
        .iter()
        .map(|&node| Unlabelled { name: nodes[node].name, group: nodes[node].group })
        .collect();
    let found = roles::layers(&unlabelled, &links).map_err(|fault| fault.at(file, None))?;
    Ok((place.iter().map(|place| place.map(|at| found[at])).collect(), None))
}

fn warn_of_hosts(
    nodes: &[Inherited<'_>],
    layers: &[Option<u64>],
    label: Option<&str>,
    warnings: &mut Vec<String>,
) {
    let hosts: Vec<String> = nodes
        .iter()
        .zip(layers)
        .filter(|(_, layer)| layer.is_none())
        .map(|(node, _)| node.name.to_owned())
        .collect();
    if hosts.is_empty() {
        return;
    }
    let nodes = counted(hosts.len(), "node", "nodes");
    let why = match label {
        Some(LAYER) => "without a label `linkmend.layer`".to_owned(),
        Some(label) => format!("of host kinds or without a label `{label}`"),
        None => "of host kinds".to_owned(),
    };
    warnings.push(format!("left out {nodes} {why}, with their links: {}", some_of(&hosts)));
}

/// The link's own label, or the slower of those of its ends, or the default.
fn speed(
    wire: &Wire<'_>,
    nodes: &[Inherited<'_>],
    options: &TopologyFileOptions,
) -> Result<BitRate, (TopologyFault, u32)> {
    let read = |label: WithLine<&str>| {
        label.value.parse::<BitRate>().map_err(|error| (TopologyFault::form(error.to_string()), label.line))
    };
    if let Some(label) = label(wire.labels, SPEED) {
        return read(label);
    }
    let ends = wire.ends.iter().filter_map(|&end| nodes[end].label(SPEED)).map(read);
    let slower = ends.collect::<Result<Vec<_>, _>>()?.into_iter().min();
    slower.or(options.default_speed).ok_or_else(|| {
        let how = "a label `linkmend.speed`, like `100G`";
        (TopologyFault::NoSpeed { link: wire.name.clone(), how }, wire.line)
    })
}
