//! Ports of links over UDP: `linkmend-tunnel` makes a queue out of the path, and this port gives it a socket.

use super::channel::Channel;
use super::error::OPEN_UDP;
use super::lookup::Lookup;
use super::{Interface, PortCounters, PortError, QueueFull};
use crate::clock;
use crate::frame_pool::{FRAME_OVERHEAD_BYTES, FrameHandle, FramePool};
use crate::udp_link::UdpLink;
use linkmend_control::report::{CongestionReport, UdpReport};
use linkmend_linux::udp_socket::UdpSocket;
use linkmend_protocol::wire::SEALED_GROWTH_MAX;
use linkmend_tunnel::wire::{DATAGRAM_BYTES_MAX, FRAME_BYTES_MAX, HEADER_BYTES, RECORD_BYTES};
use linkmend_tunnel::{
    Allowance, CongestionState, Endpoint, EndpointConfig, Handled, Identity, KEY_BYTES, Reach, Role,
    SEAL_BYTES, Secure,
};
use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// By how much the MTU of the port is above that of the inner port: room for every header of the protocol. The path need
/// not take such frames, because they are split.
const HEADROOM_BYTES: u32 = 20;
const _: () = assert!(SEALED_GROWTH_MAX <= HEADROOM_BYTES as usize);
/// The largest MTU: frames of it are the longest that the tunnel carries.
const MTU_MAX: u32 = FRAME_BYTES_MAX as u32 - FRAME_OVERHEAD_BYTES;
/// Memory of the socket in each direction: what arrives at 1 Gbit/s while the loop does not run for 50 ms.
const SOCKET_BUFFER_BYTES: usize = 8 << 20;
/// What a datagram adds to a frame on the wire, as the shaper counts: the headers of the tunnel, UDP, IPv4 and Ethernet.
const OVERHEAD_BYTES: u64 = (HEADER_BYTES + RECORD_BYTES + 8 + 20 + 14) as u64;
/// How often at most the log says that the peer has moved: some NATs and balancers never stop changing its address.
const LOG_MOVED_NS: u64 = 10_000_000_000;
/// The bit of a MAC address that says that it is not the manufacturer's.
const LOCAL_BIT: u8 = 2;

/// What the place of the network device of a [`UdpPort`] is taken from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UdpPortOptions<'a> {
    /// The text of the link, which becomes the port's name.
    pub(crate) name: &'a str,
    /// Which of the link end's links it is.
    pub(crate) place: usize,
    pub(crate) inner: &'a Interface,
}

/// Whom a port over UDP accepts as its peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trust {
    /// With which datagrams are encrypted.
    pub(crate) key: Option<[u8; KEY_BYTES]>,
    /// Whether the peer may have a public address without a key.
    pub(crate) insecure: bool,
}

/// What a socket is opened with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UdpSettings {
    pub(crate) trust: Trust,
    /// Whether the rate is that of the congestion control.
    pub(crate) is_controlled: bool,
}

impl Trust {
    fn reach(self) -> Reach {
        if self.insecure || self.key.is_some() { Reach::Anywhere } else { Reach::Near }
    }
}

/// A port whose link is a path of the Internet.
pub struct UdpPort {
    interface: Interface,
    description: String,
    channel: Channel,
    endpoint: Endpoint,
    reach: Reach,
    lookup: Option<Lookup>,
    /// Frames that were read and not handed out yet: a datagram may carry many.
    pending: VecDeque<FrameHandle>,
    /// The number of chunks that the longest frame takes.
    chunks_per_frame: usize,
    counters: PortCounters,
    log_moved_at_ns: u64,
}

impl UdpPort {
    /// What stands for a network device.
    ///
    /// # Errors
    /// [`PortError::MtuTooLarge`], naming the inner port.
    pub(crate) fn interface_for(options: &UdpPortOptions<'_>) -> Result<Interface, PortError> {
        let UdpPortOptions { name, place, inner } = *options;
        let mtu = inner.mtu + HEADROOM_BYTES;
        if mtu > MTU_MAX {
            let limit = MTU_MAX - HEADROOM_BYTES;
            return Err(PortError::MtuTooLarge { interface: inner.name.clone(), mtu: inner.mtu, limit });
        }
        let mut mac = inner.mac;
        mac[0] |= LOCAL_BIT;
        mac[5] ^= place as u8;
        Interface::without_device(name, 0, mtu, mac)
    }

