//! Several corrupting links in a row (section 5, "Multiple corrupting links on a path").
//!
//! Each link is protected on its own, or not at all. Losses multiply away at every link, delays add up along the path,
//! and a link that passes less than the one before it lets its normal queue grow, mark, and drop.

use super::delivery::Watch;
use super::drive::Drive;
use super::link::{LinkReport, ends, expected, interval, traffic};
use super::{Delivery, Ending, Progress, ScenarioError, check, check_load};
use crate::corruption::Corruption;
use crate::network::{Destination, EndConfig, Network, QueueLimits};
use crate::stress::StressConfig;
use crate::time::Rate;
use serde::Serialize;

/// Most links in a row.
const HOPS_MAX: usize = 16;

/// One link of the path.
#[derive(Debug, Clone, PartialEq)]
pub struct Hop {
    /// Its rate.
    pub rate: Rate,
    /// What it corrupts, in the direction of the data.
    pub corruption: Corruption,
    /// Whether it is protected, as [`PathConfig::link`] says.
    pub protected: bool,
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
    /// Original frames that left its queue.
    pub frames_sent: u64,
    /// `frames_lost / frames_sent`.
    pub actual_loss_rate: f64,
    /// Frames that it passed on.
    pub frames_delivered: u64,
    /// `1 - frames_delivered / frames_sent`.
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
    /// The links, in the direction of the data.
    pub hops: Vec<HopReport>,
    /// How it ended.
    pub ending: Ending,
}

impl PathConfig {
    /// A path of `hops` links like `link`, as loaded as it can be.
    pub fn uniform(link: StressConfig, hops: usize) -> PathConfig {
        let protected = link.protection.is_some();
        let hop = Hop { rate: link.rate, corruption: link.corruption.clone(), protected };
        PathConfig { link, hops: vec![hop; hops], load: 1.0, queue: QueueLimits::default() }
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        check((1..=HOPS_MAX).contains(&self.hops.len()), "hops", self.hops.len(), "must be 1 to 16")?;
        check_load("load", self.load, &self.link_of(0), self.link.frames)?;
        let least = u64::from(self.link.frame_bytes);
        check(self.queue.bytes >= least, "queue", self.queue.bytes, "must have room for a frame")?;
        (0..self.hops.len()).try_for_each(|hop| self.link_of(hop).validate())
    }

    fn link_of(&self, index: usize) -> StressConfig {
        let hop = &self.hops[index];
        StressConfig {
            rate: hop.rate,
            corruption: hop.corruption.clone(),
            protection: self.link.protection.filter(|_| hop.protected),
            ..self.link.clone()
        }
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
    let mut all = Vec::with_capacity(2 * config.hops.len());
    for hop in 0..=last {
        let [mut sender, mut receiver] = ends(&config.link_of(hop), [2 * hop, 2 * hop + 1]);
        sender.queue = config.queue;
        if hop < last {
            receiver.destination = Destination::End(2 * (hop + 1));
        }
        all.extend([sender, receiver]);
    }
    all[0] = EndConfig { traffic: traffic(&first_link, interval), ..all[0].clone() };
    // A port of its own for each end: only links of one switch share, which is another scenario.
    let ports = vec![config.link.recirculation_port(); all.len()];
    let watch = Watch::new([(0, all.len() - 1, interval)]);
    let mut network = Network::new(config.link.seed, all, &ports, watch)?;
    let drive = Drive {
        sources: &[0],
        frames: config.link.frames,
        expected: expected(&first_link, interval),
        link_of: &|end| config.link_of(end / 2),
    };
    let ending = drive.run(&mut network, progress)?;
    let hops = (0..=last).map(|hop| measure(&network, hop)).collect();
    let end_to_end = network.observer.delivery(0, None, network.produced(0));
    Ok(PathReport { seed: config.link.seed, end_to_end, hops, ending })
}

fn measure(network: &Network<Watch>, hop: usize) -> HopReport {
    let link = LinkReport::of(network, 2 * hop);
    let offered = if hop == 0 { network.produced(0) } else { network.delivered(2 * hop - 1).frames };
    let frames_sent = offered.saturating_sub(link.queue_drops);
    let frames_delivered = network.delivered(2 * hop + 1).frames;
    let share = |frames: u64| if frames_sent == 0 { 0.0 } else { frames as f64 / frames_sent as f64 };
    HopReport {
        frames_sent,
        actual_loss_rate: share(link.frames_lost),
        frames_delivered,
        effective_loss_rate: share(frames_sent.saturating_sub(frames_delivered)),
        link,
    }
}
