//! Plots and reports of any data, including nonsense, do not panic, are well-formed, and give the same bytes twice.

use linkmend_report::{
    Axis, BoxPlot, Distribution, GroupedBars, HeatMap, Panel, Plot, Report, Scatter, Section, Series,
    Summary, TailPlot, Timeline, Tone, Unit,
};
use proptest::prelude::*;

/// Any number, often an awkward one.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e3..1e3,
        2 => any::<f64>(),
        1 => prop::sample::select(vec![
            0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324,
        ]),
    ]
}

fn unit() -> impl Strategy<Value = Unit> {
    use Unit::{BitPerSecond, Byte, Count, LossRate, Other, Plain, Second, Share};
    prop::sample::select(vec![BitPerSecond, Byte, Second, LossRate, Share, Count, Plain, Other("frames")])
}

fn axis() -> impl Strategy<Value = Axis> {
    (unit(), any::<bool>(), any::<bool>(), prop::option::of(number()), prop::option::of(number())).prop_map(
        |(unit, log, zero, from, to)| {
            let mut axis = Axis::new("a <label> & more", unit);
            if log {
                axis = axis.log();
            }
            if zero {
                axis = axis.with_zero();
            }
            axis = from.into_iter().fold(axis, Axis::from);
            to.into_iter().fold(axis, Axis::to)
        },
    )
}

fn points() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((number(), number()), 0..20)
}

fn plots(name: &str, x: &Axis, y: &Axis, points: &[(f64, f64)]) -> Vec<Plot> {
    let ys = || points.iter().map(|(_, y)| *y);
    let at = || points.iter().copied();
    let first = points.first().map_or(0.0, |point| point.0);
    vec![
        Timeline::new(name)
            .time(x.clone())
            .panel(Panel::new(y.clone()).series(Series::line(name, at())).series(Series::step("s", at())))
            .panel(Panel::new(x.clone()))
            .phase(first, name, Tone::Bad)
            .phase(1.0, "one", Tone::Good)
            .into(),
        TailPlot::new(name, y.clone())
            .above_percentile(first)
            .series(Distribution::from_samples(name, ys()))
            .series(Distribution::from_percentiles("p", at()))
            .into(),
        GroupedBars::new(name, name, y.clone())
            .categories((0..points.len()).map(|index| format!("{name} {index}")))
            .series(name, ys())
            .series("short", ys().take(1))
            .reference(first, name)
            .into(),
        BoxPlot::new(name, y.clone())
            .item(name, Summary::from_samples(ys()))
            .published(first)
            .item("x", None)
            .into(),
        Scatter::new(name, x.clone(), y.clone())
            .series(Series::points(name, at()))
            .series(Series::joined("j", at()))
            .series(Series::published("p", at()))
            .into(),
        HeatMap::new(name, name, name, y.clone()).columns([name, "b"]).row(name, ys()).row("r", []).into(),
    ]
}

/// Checks that every element is closed in order and that no number is invalid.
fn assert_well_formed(svg: &str) {
    let mut open = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag is closed");
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "closing tags match"),
            None => open.push(tag.split([' ', '\n']).next().unwrap_or_default()),
        }
        for attribute in [" x=", " y=", " d=", " width=", " height="] {
            let value = tag.split_once(attribute).map(|(_, rest)| rest.split('"').nth(1).unwrap_or_default());
            assert!(!value.is_some_and(|value| value.contains("NaN") || value.contains("inf")), "{tag}");
        }
        assert!(!tag.contains("width=\"-") && !tag.contains(" height=\"-"), "negative size: {tag}");
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn anything_can_be_drawn(name in ".{0,60}", x in axis(), y in axis(), points in points()) {
        let name: String = name.chars().filter(|character| !character.is_control()).collect();
        for plot in plots(&name, &x, &y, &points) {
            let svg = plot.to_svg();
            assert_well_formed(&svg);
            prop_assert_eq!(&svg, &plot.to_svg());
            prop_assert!(!plot.to_csv().contains("NaN"));
        }
    }

    #[test]
    fn any_number_can_be_formatted(value in number(), unit in unit()) {
        let text = unit.format(value);
        prop_assert!(!text.is_empty() && text.len() < 40, "{}", text);
    }
}

fn sample_report() -> String {
    let axis = Axis::new("Value", Unit::Second);
    let points: Vec<(f64, f64)> = (0..50).map(|i| (f64::from(i), f64::from(i * i % 17) + 0.5)).collect();
    let section = Section::new("All").prose("Text with `code`.").raw("Raw", "{\"a\": \"</script>\"}");
    let section = plots("Sample", &axis, &axis, &points).into_iter().fold(section, Section::plot);
    Report::new("R & D").subtitle("s").fact("Seed", "1").section(section).to_html()
}

#[test]
fn reports_are_self_contained_and_repeatable() {
    let html = sample_report();
    assert_eq!(html, sample_report());
    for forbidden in ["<script", "<link", "src=", "url(", "@import", "http"] {
        assert!(!html.contains(forbidden), "the report reaches out: {forbidden}");
    }
    assert!(html.contains("<title>R &amp; D</title>"));
}

#[test]
fn standalone_plots_carry_their_style_and_words() {
    let plot: Plot = Scatter::new("Loss", Axis::new("a", Unit::LossRate), Axis::new("b", Unit::LossRate))
        .series(Series::points("s", [(1.0, 2.0)]))
        .describe("What it shows.")
        .into();
    let svg = plot.to_svg();
    assert!(svg.starts_with("<svg class=\"lm-plot\" xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
    for part in
        ["<title>Loss</title>", "<desc>What it shows.</desc>", "prefers-color-scheme:dark", "role=\"img\""]
    {
        assert!(svg.contains(part), "{part}");
    }
}
