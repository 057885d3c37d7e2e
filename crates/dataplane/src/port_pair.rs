//! The ports of a link end, with the pool that they share and the bypass between them.

use crate::bypass::{self, Bypass, BypassOptions, Diversion};
use crate::frame_pool::{FramePool, PoolOptions};
use crate::port::{
    Interface, OffloadPort, PacketPort, Port, PortError, Trust, UdpPort, UdpPortOptions, UdpSettings, XdpPort,
};
use crate::udp_link::UdpLink;
use linkmend_linux::route::XdpMode;
use linkmend_linux::xdp_features::xdp_features;
use linkmend_protocol::daemon_profile::{LENT_CHUNKS_MAX, POOL_CHUNKS_DEFAULT};
use linkmend_tunnel::KEY_BYTES;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// The largest number of chunks that a port lends to the kernel for receiving. The pool of two links has so many more.
pub(crate) const PORT_CHUNKS_MAX: u32 = crate::port::FILL_TARGET as u32;
const _: () = assert!(LENT_CHUNKS_MAX == 2 * PORT_CHUNKS_MAX, "the profile knows what two ports lend");

/// Which kind of socket to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortChoice {
    /// AF_XDP, or AF_PACKET where AF_XDP is not available.
    #[default]
    Auto,
    /// AF_XDP or an error.
    Xdp,
    Packet,
}

/// How to open a [`PortPair`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortPairOptions {
    /// Kind of socket.
    pub choice: PortChoice,
    /// Chunks of the frame pool. Two AF_XDP ports lend up to [`LENT_CHUNKS_MAX`] of them to the kernel.
    pub chunks: u32,
    /// Let the host at the inner port leave segmentation and checksums to it. Requires links over AF_XDP or UDP.
    pub offloads: bool,
    /// Let the peer of a link over UDP have a public address, although nothing is encrypted.
    pub insecure: bool,
    /// Whether the rate of links over UDP is that of the congestion control.
    pub is_controlled: bool,
    /// With what the datagrams of links over UDP are encrypted.
    pub udp_key: Option<[u8; KEY_BYTES]>,
    /// The state in which the bypass starts.
    pub bypass: BypassOptions,
}

impl Default for PortPairOptions {
    fn default() -> Self {
        PortPairOptions {
            choice: PortChoice::Auto,
            chunks: POOL_CHUNKS_DEFAULT,
            offloads: false,
            insecure: false,
            is_controlled: false,
            udp_key: None,
            bypass: BypassOptions::default(),
        }
    }
}

/// The two ports, or three with two links; see the module documentation.
pub struct PortPair {
    /// `None` with AF_PACKET ports: nothing forwards then when the process is gone. It comes first, because it is to be
    /// dropped before the interfaces.
    pub bypass: Option<Bypass>,
    /// The port that faces the host.
    pub inner: Port,
    /// The ports that face the corrupting link, or each of two, in the order of their [`Path`](linkmend_protocol::paths::Path).
    pub links: Vec<Port>,
    /// Why the ports are AF_PACKET ports although AF_XDP was wanted.
    pub fell_back: Option<PortError>,
    /// The frames of all ports.
    pub pool: FramePool,
}

impl PortPair {
    /// Opens the inner port, and those of one or two links, each an interface or a [`UdpLink`].
    ///
    /// # Errors
    /// See [`PortError`]. With [`PortChoice::Auto`], an error that would not affect AF_PACKET ports leads to AF_PACKET
    /// ports instead, and their description names it.
    ///
    /// # Panics
    /// If there are neither one link nor two.
    pub fn open(inner: &str, links: &[&str], options: &PortPairOptions) -> Result<Self, PortError> {
        let mut pair = Self::open_on_trial(inner, links, options)?;
        pair.bypass.iter_mut().for_each(Bypass::keep);
        Ok(pair)
    }

    /// Like [`PortPair::open`]; the bypass goes again when it is dropped, until [`Bypass::keep`].
    pub(crate) fn open_on_trial(
        inner: &str,
        links: &[&str],
        options: &PortPairOptions,
    ) -> Result<Self, PortError> {
        assert!(matches!(links.len(), 1 | 2), "a link end has one link or two");
        let names = [&[inner], links].concat();
        let error = match options.choice {
            _ if links.iter().any(|link| UdpLink::is_meant(link)) => {
                return Self::open_packet(&names, options, "a link is one over UDP", None);
            }
            // A host with its offloads on sends nothing that other ports could take.
            _ if options.offloads => return Self::open_xdp(&names, options),
            PortChoice::Packet => return Self::open_packet(&names, options, "as asked", None),
            PortChoice::Xdp => return Self::open_xdp(&names, options),
            PortChoice::Auto => match Self::open_xdp(&names, options) {
                Ok(pair) => return Ok(pair),
                Err(
                    error @ (PortError::System { .. }
                    | PortError::ProgramRefused { .. }
                    | PortError::TooManyQueues { .. }),
                ) => error,
                Err(error) => return Err(error),
            },
        };
        Self::open_packet(&names, options, &reason_of(&error), Some(error))
    }

