//! Renders a table as terminal text. comfy-table measures and wraps; this file maps tones and sets the style.

use super::{Alignment, Cell, Content, Table};
use crate::tone::Tone;
use crate::wrap;
use comfy_table::{
    Attribute, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width,
};

/// A rule under the heading and nowhere else, because rows of numbers are easiest to compare without a grid.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::new('─', '─', '─', '─'));

/// Columns of space that comfy-table puts around a cell.
const GAP: usize = 3;

/// Space to the left of titles, cells and notes.
const INDENT: &str = "  ";

/// Longer words of text columns may be broken, and those of names if there is no other way. Numbers may not: half a
/// number is another number.
const LONGEST_WORD: usize = 14;

/// Separates the ends in the name of a link.
const BETWEEN: &str = "--";

/// No table is readable below this width, and comfy-table would write one letter to a line.
const MIN_WIDTH: usize = 20;

pub(super) fn render(table: &Table, width: usize, colour: bool) -> String {
    let width = width.clamp(MIN_WIDTH, usize::from(u16::MAX));
    let mut text = String::new();
    if !table.title.is_empty() {
        push_wrapped(&mut text, &table.title, width, if colour { Some("1") } else { None });
    }
    let fits = |least: &Vec<usize>| least.iter().map(|width| width + GAP).sum::<usize>() <= width;
    let fitting = [Names::Whole, Names::InHalves, Names::InPieces].into_iter().find_map(|names| {
        let least = (0..table.columns.len()).map(|index| least_width(table, index, names)).collect();
        Some((names, Some(least).filter(fits)?))
    });
    text.push_str(&match fitting {
        Some((names, least)) => grid(table, width, colour, names, &least),
        None => records(table, colour),
    });
    for note in table.note.iter().flat_map(|note| note.lines()) {
        push_wrapped(&mut text, note, width, if colour { Some("2") } else { None });
    }
    text
}

/// How columns of names are made to fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Whole,
    /// A link's ends have a line each.
    InHalves,
    /// A name continues on the next line wherever its column ends.
    InPieces,
}

fn grid(table: &Table, width: usize, colour: bool, names: Names, least: &[usize]) -> String {
    if table.columns.is_empty() {
        return String::new();
    }
    let mut grid = comfy_table::Table::new();
    grid.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_width(width as u16);
    if colour {
        grid.enforce_styling();
    } else {
        grid.force_no_tty();
    }
    grid.set_header(table.columns.iter().map(|column| {
        comfy_table::Cell::new(&column.header)
            .set_alignment(alignment(column.alignment))
            .add_attribute(Attribute::Bold)
    }));
    // A constraint counts the padding of the cell, one column each side.
    let constraint = |width: &usize| ColumnConstraint::LowerBoundary(Width::Fixed((width + 2) as u16));
    grid.set_constraints(least.iter().map(constraint));
    let empty = Cell::text("");
    for row in &table.rows {
        grid.add_row(table.columns.iter().enumerate().map(|(index, column)| {
            let cell = row.get(index).unwrap_or(&empty);
            let mut text = cell.display(column.unit);
            if column.unbroken && names != Names::Whole {
                text = halves(&text).join("\n");
            }
            let text = comfy_table::Cell::new(text);
            toned(text, cell.tone_of()).set_alignment(alignment(column.alignment))
        }));
    }
    let mut text = String::new();
    for line in grid.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The width below which a number, an ordinary word, or any name in a column would be broken.
fn least_width(table: &Table, index: usize, names: Names) -> usize {
    let column = &table.columns[index];
    let cells = table.rows.iter().filter_map(|row| row.get(index));
    let longest_word = |text: &str| text.split_whitespace().map(length).max().unwrap_or(0).min(LONGEST_WORD);
    let width = |cell: &Cell| match cell.content() {
        Content::Text(text) if names == Names::Whole && column.unbroken => length(text),
        Content::Text(text) if names == Names::InHalves && column.unbroken => {
            halves(text).into_iter().map(length).max().unwrap_or(0)
        }
        Content::Text(text) => longest_word(text),
        Content::Number { .. } | Content::Missing => length(&cell.display(column.unit)),
    };
    cells.map(width).max().unwrap_or(0).max(longest_word(&column.header))
}

/// The name of a link in two: up to the separator of its ends, and from there on. Other names stay whole.
fn halves(name: &str) -> Vec<&str> {
    match name.find(BETWEEN) {
        Some(place) if place > 0 => {
            let (one, other) = name.split_at(place + BETWEEN.len());
            if other.is_empty() { vec![one] } else { vec![one, other] }
        }
        _ => vec![name],
    }
}

/// One cell per line, for terminals that are too narrow for the columns side by side.
fn records(table: &Table, colour: bool) -> String {
    let names = table.columns.iter().map(|column| length(&column.header)).max().unwrap_or(0);
    let mut text = String::new();
    for row in &table.rows {
        push_line(&mut text, &"─".repeat(names), None);
        for (column, cell) in table.columns.iter().zip(row) {
            let padding = " ".repeat(names - length(&column.header));
            let value = paint(&cell.display(column.unit), ansi_code(cell.tone_of()).filter(|_| colour));
            push_line(&mut text, &format!("{}{padding}  {value}", column.header), None);
        }
    }
    text
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn ansi_code(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Good => Some("32"),
        Tone::Bad => Some("31"),
        Tone::Neutral => Some("2"),
    }
}

fn paint(text: &str, code: Option<&str>) -> String {
    code.map_or_else(|| text.to_owned(), |code| format!("\x1b[{code}m{text}\x1b[0m"))
}

fn alignment(alignment: Alignment) -> CellAlignment {
    match alignment {
        Alignment::Left => CellAlignment::Left,
        Alignment::Right => CellAlignment::Right,
    }
}

fn toned(cell: comfy_table::Cell, tone: Tone) -> comfy_table::Cell {
    match tone {
        Tone::Plain => cell,
        Tone::Good => cell.fg(Color::Green),
        Tone::Bad => cell.fg(Color::Red),
        Tone::Neutral => cell.add_attribute(Attribute::Dim),
    }
}

/// Appends `paragraph` broken at spaces, each line in the given ANSI style.
fn push_wrapped(text: &mut String, paragraph: &str, width: usize, style: Option<&str>) {
    for line in wrap(paragraph, width - INDENT.len()).lines() {
        push_line(text, line, style);
    }
}

fn push_line(text: &mut String, line: &str, style: Option<&str>) {
    let line = format!("{INDENT}{}", paint(line, style));
    text.push_str(line.trim_end());
    text.push('\n');
}
