//! Layered networks: switches in layers, and links that each go up at least one layer or join peers on one.
//!
//! A path of a ToR is valley-free: it climbs from the ToR to any switch of the top layer and never goes down on the
//! way. Below its top layer, a network falls into *zones* that no path of a ToR leaves before its last link; in a
//! fabric, these are the pods. Every link belongs to the zone of its lower switch, so capacity constraints of different
//! zones are independent.
//!
//! A *peer link* joins two switches of one layer, as pairs in MLAG or vPC have it. No path climbs over it, so it is in no
//! [`Topology::up`] or [`Topology::down`], but it can corrupt frames and be protected. Those of the top layer are in a
//! zone of their own.

mod installed;
mod ports;

pub use installed::{Installed, ZoneReach};
pub(crate) use ports::PortNames;

use crate::{FabricParameters, LinkId, Names, SwitchId, ZoneId};
use std::fmt;
use std::sync::OnceLock;

/// The two ends of a link, and its port on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The end nearer to the ToRs; of a peer link, the one that was named first.
    pub lower: SwitchId,
    /// The end nearer to the top layer.
    pub upper: SwitchId,
    /// Port on the lower switch: the link's rank among that switch's links, in ascending link number.
    pub lower_port: u32,
    /// Port on the upper switch, likewise.
    pub upper_port: u32,
}

/// A switch's place in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// Number of its layer; 0 for a ToR.
    pub layer: u8,
    /// Its zone; `None` in the top layer.
    pub zone: Option<ZoneId>,
    /// Forwarding pipes: port `p` belongs to pipe `p` modulo this number.
    pub pipes: u32,
    /// Whether all its links down lead to ToRs, each to another one, so that a change reaches each of them once.
    pub above_tors: bool,
}

/// A layered network. It cannot be changed: whoever uses it keeps track of what is disabled or corrupts.
#[derive(Debug, Clone)]
pub struct Topology {
    pub(crate) switches: Vec<Switch>,
    pub(crate) links: Vec<Link>,
    /// Speed of each link, in bit/s.
    pub(crate) capacity: Vec<u64>,
    pub(crate) layers: u8,
    pub(crate) zones: u32,
    pub(crate) up: Adjacency,
    pub(crate) down: Adjacency,
    pub(crate) beside: Adjacency,
    pub(crate) tors: Vec<SwitchId>,
    pub(crate) names: Names,
    /// Computed on first use.
    pub(crate) installed: OnceLock<Installed>,
    pub(crate) ports: PortNames,
}

/// A link as one of its ends sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    pub link: LinkId,
    /// The switch at its other end.
    pub switch: SwitchId,
}

/// Links of each switch in one direction, in ascending link number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Adjacency {
    first: Vec<u32>,
    hops: Vec<Hop>,
}

impl Adjacency {
    /// Counts, then fills, the links of each of `switches` switches. `ends` gives the switches from which a link is seen,
    /// each with the one that it leads to.
    pub(crate) fn new<const ENDS: usize>(
        switches: usize,
        links: &[Link],
        ends: impl Fn(&Link) -> [Option<(SwitchId, SwitchId)>; ENDS],
    ) -> Adjacency {
        let mut first = vec![0_u32; switches + 1];
        for (from, _) in links.iter().flat_map(|link| ends(link).into_iter().flatten()) {
            first[from.index() + 1] += 1;
        }
        for switch in 0..switches {
            first[switch + 1] += first[switch];
        }
        let mut next = first.clone();
        let mut hops = vec![Hop { link: LinkId(0), switch: SwitchId(0) }; first[switches] as usize];
        for (number, link) in links.iter().enumerate() {
            for (from, switch) in ends(link).into_iter().flatten() {
                let place = &mut next[from.index()];
                hops[*place as usize] = Hop { link: LinkId(number as u32), switch };
                *place += 1;
            }
        }
        Adjacency { first, hops }
    }

    pub(crate) fn hops(&self, switch: SwitchId) -> &[Hop] {
        &self.hops[self.first[switch.index()] as usize..self.first[switch.index() + 1] as usize]
    }
}

