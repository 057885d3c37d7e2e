//! What a responder reads out for its peer (section 9.7.5.1.9, and 9.7.5.2 for requests that come again).

use super::completion::MESSAGE_BYTES_MAX;
use super::config::Config;
use super::packet::{Body, Packet, Position, ReadResponse, RequestPacket};
use crate::tcp::Codepoint;
use std::collections::VecDeque;

/// A READ under way: the packets from `next` to `end` are not sent.
#[derive(Debug, Clone, Copy)]
struct Read {
    first: u64,
    next: u64,
    end: u64,
    bytes: u32,
}

/// READs that are not answered to their last packet, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Reads {
    under_way: VecDeque<Read>,
    /// The first packets of those that came again, ascending; at most as many as have room.
    again: VecDeque<u64>,
    pub responses_sent: u64,
}

impl Reads {
    /// The bytes that a packet asks to read, and the packets of its response; `None` if it makes no sense.
    pub fn asked_for(request: &RequestPacket, config: &Config) -> Option<(u32, u64)> {
        let bytes = request.dma_length.filter(|bytes| *bytes <= MESSAGE_BYTES_MAX)?;
        let is_alone = request.position == Position::Only && request.payload == 0;
        is_alone.then(|| (bytes, u64::from(bytes.div_ceil(u32::from(config.path_mtu)).max(1))))
    }

    /// Whether nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Whether one more has room.
    pub fn has_room(&self, config: &Config) -> bool {
        self.under_way.len() < usize::from(config.reads)
    }

    /// Takes a READ that is next in order.
    pub fn push(&mut self, first: u64, bytes: u32, packets: u64) {
        self.under_way.push_back(Read { first, next: first, end: first + packets, bytes });
    }

    /// A READ has come again, whole or for its rest: what was to be sent from its number on is not, because the requester
    /// asks for all of that again. So there is room for it, unless others before it have taken all.
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
