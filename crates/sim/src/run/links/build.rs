//! The networks of these runs.

use super::config::{Layout, LinksConfig, Source};
use super::streams::Watch;
use crate::corruption::Corruption;
use crate::link::scheme::{Absent, AnyConfig, Scheme};
use crate::link::{LinkConfig, PortConfig, PortId};
use crate::measure::{LinkMeasures, Measured};
use crate::network::{Balance, LinkId, Network, NoHosts, Observer, Plan, PortError, Schemes, Traffic};

/// A network whose links are measured, and whose streams are followed unless something else observes them. `X` is a scheme of
/// another crate, if it has one.
pub(crate) type Watched<H = NoHosts, O = Watch, X = Absent> = Network<Measured<O, Schemes<X>>, Schemes<X>, H>;

impl LinksConfig {
    /// The links and their generators. Links that corrupt by phases corrupt nothing yet. `other` configures both ends of each
    /// link if it recovers otherwise than its description says.
    pub(crate) fn network<O: Observer<Schemes<X>>, X: Scheme>(
        &self,
        other: Option<&[X::Config; 2]>,
        watch: O,
    ) -> Result<Watched<NoHosts, O, X>, PortError> {
        let mut plan = Plan::new();
        let mut switches = [plan.switch(Balance::Static), plan.switch(Balance::Static)];
        let loops = (0..self.links.len()).map(|link| self.loops(link)[1] + 1).max().unwrap_or(0);
        (0..loops).for_each(|port| _ = plan.recirculation(self.link_of_loop(port).recirculation_port()));
        for (index, link) in self.links.iter().enumerate() {
            if index > 0 && matches!(self.layout, Layout::Row) {
                switches = [switches[1], plan.switch(Balance::Static)];
            }
            plan.link(switches, self.ports(link, self.loops(index), other));
        }
        for source in self.sources() {
            plan.traffic(source.port, plan.node_of(source.sinks[0]), self.traffic(&source));
        }
        let observer = self.measured(watch, plan.port_count());
        plan.build(self.seed, observer)
    }

    /// Measures so many ports beside `watch`.
    pub(super) fn measured<O, S: Scheme>(&self, watch: O, ports: usize) -> Measured<O, S> {
        let levels = vec![u64::from(self.links[0].frame_bytes); ports];
        Measured { links: LinkMeasures::new(levels), watch }
    }

    /// Follows the frames of all sources.
    pub(super) fn watch(&self) -> Watch {
        Watch::new(&self.sources(), self.course.as_ref())
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

    fn ports<X: Scheme>(
        &self,
        link: &LinkConfig,
        loops: [usize; 2],
        other: Option<&[X::Config; 2]>,
    ) -> [PortConfig<Schemes<X>>; 2] {
        let schemes = other.map_or_else(|| link.schemes(loops), |other| other.clone().map(AnyConfig::Other));
        let [mut sender, mut receiver] = link.ports_with(schemes);
        if self.reverse_load > 0.0 {
            let reversed = link.reversed();
            [receiver, _] = reversed.ports_with(reversed.schemes([loops[1]; 2]));
        }
        sender.copy_corruption = self.copy_loss.map(Corruption::iid);
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
