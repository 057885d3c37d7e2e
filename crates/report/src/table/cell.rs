//! One cell of a table.

use crate::quantity::{NOT_AVAILABLE, Unit};
use crate::tone::Tone;
use linkmend_diagnose::printable;
use serde::Serialize;

/// The content of a cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    /// A number in the base unit of its column, or of its own `unit` where the column mixes units.
    Number {
        value: f64,
        /// The cell's own unit; `None` takes the column's.
        #[serde(skip_serializing_if = "Option::is_none")]
        unit: Option<Unit>,
    },
    /// Nothing was measured.
    Missing,
}

/// A word or a number, and its meaning to the reader.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    content: Content,
    tone: Tone,
}

impl Cell {
    pub(super) const MISSING: Cell = Cell { content: Content::Missing, tone: Tone::Neutral };

    /// Words, aligned to the left. What is not [`printable`] in them is escaped.
    pub fn text(text: impl Into<String>) -> Self {
        Cell { content: Content::Text(printable(&text.into()).into_owned()), tone: Tone::Plain }
    }

    /// A number in the base unit of its column.
    pub fn number(value: f64) -> Self {
        Cell { content: Content::Number { value, unit: None }, tone: Tone::Plain }
    }

    /// A number in a unit of its own, for a column that mixes units.
    pub fn quantity(value: f64, unit: Unit) -> Self {
        Cell { content: Content::Number { value, unit: Some(unit) }, tone: Tone::Plain }
    }

    /// Nothing was measured; reads `n/a`.
    pub fn missing() -> Self {
        Cell::MISSING
    }

    /// Sets the tone.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    /// Marks the cell as good.
    #[must_use]
    pub fn good(self) -> Self {
        self.tone(Tone::Good)
    }

    /// Marks the cell as a problem.
    #[must_use]
    pub fn bad(self) -> Self {
        self.tone(Tone::Bad)
    }

    /// Lets the cell recede.
    #[must_use]
    pub fn neutral(self) -> Self {
        self.tone(Tone::Neutral)
    }

    /// The number of the cell, if it has one.
    pub fn as_number(&self) -> Option<f64> {
        match self.content {
            Content::Number { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The content of the cell.
    pub fn content(&self) -> &Content {
        &self.content
    }

    pub(super) fn tone_of(&self) -> Tone {
        self.tone
    }

    /// The cell as people read it, in a column with this unit.
    pub(super) fn display(&self, column_unit: Unit) -> String {
        match &self.content {
            Content::Text(text) => text.clone(),
            Content::Number { value, unit } => unit.unwrap_or(column_unit).format(*value),
            Content::Missing => NOT_AVAILABLE.to_owned(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::text(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::text(text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Cell::number(value)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or_else(Cell::missing, Cell::number)
    }
}
