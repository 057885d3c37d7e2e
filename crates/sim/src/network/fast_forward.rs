//! Skipping the steady state between losses, exactly.
//!
//! Line-rate traffic over an undisturbed link repeats itself: after a *cycle* of frames everything stands as before,
//! only later. [`Network::moment`] writes down all that could make a difference, relative to the clock and to the frame
//! numbers; when two moments a cycle apart are equal, what happened between them will happen again until the next
//! corrupted frame, and [`Network::repeat`] adds it any number of times. Nothing is assumed about the cycle, so nothing
//! can be assumed wrongly: in a disturbed or unusual situation the moments differ, and every event is simulated.

use super::end::End;
use super::frame::OnWire;
use super::recirculation::Buffer;
use super::{Destination, Levels, Network, OUT_OF_REACH, Observer};
use crate::time::Time;
use linkmend_protocol::{Instant, Mode, PerMode, Ticks, Undisturbed};

/// A moment of a run: what determines the future, and what has been counted.
#[derive(Debug)]
pub struct Moment {
    state: Vec<u64>,
    now: Time,
    ends: Vec<Counted>,
    passes: Vec<u64>,
}

#[derive(Debug)]
struct Counted {
    produced: u64,
    transmitted: u64,
    lost: u64,
    acks_sent: u64,
    delivered: u64,
    delivered_bytes: u64,
    tx_levels: Levels,
    rx_levels: Levels,
}

impl<O: Observer> Network<O> {
    /// This moment, or `None` if something is going on that passes: a loss, a pause, a queue that is not empty.
    pub fn moment(&self) -> Option<Moment> {
        let mut state = Vec::with_capacity(512);
        for end in &self.ends {
            let peer_produced = self.ends[end.peer].source.produced();
            end.snapshot(self.now, peer_produced, &mut state)?;
        }
        for port in &self.ports {
            let slot = |circling: &super::recirculation::Circling| {
                let end = &self.ends[circling.end as usize];
                match circling.buffer {
                    Buffer::Tx => {
                        let held = end.tx.get(circling.slot);
                        let number = held.frame.id.wrapping_sub(end.source.produced());
                        number << 1 | u64::from(held.released)
                    }
                    Buffer::Rx => {
                        let produced = self.ends[end.peer].source.produced();
                        end.rx.get(circling.slot).id.wrapping_sub(produced) << 1
                    }
                }
            };
            port.snapshot(self.now, slot, &mut state);
        }
        let ends = self.ends.iter().map(|end| Counted::new(end, self.now)).collect();
        let passes = self.ports.iter().map(|port| port.passes).collect();
        Some(Moment { state, now: self.now, ends, passes })
    }

    /// How often what happened since `before` will surely happen again before a frame is corrupted or a source runs out;
    /// 0 if this moment is not like that one.
    pub fn repeats_since(&self, before: &Moment, now: &Moment) -> u64 {
        if before.state != now.state {
            return 0;
        }
        let bound = |(index, end): (usize, &End)| {
            let was = &before.ends[index];
            let produced = end.source.produced() - was.produced;
            let acks = end.acks_sent - was.acks_sent;
            // The loss of an unprotected frame leaves no other trace.
            if end.losses.lost != was.lost {
                return 0;
            }
            if end.transmitted - was.transmitted != produced + acks || (produced > 0 && acks > 0) {
                return 0;
            }
            let data_bytes = end.source.frame_bytes() + end.header_bytes;
            let clean_data = end.corruption.clean_frames(data_bytes).min(end.source.left().saturating_sub(1));
            let clean_acks = end.corruption.clean_frames(super::FRAME_BYTES_MIN);
            // An end that sends neither sets no bound, and none sends both.
            clean_data.checked_div(produced).or(clean_acks.checked_div(acks)).unwrap_or(u64::MAX)
        };
        self.ends.iter().enumerate().map(bound).min().unwrap_or(0)
    }

    /// Adds what happened since `before` another `times` times. `times` is at most [`Network::repeats_since`].
    pub fn repeat(&mut self, before: &Moment, times: u64) {
        let elapsed = Time((self.now.0 - before.now.0) * times);
        let produced: Vec<u64> = self
            .ends
            .iter()
            .zip(&before.ends)
            .map(|(end, was)| (end.source.produced() - was.produced) * times)
            .collect();
        for (index, was) in before.ends.iter().enumerate() {
            let peer = self.ends[index].peer;
            let end = &mut self.ends[index];
            end.tx_levels.account(self.now);
            end.rx_levels.account(self.now);
            end.repeat(was, times, elapsed, produced[index], produced[peer]);
        }
        for (port, was) in self.ports.iter_mut().zip(&before.passes) {
            port.fast_forward(elapsed, (port.passes - was) * times);
        }
        self.now += elapsed;
        self.queue.shift(elapsed);
    }
}

impl Counted {
    fn new(end: &End, now: Time) -> Counted {
        let accounted = |levels: &Levels| {
            let mut levels = levels.clone();
            levels.account(now);
            levels
        };
        Counted {
            produced: end.source.produced(),
            transmitted: end.transmitted,
            lost: end.losses.lost,
            acks_sent: end.acks_sent,
            delivered: end.delivered.frames,
            delivered_bytes: end.delivered.bytes,
            tx_levels: accounted(&end.tx_levels),
            rx_levels: accounted(&end.rx_levels),
        }
    }
}

