//! The metrics of link ends with two links.

use super::labels::{Label, count, label};
use linkmend_control::LinkReport;
use linkmend_control::report::{DuplicateReport, FailoverReport, Path, ShareReport};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use std::fmt;

const NS_PER_S: f64 = 1e9;

struct Counter {
    name: &'static str,
    help: &'static str,
    value: fn(&FailoverReport) -> u64,
}

const COUNTERS: &[Counter] = &[
    Counter {
        name: "failovers",
        help: "Switches to the other link because the one in use had failed",
        value: |failover| failover.failovers,
    },
    Counter {
        name: "path_quality_changes",
        help: "Switches to the other link because the one in use lost or delayed more frames",
        value: |failover| failover.quality_changes,
    },
    Counter {
        name: "path_moves",
        help: "All other switches to the other link",
        value: |failover| failover.moves,
    },
    Counter {
        name: "resent_frames",
        help: "Frames retransmitted because of a switch to the other link",
        value: |failover| failover.resent_frames,
    },
    Counter {
        name: "late_frames",
        help: "Frames dropped because they arrived on a link that the peer had left",
        value: |failover| failover.late_frames,
    },
    Counter {
        name: "path_copies_sent",
        help: "Numbered frames that were sent on the second of two links as well",
        value: |failover| failover.duplicate.as_ref().map_or(0, |duplicate| duplicate.copies_sent),
    },
    Counter {
        name: "path_copies_skipped",
        help: "Numbered frames for which the second of two links had no room",
        value: |failover| failover.duplicate.as_ref().map_or(0, |duplicate| duplicate.copies_skipped),
    },
    Counter {
        name: "path_held_frames",
        help: "Frames that waited for the other of two links that are both in use",
        value: |failover| both(failover, |duplicate| duplicate.held_frames, |share| share.held_frames),
    },
    Counter {
        name: "probes_sent",
        help: "Probes sent on both links",
        value: |failover| failover.probes_sent,
    },
];

type Gauge = (&'static str, &'static str, fn(&FailoverReport, Path) -> bool);

/// Of each of the two links.
const GAUGES: &[Gauge] = &[
    ("path_active", "Whether this one of two links is in use", |failover, path| failover.active == path),
    ("path_preferred", "Whether this one of two links is used while both are up", |failover, path| {
        failover.preferred == path
    }),
    ("path_heard", "Whether frames from the peer arrive on this one of two links", |failover, path| {
        failover.heard[path.index()]
    }),
    (
        "path_hears",
        "Whether frames from this end reach the peer on this one of two links",
        |failover, path| !failover.peer_is_deaf[path.index()],
    ),
    (
        "path_takes_full_size",
        "Whether full-size frames get through on this one of two links",
        |failover, path| !failover.loses_full_size[path.index()],
    ),
    (
        "path_behind",
        "Whether this one of two links that are both in use is too late to be waited for",
        |failover, path| both(failover, |duplicate| duplicate.behind, |share| share.behind)[path.index()],
    ),
];

/// What an end counts that uses both links, in either way; nothing if it does not.
fn both<T: Default>(
    failover: &FailoverReport,
    duplicate: fn(&DuplicateReport) -> T,
    share: fn(&ShareReport) -> T,
) -> T {
    let duplicate = failover.duplicate.as_ref().map(duplicate);
    duplicate.or_else(|| failover.share.as_ref().map(share)).unwrap_or_default()
}

type GaugeOfBoth = (&'static str, &'static str, fn(&FailoverReport) -> bool);

/// Of both links together.
const USE: &[GaugeOfBoth] = &[
    ("duplicates", "Whether this end sends every frame on both links", |failover| {
        failover.duplicate.is_some()
    }),
    ("peer_duplicates", "Whether the peer uses both links", |failover| failover.peer_duplicates),
    ("shares", "Whether this end spreads frames over both links", |failover| failover.share.is_some()),
];

