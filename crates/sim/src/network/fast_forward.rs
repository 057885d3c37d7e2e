//! Skips the steady state between losses, exactly.
//!
//! Line-rate traffic over an undisturbed link repeats itself: after a *cycle* of frames the state is the same as
//! before, only later. [`Network::moment`] records everything that could make a difference, relative to the clock and
//! to the frame numbers. When two moments a cycle apart are equal, what happened between them will happen again until
//! the next corrupted frame, and [`Network::repeat`] adds it any number of times, also after a later moment that is like
//! them. This makes no assumptions about the
//! cycle: in a disturbed or unusual situation the moments differ, and every event is simulated.

use super::Network;
use crate::link::port::Port;
use crate::link::recirculation::Circling;
use crate::link::scheme::{Cycles, FastForward, ORDERED_SET_OCTETS};
use crate::link::{FRAME_BYTES_MIN, ObservedMoment, Observer, OnWire, PortId, Scheme, Skip, Skipped};
use crate::time::Time;
use linkmend_protocol::schedule::Turns;

/// A moment of a run: the state that determines the future, and all counts.
#[derive(Debug)]
pub struct Moment<M> {
    state: Vec<u64>,
    now: Time,
    ports: Vec<Counted>,
    passes: Vec<u64>,
    mark: M,
}

#[derive(Debug)]
struct Counted {
    produced: u64,
    transmitted: u64,
    corrupted: u64,
    acks_sent: u64,
}

impl<O: Observer<S> + Skip, S: Scheme> Network<O, S> {
    /// Records this moment. `None` during anything temporary: a loss, a pause, or a queue that is not empty. It is also
    /// `None` in networks in which frames cross several links.
    pub fn moment(&mut self) -> Option<Moment<O::Mark>> {
        if self.passed_on || !self.ports.iter().all(Port::is_quiet) {
            return None;
        }
        let produced = |port: &Port<S>| port.generator.produced();
        let arriving: Vec<u64> =
            self.ports.iter().map(|port| produced(&self.ports[port.id.peer().index()])).collect();
        let mut state = Vec::with_capacity(512);
        // The observer's losses are the longest disturbance, so it is asked first.
        let mark = self.observer.mark(&ObservedMoment { now: self.now, arriving: &arriving }, &mut state)?;
        for ((port, scheme), &arriving) in self.ports.iter().zip(&mut self.schemes).zip(&arriving) {
            port.snapshot(scheme, self.now, arriving, &mut state)?;
        }
        for recirculation in &self.loops {
            let slot = |circling: &Circling| {
                let index = circling.port.index();
                let port = &self.ports[index];
                let Circling { buffer, slot, .. } = *circling;
                let steady = self.schemes[index].fast_forward();
                steady
                    .map_or(0, |steady| steady.circling_state(buffer, slot, produced(port), arriving[index]))
            };
            recirculation.snapshot(self.now, slot, &mut state);
        }
        let ports = self.ports.iter().map(Counted::new).collect();
        let passes = self.loops.iter().map(|recirculation| recirculation.passes).collect();
        Some(Moment { state, now: self.now, ports, passes, mark })
    }

    /// How often the events between these moments will repeat from now on, before a frame is corrupted or a source is
    /// exhausted, if this moment is like the later one; 0 if the two moments differ.
    pub fn repeats(&self, before: &Moment<O::Mark>, after: &Moment<O::Mark>) -> u64 {
        if !before.is_like(after) {
            return 0;
        }
        let bound = |(index, port): (usize, &Port<S>)| {
            let [was, is] = [before, after].map(|moment| &moment.ports[index]);
            let produced = is.produced - was.produced;
            let acks = is.acks_sent - was.acks_sent;
            // The loss of an unprotected frame leaves no other trace.
            if is.corrupted != was.corrupted {
                return 0;
            }
            if is.transmitted - was.transmitted != produced + acks || (produced > 0 && acks > 0) {
                return 0;
            }
            let clean_data = port.corruption.clean_frames(port.data_bytes(&self.schemes[index]));
            let clean_data = clean_data.min(port.generator.left().saturating_sub(1));
            let clean_acks = port.corruption.clean_frames(port.ack_bytes());
            // A port that sends neither imposes no limit, and no port sends both.
            clean_data.checked_div(produced).or(clean_acks.checked_div(acks)).unwrap_or(u64::MAX)
        };
        self.ports.iter().enumerate().map(bound).min().unwrap_or(0)
    }

    /// How many frames this port sends before one is corrupted.
    pub fn clean_frames(&self, port: PortId) -> u64 {
        let index = port.index();
        self.ports[index].corruption.clean_frames(self.ports[index].data_bytes(&self.schemes[index]))
    }

    /// Repeats the events between these moments `times` times, at most [`Network::repeats`]. This moment must be like the
    /// later one.
    pub fn repeat(&mut self, before: &Moment<O::Mark>, after: &Moment<O::Mark>, times: u64) {
        let elapsed = Time((after.now.0 - before.now.0) * times);
        let of_cycles = |count: fn(&Counted) -> u64| -> Vec<u64> {
            let pairs = before.ports.iter().zip(&after.ports);
            pairs.map(|(was, is)| (count(is) - count(was)) * times).collect()
        };
        let produced = of_cycles(|port| port.produced);
        let acks = of_cycles(|port| port.acks_sent);
        let arriving: Vec<u64> = self.ports.iter().map(|port| produced[port.id.peer().index()]).collect();
        let skipped = Skipped { from: self.now, times, elapsed, arriving: &arriving };
        self.observer.skip(&before.mark, &after.mark, &skipped);
        let peers: Vec<usize> = self.ports.iter().map(|port| port.id.peer().index()).collect();
        let schemes = self.schemes.iter_mut();
        for (index, (port, scheme)) in self.ports.iter_mut().zip(schemes).enumerate() {
            let cycles = Cycles {
                elapsed,
                sent: produced[index],
                mode: port.generator.mode(),
                bytes: u32::from(port.generator.frame_bytes()),
                received: arriving[index],
                received_mode: port.peer_traffic.mode,
                received_bytes: u32::from(port.peer_traffic.bytes),
                acks: acks[index],
                received_acks: acks[peers[index]],
            };
            port.skip(scheme, &cycles);
        }
        for (index, recirculation) in self.loops.iter_mut().enumerate() {
            recirculation.fast_forward(elapsed, (after.passes[index] - before.passes[index]) * times);
        }
        self.now += elapsed;
        self.queue.shift(elapsed);
    }
}

