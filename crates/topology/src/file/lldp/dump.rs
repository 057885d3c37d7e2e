//! What a dump says: a switch's own name, and its neighbours.

use super::super::yaml::{Pairs, WithLine};
use super::forms::{One, Text};
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::fmt;

#[derive(Deserialize)]
pub(super) struct Dump {
    lldp: Option<One<Lldp>>,
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
    /// The identifier of the neighbour's chassis, if it gives one.
    pub chassis: Option<String>,
    /// The identifier of the neighbour's port, whatever its kind.
    pub id: String,
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

    /// The identifier of the switch's own chassis, if the dump gives it.
    pub fn local_chassis(&self) -> Option<&str> {
        self.local.as_ref().and_then(|local| id_of(&local.0.chassis.0))
    }

    /// Whether it has any of what lldpctl and lldpcli print.
    pub fn is_dump(&self) -> bool {
        self.lldp.is_some() || self.local.is_some()
    }

    pub fn views(self) -> Vec<View> {
        let interfaces = self.lldp.and_then(|lldp| lldp.0.interface);
        let interfaces = interfaces.map_or_else(Vec::new, |interfaces| interfaces.0);
        interfaces.into_iter().map(|(port, neighbour)| view(port, neighbour)).collect()
    }
}

fn view(port: WithLine<String>, Neighbour { chassis, port: far }: Neighbour) -> View {
    let Port { id: One(PortId { kind, value: id }), descr } = far.0;
    let description = descr.and_then(|descr| descr.text).filter(|descr| !descr.is_empty());
    let interface = Some(id.clone()).filter(|id| kind == "ifname" && !id.is_empty());
    let is_number = id.bytes().all(|byte| byte.is_ascii_digit());
    let alias = Some(id.clone()).filter(|_| kind == "local" && !is_number);
    let [neighbour, chassis] = [name_of(&chassis.0), id_of(&chassis.0)].map(|text| text.map(str::to_owned));
    View { port: port.value, line: port.line, neighbour, chassis, id, interface, alias, description }
}

/// The long form has the name among the members, the short one in their place.
fn name_of(chassis: &Chassis) -> Option<&str> {
    let member =
        chassis.0.iter().find(|(key, _)| key.value == "name").and_then(|(_, name)| name.text.as_deref());
    let place = match &chassis.0[..] {
        [(name, _)] if name.value != "id" => Some(&name.value[..]),
        _ => None,
    };
    member.or(place).filter(|name| !name.is_empty())
}

/// The identifier, beside the name in the long form and below it in the short one.
fn id_of(chassis: &Chassis) -> Option<&str> {
    let member = chassis.0.iter().find(|(key, _)| key.value == "id").and_then(|(_, id)| id.text.as_deref());
    member.or_else(|| chassis.0.iter().find_map(|(_, below)| below.id.as_deref())).filter(|id| !id.is_empty())
}
