//! A table as HTML.

use super::{Alignment, Cell, Column, Table};
use maud::{Markup, html};

/// Text up to this length is not broken, because "Figure 8" or "1e-3" in two lines is harder to read than a wider
/// column.
const SHORT: usize = 14;

/// Text from this length on is a sentence, which is hard to read in a narrow column.
const LONG: usize = 48;

pub(super) fn render(table: &Table) -> Markup {
    let empty = Cell::text("");
    html! {
        figure.lm-figure {
            div.lm-scroll {
                table.lm-table {
                    @if !table.title.is_empty() { caption { (table.title) } }
                    thead {
                        tr {
                            @for column in &table.columns {
                                th scope="col" class=[class_of(column.alignment, [""; 2])] { (column.header) }
                            }
                        }
                    }
                    tbody {
                        @for row in &table.rows {
                            tr {
                                @for (index, column) in table.columns.iter().enumerate() {
                                    @let cell = row.get(index).unwrap_or(&empty);
                                    @let text = cell.display(column.unit);
                                    @let classes = [cell.tone_of().class(), width_class(column, &text)];
                                    td class=[class_of(column.alignment, classes)] { (text) }
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(note) = &table.note { figcaption { (note) } }
        }
    }
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
}
