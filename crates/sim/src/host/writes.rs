//! A queue pair and what is written or read over it: the messages of flows, one flow after the other, and the dummies behind them.

use super::clock::{instant, time};
use super::packets::Packet;
use super::progress::Progress;
use super::rdma::RdmaConfig;
use super::transport::{Effort, TransportEnd};
use crate::time::Time;
use linkmend_transport::{roce, tcp};
use std::collections::VecDeque;

/// Longest message of a flow that needs several.
const MESSAGE_BYTES_MAX: u32 = 1 << 24;

/// A flow that is not acknowledged.
#[derive(Debug)]
struct Written {
    /// Bytes that are not posted, because the send queue is full.
    left: u64,
    /// Messages that were posted and are not acknowledged.
    posted: u32,
    /// Dummies that follow it and are not posted.
    dummies: u8,
}

/// One end of a connection. A message holds 2^31 bytes at most, and a send queue only so many messages.
#[derive(Debug)]
pub(crate) struct Writes {
    pub(super) queue_pair: roce::QueuePair,
    /// How flows are transferred, and what follows them.
    rdma: RdmaConfig,
    flows: VecDeque<Written>,
    /// The first of them that is not posted whole; all before it are.
    posting: usize,
    /// When the last flow was written.
    written_at: Option<Time>,
    /// Packets retransmitted and timeouts that were accounted for.
    accounted: (u64, u64),
    /// Timeouts whose cause was counted.
    counted_timeouts: u64,
    /// What is reported next.
    then: Option<Progress>,
}

impl Writes {
    pub(crate) fn new(queue_pair: roce::QueuePair, rdma: RdmaConfig) -> Writes {
        Writes {
            queue_pair,
            rdma,
            flows: VecDeque::new(),
            posting: 0,
            written_at: None,
            accounted: (0, 0),
            counted_timeouts: 0,
            then: None,
        }
    }

    /// Whether every flow is acknowledged, so that only dummies can be outstanding.
    pub(crate) fn is_idle(&self) -> bool {
        self.flows.is_empty()
    }

    /// Posts as much as the send queue takes.
    fn post(&mut self) {
        while let Some(flow) = self.flows.get_mut(self.posting) {
            while flow.left > 0 {
                let bytes = flow.left.min(u64::from(MESSAGE_BYTES_MAX)) as u32;
                if self.queue_pair.post(roce::Request { opcode: self.rdma.verb.opcode(), bytes }).is_err() {
                    return;
                }
                flow.left -= u64::from(bytes);
                flow.posted += 1;
            }
            while flow.dummies > 0 {
                if self.queue_pair.post(roce::Request { opcode: self.rdma.verb.dummy(), bytes: 0 }).is_err() {
                    return;
                }
                flow.dummies -= 1;
            }
            self.posting += 1;
        }
    }

    /// The first flow is acknowledged. If its dummies were not posted yet, because the queue is full, they are not missed.
    fn end_first(&mut self) {
        self.flows.pop_front();
        self.posting = self.posting.saturating_sub(1);
    }

    /// Whether the timer has expired since the last call.
    pub(crate) fn take_timeout(&mut self) -> bool {
        let timeouts = self.queue_pair.info().timeouts;
        std::mem::replace(&mut self.counted_timeouts, timeouts) < timeouts
    }

    /// Takes what was retransmitted, and the timeouts, as accounted for.
    pub(crate) fn account(&mut self) {
        let info = self.queue_pair.info();
        self.accounted = (info.requests_resent, info.timeouts);
    }
}

impl TransportEnd for Writes {
    /// Dummies follow a flow if the one before it was written longer ago than the gap (section 5.2 of the JCST paper).
    fn write(&mut self, now: Time, bytes: u64) {
        let RdmaConfig { mechanisms, dummy_gap, .. } = self.rdma;
        let is_late = self.written_at.is_none_or(|before| now > before + dummy_gap);
        self.written_at = Some(now);
        let dummies = if is_late { mechanisms.dummies } else { 0 };
        self.flows.push_back(Written { left: bytes, posted: 0, dummies });
        self.post();
    }

    #[inline]
    fn handle(&mut self, now: Time, packet: &Packet, marked: bool) {
        let Packet::Roce(packet) = packet else { return };
        let mut packet = *packet;
        if marked && packet.codepoint != tcp::Codepoint::NotEct {
            packet.codepoint = tcp::Codepoint::Ce;
        }
        self.queue_pair.handle_packet(instant(now), &packet);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        self.queue_pair.poll_transmit(instant(now)).map(Packet::Roce)
    }

    #[inline]
    fn handle_timeout(&mut self, now: Time) {
        self.queue_pair.handle_timeout(instant(now));
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.queue_pair.next_timeout().map(time)
    }

    fn poll_progress(&mut self) -> Option<Progress> {
        if let Some(progress) = self.then.take() {
            return Some(progress);
        }
        loop {
            match self.queue_pair.poll_completion()? {
                // A dummy: nobody waits for it.
                roce::Completion::Received { bytes: 0, .. } => {}
                roce::Completion::Sent { bytes: 0, .. } => self.post(),
                roce::Completion::Received { bytes, .. } => {
                    return Some(Progress::Delivered(u64::from(bytes)));
                }
                roce::Completion::Failed { .. } => return Some(Progress::Failed),
                roce::Completion::Sent { opcode, bytes, .. } => {
                    let Some(flow) = self.flows.front_mut() else { continue };
                    flow.posted = flow.posted.saturating_sub(1);
                    self.post();
                    let ends = self.flows.front().is_some_and(|flow| flow.posted == 0 && flow.left == 0);
                    let end = ends.then_some(Progress::Acknowledged);
                    if ends {
                        self.end_first();
                    }
                    if opcode == roce::Opcode::Read {
                        // What is acknowledged has arrived here.
                        self.then = end;
                        return Some(Progress::Delivered(u64::from(bytes)));
                    }
                    if end.is_some() {
                        return end;
                    }
                }
            }
        }
    }

    /// Since that was last accounted for.
    fn effort(&self, _: Time) -> Effort {
        let info = self.queue_pair.info();
        let (resent, timeouts) = self.accounted;
        Effort { retransmissions: info.requests_resent - resent, timeouts: info.timeouts - timeouts }
    }
}
