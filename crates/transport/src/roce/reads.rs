//! What a responder reads for its peer (section 9.7.5.1.9, and 9.7.5.2 for repeated requests).

use super::completion::MESSAGE_BYTES_MAX;
use super::config::Config;
use super::packet::{Body, Packet, Position, ReadResponse, RequestPacket};
use crate::tcp::Codepoint;
use std::collections::VecDeque;

/// A READ in progress: the packets from `next` to `end` have not been sent.
#[derive(Debug, Clone, Copy)]
struct Read {
    first: u64,
    next: u64,
    end: u64,
    bytes: u32,
}

/// READs that have not been completely answered, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Reads {
    under_way: VecDeque<Read>,
    /// The first packets of repeated READs, ascending; as many as there is room for.
    again: VecDeque<u64>,
    pub responses_sent: u64,
}

impl Reads {
    /// The number of bytes that a packet asks to read, and of packets in the response; `None` if the packet makes no
    /// sense.
    pub fn asked_for(request: &RequestPacket, config: &Config) -> Option<(u32, u64)> {
        let bytes = request.dma_length.filter(|bytes| *bytes <= MESSAGE_BYTES_MAX)?;
        let is_alone = request.position == Position::Only && request.payload == 0;
        is_alone.then(|| (bytes, u64::from(bytes.div_ceil(u32::from(config.path_mtu)).max(1))))
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether there is room for one more.
    pub fn has_room(&self, config: &Config) -> bool {
        self.under_way.len() < usize::from(config.reads)
    }

    /// Accepts a READ that is next in order.
    pub fn push(&mut self, first: u64, bytes: u32, packets: u64) {
        self.under_way.push_back(Read { first, next: first, end: first + packets, bytes });
    }

    /// A READ was repeated, completely or for the rest of it. Packets that were to be sent from its number on are not
    /// sent, because the requester asks for all of them again. There is therefore room for it, unless others before it
    /// have taken all of it.
    pub fn push_again(&mut self, first: u64, bytes: u32, packets: u64, config: &Config) {
        self.under_way.retain(|read| read.next < first);
        if let Some(last) = self.under_way.back_mut() {
            last.end = last.end.min(first);
        }
        if !self.has_room(config) {
            return;
        }
        self.again.retain(|before| *before < first);
        if self.again.len() >= usize::from(config.reads) {
            self.again.pop_front();
        }
        self.again.push_back(first);
        self.push(first, bytes, packets);
    }

    /// Whether the READ that begins at a packet has been executed again, and none before it since.
    pub fn was_again(&self, first: u64) -> bool {
        self.again.contains(&first)
    }

    /// The next packet of a response. `messages` is how many the responder has completed.
    pub fn poll_transmit(&mut self, config: &Config, messages: u64) -> Option<Packet> {
        let read = self.under_way.front_mut()?;
        let psn = read.next;
        let before = (psn - read.first) * u64::from(config.path_mtu);
        // At most the path MTU, which has 16 bits.
        let payload = u64::from(read.bytes).saturating_sub(before).min(config.path_mtu.into()) as u16;
        let ends = before + u64::from(payload) >= u64::from(read.bytes);
        let position = match (psn == read.first, ends) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, false) => Position::Middle,
            (false, true) => Position::Last,
        };
        read.next += 1;
        if read.next >= read.end {
            self.under_way.pop_front();
        }
        self.responses_sent += 1;
        let codepoint = if config.dcqcn.is_some() { Codepoint::Ect0 } else { Codepoint::NotEct };
        Some(Packet {
            psn,
            codepoint,
            body: Body::ReadResponse(ReadResponse { position, payload, messages }),
        })
    }
}
