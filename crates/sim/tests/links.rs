//! The situations of the paper's section 5, against what can be derived for them: several links that share a port,
//! links in a row, both classes on one link, tails lost in bursts.

use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::{Buffering, Copies, Mode};
use linkmend_sim::links::{self, Layout, LinksConfig, LinksReport, Recovery};
use linkmend_sim::network::{PORT_QUEUE, QueueLimits};
use linkmend_sim::time::{Rate, Time};

fn rate(gbps: u64) -> Rate {
    Rate::from_bits_per_second(gbps * 1_000_000_000).expect("an Ethernet rate")
}

fn link(gbps: u64, loss: f64, mode: Mode) -> LinkConfig {
    LinkConfig::paper(rate(gbps), loss, mode)
}

fn run(config: &LinksConfig) -> LinksReport {
    let report = links::run(config, &mut |_| true).expect("valid");
    assert!(report.ending.drained, "{:?}", report.ending);
    report
}

/// Links that are alike, side by side.
fn sharing(link: LinkConfig, frames: u64, links: usize, ports: usize) -> LinksConfig {
    LinksConfig { layout: Layout::Parallel { ports }, ..LinksConfig::row(vec![link; links], frames) }
}

/// Links that are alike, in a row.
fn uniform(link: LinkConfig, hops: usize, frames: u64) -> LinksConfig {
    LinksConfig::row(vec![link; hops], frames)
}

/// The share of a frame's octets on the port that are payload: without header, preamble and gap.
const FRAME_SHARE: f64 = 1518.0 / (1518.0 + 3.0 + 20.0);

#[test]
fn one_recirculation_port_is_enough_for_one_link() {
    let report = run(&sharing(link(100, 0.0, Mode::NonBlocking), 20_000, 1, 1));
    assert!((report.total_speed_gbps() - 100.0 * FRAME_SHARE).abs() < 0.01, "{}", report.total_speed_gbps());
    // Each frame passes, except those that still circle when everything is acknowledged.
    assert!(report.recirculation[0].passes_per_frame > 0.99, "{:?}", report.recirculation);
}

#[test]
fn two_links_at_full_rate_cannot_both_pass_one_port() {
    for mode in [Mode::NonBlocking, Mode::Ordered] {
        let report = run(&sharing(link(100, 1e-4, mode), 20_000, 2, 1));
        let port = &report.recirculation[0];
        // Each frame passes the port at least once, so the links cannot send more than the port carries; 200 KB each may
        // still circle when everything is acknowledged.
        assert!(port.passes_per_frame > 0.98 && port.busy_pct <= 100.0, "{mode:?}: {port:?}");
        let bound = 100.0 * FRAME_SHARE / port.passes_per_frame;
        assert!(
            report.total_speed_gbps() <= bound * 1.01,
            "{mode:?}: {} of {bound}",
            report.total_speed_gbps()
        );
        assert!(report.total_speed_gbps() > 0.7 * bound, "{mode:?}: {}", report.total_speed_gbps());
        for link in &report.links {
            assert!(link.tx_buffer_bytes.max <= 200_000, "{:?}", link);
        }
    }
    // In non-blocking mode only the port holds the links back. Their buffers of 200 KB are then full, a round takes 32
    // us, and no copy comes within ackNoTimeout.
    let report = run(&sharing(link(100, 1e-3, Mode::NonBlocking), 20_000, 2, 1));
    for link in &report.links {
        assert!(link.tx_buffer_bytes.p50 > 190_000, "{:?}", link);
        assert!(link.recovery_timeouts * 10 > link.frames_lost * 9, "{:?}", link);
    }
}

#[test]
fn links_with_a_port_each_do_as_well_as_one_link_alone() {
    let alone = run(&sharing(link(100, 0.0, Mode::Ordered), 20_000, 1, 1));
    let apart = run(&sharing(link(100, 0.0, Mode::Ordered), 20_000, 3, 3));
    for stream in &apart.streams {
        assert_eq!(stream.delivery, alone.streams[0].delivery);
    }
}

