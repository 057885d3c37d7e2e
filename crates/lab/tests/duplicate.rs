//! Every frame on both links: either link is cut under traffic, and nothing is lost, duplicated or reordered, and no time lost.
//! An end that does so works with one that does not.
//!
//! LINKMEND_DUPLICATE_RUNS repeats each case.

mod common;
#[path = "common/two_links.rs"]
mod two_links;

use linkmend_dataplane::config::LinkUse;
use two_links::{Course, Pair, TRIES};

fn runs() -> u32 {
    std::env::var("LINKMEND_DUPLICATE_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
fn a_cut_of_either_link_costs_no_frame_and_no_time() {
    if !common::privileged("a_cut_of_either_link_costs_no_frame_and_no_time") {
        return;
    }
    for (name, delays_ms) in [("dup", [1, 1]), ("dus", [1, 5]), ("duf", [5, 1])] {
        let pair = Pair::new(name, delays_ms, [LinkUse::Duplicate; 2]);
        pair.wait_for("both duplicate", |two| two.peer_duplicates);
        for run in 0..runs() {
            let mut tries = (1..=TRIES).map(|attempt| {
                let course = pair.send();
                course.judge(&format!("delays {delays_ms:?} ms, run {run}, try {attempt}"));
                course
            });
            // In others, the machine keeps everything waiting. If a cut cost time, it would do so in each.
            let calm = tries.find(Course::has_no_longer_gaps).expect("a run in which cuts cost no time");
            let two = calm.after[1].failover.as_ref().expect("two links");
            let duplicate = two.duplicate.as_ref().expect("it duplicates");
            assert!(duplicate.later_copies.iter().sum::<u64>() > 5_000, "{duplicate:?}");
        }
    }
}

#[test]
fn an_end_that_duplicates_works_with_one_that_does_not() {
    if !common::privileged("an_end_that_duplicates_works_with_one_that_does_not") {
        return;
    }
    for (name, duplicates) in [("dux", [true, false]), ("duy", [false, true])] {
        let uses = duplicates.map(|duplicates| if duplicates { LinkUse::Duplicate } else { LinkUse::Active });
        let pair = Pair::new(name, [1, 5], uses);
        for run in 0..runs() {
            pair.send().judge(&format!("{duplicates:?}, run {run}"));
            for (index, two) in pair.failovers().iter().enumerate() {
                let said = (two.duplicate.is_some(), two.peer_duplicates);
                assert_eq!(said, (duplicates[index], duplicates[1 - index]), "{duplicates:?}, end {index}");
            }
        }
    }
}
