//! The network's services for a port's scheme.

use crate::event_queue::EventQueue;
use crate::link::port::Timer;
use crate::link::recirculation::{Circling, RecirculationPort};
use crate::link::scheme::context::OUT_OF_REACH;
use crate::link::scheme::{Buffer, Scheme, SchemeContext};
use crate::link::{Frame, Observer, PortId, WIRE_OVERHEAD_BYTES};
use crate::time::Time;
use std::marker::PhantomData;

/// The scheme's access to the network, at one port and at one moment.
#[derive(Debug)]
pub(super) struct PortContext<'a, S, O> {
    pub(super) now: Time,
    pub(super) port: PortId,
    pub(super) timer: &'a mut Timer,
    pub(super) attention: &'a mut bool,
    pub(super) queue: &'a mut EventQueue,
    pub(super) loops: &'a mut [RecirculationPort],
    pub(super) observer: &'a mut O,
    pub(super) schemes: PhantomData<S>,
}

/// The context of a port. It borrows the rest of the network.
macro_rules! port_context {
    ($network:expr, $port:expr) => {
        $crate::network::context::PortContext {
            now: $network.now,
            port: $port.id,
            timer: &mut $port.timer,
            attention: &mut $port.attention,
            queue: &mut $network.queue,
            loops: &mut $network.loops,
            observer: &mut $network.observer,
            schemes: std::marker::PhantomData::<S>,
        }
    };
}
pub(super) use port_context;

impl<S: Scheme, O: Observer<S>> SchemeContext for PortContext<'_, S, O> {
    #[inline(always)]
    fn reborrow(&mut self) -> impl SchemeContext {
        PortContext {
            now: self.now,
            port: self.port,
            timer: self.timer,
            attention: self.attention,
            queue: self.queue,
            loops: self.loops,
            observer: self.observer,
            schemes: self.schemes,
        }
    }

    #[inline(always)]
    fn now(&self) -> Time {
        self.now
    }

    #[inline(always)]
    fn wake_at(&mut self, at: Time) {
        if at < self.timer.timeout_at && at.0 - self.now.0 < OUT_OF_REACH {
            self.timer.timeout_at = at;
            // Anything else that the clock waits for stays.
            let clock = self.port.clock();
            self.queue.set(clock, self.queue.time_of(clock).min(at));
        }
    }

    #[inline(always)]
    fn request_service(&mut self) {
        *self.attention = true;
    }

    #[inline(always)]
    fn circulate(&mut self, at_loop: usize, buffer: Buffer, slot: u32, frame: &Frame, header_bytes: u32) {
        let wire_bytes = u32::from(frame.bytes) + header_bytes + WIRE_OVERHEAD_BYTES as u32;
        let circling = Circling { port: self.port, buffer, slot, wire_bytes };
        let loops = &mut self.loops[at_loop];
        loops.insert(self.now, circling);
        self.queue.set(loops.source, loops.next());
    }

    #[inline(always)]
    fn tx_level(&mut self, bytes: u64) {
        self.observer.tx_level(self.port, self.now, bytes);
    }

    #[inline(always)]
    fn rx_level(&mut self, bytes: u64) {
        self.observer.rx_level(self.port, self.now, bytes);
    }

    fn pause_decided(&mut self, paused: bool) {
        self.observer.pause_decided(self.port, self.now, paused);
    }

    fn pause_obeyed(&mut self, paused: bool) {
        self.observer.pause_obeyed(self.port, self.now, paused);
    }
}
