//! What becomes of series over time: increments, those that break, vanish or come twice, and very many.

use super::exporters::poll_until;
use super::pages::Pages;
use super::programs::{SCRAPE_INTERVAL, are_installed, prometheus, settings};
use linkmend_monitor::counters::{Difference, Increment, Irregularity, Reading};
use linkmend_monitor::source::{PrometheusSettings, PrometheusSource, QuerySet, Source};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

fn queries() -> QuerySet {
    let text = "port = '{device}'\ngood-frames = 'good{$filter}'\ncorrupted-frames = 'corrupted{$filter}'\nspeed = 'speed'";
    toml::from_str(text).expect("queries")
}

fn source(port: u16, filter: &str) -> PrometheusSource {
    let settings = PrometheusSettings { queries: queries(), ..settings(port, "node", filter) };
    PrometheusSource::new(&settings).expect("usable")
}

/// A port's counters, as an exporter shows them.
fn port(device: &str, good: &str, corrupted: &str) -> String {
    format!("good{{device=\"{device}\"}} {good}\ncorrupted{{device=\"{device}\"}} {corrupted}\n")
}

#[test]
fn what_is_new_is_the_difference_of_two_scrapes() {
    if !are_installed("what_is_new_is_the_difference_of_two_scrapes", &["prometheus"]) {
        return;
    }
    let pages = Pages::new();
    pages.show(200, &port("a", "1000", "3"));
    let prometheus = prometheus(&[("leaf1", format!("127.0.0.1:{}", pages.port))]);
    let mut source = source(prometheus.port, "");
    let mut difference = Difference::default();
    let mut now = SECOND;
    let mut step = |good: u64, corrupted: &str| {
        pages.show(200, &port("a", &good.to_string(), corrupted));
        let readings = poll_until(&mut source, |readings| readings["a"].good_frames == good);
        now += SECOND;
        difference.handle_reading(now, readings["a"])
    };
    assert_eq!(step(1_000, "3"), Err(Irregularity::First));
    assert_eq!(step(1_000, "3"), Ok(Increment::default()), "the same scrape");
    assert_eq!(step(3_000, "23"), Ok(Increment { frames: 2_020, corrupted: 20 }));
    assert_eq!(step(100, "0"), Err(Irregularity::Reset));
    assert_eq!(step(200, "NaN"), Err(Irregularity::NotCounted));
}

#[test]
fn broken_series_are_refused_and_others_are_not() {
    if !are_installed("broken_series_are_refused_and_others_are_not", &["prometheus"]) {
        return;
    }
    let pages = Pages::new();
    let broken = ["NaN", "+Inf", "-1", "0.5", "1e30"];
    let ports: String = broken.iter().map(|value| port(&format!("good {value}"), value, "0")).collect();
    let ports = ports
        + &broken.iter().map(|value| port(&format!("corrupted{value}"), "7", value)).collect::<String>()
        + &port("right", "7", "1")
        + "good 9\ngood{device=\"without\"} 8\n";
    pages.show(200, &ports);
    let prometheus = prometheus(&[("leaf1", format!("127.0.0.1:{}", pages.port))]);
    let mut source = source(prometheus.port, "");
    let readings = poll_until(&mut source, |readings| readings.contains_key("right"));
    for (name, reading) in &readings {
        let corrupted = (name == "right").then_some(1);
        assert_eq!(reading.corrupted_frames, corrupted, "{name}");
    }
    let mut expected: Vec<String> = broken.iter().map(|value| format!("corrupted{value}")).collect();
    expected.extend(["right".to_owned(), "without".to_owned()]);
    expected.sort();
    assert_eq!(readings.into_keys().collect::<Vec<_>>(), expected);
}