    /// Opens the socket.
    ///
    /// # Errors
    /// [`PortError::System`], for example if the UDP port is taken.
    pub(crate) fn open(
        link: &UdpLink,
        interface: Interface,
        settings: UdpSettings,
        pool: &FramePool,
    ) -> Result<UdpPort, PortError> {
        let UdpSettings { trust, is_controlled } = settings;
        let failed = |step| PortError::system(&interface.name, step);
        let now = clock::now_ns();
        let (identity, first_index) = identity().map_err(failed("drawing random numbers"))?;
        let reach = trust.reach();
        let (role, local_port) = match link {
            UdpLink::Listen { port } => (Role::Listens, *port),
            UdpLink::Call { .. } => (Role::Calls, 0),
        };
        let secure = trust.key.map(|key| Secure::new(key, role, first_index));
        let seal_bytes = secure.as_ref().map_or(0, |_| SEAL_BYTES);
        let mut endpoint =
            Endpoint::new(now, &EndpointConfig { identity, role, reach, is_controlled, seal_bytes });
        let mut lookup = None;
        if let UdpLink::Call { host, port } = link {
            match host.parse::<IpAddr>() {
                Ok(address) => endpoint.expect_at(now, [SocketAddr::new(address, *port)]),
                Err(_) => {
                    lookup =
                        Some(Lookup::start(host, *port).map_err(failed("starting the lookup's thread"))?);
                }
            }
        }
        let socket = open_socket(local_port).map_err(failed(OPEN_UDP))?;
        let encrypted = if trust.key.is_some() { ", encrypted" } else { "" };
        let description = match link {
            UdpLink::Listen { port } => format!("UDP, port {port}{encrypted}"),
            UdpLink::Call { .. } => format!("UDP{encrypted}"),
        };
        Ok(UdpPort {
            chunks_per_frame: pool.chunks_for(interface.frame_bytes()),
            interface,
            description,
            channel: Channel::new(socket, secure),
            endpoint,
            reach,
            lookup,
            pending: VecDeque::new(),
            counters: PortCounters::default(),
            log_moved_at_ns: 0,
        })
    }

    pub(crate) fn receive(
        &mut self,
        pool: &mut FramePool,
        out: &mut Vec<FrameHandle>,
        budget: usize,
    ) -> usize {
        let now = clock::now_ns();
        self.look_up(now);
        {
            let UdpPort { endpoint, pending, counters, .. } = self;
            endpoint.handle_timeout(now, &mut |bytes| take(pool, pending, counters, bytes));
        }
        while self.pending.len() < budget && self.read(now, pool) {}
        let count = budget.min(self.pending.len());
        out.extend(self.pending.drain(..count));
        count
    }

    /// Reads a batch of datagrams. Returns whether there may be more.
    fn read(&mut self, now: u64, pool: &mut FramePool) -> bool {
        let UdpPort { channel, endpoint, pending, counters, log_moved_at_ns, interface, .. } = self;
        let link = &interface.name;
        channel.receive(now, |from, datagram, is_marked| {
            let mut deliver = |bytes: &[u8]| take(pool, pending, counters, bytes);
            match endpoint.handle_datagram(now, from, datagram, is_marked, &mut deliver) {
                Handled::Usual => {}
                Handled::NewPeer(address) => tracing::info!(link, %address, "the peer has answered over UDP"),
                Handled::Moved(address) if now >= *log_moved_at_ns => {
                    *log_moved_at_ns = now + LOG_MOVED_NS;
                    tracing::info!(link, %address, "the peer's address has changed");
                }
                Handled::Moved(_) => {}
            }
        })
    }

