//! One direction of one link: a port, what it has sent, and what becomes of that.

use crate::corruption::CorruptionProcess;
use crate::link::{LinkConfig, WIRE_OVERHEAD_BYTES};
use crate::random::Random;
use crate::scenario::ParameterError;
use crate::time::{Rate, Time};
use linkmend_protocol::{Control, DataHeader};
use std::collections::VecDeque;

/// What travels on a link. Frames of the traffic are known by their numbers.
#[derive(Debug)]
pub(super) enum Item {
    Data { header: DataHeader, number: u64 },
    Plain { number: u64 },
    Control(Box<Control>),
}

/// A port and the direction of a link that leaves it.
#[derive(Debug)]
pub(super) struct Wire {
    rate: Rate,
    wire_latency: Time,
    ingress_latency: Time,
    corruption: CorruptionProcess,
    /// When the port can begin another frame.
    pub(super) free_at: Time,
    in_flight: VecDeque<(Time, Item)>,
    is_cut: bool,
    /// Frames of the traffic, copies included, that a failure and that corruption has lost.
    pub(super) lost_by_cuts: u64,
    pub(super) corrupted: u64,
}

impl Wire {
    /// `name` tells its random numbers from those of others.
    pub(super) fn new(
        link: &LinkConfig,
        reverse: bool,
        seed: u64,
        name: &str,
    ) -> Result<Wire, ParameterError> {
        let corruption = if reverse { &link.reverse_corruption } else { &link.corruption };
        Ok(Wire {
            rate: link.rate,
            wire_latency: link.wire_latency(),
            ingress_latency: link.ingress_latency(),
            corruption: CorruptionProcess::new(corruption, Random::new(seed, name))?,
            free_at: Time::ZERO,
            in_flight: VecDeque::new(),
            is_cut: false,
            lost_by_cuts: 0,
            corrupted: 0,
        })
    }

    /// Sends a frame of so many bytes, as soon as the port is free.
    pub(super) fn send(&mut self, now: Time, bytes: u32, item: Item) {
        let begins = self.free_at.max(now);
        self.free_at = begins + self.rate.time_of(u64::from(bytes) + WIRE_OVERHEAD_BYTES);
        let is_traffic = u64::from(!matches!(item, Item::Control(_)));
        if self.is_cut {
            self.lost_by_cuts += is_traffic;
        } else if self.corruption.corrupts(bytes) {
            self.corrupted += is_traffic;
        } else {
            let arrives_at = self.free_at + self.wire_latency + self.ingress_latency;
            self.in_flight.push_back((arrives_at, item));
        }
    }

    /// The link fails: what the other end's port does not have by now is lost.
    pub(super) fn cut(&mut self, now: Time) {
        self.is_cut = true;
        let reached = now + self.ingress_latency;
        let first = self.in_flight.partition_point(|(arrives_at, _)| *arrives_at <= reached);
        let lost = self.in_flight.drain(first..).filter(|(_, item)| !matches!(item, Item::Control(_)));
        self.lost_by_cuts += lost.count() as u64;
    }

    /// The link works again.
    pub(super) fn mend(&mut self) {
        self.is_cut = false;
    }

    /// When the next frame is handled at the other end.
    pub(super) fn next_arrival(&self) -> Time {
        self.in_flight.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// The frame that is handled now.
    pub(super) fn pop_arrival(&mut self, now: Time) -> Option<Item> {
        self.in_flight.pop_front_if(|(at, _)| *at <= now).map(|(_, item)| item)
    }
}
