//! Reads the output of `lldpctl -f json`.
//!
//! lldpctl shortens its JSON: it writes a list of one entry as the entry alone, and an object with a `name` as a member
//! of that name. So `interface` is `{"swp1": ...}` for one neighbour and `[{"swp1": ...}, {"swp2": ...}]` for several,
//! and the chassis is `{"spine1": {"id": ...}}`, or `{"id": ...}` if the neighbour does not give its name.

use super::super::yaml::{Pairs, WithLine};
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::fmt;

#[derive(Deserialize)]
pub(super) struct Dump {
    #[serde(default)]
    lldp: Lldp,
    /// What `lldpcli -f json show chassis` prints.
    #[serde(rename = "local-chassis")]
    local: Option<Local>,
}

#[derive(Deserialize, Default)]
struct Lldp {
    interface: Option<Interfaces>,
}

#[derive(Deserialize)]
struct Local {
    chassis: Chassis,
}

struct Interfaces(Vec<(WithLine<String>, Neighbour)>);

#[derive(Deserialize)]
struct Neighbour {
    chassis: Chassis,
    port: Port,
}

type Chassis = Pairs<IgnoredAny>;

#[derive(Deserialize)]
struct Port {
    id: PortId,
    descr: Option<String>,
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
                while let Some(pairs) = list.next_element::<Pairs<Neighbour>>()? {
                    interfaces.extend(pairs.0);
                }
                Ok(Interfaces(interfaces))
            }
        }
        deserializer.deserialize_any(InterfacesVisitor)
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
    pub line: u32,
}

impl Dump {
    /// The switch's own name, if the dump gives it.
    pub fn local_name(&self) -> Option<&str> {
        self.local.as_ref().and_then(|local| name_of(&local.chassis))
    }

    pub fn views(self) -> Vec<View> {
        let interfaces = self.lldp.interface.map_or_else(Vec::new, |interfaces| interfaces.0);
        interfaces.into_iter().map(|(port, neighbour)| view(port, neighbour)).collect()
    }
}

fn view(port: WithLine<String>, Neighbour { chassis, port: far }: Neighbour) -> View {
    let described = far.descr.filter(|descr| !descr.is_empty());
    let far_ports = if far.id.kind == "ifname" {
        std::iter::once(far.id.value).chain(described).collect()
    } else {
        described.into_iter().chain(std::iter::once(far.id.value)).collect()
    };
    View { port: port.value, line: port.line, neighbour: name_of(&chassis).map(str::to_owned), far_ports }
}

fn name_of(chassis: &Chassis) -> Option<&str> {
    match &chassis.0[..] {
        [(name, _)] if name.value != "id" && !name.value.is_empty() => Some(&name.value),
        _ => None,
    }
}
