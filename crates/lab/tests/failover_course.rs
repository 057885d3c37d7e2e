//! The course of `linkmend demo --failover`, shorter: what survives the cuts of a link, and how. The same with every frame on
//! both links. LINKMEND_FAILOVER_COURSE_CUTS sets how often a link is cut in each way.

mod common;

use std::time::Duration;

use linkmend_dataplane::config::LinkUse;
use linkmend_lab::StopFlag;
use linkmend_lab::failover::{CutKind, FailoverOptions, Survivor, run};

#[test]
fn linkmend_survives_cuts_that_the_kernel_does_not() {
    if common::privileged("linkmend_survives_cuts_that_the_kernel_does_not") {
        survive(LinkUse::Active);
    }
}

#[test]
fn linkmend_survives_them_with_every_frame_on_both_links() {
    if common::privileged("linkmend_survives_them_with_every_frame_on_both_links") {
        survive(LinkUse::Duplicate);
    }
}

#[test]
fn linkmend_survives_them_with_links_that_share_the_frames() {
    if common::privileged("linkmend_survives_them_with_links_that_share_the_frames") {
        survive(LinkUse::Share);
    }
}

fn survive(link_use: LinkUse) {
    let options = FailoverOptions {
        prefix: common::options(match link_use {
            LinkUse::Active => "fail",
            LinkUse::Duplicate => "faib",
            LinkUse::Share => "fais",
        })
        .prefix,
        link_use,
        cuts: std::env::var("LINKMEND_FAILOVER_COURSE_CUTS")
            .map_or(1, |cuts| cuts.parse().expect("a number")),
        // Linkmend has returned before the next course cuts, which also begins with as long a time.
        whole: Duration::from_millis(1_500),
        // A host waits for 200 ms, and then for 400.
        cut: Duration::from_millis(600),
        ..FailoverOptions::default()
    };
    let result = run(&options, &StopFlag::new(), &|_| ()).expect("it runs to its end");
    assert!(!result.usual_reason.is_empty());
    assert_eq!(result.columns.len(), Survivor::ALL.len() * CutKind::ALL.len());
    for column in &result.columns {
        let (what, datagrams) = ((column.survivor, column.kind), &column.datagrams);
        eprintln!(
            "{what:?}, {link_use:?}: gaps {:?} {:?}, datagrams lost {} of {}, {} timeouts, {} retransmitted, {} stalls",
            column.transfer.cuts,
            datagrams.cuts,
            datagrams.lost,
            datagrams.sent,
            column.transfer.timeouts,
            column.transfer.retransmitted_segments,
            column.stalls
        );
        assert!(column.transfer.whole_bps > 0.0 && datagrams.sent > 0, "{column:?}");
        match what {
            (Survivor::Linkmend, _) if column.stalls > 0 => {
                eprintln!(
                    "\n######## NOT JUDGED: the machine stalled a link end {} times ########\n",
                    column.stalls
                );
            }
            (Survivor::Linkmend, _) => {
                let spoiled = (datagrams.lost, datagrams.duplicated, datagrams.reordered);
                assert_eq!(spoiled, (0, 0, 0), "{column:?}");
                let cuts = column.transfer.cuts.iter().chain(&datagrams.cuts);
                assert!(cuts.clone().all(|cut| cut.reported.is_some()), "{column:?}");
            }
            // Nobody tells the kernel, so it sends into the cut for all its time.
            (Survivor::Kernel, CutKind::Silent) => {
                assert!(datagrams.lost > 0 && column.transfer.timeouts > 0, "{column:?}");
                let cut_ns = options.cut.as_nanos() as u64;
                assert!(datagrams.cuts.iter().all(|cut| cut.gap_ns > cut_ns / 2), "{column:?}");
            }
            (Survivor::Kernel, CutKind::Carrier) => {}
        }
    }
}
