//! Points of two quantities, joined or not, with published points for reference.

use super::axis::Axis;
use super::frame::{self, Area, RIGHT_MARGIN, TICK_LABELS_AND_HEADING};
use super::legend;
use super::marks::{self, Style};
use super::palette::{Hue, dash};
use super::series::Series;
use super::{Drawing, Figure, WIDTH};
use crate::table::{Cell, Column, Table};
use maud::html;

const HEIGHT: f64 = 300.0;

/// Points over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    title: String,
    description: Option<String>,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
}

impl Scatter {
    /// A plot with its horizontal and vertical axis.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Scatter { title: title.into(), description: None, x, y, series: Vec::new() }
    }

    /// Describes in words what the plot shows.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a series.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    fn styles(&self) -> Vec<Style<'_>> {
        self.series.iter().enumerate().map(|(index, series)| Scatter::style(index, series)).collect()
    }

    fn style(index: usize, series: &Series) -> Style<'_> {
        Style { series, hue: Hue::of_series(series.hue, index), dash: dash(index), shape: index % 4 }
    }
}

impl Figure for Scatter {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn summary(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        format!("{} against {} for {}.", self.y.label(), self.x.label(), names.join("; "))
    }

    fn draw(&self) -> Drawing {
        let points = || self.series.iter().flat_map(|series| series.points.iter().copied());
        let x = self.x.resolve(points().map(|(x, _)| x), 7);
        let y = self.y.resolve(points().map(|(_, y)| y), 5);
        let styles = self.styles();
        let entries: Vec<_> = styles.iter().map(|style| (style.key(), style.series.name.clone())).collect();
        let (header, top) = legend::header(0.0, &y.heading, &entries);
        let left = frame::left_margin(y.ticks.iter().map(|(_, text)| text.as_str()));
        let area = Area { x: left, y: top, width: WIDTH - left - RIGHT_MARGIN, height: HEIGHT };
        let body = html! {
            (header)
            (frame::vertical_grid(area, &x))
            (frame::left_axis(area, &y))
            (frame::bottom_axis(area, &x))
            (marks::draw(area, (&x, &y), (self.x.unit(), self.y.unit()), &styles))
        };
        Drawing { body, height: area.bottom() + TICK_LABELS_AND_HEADING }
    }

    fn data(&self) -> Table {
        let mut table = Table::new(&self.title)
            .column(Column::text("series"))
            .column(Column::number(self.x.label(), self.x.unit()))
            .column(Column::number(self.y.label(), self.y.unit()));
        for series in &self.series {
            for (x, y) in &series.points {
                table.push_row([Cell::text(&series.name), Cell::number(*x), Cell::number(*y)]);
            }
        }
        table
    }
}
