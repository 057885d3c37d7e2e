//! Prints what a command has found: one JSON object, or tables.

use linkmend::failure::{Context, Result};
use linkmend::output;
use linkmend_report::Table;
use serde::Serialize;

/// Prints one JSON object.
pub fn json(value: &(impl Serialize + ?Sized)) -> Result<()> {
    Ok(output::print(&serde_json::to_string_pretty(value).context("cannot serialise the results")?)?)
}

/// Prints tables for the terminal, or for this many columns if there is none.
pub fn tables(columns: usize, tables: &[Table]) -> Result<()> {
    let (width, colour) = output::terminal(columns);
    let texts: Vec<String> = tables.iter().map(|table| table.to_text(width, colour)).collect();
    Ok(output::print(&texts.join("\n"))?)
}

/// Prints JSON if that is asked for, and tables otherwise.
pub fn json_or_tables<T: Serialize>(
    as_json: bool,
    value: &T,
    columns: usize,
    of: impl FnOnce(&T) -> Vec<Table>,
) -> Result<()> {
    if as_json { json(value) } else { tables(columns, &of(value)) }
}
