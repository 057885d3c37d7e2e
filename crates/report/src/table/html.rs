//! A table as HTML.

use super::{Alignment, Cell, Column, Table};
use crate::labels;
use maud::{Markup, html};

/// Text up to this length is not broken, because "Figure 8" or "1e-3" in two lines is harder to read than a wider
/// column.
const SHORT: usize = 14;

/// Text from this length on is a sentence, which is hard to read in a narrow column.
const LONG: usize = 48;

/// Room for a table on a page of full width and on a narrow one, in pixels.
const WIDE_ROOM: f64 = 1_040.0;
const NARROW_ROOM: f64 = 700.0;
/// Sizes of text and padding in the style sheet: of ordinary tables and of dense ones, in pixels.
const ORDINARY: (f64, f64) = (14.4, 17.6);
const DENSE: (f64, f64) = (12.5, 11.0);

pub(super) fn render(table: &Table) -> Markup {
    let below = below(table);
    let beside = table.columns.len() - usize::from(below.is_some());
    let layout = layout(table, beside);
    html! {
        figure.lm-figure {
            div.lm-scroll {
                table class=(format!("lm-table {layout}").trim_end()) {
                    @if !table.title.is_empty() { caption { (table.title) } }
                    thead {
                        tr {
                            @for column in &table.columns[..beside] {
                                th scope="col" class=[class_of(column.alignment, [""; 2])] { (column.header) }
                            }
                        }
                    }
                    tbody {
                        @for row in &table.rows { (draw_row(table, row, beside, !layout.is_empty())) }
                    }
                }
            }
            @for note in table.note.iter().flat_map(|note| note.lines()) { figcaption { (note) } }
        }
    }
}

/// The cells of a row, and below them what its last column says in sentences.
fn draw_row(table: &Table, row: &[Cell], beside: usize, with_headings: bool) -> Markup {
    let empty = Cell::text("");
    let text = |index: usize| row.get(index).unwrap_or(&empty).display(table.columns[index].unit);
    let sentence = (beside < table.columns.len()).then(|| text(beside)).filter(|text| !text.is_empty());
    html! {
        tr class=[sentence.as_ref().map(|_| "lm-above")] {
            @for (index, column) in table.columns[..beside].iter().enumerate() {
                @let text = text(index);
                @let tone = row.get(index).unwrap_or(&empty).tone_of().class();
                @let classes = [tone, width_class(column, &text)];
                @let heading = with_headings.then_some(&column.header);
                td class=[class_of(column.alignment, classes)] data-heading=[heading] { (text) }
            }
        }
        @if let Some(sentence) = sentence {
            tr.lm-below { td colspan=(beside) { span.lm-heading { (table.columns[beside].header) ": " } (sentence) } }
        }
    }
}

/// The last column, if it has sentences: beside the others they would be narrow or make the table too wide.
fn below(table: &Table) -> Option<usize> {
    let last = table.columns.len().checked_sub(2)? + 1;
    let column = &table.columns[last];
    let is_long =
        |row: &Vec<Cell>| row.get(last).is_some_and(|cell| cell.display(column.unit).chars().count() >= LONG);
    (column.alignment == Alignment::Left && table.rows.iter().any(is_long)).then_some(last)
}

/// How a table of this width is shown: as it is, with smaller text, or with each row as a group of labelled values, where it
/// would not fit.
fn layout(table: &Table, beside: usize) -> &'static str {
    let needed = |(size, padding): (f64, f64)| -> f64 {
        (0..beside).map(|index| narrowest(table, index, size) + padding).sum()
    };
    match (needed(ORDINARY), needed(DENSE)) {
        (ordinary, _) if ordinary <= NARROW_ROOM => "",
        (ordinary, _) if ordinary <= WIDE_ROOM => "lm-wide",
        (_, dense) if dense <= WIDE_ROOM => "lm-wide lm-dense",
        _ => "lm-stacked",
    }
}

/// The width of what is not broken in a column.
fn narrowest(table: &Table, index: usize, size: f64) -> f64 {
    let column = &table.columns[index];
    let width = |text: &str| labels::width(text, size);
    let heading = column.header.split_whitespace().map(|word| width(word) * labels::BOLD);
    let cells = table.rows.iter().filter_map(|row| row.get(index)).map(|cell| {
        let text = cell.display(column.unit);
        let whole = column.alignment == Alignment::Right || !width_class(column, &text).is_empty();
        if whole && text.chars().count() < LONG {
            width(&text)
        } else {
            text.split([' ', '-']).map(width).fold(0.0, f64::max)
        }
    });
    heading.chain(cells).fold(0.0, f64::max)
}

fn class_of(alignment: Alignment, classes: [&str; 2]) -> Option<String> {
    let number = if alignment == Alignment::Right { "lm-number" } else { "" };
    let classes: Vec<&str> = [number].into_iter().chain(classes).filter(|class| !class.is_empty()).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

/// Numbers are never broken anyway.
fn width_class(column: &Column, text: &str) -> &'static str {
    let breakable = column.alignment != Alignment::Right && text.contains([' ', '-']);
    match text.chars().count() {
        _ if column.unbroken => "lm-name",
        length if breakable && length <= SHORT => "lm-short",
        length if breakable && length >= LONG => "lm-long",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use crate::{Cell, Column, Table, Unit};

    #[test]
    fn escapes_text_and_marks_tones() {
        let html = Table::new("<b>")
            .column(Column::text("who & what"))
            .column(Column::number("loss", Unit::LossRate))
            .row([Cell::text("<script>"), Cell::number(1e-3).bad()])
            .to_html();
        assert!(html.contains("<caption>&lt;b&gt;</caption>"), "{html}");
        assert!(html.contains("who &amp; what"), "{html}");
        assert!(html.contains("&lt;script&gt;"), "{html}");
        assert!(html.contains("<td class=\"lm-number lm-bad\""), "{html}");
    }

    #[test]
    fn sentences_of_the_last_column_stand_below_their_row() {
        let long = "a sentence that would be hard to read in a narrow column beside numbers";
        let table = Table::new("t").column(Column::text("Metric")).column(Column::text("Explanation"));
        let table = table.row(["speed", long]).row(["loss", ""]).note("One.").note("Two.");
        let html = table.to_html();
        assert!(!html.contains("<th scope=\"col\">Explanation"), "{html}");
        assert_eq!(html.matches("lm-below").count(), 1, "{html}");
        assert!(html.contains(&format!("<span class=\"lm-heading\">Explanation: </span>{long}")), "{html}");
        assert!(html.contains("<figcaption>One.</figcaption><figcaption>Two.</figcaption>"), "{html}");
    }

    #[test]
    fn tables_that_are_too_wide_are_shown_otherwise() {
        let of = |columns: usize| {
            let columns = (0..columns).map(|index| Column::text(format!("parameter{index}")));
            columns.fold(Table::new("t"), Table::column).row(["value"]).to_html()
        };
        assert!(of(3).contains("class=\"lm-table\"") && !of(3).contains("data-heading"));
        for (columns, class) in [(8, "lm-wide"), (10, "lm-wide lm-dense"), (20, "lm-stacked")] {
            let html = of(columns);
            assert!(html.contains(&format!("class=\"lm-table {class}\"")), "{columns}");
            assert!(html.contains("data-heading=\"parameter0\""), "{columns}");
        }
    }
}
