//! Boxes from quartile to quartile with whiskers from minimum to maximum, one in each row.

use super::axis::{Axis, ResolvedAxis};
use super::frame::{self, Area, PUBLISHED_SHAPE, RIGHT_MARGIN, TEXT, TICK_LABELS_AND_HEADING, px};
use super::legend::{self, Key};
use super::palette::Hue;
use super::{Drawing, Figure, WIDTH};
use crate::labels;
use crate::table::{Cell, Column, Table};
use maud::{Markup, html};

const ROW: f64 = 38.0;
const BOX: f64 = 20.0;

/// Minimum, quartiles and maximum of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub min: f64,
    /// A quarter of the values are below.
    pub lower_quartile: f64,
    /// Half of the values are below.
    pub median: f64,
    /// Three quarters of the values are below.
    pub upper_quartile: f64,
    pub max: f64,
}

impl Summary {
    /// The summary of a sample, with quartiles interpolated between neighbours; `None` if no sample is finite.
    pub fn from_samples(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut samples: Vec<f64> = samples.into_iter().filter(|sample| sample.is_finite()).collect();
        samples.sort_by(f64::total_cmp);
        let (min, max) = (*samples.first()?, *samples.last()?);
        let quantile = |share: f64| {
            let rank = share * (samples.len() - 1) as f64;
            let (below, part) = (rank.floor() as usize, rank.fract());
            let above = samples[(below + 1).min(samples.len() - 1)];
            samples[below] * (1.0 - part) + above * part
        };
        let (lower_quartile, median, upper_quartile) = (quantile(0.25), quantile(0.5), quantile(0.75));
        Some(Summary { min, lower_quartile, median, upper_quartile, max })
    }

    fn values(&self) -> [f64; 5] {
        [self.min, self.lower_quartile, self.median, self.upper_quartile, self.max]
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Item {
    label: String,
    summary: Option<Summary>,
    hue: Option<Hue>,
    published: Option<f64>,
}

/// Box plots in rows over one value axis.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxPlot {
    title: String,
    description: Option<String>,
    value: Axis,
    items: Vec<Item>,
}

impl BoxPlot {
    /// A plot over the value axis.
    pub fn new(title: impl Into<String>, value: Axis) -> Self {
        BoxPlot { title: title.into(), description: None, value, items: Vec::new() }
    }

    /// Describes in words what the plot shows.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a row at the bottom; `None` leaves it empty.
    #[must_use]
    pub fn item(mut self, label: impl Into<String>, summary: impl Into<Option<Summary>>) -> Self {
        self.items.push(Item { label: label.into(), summary: summary.into(), hue: None, published: None });
        self
    }

    /// Fixes the colour of the row added last.
    #[must_use]
    pub fn hue(mut self, hue: Hue) -> Self {
        if let Some(last) = self.items.last_mut() {
            last.hue = Some(hue);
        }
        self
    }

    /// Marks a published value in the row added last.
    #[must_use]
    pub fn published(mut self, value: f64) -> Self {
        if let Some(last) = self.items.last_mut() {
            last.published = Some(value);
        }
        self
    }

    fn draw_item(&self, area: Area, axis: &ResolvedAxis, index: usize, item: &Item) -> Markup {
        let y = area.y + ROW * (index as f64 + 0.5);
        let label = labels::fit(&item.label, TEXT, area.x - 16.0);
        let place =
            |value: f64| axis.scale.position(value).filter(|_| value.is_finite()).map(|p| area.across(p));
        let published = item.published.and_then(place);
        html! {
                   text.lm-end x=(px(area.x - 10.0)) y=(px(y + 4.0)) { (label) }
                   @match item.summary.as_ref().and_then(|summary| BoxPlaces::new(summary, place, area.x)) {
                       Some(places) => {
        (frame::clip(area, frame::LINE_MARGIN, &places.draw(y, item.hue.unwrap_or(Hue::Blue), &self.tooltip(item)))) }
                       None => { text.lm-muted x=(px(area.x + 8.0)) y=(px(y + 4.0)) { "no data" } }
                   }
                   @if let Some(x) = published { (frame::marker(PUBLISHED_SHAPE, x, y, "lm-hollow", Some("published"))) }
               }
    }

