//! Links of netlab: `a-b`, `[a, b]`, `{a: , b: }`, `{interfaces: [...]}`, and groups of links.

use super::super::TopologyFileError;
use super::super::gather::{End, Entry};
use super::super::value::Value;
use super::super::yaml::WithLine;
use super::{Netlab, is_expression};
use linkmend_diagnose::excerpt;

/// Types of links that are no cables.
const NOT_CABLES: [&str; 6] = ["loopback", "tunnel", "dummy", "vlan_member", "lag", "mgmt"];

/// One end: the node and, where the file says it, the port.
type Named = (String, Option<String>);

impl Netlab {
    /// Reads a list of links, or links by name.
    pub fn links(&mut self, links: &WithLine<Value>) -> Result<(), TopologyFileError> {
        self.links_in(links, 0)
    }

    fn links_in(&mut self, links: &WithLine<Value>, depth: u32) -> Result<(), TopologyFileError> {
        match &links.value {
            Value::Null => Ok(()),
            Value::List(entries) => entries.iter().try_for_each(|link| self.link(link, depth)),
            Value::Map(pairs) => pairs.iter().try_for_each(|(_, link)| self.link(link, depth)),
            Value::Text(_) => Err(self.form(links.line, "`links` is a list of links")),
        }
    }

    fn link(&mut self, link: &WithLine<Value>, depth: u32) -> Result<(), TopologyFileError> {
        let line = link.line;
        if let Some(members) = link.value.get("members") {
            // netlab has groups of links, but no groups of groups.
            return if depth == 0 {
                self.links_in(members, 1)
            } else {
                Err(self.form(line, "a group of links is nested in another"))
            };
        }
        let kind = link.value.text_of("type");
        if kind.is_some_and(|kind| NOT_CABLES.contains(&kind)) {
            return Ok(());
        }
        // Members of a bundle are the cables.
        if let Some(members) = link.value.get("lag").and_then(|lag| lag.value.get("members")) {
            return self.links_in(members, 1);
        }
        let ends = self.ends(&link.value, line)?;
        if let Some((node, _)) = ends.iter().find(|(node, _)| is_expression(node)) {
            let text = format!("a link is left out: only netlab can evaluate `{}`", excerpt(node, 40));
            self.gathering.doubt(self.at(line), text);
            return Ok(());
        }
        let mut found = Vec::with_capacity(ends.len());
        for (name, port) in ends {
            let unknown = || match self.makes_nodes {
                Some(line) => self.made_by_plugin(line),
                None => self
                    .form(line, format!("this link ends at `{}`, which is not a node", excerpt(&name, 40))),
            };
            found.push(End { node: self.gathering.find(&name).ok_or_else(unknown)?, port });
        }
        self.add_link(found, line)
    }

    fn add_link(&mut self, mut ends: Vec<End>, line: u32) -> Result<(), TopologyFileError> {
        match ends.len() {
            2 => {
                let (other, one) = (ends.pop(), ends.pop());
                let Some((one, other)) = one.zip(other) else { return Ok(()) };
                self.gathering.cable(Entry {
                    ends: [one, other],
                    speed: None,
                    length: None,
                    at: self.at(line),
                })
            }
            // A stub: a network that one node has alone.
            0 | 1 => Ok(()),
            _ => {
                let names: Vec<&str> = ends.iter().map(|end| self.gathering.name(end.node)).collect();
                let text = format!(
                    "a link between {} is left out: it is not a cable between two nodes",
                    names.join(", ")
                );
                self.gathering.doubt(self.at(line), text);
                Ok(())
            }
        }
    }

    fn ends(&self, link: &Value, line: u32) -> Result<Vec<Named>, TopologyFileError> {
        match link {
            Value::Null => Ok(Vec::new()),
            Value::Text(text) => Ok(text.split('-').map(|node| (node.trim().to_owned(), None)).collect()),
            Value::List(entries) => entries.iter().map(|entry| self.end(entry)).collect(),
            Value::Map(_) if link.get("interfaces").is_some() => {
                let interfaces = link.get("interfaces").map_or(&[][..], |list| list.value.entries());
                interfaces.iter().map(|entry| self.end(entry)).collect()
            }
            Value::Map(pairs) => {
                // Keys that are names of nodes are ends; all others are attributes, which netlab checks.
                let is_node = |name: &str| self.gathering.find(name).is_some();
                let ends = pairs.iter().filter(|(name, _)| is_node(&name.value));
                let ends: Vec<Named> =
                    ends.map(|(name, data)| (name.value.clone(), port(&data.value))).collect();
                if ends.is_empty() {
                    let keys: Vec<String> = pairs
                        .iter()
                        .take(4)
                        .map(|(key, _)| format!("`{}`", excerpt(&key.value, 30)))
                        .collect();
                    return Err(self.form(line, format!("none of {} is a node", keys.join(", "))));
                }
                Ok(ends)
            }
        }
    }

    /// An end in a list: a name, or a mapping with `node`, or one with the node as its only key.
    fn end(&self, entry: &WithLine<Value>) -> Result<Named, TopologyFileError> {
        if let Some(name) = entry.value.text() {
            return Ok((name.to_owned(), None));
        }
        if let Some(name) = entry.value.text_of("node") {
            return Ok((name.to_owned(), port(&entry.value)));
        }
        match &entry.value {
            Value::Map(pairs) if pairs.len() == 1 => Ok((pairs[0].0.value.clone(), port(&pairs[0].1.value))),
            _ => Err(self.form(entry.line, "an end of a link is a node, or a mapping with `node`")),
        }
    }
}

fn port(data: &Value) -> Option<String> {
    data.text_of("ifname").map(str::to_owned)
}
