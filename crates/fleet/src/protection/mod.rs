//! What protection leaves of a corrupting link's loss and capacity.

mod file;
mod measured;

use linkmend_diagnose::{Diagnose, Fault, ParameterError};

/// A measured point: the loss and capacity after protection at one loss rate.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectionRow {
    /// Loss rate on the wire.
    pub loss_rate: f64,
    /// Loss rate after protection.
    pub effective_loss_rate: f64,
    /// Effective capacity, as a share of the link's.
    pub capacity: f64,
}

/// How the row for a loss rate is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nearest {
    /// By the smallest difference, as in the authors' simulator.
    Linear,
    /// By the smallest factor.
    Logarithmic,
}

/// A table from loss rates to what protection leaves, in ordered mode and, if known, in non-blocking mode.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtectionTable {
    rows: Vec<ProtectionRow>,
    /// Empty if non-blocking mode was not measured.
    non_blocking_rows: Vec<ProtectionRow>,
    nearest: Nearest,
}

/// Why a protection table was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProtectionError {
    /// The text is not of the expected form.
    #[error("{reason}")]
    Form {
        /// What is wrong, and where.
        reason: String,
    },
    /// The table has no rows.
    #[error("{list} of a protection table needs at least one row")]
    Empty {
        /// The list: `rows` or `non_blocking_rows`.
        list: &'static str,
    },
    /// A value is out of its range.
    #[error("{list}, row {row}: {} is {}; it {}", .error.parameter, .error.value, .error.requirement)]
    Range {
        /// The list: `rows` or `non_blocking_rows`.
        list: &'static str,
        /// Number of the row, from 1.
        row: usize,
        /// Which value of the row, and what is required of it.
        error: ParameterError,
    },
}

impl Diagnose for ProtectionError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

impl ProtectionTable {
    /// The authors' measurements at 100G in ordered mode; the last row is their estimate (published with their
    /// artifact).
    pub fn authors() -> ProtectionTable {
        let row = |loss_rate, effective_loss_rate, percent: f64| ProtectionRow {
            loss_rate,
            effective_loss_rate,
            capacity: percent / 100.0,
        };
        let rows = vec![
            row(1.43e-5, 5.97e-10, 98.76),
            row(9.16e-5, 7.56e-9, 98.74),
            row(1.16e-3, 1.29e-9, 90.88),
            row(1e-2, 1e-8, 60.0),
        ];
        ProtectionTable { rows, non_blocking_rows: Vec::new(), nearest: Nearest::Linear }
    }

    /// A table that comes with this crate: [`ProtectionTable::authors`] by that word,
    /// [`ProtectionTable::simulated`] by the link's speed, and [`ProtectionTable::llr`] by the speed after `llr-`.
    pub fn named(name: &str) -> Option<ProtectionTable> {
        match (name, name.strip_prefix("llr-")) {
            ("authors", _) => Some(ProtectionTable::authors()),
            (_, Some(speed)) => ProtectionTable::llr(speed),
            (speed, None) => ProtectionTable::simulated(speed),
        }
    }

    /// Link Layer Retry instead of LinkGuardian, as Linkmend's simulator measures it over 100 m at `100G`, `400G` or `800G`.
    pub fn llr(speed: &str) -> Option<ProtectionTable> {
        let measured = match speed {
            "100G" => &measured::LLR_AT_100G,
            "400G" => &measured::LLR_AT_400G,
            "800G" => &measured::LLR_AT_800G,
            _ => return None,
        };
        Some(ProtectionTable {
            rows: measured.to_vec(),
            non_blocking_rows: Vec::new(),
            nearest: Nearest::Logarithmic,
        })
    }

    /// The measurements of Linkmend's own simulator, by the link's speed: `25G`, `100G` or `400G`.
    pub fn simulated(speed: &str) -> Option<ProtectionTable> {
        let measured = match speed {
            "25G" => &measured::AT_25G,
            "100G" => &measured::AT_100G,
            "400G" => &measured::AT_400G,
            _ => return None,
        };
        Some(ProtectionTable {
            rows: measured.iter().map(|row| row.ordered()).collect(),
            non_blocking_rows: measured.iter().map(|row| row.non_blocking()).collect(),
            nearest: Nearest::Logarithmic,
        })
    }

    /// A table of rows measured in ordered mode.
    ///
    /// # Errors
    /// If there is no row, or a value is outside 0 to 1.
    pub fn new(rows: Vec<ProtectionRow>, nearest: Nearest) -> Result<ProtectionTable, ProtectionError> {
        check("rows", &rows)?;
        Ok(ProtectionTable { rows, non_blocking_rows: Vec::new(), nearest })
    }

    /// Adds rows measured in non-blocking mode.
    ///
    /// # Errors
    /// If there is no row, or a value is outside 0 to 1.
    pub fn with_non_blocking(self, rows: Vec<ProtectionRow>) -> Result<ProtectionTable, ProtectionError> {
        check("non_blocking_rows", &rows)?;
        Ok(ProtectionTable { non_blocking_rows: rows, ..self })
    }

    /// A table of only the rows of non-blocking mode, if there are any.
    pub fn into_non_blocking(self) -> Option<ProtectionTable> {
        let rows = self.non_blocking_rows;
        (!rows.is_empty()).then(|| ProtectionTable { rows: rows.clone(), non_blocking_rows: rows, ..self })
    }

    /// The largest effective capacity of any row: that of a link whose losses are too rare to cost anything.
    pub fn best_capacity(&self) -> f64 {
        self.rows.iter().map(|row| row.capacity).fold(0.0, f64::max)
    }

    /// The row nearest to a loss rate; the earlier of two equally near.
    pub fn row(&self, loss_rate: f64) -> &ProtectionRow {
        self.nearest_of(&self.rows, loss_rate).expect("a table has rows")
    }

    /// The row of non-blocking mode nearest to a loss rate, if the table has such rows.
    pub fn non_blocking_row(&self, loss_rate: f64) -> Option<&ProtectionRow> {
        self.nearest_of(&self.non_blocking_rows, loss_rate)
    }

    fn nearest_of<'a>(&self, rows: &'a [ProtectionRow], loss_rate: f64) -> Option<&'a ProtectionRow> {
        let distance = |row: &ProtectionRow| match self.nearest {
            Nearest::Linear => (row.loss_rate - loss_rate).abs(),
            Nearest::Logarithmic => (libm::log(row.loss_rate) - libm::log(loss_rate)).abs(),
        };
        let (mut nearest, others) = rows.split_first()?;
        for row in others {
            if distance(row) < distance(nearest) {
                nearest = row;
            }
        }
        Some(nearest)
    }
}

fn check(list: &'static str, rows: &[ProtectionRow]) -> Result<(), ProtectionError> {
    if rows.is_empty() {
        return Err(ProtectionError::Empty { list });
    }
    for (index, row) in rows.iter().enumerate() {
        let values = [
            ("loss_rate", row.loss_rate),
            ("effective_loss_rate", row.effective_loss_rate),
            ("capacity", row.capacity),
        ];
        for (name, value) in values {
            if !(0.0..=1.0).contains(&value) {
                let error = ParameterError::new(name, value, "must be from 0 to 1");
                return Err(ProtectionError::Range { list, row: index + 1, error });
            }
        }
    }
    Ok(())
}

/// How many links may be protected at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProtectionLimits {
    /// Limit for one pipe.
    pub per_pipe: Option<u32>,
    /// Limit for one switch.
    pub per_switch: Option<u32>,
}
