//! Several protected links between two switches that share each switch's recirculation ports (section 5, "Handling
//! multiple corrupting links on the same switch").
//!
//! A frame passes the sender's port at least once, and once more for each loop that its acknowledgement takes. Links
//! that together send more than the ports carry fill their Tx buffers, which then hold the senders back; a copy that
//! queues for the port longer than `ackNoTimeout` comes too late.

use super::delivery::Watch;
use super::drive::Drive;
use super::link::{LinkReport, expected, interval, switches, traffic};
use super::{
    Completion, Delivery, ParameterError, Progress, Watched, check, check_link, check_load, network,
};
use crate::link::LinkConfig;
use crate::network::{LinkId, Plan, PortId, Side, WIRE_OVERHEAD_BYTES};
use serde::Serialize;

/// Most links of the two switches.
const LINKS_MAX: usize = 8;

/// Links between two switches, all alike.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedPortConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// Frames that each link sends.
    pub frames: u64,
    /// Each link; it is protected, and buffers by recirculation.
    pub link: LinkConfig,
    /// How many links: 1 to 8.
    pub links: usize,
    /// Recirculation ports of each switch, which the links take in turns: 1 to `links`.
    pub ports: usize,
    /// Share of each link that its traffic takes, above 0 to 1; 1 is as much as it takes.
    pub load: f64,
}

/// One of the links.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SharedLink {
    /// What became of its frames.
    pub delivery: Delivery,
    /// What the link did.
    pub link: LinkReport,
}

/// A recirculation port.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PortReport {
    /// Passes of frames through its loop.
    pub passes: u64,
    /// Passes for each frame that was delivered over the links of this port.
    pub passes_per_frame: f64,
    /// Share of the port's own rate, percent.
    pub busy_pct: f64,
    /// Share of the pipe's capacity in packets, percent.
    pub pipe_pct: f64,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SharedPortReport {
    /// The seed it was run with.
    pub seed: u64,
    pub links: Vec<SharedLink>,
    /// Sum of their speeds, Gbit/s.
    pub total_speed_gbps: f64,
    /// Ports of the sending switch.
    pub sender_ports: Vec<PortReport>,
    /// Ports of the receiving switch.
    pub receiver_ports: Vec<PortReport>,
    /// How it ended.
    pub ending: Completion,
}

impl SharedPortConfig {
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check_link(&self.link, self.frames)?;
        check((1..=LINKS_MAX).contains(&self.links), "links", self.links, "must be 1 to 8")?;
        let requirement = format!("must be 1 to the number of links, which is {}", self.links);
        check((1..=self.links).contains(&self.ports), "ports", self.ports, &requirement)?;
        let requirement = "must be recirculating, on a protected link: direct buffers share no port";
        check(self.link.recirculates(), "buffering", format!("{:?}", self.link.buffering), requirement)?;
        check_load("load", self.load, &self.link, self.frames)
    }

    /// Whether a recirculation port is too slow for the traffic of the links that share it.
    pub fn warnings(&self) -> Vec<String> {
        let sharing = self.links.div_ceil(self.ports.max(1));
        let together = sharing as f64 * self.link.rate.bits_per_second() as f64 * self.load;
        self.link.too_slow_a_port(sharing, together as u64).into_iter().collect()
    }
}

/// Checks, simulates, and reports.
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(
    config: &SharedPortConfig,
    progress: &mut Progress<'_>,
) -> Result<SharedPortReport, ParameterError> {
    config.validate()?;
    let (link, count) = (&config.link, config.ports);
    let interval = interval(link, config.load);
    let mut plan = Plan::new();
    let switches = switches(&mut plan);
    (0..2 * count).for_each(|_| _ = plan.recirculation(link.recirculation_port()));
    for index in 0..config.links {
        let cable = plan.link(switches, link.ports([index % count, count + index % count]));
        plan.traffic(PortId::new(cable, Side::A), switches[1], traffic(link, config.frames, interval));
    }
    let sources: Vec<PortId> = (0..config.links).map(sender_of).collect();
    let watch = Watch::new(sources.iter().map(|source| (*source, source.peer(), interval)));
    let mut network = network(config.seed, link, plan, watch)?;
    let drive = Drive {
        sources: &sources,
        frames: config.frames,
        expected: expected(link, config.frames, interval),
        link_of: &|_| link.clone(),
    };
    let ending = drive.run(&mut network, progress)?;
    Ok(measure(config, &network, ending))
}

/// The sending port of one of the links.
fn sender_of(link: usize) -> PortId {
    PortId::new(LinkId(link as u32), Side::A)
}

fn measure(config: &SharedPortConfig, network: &Watched<Watch>, ending: Completion) -> SharedPortReport {
    let links: Vec<SharedLink> = (0..config.links)
        .map(|index| SharedLink {
            delivery: network.observer.watch.delivery(index, None, network.produced(sender_of(index))),
            link: LinkReport::measure(network, sender_of(index)),
        })
        .collect();
    let (link, count) = (&config.link, config.ports);
    // As frames circle, with the compact header.
    let wire_bytes = u64::from(link.frame_bytes + link.header_bytes()) + WIRE_OVERHEAD_BYTES;
    let seconds = ending.simulated_ns / 1e9;
    let port = |port: usize| {
        let passes = network.passes(port);
        let of_port = links.iter().skip(port % count).step_by(count);
        let frames: u64 = of_port.map(|link| link.delivery.frames_delivered).sum();
        let busy = link.switch.recirculation_rate.time_of(wire_bytes).as_secs() * passes as f64;
        PortReport {
            passes,
            passes_per_frame: passes as f64 / frames.max(1) as f64,
            busy_pct: 100.0 * busy / seconds,
            pipe_pct: 100.0 * passes as f64 / (link.switch.pipe_packets_per_second as f64 * seconds),
        }
    };
    let (sender_ports, receiver_ports) =
        ((0..count).map(port).collect(), (count..2 * count).map(port).collect());
    SharedPortReport {
        seed: config.seed,
        total_speed_gbps: links.iter().map(|link| link.delivery.speed_gbps).sum(),
        links,
        sender_ports,
        receiver_ports,
        ending,
    }
}