/// Writes them, if any link end has two links.
pub(super) fn encode(reports: &[LinkReport], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let with_two: Vec<(&str, &FailoverReport)> =
        reports.iter().filter_map(|report| Some((report.name.as_str(), report.failover.as_ref()?))).collect();
    if with_two.is_empty() {
        return Ok(());
    }
    for counter in COUNTERS {
        let mut family = encoder.encode_descriptor(counter.name, counter.help, None, MetricType::Counter)?;
        for (name, failover) in &with_two {
            count(&mut family, &[label(name)], (counter.value)(failover))?;
        }
    }
    counters_by_path(&with_two, encoder)?;
    gauges(&with_two, encoder)?;
    last_change(&with_two, encoder)
}

type LinkEnds<'a> = [(&'a str, &'a FailoverReport)];

fn counters_by_path(with_two: &LinkEnds<'_>, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    type ByPath = fn(&FailoverReport) -> [u64; 2];
    let by_path: [(&str, &str, ByPath); 7] = [
        ("probes_received", "Probes of the peer that arrived on this one of two links", |failover| {
            failover.probes_received
        }),
        ("probes_lost", "Probes of the peer that did not arrive on this one of two links", |failover| {
            failover.probes_lost
        }),
        (
            "path_first_copies",
            "Frames of which the first copy arrived on this one of two links",
            |failover| both(failover, |duplicate| duplicate.first_copies, |share| share.received_frames),
        ),
        (
            "path_later_copies",
            "Copies dropped on this one of two links because the other was faster",
            |failover| failover.duplicate.as_ref().map_or([0; 2], |duplicate| duplicate.later_copies),
        ),
        (
            "path_waits_given_up",
            "Times that this one of two links took too long to be waited for",
            |failover| both(failover, |duplicate| duplicate.waits_given_up, |share| share.waits_given_up),
        ),
        (
            "path_shared_frames",
            "Numbered frames and retransmissions that this end sent on this one of two links that share them",
            |failover| failover.share.as_ref().map_or([0; 2], |share| share.sent_frames),
        ),
        (
            "path_marks_sent",
            "Times that the peer was told on this one of two links how far the frames on the other had come",
            |failover| failover.share.as_ref().map_or([0; 2], |share| share.marks_sent),
        ),
    ];
    for (name, help, values) in by_path {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (link, failover) in with_two {
            for (path, value) in Path::ALL.iter().zip(values(failover)) {
                count(&mut family, &labels(link, *path), value)?;
            }
        }
    }
    Ok(())
}

fn gauges(with_two: &LinkEnds<'_>, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    for (name, help, holds) in GAUGES {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (link, failover) in with_two {
            for path in Path::ALL {
                let value = i64::from(holds(failover, *path));
                family.encode_family(&labels(link, *path))?.encode_gauge(&value)?;
            }
        }
    }
    for (name, help, holds) in USE {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (link, failover) in with_two {
            family.encode_family(&[label(link)])?.encode_gauge(&i64::from(holds(failover)))?;
        }
    }
    let help = "Share of the latest frames that this one of two links lost on the way to the peer";
    let mut family = encoder.encode_descriptor("path_loss_ratio", help, None, MetricType::Gauge)?;
    for (link, failover) in with_two {
        for (path, loss) in Path::ALL.iter().zip(failover.loss) {
            family.encode_family(&labels(link, *path))?.encode_gauge(&loss)?;
        }
    }
    Ok(())
}

fn last_change(with_two: &LinkEnds<'_>, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let help = "Time from the last sign that the previous link passed frames until the peer confirmed that it accepts frames from the new one";
    let mut family = encoder.encode_descriptor("last_change_gap_seconds", help, None, MetricType::Gauge)?;
    for (link, failover) in with_two {
        if let Some(gap_ns) = failover.last.as_ref().and_then(|last| last.gap_ns) {
            family.encode_family(&[label(link)])?.encode_gauge(&(gap_ns as f64 / NS_PER_S))?;
        }
    }
    let help = "Frames retransmitted at the last switch to the other link";
    let mut family = encoder.encode_descriptor("last_change_resent_frames", help, None, MetricType::Gauge)?;
    for (link, failover) in with_two {
        if let Some(last) = &failover.last {
            let resent = i64::try_from(last.resent_frames).unwrap_or(i64::MAX);
            family.encode_family(&[label(link)])?.encode_gauge(&resent)?;
        }
    }
    Ok(())
}

fn labels(link: &str, path: Path) -> [Label; 2] {
    [label(link), ("path", path.to_string())]
}

