//! One of several links: how it is built, and what it reports.

use crate::network::{EndConfig, Network, Observer, Traffic, WIRE_OVERHEAD_BYTES};
use crate::stress::{Percentiles, Quartiles, StressConfig, percentiles, quartiles};
use crate::time::Time;
use linkmend_protocol::{Copies, Mode};
use serde::Serialize;

/// What one direction of one link did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LinkReport {
    /// Original frames that the link corrupted.
    pub frames_lost: u64,
    /// Copies sent.
    pub retransmitted_copies: u64,
    /// Frames the receiver gave up (`ackNoTimeout`).
    pub recovery_timeouts: u64,
    /// Frames dropped because the Rx buffer was full; each counts as missing, and is retransmitted.
    pub rx_buffer_overflows: u64,
    /// Times the receiver paused the sender.
    pub pauses: u64,
    /// Time the sender spent paused, ns.
    pub paused_ns: f64,
    /// Tx buffer, bytes.
    pub tx_buffer_bytes: Quartiles,
    /// Rx buffer, bytes.
    pub rx_buffer_bytes: Quartiles,
    /// From the receiver's noticing a loss to the arrival of its first copy, ns.
    pub retransmission_delay_ns: Percentiles,
    /// Frames that found no room in the sender's normal queues.
    pub queue_drops: u64,
    /// Frames that the normal queues marked (ECN).
    pub queue_marks: u64,
    /// Most bytes in a normal queue.
    pub queue_bytes_max: u64,
}

impl LinkReport {
    /// Of the direction that leaves link end `sender`.
    pub(super) fn of<O: Observer>(network: &Network<O>, sender: usize) -> LinkReport {
        let receiver = sender ^ 1;
        let stats = |end: usize| network.link_end(end).map(|end| end.stats()).unwrap_or_default();
        let (sent, received) = (stats(sender), stats(receiver));
        let (queue_drops, queue_marks, queue_bytes_max) = network.normal_queue(sender);
        LinkReport {
            frames_lost: network.losses(sender).0,
            retransmitted_copies: sent.retransmitted_copies,
            recovery_timeouts: received.recovery_timeouts,
            rx_buffer_overflows: received.rx_buffer_overflows,
            pauses: received.pauses_sent,
            paused_ns: sent.paused_ticks as f64 / 1e3,
            tx_buffer_bytes: quartiles(network.tx_levels(sender)),
            rx_buffer_bytes: quartiles(network.rx_levels(receiver)),
            retransmission_delay_ns: percentiles(network.retransmission_delay(sender)),
            queue_drops,
            queue_marks,
            queue_bytes_max,
        }
    }
}

/// The sending and the receiving end of a link without traffic, buffering in the recirculation ports `ports`.
pub(super) fn ends(link: &StressConfig, ports: [usize; 2]) -> [EndConfig; 2] {
    let sender = EndConfig { protect: link.copies().map(Copies::Fixed), ..link.end(ports[0]) };
    let receiver = EndConfig { corruption: link.reverse_corruption.clone(), ..link.end(ports[1]) };
    [sender, receiver]
}

/// Time between frames that take `load` of the link before they get a header; `None` for as many as it takes.
pub(super) fn interval(link: &StressConfig, load: f64) -> Option<Time> {
    let frame = frame_time(link);
    (load < 1.0).then(|| Time((frame.0 as f64 / load).ceil() as u64))
}

/// How long an unprotected frame lasts on the wire.
pub(super) fn frame_time(link: &StressConfig) -> Time {
    link.rate.time_of(u64::from(link.frame_bytes) + WIRE_OVERHEAD_BYTES)
}

/// The link's frames in the link's mode, at `interval` or as fast as they go.
pub(super) fn traffic(link: &StressConfig, interval: Option<Time>) -> Traffic {
    let (frames, bytes) = (link.frames, link.frame_bytes);
    let mode = link.protection.map_or(Mode::Ordered, |protection| protection.mode);
    match interval {
        None => Traffic::LineRate { frames, bytes, mode },
        Some(interval) => Traffic::Paced { frames, bytes, modes: vec![mode], interval },
    }
}

/// How long the link's frames take at the least.
pub(super) fn expected(link: &StressConfig, interval: Option<Time>) -> Time {
    Time(link.frames.saturating_mul(interval.unwrap_or(frame_time(link)).0))
}
