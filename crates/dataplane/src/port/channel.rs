//! The socket of a port over UDP, and the seal of its datagrams where both ends share a key.

use linkmend_linux::udp_socket::{DATAGRAM_BATCH, UdpSocket};
use linkmend_tunnel::{Opened, Secure};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// Sends and receives datagrams, sealed or not.
#[derive(Debug)]
pub(super) struct Channel {
    socket: UdpSocket,
    seal: Option<Box<Seal>>,
    /// Datagrams that the kernel took.
    pub(super) sent: u64,
}

#[derive(Debug)]
struct Seal {
    secure: Secure,
    opened: Vec<u8>,
    sealed: Vec<Vec<u8>>,
    /// The latest initiation, and when it was made: it goes to every address that is called at that time.
    initiation: Vec<u8>,
    initiated_ns: Option<u64>,
    answers: Vec<(SocketAddr, Vec<u8>)>,
    has_begun: bool,
    refused: u64,
}

impl Channel {
    pub(super) fn new(socket: UdpSocket, secure: Option<Secure>) -> Channel {
        let seal = secure.map(|secure| {
            Box::new(Seal {
                secure,
                opened: Vec::new(),
                sealed: Vec::new(),
                initiation: Vec::new(),
                initiated_ns: None,
                answers: Vec::new(),
                has_begun: false,
                refused: 0,
            })
        });
        Channel { socket, seal, sent: 0 }
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.seal.is_some()
    }

    /// Datagrams that were not authentic, or not new.
    pub(super) fn refused(&self) -> u64 {
        self.seal.as_ref().map_or(0, |seal| seal.refused)
    }

    /// Datagrams that the kernel has dropped.
    pub(super) fn drops(&self) -> u64 {
        self.socket.drops().unwrap_or(0)
    }

    /// Reads a batch, and calls `handle` with each datagram that is the peer's, and whether a queue has marked it. Returns
    /// whether there may be more.
    pub(super) fn receive(&mut self, now_ns: u64, mut handle: impl FnMut(SocketAddr, &[u8], bool)) -> bool {
        let Channel { socket, seal, .. } = self;
        let read = match seal {
            None => socket.receive(handle),
            Some(seal) => {
                let Seal { secure, opened, answers, has_begun, refused, .. } = &mut **seal;
                socket.receive(|from, datagram, is_marked| match secure.open(now_ns, datagram, opened) {
                    Opened::Contents => handle(from, opened, is_marked),
                    // Their number is limited by the rate at which they are given.
                    Opened::Answer => answers.push((from, opened.clone())),
                    Opened::Nothing => *has_begun = true,
                    Opened::Refused => *refused += 1,
                })
            }
        };
        // An error that is left at the socket concerns a datagram that was sent, which counts as lost on the path.
        read.unwrap_or(false)
    }

    /// Sends the answers to initiations. Returns whether a session has begun that this end has called for.
    pub(super) fn answer(&mut self) -> bool {
        let Some(seal) = &mut self.seal else { return false };
        for (to, answer) in seal.answers.drain(..) {
            // The other end calls again if this fails.
            self.sent += self.socket.send(to, false, [&*answer]).unwrap_or(0) as u64;
        }
        std::mem::take(&mut seal.has_begun)
    }

    /// Sends the first datagrams of a batch, which queues may mark if they are `markable`. Returns how many the kernel took.
    ///
    /// # Errors
    /// The kernel's reason for not taking the first; [`io::ErrorKind::NotConnected`] without a session of the seal.
    pub(super) fn send<'a>(
        &mut self,
        now_ns: u64,
        to: SocketAddr,
        markable: bool,
        datagrams: impl IntoIterator<Item = &'a [u8]>,
    ) -> io::Result<usize> {
        let sent = match &mut self.seal {
            None => self.socket.send(to, markable, datagrams)?,
            Some(seal) => {
                if seal.secure.poll_initiation(now_ns, &mut seal.initiation) {
                    seal.initiated_ns = Some(now_ns);
                }
                if seal.initiated_ns == Some(now_ns) {
                    self.sent += self.socket.send(to, false, [&*seal.initiation]).unwrap_or(0) as u64;
                }
                let count = seal.seal(now_ns, datagrams)?;
                self.socket.send(to, markable, seal.sealed[..count].iter().map(Vec::as_slice))?
            }
        };
        self.sent += sent as u64;
        Ok(sent)
    }
}

impl Seal {
    fn seal<'a>(&mut self, now_ns: u64, datagrams: impl IntoIterator<Item = &'a [u8]>) -> io::Result<usize> {
        let mut count = 0;
        for datagram in datagrams.into_iter().take(DATAGRAM_BATCH) {
            if self.sealed.len() == count {
                self.sealed.push(Vec::new());
            }
            if !self.secure.seal(now_ns, datagram, &mut self.sealed[count]) {
                return Err(io::ErrorKind::NotConnected.into());
            }
            count += 1;
        }
        Ok(count)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
