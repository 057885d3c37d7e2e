//! Values over time in stacked panels that share the time axis, with marked phases.

use super::axis::{Axis, ResolvedAxis};
use super::frame::{self, Area, RIGHT_MARGIN, TEXT, TICK_LABELS_AND_HEADING, px};
use super::legend::{self, Key};
use super::marks::{self, Style};
use super::palette::{Hue, Look};
use super::series::Series;
use super::{Drawing, Figure, WIDTH};
use crate::labels;
use crate::quantity::Unit;
use crate::table::{Cell, Column, Table};
use crate::tone::Tone;
use maud::{Markup, html};

const ONLY_PANEL_HEIGHT: f64 = 260.0;
const PANEL_HEIGHT: f64 = 130.0;
const PANEL_GAP: f64 = 12.0;
const PHASE_ROW: f64 = 18.0;

/// One stacked panel: an axis and its series.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    axis: Axis,
    series: Vec<Series>,
}

impl Panel {
    /// A panel with its vertical axis.
    pub fn new(axis: Axis) -> Self {
        Panel { axis, series: Vec::new() }
    }

    /// Adds a series.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }
}

/// A moment at which something changes.
#[derive(Clone, Debug, PartialEq)]
struct Phase {
    start: f64,
    label: String,
    tone: Tone,
}

/// Values over time: one or more panels from top to bottom over one time axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    title: String,
    description: Option<String>,
    time: Axis,
    panels: Vec<Panel>,
    phases: Vec<Phase>,
}

impl Timeline {
    /// A timeline whose horizontal axis is time in seconds.
    pub fn new(title: impl Into<String>) -> Self {
        let time = Axis::new("Time", Unit::Second);
        Timeline { title: title.into(), description: None, time, panels: Vec::new(), phases: Vec::new() }
    }

    /// Describes in words what the plot shows.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Replaces the time axis, for a fixed range or another unit.
    #[must_use]
    pub fn time(mut self, axis: Axis) -> Self {
        self.time = axis;
        self
    }

    /// Adds a panel at the bottom.
    #[must_use]
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// Marks a moment through all panels, and tints what follows until the next one. A start that is not a number is
    /// ignored.
    #[must_use]
    pub fn phase(mut self, start: f64, label: impl Into<String>, tone: Tone) -> Self {
        if start.is_finite() {
            self.phases.push(Phase { start, label: label.into(), tone });
            self.phases.sort_by(|a, b| a.start.total_cmp(&b.start));
        }
        self
    }

    fn resolve_panels(&self) -> Vec<ResolvedAxis> {
        let ticks = if self.panels.len() > 1 { 4 } else { 5 };
        let values = |panel: &Panel| -> Vec<f64> {
            panel.series.iter().flat_map(|series| series.points.iter().map(|(_, y)| *y)).collect()
        };
        self.panels.iter().map(|panel| panel.axis.resolve(values(panel), ticks)).collect()
    }

    fn resolve_time(&self) -> ResolvedAxis {
        let all = self.panels.iter().flat_map(|panel| &panel.series);
        let times: Vec<f64> = all.flat_map(|series| series.points.iter().map(|(x, _)| *x)).collect();
        let (mut low, mut high) = (f64::NAN, f64::NAN);
        for time in times.iter().copied().filter(|time| time.is_finite()) {
            (low, high) = (low.min(time), high.max(time));
        }
        // The time axis ends at the last sample, because rounding outwards would leave empty space.
        let exact = self.time.clone().default_range(low, high);
        exact.resolve(times.into_iter().chain(self.phases.iter().map(|phase| phase.start)), 8)
    }

    /// Panels from the top down; above the first area stays a strip for the names of phases.
    fn draw_panels(
        &self,
        (left, strip): (f64, f64),
        time: &ResolvedAxis,
        axes: &[ResolvedAxis],
    ) -> (Markup, Vec<Area>) {
        let height = if self.panels.len() > 1 { PANEL_HEIGHT } else { ONLY_PANEL_HEIGHT };
        let (mut y, mut areas, mut parts) = (0.0, Vec::new(), Vec::new());
        for (index, (panel, axis)) in self.panels.iter().zip(axes).enumerate() {
            let styles = panel.styles(index);
            let (header, header_height) = legend::header(y, &axis.heading, &legend_entries(&styles));
            y += header_height + if index == 0 { strip } else { 0.0 };
            let area = Area { x: left, y, width: WIDTH - left - RIGHT_MARGIN, height };
            parts.push(html! {
                (header)
                (frame::vertical_grid(area, time))
                (frame::left_axis(area, axis))
                (marks::draw(area, (time, axis), (self.time.unit(), panel.axis.unit()), &styles))
            });
            areas.push(area);
            y += height + PANEL_GAP;
        }
        (html! { @for part in &parts { (part) } }, areas)
    }

