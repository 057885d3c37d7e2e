//! What a dump says: a switch's own name, and its neighbours.

use super::super::yaml::{Pairs, WithLine};
use super::forms::{One, Text};
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::fmt;

#[derive(Deserialize)]
pub(super) struct Dump {
    #[serde(default)]
    lldp: One<Lldp>,
    /// What `lldpcli -f json show chassis` prints.
    #[serde(rename = "local-chassis")]
    local: Option<One<Local>>,
}

#[derive(Deserialize, Default)]
struct Lldp {
    interface: Option<Interfaces>,
}

#[derive(Deserialize)]
struct Local {
    chassis: One<Chassis>,
}

/// Ports and the neighbours that they hear.
struct Interfaces(Vec<(WithLine<String>, Neighbour)>);

#[derive(Deserialize)]
struct Neighbour {
    chassis: One<Chassis>,
    port: One<Port>,
}

type Chassis = Pairs<Text>;

#[derive(Deserialize)]
struct Port {
    id: One<PortId>,
    descr: Option<Text>,
}

#[derive(Deserialize)]
struct PortId {
    #[serde(rename = "type")]
    kind: String,
    value: String,
}

impl<'de> Deserialize<'de> for Interfaces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InterfacesVisitor;
        impl<'de> Visitor<'de> for InterfacesVisitor {
            type Value = Interfaces;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an interface or a list of interfaces")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Interfaces, A::Error> {
                let pairs = Pairs::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(Interfaces(pairs.0))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Interfaces, A::Error> {
                let mut interfaces = Vec::new();
                while let Some(entry) = list.next_element()? {
                    interfaces.extend(flat_or_named(entry));
                }
                Ok(Interfaces(interfaces))
            }
        }
        deserializer.deserialize_any(InterfacesVisitor)
    }
}

/// An entry of a list of interfaces.
enum Entry {
    /// Members are interfaces.
    Named(Vec<(WithLine<String>, Neighbour)>),
    /// Members are those of one interface, the name among them.
    Flat(String, Neighbour),
}

/// The interfaces of an entry. One whose name is among its members is said to be where the entry begins.
fn flat_or_named(WithLine { value: entry, line }: WithLine<Entry>) -> Vec<(WithLine<String>, Neighbour)> {
    match entry {
        Entry::Named(interfaces) => interfaces,
        Entry::Flat(name, neighbour) => vec![(WithLine { value: name, line }, neighbour)],
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;
        impl<'de> Visitor<'de> for EntryVisitor {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an interface")
            }

            /// Only the long form begins with a text: the interface's name.
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
                let Some(key) = map.next_key::<WithLine<String>>()? else {
                    return Ok(Entry::Named(Vec::new()));
                };
                match map.next_value()? {
                    First::Text(text) => flat((key.value, text), map),
                    First::Neighbour(neighbour) => {
                        let mut interfaces = vec![(key, *neighbour)];
                        while let Some(interface) = map.next_entry()? {
                            interfaces.push(interface);
                        }
                        Ok(Entry::Named(interfaces))
                    }
                }
            }
        }
        deserializer.deserialize_map(EntryVisitor)
    }
}

fn flat<'de, A: MapAccess<'de>>((key, text): (String, String), mut map: A) -> Result<Entry, A::Error> {
    let mut name = (key == "name").then_some(text);
    let (mut chassis, mut port): (Option<One<Chassis>>, Option<One<Port>>) = (None, None);
    while let Some(key) = map.next_key::<String>()? {
        match &key[..] {
            "name" => name = Some(map.next_value()?),
            "chassis" => chassis = Some(map.next_value()?),
            "port" => port = Some(map.next_value()?),
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
    }
    let missing = |field| move || de::Error::missing_field(field);
    let name = name.ok_or_else(missing("name"))?;
    let chassis = chassis.ok_or_else(missing("chassis"))?;
    Ok(Entry::Flat(name, Neighbour { chassis, port: port.ok_or_else(missing("port"))? }))
}

/// The value of an entry's first member.
enum First {
    Text(String),
    Neighbour(Box<Neighbour>),
}

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FirstVisitor;
        impl<'de> Visitor<'de> for FirstVisitor {
            type Value = First;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a neighbour")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<First, E> {
                Ok(First::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<First, A::Error> {
                let neighbour = Neighbour::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(First::Neighbour(Box::new(neighbour)))
            }
        }
        deserializer.deserialize_any(FirstVisitor)
    }
}

/// A neighbour as one switch sees it.
pub(super) struct View {
    /// The port on this switch.
    pub port: String,
    /// The neighbour's name, if it gives one.
    pub neighbour: Option<String>,
    /// The neighbour's names for its port, the likeliest first. If its identifier is a MAC address or a local number,
    /// which its own dump would not use as a name, the description comes first.
    pub far_ports: Vec<String>,
    /// Whether the first of them is a name: one that has only a MAC address or a local number has none.
    pub far_is_named: bool,
    /// The identifier, if it is the name of an interface.
    pub interface: Option<String>,
    /// The identifier, if it is a local one and not just a number: SONiC sends the port's alias.
    pub alias: Option<String>,
    pub description: Option<String>,
    pub line: u32,
}

impl Dump {
    /// The switch's own name, if the dump gives it.
    pub fn local_name(&self) -> Option<&str> {
        self.local.as_ref().and_then(|local| name_of(&local.0.chassis.0))
    }

    pub fn views(self) -> Vec<View> {
        let interfaces = self.lldp.0.interface.map_or_else(Vec::new, |interfaces| interfaces.0);
        interfaces.into_iter().map(|(port, neighbour)| view(port, neighbour)).collect()
    }
}

fn view(port: WithLine<String>, Neighbour { chassis, port: far }: Neighbour) -> View {
    let Port { id: One(id), descr } = far.0;
    let described = descr.and_then(|descr| descr.0).filter(|descr| !descr.is_empty());
    let is_name = id.kind == "ifname";
    let interface = Some(id.value.clone()).filter(|value| is_name && !value.is_empty());
    let is_alias = id.kind == "local" && !id.value.bytes().all(|byte| byte.is_ascii_digit());
    let alias = is_alias.then(|| id.value.clone());
    let description = described.clone();
    let far_is_named = is_name && !id.value.is_empty() || described.is_some();
    let far_ports = if is_name {
        std::iter::once(id.value).chain(described).filter(|port| !port.is_empty()).collect()
    } else {
        described.into_iter().chain(std::iter::once(id.value)).collect()
    };
    let neighbour = name_of(&chassis.0).map(str::to_owned);
    View {
        port: port.value,
        line: port.line,
        neighbour,
        far_ports,
        far_is_named,
        interface,
        alias,
        description,
    }
}

/// The long form has the name among the members, the short one in their place.
fn name_of(chassis: &Chassis) -> Option<&str> {
    let member =
        chassis.0.iter().find(|(key, _)| key.value == "name").and_then(|(_, name)| name.0.as_deref());
    let place = match &chassis.0[..] {
        [(name, _)] if name.value != "id" => Some(&name.value[..]),
        _ => None,
    };
    member.or(place).filter(|name| !name.is_empty())
}