impl Topology {
    /// The parameters of the fabric, if the network was generated as one.
    pub fn fabric(&self) -> Option<FabricParameters> {
        match &self.names {
            Names::Fabric(fabric) => Some(*fabric),
            Names::Given { .. } | Names::Numbers(_) => None,
        }
    }

    /// The names of switches, links and zones.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// What the network offers while all its links are in operation.
    pub fn installed(&self) -> &Installed {
        self.installed.get_or_init(|| Installed::new(self))
    }

    /// Number of switches.
    pub fn switch_count(&self) -> usize {
        self.switches.len()
    }

    /// Number of links.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Number of zones (pods, in a fabric).
    pub fn zone_count(&self) -> usize {
        self.zones as usize
    }

    /// Number of layers, including ToRs and top layer.
    pub fn layer_count(&self) -> usize {
        usize::from(self.layers)
    }

    /// All switches of layer 0.
    pub fn tors(&self) -> &[SwitchId] {
        &self.tors
    }

    /// All switches, in order.
    pub fn switches(&self) -> impl ExactSizeIterator<Item = SwitchId> + use<> {
        (0..self.switches.len() as u32).map(SwitchId)
    }

    /// All links, in order.
    pub fn links(&self) -> impl ExactSizeIterator<Item = LinkId> + use<> {
        (0..self.links.len() as u32).map(LinkId)
    }

    /// All zones, in order.
    pub fn zones(&self) -> impl ExactSizeIterator<Item = ZoneId> + use<> {
        (0..self.zones).map(ZoneId)
    }

    /// A switch's place.
    pub fn switch(&self, switch: SwitchId) -> &Switch {
        &self.switches[switch.index()]
    }

    /// A link's ends.
    pub fn link(&self, link: LinkId) -> &Link {
        &self.links[link.index()]
    }

    /// Speed of a link, in bit/s.
    pub fn capacity(&self, link: LinkId) -> u64 {
        self.capacity[link.index()]
    }

    /// The zone that a link belongs to: that of its lower switch, or the one for peer links of the top layer.
    pub fn zone_of(&self, link: LinkId) -> ZoneId {
        self.switch(self.link(link).lower).zone.unwrap_or(ZoneId(self.zones - 1))
    }

    /// Whether a link joins two switches of one layer.
    pub fn is_peer(&self, link: LinkId) -> bool {
        let ends = self.link(link);
        self.switch(ends.lower).layer == self.switch(ends.upper).layer
    }

    /// The layer of a link's lower switch.
    pub fn layer_of(&self, link: LinkId) -> u8 {
        self.switch(self.link(link).lower).layer
    }

    /// The links that go up from a switch.
    pub fn up(&self, switch: SwitchId) -> &[Hop] {
        self.up.hops(switch)
    }

    /// The links that go down from a switch.
    pub fn down(&self, switch: SwitchId) -> &[Hop] {
        self.down.hops(switch)
    }

    /// The peer links of a switch.
    pub fn beside(&self, switch: SwitchId) -> &[Hop] {
        self.beside.hops(switch)
    }

    /// The pipe to which the link's port belongs, for each of its two switches, the lower first.
    pub fn pipes_of(&self, link: LinkId) -> [(SwitchId, u32); 2] {
        let Link { lower, upper, lower_port, upper_port } = *self.link(link);
        [(lower, lower_port % self.switch(lower).pipes), (upper, upper_port % self.switch(upper).pipes)]
    }
}

/// Identifies the network: two networks with the same text are the same, except for names.
impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.names {
            Names::Fabric(fabric) => write!(f, "{fabric}"),
            Names::Numbers(description) => f.write_str(description),
            Names::Given { .. } => {
                // FNV-1a over the ends and capacities.
                let parts = self.links.iter().zip(&self.capacity);
                let hash = parts.fold(0xcbf2_9ce4_8422_2325_u64, |hash, (link, &capacity)| {
                    [u64::from(link.lower.0), u64::from(link.upper.0), capacity]
                        .iter()
                        .fold(hash, |hash, part| (hash ^ part).wrapping_mul(0x0000_0100_0000_01b3))
                });
                write!(f, "{} switches, {} links ({hash:016x})", self.switches.len(), self.links.len())
            }
        }
    }
}
