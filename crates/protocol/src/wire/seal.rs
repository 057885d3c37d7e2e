//! Keyed tags, by which two ends that share a key recognise each other's frames.
//!
//! ```text
//!  control frame   ... body | counter 64 | tag 64 | zero padding
//!  hello           ... body | heard 64 | counter 64 | tag 64 | zero padding
//!  data, and ACK on an unprotected frame
//!                  ... header | tag 32 | [original EtherType] | rest of the original frame
//! ```
//!
//! Every tag is SipHash-2-4, a keyed hash that is made for this, shortened where 32 bits are there. Hellos carry a tag under
//! a key that follows from the shared one. All others are under a key of their direction and of the starts of both ends,
//! which follows from the nonces of their hellos, so frames of another start never match. The peer's nonce is taken only
//! from a hello that repeats this end's. A hello also says the highest counter of a hello that its writer has heard from the
//! start that it repeats. A known peer gives way only to one that has heard a later hello than it, and nobody can have heard
//! that at the time of an earlier start: recorded hellos are of no use, also those that never arrived.
//!
//! The tag of a control frame covers everything before it, and each counter is accepted once. The tag of a data frame covers
//! its session, its whole number, its header, its addresses, EtherType and length on the link, but not its payload. An escaped frame
//! needs none, because it says no more than a frame without a header, which anybody can send.

use super::{ADDRESSES_BYTES, Decapsulation, Encapsulation};
use crate::frame::{DataHeader, PiggybackAck};
use crate::link_end::Control;
use crate::mode::Mode;
use crate::session::SessionNumber;
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hasher as _;
use core::str::FromStr;
use siphasher::{sip, sip128};

/// Bytes of the tag of a data frame.
pub const TAG_BYTES: usize = 4;
/// Bytes of counter and tag of a control frame.
pub const CONTROL_SEAL_BYTES: usize = COUNTER_BYTES + CONTROL_TAG_BYTES;

const COUNTER_BYTES: usize = 8;
const CONTROL_TAG_BYTES: usize = 8;
const KEY_BYTES: usize = 16;
/// Bytes of the counter that a hello says its writer has heard, in front of its own.
pub const HEARD_BYTES: usize = 8;
/// How many control frames may arrive before one that was sent earlier.
const WINDOW: u64 = 1_024;
const WINDOW_WORDS: usize = (WINDOW / 64) as usize;
/// Earlier starts of a peer whose hellos are refused also if they do not repeat this end's nonce.
const STARTS_MAX: usize = 1 << 10;

/// The key that both ends of a link share: 128 bits, written as 32 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct LinkKey([u8; KEY_BYTES]);

impl LinkKey {
    /// Its bytes, from which other keys can be derived.
    pub const fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for LinkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LinkKey(secret)")
    }
}

/// Why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadKey {
    /// It does not have this many hexadecimal digits.
    Digits {
        /// How many characters there are instead.
        found: usize,
    },
    /// All its digits are the same, so nobody drew it.
    NotRandom,
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadKey::Digits { found } => write!(f, "a key has 32 hexadecimal digits, not {found} characters"),
            BadKey::NotRandom => f.write_str("all digits of the key are the same"),
        }
    }
}

impl core::error::Error for BadKey {}

impl FromStr for LinkKey {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<LinkKey, BadKey> {
        let text = text.trim();
        let bad = BadKey::Digits { found: text.chars().count() };
        if text.len() != 2 * KEY_BYTES || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(bad);
        }
        let mut key = [0; KEY_BYTES];
        for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = core::str::from_utf8(digits).map_err(|_| bad)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| bad)?;
        }
        if key.iter().all(|&byte| byte == key[0]) {
            return Err(BadKey::NotRandom);
        }
        Ok(LinkKey(key))
    }
}

