//! Points of two quantities, joined or not, with published points for reference.

use super::axis::{Axis, ResolvedAxis};
use super::coincide;
use super::frame::{self, Area, RIGHT_MARGIN, TEXT, TICK_LABELS_AND_HEADING, px};
use super::legend;
use super::marks::{self, Style};
use super::palette::Look;
use super::series::{self, Series};
use super::{Drawing, Figure, WIDTH};
use crate::labels;
use crate::table::{Cell, Column, Table};
use maud::{Markup, html};

const HEIGHT: f64 = 300.0;

/// Points over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    title: String,
    description: Option<String>,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    threshold: Option<(f64, String)>,
}

impl Scatter {
    /// A plot with its horizontal and vertical axis.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Scatter { title: title.into(), description: None, x, y, series: Vec::new(), threshold: None }
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

    /// Draws a labelled line upwards at a value of the horizontal axis; nothing if it is not a number.
    #[must_use]
    pub fn threshold(mut self, value: f64, label: impl Into<String>) -> Self {
        self.threshold = value.is_finite().then(|| (value, label.into()));
        self
    }

    /// The line with its label, right of it if there is more room.
    fn draw_threshold(&self, area: Area, axis: &ResolvedAxis) -> Markup {
        let place = |(value, label): &(f64, String)| Some((axis.scale.position(*value)?, label.clone()));
        html! {
            @if let Some((position, label)) = self.threshold.as_ref().and_then(place) {
                @let x = area.across(position.clamp(0.0, 1.0));
                @let (anchor, text_x) = if position < 0.5 { ("", x + 6.0) } else { ("lm-end", x - 6.0) };
                path.lm-phase d=(format!("M{} {}V{}", px(x), px(area.y), px(area.bottom()))) {}
                text class=(format!("lm-muted lm-small lm-value {anchor}").trim_end()) x=(px(text_x)) y=(px(area.y + 14.0)) {
                    (labels::fit(&label, TEXT, area.width / 2.0))
                }
            }
        }
    }

    fn styles(&self) -> Vec<Style<'_>> {
        let series = self.series.iter().enumerate();
        series.map(|(index, series)| Style::new(series, Look::of_series(series.hue, index), index)).collect()
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
        let points = || self.series.iter().flat_map(Series::all_points);
        let threshold = self.threshold.iter().map(|(value, _)| *value);
        let x = self.x.resolve(points().map(|(x, _)| x).chain(threshold), 7);
        let y = self.y.resolve(points().map(|(_, y)| y), 5);
        let styles = self.styles();
        let entries = marks::legend_entries(&styles, self.y.label());
        let (header, top) = legend::header(0.0, &y.heading, &entries);
        let left = frame::left_margin(y.ticks.iter().map(|(_, text)| text.as_str()));
        let area = Area { x: left, y: top, width: WIDTH - left - RIGHT_MARGIN, height: HEIGHT };
        let lines = self.series.iter().map(|series| coincide::Drawn {
            name: &series.name,
            places: series::places(area, &x, &y, &series.points),
        });
        let below = area.bottom() + TICK_LABELS_AND_HEADING;
        let (note, note_height) = coincide::note(area, below, &lines.collect::<Vec<_>>());
        let body = html! {
            (header)
            (frame::vertical_grid(area, &x))
            (frame::left_axis(area, &y))
            (frame::bottom_axis(area, &x))
            (marks::draw(area, (&x, &y), (self.x.unit(), self.y.unit()), &styles))
            (self.draw_threshold(area, &x))
            (note)
        };
        Drawing { body, height: below + note_height }
    }

    fn data(&self) -> Table {
        let mut table = Table::new(&self.title)
            .column(Column::text("series"))
            .column(Column::number(self.x.label(), self.x.unit()))
            .column(Column::number(self.y.label(), self.y.unit()));
        for series in &self.series {
            let bound = format!("{}, upper bound", series.name);
            let published = format!("{}, published", series.name);
            let parts =
                [(&series.name, &series.points), (&bound, &series.bounds), (&published, &series.published)];
            for (name, points) in parts {
                for (x, y) in points {
                    table.push_row([Cell::text(name), Cell::number(*x), Cell::number(*y)]);
                }
            }
        }
        table
    }
}
