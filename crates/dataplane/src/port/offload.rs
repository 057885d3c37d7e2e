//! Inner ports that carry a host's large segments.
//!
//! The host leaves segmentation and checksums to its interface. The bypass program at the port hands its frames to a TAP
//! device, as large as they are, and this port cuts them. Frames for the host are joined where they continue each other,
//! and sent through a packet socket.

use super::error::TAP;
use super::send_queue::{Outcome, SendQueue};
use super::{Interface, PortCounters, PortError, QueueFull};
use crate::frame_pool::{FrameHandle, FramePool};
use crate::offload::{Coalesced, Segmenter, VIRTIO_HEADER_BYTES, coalesce};
use linkmend_linux::packet_socket::{self, SEND_BATCH, SendBatch};
use linkmend_linux::tap::Tap;
use nix::sys::socket::{setsockopt, sockopt};
use std::io;
use std::iter::once;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

const SEND_BUFFER_BYTES: usize = 8 << 20;
/// How the name of the TAP device begins; a number follows.
const TAP_PREFIX: &str = "linkmend";

/// A port whose host has its offloads on.
pub struct OffloadPort {
    /// What hands it the host's frames, where that goes with the port.
    _feeder: Option<Box<dyn Send>>,
    interface: Arc<Interface>,
    tap: Tap,
    socket: OwnedFd,
    description: String,
    segmenter: Segmenter,
    queue: SendQueue,
    coalesced: Vec<Coalesced>,
    batch: SendBatch,
    counters: PortCounters,
    /// The TAP device can no longer be read, because somebody has removed it.
    is_gone: bool,
}

impl OffloadPort {
    /// Creates the TAP device and opens the socket. It receives once the bypass program hands it frames.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn open(interface: impl Into<Arc<Interface>>) -> Result<Self, PortError> {
        let interface = interface.into();
        let tap = Tap::create(TAP_PREFIX, interface.mtu).map_err(PortError::system(&interface.name, TAP))?;
        let socket = open_socket(&interface)
            .map_err(PortError::system(&interface.name, "opening a packet socket for large segments"))?;
        Ok(OffloadPort {
            description: format!("offloads (TAP {})", tap.name()),
            _feeder: None,
            interface,
            tap,
            socket,
            segmenter: Segmenter::default(),
            queue: SendQueue::new(),
            coalesced: Vec::with_capacity(SEND_BATCH),
            batch: SendBatch::default(),
            counters: PortCounters::default(),
            is_gone: false,
        })
    }

    /// Keeps what hands it the host's frames for as long as the port is open.
    pub(crate) fn fed_by(self, feeder: impl Send + 'static) -> OffloadPort {
        OffloadPort { _feeder: Some(Box::new(feeder)), ..self }
    }

    /// Cuts segments of TCP into frames of at most so many bytes, even if the host's would be longer.
    pub(crate) fn limit_frames(&mut self, bytes: usize) {
        self.segmenter.limit_frames(bytes);
    }

    /// Kernel index of the device to which the host's frames go.
    pub(crate) fn tap_index(&self) -> u32 {
        self.tap.index()
    }

    pub(crate) fn receive(
        &mut self,
        pool: &mut FramePool,
        out: &mut Vec<FrameHandle>,
        budget: usize,
    ) -> usize {
        let before = out.len();
        while out.len() - before < budget && (!self.segmenter.is_empty() || self.read()) {
            let Some(bytes) = self.segmenter.next_frame() else { continue };
            match pool.copy_in(bytes) {
                Some(frame) => {
                    self.counters.rx_frames += 1;
                    self.counters.rx_bytes += bytes.len() as u64;
                    out.push(frame);
                }
                None => self.counters.rx_dropped += 1,
            }
        }
        out.len() - before
    }

    /// Reads the host's next frame. Returns whether there was one.
    fn read(&mut self) -> bool {
        let mut header = [0; VIRTIO_HEADER_BYTES];
        match self.tap.read(&mut header, self.segmenter.buffer()) {
            Ok(Some(bytes)) => {
                let begun = self.segmenter.begin(header, bytes.saturating_sub(VIRTIO_HEADER_BYTES));
                self.counters.rx_dropped += u64::from(begun.is_err());
                true
            }
            Ok(None) => false,
            Err(_) => {
                self.is_gone = true;
                false
            }
        }
    }

    /// Whether frames that were read have not been received yet.
    pub(crate) fn holds_frames(&self) -> bool {
        !self.segmenter.is_empty()
    }

    pub(crate) fn send(&mut self, pool: &mut FramePool, frame: FrameHandle) -> Result<(), QueueFull> {
        self.queue.push(pool, frame, &mut self.counters)
    }

    pub(crate) fn flush(&mut self, pool: &mut FramePool) -> Result<(), PortError> {
        if std::mem::take(&mut self.is_gone) {
            let gone = io::Error::from_raw_os_error(libc::ENODEV);
            return Err(PortError::system(&self.interface.name, "reading the TAP device")(gone));
        }
        let OffloadPort { interface, socket, queue, coalesced, batch, counters, .. } = self;
        queue.flush(pool, counters, &interface.name, |queue, pool| {
            join(queue, pool, coalesced);
            let frames_of = |joined: &[Coalesced]| joined.iter().map(|joined| joined.frames).sum();
            match batch.send(socket.as_fd(), messages(queue, pool, coalesced)) {
                Ok(sent) => Outcome::Sent(frames_of(&coalesced[..sent])),
                Err(error) => Outcome::Refused(error, frames_of(&coalesced[..1])),
            }
        })
    }

    pub(crate) fn reclaim(&mut self, _pool: &mut FramePool) {}

    pub(crate) fn transmit_room(&self) -> usize {
        self.queue.room()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.tap.as_fd()
    }

    pub(crate) fn counters(&mut self) -> PortCounters {
        self.counters
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    pub(crate) fn description(&self) -> &str {
        &self.description
    }
}

