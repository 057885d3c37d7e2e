//! The situations of the paper's section 5, against what can be derived for them: several links that share a port,
//! links in a row, both classes on one link, tails lost in bursts.

use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::{Buffering, Copies, Mode};
use linkmend_sim::network::{PORT_QUEUE, QueueLimits};
use linkmend_sim::scenario::bursts::{self, BurstsConfig, BurstsReport};
use linkmend_sim::scenario::classes::{self, ClassesConfig};
use linkmend_sim::scenario::path::{self, PathConfig, PathReport};
use linkmend_sim::scenario::shared_port::{self, SharedPortConfig, SharedPortReport};
use linkmend_sim::time::Rate;

fn rate(gbps: u64) -> Rate {
    Rate::from_bits_per_second(gbps * 1_000_000_000).expect("an Ethernet rate")
}

fn link(gbps: u64, loss: f64, mode: Mode) -> LinkConfig {
    LinkConfig::paper(rate(gbps), loss, mode)
}

fn shared_port(link: LinkConfig, frames: u64, links: usize, ports: usize, load: f64) -> SharedPortReport {
    let config = SharedPortConfig { seed: 1, frames, link, links, ports, load };
    let report = shared_port::run(&config, &mut |_| true).expect("valid");
    assert!(report.ending.drained, "{:?}", report.ending);
    report
}

fn path(config: &PathConfig) -> PathReport {
    let report = path::run(config, &mut |_| true).expect("valid");
    assert!(report.ending.drained, "{:?}", report.ending);
    report
}

/// The share of a frame's octets on the port that are payload: without header, preamble and gap.
const FRAME_SHARE: f64 = 1518.0 / (1518.0 + 3.0 + 20.0);

#[test]
fn one_recirculation_port_is_enough_for_one_link() {
    let report = shared_port(link(100, 0.0, Mode::NonBlocking), 20_000, 1, 1, 1.0);
    assert!((report.total_speed_gbps - 100.0 * FRAME_SHARE).abs() < 0.01, "{}", report.total_speed_gbps);
    // Each frame passes, except those that still circle when everything is acknowledged.
    assert!(report.sender_ports[0].passes_per_frame > 0.99, "{:?}", report.sender_ports);
}

#[test]
fn two_links_at_full_rate_cannot_both_pass_one_port() {
    for mode in [Mode::NonBlocking, Mode::Ordered] {
        let report = shared_port(link(100, 1e-4, mode), 20_000, 2, 1, 1.0);
        let port = &report.sender_ports[0];
        // Each frame passes the port at least once, so the links cannot send more than the port carries; 200 KB each may
        // still circle when everything is acknowledged.
        assert!(port.passes_per_frame > 0.98 && port.busy_pct <= 100.0, "{mode:?}: {port:?}");
        let bound = 100.0 * FRAME_SHARE / port.passes_per_frame;
        assert!(report.total_speed_gbps <= bound * 1.01, "{mode:?}: {} of {bound}", report.total_speed_gbps);
        assert!(report.total_speed_gbps > 0.7 * bound, "{mode:?}: {}", report.total_speed_gbps);
        for link in &report.links {
            assert!(link.link.tx_buffer_bytes.max <= 200_000, "{:?}", link.link);
        }
    }
    // In non-blocking mode only the port holds the links back. Their buffers of 200 KB are then full, a round takes 32
    // us, and no copy comes within ackNoTimeout.
    let report = shared_port(link(100, 1e-3, Mode::NonBlocking), 20_000, 2, 1, 1.0);
    for link in &report.links {
        assert!(link.link.tx_buffer_bytes.p50 > 190_000, "{:?}", link.link);
        assert!(link.link.recovery_timeouts * 10 > link.link.frames_lost * 9, "{:?}", link.link);
    }
}

#[test]
fn links_with_a_port_each_do_as_well_as_one_link_alone() {
    let alone = shared_port(link(100, 0.0, Mode::Ordered), 20_000, 1, 1, 1.0);
    let apart = shared_port(link(100, 0.0, Mode::Ordered), 20_000, 3, 3, 1.0);
    for link in &apart.links {
        assert_eq!(link.delivery, alone.links[0].delivery);
    }
}

#[test]
fn links_that_are_not_busy_share_a_port_without_loss_of_speed() {
    let report = shared_port(link(100, 1e-3, Mode::Ordered), 10_000, 2, 1, 0.4);
    for link in &report.links {
        assert_eq!((link.delivery.frames_undelivered, link.link.recovery_timeouts), (0, 0));
        // 40% of the link, without preamble and gap.
        let offered = 40.0 * 1518.0 / 1538.0;
        assert!((link.delivery.speed_gbps - offered).abs() < 0.2, "{:?}", link.delivery);
    }
}

