//! The ring between the loop of a link end and the reader of a capture.

use super::class;
use super::filter::{Filter, FilterError};
use super::layers::Layers;
use crate::clock;
use crate::frame_pool::{FrameHandle, FramePool};
use linkmend_control::Side;
use linkmend_control::capture::{CaptureOptions, CaptureProgress, CapturedFrame, Direction};
use linkmend_protocol::wire::CONTROL_FRAME_MAX;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};

/// Largest number of captures of one link end at a time.
pub const CAPTURES_MAX: usize = 4;
/// The number of frames that a ring holds: as many as arrive at two million a second while its reader sleeps for 4 ms.
const RING_FRAMES: usize = 8192;
/// The number of bytes that a ring holds.
const RING_BYTES: usize = 16 << 20;
/// The bytes of a frame that classes and filters read: whole control frames, and the headers of others.
const LOOK_BYTES: usize = CONTROL_FRAME_MAX;

#[derive(Debug, Default)]
struct Shared {
    dropped: AtomicU64,
    bytes: AtomicUsize,
    kernel_forwards: AtomicBool,
    closed: AtomicBool,
}

/// The loop's side of the ring.
#[derive(Debug)]
pub(crate) struct Tap {
    options: CaptureOptions,
    filter: Filter,
    ring: SyncSender<CapturedFrame>,
    shared: Arc<Shared>,
}

/// The reader's side of the ring. Dropping it ends the capture.
#[derive(Debug)]
pub struct Capture {
    ring: Receiver<CapturedFrame>,
    shared: Arc<Shared>,
}

impl Tap {
    /// Creates a ring and returns both sides.
    ///
    /// # Errors
    /// [`FilterError`].
    pub(crate) fn new(options: CaptureOptions) -> Result<(Tap, Capture), FilterError> {
        let filter = Filter::parse(&options.filter)?;
        let (sender, receiver) = sync_channel(RING_FRAMES);
        let shared = Arc::new(Shared::default());
        let capture = Capture { ring: receiver, shared: Arc::clone(&shared) };
        Ok((Tap { options, filter, ring: sender, shared }, capture))
    }

    fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Relaxed)
    }

    fn offer(&self, seen: &Sighting, layers: &Layers, frame: FrameHandle, pool: &FramePool) {
        if self.options.port.is_some_and(|port| port != seen.port)
            || !class::any_of(&self.options.classes, layers)
            || !self.filter.passes(layers)
        {
            return;
        }
        let length = pool.frame_length(frame);
        let kept = length.min(self.options.snap_bytes as usize);
        let held = self.shared.bytes.fetch_add(kept, Ordering::Relaxed);
        if held + kept > RING_BYTES {
            return self.lose(kept);
        }
        let head = pool.head(frame);
        let mut bytes = Vec::with_capacity(kept);
        if kept <= head.len() {
            bytes.extend_from_slice(&head[..kept]);
        } else {
            pool.copy_out(frame, &mut bytes);
            bytes.truncate(kept);
        }
        let &Sighting { at_ns, port, direction, corrupted, is_tagged } = seen;
        let length = length as u32;
        let frame = CapturedFrame { at_ns, port, direction, corrupted, is_tagged, length, bytes };
        match self.ring.try_send(frame) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.lose(kept),
        }
    }

    fn lose(&self, bytes: usize) {
        self.shared.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.shared.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl Capture {
    /// Takes the next frame, if there is one.
    ///
    /// # Errors
    /// [`TryRecvError::Disconnected`] once the link end has stopped and the ring is empty.
    pub fn try_next(&self) -> Result<CapturedFrame, TryRecvError> {
        let frame = self.ring.try_recv()?;
        self.shared.bytes.fetch_sub(frame.bytes.len(), Ordering::Relaxed);
        Ok(frame)
    }

    /// The progress of the capture.
    pub fn progress(&self) -> CaptureProgress {
        CaptureProgress {
            dropped: self.shared.dropped.load(Ordering::Relaxed),
            kernel_forwards: self.shared.kernel_forwards.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
    }
}

/// Where, when and how a frame was seen.
struct Sighting {
    at_ns: u64,
    port: Side,
    direction: Direction,
    corrupted: bool,
    is_tagged: bool,
}

/// The captures of a link end; usually there are none.
#[derive(Debug, Default)]
pub(crate) struct Taps {
    taps: Vec<Tap>,
    /// Whether the link has a key.
    is_tagged: bool,
}

impl Taps {
    /// Without a capture, on a link with a key or without.
    pub(crate) fn new(has_key: bool) -> Taps {
        Taps { taps: Vec::new(), is_tagged: has_key }
    }

    /// Adds a capture. Returns `false` if there are [`CAPTURES_MAX`].
    pub(crate) fn add(&mut self, tap: Tap) -> bool {
        self.remove_closed();
        let room = self.taps.len() < CAPTURES_MAX;
        if room {
            self.taps.push(tap);
        }
        room
    }

    /// Offers a frame that passes a port to all captures.
    #[inline]
    pub(crate) fn show(&mut self, port: Side, direction: Direction, frame: FrameHandle, pool: &FramePool) {
        if !self.taps.is_empty() {
            self.show_all(port, direction, false, frame, pool);
        }
    }

    /// Offers a frame from the link to all captures; injected corruption then drops it if `corrupted`.
    #[inline]
    pub(crate) fn show_from_link(
        &mut self,
        port: Side,
        corrupted: bool,
        frame: FrameHandle,
        pool: &FramePool,
    ) {
        if !self.taps.is_empty() {
            self.show_all(port, Direction::Inbound, corrupted, frame, pool);
        }
    }

    #[cold]
    fn show_all(
        &mut self,
        port: Side,
        direction: Direction,
        corrupted: bool,
        frame: FrameHandle,
        pool: &FramePool,
    ) {
        self.remove_closed();
        let is_tagged = self.is_tagged;
        let seen = Sighting { at_ns: clock::unix_ns(), port, direction, corrupted, is_tagged };
        let head = pool.head(frame);
        let layers = Layers::parse(port, is_tagged, &head[..head.len().min(LOOK_BYTES)]);
        for tap in &self.taps {
            tap.offer(&seen, &layers, frame, pool);
        }
    }

    /// Tells all captures whether the kernel forwards, and removes those without a reader.
    pub(crate) fn set_kernel_forwards(&mut self, kernel_forwards: bool) {
        self.remove_closed();
        for tap in &self.taps {
            tap.shared.kernel_forwards.store(kernel_forwards, Ordering::Relaxed);
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.taps.is_empty()
    }

    fn remove_closed(&mut self) {
        self.taps.retain(|tap| !tap.is_closed());
    }
}
