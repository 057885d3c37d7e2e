//! One link of a link end, with all that belongs to it alone.

use super::peers::{Address, Ends};
use super::shaper::Shaper;
use crate::bypass::{Bypass, Hook};
use crate::interface_watch::InterfaceState;
use crate::loss_script::LossInjector;
use crate::port::Port;
use linkmend_control::report::PortReport;
use linkmend_control::{CorruptionModel, Side};
use linkmend_protocol::paths::Path;
use std::ops::{Index, IndexMut};

/// The side of a link end that faces a link: the port, and what is known and counted there.
pub(super) struct LinkSide {
    pub(super) path: Path,
    pub(super) port: Port,
    /// As it is now. The port only knows the state in which it was opened.
    pub(super) interface: InterfaceState,
    pub(super) shaper: Shaper,
    /// Which arriving frames are dropped on purpose.
    pub(super) corruption: Option<LossInjector>,
    /// How many were.
    pub(super) corrupted_frames: u64,
    /// Who answers here.
    pub(super) ends: Ends,
    /// The other end to which the link leads instead of the peer.
    pub(super) stranger: Option<Address>,
    /// Whether the log has it that frames of full size do not arrive.
    pub(super) loses_full: bool,
    /// When to look next for the interface, if it was removed.
    pub(super) look_at: Option<u64>,
}

impl LinkSide {
    fn new(path: Path, port: Port, rate_bps: Option<u64>) -> LinkSide {
        LinkSide {
            path,
            interface: at_start(&port),
            shaper: Shaper::new(rate_bps, port.overhead_bytes()),
            corruption: None,
            corrupted_frames: 0,
            ends: Ends::new(port.mac()),
            stranger: None,
            loses_full: false,
            look_at: None,
            port,
        }
    }

    /// Whether the interface was removed.
    pub(super) fn is_gone(&self) -> bool {
        self.look_at.is_some()
    }

    /// The model by which frames are corrupted, if it is one that can be said.
    pub(super) fn corruption_model(&self) -> Option<CorruptionModel> {
        match &self.corruption {
            Some(LossInjector::Drawn(losses)) => Some(losses.model()),
            Some(LossInjector::Scripted(_)) | None => None,
        }
    }

    pub(super) fn report(&mut self, bypass: Option<&Bypass>) -> PortReport {
        port_report(self.path.into(), &mut self.port, self.interface, bypass)
    }
}

/// The link sides of a link end, of which there are one or two.
pub(super) struct Sides(Vec<LinkSide>);

impl Sides {
    /// Opens the sides over their ports, in the order of their paths, for links of these rates.
    pub(super) fn new(ports: Vec<Port>, rates_bps: impl Iterator<Item = Option<u64>>) -> Sides {
        let sides = Path::ALL.into_iter().zip(ports).zip(rates_bps);
        Sides(sides.map(|((path, port), rate_bps)| LinkSide::new(path, port, rate_bps)).collect())
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, LinkSide> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, LinkSide> {
        self.0.iter_mut()
    }

    /// The paths that there are.
    #[inline]
    pub(super) fn paths(&self) -> impl Iterator<Item = Path> + use<> {
        Path::ALL.into_iter().take(self.0.len())
    }

    /// The other side, if there are two.
    pub(super) fn other(&self, path: Path) -> Option<&LinkSide> {
        self.0.get(path.other() as usize)
    }
}

impl Index<Path> for Sides {
    type Output = LinkSide;

    #[inline]
    fn index(&self, path: Path) -> &LinkSide {
        &self.0[path as usize]
    }
}

impl IndexMut<Path> for Sides {
    #[inline]
    fn index_mut(&mut self, path: Path) -> &mut LinkSide {
        &mut self.0[path as usize]
    }
}

/// The state of a port's interface at the start. A port opens only on one that is up; the watch reports at once what is different.
pub(super) fn at_start(port: &Port) -> InterfaceState {
    InterfaceState { mtu: port.mtu(), up: true, carrier: true }
}

/// The report of a port.
pub(super) fn port_report(
    side: Side,
    port: &mut Port,
    interface: InterfaceState,
    bypass: Option<&Bypass>,
) -> PortReport {
    let counters = port.counters();
    let (bypassed, bypass_failed_redirects) =
        bypass.map(|bypass| (bypass.counters(side), bypass.failed_redirects(side))).unwrap_or_default();
    PortReport {
        interface: port.name().to_owned(),
        description: port.description().to_owned(),
        xdp_mode: bypass.and_then(|bypass| match bypass.hook(side) {
            Hook::Xdp(mode) => Some(mode.to_string()),
            Hook::TrafficControl => None,
        }),
        steering: bypass.filter(|_| side == Side::Inner).and_then(Bypass::steering),
        mtu: interface.mtu,
        state: interface.into(),
        rx_frames: counters.rx_frames,
        rx_bytes: counters.rx_bytes,
        tx_frames: counters.tx_frames,
        tx_bytes: counters.tx_bytes,
        drops: counters.rx_dropped
            + counters.tx_dropped
            + counters.kernel.rx_dropped
            + counters.kernel.rx_invalid_descriptors
            + counters.kernel.tx_invalid_descriptors
            + counters.kernel.rx_ring_full
            + counters.kernel.rx_fill_ring_empty,
        bypassed_frames: bypassed.bypassed_frames,
        bypassed_bytes: bypassed.bypassed_bytes,
        bypass_drops: bypassed.dropped,
        bypass_failed_redirects,
        udp: port.udp_report(),
        // The handle reads what the kernel counts.
        ..PortReport::default()
    }
}
