//! What a SONiC CONFIG_DB adds to the dumps beside it: by which alias neighbours know each port.

use super::super::TopologyFileError;
use super::super::yaml::{self, Pairs};
use super::forms::Text;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct File {
    #[serde(rename = "DEVICE_METADATA")]
    metadata: Option<Metadata>,
    #[serde(rename = "PORT")]
    ports: Option<Pairs<Port>>,
}

#[derive(Deserialize)]
struct Metadata {
    localhost: Localhost,
}

#[derive(Deserialize)]
struct Localhost {
    hostname: Option<String>,
}

#[derive(Deserialize)]
struct Port {
    alias: Option<Text>,
}

/// The ports of a switch.
pub(super) struct ConfigDb {
    /// The switch's name.
    pub hostname: Option<String>,
    /// The port of each alias.
    pub by_alias: BTreeMap<String, String>,
    pub ports: Vec<String>,
}

impl ConfigDb {
    /// Whether this is a CONFIG_DB, and what it says.
    pub fn parse(text: &str, file: &str) -> Result<Option<ConfigDb>, TopologyFileError> {
        let is_config = yaml::first_key(text, file, |key| match key {
            "DEVICE_METADATA" | "PORT" => Some(true),
            "lldp" | "local-chassis" => Some(false),
            _ => None,
        })?;
        if is_config != Some(true) {
            return Ok(None);
        }
        let File { metadata, ports } = yaml::parse_foreign(text, file)?;
        let hostname = metadata.and_then(|metadata| metadata.localhost.hostname);
        let mut config = ConfigDb { hostname, by_alias: BTreeMap::new(), ports: Vec::new() };
        for (port, Port { alias }) in ports.unwrap_or_default().0 {
            if let Some(alias) = alias.and_then(|alias| alias.text) {
                config.by_alias.insert(alias, port.value.clone());
            }
            config.ports.push(port.value);
        }
        Ok(Some(config))
    }
}
