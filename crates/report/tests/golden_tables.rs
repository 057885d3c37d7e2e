//! Tables as text, compared with the files in `tests/golden`. Set `UPDATE_GOLDEN=1` to write them anew, then read the
//! diff.

#![expect(clippy::disallowed_methods, reason = "golden files are written anew on request")]

use linkmend_report::{Alignment, Cell, Column, Comparison, Table, Tolerance, Unit, Verdict};
use std::path::Path;

fn assert_golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).expect("golden file is writable");
    }
    let expected = std::fs::read_to_string(&path).expect("golden file exists");
    assert_eq!(actual, expected, "{name} differs; see UPDATE_GOLDEN in this file");
}

fn goodput() -> Table {
    Table::new("Goodput through a corrupting link")
        .column(Column::text("Protection"))
        .column(Column::number("Loss before", Unit::LossRate))
        .column(Column::number("Loss after", Unit::LossRate))
        .column(Column::number("Goodput", Unit::BitPerSecond))
        .column(Column::number("Of line rate", Unit::Share))
        .column(Column::number("Delay", Unit::Second))
        .column(Column::number("Frames", Unit::Count))
        .column(Column::number("Copies", Unit::Plain).align(Alignment::Left))
        .row([
            Cell::text("none"),
            Cell::number(1e-3),
            Cell::number(1e-3).bad(),
            Cell::number(1.2e9).bad(),
            Cell::number(0.12),
            Cell::missing(),
            Cell::number(31e6),
            Cell::number(0.0),
        ])
        .row([
            Cell::text("ordered"),
            Cell::number(1e-3),
            Cell::number(0.0).good(),
            Cell::number(9.21e9).good(),
            Cell::number(0.9212),
            Cell::number(3.2e-6),
            Cell::number(31_000_017.0),
            Cell::number(2.0),
        ])
        .note("Sample numbers. 10 Gbit/s, 1518-byte frames, 60 s each.")
}

#[test]
fn wide_terminal() {
    assert_golden("goodput_120.txt", &goodput().to_text(120, false));
}

#[test]
fn names_are_broken_before_a_table_is_given_up() {
    let table = Table::new("")
        .column(Column::name("Name"))
        .column(Column::text("Words"))
        .row([Cell::text("a-name-of-twenty-six-bytes"), Cell::text("some words that can be broken")]);
    assert!(table.to_text(44, false).contains("a-name-of-twenty-six-bytes"));
    let narrow = table.to_text(30, false);
    assert!(narrow.contains("  Name") && narrow.contains("Words") && narrow.lines().count() > 3, "{narrow}");
    assert!(!narrow.contains("a-name-of-twenty-six-bytes"), "{narrow}");
    assert!(table.to_html().contains("<td class=\"lm-name\">a-name"));
}

#[test]
fn narrow_terminal_lists_records() {
    let text = goodput().to_text(60, false);
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert_golden("goodput_60.txt", &text);
}

#[test]
fn numbers_are_never_broken() {
    let text = goodput().to_text(92, false);
    assert!(text.lines().all(|line| line.chars().count() <= 92), "{text}");
    assert!(text.contains("31,000,017") && text.contains("1.20 Gbit/s"), "{text}");
    assert_golden("goodput_92.txt", &text);
}

#[test]
fn csv() {
    assert_golden("goodput.csv", &goodput().to_csv());
}

#[test]
fn html() {
    assert_golden("goodput.html", &goodput().to_html());
}

#[test]
fn json() {
    let json = serde_json::to_string_pretty(&goodput()).expect("a table is JSON");
    assert_golden("goodput.json", &json);
}

#[test]
fn colour_adds_nothing_but_escapes() {
    let coloured = goodput().to_text(120, true);
    let mut plain = String::new();
    let mut pieces = coloured.split("\x1b[");
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        plain.push_str(piece.split_once('m').expect("an escape ends in m").1);
    }
    let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&plain), trimmed(&goodput().to_text(120, false)));
}

#[test]
fn comparisons() {
    let comparisons = [
        Comparison::new("Effective speed", "Figure 8", Unit::Share, 0.9088, Tolerance::Relative(0.01))
            .measured(0.912),
        Comparison::new("Effective loss", "Figure 8", Unit::LossRate, 1.29e-9, Tolerance::Factor(3.0))
            .measured(9.5e-9)
            .explain("Sample explanation: losses follow each other.")
            .predict(5e-9, 15e-9)
            .recorded(Verdict::DiffersAsPredicted),
        Comparison::new("p99.9 improvement", "Figure 10", Unit::Other("x"), 51.0, Tolerance::AtLeast)
            .measured(50.0),
        Comparison::new("Rx buffer", "Figure 14", Unit::Byte, 90e3, Tolerance::AtMost),
    ];
    assert_golden("comparisons.txt", &Comparison::table("LinkGuardian", &comparisons).to_text(130, false));
}

#[test]
fn tables_without_rows_or_columns() {
    assert_eq!(Table::new("").to_text(80, false), "");
    assert_eq!(Table::new("only a title").to_text(80, false), "  only a title\n");
    assert_eq!(Table::new("").column(Column::text("a")).to_text(0, true).lines().count(), 2);
}