impl End {
    /// Writes down what determines the future of this end; `None` if it is disturbed.
    fn snapshot(&self, now: Time, peer_produced: u64, out: &mut Vec<u64>) -> Option<()> {
        let produced = self.source.produced();
        let quiet = self.urgent.is_empty()
            && !self.attention
            && self.replenished.is_none()
            && self.resumed_at.is_none()
            && !self.paused
            && !self.told_paused
            && self.losses.is_empty()
            && self.waiting == 0
            && self.destination == Destination::Sink
            && self.traffic_at == Time::NEVER;
        if !quiet {
            return None;
        }
        let timeout = if self.timeout_at == Time::NEVER { u64::MAX } else { self.timeout_at.0 - now.0 };
        // How long the port has been idle matters only for the idle slot under way.
        let slot = self.idle_slot.value;
        let busy = self
            .free_at
            .0
            .checked_sub(now.0)
            .map_or_else(|| (now.0 - self.free_at.0) % slot, |left| left + slot);
        out.extend([timeout, busy, self.turn as u64, self.delivered.next_id.wrapping_sub(peer_produced)]);
        if let Some(link_end) = &self.link_end {
            let steady = link_end.steady_state(Instant(now.0), OUT_OF_REACH)?;
            for mode in Mode::ALL {
                let (outstanding, uncovered, tx_bytes) = steady.outstanding[mode];
                let (buffered, rx_bytes) = steady.buffered[mode];
                let pending = u64::from(steady.pending[mode]);
                out.extend([outstanding, uncovered, tx_bytes, buffered, rx_bytes, pending]);
            }
            for (restart, burst, repeating) in steady.dummies.0 {
                out.extend([u64::from(restart), u64::from(burst), u64::from(repeating)]);
            }
            let (idle_ack, acks) = steady.ack_wait;
            let (idle_dummy, dummy) = steady.dummy_wait;
            out.extend([idle_ack, acks.0[0], acks.0[1], idle_dummy, dummy].map(|wait| wait.0));
        }
        out.push(self.in_flight.len() as u64);
        for (at, on_wire) in &self.in_flight {
            out.push(at.0 - now.0);
            match on_wire {
                OnWire::Protected { header, frame } => {
                    let number = frame.id.wrapping_sub(produced);
                    let sequence = u64::from(header.sequence.number().wrapping_sub(frame.id as u16));
                    let retransmitted = u64::from(header.retransmitted);
                    out.extend([
                        0,
                        number,
                        sequence,
                        retransmitted,
                        header.mode as u64,
                        u64::from(frame.bytes),
                    ]);
                }
                OnWire::Plain { frame } => {
                    out.extend([1, frame.id.wrapping_sub(produced), u64::from(frame.bytes)]);
                }
                OnWire::Ack { next } => {
                    out.extend([2, u64::from(next.number().wrapping_sub(peer_produced as u16))]);
                }
                OnWire::Control { .. } => return None,
            }
        }
        Some(())
    }

    fn repeat(&mut self, was: &Counted, times: u64, elapsed: Time, produced: u64, peer_produced: u64) {
        let acks = (self.acks_sent - was.acks_sent) * times;
        let delivered_bytes = (self.delivered.bytes - was.delivered_bytes) * times;
        let bytes = self.source.frame_bytes();
        if produced > 0 {
            self.corruption.skip(produced, bytes + self.header_bytes);
        } else if acks > 0 {
            self.corruption.skip(acks, super::FRAME_BYTES_MIN);
        }
        self.source.fast_forward(produced);
        self.transmitted += produced + acks;
        self.acks_sent += acks;
        self.delivered.frames += (self.delivered.frames - was.delivered) * times;
        self.delivered.bytes += delivered_bytes;
        self.delivered.next_id += peer_produced;
        self.delivered.last_at += elapsed;
        if self.free_at != Time::ZERO {
            self.free_at += elapsed;
        }
        if self.timeout_at != Time::NEVER {
            self.timeout_at += elapsed;
        }
        self.tx_levels.repeat_since(&was.tx_levels, times, elapsed);
        self.rx_levels.repeat_since(&was.rx_levels, times, elapsed);
        self.tx.iter_mut().for_each(|held| held.frame.id += produced);
        self.rx.iter_mut().for_each(|frame| frame.id += peer_produced);
        for (at, on_wire) in &mut self.in_flight {
            *at += elapsed;
            match on_wire {
                OnWire::Protected { header, frame } => {
                    header.sequence = header.sequence.plus(produced);
                    frame.id += produced;
                }
                OnWire::Plain { frame } => frame.id += produced,
                OnWire::Ack { next } => *next = next.plus(peer_produced),
                OnWire::Control { .. } => {}
            }
        }
        let mode = self.source.mode();
        let peer_mode = self.peer_mode;
        if let Some(link_end) = &mut self.link_end {
            let lane =
                |of: Mode, frames: u64| PerMode(Mode::ALL.map(|mode| if mode == of { frames } else { 0 }));
            link_end.fast_forward(&Undisturbed {
                elapsed: Ticks(elapsed.0),
                sent: lane(mode, produced),
                sent_bytes: produced * u64::from(bytes),
                received: lane(peer_mode, peer_produced),
                received_bytes: delivered_bytes,
                acks_sent: acks,
            });
        }
    }
}
