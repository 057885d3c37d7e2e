//! Several corrupting links in a row (section 5, "Multiple corrupting links on a path").
//!
//! Each link is protected on its own, or not at all. The loss rates of protected links are negligible, delays add up
//! along the path, and at a link with less capacity than the one before it, the normal queue grows, marks, and drops.

use super::delivery::Watch;
use super::drive::Drive;
use super::link::{LinkReport, expected, interval, traffic};
use super::{Completion, Delivery, Progress, ScenarioError, Watched, check, check_load, network};
use crate::corruption::Corruption;
use crate::network::{Balance, LinkId, Plan, PortId, QueueLimits, Side};
use crate::stress::{Buffering, StressConfig, Switch};
use crate::time::Rate;
use linkmend_quantity::ByteSize;
use serde::Serialize;

/// Most links in a row.
const HOPS_MAX: usize = 16;

/// One link of the path.
#[derive(Debug, Clone, PartialEq)]
pub struct Hop {
    pub rate: Rate,
    /// What it corrupts, in the direction of the data.
    pub corruption: Corruption,
    /// Whether it is protected, as [`PathConfig::link`] says.
    pub protected: bool,
    /// Where its switches buffer frames.
    pub buffering: Buffering,
    /// Rate of their recirculation ports.
    pub recirculation_rate: Rate,
}

/// Links in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct PathConfig {
    /// What all links have in common: everything but what a [`Hop`] says.
    pub link: StressConfig,
    /// The links, 1 to 16, in the direction of the data.
    pub hops: Vec<Hop>,
    /// Share of the first link that the traffic takes, above 0 to 1; 1 is as much as it takes.
    pub load: f64,
    /// Bounds of each normal queue.
    pub queue: QueueLimits,
}

/// One link of the path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HopReport {
    /// Original frames that came to its queue.
    pub frames_offered: u64,
    /// Congestion: those that found no room in it.
    pub frames_lost_to_congestion: u64,
    /// Those that left it.
    pub frames_sent: u64,
    /// `frames_lost / frames_sent`: how many the link corrupted.
    pub actual_loss_rate: f64,
    /// Frames that it passed on.
    pub frames_delivered: u64,
    /// Corruption: frames that it sent and did not pass on.
    pub frames_lost_to_corruption: u64,
    /// `frames_lost_to_corruption / frames_sent`.
    pub effective_loss_rate: f64,
    /// What the link did.
    pub link: LinkReport,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathReport {
    /// The seed it was run with.
    pub seed: u64,
    /// From the first queue to behind the last link.
    pub end_to_end: Delivery,
    /// Frames that never came out because a link corrupted them.
    pub frames_lost_to_corruption: u64,
    /// Frames that never came out because a queue had no room for them.
    pub frames_lost_to_congestion: u64,
    /// The links, in the direction of the data.
    pub hops: Vec<HopReport>,
    /// How it ended.
    pub ending: Completion,
}

impl PathConfig {
    /// A path of `hops` links like `link`, as loaded as it can be.
    pub fn uniform(link: StressConfig, hops: usize) -> PathConfig {
        let protected = link.protection.is_some();
        let hop = Hop {
            rate: link.rate,
            corruption: link.corruption.clone(),
            protected,
            buffering: link.buffering,
            recirculation_rate: link.switch.recirculation_rate,
        };
        PathConfig { link, hops: vec![hop; hops], load: 1.0, queue: QueueLimits::default() }
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        check((1..=HOPS_MAX).contains(&self.hops.len()), "hops", self.hops.len(), "must be 1 to 16")?;
        check_load("load", self.load, &self.link_of(0), self.link.frames)?;
        let least = u64::from(self.link.frame_bytes);
        check(self.queue.bytes >= least, "queue", ByteSize(self.queue.bytes), "must have room for a frame")?;
        (0..self.hops.len()).try_for_each(|hop| self.link_of(hop).validate())
    }

    fn link_of(&self, index: usize) -> StressConfig {
        let hop = &self.hops[index];
        StressConfig {
            rate: hop.rate,
            corruption: hop.corruption.clone(),
            protection: self.link.protection.filter(|_| hop.protected),
            buffering: hop.buffering,
            switch: Switch { recirculation_rate: hop.recirculation_rate, ..self.link.switch },
            ..self.link.clone()
        }
    }