#[test]
fn links_that_are_not_busy_share_a_port_without_loss_of_speed() {
    let report = run(&LinksConfig { load: 0.4, ..sharing(link(100, 1e-3, Mode::Ordered), 10_000, 2, 1) });
    for (link, stream) in report.links.iter().zip(&report.streams) {
        assert_eq!((stream.delivery.frames_undelivered, link.recovery_timeouts), (0, 0));
        // 40% of the link, without preamble and gap.
        let offered = 40.0 * 1518.0 / 1538.0;
        assert!((stream.delivery.speed_gbps - offered).abs() < 0.2, "{:?}", stream.delivery);
    }
}

#[test]
fn losses_add_on_an_unprotected_path_and_multiply_away_on_a_protected_one() {
    let (loss, hops) = (1e-2, 4);
    let mut plain = link(100, loss, Mode::Ordered);
    plain.protection = None;
    let report = run(&uniform(plain, hops, 50_000));
    let expected = 1.0 - (1.0 - loss).powi(hops as i32);
    let deviation = (expected * (1.0 - expected) / 5e4).sqrt();
    assert!(
        (report.streams[0].delivery.loss_rate - expected).abs() < 5.0 * deviation,
        "{:?}",
        report.streams[0].delivery
    );

    let mut protected = link(100, loss, Mode::NonBlocking);
    protected.buffering = Buffering::Direct;
    let report = run(&uniform(protected, hops, 50_000));
    // Three copies a hop (Equation 2): four times 1e-8.
    assert_eq!(report.streams[0].delivery.frames_undelivered, 0);
    assert!(report.links.iter().all(|hop| hop.actual_loss_rate > 0.8 * loss), "{:?}", report.links);
}

#[test]
fn delays_add_along_a_path() {
    let mut plain = link(100, 0.0, Mode::Ordered);
    plain.protection = None;
    let delay = |hops| {
        let report = run(&LinksConfig { load: 0.2, ..uniform(plain.clone(), hops, 2_000) });
        let delay = report.streams[0].delivery.delay_ns;
        assert_eq!(delay.min, delay.max, "nothing varies without queues");
        delay.max
    };
    // Serialisation, wire, and ingress pipeline of the paper's link.
    let one = 1538.0 * 0.08 + (260.0 + 2.0 * 5.0) + 850.0;
    for hops in [1, 2, 5] {
        assert!((delay(hops) - hops as f64 * one).abs() < 1e-3, "{hops}: {} and {one}", delay(hops));
    }
    // A protected frame is longer by its header, and waits at most 84 byte times for a dummy.
    let protected = run(&LinksConfig { load: 0.2, ..uniform(link(100, 0.0, Mode::Ordered), 3, 2_000) });
    let delay = protected.streams[0].delivery.delay_ns;
    let least = 3.0 * (one + 3.0 * 0.08);
    assert!(delay.min >= least - 1e-3 && delay.max <= least + 3.0 * 84.0 * 0.08 + 1e-3, "{delay:?}");
}

#[test]
fn a_slower_link_downstream_marks_and_drops() {
    let queue = QueueLimits { class_bytes: 200_000, ..PORT_QUEUE };
    let link = LinkConfig { queue, ..link(100, 0.0, Mode::Ordered) };
    let mut config = uniform(link, 2, 20_000);
    config.links[1].rate = rate(25);
    let report = run(&config);
    let [first, second] = &report.links[..] else { panic!("two hops") };
    assert_eq!((first.queue_drops, first.frames_lost), (0, 0));
    // A quarter passes; what the queue holds and what recirculation takes make little difference.
    let passed = report.streams[0].delivery.frames_delivered as f64 / 2e4;
    assert!((0.2..0.27).contains(&passed), "{passed}");
    assert_eq!(second.queue_drops, report.streams[0].delivery.frames_undelivered);
    assert!(second.queue_bytes_max > 198_000, "{:?}", second);
    // All are marked except those that came before the queue was half full.
    assert!(
        report.streams[0].delivery.frames_marked as f64
            > 0.95 * report.streams[0].delivery.frames_delivered as f64
    );
    // A full queue lasts 200 KB at 25G, 64 us.
    let delay = report.streams[0].delivery.delay_ns.max;
    assert!((64e3..72e3).contains(&delay), "{delay}");
}