impl LinkKey {
    /// A key for one purpose: SipHash with 128 bits of output, used as a pseudorandom function.
    fn derive(&self, purpose: &[u8], nonces: [u64; 2]) -> LinkKey {
        let mut hasher = sip128::SipHasher24::new_with_key(&self.0);
        hasher.write(purpose);
        nonces.iter().for_each(|nonce| hasher.write(&nonce.to_be_bytes()));
        LinkKey(sip128::Hasher128::finish128(&hasher).as_bytes())
    }

    fn tag(&self, message: &[u8]) -> u64 {
        let mut hasher = sip::SipHasher24::new_with_key(&self.0);
        hasher.write(message);
        hasher.finish()
    }
}

/// What a control frame turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Genuineness {
    /// The peer's, or a hello of an end that has the key.
    Genuine,
    /// A hello without a tag: its writer has no key.
    Keyless,
    /// A hello with a tag under another key.
    OtherKey,
    /// Forged, repeated, of another start, or from before this end knew its peer.
    Refused,
}

/// The keys of a link end, and what it has accepted.
#[derive(Debug)]
pub struct Seal {
    key: LinkKey,
    hello_key: LinkKey,
    own: u64,
    peer: Option<Peer>,
    /// Nonces of the peer's earlier starts.
    before: Vec<u64>,
    sent: u64,
    heard: Heard,
}

/// The start that has said hello last, with the key.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    nonce: u64,
    /// The highest counter of its hellos.
    counter: u64,
    /// What its last hello says it has heard of this end.
    has_heard: u64,
}

#[derive(Debug)]
struct Peer {
    nonce: u64,
    send: LinkKey,
    receive: LinkKey,
    /// The highest counter of its hellos, and the highest of this end's that it has heard.
    hellos: u64,
    has_heard: u64,
    window: Window,
}

impl Seal {
    /// For an end with this nonce in its hellos, which must not have been used with this key before.
    pub fn new(key: LinkKey, nonce: u64) -> Seal {
        let hello_key = key.derive(b"linkmend hello", [0; 2]);
        Seal { key, hello_key, own: nonce, peer: None, before: Vec::new(), sent: 0, heard: Heard::default() }
    }

    /// Seals a control frame whose body ends at `end`, and returns where the seal ends. `None` if it cannot be sent yet,
    /// because the peer is not known.
    pub(super) fn close_control(&mut self, control: &Control, frame: &mut [u8], end: usize) -> Option<usize> {
        let mut end = end;
        let key = if let Control::Hello { echo, .. } = control {
            let heard =
                Some(self.heard).filter(|heard| heard.nonce == *echo).map_or(0, |heard| heard.counter);
            frame[end..end + HEARD_BYTES].copy_from_slice(&heard.to_be_bytes());
            end += HEARD_BYTES;
            &self.hello_key
        } else {
            &self.peer.as_ref()?.send
        };
        self.sent += 1;
        let tagged = end + COUNTER_BYTES;
        frame[end..tagged].copy_from_slice(&self.sent.to_be_bytes());
        let tag = key.tag(&frame[..tagged]);
        frame[tagged..tagged + CONTROL_TAG_BYTES].copy_from_slice(&tag.to_be_bytes());
        Some(tagged + CONTROL_TAG_BYTES)
    }

    /// Judges a control frame that arrived, whose body ends at `end`. Each is genuine once.
    pub fn open_control(&mut self, control: &Control, frame: &[u8], end: usize) -> Genuineness {
        match *control {
            Control::OldHello => Genuineness::Keyless,
            Control::Hello { nonce, echo } => self.open_hello(nonce, echo, frame, end),
            _ => {
                let Some((counter, tag)) = trailer(frame, end) else { return Genuineness::Refused };
                let peer = self.peer.as_mut();
                let peer = peer.filter(|peer| tag == peer.receive.tag(&frame[..end + COUNTER_BYTES]));
                if peer.is_some_and(|peer| peer.window.accepts(counter)) {
                    Genuineness::Genuine
                } else {
                    Genuineness::Refused
                }
            }
        }
    }