    /// Looks for the peer's addresses, as long as it is silent.
    fn look_up(&mut self, now: u64) {
        let Some(lookup) = &mut self.lookup else { return };
        let Some(found) = lookup.poll(now, self.endpoint.is_silent(now)) else { return };
        let link = &self.interface.name;
        match found {
            Ok(all) => {
                let usable = || all.iter().copied().filter(|address| self.reach.includes(address.ip()));
                if usable().next().is_none() {
                    let addresses = all.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(", ");
                    tracing::warn!(
                        link,
                        addresses,
                        "the peer's name leads to no address that may be called; hint: public ones need a key (--key), or --insecure"
                    );
                }
                self.endpoint.expect_at(now, usable());
            }
            Err(error) => tracing::warn!(link, %error, "cannot look up the peer; it is tried again"),
        }
    }

    /// Whether frames that were read have not been received yet.
    pub(crate) fn holds_frames(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Which frames the congestion control lets go now.
    pub(crate) fn allowance(&self) -> Allowance {
        self.endpoint.allowance()
    }

    /// When it lets more go, if that is known.
    pub(crate) fn opens_at(&self) -> Option<u64> {
        self.endpoint.opens_at()
    }

    /// The round trip, where what waits in front of this port tells how much the path carries: with a congestion control that
    /// knows it.
    pub(crate) fn settled_round_trip_ns(&self) -> Option<u64> {
        self.endpoint.congestion().filter(|congestion| congestion.is_settled())?.round_trip_ns()
    }

    /// When the port is to be served although nothing has arrived.
    pub(crate) fn next_timeout(&self) -> u64 {
        self.endpoint.next_timeout()
    }

    pub(crate) fn overhead_bytes(&self) -> u64 {
        OVERHEAD_BYTES + if self.channel.is_sealed() { SEAL_BYTES as u64 } else { 0 }
    }

    /// The longest frame that is not split.
    pub(crate) fn whole_frame_bytes(&self) -> usize {
        self.endpoint.whole_frame_bytes()
    }

    pub(crate) fn send(&mut self, pool: &mut FramePool, frame: FrameHandle) -> Result<(), QueueFull> {
        let bytes = pool.frame_length(frame);
        let taken = match self.endpoint.push(bytes, pool.segments(frame)) {
            // Without a peer the path is a cable that leads nowhere.
            Ok(_) => true,
            Err(_) if bytes > FRAME_BYTES_MAX => false,
            Err(_) => {
                self.counters.tx_queue_full += 1;
                return Err(QueueFull);
            }
        };
        self.counters.tx_frames += 1;
        self.counters.tx_bytes += bytes as u64;
        self.counters.tx_dropped += u64::from(!taken);
        Ok(())
    }

    pub(crate) fn end_datagram(&mut self) {
        self.endpoint.close();
    }

    /// Sends what waits, as far as the kernel takes it. What it refuses is lost, as on a path without this port.
    pub(crate) fn flush(&mut self, _pool: &mut FramePool) -> Result<(), PortError> {
        self.send_control();
        self.send_frames();
        Ok(())
    }

    /// The frames were copied when they were sent.
    pub(crate) fn reclaim(&mut self, _pool: &mut FramePool) {}

    fn send_control(&mut self) {
        let now = clock::now_ns();
        if self.channel.answer() {
            self.endpoint.call_at_once(now);
        }
        let mut too_long = None;
        while let Some((to, datagram)) = self.endpoint.poll_control() {
            match self.channel.send(now, to, false, [datagram]) {
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => too_long = Some(datagram.len()),
                Ok(_) | Err(_) => {}
            }
        }
        if let Some(bytes) = too_long {
            self.endpoint.handle_too_long(now, bytes);
        }
    }

    fn send_frames(&mut self) {
        self.endpoint.close();
        while self.endpoint.waiting() > 0 {
            let Some(to) = self.endpoint.peer() else { return };
            let markable = self.endpoint.is_markable();
            match self.channel.send(clock::now_ns(), to, markable, self.endpoint.datagrams()) {
                Ok(0) => return,
                Ok(sent) => self.endpoint.handle_sent(clock::now_ns(), sent),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) => return,
                    Some(libc::EMSGSIZE) => {
                        let bytes = self.endpoint.datagrams().next().map_or(0, <[u8]>::len);
                        self.endpoint.handle_too_long(clock::now_ns(), bytes);
                        self.drop_unsent(1);
                    }
                    Some(libc::ENOBUFS) => self.drop_unsent(1),
                    // There is no way to the peer, so the others cannot leave either.
                    _ => self.drop_unsent(self.endpoint.waiting()),
                },
            }
        }
    }

    fn drop_unsent(&mut self, datagrams: usize) {
        self.counters.tx_dropped += datagrams as u64;
        self.endpoint.drop_first(datagrams);
    }

    pub(crate) fn transmit_room(&self) -> usize {
        self.endpoint.room(self.interface.frame_bytes()) * self.chunks_per_frame
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.endpoint.waiting()
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }

    pub(crate) fn counters(&mut self) -> PortCounters {
        let mut counters = self.counters;
        counters.kernel.rx_ring_full = self.channel.drops();
        counters
    }

    /// What is known of the path and the peer.
    pub(crate) fn report(&self) -> UdpReport {
        let counters = self.endpoint.counters();
        let now = clock::now_ns();
        UdpReport {
            peer: self.endpoint.peer().map(|address| address.to_string()),
            is_silent: self.endpoint.is_silent(now),
            datagram_bytes: self.endpoint.datagram_bytes() as u64,
            round_trip_ns: self.endpoint.round_trip_ns(),
            congestion: self.endpoint.congestion().map(|congestion| congestion_report(&congestion.state())),
            reordering_wait_ns: self.endpoint.wait_ns(),
            is_encrypted: self.channel.is_sealed(),
            forged_datagrams: self.channel.refused(),
            sent_datagrams: self.channel.sent,
            received_datagrams: counters.datagrams,
            lost_datagrams: counters.lost,
            reordered_datagrams: counters.reordered,
            late_datagrams: counters.late,
            duplicate_datagrams: counters.duplicates,
            marked_datagrams: counters.marked,
            malformed_datagrams: counters.malformed,
            strange_datagrams: counters.strangers,
            refused_datagrams: counters.refused_addresses,
            split_frames: counters.split_frames,
            incomplete_frames: counters.incomplete_frames,
            address_changes: counters.roamed,
            peers_met: counters.sessions,
        }
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    pub(crate) fn description(&self) -> &str {
        &self.description
    }
}

