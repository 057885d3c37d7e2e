//! Nodes and groups of netlab.

use super::super::TopologyFileError;
use super::super::value::Value;
use super::super::yaml::WithLine;
use super::{Netlab, is_expression};
use linkmend_diagnose::excerpt;

/// Devices that are hosts unless their role says otherwise.
const HOST_DEVICES: [&str; 3] = ["linux", "none", "vptx-host"];

impl Netlab {
    /// Nodes as a list of names, a list of mappings with a `name`, or a mapping by name.
    pub fn nodes(&mut self, nodes: &WithLine<Value>, device: Option<&str>) -> Result<(), TopologyFileError> {
        match &nodes.value {
            Value::Null => Ok(()),
            Value::List(entries) => {
                for entry in entries {
                    let name = entry.value.text().or_else(|| entry.value.text_of("name"));
                    let name = name.ok_or_else(|| self.form(entry.line, "a node needs a name"))?;
                    self.add_node(name, &entry.value, device, entry.line)?;
                }
                Ok(())
            }
            Value::Map(pairs) => {
                for (name, data) in pairs {
                    self.add_node(&name.value, &data.value, device, name.line)?;
                }
                Ok(())
            }
            Value::Text(_) => Err(self.form(nodes.line, "`nodes` is a list or a mapping")),
        }
    }

    fn add_node(
        &mut self,
        name: &str,
        data: &Value,
        default_device: Option<&str>,
        line: u32,
    ) -> Result<(), TopologyFileError> {
        if is_expression(name) {
            let text = format!("node `{}` is left out: only netlab can evaluate its name", excerpt(name, 40));
            self.gathering.doubt(self.at(line), text);
            return Ok(());
        }
        let before = self.gathering.names().count();
        let node = self.gathering.node(name, self.at(line))?;
        if self.gathering.names().count() == before {
            return Err(self.form(line, format!("there is already a node `{}`", excerpt(name, 40))));
        }
        if let Some(group) = data.text_of("group") {
            self.gathering.say(node, "group", group);
        }
        let device = data.text_of("device").or(default_device);
        self.device(node, device);
        self.role(node, data.text_of("role"));
        Ok(())
    }

    /// A host's device makes a host, and any other does not.
    fn device(&mut self, node: usize, device: Option<&str>) {
        if let Some(device) = device {
            self.gathering.node_mut(node).hints.is_host = HOST_DEVICES.contains(&device);
        }
    }

    /// netlab's own roles say what a node does. A router is every switch, so that it says nothing.
    fn role(&mut self, node: usize, role: Option<&str>) {
        match role {
            Some("host" | "gateway") => self.gathering.node_mut(node).hints.is_host = true,
            Some("bridge") => self.gathering.node_mut(node).is_bridge = true,
            Some("router") => self.gathering.node_mut(node).hints.is_host = false,
            Some(role) => self.gathering.say(node, "role", role),
            None => {}
        }
    }

    /// Groups by name, with the names of their members, which may be nodes that no other place defines.
    pub fn groups(
        &mut self,
        groups: &WithLine<Value>,
        device: Option<&str>,
    ) -> Result<(), TopologyFileError> {
        let Value::Map(pairs) = &groups.value else { return Ok(()) };
        let creates =
            |of: &Value| of.text_of("_auto_create").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let is_group = |name: &str| pairs.iter().any(|(group, _)| group.value == name);
        let members = |group: &str| -> Vec<WithLine<String>> {
            let group = pairs.iter().find(|(name, _)| name.value == group).map(|(_, data)| &data.value);
            let list = group.map_or(&[][..], |data| match data {
                Value::List(entries) => entries,
                data => data.get("members").map_or(&[][..], |members| members.value.entries()),
            });
            let text = |entry: &WithLine<Value>| {
                Some(WithLine { value: entry.value.text()?.to_owned(), line: entry.line })
            };
            list.iter().filter_map(text).collect()
        };
        for (name, data) in pairs.iter().filter(|(name, _)| !name.value.starts_with('_')) {
            for member in members(&name.value) {
                let is_new = self.gathering.find(&member.value).is_none() && !is_group(&member.value);
                if is_new && (creates(&groups.value) || creates(&data.value)) {
                    self.add_node(&member.value, &Value::Null, device, member.line)?;
                }
                // A member may be a group.
                let inner = members(&member.value);
                let inner = inner.into_iter().map(|member| member.value);
                for member in std::iter::once(member.value.clone()).chain(inner) {
                    let Some(node) = self.gathering.find(&member) else { continue };
                    self.gathering.say(node, "group", &name.value);
                    self.device(node, data.value.text_of("device"));
                    self.role(node, data.value.text_of("role"));
                }
            }
        }
        Ok(())
    }
}
