//! The metrics of classes with a deadline.

use super::labels::{Label, count, label};
use linkmend_control::LinkReport;
use linkmend_control::report::{ReceivedInTime, SentInTime};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use std::fmt;

type Counter<C> = (&'static str, &'static str, fn(&C) -> u64);

const SENT: [Counter<SentInTime>; 4] = [
    ("in_time_sent_frames", "Frames sent with a deadline", |class| class.frames),
    ("in_time_parity_frames", "Parity frames sent for frames with a deadline", |class| class.parity_frames),
    ("in_time_copies", "Retransmissions of frames with a deadline", |class| class.copies),
    ("in_time_refused", "Frames asked for again that would have come late", |class| class.refused),
];
const RECEIVED: [Counter<ReceivedInTime>; 4] = [
    ("in_time_delivered_frames", "Frames delivered within their deadline", |class| class.delivered),
    ("in_time_restored_frames", "Delivered frames that parity has restored", |class| class.restored),
    ("in_time_lost_frames", "Frames that had not arrived by their deadline", |class| class.lost),
    (
        "in_time_late_frames",
        "Frames that arrived, and could be delivered only after their deadline",
        |class| class.late,
    ),
];

/// Writes the metrics of classes with a deadline, if there are any.
pub(super) fn encode(reports: &[LinkReport], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let ends = || reports.iter().filter_map(|report| Some((report, report.in_time.as_ref()?)));
    let sent: Vec<_> = ends()
        .flat_map(|(report, in_time)| {
            in_time.sent.iter().map(|class| (labels(report, class.deadline_ns), class))
        })
        .collect();
    let received: Vec<_> = ends()
        .flat_map(|(report, in_time)| {
            in_time.received.iter().map(|class| (labels(report, class.deadline_ns), class))
        })
        .collect();
    if !sent.is_empty() {
        let help = "Whether the peer takes frames with a deadline";
        let mut family = encoder.encode_descriptor("in_time_ready", help, None, MetricType::Gauge)?;
        for (labels, class) in &sent {
            family.encode_family(labels)?.encode_gauge(&i64::from(class.is_ready))?;
        }
    }
    counters(encoder, &SENT, &sent)?;
    counters(encoder, &RECEIVED, &received)
}

fn labels(report: &LinkReport, deadline_ns: u64) -> [Label; 2] {
    [label(&report.name), ("deadline_seconds", (deadline_ns as f64 / 1e9).to_string())]
}

fn counters<C>(
    encoder: &mut DescriptorEncoder<'_>,
    counters: &[Counter<C>],
    classes: &[([Label; 2], &C)],
) -> fmt::Result {
    if classes.is_empty() {
        return Ok(());
    }
    for (name, help, value) in counters {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, class) in classes {
            count(&mut family, labels, value(class))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_control::report::InTimeReport;

    #[test]
    fn a_class_with_a_deadline_has_metrics_of_both_directions() {
        let mut report = LinkReport { name: "uplink".to_owned(), ..LinkReport::default() };
        let page = |report: &LinkReport| super::super::encode::encode(vec![report.clone()], Vec::new());
        assert!(!page(&report).contains("in_time_"));
        let sent =
            SentInTime { deadline_ns: 150_000_000, is_ready: true, frames: 7, ..SentInTime::default() };
        let received = ReceivedInTime { deadline_ns: 20_000_000, late: 3, ..ReceivedInTime::default() };
        report.in_time = Some(InTimeReport { sent: vec![sent], received: vec![received], malformed: 0 });
        for line in [
            "linkmend_in_time_ready{link=\"uplink\",deadline_seconds=\"0.15\"} 1\n",
            "linkmend_in_time_sent_frames_total{link=\"uplink\",deadline_seconds=\"0.15\"} 7\n",
            "linkmend_in_time_late_frames_total{link=\"uplink\",deadline_seconds=\"0.02\"} 3\n",
        ] {
            assert!(page(&report).contains(line), "{line}\n{}", page(&report));
        }
    }
}
