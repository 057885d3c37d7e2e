//! containerlab topologies.

use super::draft::{Location, counted};
use super::infer::Hints;
use super::sketch::{self, Sketch};
use super::yaml::{self, Pairs, WithLine};
use super::{MAX_LINKS, TopologyFault, TopologyFileError};
use linkmend_quantity::BitRate;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, de::IgnoredAny};
use std::collections::BTreeMap;
use std::fmt;

const LAYER: &str = "linkmend.layer";
const POD: &str = "linkmend.pod";
const SPEED: &str = "linkmend.speed";
const LEVEL: &str = "graph-level";

/// Labels by which people say what a node is.
const ROLES: [&str; 4] = ["linkmend.role", "role", "device-role", "tier"];

/// Kinds of nodes that do not forward traffic as a fabric does: hosts, traffic generators, and those that connect a lab
/// with its machine.
const HOST_KINDS: [&str; 7] =
    ["linux", "host", "bridge", "ovs-bridge", "ext-container", "k8s-kind", "keysight_ixia-c-one"];

/// Those of them that only join others.
const BRIDGE_KINDS: [&str; 2] = ["bridge", "ovs-bridge"];

/// Parts of the names of images that route.
const ROUTING_IMAGES: [&str; 6] = ["frr", "vyos", "bird", "quagga", "gobgp", "holo"];

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
    image: Option<String>,
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

    fn is_of(&self, kinds: &[&str]) -> bool {
        self.kind.is_some_and(|kind| kinds.contains(&kind))
    }

    fn routes(&self) -> bool {
        let image = self.sources.iter().flatten().find_map(|node| node.image.as_deref());
        image.is_some_and(|image| ROUTING_IMAGES.iter().any(|part| image.contains(part)))
    }

    fn number(&self, key: &'static str, file: &str) -> Result<Option<u64>, TopologyFileError> {
        let Some(label) = self.label(key) else { return Ok(None) };
        label.value.trim().parse::<u64>().map(Some).map_err(|_| {
            let reason = format!("label {key} of {} is `{}`, not a whole number", self.name, label.value);
            TopologyFault::form(reason).at(file, label.line)
        })
    }

    fn sketch(&self, file: &str) -> Result<sketch::Node, TopologyFileError> {
        let label = |key: &&'static str| Some((*key, self.label(key)?.value.to_owned()));
        let group = self.group.map(|group| ("group", group.to_owned()));
        let is_host = self.is_of(&HOST_KINDS);
        Ok(sketch::Node {
            hints: Hints {
                name: self.name.to_owned(),
                layer: self.number(LAYER, file)?,
                words: ROLES.iter().filter_map(label).chain(group).collect(),
                level: if is_host { None } else { self.number(LEVEL, file)? },
                is_host,
                routes: self.routes(),
            },
            at: Location { file: 0, line: self.line },
            pod: self.label(POD).map(|pod| pod.value.to_owned()),
            is_bridge: self.is_of(&BRIDGE_KINDS),
        })
    }
}

fn find<'a>(nodes: Option<&'a Pairs<Option<Node>>>, name: Option<&str>) -> Option<&'a Node> {
    let (_, node) = nodes?.0.iter().find(|(key, _)| Some(&key.value[..]) == name)?;
    node.as_ref()
}

fn label<'a>(labels: Option<&'a Labels>, key: &str) -> Option<WithLine<&'a str>> {
    let (_, value) = labels?.0.iter().find(|(name, _)| name.value == key)?;
    Some(WithLine { value: value.value.as_deref()?, line: value.line })
}

pub(super) fn read(text: &str, file: String) -> Result<Sketch, TopologyFileError> {
    let parsed: File = yaml::parse_foreign(text, &file)?;
    let Some(lab) = &parsed.topology else { return Err(TopologyFault::Empty.at(&file, None)) };
    let named = lab.nodes.as_ref().map_or(&[][..], |nodes| &nodes.0);
    let nodes: Vec<Inherited<'_>> =
        named.iter().map(|(name, own)| Inherited::new(lab, name, own.as_ref())).collect();
    let index: BTreeMap<&str, usize> =
        nodes.iter().enumerate().map(|(number, node)| (node.name, number)).collect();
    let mut warnings = Vec::new();
    let wires = wires(lab, &index, &file, &mut warnings)?;
    let mut drawn = Vec::with_capacity(wires.len());
    for wire in wires {
        let speed = speed(&wire, &nodes).map_err(|(fault, line)| fault.at(&file, line))?;
        drawn.push(sketch::Wire {
            ends: wire.ends,
            ports: wire.interfaces.map(|port| Some(port.to_owned())),
            name: Some(wire.name),
            speed,
            length: None,
            at: Location { file: 0, line: wire.line },
        });
    }
    let nodes = nodes.iter().map(|node| node.sketch(&file)).collect::<Result<_, _>>()?;
    let speed_hint = "a label `linkmend.speed`, like `100G`";
    Ok(Sketch { files: vec![file], nodes, wires: drawn, warnings, doubts: Vec::new(), speed_hint })
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

/// The link's own label, or the slower of those of its ends.
fn speed(wire: &Wire<'_>, nodes: &[Inherited<'_>]) -> Result<Option<BitRate>, (TopologyFault, u32)> {
    let read = |label: WithLine<&str>| {
        label.value.parse::<BitRate>().map_err(|error| (TopologyFault::form(error.to_string()), label.line))
    };
    if let Some(label) = label(wire.labels, SPEED) {
        return read(label).map(Some);
    }
    let ends = wire.ends.iter().filter_map(|&end| nodes[end].label(SPEED)).map(read);
    Ok(ends.collect::<Result<Vec<_>, _>>()?.into_iter().min())
}
