//! A matrix of cells coloured by value.

use super::axis::{Axis, ResolvedAxis};
use super::frame::{self, Area, RIGHT_MARGIN, TEXT, TICK_LABELS, px};
use super::palette::heat;
use super::{Drawing, Figure, WIDTH, legend};
use crate::labels;
use crate::table::{Cell, Column, Table};
use maud::{Markup, html};

const TALLEST_CELL: f64 = 38.0;
const TALLEST_MAP: f64 = 460.0;
const KEY_WIDTH: f64 = 14.0;
const KEY_STEPS: usize = 48;
const CELL_TEXT: f64 = 11.0;
/// Height of a line in a cell.
const LINE: f64 = 12.0;

/// Cells in rows and columns. A cell without a number stays grey.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    title: String,
    description: Option<String>,
    value: Axis,
    row_heading: String,
    column_heading: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<f64>)>,
    /// Texts of the cells of each row, instead of their values.
    words: Vec<Vec<String>>,
}

impl HeatMap {
    /// A map whose colours stand for the value axis.
    pub fn new(
        title: impl Into<String>,
        row_heading: impl Into<String>,
        column_heading: impl Into<String>,
        value: Axis,
    ) -> Self {
        HeatMap {
            title: title.into(),
            description: None,
            value,
            row_heading: row_heading.into(),
            column_heading: column_heading.into(),
            columns: Vec::new(),
            rows: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Describes in words what the plot shows.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Names the columns from left to right.
    #[must_use]
    pub fn columns(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.columns = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a row at the bottom.
    #[must_use]
    pub fn row(mut self, name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        self.rows.push((name.into(), values.into_iter().collect()));
        self
    }

    /// Adds a row at the bottom whose cells show words; their colours stand for the values.
    #[must_use]
    pub fn row_of_words(
        mut self,
        name: impl Into<String>,
        cells: impl IntoIterator<Item = (String, f64)>,
    ) -> Self {
        let (words, values): (_, Vec<f64>) = cells.into_iter().unzip();
        self.words.push(words);
        self.row(name, values)
    }

    /// The word in a cell, if it has one.
    fn word(&self, row: usize, column: usize) -> Option<&str> {
        self.words.get(row)?.get(column).map(String::as_str)
    }

    /// Width and height of a cell.
    fn cell_size(&self, area: Area) -> (f64, f64) {
        (area.width / self.columns.len().max(1) as f64, area.height / self.rows.len().max(1) as f64)
    }

    fn draw_cells(&self, area: Area, axis: &ResolvedAxis) -> Markup {
        let (width, height) = self.cell_size(area);
        let gap = if width.min(height) > 8.0 { 1.5 } else { 0.0 };
        html! {
            @for (row, (row_name, values)) in self.rows.iter().enumerate() {
                @for (column, column_name) in self.columns.iter().enumerate() {
                    @let value = values.get(column).copied().unwrap_or(f64::NAN);
                    @let number = self.value.unit().format(value);
                    @let word = self.word(row, column);
                    @let text = word.map_or(number.clone(), |word| format!("{word}, {number}"));
                    @let (x, y) = (area.x + width * column as f64, area.y + height * row as f64);
                    @let colour = axis.scale.position(value).filter(|_| value.is_finite()).map(heat);
                    @let (fill, dark) = colour.map_or((None, false), |(fill, dark)| (Some(fill), dark));
                    rect.lm-empty-cell[fill.is_none()] fill=[fill.as_deref()] x=(px(x)) y=(px(y))
                        width=(px(width - gap)) height=(px(height - gap)) {
                        title { (row_name) ", " (column_name) ": " (text) }
                    }
                    @let short = word.map_or_else(|| axis.short(value), str::to_owned);
                    @if fill.is_some() {
                        @let lines = lines(&short, (width - gap - 4.0, height - gap));
                        @let first = y + (height - gap) / 2.0 + 4.0 - LINE * (lines.len().saturating_sub(1)) as f64 / 2.0;
                        @for (number, line) in lines.iter().enumerate() {
                            text.lm-small.lm-middle style=(if dark { "fill:#10151b" } else { "fill:#ffffff" })
                                x=(px(x + (width - gap) / 2.0)) y=(px(first + LINE * number as f64)) { (line) }
                        }
                    }
                }
            }
        }
    }

    fn draw_names(&self, area: Area) -> Markup {
        let (width, height) = self.cell_size(area);
        let widest = self.columns.iter().map(|name| labels::width(name, TEXT)).fold(0.0, f64::max).min(120.0);
        let column_stride = ((widest + 8.0) / width).ceil().max(1.0) as usize;
        let row_stride = (15.0 / height).ceil().max(1.0) as usize;
        html! {
            @for (index, (name, _)) in self.rows.iter().enumerate().step_by(row_stride) {
                text.lm-end x=(px(area.x - 8.0)) y=(px(area.y + height * (index as f64 + 0.5) + 3.0)) {
                    (labels::fit(name, TEXT, area.x - 12.0))
                }
            }
            @for (index, name) in self.columns.iter().enumerate().step_by(column_stride) {
                text.lm-middle x=(px(area.x + width * (index as f64 + 0.5))) y=(px(area.bottom() + 17.0)) {
                    (labels::fit(name, TEXT, width * column_stride as f64 - 4.0))
                }
            }
            (frame::bottom_heading(area, &self.column_heading))
        }
    }

    /// The colour key with its ticks, right of the map.
    fn draw_key(area: Area, axis: &ResolvedAxis) -> Markup {
        let step = 1.0 / KEY_STEPS as f64;
        html! {
            @for index in 0..KEY_STEPS {
                @let position = (index as f64 + 0.5) * step;
                rect fill=(heat(position).0) x=(px(area.x)) y=(px(area.up((index + 1) as f64 * step)))
                    width=(px(area.width)) height=(px(area.height * step + 0.6)) {}
            }
            @for (position, text) in thinned(axis, area.height) {
                text.lm-muted x=(px(area.right() + 7.0)) y=(px(area.up(position) + 4.0)) { (text) }
            }
        }
    }
}

/// The lines of a cell's text; none if it does not fit into this width and height.
fn lines(text: &str, (width, height): (f64, f64)) -> Vec<String> {
    let fit = |lines: &[String]| {
        height >= 4.0 + LINE * lines.len() as f64
            && lines.iter().all(|line| labels::width(line, CELL_TEXT) <= width)
    };
    let whole = vec![text.to_owned()];
    let parts: Vec<String> = text.replace(" = ", " =\n").lines().map(str::to_owned).collect();
    [whole, parts].into_iter().find(|lines| fit(lines)).unwrap_or_default()
}

/// Ticks that have room for their text.
fn thinned(axis: &ResolvedAxis, height: f64) -> Vec<(f64, &str)> {
    let mut kept: Vec<(f64, &str)> = Vec::new();
    for (position, text) in &axis.ticks {
        if kept.last().is_none_or(|(last, _)| (position - last) * height >= 15.0) {
            kept.push((*position, text));
        }
    }
    kept
}

impl Figure for HeatMap {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn summary(&self) -> String {
        format!("{} by {} and {}.", self.value.label(), self.row_heading, self.column_heading)
    }

    fn draw(&self) -> Drawing {
        let values = self.rows.iter().flat_map(|(_, values)| values.iter().copied());
        let axis = self.value.resolve(values, 5);
        let (header, top) = legend::header(0.0, &self.row_heading, &[]);
        let key_text = axis.ticks.iter().map(|(_, text)| labels::width(text, TEXT)).fold(0.0, f64::max);
        let left = frame::left_margin(self.rows.iter().map(|(name, _)| name.as_str()));
        let height = (self.rows.len().max(2) as f64 * TALLEST_CELL).min(TALLEST_MAP);
        let width = WIDTH - left - KEY_WIDTH - key_text - 12.0 - RIGHT_MARGIN;
        let area = Area { x: left, y: top, width, height };
        let key = Area { x: area.right() + 16.0, y: top, width: KEY_WIDTH, height };
        let empty = self.rows.is_empty() || self.columns.is_empty();
        let body = html! {
            (header)
            text.lm-axis-label.lm-end x=(px(WIDTH - 4.0)) y="13" { (axis.heading) }
            @if empty { (frame::no_data(area)) } @else {
                (self.draw_cells(area, &axis))
                (self.draw_names(area))
                (HeatMap::draw_key(key, &axis))
            }
        };
        Drawing { body, height: area.bottom() + TICK_LABELS * 2.0 }
    }

    fn data(&self) -> Table {
        let mut table = Table::new(&self.title)
            .column(Column::text(&self.row_heading))
            .column(Column::text(&self.column_heading));
        if !self.words.is_empty() {
            table = table.column(Column::text("best"));
        }
        let mut table = table.column(Column::number(self.value.label(), self.value.unit()));
        for (number, (row, values)) in self.rows.iter().enumerate() {
            for (index, column) in self.columns.iter().enumerate() {
                let value = Cell::from(values.get(index).copied());
                let word = self.word(number, index).map(Cell::text);
                table.push_row([Cell::text(row), Cell::text(column)].into_iter().chain(word).chain([value]));
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_two_lines_or_is_left_out_if_it_does_not_fit() {
        assert_eq!(lines("LLR", (60.0, 20.0)), ["LLR"]);
        assert_eq!(lines("ordered = other", (60.0, 30.0)), ["ordered =", "other"]);
        assert!(lines("ordered = other", (60.0, 20.0)).is_empty());
        assert!(lines("non-blocking", (20.0, 30.0)).is_empty());
    }
}