    fn tooltip(&self, item: &Item) -> String {
        let unit = self.value.unit();
        let numbers = item.summary.map(|summary| summary.values().map(|value| unit.format(value)));
        let [min, lower, median, upper, max] = numbers.unwrap_or_default();
        format!("{}: min {min}, quartiles {lower} / {median} / {upper}, max {max}", item.label)
    }
}

/// Abscissas of a summary. A minimum of zero has none on a logarithmic axis; the whisker then starts where the axis
/// does.
struct BoxPlaces {
    min: f64,
    lower: f64,
    median: f64,
    upper: f64,
    max: f64,
}

impl BoxPlaces {
    fn new(summary: &Summary, place: impl Fn(f64) -> Option<f64>, axis_start: f64) -> Option<Self> {
        let max = place(summary.max)?;
        let start = place(summary.min).unwrap_or(axis_start);
        let or_start = |value: f64| place(value).unwrap_or(start);
        let (lower, median, upper) =
            (or_start(summary.lower_quartile), or_start(summary.median), or_start(summary.upper_quartile));
        Some(BoxPlaces { min: start, lower, median, upper, max })
    }

    fn draw(&self, y: f64, hue: Hue, tooltip: &str) -> Markup {
        let (top, bottom) = (y - BOX / 2.0, y + BOX / 2.0);
        let whiskers = format!(
            "M{} {}v10M{} {}H{}M{} {}H{}M{} {}v10",
            px(self.min),
            px(y - 5.0),
            px(self.min),
            px(y),
            px(self.lower),
            px(self.upper),
            px(y),
            px(self.max),
            px(self.max),
            px(y - 5.0),
        );
        html! {
            g {
                title { (tooltip) }
                path class=(format!("lm-whisker {}", hue.stroke())) d=(whiskers) {}
                rect class=(format!("lm-box {} {}", hue.fill(), hue.stroke())) x=(px(self.lower.min(self.upper)))
                    y=(px(top)) width=(px((self.upper - self.lower).abs().max(1.0))) height=(px(BOX)) {}
                path class=(format!("lm-median {}", hue.stroke()))
                    d=(format!("M{} {}V{}", px(self.median), px(top), px(bottom))) {}
            }
        }
    }
}

impl Figure for BoxPlot {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn summary(&self) -> String {
        let unit = self.value.unit();
        let median = |item: &Item| {
            item.summary.map_or_else(|| "no data".to_owned(), |summary| unit.format(summary.median))
        };
        let rows: Vec<String> =
            self.items.iter().map(|item| format!("{} median {}", item.label, median(item))).collect();
        format!("Spread of {}: {}.", self.value.label(), rows.join("; "))
    }

    fn draw(&self) -> Drawing {
        let summaries = self.items.iter().filter_map(|item| item.summary);
        let values = summaries.flat_map(|summary| summary.values());
        let axis = self.value.resolve(values.chain(self.items.iter().filter_map(|item| item.published)), 7);
        let any_published = self.items.iter().any(|item| item.published.is_some());
        let entries = if any_published {
            vec![(Key::Hollow(PUBLISHED_SHAPE), "published".to_owned())]
        } else {
            Vec::new()
        };
        let (header, top) = if any_published { legend::header(0.0, "", &entries) } else { (html! {}, 4.0) };
        let left = frame::left_margin(self.items.iter().map(|item| item.label.as_str()));
        let height = ROW * self.items.len().max(2) as f64;
        let area = Area { x: left, y: top, width: WIDTH - left - RIGHT_MARGIN, height };
        let body = html! {
            (header)
            (frame::vertical_grid(area, &axis))
            (frame::bottom_axis(area, &axis))
            @if self.items.is_empty() { (frame::no_data(area)) }
            @for (index, item) in self.items.iter().enumerate() { (self.draw_item(area, &axis, index, item)) }
        };
        Drawing { body, height: area.bottom() + TICK_LABELS_AND_HEADING }
    }

    fn data(&self) -> Table {
        let unit = self.value.unit();
        let mut table = Table::new(&self.title).column(Column::text("item"));
        for name in ["min", "lower quartile", "median", "upper quartile", "max", "published"] {
            table = table.column(Column::number(name, unit));
        }
        for item in &self.items {
            let values = item.summary.map_or([None; 5], |summary| summary.values().map(Some));
            let cells = values.into_iter().chain([item.published]).map(Cell::from);
            table.push_row([Cell::text(&item.label)].into_iter().chain(cells));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        let summary = Summary::from_samples([4.0, 1.0, f64::NAN, 3.0, 2.0]).expect("four samples");
        assert_eq!(summary.values(), [1.0, 1.75, 2.5, 3.25, 4.0]);
        assert_eq!(Summary::from_samples([5.0]).expect("one sample").values(), [5.0; 5]);
        assert_eq!(Summary::from_samples([f64::INFINITY]), None);
    }
}