#[test]
fn a_loss_on_an_equally_fast_path_fills_the_next_queue() {
    let report = run(&uniform(link(100, 1e-3, Mode::Ordered), 2, 20_000));
    assert_eq!(report.streams[0].delivery.frames_undelivered, 0);
    assert_eq!(report.streams[0].delivery.frames_reordered, 0);
    // The frames that waited for a lost one leave the first link together, while the second link also stops now and
    // then.
    assert!(report.links[1].queue_bytes_max > 10 * 1518, "{:?}", report.links[1]);
    let sum: u64 = report.links.iter().map(|hop| hop.frames_lost).sum();
    assert!(sum > 20, "{sum}");
}

#[test]
fn a_pause_of_the_ordered_class_does_not_hold_the_other() {
    let one = uniform(link(100, 1e-3, Mode::Ordered), 1, 100_000);
    let report = run(&LinksConfig { load: 0.7, non_blocking_load: 0.2, ..one });
    let [ordered, other] = [0, 1].map(|class| &report.streams[class].delivery);
    let link = &report.links[0];
    assert_eq!((ordered.frames_undelivered, other.frames_undelivered), (0, 0));
    assert_eq!(ordered.frames_sent + other.frames_sent, 100_000);
    assert!((other.frames_sent as f64 - 1e5 * 2.0 / 9.0).abs() < 100.0, "{other:?}");
    // The ordered class has to wait during a pause of microseconds, the other does not: it finds at most a frame or two
    // and their copies ahead of it.
    assert!(link.pauses > 0, "{link:?}");
    let pause_ns = link.paused_ns / link.pauses as f64;
    assert!(pause_ns > 1_000.0, "{pause_ns}");
    assert!(ordered.delay_ns.p999 > ordered.delay_ns.min + pause_ns, "{ordered:?}");
    assert!(other.delay_ns.p99 < other.delay_ns.min + 500.0, "{other:?}");
    assert!(other.delay_ns.p99 < other.delay_ns.min + pause_ns / 2.0, "{other:?}");
    // One class keeps its order, the other does not.
    assert_eq!(ordered.frames_reordered, 0);
    assert!(other.frames_reordered > 0, "{other:?}");
}

/// A port that one class saturates has no idle slot; dummies must not wait for the next frame of the class.
#[test]
fn a_saturated_class_hides_no_lost_tail_of_the_other() {
    for (quiet, ordered_load) in [(Mode::Ordered, 0.001), (Mode::NonBlocking, 0.999)] {
        let link = link(100, 0.02, Mode::Ordered).buffered(Buffering::Direct);
        let non_blocking_load = 1.0 - ordered_load;
        let loads = LinksConfig { load: ordered_load, non_blocking_load, ..uniform(link, 1, 200_000) };
        let report = run(&loads);
        let [ordered, other] = [0, 1].map(|class| report.streams[class].delivery);
        let [seldom, often] = match quiet {
            Mode::Ordered => [ordered, other],
            Mode::NonBlocking => [other, ordered],
        };
        assert!(report.links[0].queue_drops > 0, "the port is overloaded: {:?}", report.links);
        assert_eq!((seldom.frames_sent, seldom.frames_undelivered), (200, 0), "{often:?}");
        // Frames of the class are 123 us apart. A dummy is overdue after 10 us; add three crossings, copies of lost
        // frames, and the frame that the port is sending.
        assert!(seldom.delay_ns.max < seldom.delay_ns.min + 20_000.0, "{quiet}: {seldom:?}");
        assert!(seldom.delay_ns.max > seldom.delay_ns.min + 10_000.0, "none was lost: {seldom:?}");
    }
}

