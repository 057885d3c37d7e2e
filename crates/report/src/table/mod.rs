//! Tables: one description, written as terminal text, HTML, CSV or JSON.

mod cell;
mod csv;
#[cfg(feature = "html")]
mod html;
mod text;

pub use cell::{Cell, Content};

use crate::quantity::Unit;
use serde::Serialize;

/// The alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Alignment {
    Left,
    Right,
}

/// What a row that is too short has in its last columns.
static MISSING: Cell = Cell::MISSING;

/// Heading, unit and alignment of a column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    header: String,
    unit: Unit,
    alignment: Alignment,
    /// Whether cells are broken only as a last resort, because half a name is not a name.
    #[serde(skip)]
    unbroken: bool,
}

impl Column {
    /// A column of words, left-aligned.
    pub fn text(header: impl Into<String>) -> Self {
        Column { header: header.into(), unit: Unit::Plain, alignment: Alignment::Left, unbroken: false }
    }

    /// A column of names, left-aligned. They are broken only where nothing else makes the table narrow enough.
    pub fn name(header: impl Into<String>) -> Self {
        Column { unbroken: true, ..Column::text(header) }
    }

    /// A column of numbers in the base unit of `unit`, right-aligned.
    pub fn number(header: impl Into<String>, unit: Unit) -> Self {
        Column { header: header.into(), unit, alignment: Alignment::Right, unbroken: false }
    }

    /// The same column aligned otherwise.
    #[must_use]
    pub fn align(mut self, alignment: Alignment) -> Self {
        self.alignment = alignment;
        self
    }
}

/// A table with a title, typed columns, rows of [`Cell`]s and an optional note.
///
/// A row may be shorter than the columns (the rest stays empty); cells beyond the columns are not shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Table {
    /// A table without columns. An empty title is not shown.
    pub fn new(title: impl Into<String>) -> Self {
        Table { title: title.into(), columns: Vec::new(), rows: Vec::new(), note: None }
    }

    /// Adds a column on the right.
    #[must_use]
    pub fn column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }

    /// Adds a row at the bottom.
    #[must_use]
    pub fn row(mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) -> Self {
        self.push_row(cells);
        self
    }

    /// Adds a row at the bottom, for loops.
    pub fn push_row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Adds a remark under the table, a paragraph each.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(match self.note.take() {
            Some(earlier) => format!("{earlier}\n{}", note.into()),
            None => note.into(),
        });
        self
    }

    /// The title of the table.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Headings, units and cells of its columns.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Unit, impl Iterator<Item = &Cell>)> {
        let cells = |at: usize| self.rows.iter().map(move |row| row.get(at).unwrap_or(&MISSING));
        self.columns
            .iter()
            .enumerate()
            .map(move |(at, column)| (column.header.as_str(), column.unit, cells(at)))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Text for a terminal `width` columns wide, ending in a newline; long cells wrap. With `colour`, tones become ANSI
    /// colours, unless the environment variable `NO_COLOR` is set.
    pub fn to_text(&self, width: usize, colour: bool) -> String {
        text::render(self, width, colour)
    }

    /// A `<figure>` with the table, to stand in a [`crate::Report`] or in a page with its style sheet.
    #[cfg(feature = "html")]
    pub fn to_html(&self) -> String {
        html::render(self).into_string()
    }

    #[cfg(feature = "html")]
    pub(crate) fn markup(&self) -> maud::Markup {
        html::render(self)
    }

    /// Comma-separated values (RFC 4180 quoting, `\n` line ends): headings with base units, then unrounded numbers. A
    /// missing or not-a-number value is an empty field.
    pub fn to_csv(&self) -> String {
        csv::render(self)
    }
}
