//! The lines of classes with a deadline.

use linkmend_control::report::{InTimeReport, ReceivedInTime, SentInTime};
use linkmend_report::quantity::{count, duration};

/// What is sent, then what is received.
pub(super) fn lines(in_time: &InTimeReport) -> Vec<String> {
    in_time.sent.iter().map(sent).chain(in_time.received.iter().map(received)).collect()
}

fn time(ns: u64) -> String {
    duration(ns as f64 / 1e9)
}

fn sent(class: &SentInTime) -> String {
    let deadline = time(class.deadline_ns);
    let SentInTime { is_ready, round_trip_ns, frames, parity_frames, copies, .. } = *class;
    let counted = format!(
        "{} frames, {} parity, {} again",
        count(frames as f64),
        count(parity_frames as f64),
        count(copies as f64)
    );
    match round_trip_ns {
        Some(round_trip) if !is_ready && round_trip / 2 >= class.deadline_ns => {
            format!(
                "out within {deadline}: NOT READY, the path alone takes {}; {counted}",
                time(round_trip / 2)
            )
        }
        _ if !is_ready => {
            format!("out within {deadline}: NOT READY, the peer has not accepted it; {counted}")
        }
        _ => format!("out within {deadline}: {counted}"),
    }
}

fn received(class: &ReceivedInTime) -> String {
    format!(
        "in within {}: {} frames, {} of them restored; {} lost, {} late",
        time(class.deadline_ns),
        count(class.delivered as f64),
        count(class.restored as f64),
        count(class.lost as f64),
        count(class.late as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_has_a_line() {
        let ready = SentInTime {
            deadline_ns: 150_000_000,
            is_ready: true,
            round_trip_ns: Some(100_000_000),
            frames: 1_000,
            parity_frames: 100,
            copies: 2,
            ..SentInTime::default()
        };
        let short = SentInTime { deadline_ns: 20_000_000, is_ready: false, ..ready.clone() };
        let alone = SentInTime { round_trip_ns: None, ..short.clone() };
        let received = ReceivedInTime {
            deadline_ns: 150_000_000,
            delivered: 990,
            restored: 80,
            lost: 1,
            late: 2,
            ..Default::default()
        };
        let report = InTimeReport { sent: vec![ready, short, alone], received: vec![received], malformed: 0 };
        assert_eq!(
            lines(&report),
            [
                "out within 150 ms: 1,000 frames, 100 parity, 2 again",
                "out within 20.0 ms: NOT READY, the path alone takes 50.0 ms; 1,000 frames, 100 parity, 2 again",
                "out within 20.0 ms: NOT READY, the peer has not accepted it; 1,000 frames, 100 parity, 2 again",
                "in within 150 ms: 990 frames, 80 of them restored; 1 lost, 2 late",
            ]
        );
    }
}
