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
    abandoned_frames = "Frames of unknown fate because their session ended",
    dummies_sent = "Dummy frames sent",
    acks_sent = "Explicit acknowledgements sent",
    piggybacked_acks_sent = "Acknowledgements that travelled on data",
    notifications_sent = "Loss notifications sent",
    received_frames = "Protected frames received, copies included",
    delivered_frames = "Frames delivered out of protected ones",
    delivered_bytes = "Bytes of the frames delivered out of protected ones",
    lost_frames = "Frames found missing: the actual loss",
    recovered_frames = "Missing frames that came after all",
    recovery_timeouts = "Missing frames given up by the clock",
    withdrawn_frames = "Missing frames given up because the peer no longer holds them",
    unrecovered_frames = "Missing frames not waited for because their session ended",
    exhausted_frames = "Frames let go because the copies of their last round were lost",
    duplicates_dropped = "Copies of frames that had arrived already",
    rx_buffer_overflows = "Frames dropped because the Rx buffer was full, and requested again",
    out_of_window_frames = "Frames whose sequence number lies outside the window",
    orphan_frames = "Originals without a session, delivered",
    orphan_copies_dropped = "Copies without a session, dropped",
    control_rejected = "Control frames that did not fit, stale or forged",
    malformed_frames = "Frames with a Linkmend header that makes no sense",
    pauses_sent = "Times the receiver here asked its peer to pause",
    pauses_received = "Times the sender here was paused",
    sessions_opened = "Sessions opened as sender",
    sessions_accepted = "Sessions accepted as receiver",
    peers_lost = "Sessions ended because the peer fell silent",
    fallback_changes = "Changes of the fallback level",
    queue_drops = "Frames dropped because the queue was full",
    ecn_marked_frames = "Frames marked with ECN CE",
    inner_port_drops = "Frames lost because the inner port did not take them",
    corrupted_frames = "Frames that injected corruption dropped",
    stalls = "Times the daemon was found stalled, and the kernel had taken over",
    pool_exhausted = "Control frames not sent for want of a chunk in the frame pool",
};

pub(super) const PORT_COUNTERS: &[PortCounter] = counters! { PortCounter, report:
    rx_frames = "Frames received on the port",
    rx_bytes = "Bytes received on the port",
    tx_frames = "Frames sent on the port",
    tx_bytes = "Bytes sent on the port",
    drops = "Frames lost at the socket of the port",
    bypassed_frames = "Frames that the in-kernel bypass took in at the port and forwarded",
    bypassed_bytes = "Bytes of the frames that the in-kernel bypass took in at the port and forwarded",
    bypass_drops = "Copies, dummies, control frames and what looks like them, dropped by the in-kernel bypass for want of a daemon",
    kernel_rx_drops = "Frames that arrived at the interface and that the kernel had no room for",
    kernel_rx_crc_errors = "Frames that arrived at the interface with a wrong frame check sequence",
    kernel_tx_drops = "Frames that the driver of the interface did not take",
    kernel_queue_drops = "Frames that found the queue of the interface full",
    bypass_failed_redirects = "Frames that the in-kernel bypass took in at the port and could not send on",
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
