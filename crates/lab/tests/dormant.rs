//! A dormant link beside a plain bridge on the same path, under several TCP streams at once.

#![allow(clippy::print_stdout, reason = "the figures are wanted with --nocapture")]

mod common;

use std::process::Command;
use std::time::Duration;

use linkmend_dataplane::PortChoice;
use linkmend_lab::tcp::{BulkOptions, TrafficPath, bulk};
use linkmend_lab::{Lab, LinkEnds, Role, RunControl};

const STREAMS: usize = 6;
const SLOTS: usize = 5;
const SLOT: Duration = Duration::from_millis(1200);
/// How often all slots are run. The machine's other work also drops frames, with either of the two; a cause of our own
/// shows in every run.
const ATTEMPTS: usize = 3;
/// Frames and segments by which the two may differ whatever the ratio, because the backlog of a processor that gets its
/// turn late overflows by a few hundred.
const DROPS_ALLOWANCE: u64 = 256;
const RETRANSMISSIONS_ALLOWANCE: u64 = 1000;

/// The losses in one slot.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// Frames dropped between the second link end and its host, where the bypass redirects from a link with bursts into
    /// a port that has to keep up.
    drops: u64,
    retransmitted: u64,
}

fn dropped(lab: &Lab, role: Role, interface: &str) -> u64 {
    let namespace = lab.options().namespace_name(role);
    let output = Command::new("ip")
        .args(["-n", &namespace, "-s", "-j", "link", "show", "dev", interface])
        .output()
        .expect("ip runs");
    let links: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    links[0]["stats64"]["tx"]["dropped"].as_u64().expect("a counter")
}

fn slot(lab: &Lab) -> Cost {
    let path = TrafficPath::ipv4(lab);
    let options =
        BulkOptions { duration: SLOT, warm_up: Duration::from_millis(100), ..BulkOptions::default() };
    let before = dropped(lab, Role::End2, "inner");
    let reports: Vec<_> = std::thread::scope(|scope| {
        let streams: Vec<_> = (0..STREAMS)
            .map(|_| scope.spawn(|| bulk(&path, &options, &RunControl::default()).expect("it flows")))
            .collect();
        streams.into_iter().map(|stream| stream.join().expect("it ends")).collect()
    });
    Cost {
        drops: dropped(lab, Role::End2, "inner") - before,
        // This counts from the first segment on, because the streams' slow starts are the bursts.
        retransmitted: reports
            .iter()
            .filter_map(|report| report.samples.last())
            .map(|sample| u64::from(sample.sender.retransmitted_segments))
            .sum(),
    }
}

fn median(costs: &[Cost], value: fn(&Cost) -> u64) -> u64 {
    let mut values: Vec<u64> = costs.iter().map(value).collect();
    values.sort_unstable();
    values[values.len() / 2]
}

#[test]
fn a_dormant_link_loses_no_more_of_parallel_streams_than_a_bridge() {
    let test = "a_dormant_link_loses_no_more_of_parallel_streams_than_a_bridge";
    let Some(bridged) = common::bridged(test, "bridge") else { return };
    let lab = Lab::up(common::options("dormant")).expect("the lab comes up");
    let _ends = LinkEnds::start(&lab, PortChoice::Xdp, 1).expect("the link ends start");
    for attempt in 1..=ATTEMPTS {
        let (mut bridge, mut dormant) = (Vec::new(), Vec::new());
        for _ in 0..SLOTS {
            bridge.push(slot(&bridged));
            dormant.push(slot(&lab));
        }
        println!("bridge {bridge:.2?}\ndormant {dormant:.2?}");
        let drops = [&bridge, &dormant].map(|costs| median(costs, |cost| cost.drops));
        let retransmitted = [&bridge, &dormant].map(|costs| median(costs, |cost| cost.retransmitted));
        let said = format!("medians: drops {drops:?}, retransmissions {retransmitted:?} (bridge, dormant)");
        let good = drops[1] <= 2 * drops[0] + DROPS_ALLOWANCE
            && retransmitted[1] <= 2 * retransmitted[0] + RETRANSMISSIONS_ALLOWANCE;
        if good {
            return;
        }
        assert!(attempt < ATTEMPTS, "{said}");
        println!("{said}: again");
    }
}
