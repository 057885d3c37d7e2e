//! A switch: many ports, and routes between them.

use super::{Flow, NodeId};
use crate::link::{Frame, PortId};
use linkmend_quantity::words;
use linkmend_random::mix;

words! {
    /// How a switch chooses among several equally good ports.
    #[derive(Default)]
    pub enum Balance {
        /// Always the first port.
        Static = "static",
        /// The same port for all frames of a flow, by its hash (ECMP, RFC 2992); each switch hashes differently.
        #[default]
        FlowHash = "flow-hash",
        /// A port for each frame, by the hash of its flow and number (packet spraying).
        Spray = "spray",
    }
}

/// How frames get to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Way {
    /// The route that they follow in switches.
    pub(crate) route: u32,
    /// The port from which they leave the switch at the end of that route, if the node is behind it.
    pub(crate) last: Option<PortId>,
}

impl Way {
    /// No route leads there.
    pub(crate) const NONE: Way = Way { route: u32::MAX, last: None };
}

/// A switch and its routes.
#[derive(Debug, Clone, Default)]
pub struct Switch {
    balance: Balance,
    /// Makes switches balance the same flows differently.
    salt: u64,
    /// By route: the group of ports that leads there.
    group_of: Vec<u16>,
    /// Groups of ports that lead to the same destinations; the first group is empty.
    groups: Vec<Vec<PortId>>,
}

/// Maximum number of port groups of a switch; it has no more ports than that.
const GROUPS_MAX: usize = u16::MAX as usize;
/// The group of the route that ends at the switch itself: each node behind it has its own port.
const HERE: u16 = u16::MAX;

impl Switch {
    pub(crate) fn new(balance: Balance, node: NodeId) -> Switch {
        let salt = mix(u64::from(node.0) + 1);
        Switch { balance, salt, group_of: Vec::new(), groups: vec![Vec::new()] }
    }

    /// Sets the ports for frames that follow this route.
    ///
    /// # Panics
    /// If there are more different groups of ports than the maximum.
    pub(crate) fn set_route(&mut self, route: u32, ports: &[PortId]) {
        let group = self.groups.iter().rposition(|group| group == ports).unwrap_or_else(|| {
            assert!(self.groups.len() < GROUPS_MAX, "a switch has at most {GROUPS_MAX} groups of ports");
            self.groups.push(ports.to_vec());
            self.groups.len() - 1
        });
        self.set_group(route, group as u16);
    }

    /// Ends this route here.
    pub(crate) fn attach(&mut self, route: u32) {
        self.set_group(route, HERE);
    }

    fn set_group(&mut self, route: u32, group: u16) {
        let route = route as usize;
        if route >= self.group_of.len() {
            self.group_of.resize(route + 1, 0);
        }
        self.group_of[route] = group;
    }

    /// Whether this route was set.
    pub(crate) fn has_route(&self, route: u32) -> bool {
        self.group_of.get(route as usize).is_some_and(|&group| group > 0)
    }

    /// Whether all frames of a flow take the same port.
    pub(crate) fn keeps_flows_together(&self) -> bool {
        self.balance != Balance::Spray
    }

    /// The port that the frame takes; `None` if no route leads to its destination.
    #[inline]
    pub(crate) fn route(&self, way: Way, flow: &Flow, frame: &Frame) -> Option<PortId> {
        let group = *self.group_of.get(way.route as usize)?;
        if group == HERE {
            return way.last;
        }
        let group = &self.groups[usize::from(group)];
        if group.len() <= 1 {
            return group.first().copied();
        }
        let hash = match self.balance {
            Balance::Static => 0,
            Balance::FlowHash => mix(flow.hash ^ self.salt),
            Balance::Spray => mix(flow.hash ^ self.salt ^ mix(frame.id)),
        };
        // The high bits of the product are the index, without a division.
        Some(group[(((hash >> 32) * group.len() as u64) >> 32) as usize])
    }
}

#[cfg(test)]
impl Switch {
    /// Number of routes.
    pub(crate) fn entries(&self) -> usize {
        self.group_of.iter().filter(|&&group| group > 0).count()
    }

    /// All ports that frames on this way may take.
    pub(crate) fn ports_to(&self, way: Way) -> Vec<PortId> {
        match self.group_of.get(way.route as usize) {
            Some(&HERE) => way.last.into_iter().collect(),
            Some(&group) => self.groups[usize::from(group)].clone(),
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{FlowId, LinkId, Side};
    use linkmend_protocol::Mode;

    /// How often each of eight ports is chosen, for ten frames of each of a thousand flows.
    fn taken(balance: Balance, node: u32) -> ([u64; 8], u64) {
        let ports: Vec<PortId> = (0..8).map(|link| PortId::new(LinkId(link), Side::A)).collect();
        let mut switch = Switch::new(balance, NodeId(node));
        switch.set_route(3, &ports);
        let (mut counts, mut split) = ([0; 8], 0);
        for number in 0..1_000 {
            let flow = Flow { source: NodeId(0), destination: NodeId(1), hash: mix(number) };
            let way = Way { route: 3, last: None };
            let mut first = None;
            for id in 0..10 {
                let frame = Frame { id, flow: FlowId(0), bytes: 64, mode: Mode::Ordered, marked: false };
                let port = switch.route(way, &flow, &frame).expect("there is a route");
                counts[port.index() / 2] += 1;
                split += u64::from(*first.get_or_insert(port) != port);
            }
        }
        (counts, split)
    }

    #[test]
    fn static_routes_take_the_first_port_flows_keep_theirs_and_spraying_uses_all() {
        assert_eq!(taken(Balance::Static, 1), ([10_000, 0, 0, 0, 0, 0, 0, 0], 0));
        let (counts, split) = taken(Balance::FlowHash, 1);
        assert_eq!(split, 0, "a flow stays in order");
        assert!(counts.iter().all(|count| (1_000..1_500).contains(count)), "{counts:?}");
        assert_ne!(counts, taken(Balance::FlowHash, 2).0, "two switches in a row do not choose alike");
        let (counts, split) = taken(Balance::Spray, 1);
        assert!(split > 7_500, "{split} of 9,000 frames take another port than the first of their flow");
        assert!(counts.iter().all(|count| (1_150..1_350).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_destination_without_a_route_has_no_port() {
        let switch = Switch::new(Balance::FlowHash, NodeId(0));
        let flow = Flow { source: NodeId(0), destination: NodeId(1), hash: 0 };
        let frame = Frame { id: 0, flow: FlowId(0), bytes: 64, mode: Mode::Ordered, marked: false };
        let way = Way { route: 0, last: Some(PortId::at(0)) };
        assert_eq!(switch.route(way, &flow, &frame), None);
        assert_eq!(switch.route(Way::NONE, &flow, &frame), None);
    }
}
