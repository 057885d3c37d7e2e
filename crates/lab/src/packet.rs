//! Packet sockets on the hosts' interfaces.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use linkmend_diagnose::Diagnose;
use linkmend_linux::packet_socket;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::{Domain, Socket, Type};

use crate::namespace::{Namespace, NamespaceError};
use crate::topology::{HOST_INTERFACE, Lab, Role};

/// Receives frames of every EtherType (`ETH_P_ALL`).
pub(crate) const EVERY_PROTOCOL: u16 = libc::ETH_P_ALL as u16;
/// How long a receive call waits before the stop flag is checked.
const RECEIVE_SLICE: Duration = Duration::from_millis(20);

/// Why a packet socket could not be opened or used.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    /// A call failed.
    #[error("cannot {operation} on `{interface}` in `{namespace}`: {source}")]
    Socket {
        /// What was tried.
        operation: &'static str,
        interface: String,
        namespace: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// See [`NamespaceError`].
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
}

impl Diagnose for PacketError {
    fn hint(&self) -> Option<String> {
        match self {
            PacketError::Socket { .. } => Some("this requires CAP_NET_RAW".to_owned()),
            PacketError::Namespace(error) => error.hint(),
        }
    }
}

/// One side of a [`FramePath`].
#[derive(Clone, Debug)]
pub struct FramePort {
    /// Namespace of the interface.
    pub namespace: Namespace,
    /// Name of the interface.
    pub interface: String,
    /// Its MAC address.
    pub mac: [u8; 6],
}

impl FramePort {
    /// An interface of a laboratory; see [`Role::interfaces`].
    pub fn new(lab: &Lab, role: Role, interface: &str) -> Self {
        let namespace = lab.namespace(role).clone();
        Self { namespace, mac: role.mac(interface), interface: interface.to_owned() }
    }

    fn host(lab: &Lab, role: Role) -> Self {
        Self::new(lab, role, HOST_INTERFACE)
    }

    /// Sends frames as they are, without waiting for anything.
    ///
    /// # Errors
    /// [`PacketError::Socket`] with the kernel's reason, at the first frame that it does not take.
    pub fn inject(&self, frames: &[Vec<u8>]) -> Result<(), PacketError> {
        let socket = PacketSocket::sender(self, false)?;
        for frame in frames {
            socket.send(frame).map_err(|source| self.failed("send a frame", source))?;
        }
        Ok(())
    }

    pub(crate) fn failed(&self, operation: &'static str, source: io::Error) -> PacketError {
        let (interface, namespace) = (self.interface.clone(), self.namespace.name().to_owned());
        PacketError::Socket { operation, interface, namespace, source }
    }
}

/// The path of frames from one interface to another.
#[derive(Clone, Debug)]
pub struct FramePath {
    /// Where frames are sent.
    pub from: FramePort,
    /// Where frames should arrive.
    pub to: FramePort,
    /// MTU of both interfaces in bytes.
    pub mtu: u32,
}

impl FramePath {
    /// The path from h1 to h2.
    pub fn forward(lab: &Lab) -> Self {
        let (from, to) = (FramePort::host(lab, Role::Host1), FramePort::host(lab, Role::Host2));
        Self { from, to, mtu: lab.options().host_mtu }
    }

    /// The path from h2 to h1.
    pub fn backward(lab: &Lab) -> Self {
        let Self { from, to, mtu } = Self::forward(lab);
        Self { from: to, to: from, mtu }
    }
}

/// A raw packet socket bound to one interface.
pub(crate) struct PacketSocket(Socket);

impl PacketSocket {
    /// A socket that only sends. With `bypass`, frames skip the queueing discipline, which is faster, and a full device
    /// reports that it is full instead of dropping.
    pub(crate) fn sender(port: &FramePort, bypass: bool) -> Result<Self, PacketError> {
        let socket = Self::bound(port, 0, |_| Ok(()))?;
        if bypass {
            let set = packet_socket::set_option(socket.fd(), libc::PACKET_QDISC_BYPASS, 1);
            set.map_err(|source| port.failed("bypass the queue", source))?;
        }
        Ok(socket)
    }

    /// A socket that receives the frames of one EtherType, or of all, but never those that its own host sends.
    pub(crate) fn receiver(
        port: &FramePort,
        protocol: u16,
        buffer_bytes: usize,
    ) -> Result<Self, PacketError> {
        let prepare = |socket: &Socket| {
            let set = |name| packet_socket::set_option(socket.as_fd(), name, 1);
            set(libc::PACKET_AUXDATA)?;
            set(libc::PACKET_IGNORE_OUTGOING)?;
            // Exceeding the system's limit takes a privilege that an unprivileged namespace does not give.
            if setsockopt(socket, sockopt::RcvBufForce, &buffer_bytes).is_err() {
                socket.set_recv_buffer_size(buffer_bytes)?;
            }
            socket.set_read_timeout(Some(RECEIVE_SLICE))
        };
        Self::bound(port, protocol, prepare)
    }

    /// The receive buffer that the kernel granted. It counts frames with all their bookkeeping.
    pub(crate) fn receive_buffer_bytes(&self) -> usize {
        self.0.recv_buffer_size().unwrap_or(0)
    }

    /// Frames the kernel dropped since the last call because the receive buffer was full.
    pub(crate) fn take_drops(&self) -> io::Result<u64> {
        packet_socket::take_drops(self.fd())
    }

    /// Sends one frame.
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<usize> {
        self.0.send(frame)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Opens a socket with protocol 0, which receives nothing, and then binds it to protocol and interface in one step,
    /// so that it never receives a frame of another interface.
    fn bound(
        port: &FramePort,
        protocol: u16,
        prepare: impl FnOnce(&Socket) -> io::Result<()> + Send,
    ) -> Result<Self, PacketError> {
        let make = || {
            let socket = Socket::new(Domain::PACKET, Type::RAW, None)?;
            prepare(&socket)?;
            let index = nix::net::if_::if_nametoindex(port.interface.as_str())?;
            packet_socket::bind(socket.as_fd(), index, protocol)?;
            Ok(Self(socket))
        };
        port.namespace.run(make)?.map_err(|source| port.failed("open a packet socket", source))
    }
}
