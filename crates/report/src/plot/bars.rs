//! Grouped bars: one group for each category, one bar for each series.

use super::axis::{Axis, ResolvedAxis};
use super::frame::{self, Area, PUBLISHED_SHAPE, RIGHT_MARGIN, px};
use super::legend::{self, Key};
use super::palette::Hue;
use super::{Drawing, Figure, WIDTH};
use crate::labels;
use crate::table::{Cell, Column, Table};
use maud::{Markup, html};

const HEIGHT: f64 = 260.0;
const VALUE_TEXT: f64 = 11.0;
const WIDEST_BAR: f64 = 64.0;
const LABEL_LEADING: f64 = 15.0;
/// Longer words in the names of groups are truncated.
const LONGEST_WORD: f64 = 90.0;

#[derive(Clone, Debug, PartialEq)]
struct BarSeries {
    name: String,
    values: Vec<f64>,
    hue: Option<Hue>,
    published: Vec<f64>,
}

/// Grouped bars. A value that is missing or not a number leaves its place empty and is shown as `n/a`.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedBars {
    title: String,
    description: Option<String>,
    heading: String,
    value: Axis,
    categories: Vec<String>,
    series: Vec<BarSeries>,
    reference: Option<(f64, String)>,
}

impl GroupedBars {
    /// A plot over the value axis; `heading` names the kind of the categories. Linear axes start at zero.
    pub fn new(title: impl Into<String>, heading: impl Into<String>, value: Axis) -> Self {
        GroupedBars {
            title: title.into(),
            description: None,
            heading: heading.into(),
            value: value.with_zero(),
            categories: Vec::new(),
            series: Vec::new(),
            reference: None,
        }
    }

    /// Describes in words what the plot shows.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Names the groups from left to right.
    #[must_use]
    pub fn categories(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.categories = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds one bar to each group, in the order of the categories.
    #[must_use]
    pub fn series(mut self, name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        let values = values.into_iter().collect();
        self.series.push(BarSeries { name: name.into(), values, hue: None, published: Vec::new() });
        self
    }

    /// Marks published values on the bars of the series added last, in the order of the categories; a value that is not a
    /// number marks nothing.
    #[must_use]
    pub fn published(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        if let Some(last) = self.series.last_mut() {
            last.published = values.into_iter().collect();
        }
        self
    }

    /// Fixes the colour of the series added last.
    #[must_use]
    pub fn hue(mut self, hue: Hue) -> Self {
        if let Some(last) = self.series.last_mut() {
            last.hue = Some(hue);
        }
        self
    }

    /// Draws a labelled line across at a value, such as the line rate.
    #[must_use]
    pub fn reference(mut self, value: f64, label: impl Into<String>) -> Self {
        self.reference = value.is_finite().then(|| (value, label.into()));
        self
    }

    fn draw_bars(&self, area: Area, axis: &ResolvedAxis) -> Markup {
        let bands = self.categories.len().max(1) as f64;
        let per_band = self.series.len().max(1) as f64;
        let band = area.width / bands;
        let bar = (band * 0.78 / per_band).min(WIDEST_BAR);
        let base = axis.scale.position(0.0).unwrap_or(0.0).clamp(0.0, 1.0);
        html! {
            @for category in 0..self.categories.len() {
                @let left = area.x + band * (category as f64 + 0.5) - bar * per_band / 2.0;
                @for (index, series) in self.series.iter().enumerate() {
                    @let value = series.values.get(category).copied().unwrap_or(f64::NAN);
                    @let x = left + bar * index as f64;
                    (self.draw_bar(area, axis, base, (x, bar), (category, index, value)))
                }
            }
        }
    }

    fn draw_bar(
        &self,
        area: Area,
        axis: &ResolvedAxis,
        base: f64,
        (x, width): (f64, f64),
        (category, index, value): (usize, usize, f64),
    ) -> Markup {
        let series = &self.series[index];
        let hue = Hue::of_series(series.hue, index);
        let text = self.value.unit().format(value);
        let short = axis.short(value);
        let drawable = value.is_finite() && axis.scale.position(value).is_some();
        let end = axis.scale.position(value).filter(|_| drawable).unwrap_or(base).clamp(0.0, 1.0);
        let (top, bottom) = (area.up(end.max(base)), area.up(end.min(base)));
        let labelled = labels::width(&short, VALUE_TEXT) <= width + 2.0;
        let published = series.published.get(category).copied().filter(|value| value.is_finite());
        let published =
            published.and_then(|value| axis.scale.position(value)).map(|position| area.up(position));
        let gap = (width * 0.08).min(2.0);
        // The names of the groups go below a bar that reaches down to the axis.
        let room_below = bottom + 16.0 <= area.bottom();
        // A published value close above the end of the bar moves the label up.
        let close = published.filter(|mark| (top - 22.0..=top + 8.0).contains(mark));
        let label_y = if end < base && room_below {
            bottom + 13.0
        } else {
            close.map_or(top, |mark| top.min(mark - 6.0)) - 5.0
        };
        html! {
            @if drawable {
                rect class=(hue.fill()) x=(px(x + gap)) y=(px(top)) width=(px((width - 2.0 * gap).max(0.5)))
                    height=(px((bottom - top).max(1.0))) {
                    title { (self.categories[category]) ", " (series.name) ": " (text) }
                }
            }
            @if let Some(mark) = published {
                (frame::marker(PUBLISHED_SHAPE, x + width / 2.0, mark, "lm-hollow lm-background", Some("published")))
            }
            @if labelled {
                text.lm-muted.lm-small.lm-middle.lm-value x=(px(x + width / 2.0)) y=(px(label_y)) { (short) }
            }
        }
    }

    /// Category names under their groups in up to three lines; returns the height taken.
    fn draw_categories(&self, area: Area) -> (Markup, f64) {
        let band = area.width / self.categories.len().max(1) as f64;
        // Where words do not fit under their group, only every n-th is named.
        let words = self.categories.iter().flat_map(|name| name.split_whitespace());
        let longest =
            words.map(|word| labels::width(word, frame::TEXT)).fold(0.0, f64::max).min(LONGEST_WORD);
        let stride = ((longest + 8.0) / band).ceil().max(1.0) as usize;
        let available = (band * stride as f64 - 8.0).max(20.0);
        let wrapped: Vec<Vec<String>> =
            self.categories.iter().map(|name| labels::wrap(name, frame::TEXT, available, 3)).collect();
        let lines = wrapped.iter().step_by(stride).map(Vec::len).max().unwrap_or(0);
        let markup = html! {
            path.lm-axis d=(format!("M{} {}H{}", px(area.x), px(area.bottom()), px(area.right()))) {}
            @for (index, lines) in wrapped.iter().enumerate().step_by(stride) {
                @for (row, line) in lines.iter().enumerate() {
                    text.lm-middle x=(px(area.x + band * (index as f64 + 0.5)))
                        y=(px(area.bottom() + 18.0 + row as f64 * LABEL_LEADING)) { (line) }
                }
            }
        };
        (markup, 8.0 + lines as f64 * LABEL_LEADING)
    }

    fn draw_reference(&self, area: Area, axis: &ResolvedAxis) -> Markup {
        let place = |(value, label): &(f64, String)| Some((axis.scale.position(*value)?, label.clone()));
        html! {
            @if let Some((position, label)) = self.reference.as_ref().and_then(place) {
                @let y = area.up(position.clamp(0.0, 1.0));
                path.lm-phase d=(format!("M{} {}H{}", px(area.x), px(y), px(area.right()))) {}
                text.lm-muted.lm-small.lm-end.lm-value x=(px(area.right())) y=(px(y - 5.0)) { (label) }
            }
        }
    }
}

impl Figure for GroupedBars {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn summary(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        format!("{} by {} for {}.", self.value.label(), self.heading, names.join("; "))
    }

