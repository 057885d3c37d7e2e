//! A table as comma-separated values.

use super::{Cell, Content, Table};

pub(super) fn render(table: &Table) -> String {
    let headings = table.columns.iter().map(|column| match column.unit.base_symbol() {
        "" => column.header.clone(),
        symbol => format!("{} ({symbol})", column.header),
    });
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |fields: Vec<String>| writer.write_record(fields).expect("memory can be written");
    write(headings.collect());
    for row in &table.rows {
        write((0..table.columns.len()).map(|index| row.get(index).map(field).unwrap_or_default()).collect());
    }
    let bytes = writer.into_inner().expect("memory can be written");
    String::from_utf8(bytes).expect("fields are text")
}

/// The shortest text that reads back as the same number; empty when it is not a number.
fn csv_number(value: f64) -> String {
    if value.is_nan() {
        return String::new();
    }
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn field(cell: &Cell) -> String {
    match cell.content() {
        Content::Text(text) => text.clone(),
        Content::Number { value, .. } => csv_number(*value),
        Content::Missing => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Unit};

    #[test]
    fn quotes_what_needs_quoting_and_keeps_all_digits() {
        let table = Table::new("t")
            .column(Column::text("a, b"))
            .column(Column::number("rate", Unit::BitPerSecond))
            .row([Cell::text("say \"hi\""), Cell::number(0.1 + 0.2)])
            .row([Cell::text("nan"), Cell::number(f64::NAN)])
            .row([Cell::text("short row")]);
        let expected = "\"a, b\",rate (bit/s)\n\"say \"\"hi\"\"\",0.30000000000000004\nnan,\nshort row,\n";
        assert_eq!(table.to_csv(), expected);
        assert_eq!(csv_number(1e300), "1e300");
        assert_eq!(csv_number(5.0), "5");
    }
}
