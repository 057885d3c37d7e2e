//! Data and corruption in both directions (section 5, "Handling bidirectional corruption").
//!
//! ACKs, loss notifications, pauses and resumes can be lost, and there need not be an idle slot to send an ACK in: it
//! rides on data in the transparent format, and becomes urgent after a while in the compact one. Nothing may stall.

use super::delivery::Watch;
use super::drive::Drive;
use super::link::{LinkReport, ends, expected, interval, traffic};
use super::{Delivery, Ending, Progress, ScenarioError, check, check_load};
use crate::network::{EndConfig, Network};
use crate::stress::{REPEAT, StressConfig};
use linkmend_protocol::Format;
use serde::Serialize;

/// A link with traffic in both directions.
#[derive(Debug, Clone, PartialEq)]
pub struct BothDirectionsConfig {
    /// The link, which is protected in both directions; `corruption` acts on one, `reverse_corruption` on the other.
    pub link: StressConfig,
    /// Headers of both directions. Only [`Format::Transparent`] lets ACKs ride on data.
    pub format: Format,
    /// Share of the link that the traffic takes, above 0 to 1; 1 is as much as it takes.
    pub load: f64,
    /// The same in the other direction.
    pub reverse_load: f64,
}

/// One direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DirectionReport {
    /// What became of its frames.
    pub delivery: Delivery,
    /// What the link did.
    pub link: LinkReport,
    /// ACKs for it that rode on data of the other direction.
    pub piggybacked_acks: u64,
    /// ACKs for it in frames of their own.
    pub explicit_acks: u64,
    /// Urgent feedbacks for it: losses, pauses and resumes.
    pub notifications: u64,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BothDirectionsReport {
    /// The seed it was run with.
    pub seed: u64,
    /// The direction of `corruption`.
    pub forward: DirectionReport,
    /// The direction of `reverse_corruption`.
    pub reverse: DirectionReport,
    /// How it ended; not drained means that something stalled.
    pub ending: Ending,
}

impl BothDirectionsConfig {
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        self.link.validate()?;
        self.reversed().validate()?;
        check(self.link.protection.is_some(), "protection", "off", "both directions are protected")?;
        let sessions = self.format != Format::Linkguardian;
        check(sessions, "format", self.format, "simulated ends have sessions; compact has the same headers")?;
        check_load("load", self.load, &self.link, self.link.frames)?;
        check_load("reverse-load", self.reverse_load, &self.link, self.link.frames)
    }

    /// The link as the other direction sees it.
    fn reversed(&self) -> StressConfig {
        StressConfig {
            corruption: self.link.reverse_corruption.clone(),
            reverse_corruption: self.link.corruption.clone(),
            ..self.link.clone()
        }
    }

    /// The end that sends over `link`.
    fn end(&self, link: &StressConfig, load: f64, port: usize) -> EndConfig {
        let [mut sender, _] = ends(link, [port, port]);
        sender.traffic = traffic(link, interval(link, load));
        if let Some(protocol) = &mut sender.protocol {
            protocol.format = self.format;
            // The ports need never be idle, whatever is corrupted.
            protocol.ack_interval = REPEAT;
            // A resume may be lost each time it is said: a sender that stands still asks again now and then.
            protocol.keepalive = REPEAT * 10;
        }
        sender
    }
}

/// Checks, simulates, and reports.
///
/// # Errors
/// [`ScenarioError`] names the parameter that cannot be used.
pub fn run(
    config: &BothDirectionsConfig,
    progress: &mut Progress<'_>,
) -> Result<BothDirectionsReport, ScenarioError> {
    config.validate()?;
    let link = &config.link;
    let all = vec![config.end(link, config.load, 0), config.end(&config.reversed(), config.reverse_load, 1)];
    let intervals = [config.load, config.reverse_load].map(|load| interval(link, load));
    let watch = Watch::new([(0, 1, intervals[0]), (1, 0, intervals[1])]);
    let mut network = Network::new(link.seed, all, &[link.recirculation_port(); 2], watch)?;
    let longest = expected(link, intervals[0]).max(expected(link, intervals[1]));
    let link_of = |end| if end == 0 { link.clone() } else { config.reversed() };
    let drive = Drive { sources: &[0, 1], frames: link.frames, expected: longest, link_of: &link_of };
    let ending = drive.run(&mut network, progress)?;
    Ok(BothDirectionsReport {
        seed: link.seed,
        forward: measure(&network, 0),
        reverse: measure(&network, 1),
        ending,
    })
}

fn measure(network: &Network<Watch>, sender: usize) -> DirectionReport {
    let receiver = network.link_end(sender ^ 1).map(|end| end.stats()).unwrap_or_default();
    DirectionReport {
        delivery: network.observer.delivery(sender, None, network.produced(sender)),
        link: LinkReport::of(network, sender),
        piggybacked_acks: receiver.piggybacked_acks_sent,
        explicit_acks: receiver.acks_sent,
        notifications: receiver.notifications_sent,
    }
}