    /// The links as they are, in the direction of the data.
    pub fn links(&self) -> impl Iterator<Item = StressConfig> {
        (0..self.hops.len()).map(|hop| self.link_of(hop))
    }

    /// What of their switches is too slow for the traffic.
    pub fn warnings(&self) -> Vec<String> {
        let offered =
            self.hops.first().map_or(0.0, |hop| hop.rate.bits_per_second() as f64 * self.load) as u64;
        let mut said: Vec<(String, Vec<String>)> = Vec::new();
        for (hop, link) in self.links().enumerate() {
            let Some(warning) = link.too_slow_a_port(1, offered.min(link.rate.bits_per_second())) else {
                continue;
            };
            let number = (hop + 1).to_string();
            match said.iter_mut().find(|(other, _)| *other == warning) {
                Some((_, hops)) => hops.push(number),
                None => said.push((warning, vec![number])),
            }
        }
        said.into_iter().map(|(warning, hops)| format!("hop {}: {warning}", hops.join(", "))).collect()
    }
}

/// Checks, simulates, and reports.
///
/// # Errors
/// [`ScenarioError`] names the parameter that cannot be used.
pub fn run(config: &PathConfig, progress: &mut Progress<'_>) -> Result<PathReport, ScenarioError> {
    config.validate()?;
    let last = config.hops.len() - 1;
    let first_link = config.link_of(0);
    let interval = interval(&first_link, config.load);
    let mut plan = Plan::new();
    let mut from = plan.switch(Balance::Static);
    for hop in 0..=last {
        let link = config.link_of(hop);
        // A recirculation port of its own for each end: only links of one switch share, which is another scenario.
        let loops = [(), ()].map(|()| plan.recirculation(link.recirculation_port()));
        let [mut sender, receiver] = link.ports(loops);
        sender.queue = config.queue;
        let to = plan.switch(Balance::Static);
        plan.link([from, to], [sender, receiver]);
        from = to;
    }
    let [source, sink] = [sender_of(0), sender_of(last).peer()];
    plan.traffic(source, from, traffic(&first_link, interval));
    let watch = Watch::new([(source, sink, interval)]);
    let mut network = network(&config.link, plan, watch)?;
    let drive = Drive {
        sources: &[source],
        frames: config.link.frames,
        expected: expected(&first_link, interval),
        link_of: &|port| config.link_of(port.link().0 as usize),
    };
    let ending = drive.run(&mut network, progress)?;
    let hops: Vec<HopReport> = (0..=last).map(|hop| measure(&network, hop)).collect();
    let end_to_end = network.observer.watch.delivery(0, None, network.produced(source));
    Ok(PathReport {
        seed: config.link.seed,
        end_to_end,
        frames_lost_to_corruption: hops.iter().map(|hop| hop.frames_lost_to_corruption).sum(),
        frames_lost_to_congestion: hops.iter().map(|hop| hop.frames_lost_to_congestion).sum(),
        hops,
        ending,
    })
}

/// The sending port of a link of the path.
fn sender_of(hop: usize) -> PortId {
    PortId::new(LinkId(hop as u32), Side::A)
}

fn measure(network: &Watched<Watch>, hop: usize) -> HopReport {
    let sender = sender_of(hop);
    let link = LinkReport::of(network, sender);
    let arrived = |port| network.observer.links.deliveries(port).frames;
    let offered = match hop {
        0 => network.produced(sender),
        _ => arrived(sender_of(hop - 1).peer()),
    };
    let frames_sent = offered.saturating_sub(link.queue_drops);
    let frames_delivered = arrived(sender.peer());
    let share = |frames: u64| if frames_sent == 0 { 0.0 } else { frames as f64 / frames_sent as f64 };
    let frames_lost_to_corruption = frames_sent.saturating_sub(frames_delivered);
    HopReport {
        frames_offered: offered,
        frames_lost_to_congestion: link.queue_drops,
        frames_lost_to_corruption,
        frames_sent,
        actual_loss_rate: share(link.frames_lost),
        frames_delivered,
        effective_loss_rate: share(frames_lost_to_corruption),
        link,
    }
}
