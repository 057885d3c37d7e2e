//! The path of TCP traffic, and how its sockets are opened.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use linkmend_diagnose::{Diagnose, ParameterError};
use socket2::{Domain, Protocol, Socket, Type};

use crate::namespace::{Namespace, NamespaceError};
use crate::topology::{Lab, Role};

/// The longest time that a blocking socket call waits before the stop flag is checked.
pub(super) const IO_SLICE: Duration = Duration::from_millis(50);
const BACKLOG: i32 = 128;

/// Why a TCP measurement did not take place.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// An option is out of its range.
    #[error("{} = {} cannot be used: {}", .0.parameter, .0.value, .0.requirement)]
    Option(ParameterError),
    /// The kernel does not have the congestion control.
    #[error("congestion control `{name}` is not available: {source}")]
    CongestionControl {
        /// What was asked for.
        name: String,
        /// The ones that are available, separated by spaces.
        available: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A socket call failed.
    #[error("cannot {operation} a TCP socket in `{namespace}`: {source}")]
    Socket {
        /// What was tried.
        operation: &'static str,
        namespace: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// No connection could be established.
    #[error("no TCP connection from `{client}` to {server} within {waited:?}")]
    Unreachable {
        /// Namespace of the client.
        client: String,
        /// Address of the server.
        server: SocketAddr,
        /// How long it was tried.
        waited: Duration,
    },
    /// The stop flag was raised before anything could be measured.
    #[error("stopped before the measurement began")]
    Stopped,
    /// A thread could not be started, or panicked.
    #[error("the {name} thread did not finish: {reason}")]
    Thread { name: &'static str, reason: String },
    /// See [`NamespaceError`].
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
}

impl Diagnose for TcpError {
    fn hint(&self) -> Option<String> {
        match self {
            TcpError::CongestionControl { available, .. } => Some(format!("this kernel has {available}")),
            TcpError::Unreachable { .. } => Some("is the path between the link ends up?".to_owned()),
            TcpError::Namespace(error) => error.hint(),
            _ => None,
        }
    }
}

/// The locations of a client and a server.
#[derive(Clone, Debug)]
pub struct TrafficPath {
    /// The namespace in which connections are opened.
    pub client: Namespace,
    /// The namespace in which connections are accepted.
    pub server: Namespace,
    /// The server's address.
    pub address: IpAddr,
}

impl TrafficPath {
    /// From h1 to h2 over IPv4.
    pub fn ipv4(lab: &Lab) -> Self {
        Self::between(lab, Role::Host1, Role::Host2.ipv4())
    }

    /// From h1 to h2 over IPv6.
    pub fn ipv6(lab: &Lab) -> Self {
        Self::between(lab, Role::Host1, Role::Host2.ipv6())
    }

    fn between(lab: &Lab, client: Role, address: Option<IpAddr>) -> Self {
        let address = address.unwrap_or(IpAddr::from([10, 77, 0, 2]));
        let (client, server) = (lab.namespace(client).clone(), lab.namespace(Role::Host2).clone());
        Self { client, server, address }
    }

    /// A listening, non-blocking socket of the server on a free port, and its address.
    pub(super) fn listen(&self) -> Result<(Socket, SocketAddr), TcpError> {
        let make = || {
            let socket = self.new_socket()?;
            socket.bind(&SocketAddr::new(self.address, 0).into())?;
            socket.listen(BACKLOG)?;
            socket.set_nonblocking(true)?;
            let address = socket.local_addr()?.as_socket();
            address.map(|address| (socket, address)).ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
        };
        self.server.run(make)?.map_err(|source| self.failed("listen on", &self.server, source))
    }

    /// An unconnected socket of the client, to be used on a thread inside its namespace. Its connection ends with a
    /// reset, so that it does not outlive the measurement: no FIN exchange extends into the next flow, and TIME_WAIT
    /// does not use the ports up.
    pub(super) fn client_socket(&self, congestion_control: Option<&str>) -> Result<Socket, TcpError> {
        let make = || {
            let socket = self.new_socket()?;
            socket.set_linger(Some(Duration::ZERO))?;
            socket.set_tcp_nodelay(true)?;
            Ok(socket)
        };
        let socket = make().map_err(|source| self.failed("make", &self.client, source))?;
        if let Some(name) = congestion_control {
            socket.set_tcp_congestion(name.as_bytes()).map_err(|source| {
                let available = available_congestion_controls(&self.client).unwrap_or_default().join(" ");
                TcpError::CongestionControl { name: name.to_owned(), available, source }
            })?;
        }
        Ok(socket)
    }

    pub(super) fn failed(
        &self,
        operation: &'static str,
        namespace: &Namespace,
        source: io::Error,
    ) -> TcpError {
        TcpError::Socket { operation, namespace: namespace.name().to_owned(), source }
    }

    fn new_socket(&self) -> io::Result<Socket> {
        let domain = if self.address.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
    }
}

/// The congestion controls that the kernel offers in `namespace`.
///
/// # Errors
/// [`NamespaceError`] if the namespace cannot be entered. A kernel that does not say offers none.
pub fn available_congestion_controls(namespace: &Namespace) -> Result<Vec<String>, NamespaceError> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let text = namespace.run(|| std::fs::read_to_string(path))?.unwrap_or_default();
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Starts a named thread.
pub(super) fn start<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<std::thread::JoinHandle<T>, TcpError> {
    let failed = |error: io::Error| TcpError::Thread { name, reason: error.to_string() };
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(failed)
}

/// Waits for a thread that was told to end.
pub(super) fn join<T>(name: &'static str, thread: std::thread::JoinHandle<T>) -> Result<T, TcpError> {
    thread.join().map_err(|_| TcpError::Thread { name, reason: "it panicked".to_owned() })
}
