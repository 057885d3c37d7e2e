//! One direction of a link: a queue with rate, delay and loss. Data stays in order; control frames may also be
//! duplicated and delayed.

use super::ledger::FrameId;
use super::random::Random;
use linkmend_protocol::{Control, DataHeader};
use std::collections::VecDeque;

/// The size of a full-size probe.
const FULL_SIZE_BYTES: u32 = 1_508;

/// A frame on the link.
#[derive(Debug, Clone)]
pub enum Wire {
    Data { frame: FrameId, header: DataHeader, bytes: u32 },
    Plain { frame: FrameId, bytes: u32 },
    Control(Box<Control>),
}

impl Wire {
    pub fn bytes(&self) -> u32 {
        match self {
            Wire::Data { bytes, .. } | Wire::Plain { bytes, .. } => *bytes,
            Wire::Control(control) if matches!(**control, Control::Probe(ref probe) if probe.is_full) => {
                FULL_SIZE_BYTES
            }
            Wire::Control(_) => 64,
        }
    }

    pub fn is_copy(&self) -> bool {
        matches!(self, Wire::Data { header, .. } if header.retransmitted)
    }

    /// A protected frame's first sending.
    pub fn is_original(&self) -> bool {
        matches!(self, Wire::Data { header, .. } if !header.retransmitted)
    }

    pub fn is_control(&self) -> bool {
        matches!(self, Wire::Control(_))
    }

    pub fn is_dummy(&self) -> bool {
        matches!(self, Wire::Control(control)
            if matches!(**control, Control::Dummy { .. } | Control::CompactDummy { .. }))
    }

    pub fn is_feedback(&self) -> bool {
        matches!(self, Wire::Control(control) if matches!(**control, Control::Feedback(_)))
    }
}

/// Which frames are corrupted.
pub enum Loss {
    None,
    /// Independently with this probability.
    Iid(f64),
    /// Gilbert-Elliott: lossless in the good state, `loss` in the bad one.
    Burst {
        to_bad: f64,
        to_good: f64,
        loss: f64,
        bad: bool,
    },
    Script(Box<dyn FnMut(&Wire) -> bool>),
}

impl Loss {
    /// Corrupts the frames for which `corrupts` returns true, in the order of sending.
    pub fn script(corrupts: impl FnMut(&Wire) -> bool + 'static) -> Loss {
        Loss::Script(Box::new(corrupts))
    }

    /// Corrupts the originals with these positions, counted from 0 over all protected originals.
    pub fn originals(positions: impl Fn(u64) -> bool + 'static) -> Loss {
        let mut count = 0;
        Loss::script(move |wire| {
            let hit = wire.is_original() && positions(count);
            count += u64::from(wire.is_original());
            hit
        })
    }

    fn corrupts(&mut self, wire: &Wire, random: &mut Random) -> bool {
        match self {
            Loss::None => false,
            Loss::Iid(rate) => random.chance(*rate),
            Loss::Burst { to_bad, to_good, loss, bad } => {
                *bad = if *bad { !random.chance(*to_good) } else { random.chance(*to_bad) };
                *bad && random.chance(*loss)
            }
            Loss::Script(corrupts) => corrupts(wire),
        }
    }
}

/// What may happen to control frames besides loss.
#[derive(Debug, Clone, Copy, Default)]
pub struct ControlFaults {
    pub duplicate: f64,
    pub delay: f64,
    pub delay_max_ns: u64,
}

pub struct Link {
    pub mbps: u64,
    pub delay_ns: u64,
    /// Longer frames are lost.
    pub bytes_max: u32,
    /// Nothing arrives as long as this lasts, and then everything does.
    pub holds: bool,
    pub loss: Loss,
    pub control: ControlFaults,
    pub busy_until: u64,
    queue: VecDeque<(u64, Wire)>,
    late: Vec<(u64, Wire)>,
}

impl Link {
    pub fn new(mbps: u64, delay_ns: u64) -> Link {
        Link {
            mbps,
            delay_ns,
            bytes_max: u32::MAX,
            holds: false,
            loss: Loss::None,
            control: ControlFaults::default(),
            busy_until: 0,
            queue: VecDeque::new(),
            late: Vec::new(),
        }
    }

    /// Sends a frame over the link that nobody keeps track of.
    pub fn fill(&mut self, now: u64, bytes: u32) {
        self.busy_until = self.busy_until.max(now) + self.serialisation_ns(bytes);
    }

    fn serialisation_ns(&self, bytes: u32) -> u64 {
        ((u64::from(bytes) + 20) * 8_000 / self.mbps).max(1)
    }

    /// Puts a frame on the link; returns whether it was corrupted.
    pub fn send(&mut self, now: u64, wire: Wire, random: &mut Random) -> bool {
        self.fill(now, wire.bytes());
        if wire.bytes() > self.bytes_max || self.loss.corrupts(&wire, random) {
            return true;
        }
        let at = self.busy_until + self.delay_ns;
        if wire.is_control() {
            let extra = |random: &mut Random| 1 + random.below(self.control.delay_max_ns.max(1));
            if random.chance(self.control.duplicate) {
                self.late.push((at + extra(random), wire.clone()));
            }
            if random.chance(self.control.delay) {
                self.late.push((at + extra(random), wire));
                return false;
            }
        }
        self.queue.push_back((at, wire));
        false
    }

    pub fn next_arrival(&self) -> Option<u64> {
        if self.holds {
            return None;
        }
        let late = self.late.iter().map(|(at, _)| *at).min();
        self.queue.front().map(|(at, _)| *at).into_iter().chain(late).min()
    }

    pub fn pop_arrival(&mut self, now: u64) -> Option<Wire> {
        if self.holds {
            return None;
        }
        if self.queue.front().is_some_and(|(at, _)| *at <= now) {
            return self.queue.pop_front().map(|(_, wire)| wire);
        }
        let index = self.late.iter().position(|(at, _)| *at <= now)?;
        Some(self.late.remove(index).1)
    }

    /// Whether frames of a host are on their way.
    pub fn carries_data(&self) -> bool {
        self.queue.iter().any(|(_, wire)| !wire.is_control())
    }
}
