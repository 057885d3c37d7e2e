//! Acknowledgements on the wire, which may be ordered sets between frames or inside one.

use super::frame::FRAME_BYTES_MIN;
use super::on_wire::OnWire;
use super::port::Port;
use super::scheme::{Acknowledgement, ORDERED_SET_OCTETS, Scheme};
use crate::time::Time;

impl<S: Scheme> Port<S> {
    /// Begins to send an acknowledgement. Returns when the peer's pipeline will have decided about it, and whether the link corrupts
    /// it.
    #[inline(always)]
    pub(crate) fn begin_ack(&mut self, now: Time, ack: &S::Ack) -> (Time, bool) {
        if !ack.is_ordered_set() {
            return self.begin(now, FRAME_BYTES_MIN, false);
        }
        self.free_at = now + self.rate.time_of(u64::from(ORDERED_SET_OCTETS));
        (self.free_at + self.wire_latency + self.ingress_latency, self.corrupts_ordered_set())
    }

    /// Counts an ordered set on the wire. Returns whether the link corrupts it.
    fn corrupts_ordered_set(&mut self) -> bool {
        self.transmitted += 1;
        let stated_bytes = self.rare.as_ref().map_or(FRAME_BYTES_MIN, |rare| rare.stated_bytes);
        let corrupted = self.corruption.corrupts_octets(ORDERED_SET_OCTETS, stated_bytes);
        self.corrupted += u64::from(corrupted);
        corrupted
    }

    /// Inserts an acknowledgement into the frame that is being sent, whose end is thereby delayed. Returns when the peer has the
    /// acknowledgement, and whether the link corrupts it.
    pub(crate) fn insert_ack(&mut self, now: Time, ack: S::Ack) -> (Time, bool) {
        let lasts = self.rate.time_of(u64::from(ORDERED_SET_OCTETS));
        let latency = self.wire_latency + self.ingress_latency;
        let frame_arrives_at = self.free_at + latency;
        self.free_at += lasts;
        let corrupted = self.corrupts_ordered_set();
        let arrives_at = now + lasts + latency;
        let mut place = self.in_flight.len();
        // A frame that the link corrupts may not be in flight.
        if let Some((at, _)) = self.in_flight.back_mut().filter(|(at, _)| *at == frame_arrives_at) {
            *at += lasts;
            place -= 1;
        }
        if !corrupted {
            self.in_flight.insert(place, (arrives_at, OnWire::Ack { ack }));
        }
        (arrives_at, corrupted)
    }
}
