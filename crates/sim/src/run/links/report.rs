//! What these runs measure.

use super::build::Watched;
use super::config::{Layout, LinksConfig, PATTERN_FRAMES, Source};
use super::course::{LevelChange, Sample};
use super::streams::Delivery;
use crate::flows::Summary;
use crate::link::config::Hardware;
use crate::measure::{Percentiles, Quartiles};
use crate::network::{Hosts, LinkId, PortId, WIRE_OVERHEAD_BYTES};
use crate::time::Time;
use linkmend_protocol::Mode;
use linkmend_protocol::paths::Path;
use serde::Serialize;
use std::collections::BTreeSet;

/// What a run measured. Field names are those of `linkmend sim links --json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LinksReport {
    /// The seed it was run with.
    pub seed: u64,
    /// The frames of each source, or of each class of them.
    pub streams: Vec<StreamReport>,
    /// Each direction that has traffic of each link; none of two links between the same ends.
    pub links: Vec<LinkReport>,
    /// Those that protected frames pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recirculation: Vec<PortReport>,
    /// Changes of the level, and the link over time, if its loss rate changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LevelChange>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// What failures of two links cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_link: Option<PairReport>,
    /// How it ended.
    pub ending: Completion,
    /// How the switches of the links buffer.
    pub hardware: Vec<Hardware>,
    /// What of the switches is too slow for the traffic.
    pub warnings: Vec<String>,
}

/// What happened to the frames of a source, or of one class of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StreamReport {
    pub name: String,
    #[serde(flatten)]
    pub delivery: Delivery,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Completion {
    /// Whether every frame was produced, and delivered or given up. If not, the run stalled or was ended early.
    pub drained: bool,
    /// From the last frame produced until then, ns.
    pub drained_after_ns: f64,
    /// Simulated time of the traffic, ns.
    pub simulated_ns: f64,
    pub events: u64,
}

/// What happened in one direction of a link.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LinkReport {
    pub name: String,
    /// Original frames that came to its queue.
    pub frames_offered: u64,
    /// Congestion: those that found no room in it.
    pub queue_drops: u64,
    /// Those that left it.
    pub frames_sent: u64,
    /// Of these, the ones that the link corrupted.
    pub frames_lost: u64,
    /// `frames_lost / frames_sent`.
    pub actual_loss_rate: f64,
    /// Frames that it passed on.
    pub frames_delivered: u64,
    /// Corruption: frames that it sent and did not pass on.
    pub frames_undelivered: u64,
    /// `frames_undelivered / frames_sent`.
    pub effective_loss_rate: f64,
    pub retransmitted_copies: u64,
    pub dummies_sent: u64,
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
    /// Frames that the normal queues marked (ECN).
    pub queue_marks: u64,
    /// Most bytes in a normal queue.
    pub queue_bytes_max: u64,
    /// ACKs for it that rode on data of the other direction, and in frames of their own.
    pub piggybacked_acks: u64,
    pub explicit_acks: u64,
    /// Urgent feedbacks for it: losses, pauses and resumes.
    pub notifications: u64,
}

/// What failures of two links between the same ends cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PairReport {
    /// Frames of the traffic, copies included, that failed links lost, and that links corrupted.
    pub frames_cut: u64,
    pub frames_corrupted: u64,
    /// Frames that went out again because of a change of links; those of returns included.
    pub frames_resent: u64,
    /// All copies, those included.
    pub copies_sent: u64,
    /// Copies that the receiver had already, and dropped.
    pub duplicates_dropped: u64,
    /// Frames that came on a link that the sender had left.
    pub late_frames: u64,
    /// The most bytes that the sender kept while both links worked, and while one did not. SQR's switch takes a link to work until it
    /// knows better.
    pub steady_buffer_bytes: u64,
    pub failed_buffer_bytes: u64,
    /// The most bytes that the receiver kept.
    pub rx_buffer_bytes: u64,
    /// The most bytes that waited to be sent for the first time.
    pub queue_bytes: u64,
    /// How often the sender left a failed link, and how often it changed links for another reason.
    pub failovers: u64,
    pub returns: u64,
    /// How long the receiver delivered nothing because a link in use failed, us.
    pub recovery_us: Option<Summary>,
    pub cuts: Vec<CutRow>,
}

