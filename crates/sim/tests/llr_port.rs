//! What a port with Link Layer Retry does beyond retransmitting: discarded and ineligible frames, lost and inserted ordered sets,
//! and what the report says, or does not say.

mod common;

use common::{assert_nothing_lost, bytes_of, gigabits, simulate};
use linkmend_sim::corruption::Corruption;
use linkmend_sim::flows::{self, FlowsReport, Recovery, SchemeKind};
use linkmend_sim::link::config::LlrProfile;
use linkmend_sim::links::LinksConfig;
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::stress::StressReport;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// 200,000 frames over 2 m of 400G, of which these are lost.
fn over(profile: &str, lost: std::ops::Range<u64>) -> LinksConfig {
    let mut link = SchemeKind::Llr.link(gigabits(400), 0.0);
    link.corruption = Corruption::Recorded(lost.collect::<Vec<u64>>().into());
    let profile: LlrProfile = profile.parse().expect(profile);
    let recovery = Recovery::Llr(profile.config(&link).expect("the link can use it"));
    LinksConfig { recovery, frames: 200_000, ..LinksConfig::over(link) }
}

/// A counter at the sender and at the receiver.
fn counter(report: &StressReport, name: &str) -> (u64, u64) {
    let counter = report.counters.iter().find(|counter| counter.name == name).expect(name);
    (counter.sender, counter.receiver)
}

fn flows(set: &[(&str, &str)]) -> FlowsReport {
    let mut parameters = RunParameters::default();
    for (key, text) in set {
        parameters.set(key, text).unwrap_or_else(|error| panic!("{key}: {error}"));
    }
    let config = parameters.flows(Path::new(".")).expect("valid parameters");
    flows::run(&config, 2, &AtomicBool::new(false), &|| ()).expect("valid").expect("nothing stops it")
}

#[test]
fn a_scheme_that_retransmits_until_a_frame_arrives_has_no_copies_and_no_equation_1() {
    for scheme in [SchemeKind::Llr, SchemeKind::Selective] {
        let parameters = RunParameters { scheme: Some(scheme), ..RunParameters::default() };
        let config = parameters.line_rate(Path::new(".")).expect("valid");
        let report = simulate(&LinksConfig { frames: 10_000, ..config });
        assert!(report.frames_lost > 0);
        assert_eq!((report.copies, report.effective_loss_rate_expected), (None, None), "{}", scheme.name());
        assert!(bytes_of(&report).contains("\"copies\": null"));
    }
}

#[test]
fn in_flush_discard_drops_every_frame_at_the_rate_of_the_line() {
    let report = simulate(&over("meta-400g,flush_action=discard", 1_000..1_200));
    let (discarded, _) = counter(&report, "TX_DISCARD");
    let (given_up, _) = counter(&report, "frames given up");
    assert!(discarded > 190_000 && given_up > 0, "{discarded} {given_up}");
    assert_eq!(report.frames_sent, 200_000);
    assert_eq!((report.undelivered.discarded, report.undelivered.other), (discarded, given_up));
    assert_eq!(report.frames_undelivered, discarded + given_up);
    assert_eq!(counter(&report, "ineligible frames sent"), (0, 0));
    let says = format!("and discarded {discarded} frames");
    assert!(report.warnings[0].contains(&says), "{:?}", report.warnings);
}

#[test]
fn a_flush_that_ends_loses_what_comes_meanwhile() {
    let run = |action: &str| {
        let registers = format!(
            "meta-400g,replay_count_max=1,re_init_on_discard=yes,flush_action={action},init_action={action}"
        );
        let mut config = over(&registers, 0..0);
        config.links[0].corruption = Corruption::iid(0.02);
        simulate(&config)
    };
    let (discard, block) = (run("discard"), run("block"));
    let (discarded, _) = counter(&discard, "TX_DISCARD");
    let flushes = counter(&discard, "TX_INIT_CTL_OS").0;
    // From an INIT to its echo, a few frames of 30 ns come.
    assert!(flushes > 20 && (flushes..20 * flushes).contains(&discarded), "{flushes} {discarded}");
    assert_eq!(discard.undelivered.discarded, discarded);
    assert_eq!(discard.undelivered.other, counter(&discard, "frames given up").0);
    assert_eq!(counter(&block, "TX_DISCARD"), (0, 0));
    assert_eq!(block.frames_undelivered, counter(&block, "frames given up").0);
}

