//! What a scheme may do outside itself.

use super::Scheme;
use crate::event_queue::EventQueue;
use crate::link::frame::{Frame, WIRE_OVERHEAD_BYTES};
use crate::link::recirculation::RecirculationPort;
use crate::network::{Observer, PortId};
use crate::time::{TICK, Time};
use std::marker::PhantomData;

/// An hour. Later timeouts are those of idle sessions, which lie beyond any simulation.
pub(crate) const OUT_OF_REACH: u64 = TICK.secs(3_600).0;

/// The buffer that a circling frame is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Copies of frames that were sent.
    Tx,
    /// Frames that have arrived and may not be delivered yet.
    Rx,
}

/// A frame in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Circling {
    /// The port it belongs to.
    pub(crate) port: PortId,
    pub(crate) buffer: Buffer,
    /// Its index in that buffer.
    pub(crate) slot: u32,
    /// On the wire, with header and gap.
    pub(crate) wire_bytes: u32,
}

/// When a port wakes, apart from its wire.
#[derive(Debug)]
pub(crate) struct Timer {
    /// When the next paced frame comes, and when the scheme has something to do.
    pub(crate) traffic_at: Time,
    pub(crate) timeout_at: Time,
    /// Whether the scheme has something urgent to send.
    pub(crate) attention: bool,
}

/// What a scheme may do outside itself, at one port and at one moment.
#[derive(Debug)]
pub struct SchemeContext<'a, N, O> {
    pub(crate) now: Time,
    pub(crate) port: PortId,
    pub(crate) timer: &'a mut Timer,
    pub(crate) queue: &'a mut EventQueue,
    pub(crate) loops: &'a mut [RecirculationPort],
    pub(crate) observer: &'a mut O,
    pub(crate) scheme: PhantomData<N>,
}

impl<N: Scheme, O: Observer<N>> SchemeContext<'_, N, O> {
    /// Reborrows, for a function that is not compiled into its caller. Passing the address of a short-lived second
    /// value leaves the first in registers, where the usual path of a frame needs it.
    #[inline(always)]
    pub fn reborrow(&mut self) -> SchemeContext<'_, N, O> {
        SchemeContext {
            now: self.now,
            port: self.port,
            timer: self.timer,
            queue: self.queue,
            loops: self.loops,
            observer: self.observer,
            scheme: PhantomData,
        }
    }

    /// The time of the present event.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Has the scheme's timer fire at `at` at the latest, unless that lies beyond any simulation.
    #[inline(always)]
    pub fn wake_at(&mut self, at: Time) {
        if at < self.timer.timeout_at && at.0 - self.now.0 < OUT_OF_REACH {
            self.timer.timeout_at = at;
            self.queue.set(self.port.clock(), self.timer.traffic_at.min(at));
        }
    }

    /// Says that the scheme has something urgent: it is asked when the port is served next.
    #[inline(always)]
    pub fn request_service(&mut self) {
        self.timer.attention = true;
    }

    /// Sends a frame of one of its buffers through the loop, with a header of this many bytes.
    #[inline(always)]
    pub fn circulate(&mut self, at_loop: usize, buffer: Buffer, slot: u32, frame: &Frame, header_bytes: u32) {
        let wire_bytes = u32::from(frame.bytes) + header_bytes + WIRE_OVERHEAD_BYTES as u32;
        let circling = Circling { port: self.port, buffer, slot, wire_bytes };
        let loops = &mut self.loops[at_loop];
        loops.insert(self.now, circling);
        self.queue.set(loops.source, loops.next());
    }

    /// Reports the level of the Tx buffer in bytes.
    #[inline(always)]
    pub fn tx_level(&mut self, bytes: u64) {
        self.observer.tx_level(self.port, self.now, bytes);
    }

    /// Reports the level of the Rx buffer in bytes.
    #[inline(always)]
    pub fn rx_level(&mut self, bytes: u64) {
        self.observer.rx_level(self.port, self.now, bytes);
    }

    /// Reports the decision that the peer must pause, or resume.
    pub fn pause_decided(&mut self, paused: bool) {
        self.observer.pause_decided(self.port, self.now, paused);
    }

    /// Reports that this end pauses or resumes, as its peer decided.
    pub fn pause_obeyed(&mut self, paused: bool) {
        self.observer.pause_obeyed(self.port, self.now, paused);
    }
}
