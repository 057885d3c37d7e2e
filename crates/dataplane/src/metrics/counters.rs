//! The names and meanings of the counters.

use linkmend_control::report::{CountersReport, PortReport};

/// A counter of a link.
pub(super) struct Counter {
    /// Its name without prefix and `_total`.
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) value: fn(&CountersReport) -> u64,
}

/// A counter of a port.
pub(super) struct PortCounter {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) value: fn(&PortReport) -> u64,
}

macro_rules! counters {
    ($kind:ident, $report:ident: $($field:ident = $help:literal,)*) => {
        &[$($kind { name: stringify!($field), help: $help, value: |$report| $report.$field }),*]
    };
}

/// All counters except `paused_ns`, which is exported in seconds.
pub(super) const COUNTERS: &[Counter] = counters! { Counter, report:
    protected_frames = "Frames sent with a data header, originals only",
    protected_bytes = "Bytes of the frames sent with a data header",
    unprotected_frames = "Frames sent unprotected by the daemon",
    oversize_unprotected_frames = "Frames too long for the link with a header, sent unprotected",
    oversize_dropped_frames = "Frames too long for the link even without a header",
    ambiguous_frames = "Frames of a host dropped because the other end could take them for Linkmend's",
    strange_frames = "Control frames ignored because they are not the peer's",
    forged_frames = "Frames dropped because they do not have the peer's seal, on a link with a key",
    retransmitted_copies = "Retransmitted copies sent",
    abandoned_frames = "Frames sent whose fate is unknown because their session ended",
    dummies_sent = "Dummy frames sent",
    acks_sent = "Explicit acknowledgements sent",
    piggybacked_acks_sent = "Acknowledgements piggybacked on data frames",
    notifications_sent = "Loss notifications sent",
    received_frames = "Protected frames received, copies included",
    delivered_frames = "Protected frames delivered to the inner port",
    delivered_bytes = "Bytes of the protected frames delivered to the inner port",
    lost_frames = "Frames found missing: the actual loss",
    recovered_frames = "Missing frames that arrived later",
    recovery_timeouts = "Missing frames given up after the recovery timeout",
    withdrawn_frames = "Missing frames given up because the peer no longer holds them",
    unrecovered_frames = "Missing frames not waited for because their session ended",
    exhausted_frames = "Frames given up because the copies of their last round were lost",
    duplicates_dropped = "Copies of frames that had arrived already",
    rx_buffer_overflows = "Frames dropped because the Rx buffer was full, and requested again",
    out_of_window_frames = "Frames whose sequence number lies outside the window",
    orphan_frames = "Originals without a session, delivered",
    orphan_copies_dropped = "Copies without a session, dropped",
    control_rejected = "Control frames rejected because they were stale, forged or did not fit the session",
    malformed_frames = "Frames with a malformed Linkmend header",
    pauses_sent = "Times the receiver here asked its peer to pause",
    pauses_received = "Times the sender here was paused",
    sessions_opened = "Sessions opened as sender",
    sessions_accepted = "Sessions accepted as receiver",
    peers_lost = "Sessions ended because the peer fell silent",
    fallback_changes = "Changes of the fallback level",
    queue_drops = "Frames dropped because the queue was full or did not empty",
    ecn_marked_frames = "Frames marked with ECN CE",
    inner_port_drops = "Frames lost because the inner port did not accept them",
    corrupted_frames = "Frames that injected corruption dropped",
    stalls = "Times the daemon was stalled and the kernel took over",
    pool_exhausted = "Control frames not sent because the frame pool had no free chunk",
};

pub(super) const PORT_COUNTERS: &[PortCounter] = counters! { PortCounter, report:
    rx_frames = "Frames received on the port",
    rx_bytes = "Bytes received on the port",
    tx_frames = "Frames sent on the port",
    tx_bytes = "Bytes sent on the port",
    drops = "Frames lost at the socket of the port",
    bypassed_frames = "Frames that the in-kernel bypass received at the port and forwarded",
    bypassed_bytes = "Bytes of the frames that the in-kernel bypass received at the port and forwarded",
    bypass_drops = "Copies, dummies, control frames and frames that look like them, dropped by the in-kernel bypass because no daemon was running",
    kernel_rx_drops = "Frames that arrived at the interface and were dropped because the kernel had no room for them",
    kernel_rx_crc_errors = "Frames that arrived at the interface with a wrong frame check sequence",
    kernel_tx_drops = "Frames that the driver of the interface refused to send",
    kernel_queue_drops = "Frames dropped because the queue of the interface was full",
    bypass_failed_redirects = "Frames that the in-kernel bypass received at the port and could not forward",
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter that is added to the report must be added here, too.
    #[test]
    fn every_counter_is_exported() {
        let value = serde_json::to_value(CountersReport::default()).expect("plain numbers");
        for field in value.as_object().expect("a struct").keys() {
            let known = COUNTERS.iter().any(|counter| counter.name == field) || field == "paused_ns";
            assert!(known, "{field} has no metric");
        }
    }
}
