//! The metrics of ports over UDP.

use super::labels::{Label, count, port_labels};
use linkmend_control::LinkReport;
use linkmend_control::report::UdpReport;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use std::fmt;

const NS_PER_S: f64 = 1e9;

type Counter = (&'static str, &'static str, fn(&UdpReport) -> u64);

const COUNTERS: &[Counter] = &[
    ("udp_sent_datagrams", "Datagrams sent on the path", |udp| udp.sent_datagrams),
    ("udp_received_datagrams", "Datagrams with frames received from the peer", |udp| udp.received_datagrams),
    ("udp_lost_datagrams", "Datagrams that did not arrive within the wait", |udp| udp.lost_datagrams),
    ("udp_reordered_datagrams", "Datagrams that arrived after later ones, and in time", |udp| {
        udp.reordered_datagrams
    }),
    ("udp_late_datagrams", "Datagrams that arrived after they were given up", |udp| udp.late_datagrams),
    ("udp_duplicate_datagrams", "Datagrams that had arrived before", |udp| udp.duplicate_datagrams),
    ("udp_marked_datagrams", "Datagrams that a queue of the path has marked for congestion (ECN)", |udp| {
        udp.marked_datagrams
    }),
    ("udp_malformed_datagrams", "Datagrams that do not follow the format", |udp| udp.malformed_datagrams),
    ("udp_strange_datagrams", "Datagrams that are not the peer's", |udp| udp.strange_datagrams),
    ("udp_refused_datagrams", "Datagrams from public addresses, refused without --insecure", |udp| {
        udp.refused_datagrams
    }),
    (
        "udp_forged_datagrams",
        "Datagrams dropped because they were not authentic or not new, on a link with a key",
        |udp| udp.forged_datagrams,
    ),
    ("udp_split_frames", "Frames that took several datagrams", |udp| udp.split_frames),
    ("udp_incomplete_frames", "Frames lost because one of their datagrams was", |udp| udp.incomplete_frames),
    ("udp_address_changes", "Changes of the peer's address", |udp| udp.address_changes),
    ("udp_peers_met", "Peers met, counting each restart of the peer", |udp| udp.peers_met),
];

type Gauge = (&'static str, &'static str, fn(&UdpReport) -> Option<f64>);

const GAUGES: &[Gauge] = &[
    ("udp_peer_heard", "Whether the peer was heard on the path in the last 10 s", |udp| {
        Some(f64::from(u8::from(!udp.is_silent)))
    }),
    ("udp_datagram_bytes", "Longest datagram that the path takes", |udp| Some(udp.datagram_bytes as f64)),
    ("udp_round_trip_seconds", "Round trip of a probe on the path, lately", |udp| {
        udp.round_trip_ns.map(|ns| ns as f64 / NS_PER_S)
    }),
    ("udp_window_bytes", "Bytes of datagrams that the congestion control allows in flight", |udp| {
        udp.congestion.map(|state| state.window_bytes as f64)
    }),
    ("udp_pace_bytes_per_second", "Rate at which the congestion control lets datagrams leave", |udp| {
        udp.congestion.map(|state| state.pace_bps as f64 / 8.0)
    }),
    ("udp_delivered_bytes_per_second", "Largest rate at which datagrams arrived lately", |udp| {
        udp.congestion.map(|state| state.delivered_bps as f64 / 8.0)
    }),
    ("udp_path_queue_seconds", "How long the latest datagram waited in queues of the path", |udp| {
        udp.congestion.map(|state| state.queue_ns as f64 / NS_PER_S)
    }),
    (
        "udp_path_loss_ratio",
        "Share of datagrams that the path is believed to lose without congestion",
        |udp| udp.congestion.map(|state| state.path_loss_ppm as f64 / 1e6),
    ),
    ("udp_path_shared", "Whether others are believed to fill the queue of the path", |udp| {
        udp.congestion.map(|state| f64::from(u8::from(state.has_others)))
    }),
    ("udp_path_markable", "Whether queues of the path may mark datagrams instead of dropping them", |udp| {
        udp.congestion.map(|state| f64::from(u8::from(state.is_markable)))
    }),
    ("udp_reordering_wait_seconds", "How long a missing datagram is waited for", |udp| {
        Some(udp.reordering_wait_ns as f64 / NS_PER_S)
    }),
];

/// Writes the metrics of the ports over UDP, if there are any.
pub(super) fn encode(reports: &[LinkReport], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let ports: Vec<([Label; 3], &UdpReport)> = reports
        .iter()
        .flat_map(|report| report.ports().map(move |(side, port)| (report, side, port)))
        .filter_map(|(report, side, port)| Some((port_labels(report, side, port), port.udp.as_ref()?)))
        .collect();
    if ports.is_empty() {
        return Ok(());
    }
    for (name, help, value) in COUNTERS {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, udp) in &ports {
            count(&mut family, labels, value(udp))?;
        }
    }
    for (name, help, value) in GAUGES {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, udp) in &ports {
            if let Some(value) = value(udp) {
                family.encode_family(labels)?.encode_gauge(&value)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_over_udp_has_what_others_have_not() {
        let mut report = LinkReport { name: "uplink".to_owned(), ..LinkReport::default() };
        let page = |report: &LinkReport| super::super::encode::encode(vec![report.clone()], Vec::new());
        assert!(!page(&report).contains("udp_"));
        let udp = UdpReport { lost_datagrams: 7, round_trip_ns: Some(100_000_000), ..UdpReport::default() };
        report.link.interface = "udp:listen".to_owned();
        report.link.udp = Some(udp);
        let labels = "{link=\"uplink\",port=\"link\",interface=\"udp:listen\"}";
        for line in [
            format!("linkmend_udp_lost_datagrams_total{labels} 7\n"),
            format!("linkmend_udp_round_trip_seconds{labels} 0.1\n"),
        ] {
            assert!(page(&report).contains(&line), "{line}\n{}", page(&report));
        }
    }
}
