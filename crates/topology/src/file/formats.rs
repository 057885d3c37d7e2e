//! Which formats there are, and how a file's own content tells which one it is of.

use super::{TopologyFault, TopologyFileError, dot, gml, htsim, table, xml, yaml};
use linkmend_diagnose::excerpt;
use std::collections::BTreeSet;

/// Formats of a whole network, or of what one switch knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Layered,
    Containerlab,
    Lldp,
    ConfigDb,
    Minigraph,
    Netlab,
    GraphMl,
    Gml,
    Dot,
    NetBox,
    Table,
    Htsim,
}

/// The format of a text.
pub(super) fn recognise(text: &str, file: &str) -> Result<Format, TopologyFileError> {
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    if trimmed.starts_with('<') {
        let root = xml::root(trimmed);
        return match root.as_deref() {
            Some("DeviceMiniGraph") => Ok(Format::Minigraph),
            Some("graphml") => Ok(Format::GraphMl),
            Some(root) => Err(unrecognised(file, format!("XML whose root is `{}`", excerpt(root, 40)))),
            None => Err(unrecognised(file, "not XML, although it begins with `<`".to_owned())),
        };
    }
    if gml::is_gml(trimmed) {
        return Ok(Format::Gml);
    }
    if dot::is_dot(trimmed) {
        return Ok(Format::Dot);
    }
    if htsim::is_htsim(trimmed) {
        return Ok(Format::Htsim);
    }
    if table::is_table(text) {
        return Ok(Format::Table);
    }
    if trimmed.starts_with('[') {
        // The one format that is a list; its reader says what it misses.
        return Ok(Format::NetBox);
    }
    let extension = std::path::Path::new(file).extension().and_then(|extension| extension.to_str());
    if extension.is_some_and(|extension| ["csv", "tsv"].contains(&extension.to_ascii_lowercase().as_str())) {
        // Headers that nobody knows; the reader says which are.
        return Ok(Format::Table);
    }
    by_keys(text, file)
}

fn by_keys(text: &str, file: &str) -> Result<Format, TopologyFileError> {
    let mut seen = BTreeSet::new();
    let found = yaml::first_key(text, file, |key| {
        if seen.len() < 32 {
            seen.insert(key.to_owned());
        }
        match key {
            "switches" | "hosts" | "default_speed" | "default_length" => Some(Format::Layered),
            "topology" => Some(Format::Containerlab),
            "lldp" | "local-chassis" => Some(Format::Lldp),
            "DEVICE_NEIGHBOR" | "DEVICE_METADATA" | "DEVICE_NEIGHBOR_METADATA" | "PORT" => {
                Some(Format::ConfigDb)
            }
            "nodes" | "module" | "provider" | "addressing" => Some(Format::Netlab),
            "results" => Some(Format::NetBox),
            _ => None,
        }
    });
    let has = |key: &str| seen.contains(key);
    match found {
        Ok(Some(format)) => Ok(format),
        Ok(None) if has("links") => Ok(Format::Layered),
        Ok(None) => {
            let keys: Vec<String> =
                seen.iter().take(8).map(|key| format!("`{}`", excerpt(key, 30))).collect();
            let finding = match keys.len() {
                0 => "YAML without a key".to_owned(),
                _ => format!("YAML or JSON with {}", keys.join(", ")),
            };
            Err(unrecognised(file, finding))
        }
        Err(error) if seen.is_empty() && is_one_text(&error) => {
            let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let finding = format!("text that begins with `{}`", excerpt(line.trim(), 40));
            Err(unrecognised(file, finding))
        }
        Err(error) => Err(error),
    }
}

/// Whether YAML found a plain text, as any text without a colon is one.
fn is_one_text(error: &TopologyFileError) -> bool {
    match error {
        TopologyFileError::Refused { fault, .. } => fault.to_string().contains("expected mapping"),
        TopologyFileError::Io { .. } => false,
    }
}

fn unrecognised(file: &str, finding: String) -> TopologyFileError {
    TopologyFault::Unrecognised { finding }.at(file, None)
}