/// Joins what continues each other at the head of the queue, which is not empty.
fn join(queue: &SendQueue, pool: &FramePool, coalesced: &mut Vec<Coalesced>) {
    coalesced.clear();
    let mut first = 0;
    while first < queue.len() && coalesced.len() < SEND_BATCH {
        let joined = coalesce(queue.range(first..).map(|&frame| pool.in_one_piece(frame)));
        first += joined.frames;
        coalesced.push(joined);
    }
}

/// The pieces of what is joined: the virtio header, the headers, and the frames without theirs.
fn messages<'a>(
    queue: &'a SendQueue,
    pool: &'a FramePool,
    coalesced: &'a [Coalesced],
) -> impl Iterator<Item = impl Iterator<Item = &'a [u8]>> {
    let mut first = 0;
    coalesced.iter().map(move |joined| {
        let frames = queue.range(first..).take(joined.frames);
        first += joined.frames;
        let headers = joined.headers();
        let payloads = frames.flat_map(move |&frame| {
            let mut skipped = headers.len();
            pool.segments(frame).map(move |segment| &segment[std::mem::take(&mut skipped)..])
        });
        once(joined.virtio.as_slice()).chain(once(headers)).chain(payloads)
    })
}

/// A socket that sends large segments out of the interface, and receives nothing.
fn open_socket(interface: &Interface) -> io::Result<OwnedFd> {
    let socket = packet_socket::open()?;
    packet_socket::send_virtio_headers(socket.as_fd())?;
    if setsockopt(&socket, sockopt::SndBufForce, &SEND_BUFFER_BYTES).is_err() {
        let _ = setsockopt(&socket, sockopt::SndBuf, &SEND_BUFFER_BYTES);
    }
    packet_socket::bind(socket.as_fd(), interface.index, 0)?;
    Ok(socket)
}
