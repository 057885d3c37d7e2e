//! Several corrupting links in a row (section 5, "Multiple corrupting links on a path").
//!
//! Each link is protected on its own, or not at all. The loss rates of protected links are negligible, delays add up
//! along the path, and at a link with less capacity than the one before it, the normal queue grows, marks, and drops.

use super::delivery::Watch;
use super::drive::Drive;
use super::link::{LinkReport, expected, interval, traffic};
use super::{
    Completion, Delivery, ParameterError, Progress, Watched, check, check_link, check_load, network,
};
use crate::link::LinkConfig;
use crate::network::{Balance, LinkId, Plan, PortId, Side};
use serde::Serialize;

/// Most links in a row.
const HOPS_MAX: usize = 16;

/// Links in a row.
#[derive(Debug, Clone, PartialEq)]
pub struct PathConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// Frames to send. They have the length that the first link is set up for.
    pub frames: u64,
    /// The links, 1 to 16, in the direction of the data.
    pub links: Vec<LinkConfig>,
    /// Share of the first link that the traffic takes, above 0 to 1; 1 is as much as it takes.
    pub load: f64,
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
    pub fn uniform(link: LinkConfig, hops: usize, frames: u64) -> PathConfig {
        PathConfig { seed: 1, frames, links: vec![link; hops], load: 1.0 }
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check((1..=HOPS_MAX).contains(&self.links.len()), "hops", self.links.len(), "must be 1 to 16")?;
        check_load("load", self.load, &self.links[0], self.frames)?;
        self.links.iter().try_for_each(|link| check_link(link, self.frames))
    }

    /// What of their switches is too slow for the traffic.
    pub fn warnings(&self) -> Vec<String> {
        let offered =
            self.links.first().map_or(0.0, |link| link.rate.bits_per_second() as f64 * self.load) as u64;
        let mut said: Vec<(String, Vec<String>)> = Vec::new();
        for (hop, link) in self.links.iter().enumerate() {
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
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(config: &PathConfig, progress: &mut Progress<'_>) -> Result<PathReport, ParameterError> {
    config.validate()?;
    let last = config.links.len() - 1;
    let first_link = &config.links[0];
    let interval = interval(first_link, config.load);
    let mut plan = Plan::new();
    let mut from = plan.switch(Balance::Static);
    for link in &config.links {
        let to = plan.switch(Balance::Static);
        // A recirculation port of its own for each end: only links of one switch share, which is another scenario.
        plan.connect([from, to], link);
        from = to;
    }
    let [source, sink] = [sender_of(0), sender_of(last).peer()];
    plan.traffic(source, from, traffic(first_link, config.frames, interval));
    let watch = Watch::new([(source, sink, interval)]);
    let mut network = network(config.seed, first_link, plan, watch)?;
    let drive = Drive {
        sources: &[source],
        frames: config.frames,
        expected: expected(first_link, config.frames, interval),
        link_of: &|port| config.links[port.link().0 as usize].clone(),
    };
    let ending = drive.run(&mut network, progress)?;
    let hops: Vec<HopReport> = (0..=last).map(|hop| measure(&network, hop)).collect();
    let end_to_end = network.observer.watch.delivery(0, None, network.produced(source));
    Ok(PathReport {
        seed: config.seed,
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
    let link = LinkReport::measure(network, sender);
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
