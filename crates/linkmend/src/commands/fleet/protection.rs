//! What protection leaves of a loss rate: the published table, a simulated one, or one from a file.

use crate::failure::{Context, Result, UsageError};
use clap::ValueEnum;
use linkmend_fleet::protection::ProtectionTable;
use std::path::Path;

/// The mode whose rows of a table apply.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ModeName {
    Ordered,
    NonBlocking,
}

/// The table of [`read`], with only the rows of one mode.
pub fn read_for(written: &str, mode: ModeName) -> Result<ProtectionTable> {
    let table = read(written)?;
    match mode {
        ModeName::Ordered => Ok(table),
        ModeName::NonBlocking => table.into_non_blocking().ok_or_else(|| {
            let message = format!("the protection table `{written}` was not measured in non-blocking mode");
            let hint = "take --protection 25G, 100G or 400G, or a file with `non_blocking_rows`";
            UsageError::hinted(message, hint.to_owned()).into()
        }),
    }
}

/// The table of this name, or else the one in this file.
pub fn read(written: &str) -> Result<ProtectionTable> {
    if let Some(table) = ProtectionTable::named(written) {
        return Ok(table);
    }
    let path = Path::new(written);
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the protection table {}", path.display()))?;
    let table = ProtectionTable::from_json(&text);
    Ok(table.map_err(|error| UsageError::new(format!("{}: {error}", path.display())))?)
}