/// What one failure of a link cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CutRow {
    /// When the link failed, since the traffic began, us.
    pub at_us: f64,
    pub link: Path,
    /// Whether frames took it.
    pub in_use: bool,
    /// Frames of the traffic, copies included, that the failed link lost. This and the next two until it worked again, and only
    /// of link ends.
    pub frames_lost: u64,
    /// Frames that went out again on the other link.
    pub frames_resent: u64,
    /// Those, and other copies, that the receiver had already.
    pub duplicates_dropped: u64,
    /// From the last delivery before the failure to the first one after it, us; `None` if none came before the next failure.
    pub recovery_us: Option<f64>,
}

/// A recirculation port.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PortReport {
    /// The switch it belongs to, and its number there.
    pub name: String,
    /// Passes of frames through its loop.
    pub passes: u64,
    /// Passes for each frame that was delivered over the links of this port.
    pub passes_per_frame: f64,
    /// Share of the port's own rate, percent.
    pub busy_pct: f64,
    /// Share of the pipe's capacity in packets, percent.
    pub pipe_pct: f64,
}

impl LinksReport {
    /// The sum of all streams' speeds, Gbit/s.
    pub fn total_speed_gbps(&self) -> f64 {
        self.streams.iter().map(|stream| stream.delivery.speed_gbps).sum()
    }
}

impl LinksConfig {
    /// What a network has done that sent frames from these sources.
    pub(super) fn measure<H: Hosts>(
        &self,
        network: &Watched<H>,
        sources: &[Source],
        ending: Completion,
    ) -> LinksReport {
        // Frames between two ends are on one link or the other.
        let links = if matches!(self.layout, Layout::Pair(_)) { 0 } else { self.links.len() };
        let recirculating = (0..links).filter(|link| self.links[*link].recirculates());
        let ports: BTreeSet<usize> = recirculating.flat_map(|link| self.loops(link)).collect();
        let streams =
            sources.iter().enumerate().flat_map(|(index, source)| self.streams(network, index, source));
        LinksReport {
            seed: self.seed,
            streams: streams.collect(),
            links: self.measured_links(network, links),
            recirculation: ports.into_iter().map(|port| self.port(network, port, &ending)).collect(),
            ending,
            hardware: self.links.iter().map(|link| link.hardware()).collect(),
            warnings: self.warnings(),
            ..LinksReport::default()
        }
    }

    fn timeout(&self) -> Time {
        let timeout = self.links[0].protection.map_or(0, |protection| protection.recovery_timeout_ns);
        Time::from_nanos(timeout)
    }

    /// The frames of a source, or of both classes of it.
    fn streams<H: Hosts>(&self, network: &Watched<H>, index: usize, source: &Source) -> Vec<StreamReport> {
        let produced = network.produced(source.port);
        let of = |name: &str, class, sent| {
            let delivery = network.observer.watch.delivery(index, class, sent, self.timeout());
            StreamReport { name: name.to_owned(), delivery }
        };
        if self.non_blocking_load == 0.0 {
            return vec![of(&source.name, None, produced)];
        }
        let modes = self.modes();
        let is_ordered = |id: &u64| modes[(id % PATTERN_FRAMES) as usize] == Mode::Ordered;
        let ordered = (0..produced).filter(is_ordered).count() as u64;
        let names =
            [("ordered", Mode::Ordered, ordered), ("non-blocking", Mode::NonBlocking, produced - ordered)];
        let prefix = if self.reverse_load > 0.0 { format!("{}, ", source.name) } else { String::new() };
        names.map(|(name, mode, sent)| of(&format!("{prefix}{name}"), Some(mode), sent)).into()
    }

