//! Identifiers of links, their two sides, and the ports there.

pub use linkmend_topology::LinkId;

/// Event sources of a port, in the order of [`PortEvent`].
const SOURCES: usize = 3;

/// What happens at a port. Simultaneous events happen in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortEvent {
    /// The next frame in flight towards it arrives.
    Arrival,
    /// It may begin to send.
    Service,
    /// A timeout is due, or a frame of paced traffic.
    Clock,
}

/// A side of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The side of the node that was named first.
    A,
    /// The side of the other node.
    B,
}

/// A port: the end of a link at one of its sides, and the direction of the link that leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(u32);

impl PortId {
    /// The port at one side of a link.
    pub const fn new(link: LinkId, side: Side) -> PortId {
        PortId(link.0 << 1 | side as u32)
    }

    /// Both ports of a link, side A first.
    pub const fn both(link: LinkId) -> [PortId; 2] {
        [PortId::new(link, Side::A), PortId::new(link, Side::B)]
    }

    /// The link of this port.
    pub const fn link(self) -> LinkId {
        LinkId(self.0 >> 1)
    }

    /// The side of this port.
    pub const fn side(self) -> Side {
        if self.0 & 1 == 0 { Side::A } else { Side::B }
    }

    /// The port at the link's other side.
    #[inline(always)]
    pub const fn peer(self) -> PortId {
        PortId(self.0 ^ 1)
    }

    /// The port with this index.
    pub const fn at(index: usize) -> PortId {
        PortId(index as u32)
    }

    /// Its index among all ports: first the ports of the first link, then those of the second, and so on.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Number of event sources of the first `ports` ports.
    pub(crate) const fn sources(ports: usize) -> usize {
        SOURCES * ports
    }

    /// The port that an event source belongs to, and what happens there. Sources after those of all `ports` belong to
    /// the recirculation port with the returned index.
    #[inline(always)]
    pub(crate) const fn port_event(source: usize, ports: usize) -> Result<(PortId, PortEvent), usize> {
        let index = source / SOURCES;
        if index >= ports {
            return Err(source - SOURCES * ports);
        }
        let act = match source % SOURCES {
            0 => PortEvent::Arrival,
            1 => PortEvent::Service,
            _ => PortEvent::Clock,
        };
        Ok((PortId(index as u32), act))
    }

    /// The event source for arrivals.
    #[inline(always)]
    pub(crate) const fn arrival(self) -> usize {
        SOURCES * self.index()
    }

    /// The event source for sending.
    #[inline(always)]
    pub(crate) const fn service(self) -> usize {
        SOURCES * self.index() + 1
    }

    /// The event source for timers and paced traffic.
    #[inline(always)]
    pub(crate) const fn clock(self) -> usize {
        SOURCES * self.index() + 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_of_ports_come_before_those_of_recirculation_ports() {
        let [a, b] = PortId::both(LinkId(1));
        assert_eq!(PortId::port_event(a.arrival(), 4), Ok((a, PortEvent::Arrival)));
        assert_eq!(PortId::port_event(a.service(), 4), Ok((a, PortEvent::Service)));
        assert_eq!(PortId::port_event(b.clock(), 4), Ok((b, PortEvent::Clock)));
        assert_eq!(PortId::port_event(b.clock() + 1, 4), Err(0));
        assert_eq!(PortId::port_event(PortId::sources(4) + 2, 4), Err(2));
    }

    #[test]
    fn a_port_is_named_by_its_link_and_side() {
        let [a, b] = PortId::both(LinkId(7));
        assert_eq!((a.link(), a.side(), b.link(), b.side()), (LinkId(7), Side::A, LinkId(7), Side::B));
        assert_eq!((a.peer(), b.peer()), (b, a));
        assert_eq!((a.index(), b.index()), (14, 15));
    }
}
