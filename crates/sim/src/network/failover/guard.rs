//! One direction of a failing link, at the switch that sends there.

use super::config::{FailingLink, HandOff, SqrConfig};
use super::load::PortLoads;
use super::ring::{Kept, Pass, Primary, Ring};
use super::stats::FailoverStats;
use crate::corruption::CorruptionProcess;
use crate::link::{FlowId, PortId};
use crate::time::Time;
use std::collections::VecDeque;

/// What the switch knows about its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It is up, as far as the switch knows.
    Up,
    /// It is known to have failed. Frames are held if the switch does so.
    Down { has_way: bool },
    /// New frames take the other path from the start.
    Rerouted,
}

/// Latencies of frames on the link of a guard.
#[derive(Debug, Clone, Copy)]
pub(in crate::network) struct Latencies {
    /// Time that a full frame takes from the queue until the other end's port has it.
    pub(in crate::network) transit: Time,
    /// Time from a frame's arrival until its acknowledgement has arrived.
    pub(in crate::network) acknowledgement: Time,
}

/// One direction of a failing link.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) port: PortId,
    /// The port that frames use when this one has failed: the same port if it comes back.
    pub(super) way: PortId,
    pub(super) state: State,
    pub(super) store: Store,
    /// How the link corrupts frames normally; set while it is cut.
    pub(super) uncut: Option<CorruptionProcess>,
    /// Frames that the link had corrupted before it was cut. Losses during the cut are counted separately.
    pub(super) corrupted_before: u64,
    pub(super) stats: FailoverStats,
    gap: Gap,
}

/// What a switch keeps of the frames that it has sent.
#[derive(Debug)]
pub(super) enum Store {
    Nothing,
    Ring { ring: Box<Ring>, loads: PortLoads, config: SqrConfig },
    Unacknowledged { frames: VecDeque<Kept>, bytes: u64, ack_latency: Time },
}

/// How long a receiver received nothing because of a failure.
#[derive(Debug, Clone, Copy, Default)]
struct Gap {
    /// The last frame that left and arrived before the failure: its flow, and when it left.
    before: Option<(FlowId, Time)>,
    /// Whether the link has failed, and nothing has been handed over since.
    is_open: bool,
}

impl Guard {
    pub(super) fn new(config: &FailingLink, port: PortId, latencies: Latencies) -> Guard {
        let way = config.backup.map_or(port, |backup| PortId::new(backup, port.side()));
        let store = match config.hand_off {
            HandOff::None => Store::Nothing,
            HandOff::Acknowledged => Store::Unacknowledged {
                frames: VecDeque::new(),
                bytes: 0,
                ack_latency: latencies.acknowledgement,
            },
            HandOff::Sqr(sqr) => Store::Ring {
                ring: Box::new(Ring::new(&sqr, config.detection + sqr.margin.unwrap_or(latencies.transit))),
                loads: PortLoads::new(sqr.window, port),
                config: SqrConfig { margin: Some(sqr.margin.unwrap_or(latencies.transit)), ..sqr },
            },
        };
        Guard {
            port,
            way,
            state: State::Up,
            store,
            uncut: None,
            corrupted_before: 0,
            stats: FailoverStats::default(),
            gap: Gap::default(),
        }
    }

    /// Whether the failure is known, but frames have no other path yet.
    pub(super) fn has_no_way(&self) -> bool {
        self.state == State::Down { has_way: false }
    }

    /// Whether its link has failed, even if the switch does not know yet.
    pub(super) fn is_cut(&self) -> bool {
        self.uncut.is_some()
    }

    /// Whether it keeps frames.
    pub(super) fn keeps(&self) -> bool {
        !matches!(self.store, Store::Nothing)
    }

    /// Whether frames that leave the queues of its port go to its store instead of the wire.
    pub(super) fn diverts(&self) -> bool {
        self.keeps() && self.has_no_way()
    }

    /// Accepts a frame that leaves, or that would leave if the link had not failed.
    pub(super) fn insert(&mut self, kept: Kept) -> Inserted {
        let now = kept.left_at;
        let inserted = match &mut self.store {
            Store::Nothing => Inserted::NotKept(kept),
            Store::Ring { ring, loads, config } => {
                if ring.has_room(kept.frame.bytes) {
                    let port = match (kept.is_held, config.one_queue) {
                        (true, _) => self.way,
                        (false, true) => self.port,
                        _ => loads.least_loaded(),
                    };
                    ring.insert(kept, now + config.loop_latency, port);
                    Inserted::Kept
                } else {
                    self.stats.frames_not_kept += 1;
                    Inserted::NotKept(kept)
                }
            }
            Store::Unacknowledged { frames, bytes, .. } => {
                *bytes += u64::from(kept.frame.bytes);
                frames.push_back(kept);
                Inserted::Kept
            }
        };
        let bytes = self.kept_bytes();
        let max = match self.state {
            State::Up => &mut self.stats.steady_buffer_bytes,
            _ => &mut self.stats.failed_buffer_bytes,
        };
        *max = bytes.max(*max);
        inserted
    }

