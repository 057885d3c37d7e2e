//! Replays the recorded logs of two real link ends, and changed logs, whose differences must be noticed.
//!
//! The logs in `replay/` are from a run of `crates/lab/tests/trace.rs` (its few bursts, ordered mode, scripted losses),
//! kept with LINKMEND_TRACE_KEEP. They are recorded again when a change of the state machines changes answers, which
//! makes these tests fail.

use linkmend_protocol::trace::{CorruptedFrame, Record, Step};
use linkmend_protocol::{Control, Reception};
use linkmend_sim::replay::{ProtocolLog, ReplayError, agree, longest_transit_ns, repeat, replay};
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/replay").join(name)
}

fn logs() -> [ProtocolLog; 2] {
    ["g1.jsonl", "g2.jsonl"].map(|name| ProtocolLog::read(&path(name)).expect("a protocol log"))
}

/// Index of the first record for which this holds.
fn first(log: &ProtocolLog, is: impl Fn(&Step) -> bool) -> usize {
    log.records.iter().position(|record| is(&record.step)).expect("there is one")
}

#[test]
fn the_recorded_run_repeats_and_agrees_in_either_order() {
    let (g1, g2) = (path("g1.jsonl"), path("g2.jsonl"));
    let report = replay(&g1, Some(&g2)).unwrap_or_else(|error| panic!("{error}"));
    let agreement = report.agreement.expect("there are two logs");
    assert_eq!(
        (agreement.frames_sent, agreement.losses, agreement.notified, agreement.copies_sent),
        (7, 7, 4, 10)
    );
    assert_eq!((agreement.delivered, agreement.given_up, agreement.steps), (7, 0, 52));
    assert!(report.to_string().contains("agree on the order of 52 steps"));
    let swapped = replay(&g2, Some(&g1)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(swapped.agreement, Some(agreement));
    let alone = replay(&g1, None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(alone.agreement, None);
    assert!(alone.repeated[0].steps > 400);
}

#[test]
fn a_changed_answer_is_found_at_its_line() {
    let [_, log] = logs();
    let buffered = |step: &Step| matches!(step, Step::Data { reception: Reception::Buffered, .. });
    let at = first(&log, buffered);
    let mut changed = log.clone();
    if let Step::Data { reception, .. } = &mut changed.records[at].step {
        *reception = Reception::Deliver;
    }
    match repeat(&changed) {
        Err(ReplayError::Answer { line, logged, now, .. }) => {
            assert_eq!(line, at + 2);
            assert!(logged.contains("reception: Deliver") && now.contains("reception: Buffered"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_line_changes_what_follows() {
    let [log, _] = logs();
    // The first feedback opens the session: without it nothing would have been protected.
    let feedback = |step: &Step| matches!(step, Step::Control { control: Control::Feedback(_), .. });
    let at = first(&log, feedback);
    let mut shorter = log.clone();
    shorter.records.remove(at);
    assert!(matches!(repeat(&shorter), Err(ReplayError::Answer { line, .. }) if line >= at + 2));
    let mut other_seed = log;
    other_seed.header.seed += 1;
    assert!(matches!(repeat(&other_seed), Err(ReplayError::Answer { .. })));
}

#[test]
fn an_added_removed_or_moved_loss_changes_the_order() {
    let [sender, receiver] = logs();
    let is_loss = |step: &Step| matches!(step, Step::Corrupted { frame: CorruptedFrame::Data(_) });
    let mut fewer = receiver.clone();
    fewer.records.remove(first(&receiver, is_loss));
    let error = agree(&sender, &fewer).expect_err("it arrives in the simulator");
    let text = error.to_string();
    assert!(matches!(error, ReplayError::Order { .. }), "{text}");
    assert!(text.contains("link end g1 differs in its step") && text.contains("line"), "{text}");

    let delivered = |step: &Step| matches!(step, Step::Data { reception: Reception::Deliver, .. });
    let at = first(&receiver, delivered);
    let mut more = receiver.clone();
    let Step::Data { header, .. } = more.records[at].step else { unreachable!("just found") };
    more.records[at].step = Step::Corrupted { frame: CorruptedFrame::Data(header) };
    assert!(matches!(agree(&sender, &more), Err(ReplayError::Order { .. })));
}

#[test]
fn two_swapped_deliveries_are_noticed() {
    let [sender, mut receiver] = logs();
    let polled = |record: &Record| matches!(record.step, Step::PollDeliver { frame: Some(_) });
    let polls: Vec<usize> =
        (0..receiver.records.len()).filter(|&index| polled(&receiver.records[index])).collect();
    let later = first(&receiver, |step| matches!(step, Step::PollDeliver { frame: Some(_) }));
    assert_eq!(polls[0], later);
    // The frame behind a hole is sent before the copy that closes it.
    let copy = (0..later).rev().find(|&index| matches!(receiver.records[index].step, Step::Data { .. }));
    receiver.records.swap(copy.expect("a copy closed the hole"), later);
    assert!(matches!(agree(&sender, &receiver), Err(ReplayError::Order { .. })));
}

#[test]
fn logs_that_cannot_be_compared_are_refused_with_the_reason() {
    let [sender, receiver] = logs();
    let mut other_clock = receiver.clone();
    other_clock.records.iter_mut().for_each(|record| record.at.0 += 3_000_000_000);
    assert!(matches!(agree(&sender, &other_clock), Err(ReplayError::TwoClocks { .. })));
    assert!(matches!(agree(&sender, &sender), Err(ReplayError::NothingInCommon)));
    assert_eq!(longest_transit_ns(&sender, &sender), None);
    let empty = ProtocolLog { records: Vec::new(), ..receiver.clone() };
    assert!(matches!(agree(&sender, &empty), Err(ReplayError::Empty { .. })));

    let mut control_lost = sender.clone();
    let at = first(&sender, |step| matches!(step, Step::Control { .. }));
    let Step::Control { control, .. } = sender.records[at].step else { unreachable!("just found") };
    control_lost.records[at].step = Step::Corrupted { frame: CorruptedFrame::Control(control) };
    match agree(&control_lost, &receiver) {
        Err(ReplayError::Loss { line, what, .. }) => assert_eq!((line, what), (at + 2, "a control frame")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn bad_files_are_refused_with_their_line() {
    assert!(matches!(replay(&path("none.jsonl"), None), Err(ReplayError::Unreadable { .. })));
    let text = std::fs::read_to_string(path("g1.jsonl")).expect("it is there");
    let lines: Vec<&str> = text.lines().collect();
    let with = |line: usize, new: &str| {
        let mut lines = lines.clone();
        lines[line - 1] = new;
        ProtocolLog::parse("changed", &(lines.join("\n") + "\n"))
    };
    assert!(matches!(with(7, "{}"), Err(ReplayError::Line { line: 7, .. })));
    assert!(matches!(with(1, "{\"at\":1}"), Err(ReplayError::Line { line: 1, .. })));
    let newer = lines[0].replace("\"protocol_log\":1", "\"protocol_log\":2");
    assert!(matches!(with(1, &newer), Err(ReplayError::Version { version: 2, .. })));
    let impossible = lines[0].replace("\"window_frames\":4096", "\"window_frames\":4097");
    let log = with(1, &impossible).expect("it can be read");
    assert!(matches!(repeat(&log), Err(ReplayError::Parameter { .. })));
    assert!(matches!(ProtocolLog::parse("empty", ""), Err(ReplayError::Line { line: 1, .. })));
    // A crash cuts off the last line.
    let cut = ProtocolLog::parse("cut", &text[..text.len() - 9]).expect("the rest is whole");
    assert_eq!(cut.records.len(), lines.len() - 2);
}