/// What becomes of lost tails, and how many dummies reveal them.
fn tails(dummy_copies: u8, fixed_dummies: bool) -> Recovery {
    let mut link = link(100, 0.0, Mode::Ordered).buffered(Buffering::Direct);
    link.corruption = Corruption::GilbertElliott { loss: 0.05, mean_burst_frames: MEAN_BURST };
    let protection = link.protection.as_mut().expect("protected");
    (protection.copies, protection.dummy_copies) = (Copies::Fixed(8), dummy_copies);
    let spacing = Some(Time::from_nanos(100_000));
    run(&LinksConfig { spacing, fixed_dummies, ..uniform(link, 1, 20_000) }).streams[0].delivery.recovery
}

const MEAN_BURST: f64 = 3.0;

#[test]
fn more_dummies_reveal_more_lost_tails() {
    for dummies in [0, 1, 2, 3, 4, 6, 8] {
        let tails = tails(dummies, true);
        // The share of lost tails of which at least one dummy passes, if a burst is of geometric length.
        let expected = 1.0 - (1.0 - 1.0 / MEAN_BURST).powi(dummies.into());
        // Nearly every tail that is revealed at once is recovered: all eight copies are rarely lost.
        let deviation = (expected * (1.0 - expected) / tails.frames_lost as f64).sqrt() + 0.01;
        let in_time = tails.in_time as f64 / tails.frames_lost as f64;
        assert!((in_time - expected).abs() < 5.0 * deviation, "{expected}: {tails:?}");
    }
}

#[test]
fn a_queue_that_replenishes_itself_needs_one_dummy() {
    // Without dummies, the last tail is revealed only by the next one.
    assert_eq!(tails(0, false).in_time, 0);
    for dummies in [1, 8] {
        let tails = tails(dummies, false);
        assert!(tails.in_time as f64 > 0.95 * tails.frames_lost as f64, "{dummies}: {tails:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let json = |seed: u64| {
        let (frames, link) = (3_000, link(25, 5e-3, Mode::Ordered));
        let shared = run(&LinksConfig { seed, ..sharing(link.clone(), frames, 4, 2) });
        let path = run(&LinksConfig { seed, ..uniform(link, 3, frames) });
        serde_json::to_string(&(shared, path)).expect("serialises")
    };
    assert_eq!(json(1), json(1));
    assert_ne!(json(1), json(2));
}

#[test]
fn impossible_parameters_are_named() {
    let link = link(100, 1e-3, Mode::Ordered);
    let one = LinksConfig::over(link.clone());
    let shared = sharing(link.clone(), 1_000, 2, 1);
    let direct = link.clone().buffered(Buffering::Direct);
    let unprotected = LinkConfig { protection: None, ..link.clone() };
    let cases = [
        (sharing(link.clone(), 1_000, 9, 1), "parallel-links"),
        (sharing(link.clone(), 1_000, 2, 3), "recirculation-ports"),
        (sharing(direct, 1_000, 2, 1), "buffering"),
        (LinksConfig { load: 0.0, ..shared.clone() }, "load"),
        (LinksConfig { load: 1e-12, ..shared.clone() }, "load"),
        (LinksConfig { load: f64::NAN, ..shared.clone() }, "load"),
        (LinksConfig { reverse_load: 0.5, ..shared }, "reverse-load"),
        (uniform(link.clone(), 0, 1_000), "hops"),
        (uniform(link, 17, 1_000), "hops"),
        (LinksConfig { load: 0.7, non_blocking_load: 0.4, ..one.clone() }, "non-blocking-load"),
        (LinksConfig { spacing: Some(Time(100)), ..one.clone() }, "spacing"),
        (LinksConfig { spacing: Some(Time(u64::MAX)), ..one }, "spacing"),
        (LinksConfig { reverse_load: 0.5, ..LinksConfig::over(unprotected) }, "scheme"),
    ];
    for (config, parameter) in cases {
        let error = config.validate().expect_err(parameter);
        assert_eq!(error.parameter, parameter, "{error}");
    }
}