    pub(super) fn kept_bytes(&self) -> u64 {
        match &self.store {
            Store::Nothing => 0,
            Store::Ring { ring, .. } => ring.bytes(),
            Store::Unacknowledged { bytes, .. } => *bytes,
        }
    }

    /// When the next copy reaches a caching queue.
    pub(super) fn next_queued(&self) -> Time {
        match &self.store {
            Store::Ring { ring, .. } => ring.next_at(),
            _ => Time::NEVER,
        }
    }

    /// The next copy that has reached a caching queue: its number, and the port.
    pub(super) fn poll_queued(&mut self, now: Time) -> Option<(u64, PortId)> {
        match &mut self.store {
            Store::Ring { ring, .. } => ring.poll_queued(now),
            _ => None,
        }
    }

    /// Passes the copy with this number through the egress pipeline. If it stays, it goes to another caching queue.
    pub(super) fn pass(&mut self, now: Time, tag: u64) -> Option<Pass> {
        self.stats.passes += 1;
        let Store::Ring { ring, loads, config } = &mut self.store else { return None };
        let primary = match self.state {
            State::Down { has_way } => Primary::Down { has_way },
            State::Up | State::Rerouted => Primary::Up,
        };
        let pass = ring.pass(now, tag, primary)?;
        let next = match pass {
            Pass::Again if !config.one_queue => loads.least_loaded(),
            Pass::Again => self.port,
            Pass::Waits => self.way,
            Pass::Dropped(_) | Pass::Released(_) => return Some(pass),
        };
        ring.send_back(tag, now + config.loop_latency, next);
        Some(pass)
    }

    /// The length of a copy, and the duration of its pass as a share of its time on the wire.
    pub(super) fn pass_size(&self, tag: u64) -> (u16, f64) {
        match &self.store {
            Store::Ring { ring, config, .. } => (ring.bytes_of(tag), config.pass_share),
            _ => (0, 0.0),
        }
    }

    /// The next frame that the other end has acknowledged, and that is no longer kept.
    pub(super) fn poll_acknowledged(&mut self, now: Time) -> Option<Kept> {
        let Store::Unacknowledged { frames, bytes, ack_latency } = &mut self.store else { return None };
        let first = frames.front()?;
        if first.is_lost || first.is_held || first.arrives_at + *ack_latency > now {
            return None;
        }
        *bytes -= u64::from(first.frame.bytes);
        frames.pop_front()
    }

    /// The next frame to hand over as soon as there is a path.
    pub(super) fn poll_unacknowledged(&mut self) -> Option<Kept> {
        let Store::Unacknowledged { frames, bytes, .. } = &mut self.store else { return None };
        let first = frames.pop_front()?;
        *bytes -= u64::from(first.frame.bytes);
        Some(first)
    }

    /// Sets how long copies are kept, besides the margin.
    pub(super) fn set_delay(&mut self, delay: Time) {
        if let Store::Ring { ring, config, .. } = &mut self.store {
            ring.set_delay(delay + config.margin.unwrap_or(Time::ZERO));
        }
    }

    /// The link has been cut: what has not reached the other end by now is lost.
    pub(super) fn cut(&mut self, now: Time) {
        self.stats.failures += 1;
        self.gap.is_open = true;
        let lose = |kept: &mut Kept| kept.is_lost |= kept.arrives_at > now;
        match &mut self.store {
            Store::Nothing => {}
            Store::Ring { ring, .. } => ring.iter_mut().for_each(lose),
            Store::Unacknowledged { frames, .. } => frames.iter_mut().for_each(lose),
        }
    }

    /// Records a frame that was sent on the link.
    pub(super) fn sent(&mut self, now: Time, kept: &Kept) {
        if kept.is_lost {
            return;
        }
        let before = self.gap.before.replace((kept.frame.flow, now));
        // The link is back, and nothing had to be handed over in this direction. If the same flow continues, it was
        // stopped in the other direction.
        if self.keeps() && self.way == self.port && self.state == State::Up && !self.is_cut() {
            let is_open = std::mem::take(&mut self.gap.is_open);
            if let Some((_, since)) = before.filter(|(flow, _)| is_open && *flow == kept.frame.flow) {
                self.stats.recovered(now, since, kept, false);
            }
        }
    }

    /// Records a frame that is handed over.
    pub(super) fn released(&mut self, now: Time, kept: &Kept) {
        match (kept.is_held, kept.is_lost) {
            (true, _) => self.stats.frames_held += 1,
            (false, true) => self.stats.frames_recovered += 1,
            (false, false) => self.stats.frames_duplicated += 1,
        }
        if (kept.is_held || kept.is_lost) && std::mem::take(&mut self.gap.is_open) {
            let since = self.gap.before.filter(|(flow, _)| *flow == kept.frame.flow);
            let since = since.map_or(kept.left_at, |(_, at)| at);
            self.stats.recovered(now, since, kept, kept.is_lost);
        }
    }
}

/// What happens to a frame that is passed to a guard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Inserted {
    Kept,
    NotKept(Kept),
}