#[test]
fn losses_add_on_an_unprotected_path_and_multiply_away_on_a_protected_one() {
    let (loss, hops) = (1e-2, 4);
    let mut plain = link(100, loss, Mode::Ordered);
    plain.protection = None;
    let report = path(&PathConfig::uniform(plain, hops, 50_000));
    let expected = 1.0 - (1.0 - loss).powi(hops as i32);
    let deviation = (expected * (1.0 - expected) / 5e4).sqrt();
    assert!((report.end_to_end.loss_rate - expected).abs() < 5.0 * deviation, "{:?}", report.end_to_end);

    let mut protected = link(100, loss, Mode::NonBlocking);
    protected.buffering = Buffering::Direct;
    let report = path(&PathConfig::uniform(protected, hops, 50_000));
    // Three copies a hop (Equation 2): four times 1e-8.
    assert_eq!(report.end_to_end.frames_undelivered, 0);
    assert!(report.hops.iter().all(|hop| hop.actual_loss_rate > 0.8 * loss), "{:?}", report.hops);
}

#[test]
fn delays_add_along_a_path() {
    let mut plain = link(100, 0.0, Mode::Ordered);
    plain.protection = None;
    let delay = |hops| {
        let report = path(&PathConfig { load: 0.2, ..PathConfig::uniform(plain.clone(), hops, 2_000) });
        let delay = report.end_to_end.delay_ns;
        assert_eq!(delay.min, delay.max, "nothing varies without queues");
        delay.max
    };
    // Serialisation, wire, and ingress pipeline of the paper's link.
    let one = 1538.0 * 0.08 + (260.0 + 2.0 * 5.0) + 850.0;
    for hops in [1, 2, 5] {
        assert!((delay(hops) - hops as f64 * one).abs() < 1e-3, "{hops}: {} and {one}", delay(hops));
    }
    // A protected frame is longer by its header, and waits at most 84 byte times for a dummy.
    let protected =
        path(&PathConfig { load: 0.2, ..PathConfig::uniform(link(100, 0.0, Mode::Ordered), 3, 2_000) });
    let delay = protected.end_to_end.delay_ns;
    let least = 3.0 * (one + 3.0 * 0.08);
    assert!(delay.min >= least - 1e-3 && delay.max <= least + 3.0 * 84.0 * 0.08 + 1e-3, "{delay:?}");
}

#[test]
fn a_slower_link_downstream_marks_and_drops() {
    let queue = QueueLimits { class_bytes: 200_000, ..PORT_QUEUE };
    let link = LinkConfig { queue, ..link(100, 0.0, Mode::Ordered) };
    let mut config = PathConfig::uniform(link, 2, 20_000);
    config.links[1].rate = rate(25);
    let report = path(&config);
    let [first, second] = &report.hops[..] else { panic!("two hops") };
    assert_eq!((first.link.queue_drops, first.link.frames_lost), (0, 0));
    // A quarter passes; what the queue holds and what recirculation takes make little difference.
    let passed = report.end_to_end.frames_delivered as f64 / 2e4;
    assert!((0.2..0.27).contains(&passed), "{passed}");
    assert_eq!(second.link.queue_drops, report.end_to_end.frames_undelivered);
    assert!(second.link.queue_bytes_max > 198_000, "{:?}", second.link);
    // All are marked except those that came before the queue was half full.
    assert!(report.end_to_end.frames_marked as f64 > 0.95 * report.end_to_end.frames_delivered as f64);
    // A full queue lasts 200 KB at 25G, 64 us.
    let delay = report.end_to_end.delay_ns.max;
    assert!((64e3..72e3).contains(&delay), "{delay}");
}

#[test]
fn a_loss_on_an_equally_fast_path_fills_the_next_queue() {
    let report = path(&PathConfig::uniform(link(100, 1e-3, Mode::Ordered), 2, 20_000));
    assert_eq!(report.end_to_end.frames_undelivered, 0);
    assert_eq!(report.end_to_end.frames_reordered, 0);
    // The frames that waited for a lost one leave the first link together, while the second link also stops now and
    // then.
    assert!(report.hops[1].link.queue_bytes_max > 10 * 1518, "{:?}", report.hops[1].link);
    let sum: u64 = report.hops.iter().map(|hop| hop.link.frames_lost).sum();
    assert!(sum > 20, "{sum}");
}