    fn open_hello(&mut self, nonce: u64, echo: u64, frame: &[u8], end: usize) -> Genuineness {
        let Some((counter, tag)) = trailer(frame, end + HEARD_BYTES).filter(|trailer| *trailer != (0, 0))
        else {
            return Genuineness::Keyless;
        };
        if tag != self.hello_key.tag(&frame[..end + HEARD_BYTES + COUNTER_BYTES]) {
            return Genuineness::OtherKey;
        }
        let has_heard = frame[end..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let has_heard = if echo == self.own { has_heard } else { 0 };
        let is_believed = match &mut self.peer {
            _ if nonce == self.own => false,
            Some(peer) if nonce == peer.nonce => {
                let is_new = counter > peer.hellos;
                peer.hellos = peer.hellos.max(counter);
                peer.has_heard = peer.has_heard.max(has_heard);
                is_new
            }
            // It hears this end, so it is the peer or was.
            Some(peer) if echo == self.own => has_heard > peer.has_heard && has_heard <= self.sent,
            _ => !self.before.contains(&nonce),
        };
        if !is_believed {
            return Genuineness::Refused;
        }
        let before = Some(self.heard).filter(|heard| heard.nonce == nonce).map_or(0, |heard| heard.counter);
        self.heard = Heard { nonce, counter: before.max(counter), has_heard };
        Genuineness::Genuine
    }

    /// Records that the last genuine hello is the peer's. From the first one that repeats this end's nonce, frames of
    /// the peer's new start are genuine, and those of the previous one no longer.
    pub fn meet(&mut self, nonce: u64, echo: u64) {
        let is_known = self.peer.as_ref().is_some_and(|peer| peer.nonce == nonce);
        if echo != self.own || nonce == self.own || is_known {
            return;
        }
        let Heard { counter: hellos, has_heard, .. } =
            Some(self.heard).filter(|heard| heard.nonce == nonce).unwrap_or_default();
        let before = self.peer.replace(Peer {
            nonce,
            send: self.key.derive(b"linkmend direction", [self.own, nonce]),
            receive: self.key.derive(b"linkmend direction", [nonce, self.own]),
            hellos,
            has_heard,
            window: Window::default(),
        });
        self.before.extend(before.map(|peer| peer.nonce));
        let forgotten = self.before.len().saturating_sub(STARTS_MAX);
        self.before.drain(..forgotten);
    }

    /// Adds the tag of a frame to its header. `None` if the peer is not known, which is impossible in a session.
    pub fn close(&self, frame: &Tagged<'_>, header: &mut Encapsulation) -> Option<()> {
        header.push(&frame.tag(&self.peer.as_ref()?.send));
        Some(())
    }

    /// Whether the tag of a frame that arrived is the peer's.
    pub fn opens(&self, frame: &Tagged<'_>, tag: [u8; TAG_BYTES]) -> bool {
        self.peer.as_ref().is_some_and(|peer| frame.tag(&peer.receive) == tag)
    }
}

/// Counter and tag of a control frame whose body ends at `end`.
fn trailer(frame: &[u8], end: usize) -> Option<(u64, u64)> {
    let (counter, rest) = frame.get(end..)?.split_first_chunk()?;
    let (tag, _) = rest.split_first_chunk()?;
    Some((u64::from_be_bytes(*counter), u64::from_be_bytes(*tag)))
}

/// Whether the writer of a hello has a key.
pub fn is_sealed(frame: &[u8], end: usize) -> bool {
    trailer(frame, end + HEARD_BYTES).is_some_and(|trailer| trailer != (0, 0))
}

/// Where the tag of a frame with this header is, and how to restore the frame without it.
pub fn without_tag(
    frame: &[u8],
    mut decapsulation: Decapsulation,
) -> Option<([u8; TAG_BYTES], Decapsulation)> {
    // A header whose EtherType code is 0 is followed by the EtherType, which is not removed.
    let at = ADDRESSES_BYTES + decapsulation.removes;
    let tag = *frame.get(at..)?.first_chunk()?;
    decapsulation.removes += TAG_BYTES;
    Some((tag, decapsulation))
}

/// What the tag of a frame covers.
#[derive(Debug, Clone, Copy)]
pub struct Tagged<'a> {
    /// The session that numbers the frame, or that is acknowledged on an unprotected one.
    pub session: SessionNumber,
    /// The absolute number of the frame, or that of the ACK.
    pub number: u64,
    /// The header that is tagged.
    pub header: TaggedHeader,
    /// Destination and source address.
    pub addresses: &'a [u8; ADDRESSES_BYTES],
    /// The frame's own EtherType.
    pub ethertype: u16,
    /// The frame's length on the link, with header and tag, and with the padding that a link adds to a short frame: its
    /// receiver cannot tell padding from the frame.
    pub link_bytes: u32,
}