impl<M> Moment<M> {
    /// Whether the same will happen after both.
    pub fn is_like(&self, other: &Moment<M>) -> bool {
        self.state == other.state
    }
}

impl Counted {
    fn new<S: Scheme>(port: &Port<S>) -> Counted {
        Counted {
            produced: port.generator.produced(),
            transmitted: port.transmitted,
            corrupted: port.corrupted,
            acks_sent: port.acks_sent,
        }
    }
}

impl<S: Scheme> Port<S> {
    /// Length of a frame of its generator with the scheme's header.
    fn data_bytes(&self, scheme: &S) -> u32 {
        u32::from(self.generator.frame_bytes()) + scheme.header_bytes()
    }

    /// Length of an acknowledgement.
    fn ack_bytes(&self) -> u32 {
        if self.retries { ORDERED_SET_OCTETS } else { FRAME_BYTES_MIN }
    }

    /// Whether the port itself is undisturbed.
    fn is_quiet(&self) -> bool {
        self.urgent.is_empty()
            && !self.attention
            && self.replenished.is_none()
            && self.normal.is_empty()
            && self.timer.traffic_at == Time::NEVER
            && self.pipeline_at() == Time::NEVER
    }

    /// Records the state that determines the future of this port, which is quiet; `None` if its scheme is disturbed.
    fn snapshot(&self, scheme: &mut S, now: Time, arriving: u64, out: &mut Vec<u64>) -> Option<()> {
        let produced = self.generator.produced();
        let steady = scheme.fast_forward()?;
        let timeout_at = self.timer.timeout_at;
        let is_set = timeout_at != Time::NEVER && steady.timer_matters();
        let timeout = if is_set { timeout_at.0 - now.0 } else { u64::MAX };
        // How long the port has been idle matters only for the current idle slot.
        let slot = self.idle_slot.value;
        let busy = self
            .free_at
            .0
            .checked_sub(now.0)
            .map_or_else(|| (now.0 - self.free_at.0) % slot, |left| left + slot);
        let Turns { lead_bytes, overtaken } = *self.normal.turns();
        let [ordered, non_blocking] = overtaken.0.map(u64::from);
        out.extend([timeout, busy, lead_bytes.cast_unsigned(), ordered, non_blocking]);
        steady.steady_state(now, out)?;
        out.push(self.in_flight.len() as u64);
        for (at, on_wire) in &self.in_flight {
            out.push(at.0 - now.0);
            match on_wire {
                OnWire::Protected { header, frame } => {
                    let number = frame.id.wrapping_sub(produced);
                    out.extend([0, number, u64::from(frame.bytes)]);
                    steady.header_state(header, frame, out);
                }
                OnWire::Plain { frame } => {
                    out.extend([1, frame.id.wrapping_sub(produced), u64::from(frame.bytes)]);
                }
                OnWire::WithAck { ack, frame } => {
                    out.extend([3, frame.id.wrapping_sub(produced), u64::from(frame.bytes)]);
                    out.push(steady.ack_state(ack, arriving));
                }
                OnWire::Ack { ack } => out.extend([2, steady.ack_state(ack, arriving)]),
                OnWire::Damaged { .. } | OnWire::Pause { .. } | OnWire::Control { .. } => return None,
            }
        }
        Some(())
    }

    fn skip(&mut self, scheme: &mut S, cycles: &Cycles) {
        let Cycles { elapsed, sent, received, acks, .. } = *cycles;
        if sent > 0 {
            self.corruption.skip(sent, self.data_bytes(scheme));
        } else if acks > 0 {
            self.corruption.skip(acks, self.ack_bytes());
        }
        self.generator.fast_forward(sent);
        self.transmitted += sent + acks;
        self.acks_sent += acks;
        if self.free_at != Time::ZERO {
            self.free_at += elapsed;
        }
        if self.timer.timeout_at != Time::NEVER {
            self.timer.timeout_at += elapsed;
        }
        let mut steady = scheme.fast_forward();
        for (at, on_wire) in &mut self.in_flight {
            *at += elapsed;
            match on_wire {
                OnWire::Protected { header, frame, .. } => {
                    if let Some(steady) = &mut steady {
                        steady.skip_header(header, sent);
                    }
                    frame.id += sent;
                }
                OnWire::Plain { frame } => frame.id += sent,
                OnWire::WithAck { ack, frame } => {
                    if let Some(steady) = &mut steady {
                        steady.skip_ack(ack, received);
                    }
                    frame.id += sent;
                }
                OnWire::Ack { ack } => {
                    if let Some(steady) = &mut steady {
                        steady.skip_ack(ack, received);
                    }
                }
                OnWire::Damaged { .. } | OnWire::Pause { .. } | OnWire::Control { .. } => {}
            }
        }
        if let Some(steady) = steady {
            steady.skip(cycles);
        }
    }
}
