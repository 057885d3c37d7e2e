//! Each frame on one of two links: the capacity of both together, and nothing lost, duplicated or reordered when either is cut.

#![allow(clippy::print_stdout, reason = "the figures are wanted with --nocapture")]

mod common;
#[path = "common/two_links.rs"]
mod two_links;

use linkmend_dataplane::config::LinkUse;
use linkmend_lab::tcp::{BulkOptions, TrafficPath, bulk};
use linkmend_lab::{Cut, Path, RunControl};
use std::time::Duration;
use two_links::{Pair, TRIES};

/// The goodput of one TCP transfer, in Mbit/s.
fn goodput(pair: &Pair) -> f64 {
    let options = BulkOptions {
        warm_up: Duration::from_secs(3),
        duration: Duration::from_secs(2),
        ..BulkOptions::default()
    };
    let report = bulk(&TrafficPath::ipv4(&pair.lab), &options, &RunControl::default()).expect("it runs");
    report.goodput_bits_per_second / 1e6
}

/// The goodput of either link alone, and of both.
fn goodputs(name: &str, delays_ms: [u64; 2], mbps: [u64; 2]) -> [f64; 3] {
    let rates = mbps.map(|mbps| Some(mbps * 1_000_000));
    let alone = Pair::with_rates(&format!("{name}a"), delays_ms, rates, [LinkUse::Active; 2]);
    let of = |path: Path| {
        alone.lab.cut(path.other(), Cut::Carrier).expect("it is cut");
        alone.wait_for("the link is in use", |two| two.active == path.into());
        let goodput = goodput(&alone);
        alone.lab.mend(path.other()).expect("it is mended");
        goodput
    };
    let [primary, backup] = Path::ALL.map(of);
    drop(alone);
    let both = Pair::with_rates(&format!("{name}b"), delays_ms, rates, [LinkUse::Share; 2]);
    both.wait_for("both take frames from both links", |two| two.peer_duplicates);
    let sum = goodput(&both);
    [primary, backup, sum]
}

#[test]
fn two_links_carry_what_both_do() {
    if !common::privileged("two_links_carry_what_both_do") {
        return;
    }
    for (name, delays_ms, mbps) in
        [("she", [2, 2], [40, 40]), ("shs", [2, 20], [60, 20]), ("shf", [20, 2], [60, 20])]
    {
        // A machine that is busy elsewhere keeps transfers waiting.
        let reached = (1..=TRIES).any(|attempt| {
            let [primary, backup, both] = goodputs(name, delays_ms, mbps);
            let share = both / (primary + backup);
            println!(
                "{delays_ms:?} ms, {mbps:?} Mbit/s, try {attempt}: {primary:.1} and {backup:.1} Mbit/s alone, {both:.1} together, {share:.3}"
            );
            share >= 0.9
        });
        assert!(reached, "{delays_ms:?} ms, {mbps:?} Mbit/s");
    }
}

#[test]
fn a_cut_of_either_link_costs_no_frame() {
    if !common::privileged("a_cut_of_either_link_costs_no_frame") {
        return;
    }
    // Datagrams take about 12 Mbit/s, so that one link also carries what waits after a cut of the other.
    for (name, delays_ms, mbps) in [("shc", [1, 1], [30, 30]), ("shd", [1, 5], [60, 30])] {
        let rates = mbps.map(|mbps| Some(mbps * 1_000_000));
        let pair = Pair::with_rates(name, delays_ms, rates, [LinkUse::Share; 2]);
        pair.wait_for("both take frames from both links", |two| two.peer_duplicates);
        let course = pair.send();
        course.judge(&format!("delays {delays_ms:?} ms, {mbps:?} Mbit/s"));
        println!(
            "{:?}",
            course.after.each_ref().map(|report| report.failover.as_ref().map(|two| two.share.clone()))
        );
    }
}

#[test]
fn an_end_that_shares_works_with_one_that_does_not() {
    if !common::privileged("an_end_that_shares_works_with_one_that_does_not") {
        return;
    }
    let pairs = [
        ("shx", [LinkUse::Share, LinkUse::Active]),
        ("shy", [LinkUse::Active, LinkUse::Share]),
        ("shz", [LinkUse::Share, LinkUse::Duplicate]),
    ];
    for (name, uses) in pairs {
        let pair = Pair::new(name, [1, 5], uses);
        pair.send().judge(&format!("{uses:?}"));
        for (index, two) in pair.failovers().iter().enumerate() {
            assert_eq!(two.share.is_some(), uses[index] == LinkUse::Share, "{uses:?}, end {index}");
            assert_eq!(two.peer_duplicates, uses[1 - index] != LinkUse::Active, "{uses:?}, end {index}");
        }
    }
}
