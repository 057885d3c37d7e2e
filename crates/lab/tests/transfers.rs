//! Transfers with losses by number: exactly these frames are lost, and nothing is left behind.

mod common;

use std::sync::Mutex;
use std::time::Duration;

use linkmend_lab::demo::{Observer, Step};
use linkmend_lab::transfers::{Transfer, TransferOptions, run};
use linkmend_lab::{DownOutcome, Impairments, Lab, StopFlag};

/// The labels of the transfers that have begun.
#[derive(Default)]
struct Begun(Mutex<Vec<String>>);

impl Observer for Begun {
    fn step(&self, step: &Step<'_>) {
        assert!(step.index < step.total, "{step:?}");
        self.0.lock().expect("no panic").push(step.detail.to_owned());
    }
}

fn options(name: &str) -> TransferOptions {
    let impairments = Impairments {
        rate_bps: Some(100_000_000),
        link_delay: Duration::from_millis(5),
        ..Impairments::default()
    };
    TransferOptions::new(&common::options(name).prefix, impairments, Duration::from_secs(2))
}

fn transfer(congestion_control: &str, lost: &[u64]) -> Transfer {
    Transfer {
        label: format!("{congestion_control}, {} lost", lost.len()),
        congestion_control: congestion_control.to_owned(),
        lost: lost.into(),
    }
}

#[test]
fn exactly_the_listed_data_frames_are_lost_and_sent_again() {
    if !common::privileged("exactly_the_listed_data_frames_are_lost_and_sent_again") {
        return;
    }
    let transfers =
        [transfer("reno", &[5, 100, 101, 2_000]), transfer("reno", &[]), transfer("vegas-9", &[])];
    let begun = Begun::default();
    let report = run(&options("losses"), &transfers, &StopFlag::new(), &begun).expect("they run");
    assert_eq!(begun.0.into_inner().expect("no panic").len(), 3);
    let [lossy, clean, missing] = &report.transfers[..] else { panic!("{report:#?}") };
    let (Some(lossy), Some(clean)) = (&lossy.value, &clean.value) else { panic!("{report:#?}") };
    assert!(missing.value.is_none(), "no kernel has it");
    assert_eq!((lossy.frames_lost, clean.frames_lost), (4, 0));
    // What was lost was retransmitted, and what the queue dropped, too, but not all of that by the end.
    assert!(lossy.bulk.retransmitted_segments >= 4, "{lossy:#?}");
    assert!(clean.bulk.retransmitted_segments <= clean.queue_drops + clean.overflow_drops + 5, "{clean:#?}");
    let samples = &clean.bulk.samples;
    assert!(samples.iter().any(|sample| sample.sender.congestion_window_segments > 20), "{samples:?}");
    assert_eq!(Lab::down(&options("losses").prefix).expect("it can be asked"), DownOutcome::NothingThere);
}

#[test]
fn transfers_that_are_stopped_leave_no_laboratory() {
    if !common::privileged("transfers_that_are_stopped_leave_no_laboratory") {
        return;
    }
    let stop = StopFlag::new();
    let outcome = std::thread::scope(|scope| {
        let running =
            scope.spawn(|| run(&options("stopped"), &[transfer("reno", &[])], &stop, &Begun::default()));
        std::thread::sleep(Duration::from_millis(1_200));
        stop.stop();
        running.join().expect("no panic")
    });
    let error = outcome.expect_err("it was stopped").to_string();
    assert!(error.contains("stopped") || error.contains("TCP"), "{error}");
    assert_eq!(Lab::down(&options("stopped").prefix).expect("it can be asked"), DownOutcome::NothingThere);
}