#[test]
fn machines_behind_one_prometheus_are_told_apart_by_filter_or_by_name() {
    if !are_installed("machines_behind_one_prometheus_are_told_apart_by_filter_or_by_name", &["prometheus"]) {
        return;
    }
    let pages = [Pages::new(), Pages::new()];
    pages[0].show(200, &(port("a", "10", "1") + &port("b", "11", "1")));
    pages[1].show(200, &port("a", "20", "2"));
    let targets = [("leaf1", &pages[0]), ("leaf2", &pages[1])];
    let prometheus = prometheus(&targets.map(|(name, pages)| (name, format!("127.0.0.1:{}", pages.port))));
    let both = PrometheusSettings {
        queries: QuerySet { port: "{instance}:{device}".to_owned(), ..queries() },
        ..settings(prometheus.port, "node", "")
    };
    let mut both = PrometheusSource::new(&both).expect("usable");
    let readings = poll_until(&mut both, |readings| readings.len() == 3);
    assert_eq!(readings["leaf2:a"].corrupted_frames, Some(2));
    let mut second = source(prometheus.port, "instance=\"leaf2\"");
    assert_eq!(poll_until(&mut second, |_| true)["a"].good_frames, 20);
    // Nobody knows which `a` is meant.
    let mut all = source(prometheus.port, "");
    assert_eq!(poll_until(&mut all, |_| true).into_keys().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn an_exporter_that_dies_takes_its_ports_along_and_a_prometheus_that_dies_is_an_error() {
    let test = "an_exporter_that_dies_takes_its_ports_along_and_a_prometheus_that_dies_is_an_error";
    if !are_installed(test, &["prometheus"]) {
        return;
    }
    let pages = Pages::new();
    pages.show(200, &port("a", "1", "0"));
    let mut prometheus = prometheus(&[("leaf1", format!("127.0.0.1:{}", pages.port))]);
    let mut source = source(prometheus.port, "");
    poll_until(&mut source, |readings| readings.len() == 1);
    pages.show(500, "");
    let begun = Instant::now();
    let error = loop {
        if let Err(error) = source.poll() {
            break error;
        }
        assert!(begun.elapsed() < 20 * SCRAPE_INTERVAL, "it is still there");
        std::thread::sleep(SCRAPE_INTERVAL / 10);
    };
    assert!(error.to_string().contains("has no ports") && error.hint.is_some(), "{error}");
    pages.show(200, &port("a", "2", "0"));
    poll_until(&mut source, |readings| readings.len() == 1);
    prometheus.kill();
    for _ in 0..2 {
        let error = source.poll().expect_err("it is dead");
        assert!(error.to_string().contains("cannot query"), "{error}");
        assert!(error.hint.is_some_and(|hint| hint.contains("check that it is running there")));
    }
}

#[test]
fn a_wrong_query_is_explained_as_prometheus_explains_it() {
    if !are_installed("a_wrong_query_is_explained_as_prometheus_explains_it", &["prometheus"]) {
        return;
    }
    let prometheus = prometheus(&[]);
    let refusal = |good: &str, filter: &str| {
        let queries = QuerySet { good_frames: good.to_owned(), ..queries() };
        let settings = PrometheusSettings { queries, ..settings(prometheus.port, "node", filter) };
        let error = PrometheusSource::new(&settings).expect("usable").poll().expect_err("refused");
        format!("{error}; {}", error.hint.clone().unwrap_or_default())
    };
    let error = refusal("good{$filter}", "instance=leaf1");
    assert!(error.contains("HTTP status 400: ") && error.contains("parse error"), "{error}");
    assert!(error.contains("check the query and the filter"), "{error}");
    assert!(refusal("1", "").contains("something other than samples"));
    assert!(refusal("good", "").contains("`good` returns no series"));
}

#[test]
fn ten_thousand_ports_are_read_in_a_poll() {
    if !are_installed("ten_thousand_ports_are_read_in_a_poll", &["prometheus"]) {
        return;
    }
    let sizes = [1_000_u64, 10_000];
    let pages = sizes.map(|ports| {
        let pages = Pages::new();
        let text = |n: u64| port(&format!("Ethernet{n}"), &n.to_string(), "0");
        pages.show(200, &(0..ports).map(text).collect::<String>());
        pages
    });
    let [few, many] = pages.each_ref().map(|pages| format!("127.0.0.1:{}", pages.port));
    let prometheus = prometheus(&[("leaf1", few), ("leaf2", many)]);
    for (ports, name) in sizes.into_iter().zip(["leaf1", "leaf2"]) {
        let mut source = source(prometheus.port, &format!("instance=\"{name}\""));
        poll_until(&mut source, |readings| readings.len() as u64 == ports);
        for poll in 1..=3 {
            let begun = Instant::now();
            let readings = source.poll().expect("it answers");
            println!("poll {poll} of {ports} ports: {:?}", begun.elapsed());
            assert_eq!(readings.len() as u64, ports);
            let right =
                |(name, reading): &(String, Reading)| *name == format!("Ethernet{}", reading.good_frames);
            assert!(readings.iter().all(right));
        }
    }
}
