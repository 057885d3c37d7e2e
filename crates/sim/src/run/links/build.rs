//! The networks of these runs.

use super::config::{Layout, LinksConfig, Source};
use super::streams::Watch;
use crate::corruption::Corruption;
use crate::link::scheme::AnyConfig;
use crate::link::{LinkConfig, PortConfig, PortId};
use crate::measure::{LinkMeasures, Measured};
use crate::network::{Balance, LinkId, Network, NoHosts, Plan, PortError, Schemes, Traffic};

/// A network whose links are measured, and whose streams are followed.
pub(super) type Watched<H = NoHosts> = Network<Measured<Watch>, Schemes, H>;

impl LinksConfig {
    /// The links and their generators. Links that corrupt by phases corrupt nothing yet.
    pub(super) fn network(&self) -> Result<Watched, PortError> {
        let mut plan = Plan::new();
        let mut switches = [plan.switch(Balance::Static), plan.switch(Balance::Static)];
        let loops = (0..self.links.len()).map(|link| self.loops(link)[1] + 1).max().unwrap_or(0);
        (0..loops).for_each(|port| _ = plan.recirculation(self.link_of_loop(port).recirculation_port()));
        for (index, link) in self.links.iter().enumerate() {
            if index > 0 && matches!(self.layout, Layout::Row) {
                switches = [switches[1], plan.switch(Balance::Static)];
            }
            plan.link(switches, self.ports(link, self.loops(index)));
        }
        let sources = self.sources();
        for source in &sources {
            plan.traffic(source.port, plan.node_of(source.sinks[0]), self.traffic(source));
        }
        let observer = self.observer(&sources, plan.port_count());
        plan.build(self.seed, observer)
    }

    /// Measures all ports, and follows the frames of these sources.
    pub(super) fn observer(&self, sources: &[Source], ports: usize) -> Measured<Watch> {
        let levels = vec![u64::from(self.links[0].frame_bytes); ports];
        Measured { links: LinkMeasures::new(levels), watch: Watch::new(sources, self.course.as_ref()) }
    }

    /// The recirculation ports of the two ends of a link, by their numbers.
    pub(super) fn loops(&self, link: usize) -> [usize; 2] {
        match self.layout {
            Layout::Parallel { ports } => [link % ports, ports + link % ports],
            _ => [2 * link, 2 * link + 1],
        }
    }

    /// One of the links whose frames circle through a recirculation port.
    pub(super) fn link_of_loop(&self, port: usize) -> &LinkConfig {
        match self.layout {
            Layout::Parallel { .. } => &self.links[0],
            _ => &self.links[port / 2],
        }
    }

    fn ports(&self, link: &LinkConfig, loops: [usize; 2]) -> [PortConfig; 2] {
        let [mut sender, mut receiver] = link.ports(loops);
        if self.reverse_load > 0.0 {
            [receiver, _] = link.reversed().ports([loops[1]; 2]);
        }
        for port in [&mut sender, &mut receiver] {
            if let (AnyConfig::LinkGuardian(scheme), Some(protocol)) = (&mut port.scheme, self.protocol(link))
            {
                scheme.protocol = protocol;
            }
        }
        if self.course.is_some() {
            sender.corruption = Corruption::None;
            if let AnyConfig::LinkGuardian(scheme) = &mut sender.scheme {
                scheme.protect = self.measured_copies(link);
            }
        }
        [sender, receiver]
    }

    /// What a source sends.
    pub(super) fn traffic(&self, source: &Source) -> Traffic {
        let (frames, bytes, modes) = (source.frames, self.links[0].frame_bytes as u16, self.modes());
        match source.interval {
            None => Traffic::LineRate { frames, bytes, mode: modes[0] },
            Some(interval) => Traffic::Paced { frames, bytes, modes, interval },
        }
    }

    /// The link that leaves a port, as its session opens.
    pub(super) fn link_of(&self, port: PortId) -> LinkConfig {
        let LinkId(number) = port.link();
        let link = &self.links[number as usize];
        let link = if port == PortId::both(port.link())[0] { link.clone() } else { link.reversed() };
        match self.course {
            Some(_) => LinkConfig { corruption: Corruption::None, ..link },
            None => link,
        }
    }
}
