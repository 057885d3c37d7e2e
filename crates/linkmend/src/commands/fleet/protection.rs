//! What protection makes of a loss rate: the published table, a simulated one, or a measured one from a file.

use crate::failure::UsageError;
use anyhow::Context;
use linkmend_fleet::protection::{Nearest, ProtectionRow, ProtectionTable};
use serde::Deserialize;
use std::path::Path;

/// A file of measured protection.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProtectionFile {
    #[serde(default = "logarithmic")]
    nearest: Nearest,
    rows: Vec<ProtectionRow>,
}

fn logarithmic() -> Nearest {
    Nearest::Logarithmic
}

/// The table that goes by `authors` or by the speed it was simulated at, or the one in the file of that name.
pub fn read(written: &str) -> anyhow::Result<ProtectionTable> {
    if written == "authors" {
        return Ok(ProtectionTable::authors());
    }
    if let Some(table) = ProtectionTable::simulated(written) {
        return Ok(table);
    }
    let path = Path::new(written);
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the protection table {}", path.display()))?;
    let wrong = |reason: String| UsageError(format!("{}: {reason}", path.display()));
    let file: ProtectionFile = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    Ok(ProtectionTable::new(file.rows, file.nearest).map_err(|error| wrong(error.to_string()))?)
}