    fn draw(&self) -> Drawing {
        let published = self.series.iter().flat_map(|series| series.published.iter().copied());
        let any_published = published.clone().any(f64::is_finite);
        let values = self.series.iter().flat_map(|series| series.values.iter().copied()).chain(published);
        let axis = self.value.resolve(values.chain(self.reference.as_ref().map(|(value, _)| *value)), 5);
        let swatch = |(index, series): (usize, &BarSeries)| {
            (Key::Swatch(Hue::of_series(series.hue, index)), series.name.clone())
        };
        let mut entries: Vec<(Key, String)> = self.series.iter().enumerate().map(swatch).collect();
        // The heading of the axis names the only series.
        entries.retain(|(_, name)| name != self.value.label());
        if any_published {
            entries.push((Key::Hollow(PUBLISHED_SHAPE), "published".to_owned()));
        }
        let (header, top) = legend::header(0.0, &axis.heading, &entries);
        let left = frame::left_margin(axis.ticks.iter().map(|(_, text)| text.as_str()));
        // The label on a bar of full height goes above the area.
        let area = Area { x: left, y: top + 12.0, width: WIDTH - left - RIGHT_MARGIN, height: HEIGHT };
        let (categories, label_height) = self.draw_categories(area);
        let empty = self.categories.is_empty() || self.series.is_empty();
        let heading_area = Area { height: area.height + label_height - 20.0, ..area };
        let body = html! {
            (header)
            (frame::left_axis(area, &axis))
            (self.draw_reference(area, &axis))
            @if empty { (frame::no_data(area)) } @else { (self.draw_bars(area, &axis)) }
            (categories)
            (frame::bottom_heading(heading_area, &self.heading))
        };
        Drawing { body, height: heading_area.bottom() + 46.0 }
    }

    fn data(&self) -> Table {
        let mut table = Table::new(&self.title)
            .column(Column::text(&self.heading))
            .column(Column::text("series"))
            .column(Column::number(self.value.label(), self.value.unit()));
        for (index, category) in self.categories.iter().enumerate() {
            for series in &self.series {
                let value = Cell::from(series.values.get(index).copied());
                table.push_row([Cell::text(category), Cell::text(&series.name), value]);
            }
        }
        table
    }
}