#[cfg(test)]
mod tests {
    use linkmend_control::LinkReport;
    use linkmend_control::report::{DuplicateReport, FailoverReport, LastChangeReport, Path, ShareReport};

    #[test]
    fn the_page_of_two_links_has_what_one_has_not() {
        let mut report = LinkReport { name: "uplink".to_owned(), ..LinkReport::default() };
        let alone = super::super::encode::encode(vec![report.clone()], Vec::new());
        assert!(!alone.contains("failovers"));
        let mut failover = FailoverReport {
            active: Path::Backup,
            preferred: Path::Primary,
            heard: [false, true],
            loses_full_size: [true, false],
            loss: [0.25, 0.0],
            failovers: 3,
            probes_lost: [4, 5],
            peer_duplicates: true,
            duplicate: Some(DuplicateReport {
                copies_sent: 90,
                first_copies: [70, 20],
                waits_given_up: [0, 6],
                behind: [false, true],
                ..DuplicateReport::default()
            }),
            last: Some(LastChangeReport {
                resent_frames: 17,
                gap_ns: Some(12_500_000),
                ..LastChangeReport::default()
            }),
            ..FailoverReport::default()
        };
        failover.backup.interface = "eth3".to_owned();
        report.failover = Some(failover);
        let page = super::super::encode::encode(vec![report], Vec::new());
        for line in [
            "linkmend_failovers_total{link=\"uplink\"} 3",
            "linkmend_path_active{link=\"uplink\",path=\"primary\"} 0",
            "linkmend_path_active{link=\"uplink\",path=\"backup\"} 1",
            "linkmend_path_preferred{link=\"uplink\",path=\"primary\"} 1",
            "linkmend_path_heard{link=\"uplink\",path=\"backup\"} 1",
            "linkmend_path_takes_full_size{link=\"uplink\",path=\"primary\"} 0",
            "linkmend_path_loss_ratio{link=\"uplink\",path=\"primary\"} 0.25",
            "linkmend_probes_lost_total{link=\"uplink\",path=\"backup\"} 5",
            "linkmend_path_copies_sent_total{link=\"uplink\"} 90",
            "linkmend_path_first_copies_total{link=\"uplink\",path=\"backup\"} 20",
            "linkmend_path_waits_given_up_total{link=\"uplink\",path=\"backup\"} 6",
            "linkmend_path_behind{link=\"uplink\",path=\"backup\"} 1",
            "linkmend_duplicates{link=\"uplink\"} 1",
            "linkmend_peer_duplicates{link=\"uplink\"} 1",
            "linkmend_last_change_gap_seconds{link=\"uplink\"} 0.0125",
            "linkmend_last_change_resent_frames{link=\"uplink\"} 17",
            "linkmend_port_mtu_bytes{link=\"uplink\",port=\"backup\",interface=\"eth3\"} 0",
        ] {
            assert!(page.contains(&format!("{line}\n")), "{line}\n{page}");
        }
    }

    #[test]
    fn links_that_share_have_the_same_families() {
        let share = ShareReport {
            sent_frames: [30, 10],
            marks_sent: [0, 7],
            received_frames: [5, 6],
            behind: [true, false],
            held_frames: 4,
            ..ShareReport::default()
        };
        let failover = FailoverReport { share: Some(share), ..FailoverReport::default() };
        let report =
            LinkReport { name: "uplink".to_owned(), failover: Some(failover), ..LinkReport::default() };
        let page = super::super::encode::encode(vec![report], Vec::new());
        for line in [
            "linkmend_shares{link=\"uplink\"} 1",
            "linkmend_duplicates{link=\"uplink\"} 0",
            "linkmend_path_shared_frames_total{link=\"uplink\",path=\"primary\"} 30",
            "linkmend_path_marks_sent_total{link=\"uplink\",path=\"backup\"} 7",
            "linkmend_path_first_copies_total{link=\"uplink\",path=\"backup\"} 6",
            "linkmend_path_behind{link=\"uplink\",path=\"primary\"} 1",
            "linkmend_path_held_frames_total{link=\"uplink\"} 4",
        ] {
            assert!(page.contains(&format!("{line}\n")), "{line}\n{page}");
        }
    }
}