    fn open_xdp(names: &[&str], options: &PortPairOptions) -> Result<Self, PortError> {
        let acquire = |name: &&str| Interface::acquire(name).map(Arc::new);
        let interfaces = names.iter().map(acquire).collect::<Result<Vec<_>, _>>()?;
        let through_xdp = &interfaces[usize::from(options.offloads)..];
        through_xdp.iter().try_for_each(|interface| XdpPort::check_queues(interface))?;
        // The program comes first: some drivers require one before they accept a zero-copy socket. It forwards by
        // itself until the sockets are connected.
        let bypass = BypassOptions { offloads: options.offloads, ..options.bypass };
        let bypass = Bypass::attach(&interfaces, &bypass)?;
        let is_native = bypass.xdp_mode() == XdpMode::Native;
        let is_zero_copy = is_native && through_xdp.iter().any(|interface| may_be_zero_copy(interface));
        let mut pool = pool(interfaces.iter().map(|interface| &**interface), options, is_zero_copy)?;
        let mut receivers = Vec::with_capacity(interfaces.len());
        let mut ports = Vec::with_capacity(interfaces.len());
        for (place, interface) in interfaces.into_iter().enumerate() {
            if place == 0 && options.offloads {
                let port = OffloadPort::open(interface)?;
                receivers.push(vec![port.tap_index()]);
                ports.push(Port::Offload(port));
            } else {
                let port = XdpPort::open(interface, &mut pool, is_native)?;
                receivers.push(port.sockets().map(|socket| socket.as_raw_fd() as u32).collect());
                ports.push(Port::Xdp(port));
            }
        }
        bypass.connect(&receivers)?;
        Ok(PortPair { bypass: Some(bypass), inner: ports.remove(0), links: ports, fell_back: None, pool })
    }

    fn open_packet(
        names: &[&str],
        options: &PortPairOptions,
        reason: &str,
        fell_back: Option<PortError>,
    ) -> Result<Self, PortError> {
        let settings = UdpSettings {
            trust: Trust { key: options.udp_key, insecure: options.insecure },
            is_controlled: options.is_controlled,
        };
        let mut interfaces: Vec<Interface> = Vec::with_capacity(names.len());
        for (place, name) in names.iter().enumerate() {
            interfaces.push(match interfaces.first().filter(|_| UdpLink::is_meant(name)) {
                Some(inner) => UdpPort::interface_for(&UdpPortOptions { name, place, inner })?,
                None => Interface::acquire(name)?,
            });
        }
        let pool = pool(interfaces.iter(), options, false)?;
        let mut ports = Vec::with_capacity(names.len());
        for (place, (interface, name)) in interfaces.into_iter().zip(names).enumerate() {
            if UdpLink::is_meant(name) {
                let malformed = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
                let link = UdpLink::parse(name).map_err(malformed);
                let link = link.map_err(PortError::system(name, "reading the link"))?;
                ports.push(Port::Udp(Box::new(UdpPort::open(&link, interface, settings, &pool)?)));
            } else if place == 0 && options.offloads {
                let interface = Arc::new(interface);
                let port = OffloadPort::open(Arc::clone(&interface))?;
                let diversion = Diversion::attach(interface, port.tap_index())?;
                ports.push(Port::Offload(port.fed_by(diversion)));
            } else {
                ports.push(Port::Packet(PacketPort::open(interface, reason)?));
            }
        }
        // A program left by an earlier run would take the frames before our sockets see them.
        for port in ports.iter().filter(|port| matches!(port, Port::Packet(_))) {
            bypass::remove(port.interface())?;
        }
        Ok(PortPair { bypass: None, inner: ports.remove(0), links: ports, fell_back, pool })
    }
}

/// Ports in memory, for benchmarks.
#[cfg(feature = "bench")]
impl PortPair {
    pub(crate) fn in_memory(inner: &str, link: &str, mtu: u32, chunks: u32) -> Result<Self, PortError> {
        use crate::port::MemoryPort;
        let mut pool = FramePool::new(PoolOptions::for_mtu(mtu, chunks))?;
        let mut open = |name, index| {
            let mut port = MemoryPort::open(name, index, mtu)?;
            port.reclaim(&mut pool);
            Ok::<Port, PortError>(Port::Memory(port))
        };
        let (inner, links) = (open(inner, 1)?, vec![open(link, 2)?]);
        Ok(PortPair { bypass: None, inner, links, fell_back: None, pool })
    }
}

/// A pool for frames of the longest MTU of the ports.
fn pool<'a>(
    interfaces: impl Iterator<Item = &'a Interface>,
    options: &PortPairOptions,
    is_zero_copy: bool,
) -> Result<FramePool, PortError> {
    let mtu = interfaces.map(|interface| interface.mtu).fold(0, u32::max);
    let size = PoolOptions::for_mtu(mtu, options.chunks);
    Ok(FramePool::new(if is_zero_copy { size.for_zero_copy() } else { size })?)
}

/// Whether a driver has zero-copy sockets, or a kernel is too old to say.
fn may_be_zero_copy(interface: &Interface) -> bool {
    xdp_features(interface.index).map_or(true, |features| features.zero_copy())
}

fn reason_of(error: &PortError) -> String {
    let mut reason = format!("no AF_XDP: {error}");
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        reason.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    reason
}

#[cfg(test)]
#[path = "port_pair_tests.rs"]
mod tests;
