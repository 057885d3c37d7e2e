//! What was sent in one direction and has not arrived, and what the link did to it.

use crate::rules::Holds;
use linkmend_protocol::wire::{ADDRESSES_BYTES, Decapsulation, FRAME_BYTES_MIN_IN_MEMORY, LinkFrame, parse};
use std::collections::VecDeque;

/// A stranger's frames that may still arrive. Those that do not arrive soon never do.
const STRANGE_MAX: usize = 4_096;

/// The books of one direction.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Frames that fit the link with a header, which arrive in order and all.
    protected: VecDeque<Vec<u8>>,
    /// Longer ones, which pass unprotected.
    unprotected: VecDeque<Vec<u8>>,
    /// What the hosts may get from a stranger.
    strange: VecDeque<Vec<u8>>,
    pub sent: u64,
    pub delivered: u64,
    pub strange_delivered: u64,
    /// Protected frames that others overtook, which is only allowed where numbers are guessed.
    pub missing: u64,
    pub unprotected_missing: u64,
    pub on_link: OnLink,
}

/// What left on the link, without what strangers sent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct OnLink {
    pub originals: u64,
    pub originals_lost: u64,
    pub unprotected_lost: u64,
}

impl Ledger {
    /// A host sends a frame. `is_protected`: it fits the link with a header.
    pub fn send(&mut self, frame: &[u8], is_protected: bool) {
        self.sent += 1;
        let queue = if is_protected { &mut self.protected } else { &mut self.unprotected };
        queue.push_back(padded(frame));
    }

    /// A link end sends a frame, which is lost or not.
    pub fn cross(&mut self, frame: &[u8], is_lost: bool) {
        let on_link = &mut self.on_link;
        match parse(frame) {
            LinkFrame::Data { header, .. } if !header.retransmitted => {
                on_link.originals += 1;
                on_link.originals_lost += u64::from(is_lost);
            }
            LinkFrame::Foreign | LinkFrame::Escaped(_) | LinkFrame::Acknowledging { .. } => {
                on_link.unprotected_lost += u64::from(is_lost);
            }
            LinkFrame::Data { .. } | LinkFrame::Control(_) | LinkFrame::Malformed => {}
        }
    }

    /// A stranger sends a frame: notes what the hosts may get of it. `is_judged`: the end has a session to judge it by.
    pub fn intrude(&mut self, frame: &[u8], has_key: bool, is_judged: bool) {
        let tag = if has_key { linkmend_protocol::wire::TAG_BYTES } else { 0 };
        let mut may_arrive = |frame: Vec<u8>| {
            self.strange.push_back(frame);
            if self.strange.len() > STRANGE_MAX {
                self.strange.pop_front();
            }
        };
        // The authors' headers mean nothing in the transparent format.
        if linkmend_protocol::wire::is_compact(frame) {
            return may_arrive(padded(frame));
        }
        match parse(frame) {
            LinkFrame::Foreign => may_arrive(padded(frame)),
            LinkFrame::Escaped(decapsulation) => may_arrive(restored(frame, decapsulation, 0)),
            LinkFrame::Acknowledging { decapsulation, .. } => may_arrive(restored(frame, decapsulation, tag)),
            LinkFrame::Data { decapsulation, .. } if !is_judged => {
                may_arrive(restored(frame, decapsulation, tag));
            }
            _ => {}
        }
    }

    /// A frame arrives at the hosts.
    pub fn deliver(&mut self, frame: &[u8], holds: Holds) -> Result<(), String> {
        self.delivered += 1;
        if holds == Holds::Afterwards {
            return Ok(());
        }
        let frame = padded(frame);
        if self.protected.front() == Some(&frame) {
            self.protected.pop_front();
            return Ok(());
        }
        if let Some(at) = self.unprotected.iter().position(|sent| *sent == frame) {
            self.unprotected.drain(..=at);
            self.unprotected_missing += at as u64;
            return Ok(());
        }
        // Hosts' frames come first: a stranger repeats them only after they have arrived.
        if let Some(at) = self.strange.iter().position(|strange| *strange == frame) {
            self.strange.remove(at);
            self.strange_delivered += 1;
            return Ok(());
        }
        let at = self.protected.iter().position(|sent| *sent == frame);
        match at {
            Some(at) if holds < Holds::Everything => {
                self.protected.drain(..=at);
                self.missing += at as u64;
                Ok(())
            }
            Some(at) => Err(format!("{at} frames are missing before {}", shown(&frame))),
            None => Err(format!("nobody sent {}", shown(&frame))),
        }
    }

    /// Counts what has not arrived as missing, because nothing is on its way.
    pub fn close(&mut self) {
        self.missing += self.protected.drain(..).len() as u64;
        self.unprotected_missing += self.unprotected.drain(..).len() as u64;
    }
}

/// As a cable pads it.
pub fn padded(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame.resize(frame.len().max(FRAME_BYTES_MIN_IN_MEMORY), 0);
    frame
}

fn restored(frame: &[u8], decapsulation: Decapsulation, tag: usize) -> Vec<u8> {
    let mut out = frame[..ADDRESSES_BYTES].to_vec();
    out.extend(decapsulation.ethertype.into_iter().flat_map(u16::to_be_bytes));
    out.extend(frame.get(ADDRESSES_BYTES + decapsulation.removes + tag..).unwrap_or_default());
    padded(&out)
}

fn shown(frame: &[u8]) -> String {
    format!("{} bytes, {:02x?}", frame.len(), &frame[..40.min(frame.len())])
}
