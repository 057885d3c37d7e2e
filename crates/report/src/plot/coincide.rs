//! Lines that hide each other: a plot says which of its lines coincide.

use super::WIDTH;
use super::frame::{Area, TEXT, px};
use crate::labels;
use maud::{Markup, html};

/// Lines that are nowhere farther apart, in user units, look like one.
const APART: f64 = 2.0;
const LEADING: f64 = 16.0;
const SIZE: f64 = TEXT - 1.0;
const MOST_LINES: usize = 4;

/// A line with its name.
pub(super) struct Drawn<'a> {
    pub name: &'a str,
    pub places: Vec<Option<(f64, f64)>>,
}

/// The names of lines that coincide, each group in the order in which they are drawn.
fn groups<'a>(area: Area, lines: &'a [Drawn<'a>]) -> Vec<Vec<&'a str>> {
    let mut groups: Vec<(&Drawn<'_>, Vec<&str>)> = Vec::new();
    for line in lines.iter().filter(|line| line.shown(area).next().is_some()) {
        let same = |(first, _): &&mut (&Drawn<'_>, Vec<&str>)| {
            first.follows(line, area) && line.follows(first, area)
        };
        match groups.iter_mut().find(same) {
            Some((_, names)) => names.push(line.name),
            None => groups.push((line, vec![line.name])),
        }
    }
    groups.into_iter().map(|(_, names)| names).filter(|names| names.len() > 1).collect()
}

/// A sentence that names them, from `top` down, and its height; nothing if no lines coincide.
pub(super) fn note(area: Area, top: f64, lines: &[Drawn<'_>]) -> (Markup, f64) {
    let groups: Vec<String> = groups(area, lines).iter().map(|names| names.join(" = ")).collect();
    if groups.is_empty() {
        return (html! {}, 0.0);
    }
    let text = format!("Lines that coincide: {}.", groups.join("; "));
    let rows = labels::wrap(&text, SIZE, WIDTH - 8.0, MOST_LINES);
    let height = rows.len() as f64 * LEADING + 2.0;
    let markup = html! {
        @for (index, row) in rows.iter().enumerate() {
            text.lm-muted.lm-small x="4" y=(px(top + 11.0 + index as f64 * LEADING)) { (row) }
        }
    };
    (markup, height)
}

impl Drawn<'_> {
    /// The places inside the area.
    fn shown(&self, area: Area) -> impl Iterator<Item = (f64, f64)> + '_ {
        let inside = move |(x, y): &(f64, f64)| {
            (area.x - APART..=area.right() + APART).contains(x)
                && (area.y - APART..=area.bottom() + APART).contains(y)
        };
        self.places.iter().flatten().copied().filter(inside)
    }

    /// Whether all of its places in the area are on the other line.
    fn follows(&self, other: &Drawn<'_>, area: Area) -> bool {
        self.shown(area).all(|place| {
            let pairs = other.places.windows(2).filter_map(|pair| Some((pair[0]?, pair[1]?)));
            let on_points =
                other.places.iter().flatten().any(|point| distance(place, *point, *point) <= APART);
            on_points || pairs.into_iter().any(|(from, to)| distance(place, from, to) <= APART)
        })
    }
}

/// The distance of a place from the piece of line between two points.
fn distance(place: (f64, f64), from: (f64, f64), to: (f64, f64)) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx * dx + dy * dy;
    let along = (place.0 - from.0) * dx + (place.1 - from.1) * dy;
    let share = if length > 0.0 { (along / length).clamp(0.0, 1.0) } else { 0.0 };
    let (x, y) = (from.0 + share * dx - place.0, from.1 + share * dy - place.1);
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Area = Area { x: 0.0, y: 0.0, width: 100.0, height: 100.0 };

    fn drawn<'a>(name: &'a str, places: &[(f64, f64)]) -> Drawn<'a> {
        Drawn { name, places: places.iter().copied().map(Some).collect() }
    }

    #[test]
    fn lines_coincide_if_neither_leaves_the_other() {
        let straight = drawn("straight", &[(0.0, 0.0), (100.0, 100.0)]);
        let pieces = drawn("pieces", &[(0.0, 1.0), (50.0, 51.0), (100.0, 99.0)]);
        let shorter = drawn("shorter", &[(0.0, 0.0), (50.0, 50.0)]);
        let other = drawn("other", &[(0.0, 0.0), (50.0, 60.0), (100.0, 100.0)]);
        let outside = drawn("outside", &[(0.0, 0.0), (100.0, 100.0), (100.0, 900.0)]);
        let lines = [straight, other, pieces, shorter, outside];
        assert_eq!(groups(AREA, &lines), [["straight", "pieces", "outside"]]);
        let (note, height) = note(AREA, 0.0, &lines);
        assert!(note.into_string().contains("straight = pieces = outside") && height > 0.0);
    }

    #[test]
    fn lines_without_points_coincide_with_nothing() {
        let (note, height) = note(AREA, 0.0, &[drawn("a", &[]), drawn("b", &[])]);
        assert_eq!((note.into_string().as_str(), height), ("", 0.0));
    }
}