#[test]
fn hosts_lose_what_a_port_discards() {
    let run = |action: &str| {
        let llr = format!(
            "meta-400g,replay_count_max=1,flush_action={action},init_action={action},re_init_on_discard=yes"
        );
        flows(&[
            ("transport", "dctcp"),
            ("size", "2MB"),
            ("trials", "20"),
            ("loss", "0.05"),
            ("scheme", "llr"),
            ("llr", &llr),
        ])
    };
    let (discard, block) = (run("discard"), run("block"));
    assert!(discard.network.frames_discarded > 10, "{:?}", discard.network);
    assert_eq!(block.network.frames_discarded, 0);
    assert!(discard.network.frames_given_up > 100 && block.network.frames_given_up > 100);
    assert!(discard.flows.retransmissions >= discard.network.frames_discarded);
    assert_eq!(discard.flows.unfinished_flows, 0);
}

#[test]
fn frames_without_protection_are_counted_at_both_ends() {
    let report = simulate(&over("meta-400g,flush_action=best-effort", 1_000..1_200));
    let (sent, _) = counter(&report, "ineligible frames sent");
    assert!(sent > 190_000, "{sent}");
    let given_up = counter(&report, "frames given up").0;
    let received = sent - (report.frames_undelivered - given_up);
    assert_eq!(counter(&report, "ineligible frames received"), (0, received));
    assert_eq!(counter(&report, "TX_DISCARD"), (0, 0));
}

/// A share of frames in reverse: 0.5 x 8 / (1,518 + 20) of the ordered sets.
#[test]
fn ordered_sets_are_lost_in_proportion_to_their_octets() {
    let mut config = over("loop", 0..0);
    config.links[0].reverse_corruption = Corruption::iid(0.5);
    let report = simulate(&LinksConfig { frames: 1_000_000, ..config });
    assert_nothing_lost(&report);
    let ((_, sent), (arrived, _)) = (counter(&report, "TX_ACK_CTL_OS"), counter(&report, "RX_ACK_CTL_OS"));
    let share = (sent - arrived) as f64 / sent as f64;
    assert!(sent > 400_000 && (0.9..1.1).contains(&(share / (0.5 * 8.0 / 1_538.0))), "{sent} {share}");
}

#[test]
fn a_run_that_delivers_nothing_takes_its_time() {
    let mut link = SchemeKind::None.link(gigabits(100), 1.0);
    link.corruption = Corruption::iid(1.0);
    let report = simulate(&LinksConfig { frames: 1_000, ..LinksConfig::over(link) });
    assert_eq!(report.frames_undelivered, 1_000);
    // 1,000 frames of 1,538 octets with preamble and gap, at 80 ps.
    assert!((report.simulated_ns - 123_040.0).abs() < 200.0, "{}", report.simulated_ns);
    assert_eq!(report.effective_speed_gbps, 0.0);
}

/// Without frames in the other direction, every ordered set leaves at once anyway.
#[test]
fn ordered_sets_inside_frames_change_nothing_where_no_frame_is_in_their_way() {
    let [between, inside] = ["between-frames", "inside-frames"].map(|insertion| {
        let config = over(&format!("loop,control_insertion={insertion}"), 1_000..1_100);
        simulate(&LinksConfig { full: true, frames: 20_000, ..config })
    });
    assert_nothing_lost(&inside);
    assert_eq!(bytes_of(&between), bytes_of(&inside));
}

/// Two hosts send to each other, so that ACKs and NACKs find the line busy with frames of 4,096 B, each of which takes 1.3 us.
#[test]
fn ordered_sets_inside_frames_do_not_wait_for_them() {
    let step_us = |insertion: &str, loss: &str| {
        let report = flows(&[
            ("transport", "rdma"),
            ("rdma-mtu", "4096"),
            ("topology", "line:switches=2,hosts=1,speed=25G,host-speed=25G"),
            ("speed", "25G"),
            ("collective", "all-to-all"),
            ("size", "20MB"),
            ("loss", loss),
            ("both-directions", "yes"),
            ("scheme", "llr"),
            ("llr", &format!("loop,outstanding_bytes_max=20000,control_insertion={insertion}")),
        ]);
        let training = report.flows.training.expect("it is a training job");
        assert_eq!((training.unfinished_steps, report.flows.retransmissions), (0, 0), "{insertion}");
        training.step_us.expect("it ended").max
    };
    let [between, inside] = ["between-frames", "inside-frames"].map(|insertion| step_us(insertion, "1e-2"));
    println!("{between} {inside}");
    assert!(inside < 0.995 * between, "{inside} us, and {between} us between frames");
    let [between, inside] = ["between-frames", "inside-frames"].map(|insertion| step_us(insertion, "0"));
    println!("{between} {inside}");
}
