//! Changes of the ports' interfaces while the link runs.

use super::Engine;
use crate::clock;
use crate::interface_watch::InterfaceState;
use crate::port::Port;
use crate::port_pair::PortPair;
use linkmend_linux::route::InterfaceFacts;
use linkmend_protocol::paths::Path;
use linkmend_protocol::wire::ETHERNET_HEADER_BYTES;

/// The current state of the interfaces. A [`Port`] only knows the state when it was opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interfaces {
    pub(super) inner: InterfaceState,
    pub(super) link: InterfaceState,
    pub(super) backup: Option<InterfaceState>,
    /// The largest number of bytes that a header adds to a frame.
    growth: usize,
}

impl Interfaces {
    pub(super) fn at_start(ports: &PortPair, growth: usize) -> Interfaces {
        // A port opens only on an interface that is up; the watch reports at once what is different.
        let state = |port: &Port| InterfaceState { mtu: port.mtu(), up: true, carrier: true };
        Interfaces {
            inner: state(&ports.inner),
            link: state(&ports.link),
            backup: ports.backup.as_ref().map(state),
            growth,
        }
    }

    /// The longest frame that the link certainly takes, or each of two, without frame check sequence.
    pub(super) fn link_frame_bytes(&self) -> usize {
        self.link_mtu() as usize + ETHERNET_HEADER_BYTES
    }

    /// Whether the link takes a frame with every header.
    pub(super) fn takes_with_header(&self, bytes: usize) -> bool {
        bytes + self.growth <= self.link_frame_bytes()
    }

    /// The longest frame that is protected, with its header.
    pub(super) fn longest_protected_bytes(&self) -> usize {
        let inner = self.inner.mtu as usize + ETHERNET_HEADER_BYTES + self.growth;
        inner.min(self.link_frame_bytes())
    }

    fn link_mtu(&self) -> u32 {
        self.link.mtu.min(self.backup.map_or(u32::MAX, |backup| backup.mtu))
    }
}

impl Engine {
    /// Handles a change of an interface; `None` when it is gone.
    pub(super) fn handle_interface(&mut self, index: u32, facts: Option<&InterfaceFacts>) {
        let link = &self.settings.name;
        let (port, path) = match index {
            _ if index == self.ports.inner.ifindex() => (&self.ports.inner, None),
            _ if index == self.ports.link.ifindex() => (&self.ports.link, Some(Path::Primary)),
            _ => (self.ports.on(Path::Backup), Some(Path::Backup)),
        };
        let Some(facts) = facts else {
            if path.is_some_and(|path| self.handle_gone(clock::now_ns(), path)) {
                return;
            }
            let (link, port) =
                (&self.settings.name, path.map_or(&self.ports.inner, |path| self.ports.on(path)));
            tracing::error!(%link, port = port.name(), "the interface is gone; the loop ends");
            self.lost_interface = Some(port.name().to_owned());
            return;
        };
        let state = InterfaceState::from(facts);
        let known = match (path, &mut self.interfaces.backup) {
            (None, _) => &mut self.interfaces.inner,
            (Some(Path::Backup), Some(backup)) => backup,
            (Some(_), _) => &mut self.interfaces.link,
        };
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
        if let Some(path) = path {
            self.handle_carrier(clock::now_ns(), path, state);
        }
    }

    /// Logs what new MTUs mean for the longest frames.
    fn log_mtus(&self) {
        let link = &self.settings.name;
        let (inner_mtu, mtu) = (self.interfaces.inner.mtu, self.interfaces.link_mtu());
        let opened_mtu = self.ports.ports().map(Port::mtu).fold(0, u32::max);
        if inner_mtu.max(mtu) > opened_mtu {
            tracing::warn!(%link, opened_mtu, "longer frames than at the start may be lost until the next start");
        }
        let needed_mtu = inner_mtu as usize + self.interfaces.growth;
        if (mtu as usize) < needed_mtu {
            let fate = if mtu < inner_mtu { "unprotected, or are lost" } else { "unprotected" };
            tracing::warn!(%link, link_mtu = mtu, inner_mtu, needed_mtu, "the longest frames pass {fate}");
        }
    }
}