#[test]
fn a_pause_of_the_ordered_class_does_not_hold_the_other() {
    let config = ClassesConfig {
        seed: 1,
        frames: 100_000,
        link: link(100, 1e-3, Mode::Ordered),
        ordered_load: 0.7,
        non_blocking_load: 0.2,
    };
    let report = classes::run(&config, &mut |_| true).expect("valid");
    assert!(report.ending.drained, "{:?}", report.ending);
    let (ordered, other) = (&report.ordered, &report.non_blocking);
    assert_eq!((ordered.frames_undelivered, other.frames_undelivered), (0, 0));
    assert_eq!(ordered.frames_sent + other.frames_sent, 100_000);
    assert!((other.frames_sent as f64 - 1e5 * 2.0 / 9.0).abs() < 100.0, "{other:?}");
    // The ordered class has to wait during a pause of microseconds, the other does not: it finds at most a frame or two
    // and their copies ahead of it.
    assert!(report.link.pauses > 0, "{:?}", report.link);
    let pause_ns = report.link.paused_ns / report.link.pauses as f64;
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
        let config = ClassesConfig { seed: 1, frames: 200_000, link, ordered_load, non_blocking_load };
        let report = classes::run(&config, &mut |_| true).expect("valid");
        let [seldom, often] = match quiet {
            Mode::Ordered => [report.ordered, report.non_blocking],
            Mode::NonBlocking => [report.non_blocking, report.ordered],
        };
        assert!(report.link.queue_drops > 0, "the port is overloaded: {:?}", report.link);
        assert_eq!((seldom.frames_sent, seldom.frames_undelivered), (200, 0), "{often:?}");
        // Frames of the class are 123 us apart. A dummy is overdue after 10 us; add three crossings, copies of lost
        // frames, and the frame that the port is sending.
        assert!(seldom.delay_ns.max < seldom.delay_ns.min + 20_000.0, "{quiet}: {seldom:?}");
        assert!(seldom.delay_ns.max > seldom.delay_ns.min + 10_000.0, "none was lost: {seldom:?}");
    }
}

fn tails(self_replenishing: bool, mean_burst_frames: f64) -> BurstsReport {
    let mut link = link(100, 0.0, Mode::Ordered);
    link.corruption = Corruption::GilbertElliott { loss: 0.05, mean_burst_frames };
    link.buffering = Buffering::Direct;
    if let Some(protection) = &mut link.protection {
        protection.copies = Copies::Fixed(8);
    }
    let config = BurstsConfig { self_replenishing, ..BurstsConfig::new(link, 20_000) };
    bursts::run(&config, &mut |_| true).expect("valid")
}

#[test]
fn more_dummies_reveal_more_lost_tails() {
    for row in tails(false, 3.0).rows {
        let expected = row.revealed_share_expected.expect("bursts of geometric length");
        // Nearly every tail that is revealed at once is recovered: all eight copies are rarely lost.
        let deviation = (expected * (1.0 - expected) / row.tails_lost as f64).sqrt() + 0.01;
        assert!((row.in_time_share - expected).abs() < 5.0 * deviation, "{expected}: {row:?}");
    }
}

#[test]
fn a_queue_that_replenishes_itself_needs_one_dummy() {
    for row in tails(true, 3.0).rows {
        if row.dummy_copies > 0 {
            assert!(row.in_time_share > 0.95, "{row:?}");
        } else {
            // The last tail is revealed only by the next one.
            assert_eq!(row.recovered_in_time, 0, "{row:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let json = |seed: u64| {
        let (frames, link) = (3_000, link(25, 5e-3, Mode::Ordered));
        let shared = SharedPortConfig { seed, frames, link: link.clone(), links: 4, ports: 2, load: 1.0 };
        let shared = shared_port::run(&shared, &mut |_| true).expect("valid");
        let path = PathConfig { seed, ..PathConfig::uniform(link, 3, frames) };
        let path = path::run(&path, &mut |_| true).expect("valid");
        serde_json::to_string(&(shared, path)).expect("serialises")
    };
    assert_eq!(json(1), json(1));
    assert_ne!(json(1), json(2));
}

#[test]
fn impossible_parameters_are_named() {
    let (seed, frames, link) = (1, 1_000, link(100, 1e-3, Mode::Ordered));
    let shared = SharedPortConfig { seed, frames, link: link.clone(), links: 2, ports: 1, load: 1.0 };
    let name = |config: SharedPortConfig| config.validate().map_err(|error| error.parameter);
    assert_eq!(name(SharedPortConfig { links: 9, ..shared.clone() }), Err("links"));
    assert_eq!(name(SharedPortConfig { ports: 3, ..shared.clone() }), Err("ports"));
    assert_eq!(name(SharedPortConfig { load: 0.0, ..shared.clone() }), Err("load"));
    assert_eq!(name(SharedPortConfig { load: 1e-12, ..shared.clone() }), Err("load"));
    let direct = LinkConfig { buffering: Buffering::Direct, ..link.clone() };
    assert_eq!(name(SharedPortConfig { link: direct, ..shared }), Err("buffering"));
    assert_eq!(
        PathConfig::uniform(link.clone(), 0, frames).validate().map_err(|error| error.parameter),
        Err("hops")
    );
    let classes =
        ClassesConfig { seed, frames, link: link.clone(), ordered_load: 0.7, non_blocking_load: 0.4 };
    assert_eq!(classes.validate().map_err(|error| error.parameter), Err("non-blocking-load"));
    for silence_ns in [5_000, u64::MAX] {
        let bursts = BurstsConfig { silence_ns, ..BurstsConfig::new(link.clone(), frames) };
        assert_eq!(bursts.validate().map_err(|error| error.parameter), Err("silence"));
    }
}
