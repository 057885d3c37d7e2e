//! Changes of the ports' interfaces while the link runs.

use super::Engine;
use crate::interface_watch::InterfaceState;
use crate::port::Port;
use linkmend_linux::route::InterfaceFacts;
use linkmend_protocol::wire::ETHERNET_HEADER_BYTES;
use linkmend_protocol::wire::HEADER_GROWTH_MAX;

/// The current state of the two interfaces. A [`Port`] only knows the state when it was opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interfaces {
    pub(super) inner: InterfaceState,
    pub(super) link: InterfaceState,
}

impl Interfaces {
    pub(super) fn at_start(inner: &Port, link: &Port) -> Interfaces {
        // A port opens only on an interface that is up; the watch reports at once what is different.
        let state = |port: &Port| InterfaceState { mtu: port.mtu(), up: true, carrier: true };
        Interfaces { inner: state(inner), link: state(link) }
    }

    /// The longest frame that the link certainly takes, without frame check sequence.
    pub(super) fn link_frame_bytes(&self) -> usize {
        self.link.mtu as usize + ETHERNET_HEADER_BYTES
    }
}

impl Engine {
    /// Handles a change of an interface; `None` when it is gone.
    pub(super) fn handle_interface(&mut self, index: u32, facts: Option<&InterfaceFacts>) {
        let link = &self.settings.name;
        let is_inner = index == self.ports.inner.ifindex();
        let port = if is_inner { &self.ports.inner } else { &self.ports.link };
        let Some(facts) = facts else {
            tracing::error!(%link, port = port.name(), "the interface is gone; the loop ends");
            self.lost_interface = Some(port.name().to_owned());
            return;
        };
        let state = InterfaceState::from(facts);
        let known = if is_inner { &mut self.interfaces.inner } else { &mut self.interfaces.link };
        let before = std::mem::replace(known, state);
        if before.up != state.up {
            let now = if state.up { "up again" } else { "down; frames are lost there until it is up" };
            tracing::warn!(%link, port = port.name(), "the interface is {now}");
        } else if before.carrier != state.carrier && state.up {
            match state.carrier {
                true => tracing::info!(%link, port = port.name(), "the interface has its carrier back"),
                false => tracing::warn!(%link, port = port.name(), "the interface has lost its carrier"),
            }
        }
        if before.mtu != state.mtu {
            tracing::info!(%link, port = port.name(), before = before.mtu, mtu = state.mtu, "the MTU has changed");
            self.log_mtus();
        }
    }

    /// Logs what new MTUs mean for the longest frames.
    fn log_mtus(&self) {
        let link = &self.settings.name;
        let Interfaces { inner: InterfaceState { mtu: inner_mtu, .. }, link: InterfaceState { mtu, .. } } =
            self.interfaces;
        let opened_mtu = self.ports.inner.mtu().max(self.ports.link.mtu());
        if inner_mtu.max(mtu) > opened_mtu {
            tracing::warn!(%link, opened_mtu, "longer frames than at the start may be lost until the next start");
        }
        let needed_mtu = inner_mtu as usize + HEADER_GROWTH_MAX;
        if (mtu as usize) < needed_mtu {
            let fate = if mtu < inner_mtu { "unprotected, or are lost" } else { "unprotected" };
            tracing::warn!(%link, link_mtu = mtu, inner_mtu, needed_mtu, "the longest frames pass {fate}");
        }
    }
}
