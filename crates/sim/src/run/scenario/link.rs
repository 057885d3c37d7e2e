//! One of several links: how it is built, and its report.

use super::Watched;
use crate::link::LinkConfig;
use crate::link::scheme::AnyConfig;
use crate::network::{
    Balance, LinkId, NodeId, Observer, Plan, PortConfig, PortId, Side, Traffic, WIRE_OVERHEAD_BYTES,
};
use crate::stress::{Percentiles, Quartiles, percentiles, quartiles};
use crate::time::Time;
use linkmend_protocol::{Config, Mode};
use serde::Serialize;

/// What happened in one direction of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LinkReport {
    /// Original frames that the link corrupted.
    pub frames_lost: u64,
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
    /// Of the direction that leaves `sender`.
    pub(super) fn measure<O: Observer>(network: &Watched<O>, sender: PortId) -> LinkReport {
        let links = &network.observer.links;
        let receiver = sender.peer();
        let stats = |port: PortId| network.link_end(port).map(|end| end.stats()).unwrap_or_default();
        let (sent, received) = (stats(sender), stats(receiver));
        let (queue_drops, queue_marks, queue_bytes_max) = network.normal_queue(sender);
        LinkReport {
            frames_lost: links.losses(sender).0,
            retransmitted_copies: sent.retransmitted_copies,
            recovery_timeouts: received.recovery_timeouts,
            rx_buffer_overflows: received.rx_buffer_overflows,
            pauses: received.pauses_sent,
            paused_ns: sent.paused_ticks as f64 / 1e3,
            tx_buffer_bytes: quartiles(links.tx_levels(sender)),
            rx_buffer_bytes: quartiles(links.rx_levels(receiver)),
            retransmission_delay_ns: percentiles(links.retransmission_delay(sender)),
            queue_drops,
            queue_marks,
            queue_bytes_max,
        }
    }
}

/// The ports of the first link, in the direction of the data.
pub(super) const SENDER: PortId = PortId::new(LinkId(0), Side::A);
pub(super) const RECEIVER: PortId = SENDER.peer();

pub(super) fn switches(plan: &mut Plan) -> [NodeId; 2] {
    [plan.switch(Balance::Static), plan.switch(Balance::Static)]
}

/// Two switches and a link between them, with two recirculation ports of its own, and traffic over it.
pub(super) fn one_link(link: &LinkConfig, ports: [PortConfig; 2], traffic: Traffic) -> Plan {
    let mut plan = Plan::new();
    let switches = switches(&mut plan);
    ports.iter().for_each(|_| _ = plan.recirculation(link.recirculation_port()));
    let cable = plan.link(switches, ports);
    plan.traffic(PortId::new(cable, Side::A), switches[1], traffic);
    plan
}

/// Changes the link end's parameters, if the link is protected.
pub(super) fn set_protocol(port: &mut PortConfig, change: impl FnOnce(&mut Config)) {
    if let AnyConfig::LinkGuardian(scheme) = &mut port.scheme {
        change(&mut scheme.protocol);
    }
}

/// Time between frames that take `load` of the link before they get a header; `None` for as many as it takes.
pub(super) fn interval(link: &LinkConfig, load: f64) -> Option<Time> {
    let frame = frame_time(link);
    (load < 1.0).then(|| Time((frame.0 as f64 / load).ceil() as u64))
}

/// How long an unprotected frame lasts on the wire.
pub(super) fn frame_time(link: &LinkConfig) -> Time {
    link.rate.time_of(u64::from(link.frame_bytes) + WIRE_OVERHEAD_BYTES)
}

/// Frames of the link's length in the link's mode, at `interval` or as fast as they go.
pub(super) fn traffic(link: &LinkConfig, frames: u64, interval: Option<Time>) -> Traffic {
    let bytes = link.frame_bytes as u16;
    let mode = link.protection.map_or(Mode::Ordered, |protection| protection.mode);
    match interval {
        None => Traffic::LineRate { frames, bytes, mode },
        Some(interval) => Traffic::Paced { frames, bytes, modes: vec![mode], interval },
    }
}

/// How long so many of these frames take at the least.
pub(super) fn expected(link: &LinkConfig, frames: u64, interval: Option<Time>) -> Time {
    Time(frames.saturating_mul(interval.unwrap_or(frame_time(link)).0))
}
