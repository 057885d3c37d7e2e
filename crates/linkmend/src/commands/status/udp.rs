//! The lines of a port over UDP.

use linkmend_control::report::{CongestionReport, UdpReport};
use linkmend_report::quantity::{bytes, count, duration, percent, rate};

/// The peer and the path, and what does not arrive.
pub(super) fn lines(udp: &UdpReport) -> Vec<String> {
    let peer = match (&udp.peer, udp.is_silent) {
        (None, _) => "peer NOT FOUND: it has not answered yet".to_owned(),
        (Some(peer), true) => format!("peer {peer}, SILENT"),
        (Some(peer), false) => format!("peer {peer}"),
    };
    let round_trip = udp.round_trip_ns.map(|ns| format!("round trip {}", duration(ns as f64 / 1e9)));
    let datagrams = udp.peer.is_some().then(|| format!("datagrams of {} B", udp.datagram_bytes));
    let path = [Some(peer), round_trip, datagrams];
    let troubles = [
        (udp.lost_datagrams, "lost"),
        (udp.reordered_datagrams, "reordered"),
        (udp.late_datagrams, "late"),
        (udp.duplicate_datagrams, "twice"),
        (udp.marked_datagrams, "marked"),
        (udp.refused_datagrams, "refused (public address)"),
        (udp.malformed_datagrams + udp.strange_datagrams, "not the peer's"),
        (udp.forged_datagrams, "forged or replayed"),
    ];
    let [sent, received] =
        [udp.sent_datagrams, udp.received_datagrams].map(|datagrams| count(datagrams as f64));
    let mut text = format!("{received} datagrams in, {sent} out");
    for (number, what) in troubles.into_iter().filter(|(number, _)| *number > 0) {
        text.push_str(&format!("; {} {what}", count(number as f64)));
    }
    let path = path.into_iter().flatten().collect::<Vec<_>>().join(", ");
    [path, text].into_iter().chain(udp.congestion.as_ref().map(congestion)).collect()
}

/// What the congestion control believes.
fn congestion(state: &CongestionReport) -> String {
    let loss = state.path_loss_ppm as f64 / 1e6;
    format!(
        "sends up to {}, {} of {} in flight; queue of {}{}{}",
        rate(state.pace_bps as f64),
        bytes(state.in_flight_bytes as f64),
        bytes(state.window_bytes as f64),
        duration(state.queue_ns as f64 / 1e9),
        if loss > 0.0 { format!(", the path loses {}", percent(loss)) } else { String::new() },
        if state.has_others { ", others use it" } else { "" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_limits_the_rate_is_told() {
        let congestion = CongestionReport {
            window_bytes: 100_000,
            in_flight_bytes: 20_000,
            pace_bps: 10_000_000,
            queue_ns: 4_000_000,
            path_loss_ppm: 10_000,
            has_others: true,
            ..CongestionReport::default()
        };
        let udp = UdpReport { congestion: Some(congestion), ..UdpReport::default() };
        assert_eq!(
            lines(&udp)[2],
            "sends up to 10.0 Mbit/s, 20.0 kB of 100 kB in flight; queue of 4.00 ms, the path loses 1.00 %, others use it"
        );
    }

    #[test]
    fn a_path_is_told_with_its_peer_and_troubles() {
        assert_eq!(lines(&UdpReport::default())[0], "peer NOT FOUND: it has not answered yet");
        let udp = UdpReport {
            peer: Some("192.0.2.1:34997".to_owned()),
            datagram_bytes: 1472,
            round_trip_ns: Some(100_000_000),
            received_datagrams: 1000,
            lost_datagrams: 12,
            ..UdpReport::default()
        };
        assert_eq!(
            lines(&udp),
            [
                "peer 192.0.2.1:34997, round trip 100 ms, datagrams of 1472 B",
                "1,000 datagrams in, 0 out; 12 lost"
            ]
        );
    }
}