    /// Tints in all panels, and vertical lines with their names in the strip above the first. Lines leave out the
    /// space between panels, where headings stand.
    fn draw_phases(&self, places: &[PhasePlace], areas: &[Area], strip: f64) -> (Markup, Markup) {
        let Some(first) = areas.first() else {
            return (html! {}, html! {});
        };
        let tints = html! {
            @for (index, phase) in self.phases.iter().enumerate() {
                @let start = places[index].line_x;
                @let end = places.get(index + 1).map_or(first.right(), |next| next.line_x);
                @if phase.tone != Tone::Plain && end > start {
                    @for area in areas {
                        rect class=(format!("lm-tint {}", phase.tone.class())) x=(px(start)) y=(px(area.y))
                            width=(px(end - start)) height=(px(area.height)) {}
                    }
                }
            }
        };
        let lines = html! {
            @for (phase, place) in self.phases.iter().zip(places) {
                @let (line_class, x) = (format!("lm-phase {}", phase.tone.class()), px(place.line_x));
                @let y = first.y - strip + place.row as f64 * PHASE_ROW;
                path class=(line_class) d=(format!("M{x} {}V{}", px(y + 2.0), px(first.bottom()))) {}
                @for area in &areas[1..] {
                    path class=(line_class) d=(format!("M{x} {}V{}", px(area.y), px(area.bottom()))) {}
                }
                text class=(format!("{} {}", place.anchor, phase.tone.class()).trim()) x=(px(place.text_x))
                    y=(px(y + 13.0)) { (place.text) }
            }
        };
        (tints, lines)
    }

    /// Puts each name right of its line, or left of it at the right edge, in the first row where it is free.
    fn label_places(&self, time: &ResolvedAxis, left: f64) -> Vec<PhasePlace> {
        let width = WIDTH - left - RIGHT_MARGIN;
        let mut taken: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut places = Vec::new();
        for phase in &self.phases {
            let line_x = left + width * time.scale.position(phase.start).unwrap_or(0.0).clamp(0.0, 1.0);
            let text = labels::fit(&phase.label, TEXT, width - 10.0);
            let reach = labels::width(&text, TEXT) + 12.0;
            let to_right = line_x + reach <= WIDTH || line_x - reach < left;
            let (from, to) = if to_right { (line_x, line_x + reach) } else { (line_x - reach, line_x) };
            let free = |row: &Vec<(f64, f64)>| row.iter().all(|(low, high)| to <= *low || from >= *high);
            let row = taken.iter().position(free).unwrap_or(taken.len());
            if row == taken.len() {
                taken.push(Vec::new());
            }
            taken[row].push((from - 2.0, to));
            let (anchor, text_x) = if to_right { ("", line_x + 5.0) } else { ("lm-end", line_x - 5.0) };
            places.push(PhasePlace { row, text, anchor, text_x, line_x });
        }
        places
    }
}

/// Where the line and the name of a phase stand.
struct PhasePlace {
    row: usize,
    text: String,
    anchor: &'static str,
    text_x: f64,
    line_x: f64,
}

impl Panel {
    /// A panel with one series takes the hue of its rank, so that stacked panels differ.
    fn hues(&self, panel_index: usize) -> Vec<Hue> {
        let offset = if self.series.len() == 1 { panel_index } else { 0 };
        self.series
            .iter()
            .enumerate()
            .map(|(index, series)| Hue::of_series(series.hue, index + offset))
            .collect()
    }

    fn styles(&self, panel_index: usize) -> Vec<Style<'_>> {
        let styles = self.series.iter().zip(self.hues(panel_index)).enumerate();
        // Measured lines are jagged enough without dashes.
        let look = |index: usize, hue| Look::nested(hue, self.series.len() - 1 - index);
        styles.map(|(index, (series, hue))| Style::new(series, look(index, hue), index)).collect()
    }
}

/// A single series is named by the heading of its axis.
fn legend_entries(styles: &[Style<'_>]) -> Vec<(Key, String)> {
    if styles.len() < 2 { Vec::new() } else { marks::legend_entries(styles, "") }
}

impl Figure for Timeline {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn summary(&self) -> String {
        let names: Vec<&str> = self.panels.iter().map(|panel| panel.axis.label()).collect();
        let phases = self
            .phases
            .iter()
            .map(|phase| format!("; {} at {}", phase.label, self.time.unit().format(phase.start)));
        format!("{} over time{}.", names.join(", "), phases.collect::<String>())
    }

    fn draw(&self) -> Drawing {
        let time = self.resolve_time();
        let axes = self.resolve_panels();
        let texts = axes.iter().flat_map(|axis| axis.ticks.iter().map(|(_, text)| text.as_str()));
        let left = frame::left_margin(texts);
        let places = self.label_places(&time, left);
        let strip = places.iter().map(|place| place.row + 1).max().unwrap_or(0) as f64 * PHASE_ROW;
        let (panels, areas) = self.draw_panels((left, strip), &time, &axes);
        let (tints, lines) = self.draw_phases(&places, &areas, strip);
        let bottom = areas.last().map_or(strip + 40.0, Area::bottom);
        let body = html! {
            (tints)
            (panels)
            (lines)
            @if let Some(last) = areas.last() { (frame::bottom_axis(*last, &time)) }
        };
        Drawing { body, height: bottom + TICK_LABELS_AND_HEADING }
    }

    fn data(&self) -> Table {
        let mut table = Table::new(&self.title)
            .column(Column::text("panel"))
            .column(Column::text("series"))
            .column(Column::number("time", self.time.unit()))
            .column(Column::number("value", Unit::Plain))
            .column(Column::text("unit"));
        for panel in &self.panels {
            for series in &panel.series {
                for (x, y) in &series.points {
                    let unit = panel.axis.unit().base_symbol();
                    let (label, name) = (panel.axis.label(), series.name.as_str());
                    table.push_row([
                        label.into(),
                        name.into(),
                        Cell::number(*x),
                        Cell::number(*y),
                        unit.into(),
                    ]);
                }
            }
        }
        table
    }
}
