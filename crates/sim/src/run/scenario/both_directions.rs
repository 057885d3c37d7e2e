//! Data and corruption in both directions (section 5, "Handling bidirectional corruption").
//!
//! ACKs, loss notifications, pauses and resumes can be lost, and there need not be an idle slot to send an ACK in: it
//! rides on data in the transparent format, and becomes urgent after a while in the compact one. Nothing may stall.

use super::delivery::Watch;
use super::drive::Drive;
use super::link::{LinkReport, RECEIVER, SENDER, expected, interval, one_link, set_protocol, traffic};
use super::{
    Completion, Delivery, ParameterError, Progress, Watched, check, check_link, check_load, network,
};
use crate::link::LinkConfig;
use crate::link::config::REPEAT;
use crate::network::{PortConfig, PortId};
use linkmend_protocol::Format;
use serde::Serialize;

/// A link with traffic in both directions.
#[derive(Debug, Clone, PartialEq)]
pub struct BothDirectionsConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// Frames in each direction.
    pub frames: u64,
    /// The link, which is protected in both directions; `corruption` acts on one, `reverse_corruption` on the other.
    pub link: LinkConfig,
    /// Headers of both directions. Only [`Format::Transparent`] lets ACKs ride on data.
    pub format: Format,
    /// Share of the link that the traffic takes, above 0 to 1; 1 is as much as it takes.
    pub load: f64,
    /// The same in the other direction.
    pub reverse_load: f64,
}

/// One direction of the link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DirectionReport {
    /// What happened to its frames.
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

/// The measurements of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BothDirectionsReport {
    /// The seed it was run with.
    pub seed: u64,
    /// The direction of `corruption`.
    pub forward: DirectionReport,
    /// The direction of `reverse_corruption`.
    pub reverse: DirectionReport,
    /// How it ended; not drained means that something stalled.
    pub ending: Completion,
}

impl BothDirectionsConfig {
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check_link(&self.link, self.frames)?;
        self.reversed().validate()?;
        check(self.link.protection.is_some(), "protection", "off", "both directions are protected")?;
        let sessions = self.format != Format::Linkguardian;
        check(sessions, "format", self.format, "simulated ends have sessions; compact has the same headers")?;
        check_load("load", self.load, &self.link, self.frames)?;
        check_load("reverse-load", self.reverse_load, &self.link, self.frames)
    }

    /// The link as the other direction sees it.
    fn reversed(&self) -> LinkConfig {
        LinkConfig {
            corruption: self.link.reverse_corruption.clone(),
            reverse_corruption: self.link.corruption.clone(),
            ..self.link.clone()
        }
    }

    /// The port that sends over `link`.
    fn port(&self, link: &LinkConfig, recirculation: usize) -> PortConfig {
        let [mut sender, _] = link.ports([recirculation; 2]);
        set_protocol(&mut sender, |protocol| {
            protocol.format = self.format;
            // The ports need never be idle, whatever is corrupted.
            protocol.ack_interval = REPEAT;
            // A resume may be lost each time it is sent, so a stalled sender asks again now and then.
            protocol.keepalive = REPEAT * 10;
        });
        sender
    }
}

/// Checks, simulates, and reports.
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(
    config: &BothDirectionsConfig,
    progress: &mut Progress<'_>,
) -> Result<BothDirectionsReport, ParameterError> {
    config.validate()?;
    let link = &config.link;
    let intervals = [config.load, config.reverse_load].map(|load| interval(link, load));
    let ports = [config.port(link, 0), config.port(&config.reversed(), 1)];
    let mut plan = one_link(link, ports, traffic(link, config.frames, intervals[0]));
    plan.traffic(RECEIVER, plan.node_of(SENDER), traffic(&config.reversed(), config.frames, intervals[1]));
    let watch = Watch::new([(SENDER, RECEIVER, intervals[0]), (RECEIVER, SENDER, intervals[1])]);
    let mut network = network(config.seed, link, plan, watch)?;
    let lasts = |interval| expected(link, config.frames, interval);
    let longest = lasts(intervals[0]).max(lasts(intervals[1]));
    let link_of = |port| if port == SENDER { link.clone() } else { config.reversed() };
    let drive =
        Drive { sources: &[SENDER, RECEIVER], frames: config.frames, expected: longest, link_of: &link_of };
    let ending = drive.run(&mut network, progress)?;
    Ok(BothDirectionsReport {
        seed: config.seed,
        forward: measure(&network, SENDER),
        reverse: measure(&network, RECEIVER),
        ending,
    })
}

fn measure(network: &Watched<Watch>, sender: PortId) -> DirectionReport {
    let receiver = network.link_end(sender.peer()).map(|end| end.stats()).unwrap_or_default();
    DirectionReport {
        delivery: network.observer.watch.delivery(
            usize::from(sender != SENDER),
            None,
            network.produced(sender),
        ),
        link: LinkReport::measure(network, sender),
        piggybacked_acks: receiver.piggybacked_acks_sent,
        explicit_acks: receiver.acks_sent,
        notifications: receiver.notifications_sent,
    }
}
