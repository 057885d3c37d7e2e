//! Topologies of netlab: nodes, groups and links in all the forms in which people write them.
//!
//! [`nodes`] reads nodes and groups, and [`links`] the links. What netlab configures on top (modules, providers, plugins)
//! says nothing about cables.

mod links;
mod nodes;

use super::draft::Location;
use super::gather::{Gathering, Order};
use super::sketch::Sketch;
use super::value::Value;
use super::yaml::{self, WithLine};
use super::{TopologyFault, TopologyFileError};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    defaults: Option<WithLine<Value>>,
    #[serde(rename = "defaults.device")]
    device: Option<String>,
    nodes: Option<WithLine<Value>>,
    groups: Option<WithLine<Value>>,
    links: Option<WithLine<Value>>,
    /// VLANs and VRFs may have links of their own.
    vlans: Option<WithLine<Value>>,
    vrfs: Option<WithLine<Value>>,
    plugin: Option<WithLine<Value>>,
    /// What the plugin of this name makes nodes and links of.
    fabric: Option<WithLine<Value>>,
}

pub(super) fn read(text: &str, file: String) -> Result<Sketch, TopologyFileError> {
    let parsed: File = yaml::parse_foreign(text, &file)?;
    let mut gathering = Gathering::default();
    let number = gathering.file(file);
    let of_defaults = |key: &str| parsed.defaults.as_ref().and_then(|defaults| defaults.value.get(key));
    let device = of_defaults("device").and_then(|device| device.value.text()).or(parsed.device.as_deref());
    let makes_nodes = parsed.plugin.as_ref().filter(|_| parsed.fabric.is_some()).map(|plugin| plugin.line);
    let mut netlab = Netlab { gathering, file: number, makes_nodes };
    if let Some(nodes) = &parsed.nodes {
        netlab.nodes(nodes, device)?;
    }
    for groups in [parsed.groups.as_ref(), of_defaults("groups")].into_iter().flatten() {
        netlab.groups(groups, device)?;
    }
    if netlab.gathering.names().next().is_none() {
        let line = parsed.plugin.as_ref().map(|plugin| plugin.line);
        return Err(match line {
            Some(line) => netlab.made_by_plugin(line),
            None => netlab.gathering.refuse(netlab.at(0), TopologyFault::Empty),
        });
    }
    if let Some(links) = &parsed.links {
        netlab.links(links)?;
    }
    for of_network in [&parsed.vlans, &parsed.vrfs].into_iter().flatten() {
        let Value::Map(networks) = &of_network.value else { continue };
        for links in networks.iter().filter_map(|(_, network)| network.value.get("links")) {
            netlab.links(links)?;
        }
    }
    netlab.gathering.finish(Order::Undirected, "an option `--default-speed`, as netlab has no speeds")
}

struct Netlab {
    gathering: Gathering,
    file: u32,
    /// The line of a plugin that makes nodes.
    makes_nodes: Option<u32>,
}

impl Netlab {
    fn at(&self, line: u32) -> Location {
        Location { file: self.file, line }
    }

    fn made_by_plugin(&self, line: u32) -> TopologyFileError {
        let reason = "a plugin creates the nodes of this topology; use the output of `netlab create -o yaml:nodes,links`";
        self.form(line, reason)
    }

    fn form(&self, line: u32, reason: impl Into<String>) -> TopologyFileError {
        self.gathering.form(self.at(line), reason)
    }
}

/// Whether netlab would evaluate a text rather than take it for a name.
fn is_expression(text: &str) -> bool {
    text.contains(['{', '}', '$', '*'])
}
