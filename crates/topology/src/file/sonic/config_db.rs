//! A CONFIG_DB: `DEVICE_NEIGHBOR` says who is at each port, and `DEVICE_NEIGHBOR_METADATA` what it is.

use super::super::TopologyFileError;
use super::super::yaml::{self, Pairs, WithLine};
use super::{Cable, Facts, megabits};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "DEVICE_METADATA")]
    metadata: Option<Metadata>,
    #[serde(rename = "PORT")]
    ports: Option<Pairs<Port>>,
    #[serde(rename = "DEVICE_NEIGHBOR")]
    neighbours: Option<Pairs<Neighbour>>,
    #[serde(rename = "DEVICE_NEIGHBOR_METADATA")]
    types: Option<Pairs<Device>>,
}

#[derive(Deserialize)]
struct Metadata {
    localhost: Option<Localhost>,
}

#[derive(Deserialize)]
struct Localhost {
    hostname: Option<String>,
    r#type: Option<String>,
}

#[derive(Deserialize)]
struct Port {
    alias: Option<String>,
    speed: Option<String>,
}

#[derive(Deserialize)]
struct Neighbour {
    name: Option<String>,
    port: Option<String>,
    local_port: Option<String>,
    r#type: Option<String>,
}

#[derive(Deserialize)]
struct Device {
    r#type: Option<String>,
}

/// What the CONFIG_DB of a switch says of its ports and neighbours.
pub fn parse(text: &str, file: &str) -> Result<Facts, TopologyFileError> {
    let File { metadata, ports, neighbours, types } = yaml::parse_foreign(text, file)?;
    let mut facts = Facts::default();
    if let Some(Localhost { hostname, r#type }) = metadata.and_then(|metadata| metadata.localhost) {
        if let (Some(name), Some(r#type)) = (&hostname, r#type) {
            facts.types.push((name.clone(), r#type, 0));
        }
        facts.own = hostname;
    }
    for (WithLine { value: name, .. }, Port { alias, speed }) in ports.unwrap_or_default().0 {
        if let Some(speed) = speed.as_deref().and_then(megabits) {
            facts.speeds.insert(name.clone(), speed);
        }
        if let Some(alias) = alias {
            facts.aliases.insert(alias, name);
        }
    }
    for (WithLine { value: name, line }, Device { r#type }) in types.unwrap_or_default().0 {
        facts.types.extend(r#type.map(|r#type| (name, r#type, line)));
    }
    let own = facts.own.clone().unwrap_or_default();
    for (WithLine { value: key, line }, neighbour) in neighbours.unwrap_or_default().0 {
        let Neighbour { name, port, local_port, r#type } = neighbour;
        // Old files have the neighbour's name as the key, and its type beside its port.
        let (near, name) = match (local_port, name) {
            (Some(near), name) => (near, name.or(Some(key))),
            (None, name) => (key, name),
        };
        if let (Some(name), Some(r#type)) = (&name, r#type) {
            facts.types.push((name.clone(), r#type, line));
        }
        match name {
            Some(name) => {
                let speed = facts.speeds.get(&near).copied();
                let ends = [(own.clone(), Some(near)), (name, port)];
                facts.cables.push(Cable { ends, speed, line });
            }
            None => facts.doubts.push((line, format!("{own}:{near} is left out: its neighbour has no name"))),
        }
    }
    Ok(facts)
}
