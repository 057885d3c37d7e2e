//! Links that are faster than their recirculation port: which way to buffer is chosen, what reports say about it, and
//! what it costs to simulate.

mod common;

use common::{gigabits, simulate};
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::{Buffering, Mode};
use linkmend_sim::links::{self, Layout, LinksConfig, LinksReport};
use linkmend_sim::parameters::RunParameters;
use std::path::Path;

/// A 400G link whose frames circle through a 100G port.
fn overloaded(mode: Mode, frames: u64) -> LinksConfig {
    let config = LinksConfig::paper(gigabits(400), 1e-3, mode);
    LinksConfig { frames, ..config }.with_link(|link| {
        link.buffering = Buffering::Recirculating;
        link.switch.recirculation_rate = gigabits(100);
    })
}

fn run_links(config: &LinksConfig) -> LinksReport {
    links::run(config, &mut |_| true).expect("it runs")
}

fn written(text: &str) -> LinksConfig {
    let parameters: RunParameters = toml::from_str(text).expect("parameters");
    parameters.line_rate(Path::new("")).expect("they can be used")
}

#[test]
fn links_faster_than_the_tofinos_ports_have_the_buffers_of_faster_switches() {
    for (text, buffering, port) in [
        ("speed = '25G'", Buffering::Recirculating, 100),
        ("speed = '100G'", Buffering::Recirculating, 100),
        ("speed = '200G'", Buffering::Direct, 100),
        ("speed = '400G'", Buffering::Direct, 100),
        ("speed = '800G'\nbuffering = 'recirculating'", Buffering::Recirculating, 800),
        ("speed = '400G'\nrecirculation-speed = '100G'", Buffering::Recirculating, 100),
        ("speed = '400G'\nloop-latency = '2us'", Buffering::Recirculating, 400),
        ("speed = '100G'\nbuffering = 'direct'", Buffering::Direct, 100),
    ] {
        let config = written(text);
        assert_eq!(
            (config.links[0].buffering, config.links[0].switch.recirculation_rate),
            (buffering, gigabits(port)),
            "{text}"
        );
        assert!(!config.links[0].hardware().reason.is_empty());
    }
    // The first example of the help.
    for (mode, least_gbps) in [(Mode::Ordered, 370.0), (Mode::NonBlocking, 390.0)] {
        let config = LinksConfig { frames: 200_000, ..LinksConfig::paper(gigabits(400), 1e-3, mode) };
        let report = simulate(&config);
        assert!(report.effective_speed_gbps > least_gbps, "{mode:?}: {} Gbit/s", report.effective_speed_gbps);
        assert_eq!((report.frames_undelivered, report.warnings.len()), (0, 0), "{:?}", report.warnings);
        assert_eq!(report.hardware.buffering, "direct");
    }
}

#[test]
fn a_recirculation_port_that_is_the_bottleneck_is_named() {
    let report = simulate(&overloaded(Mode::NonBlocking, 50_000));
    let [warning] = &report.warnings[..] else { panic!("one warning, not {:?}", report.warnings) };
    assert!(
        warning.starts_with("the recirculation port is the bottleneck: the link sends up to 400G"),
        "{warning}"
    );
    assert!(warning.contains("it carries only 100G, 25 % of that"), "{warning}");
    assert!(report.tx_recirculation_busy_pct > 99.0, "{}", report.tx_recirculation_busy_pct);
    let paper = LinksConfig { frames: 50_000, ..LinksConfig::paper(gigabits(100), 1e-3, Mode::Ordered) };
    assert!(simulate(&paper).warnings.is_empty(), "the paper's port is as fast as its link");
    let shared = |load| {
        let layout = Layout::Parallel { ports: 1 };
        let links = LinksConfig::row(vec![paper.links[0].clone(); 2], 1_000);
        run_links(&LinksConfig { load, layout, ..links }).warnings
    };
    assert!(shared(1.0)[0].contains("the 2 links that share it send up to 200G"));
    assert!(shared(0.4).is_empty());
    // Reports distinguish a buffer that is too small for a long link from a port that is too slow.
    let long = simulate(&paper.with_link(|link| link.distance_m = 10_000));
    assert!(long.warnings[0].contains("the Tx buffer was full for "), "{:?}", long.warnings);
}

#[test]
fn the_events_for_each_frame_of_an_overloaded_link_do_not_grow_with_the_run() {
    for mode in [Mode::Ordered, Mode::NonBlocking] {
        let events = |frames| simulate(&overloaded(mode, frames)).events as f64 / frames as f64;
        let (short, long) = (events(20_000), events(160_000));
        assert!((long / short - 1.0).abs() < 0.05, "{mode:?}: {short} and {long} events a frame");
    }
}

#[test]
fn the_causes_of_undelivered_frames_add_up_to_their_number() {
    let late = simulate(&overloaded(Mode::NonBlocking, 100_000));
    assert!(late.frames_undelivered > 50, "{}", late.frames_undelivered);
    assert_eq!(late.undelivered.copies_late, late.frames_undelivered, "{:?}", late.undelivered);

    let paper = LinksConfig { frames: 100_000, ..LinksConfig::paper(gigabits(100), 0.05, Mode::NonBlocking) };
    let off = simulate(&paper.clone().with_link(|link| link.protection = None));
    assert_eq!(off.undelivered.unprotected, off.frames_undelivered);

    let with_copies = |copies_lost: f64| {
        let mut config = LinksConfig { copy_loss: Some(copies_lost), ..paper.clone() };
        config.links[0].buffering = Buffering::Direct;
        simulate(&config)
    };
    let corrupted = with_copies(0.5);
    assert!(corrupted.undelivered.copies_corrupted > 10, "{:?}", corrupted.undelivered);
    assert_eq!(
        corrupted.undelivered.copies_late, 0,
        "direct buffers are in time: {:?}",
        corrupted.undelivered
    );

    let mut overflowing =
        LinksConfig { frames: 300_000, ..LinksConfig::paper(gigabits(25), 1e-3, Mode::Ordered) };
    overflowing.links[0].protection.as_mut().expect("protected").backpressure = None;
    for report in [late, off, corrupted, simulate(&overflowing)] {
        let why = report.undelivered;
        let sum = why.unprotected + why.copies_corrupted + why.copies_late + why.overflowed + why.other;
        assert_eq!(sum, report.frames_undelivered, "{why:?}");
    }
}

#[test]
fn corruption_on_a_path_is_distinguished_from_congestion() {
    let link = LinkConfig::paper(gigabits(100), 1e-2, Mode::Ordered);
    let plain = LinkConfig { protection: None, ..link.clone() };
    let full = run_links(&LinksConfig::row(vec![link; 4], 30_000));
    let dropped = |report: &LinksReport| report.links.iter().map(|link| link.queue_drops).sum::<u64>();
    assert!(dropped(&full) > 0, "a queue overflows at full load");
    let unprotected = run_links(&LinksConfig { load: 0.3, ..LinksConfig::row(vec![plain; 3], 30_000) });
    for report in [full, unprotected] {
        let corrupted: u64 = report.links.iter().map(|link| link.frames_undelivered).sum();
        assert_eq!(corrupted + dropped(&report), report.streams[0].delivery.frames_undelivered);
        for link in &report.links {
            assert_eq!(link.frames_offered, link.frames_sent + link.queue_drops);
            assert_eq!(link.frames_sent, link.frames_delivered + link.frames_undelivered);
        }
        for pair in report.links.windows(2) {
            assert_eq!(pair[0].frames_delivered, pair[1].frames_offered);
        }
    }
}
