//! A third end with the key of the other two, and an end that hears itself.

use crate::rules::{Case, Stranger};
use crate::world::{START_NS, open_ends};
use linkmend_dataplane::bench::{BenchedEnd, Side};

const STEP_NS: u64 = 1_000_000;

/// Runs the ends on one broadcast domain, in which an end hears itself if `loops`.
fn run(ends: &mut [BenchedEnd], now_ns: &mut u64, seconds: u64, loops: bool) {
    let mut frame = Vec::new();
    for _ in 0..seconds * 1_000_000_000 / STEP_NS {
        *now_ns += STEP_NS;
        for end in 0..ends.len() {
            ends[end].round(*now_ns);
            while ends[end].depart(Side::Link, &mut frame) {
                for (other, to) in ends.iter_mut().enumerate() {
                    if other != end || loops {
                        assert!(to.arrive(Side::Link, &frame), "the port has room");
                    }
                }
            }
        }
    }
}

fn case(has_key: bool) -> Case {
    Case { has_key, stranger: Stranger::None, protects: [true; 2] }
}

#[test]
fn a_third_end_is_recognised_with_its_key_as_without_one() {
    for has_key in [false, true] {
        let mut now_ns = START_NS;
        let mut ends = Vec::from(open_ends(case(has_key), 1));
        run(&mut ends, &mut now_ns, 2, false);
        assert!(ends.iter_mut().all(|end| end.is_open(true, true)), "key: {has_key}");
        let [third, _] = open_ends(case(has_key), 2);
        ends.push(third);
        run(&mut ends, &mut now_ns, 5, false);
        let reports: Vec<_> = ends.iter_mut().map(BenchedEnd::report).collect();
        for report in &reports[..2] {
            assert!(report.third_end.is_some() && report.is_suspended, "key: {has_key}\n{report:#?}");
        }
        ends.pop();
        run(&mut ends, &mut now_ns, 10, false);
        assert!(ends.iter_mut().all(|end| end.is_open(true, true)), "key: {has_key}, when it is gone");
    }
}

/// Without a key, a loop suspends protection. With one, a stranger could pretend that there is one, and a real one harms nothing.
#[test]
fn a_loop_on_a_link_with_a_key_leaves_its_sessions_open() {
    for has_key in [false, true] {
        let mut now_ns = START_NS;
        let mut ends = open_ends(case(has_key), 1);
        run(&mut ends, &mut now_ns, 2, false);
        run(&mut ends, &mut now_ns, 5, true);
        for end in &mut ends {
            let report = end.report();
            assert_eq!(report.third_end.is_some(), !has_key, "{report:#?}");
            assert_eq!(report.is_suspended, !has_key);
            assert_eq!(report.counters.forged_frames > 100, has_key, "{:?}", report.counters);
            assert_eq!(report.counters.sessions_opened, 1);
        }
    }
}
