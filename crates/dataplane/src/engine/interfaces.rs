//! Changes of the ports' interfaces while the link runs.

use super::Engine;
use super::link_side::Sides;
use crate::clock;
use crate::interface_watch::InterfaceState;
use crate::port::Port;
use linkmend_linux::route::InterfaceFacts;
use linkmend_protocol::wire::ETHERNET_HEADER_BYTES;

/// How long frames may be now.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameLengths {
    inner_mtu: u32,
    /// That of the link, or the smaller one of two, because any frame may have to change to the other.
    link_mtu: u32,
    /// The largest number of bytes that a header adds to a frame.
    growth: usize,
}

impl FrameLengths {
    pub(super) fn new(inner: InterfaceState, sides: &Sides, growth: usize) -> FrameLengths {
        let link_mtu = sides.iter().map(|side| side.interface.mtu).fold(u32::MAX, u32::min);
        FrameLengths { inner_mtu: inner.mtu, link_mtu, growth }
    }

    /// The longest frame that the link certainly takes, or each of two, without frame check sequence.
    pub(super) fn link_frame_bytes(&self) -> usize {
        self.link_mtu as usize + ETHERNET_HEADER_BYTES
    }

    /// Whether the link takes a frame with every header.
    pub(super) fn takes_with_header(&self, bytes: usize) -> bool {
        bytes + self.growth <= self.link_frame_bytes()
    }

    /// The longest frame that has at most `bytes` with every header.
    pub(super) fn without_header(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.growth)
    }

    /// The longest frame that is protected, with its header.
    pub(super) fn longest_protected_bytes(&self) -> usize {
        let inner = self.inner_mtu as usize + ETHERNET_HEADER_BYTES + self.growth;
        inner.min(self.link_frame_bytes())
    }
}

impl Engine {
    /// Handles a change of an interface; `None` when it is gone.
    pub(super) fn handle_interface(&mut self, index: u32, facts: Option<&InterfaceFacts>) {
        let side = self.sides.iter_mut().find(|side| side.port.ifindex() == index);
        let (path, name, known) = match side {
            Some(side) => (Some(side.path), side.port.name().to_owned(), &mut side.interface),
            None => (None, self.inner.name().to_owned(), &mut self.inner_interface),
        };
        let (link, port) = (&self.settings.name, &name);
        let Some(facts) = facts else {
            if !path.is_some_and(|path| self.handle_gone(clock::now_ns(), path)) {
                tracing::error!(link = %self.settings.name, port, "the interface is gone; the loop ends");
                self.lost_interface = Some(name);
            }
            return;
        };
        let state = InterfaceState::from(facts);
        let before = std::mem::replace(known, state);
        if before.up != state.up {
            let now = if state.up { "up again" } else { "down; frames are lost there until it is up" };
            tracing::warn!(%link, port, "the interface is {now}");
        } else if before.carrier != state.carrier && state.up {
            match state.carrier {
                true => tracing::info!(%link, port, "the interface has its carrier back"),
                false => tracing::warn!(%link, port, "the interface has lost its carrier"),
            }
        }
        if before.mtu != state.mtu {
            tracing::info!(%link, port, before = before.mtu, mtu = state.mtu, "the MTU has changed");
            self.lengths = FrameLengths::new(self.inner_interface, &self.sides, self.lengths.growth);
            self.log_mtus();
        }
        if let Some(path) = path {
            self.handle_carrier(clock::now_ns(), path, state);
        }
    }

    /// Logs what new MTUs mean for the longest frames.
    fn log_mtus(&self) {
        let link = &self.settings.name;
        let FrameLengths { inner_mtu, link_mtu, growth } = self.lengths;
        let opened_mtu = self.ports().map(Port::mtu).fold(0, u32::max);
        if inner_mtu.max(link_mtu) > opened_mtu {
            tracing::warn!(%link, opened_mtu, "frames longer than the MTU at startup may be lost until the next start");
        }
        let needed_mtu = inner_mtu as usize + growth;
        if (link_mtu as usize) < needed_mtu {
            let fate = if link_mtu < inner_mtu { "unprotected, or are lost" } else { "unprotected" };
            tracing::warn!(%link, link_mtu, inner_mtu, needed_mtu, "the longest frames pass {fate}");
        }
    }
}