fn congestion_report(state: &CongestionState) -> CongestionReport {
    let bits = |bytes: u64| bytes.saturating_mul(8);
    CongestionReport {
        window_bytes: state.window_bytes,
        in_flight_bytes: state.in_flight_bytes,
        pace_bps: bits(state.pace),
        delivered_bps: bits(state.bandwidth),
        queue_ns: state.queue_ns,
        path_loss_ppm: (state.path_loss * 1e6) as u64,
        has_others: state.has_others,
        is_markable: state.is_markable,
    }
}

/// Takes a frame from the tunnel.
fn take(
    pool: &mut FramePool,
    pending: &mut VecDeque<FrameHandle>,
    counters: &mut PortCounters,
    bytes: &[u8],
) {
    match pool.copy_in(bytes) {
        Some(frame) => {
            counters.rx_frames += 1;
            counters.rx_bytes += bytes.len() as u64;
            pending.push_back(frame);
        }
        None => counters.rx_dropped += 1,
    }
}

/// A socket for both families, or for IPv4 alone where the kernel has no IPv6.
fn open_socket(port: u16) -> io::Result<UdpSocket> {
    let open = |ip| UdpSocket::open(SocketAddr::new(ip, port), DATAGRAM_BYTES_MAX, SOCKET_BUFFER_BYTES);
    match open(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL)) => {
            open(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
        }
        socket => socket,
    }
}

/// Draws what tells this start of this end from all others, and the first index of its sessions.
fn identity() -> io::Result<(Identity, u64)> {
    let mut random = [[0; 8]; 4];
    std::fs::File::open("/dev/urandom")?.read_exact(random.as_flattened_mut())?;
    let [session, first, second, index] = random.map(u64::from_ne_bytes);
    Ok((Identity { session: session.max(1), secret: (first, second) }, index))
}
