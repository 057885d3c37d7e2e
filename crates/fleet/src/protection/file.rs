//! Protection tables as JSON.

use super::{Nearest, ProtectionError, ProtectionRow, ProtectionTable};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "logarithmic")]
    nearest: Nearest,
    rows: Vec<ProtectionRow>,
    non_blocking_rows: Option<Vec<ProtectionRow>>,
}

fn logarithmic() -> Nearest {
    Nearest::Logarithmic
}

impl ProtectionTable {
    /// Reads a table as JSON: `rows` of `loss_rate`, `effective_loss_rate` and `capacity` in ordered mode, and
    /// optionally `non_blocking_rows` and `nearest`, which is `logarithmic` or `linear`.
    ///
    /// ```
    /// # use linkmend_fleet::protection::ProtectionTable;
    /// let table = ProtectionTable::from_json(
    ///     r#"{"nearest": "linear", "rows": [{"loss_rate": 1e-3, "effective_loss_rate": 1e-9, "capacity": 0.92}]}"#,
    /// )?;
    /// assert_eq!(table.row(2e-3).capacity, 0.92);
    /// # Ok::<(), linkmend_fleet::protection::ProtectionError>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not of that form, with the line, or if the rows make no table ([`ProtectionTable::new`]).
    pub fn from_json(text: &str) -> Result<ProtectionTable, ProtectionError> {
        let file: File = serde_json::from_str(text)
            .map_err(|error| ProtectionError::Form { reason: error.to_string() })?;
        let table = ProtectionTable::new(file.rows, file.nearest)?;
        match file.non_blocking_rows {
            Some(rows) => table.with_non_blocking(rows),
            None => Ok(table),
        }
    }
}
