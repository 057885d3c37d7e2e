//! Hosts, switches and links, and who watches what is delivered.

use super::config::Setting;
use super::tally::Tally;
use crate::link::scheme::AnyConfig;
use crate::link::{Frame, LinkConfig, LinkId, Observer, PortId, QueueLimits, Schemes, Side, Traffic};
use crate::network::{Balance, Changed, HandOff, Hosts, Network, Plan, SqrConfig};
use crate::node::{Flow, NodeId};
use crate::scenario::ParameterError;
use crate::time::Time;
use linkmend_protocol::Mode;

/// The links that fail and stand by.
pub(super) const PRIMARY: LinkId = LinkId(0);
pub(super) const BACKUP: LinkId = LinkId(1);
/// The ends of the links.
pub(super) const ENDS: [PortId; 2] = PortId::both(PRIMARY);
/// The ports of the hosts, by the end that is next to them.
pub(super) const SOURCES: [PortId; 2] = [PortId::new(LinkId(2), Side::A), PortId::new(LinkId(3), Side::B)];

/// Follows what the switches get over the two links.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// By the end that delivers it.
    pub(super) tallies: [Tally; 2],
}

impl Observer for Watch {
    fn delivered(&mut self, port: PortId, at: Time, frame: &Frame) {
        if [PRIMARY, BACKUP].contains(&port.link()) {
            self.tallies[port.side() as usize].deliver(at, frame.id);
        }
    }
}

/// Hosts of which nothing is asked: generators send.
#[derive(Debug, Default)]
pub(super) struct SilentHosts {
    /// Frames that links corrupted.
    pub(super) corrupted: u64,
}

impl Hosts for SilentHosts {
    const ANY: bool = true;

    fn sources(&self) -> usize {
        1
    }

    fn next_time(&self, _: usize) -> Time {
        Time::NEVER
    }

    fn act(&mut self, _: Time, _: usize, _: &mut Vec<Flow>) {}

    fn receive(&mut self, _: Time, _: NodeId, _: Frame) -> usize {
        0
    }

    fn poll_changed(&mut self) -> Option<Changed> {
        None
    }

    fn poll_frame(&mut self, _: Time, _: PortId) -> Option<Frame> {
        None
    }

    fn corrupted(&mut self, _: &Frame) {
        self.corrupted += 1;
    }

    fn dropped(&mut self, _: &Frame) {}
}

pub(super) type TwoLinksNetwork = Network<Watch, Schemes, SilentHosts>;

/// The network, with the protocol's link ends or with SQR.
///
/// # Errors
/// The parameter that cannot be used.
pub(super) fn build(setting: &Setting<'_>, with_sqr: bool) -> Result<TwoLinksNetwork, ParameterError> {
    let mut plan = Plan::new();
    let switches = [plan.switch(Balance::Static), plan.switch(Balance::Static)];
    let hosts = [plan.host(), plan.host()];
    let link = LinkConfig { queue: QueueLimits::UNLIMITED, ..setting.link.clone() };
    let bare = LinkConfig { protection: None, ..link.clone() };
    if with_sqr {
        plan.link(switches, bare.ports([0, 1]));
        plan.link(switches, bare.ports([0, 1]));
        let sqr = HandOff::Sqr(SqrConfig::published());
        plan.failing(setting.cuts().failing(PRIMARY, BACKUP, sqr));
    } else {
        let mut ports = link.ports([0, 1]);
        let mut sender_protects = None;
        for (end, port) in ports.iter_mut().enumerate() {
            if let (AnyConfig::LinkGuardian(scheme), Some(protocol)) = (&mut port.scheme, setting.protocol())
            {
                scheme.protocol = protocol;
                if end == 0 {
                    sender_protects = scheme.protect;
                } else if setting.config.reverse_load > 0.0 {
                    scheme.protect = sender_protects;
                }
            }
        }
        plan.link(switches, ports);
        plan.second_link(PRIMARY, bare.ports([0, 1]), setting.second_link());
    }
    let clean = LinkConfig { queue: link.queue, ..LinkConfig::clean(link.rate) };
    plan.link([hosts[0], switches[0]], clean.ports([0, 1]));
    plan.link([switches[1], hosts[1]], clean.ports([0, 1]));
    let loads = [setting.config.load, setting.config.reverse_load];
    for (end, load) in loads.into_iter().enumerate().filter(|(_, load)| *load > 0.0) {
        let traffic = Traffic::Paced {
            frames: setting.frames(load),
            bytes: link.frame_bytes as u16,
            modes: vec![link.protection.map_or(Mode::Ordered, |protection| protection.mode)],
            interval: setting.interval(load),
        };
        plan.traffic(SOURCES[end], hosts[1 - end], traffic);
    }
    Ok(plan.build_with_hosts(setting.config.seed, Watch::default(), SilentHosts::default())?)
}