    /// All directions that have traffic of the first `count` links.
    fn measured_links<H: Hosts>(&self, network: &Watched<H>, count: usize) -> Vec<LinkReport> {
        let arrived = |port: PortId| network.observer.links.deliveries(port).frames;
        // What a link before it passes on, unless the port has a generator.
        let offered = |port: PortId, before: usize, side: usize| match network.produced(port) {
            0 if before < count => arrived(PortId::both(LinkId(before as u32))[side]),
            produced => produced,
        };
        let mut reports = Vec::new();
        for index in 0..count {
            let [here, there] = PortId::both(LinkId(index as u32));
            let name = format!("link {}", index + 1);
            let before = index.wrapping_sub(1);
            reports.push(LinkReport::measure(network, here, offered(here, before, 1), name.clone()));
            if self.reverse_load > 0.0 {
                let name = format!("{name}, reverse");
                reports.push(LinkReport::measure(network, there, offered(there, index + 1, 0), name));
            }
        }
        reports
    }

    fn port<H: Hosts>(&self, network: &Watched<H>, port: usize, ending: &Completion) -> PortReport {
        let link = self.link_of_loop(port);
        let passes = network.passes(port);
        let sharing = (0..self.links.len()).filter(|link| self.loops(*link).contains(&port));
        let sinks = sharing.clone().map(|link| PortId::both(LinkId(link as u32))[1]);
        let frames: u64 = sinks.map(|sink| network.observer.links.deliveries(sink).frames).sum();
        let first = sharing.min().unwrap_or(0);
        let switch = if self.loops(first)[0] == port { "sender's" } else { "receiver's" };
        // As frames circle, with the compact header.
        let wire_bytes = u64::from(link.frame_bytes + link.header_bytes()) + WIRE_OVERHEAD_BYTES;
        let seconds = ending.simulated_ns / 1e9;
        let busy = link.switch.recirculation_rate.time_of(wire_bytes).as_secs() * passes as f64;
        PortReport {
            name: format!("{switch} {}", first + 1),
            passes,
            passes_per_frame: passes as f64 / frames.max(1) as f64,
            busy_pct: 100.0 * busy / seconds,
            pipe_pct: 100.0 * passes as f64 / (link.switch.pipe_packets_per_second as f64 * seconds),
        }
    }
}

impl LinkReport {
    /// Of the direction that leaves `sender`, to whose queue so many frames came.
    fn measure<H: Hosts>(network: &Watched<H>, sender: PortId, offered: u64, name: String) -> LinkReport {
        let links = &network.observer.links;
        let receiver = sender.peer();
        let stats = |port: PortId| network.link_end(port).map(|end| end.stats()).unwrap_or_default();
        let (sent, received) = (stats(sender), stats(receiver));
        let (queue_drops, queue_marks, queue_bytes_max) = network.normal_queue(sender);
        let frames_sent = offered.saturating_sub(queue_drops);
        let frames_delivered = links.deliveries(receiver).frames;
        let share = |frames: u64| if frames_sent == 0 { 0.0 } else { frames as f64 / frames_sent as f64 };
        let frames_lost = links.losses(sender).0;
        let frames_undelivered = frames_sent.saturating_sub(frames_delivered);
        LinkReport {
            name,
            frames_offered: offered,
            queue_drops,
            frames_sent,
            frames_lost,
            actual_loss_rate: share(frames_lost),
            frames_delivered,
            frames_undelivered,
            effective_loss_rate: share(frames_undelivered),
            retransmitted_copies: sent.retransmitted_copies,
            dummies_sent: sent.dummies_sent,
            recovery_timeouts: received.recovery_timeouts,
            rx_buffer_overflows: received.rx_buffer_overflows,
            pauses: received.pauses_sent,
            paused_ns: sent.paused_ticks as f64 / 1e3,
            tx_buffer_bytes: Quartiles::of(links.tx_levels(sender)),
            rx_buffer_bytes: Quartiles::of(links.rx_levels(receiver)),
            retransmission_delay_ns: Percentiles::of(links.retransmission_delay(sender)),
            queue_marks,
            queue_bytes_max,
            piggybacked_acks: received.piggybacked_acks_sent,
            explicit_acks: received.acks_sent,
            notifications: received.notifications_sent,
        }
    }
}
