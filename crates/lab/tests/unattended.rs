//! `corruptd` finds a corrupting link, has it protected, and ends that after the repair.

mod common;

use linkmend_lab::StopFlag;
use linkmend_lab::unattended::{UnattendedOptions, run};
use std::time::Duration;

/// Two polls a second apart, the poll under way, and a handshake.
const DETECTION_MOST_S: f64 = 3.0;

#[test]
fn a_link_that_begins_to_corrupt_is_protected_and_given_back_after_its_repair() {
    if !common::privileged("a_link_that_begins_to_corrupt_is_protected_and_given_back_after_its_repair") {
        return;
    }
    let options = UnattendedOptions {
        prefix: common::options("auto").prefix,
        healthy: Duration::from_secs(3),
        corrupting: Duration::from_secs(6),
        hold_down: Duration::from_secs(2),
        after: Duration::from_secs(3),
        ..UnattendedOptions::default()
    };
    let result = run(&options, &StopFlag::new(), &|_| ()).expect("it runs to its end");
    for moments in [&result.transfer.moments, &result.frames.moments] {
        let found = moments.detection_s().unwrap_or_else(|| panic!("never protected: {result:?}"));
        assert!(found <= DETECTION_MOST_S, "protected after {found:.2} s: {:?}", result.decisions);
        let released =
            moments.release_s().unwrap_or_else(|| panic!("never given back: {:?}", result.decisions));
        let hold_down = options.hold_down.as_secs_f64();
        // The last corrupted frame came up to a few polls before the repair.
        assert!(
            (hold_down - 1.0..hold_down + 3.0).contains(&released),
            "{released:.2} s: {:?}",
            result.decisions
        );
    }
    let transfer = &result.transfer;
    let (unprotected, protected) =
        (transfer.unprotected_bps.expect("seconds"), transfer.protected_bps.expect("seconds"));
    assert!(protected > 1.2 * unprotected && protected > 0.7 * transfer.healthy_bps, "{transfer:?}");
    let frames = &result.frames;
    assert!(frames.lost > 0 && frames.corrupted > frames.lost, "{frames:?}");
    if frames.stalls > 0 {
        eprintln!("\n######## NOT JUDGED: the machine stalled a daemon {} times ########\n", frames.stalls);
        return;
    }
    assert_eq!((frames.lost_by_switching(), frames.duplicated, frames.reordered), (0, 0, 0), "{frames:?}");
}