/// A header with a tag.
#[derive(Debug, Clone, Copy)]
pub enum TaggedHeader {
    /// Of a protected frame. The flag of copies is left out, because it is set in place.
    Data(DataHeader),
    /// Of an unprotected frame.
    Ack(PiggybackAck),
}

impl Tagged<'_> {
    fn tag(&self, key: &LinkKey) -> [u8; TAG_BYTES] {
        let lane = |mode: Mode| u8::from(mode == Mode::Ordered);
        let (kind, ack) = match self.header {
            TaggedHeader::Data(DataHeader { mode, ack, .. }) => (0x10 | lane(mode), ack),
            TaggedHeader::Ack(ack) => (0x20, Some(ack)),
        };
        // Only numbers of fixed lengths, so that no two frames have the same message.
        let mut message = [0; 40];
        message[..12].copy_from_slice(self.addresses);
        message[12..14].copy_from_slice(&self.ethertype.to_be_bytes());
        message[14..18].copy_from_slice(&self.link_bytes.to_be_bytes());
        message[18..22].copy_from_slice(&self.session.0.to_be_bytes());
        message[22..30].copy_from_slice(&self.number.to_be_bytes());
        message[30] = kind;
        if let Some(PiggybackAck { mode, next }) = ack {
            message[31] = 0x80 | lane(mode) << 1 | u8::from(next.era());
            message[32..34].copy_from_slice(&next.number().to_be_bytes());
        }
        let [tag @ .., _, _, _, _] = key.tag(&message).to_be_bytes();
        tag
    }
}

/// Which of the latest counters were accepted.
#[derive(Debug)]
struct Window {
    /// One beyond the highest.
    next: u64,
    accepted: [u64; WINDOW_WORDS],
}

impl Default for Window {
    fn default() -> Window {
        Window { next: 0, accepted: [0; WINDOW_WORDS] }
    }
}

impl Window {
    /// Accepts each counter once, and none that is too old to tell.
    fn accepts(&mut self, counter: u64) -> bool {
        if counter.saturating_add(WINDOW) < self.next || counter == u64::MAX {
            return false;
        }
        if counter >= self.next {
            // What the window moves over has not been accepted.
            for skipped in self.next..=counter.min(self.next + WINDOW - 1) {
                self.set(skipped, false);
            }
            if counter - self.next >= WINDOW {
                self.accepted = [0; WINDOW_WORDS];
            }
            self.next = counter + 1;
        } else if self.accepted[(counter % WINDOW / 64) as usize] >> (counter % 64) & 1 != 0 {
            return false;
        }
        self.set(counter, true);
        true
    }

    fn set(&mut self, counter: u64, accepted: bool) {
        let word = &mut self.accepted[(counter % WINDOW / 64) as usize];
        let bit = 1 << (counter % 64);
        *word = if accepted { *word | bit } else { *word & !bit };
    }
}

#[cfg(test)]
mod tests;
