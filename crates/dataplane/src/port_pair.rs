//! The ports of a link end, with the pool that they share and the bypass between them.

use crate::bypass::{self, Bypass, BypassOptions};
use crate::frame_pool::{FramePool, PoolOptions};
use crate::port::{Interface, PacketPort, Port, PortError, XdpPort};
use linkmend_protocol::daemon_profile::{LENT_CHUNKS_MAX, POOL_CHUNKS_DEFAULT};
use linkmend_protocol::paths::Path;
use std::sync::Arc;

/// The largest number of chunks that a third port, to a second link, lends to the kernel for receiving.
pub const BACKUP_CHUNKS_MAX: u32 = crate::port::FILL_TARGET as u32;
const _: () = assert!(
    LENT_CHUNKS_MAX as usize == 2 * crate::port::FILL_TARGET,
    "the profile knows what two ports lend"
);

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
    /// The state in which the bypass starts.
    pub bypass: BypassOptions,
}

impl Default for PortPairOptions {
    fn default() -> Self {
        PortPairOptions {
            choice: PortChoice::Auto,
            chunks: POOL_CHUNKS_DEFAULT,
            bypass: BypassOptions::default(),
        }
    }
}

/// The two ports, or three with a second link; see the module documentation.
pub struct PortPair {
    /// `None` with AF_PACKET ports: nothing forwards then when the process is gone. It comes first, because it is to be
    /// dropped before the interfaces.
    pub bypass: Option<Bypass>,
    /// The port that faces the host.
    pub inner: Port,
    /// The port that faces the corrupting link.
    pub link: Port,
    /// The port that faces a second link, if there is one.
    pub backup: Option<Port>,
    /// Why the ports are AF_PACKET ports although AF_XDP was wanted.
    pub fell_back: Option<PortError>,
    /// The frames of all ports.
    pub pool: FramePool,
}

impl PortPair {
    /// Opens both ports.
    ///
    /// # Errors
    /// See [`PortError`]. With [`PortChoice::Auto`], an error that would not affect AF_PACKET ports leads to AF_PACKET
    /// ports instead, and their description names it.
    pub fn open(inner: &str, link: &str, options: &PortPairOptions) -> Result<Self, PortError> {
        Self::open_all(inner, link, None, options)
    }

    /// Opens both ports, and that of a second link.
    ///
    /// # Errors
    /// As [`PortPair::open`].
    pub fn open_all(
        inner: &str,
        link: &str,
        backup: Option<&str>,
        options: &PortPairOptions,
    ) -> Result<Self, PortError> {
        let mut pair = Self::open_on_trial(inner, link, backup, options)?;
        pair.bypass.iter_mut().for_each(Bypass::keep);
        Ok(pair)
    }

    /// Like [`PortPair::open_all`]; the bypass goes again when it is dropped, until [`Bypass::keep`].
    pub(crate) fn open_on_trial(
        inner: &str,
        link: &str,
        backup: Option<&str>,
        options: &PortPairOptions,
    ) -> Result<Self, PortError> {
        let error = match options.choice {
            PortChoice::Packet => return Self::open_packet(inner, link, backup, options, None),
            PortChoice::Xdp => return Self::open_xdp(inner, link, backup, options),
            PortChoice::Auto => match Self::open_xdp(inner, link, backup, options) {
                Ok(pair) => return Ok(pair),
                Err(
                    error @ (PortError::System { .. }
                    | PortError::ProgramRefused { .. }
                    | PortError::TooManyQueues { .. }),
                ) => error,
                Err(error) => return Err(error),
            },
        };
        Self::open_packet(inner, link, backup, options, Some(error))
    }

    /// The ports, from the inner one to that of a second link.
    pub fn ports(&self) -> impl Iterator<Item = &Port> {
        [&self.inner, &self.link].into_iter().chain(&self.backup)
    }

    /// Transmissions that the kernel has not finished, in chunks.
    pub fn in_flight(&self) -> usize {
        self.ports().map(Port::in_flight).sum()
    }

    /// The port of one of the links; that of the first where there is one link.
    #[inline]
    pub fn on(&self, path: Path) -> &Port {
        match (path, &self.backup) {
            (Path::Backup, Some(backup)) => backup,
            _ => &self.link,
        }
    }

    fn open_xdp(
        inner: &str,
        link: &str,
        backup: Option<&str>,
        options: &PortPairOptions,
    ) -> Result<Self, PortError> {
        let acquire = |name| Interface::acquire(name).map(Arc::new);
        let (inner, link, backup) = (acquire(inner)?, acquire(link)?, backup.map(acquire).transpose()?);
        for interface in [&inner, &link].into_iter().chain(&backup) {
            XdpPort::check_queues(interface)?;
        }
        let mtu = longest(&inner, &link, backup.as_deref());
        let mut pool = FramePool::new(PoolOptions::for_mtu(mtu, options.chunks))?;
        // The program comes first: some drivers require one before they accept a zero-copy socket. It forwards by
        // itself until the sockets are connected.
        let bypass = Bypass::attach(&inner, &link, backup.as_ref(), &options.bypass)?;
        let inner = XdpPort::open(inner, &mut pool)?;
        let link = XdpPort::open(link, &mut pool)?;
        let backup = backup.map(|backup| XdpPort::open(backup, &mut pool)).transpose()?;
        bypass.connect(&inner, &link, backup.as_ref())?;
        let (inner, link, backup) = (Port::Xdp(inner), Port::Xdp(link), backup.map(Port::Xdp));
        Ok(PortPair { inner, link, backup, bypass: Some(bypass), fell_back: None, pool })
    }

    fn open_packet(
        inner: &str,
        link: &str,
        backup: Option<&str>,
        options: &PortPairOptions,
        fell_back: Option<PortError>,
    ) -> Result<Self, PortError> {
        let reason = fell_back.as_ref().map_or_else(|| "as asked".to_owned(), reason_of);
        let inner = Interface::acquire(inner)?;
        let link = Interface::acquire(link)?;
        let backup = backup.map(Interface::acquire).transpose()?;
        let mtu = longest(&inner, &link, backup.as_ref());
        let pool = FramePool::new(PoolOptions::for_mtu(mtu, options.chunks))?;
        let open = |interface| PacketPort::open(interface, &reason).map(Port::Packet);
        let (inner, link, backup) = (open(inner)?, open(link)?, backup.map(open).transpose()?);
        // A program left by an earlier run would take the frames before our sockets see them.
        for port in [&inner, &link].into_iter().chain(&backup) {
            bypass::remove(port.interface())?;
        }
        Ok(PortPair { bypass: None, inner, link, backup, fell_back, pool })
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
        let (inner, link) = (open(inner, 1)?, open(link, 2)?);
        Ok(PortPair { inner, link, backup: None, bypass: None, fell_back: None, pool })
    }
}

/// The longest MTU of the ports.
fn longest(inner: &Interface, link: &Interface, backup: Option<&Interface>) -> u32 {
    [inner, link].into_iter().chain(backup).map(|interface| interface.mtu).fold(0, u32::max)
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
