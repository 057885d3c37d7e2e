//! What was sent in one direction and has not arrived, and what the link did to it.

use crate::rules::Holds;
use linkmend_protocol::wire::{ADDRESSES_BYTES, Decapsulation, FRAME_BYTES_MIN_IN_MEMORY, LinkFrame, parse};
use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hasher as _};

/// A stranger's frames that may still arrive. Those that do not arrive soon never do.
const STRANGE_MAX: usize = 4_096;
/// Frames that have left the books, of which is known what became of them.
const PAST_MAX: usize = 65_536;

/// The books of one direction.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Frames that fit the link with a header, which arrive in order and all.
    protected: VecDeque<Print>,
    /// Longer ones, which pass unprotected.
    unprotected: VecDeque<Print>,
    /// What the hosts may get from a stranger.
    strange: VecDeque<Print>,
    pub sent: u64,
    pub delivered: u64,
    pub strange_delivered: u64,
    /// Protected frames that others overtook, which is only allowed where numbers are guessed.
    pub missing: u64,
    /// Protected frames that came after others that were sent later.
    pub late: u64,
    pub unprotected_missing: u64,
    pub on_link: OnLink,
    past: VecDeque<Past>,
}

/// What tells frames apart: whole ones by the hundred thousand would be most of a run's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Print {
    bytes: usize,
    hash: u64,
    first: [u8; PRINT_BYTES],
}

const PRINT_BYTES: usize = 40;

impl Print {
    /// Of parts of a frame, as a cable pads it.
    fn of(parts: &[&[u8]]) -> Print {
        let mut hasher = DefaultHasher::new();
        let (mut bytes, mut first) = (0, [0; PRINT_BYTES]);
        let mut write = |part: &[u8]| {
            for (place, byte) in first.iter_mut().skip(bytes).zip(part) {
                *place = *byte;
            }
            hasher.write(part);
            bytes += part.len();
        };
        parts.iter().for_each(|part| write(part));
        let length: usize = parts.iter().map(|part| part.len()).sum();
        write(&[0; FRAME_BYTES_MIN_IN_MEMORY][length.min(FRAME_BYTES_MIN_IN_MEMORY)..]);
        Print { bytes, hash: hasher.finish(), first }
    }
}

impl fmt::Display for Print {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {:02x?}", self.bytes, self.first)
    }
}

/// A frame that has left the books.
#[derive(Debug, Clone, Copy)]
struct Past {
    frame: Print,
    fate: Fate,
    /// How many frames had been delivered by then.
    at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Arrived,
    Overtaken,
    /// A stranger's, and too old.
    Forgotten,
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
        queue.push_back(Print::of(&[frame]));
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
            LinkFrame::Data { .. } | LinkFrame::Control(_) | LinkFrame::InTime | LinkFrame::Malformed => {}
        }
    }

    /// A stranger sends a frame: notes what the hosts may get of it. `is_judged`: the end has a session to judge it by.
    pub fn intrude(&mut self, frame: &[u8], has_key: bool, is_judged: bool) {
        let tag = if has_key { linkmend_protocol::wire::TAG_BYTES } else { 0 };
        let mut may_arrive = |frame: Print| {
            self.strange.push_back(frame);
            if self.strange.len() > STRANGE_MAX {
                let old = self.strange.pop_front();
                self.past.extend(old.map(|frame| Past { frame, fate: Fate::Forgotten, at: self.delivered }));
            }
        };
        // The authors' headers mean nothing in the transparent format.
        if linkmend_protocol::wire::is_compact(frame) {
            return may_arrive(Print::of(&[frame]));
        }
        match parse(frame) {
            LinkFrame::Foreign => may_arrive(Print::of(&[frame])),
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
        let frame = Print::of(&[frame]);
        let at = self.delivered;
        self.past.drain(..self.past.len().saturating_sub(PAST_MAX));
        if self.protected.front() == Some(&frame) {
            let arrived = self.protected.pop_front();
            self.past.extend(arrived.map(|frame| Past { frame, fate: Fate::Arrived, at }));
            return Ok(());
        }
        if let Some(place) = self.unprotected.iter().position(|sent| *sent == frame) {
            self.unprotected_missing += place as u64;
            let gone = self.unprotected.drain(..=place);
            self.past.extend(gone.map(|frame| Past { frame, fate: Fate::Arrived, at }));
            return Ok(());
        }
        // Hosts' frames come first: a stranger repeats them only after they have arrived.
        if let Some(at) = self.strange.iter().position(|strange| *strange == frame) {
            self.strange.remove(at);
            self.strange_delivered += 1;
            return Ok(());
        }
        match self.protected.iter().position(|sent| *sent == frame) {
            Some(place) if holds < Holds::Everything => {
                self.missing += place as u64;
                let overtaken = self.protected.drain(..place);
                self.past.extend(overtaken.map(|frame| Past { frame, fate: Fate::Overtaken, at }));
                let arrived = self.protected.pop_front();
                self.past.extend(arrived.map(|frame| Past { frame, fate: Fate::Arrived, at }));
                Ok(())
            }
            Some(place) => Err(format!("{place} frames are missing before {frame}")),
            None => self.deliver_late(frame, holds),
        }
    }

    /// A frame arrives that is not on its way any more, which only overtaken ones may, and only once.
    fn deliver_late(&mut self, frame: Print, holds: Holds) -> Result<(), String> {
        let Some(place) = self.past.iter().rposition(|past| past.frame == frame) else {
            return Err(format!("nobody sent {frame}"));
        };
        let Past { fate, at, .. } = self.past[place];
        if fate == Fate::Overtaken && holds == Holds::NoDuplicates {
            self.past[place].fate = Fate::Arrived;
            self.missing -= 1;
            self.late += 1;
            return Ok(());
        }
        Err(format!("{fate:?} {} frames ago: {frame}", self.delivered - at))
    }

    /// Counts what has not arrived as missing, because nothing is on its way.
    pub fn close(&mut self) {
        self.missing += self.protected.drain(..).len() as u64;
        self.unprotected_missing += self.unprotected.drain(..).len() as u64;
    }
}

/// As a cable pads it.
pub fn pad(frame: &mut Vec<u8>) {
    frame.resize(frame.len().max(FRAME_BYTES_MIN_IN_MEMORY), 0);
}

fn restored(frame: &[u8], decapsulation: Decapsulation, tag: usize) -> Print {
    let ethertype = decapsulation.ethertype.map(u16::to_be_bytes);
    let rest = frame.get(ADDRESSES_BYTES + decapsulation.removes + tag..).unwrap_or_default();
    Print::of(&[&frame[..ADDRESSES_BYTES], ethertype.as_ref().map_or(&[], |bytes| &bytes[..]), rest])
}
