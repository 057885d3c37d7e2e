//! Tables with one value in each row.

use linkmend_report::{Alignment, Cell, Column, Table, Unit};

/// A table with a name and a value in each row.
pub struct Rows(Table);

impl Rows {
    /// No rows yet. `heading` stands above the names.
    pub fn new(title: impl Into<String>, heading: &'static str) -> Rows {
        let values = Column::text("").align(Alignment::Right);
        Rows(Table::new(title.into()).column(Column::text(heading)).column(values))
    }

    /// Adds a row.
    pub fn row(&mut self, name: &str, cell: Cell) {
        self.0.push_row([Cell::text(name), cell]);
    }

    /// Adds a row with a number and its unit.
    pub fn quantity(&mut self, name: &str, value: f64, unit: Unit) {
        self.row(name, Cell::quantity(value, unit));
    }

    /// Adds a row with a number of things.
    pub fn count(&mut self, name: &str, count: u64) {
        self.quantity(name, count as f64, Unit::Count);
    }

    /// Adds a row with a time in microseconds.
    pub fn micros(&mut self, name: &str, micros: f64) {
        self.quantity(name, micros * 1e-6, Unit::Second);
    }

    /// Ends the table with the last row that was added.
    pub fn into_table(self) -> Table {
        self.0
    }
}
