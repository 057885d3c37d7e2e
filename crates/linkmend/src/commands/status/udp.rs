//! The lines of a port over UDP.

use linkmend_control::report::UdpReport;
use linkmend_report::quantity::{count, duration};

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
    vec![path.into_iter().flatten().collect::<Vec<_>>().join(", "), text]
}

#[cfg(test)]
mod tests {
    use super::*;

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
