//! Encrypts and authenticates datagrams with a key that both ends share (the Noise protocol, pattern `NNpsk0`).
//!
//! Datagrams of the other kinds become the contents of sealed ones. The calling end begins a session with an *initiation*,
//! which the listening end answers with a *response*; a session has keys that nobody can compute later, not even with the
//! shared key. It is replaced every two minutes, and whenever the other end does not answer, because that may have been
//! restarted. The number of a sealed datagram is its nonce, and a window of these numbers lets none be accepted twice.
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | version (high four bits, 1) and kind: 4 initiation, 5 response, 6 sealed |
//! | 8 | the index that the receiver has given to its session; 0 in an initiation |
//! | 8 | number, which is the nonce; 0 in an initiation and a response |
//! | rest | a message of Noise. Those of the handshake contain the index of the sender's session |

use crate::acquaintance::Role;
use crate::replay::ReplayWindow;
use crate::wire::{HEADER_BYTES, NUMBER_MAX};
use blake2::{Blake2s256, Digest as _};
use snow::{Builder, HandshakeState, StatelessTransportState};
use std::collections::VecDeque;
use std::fmt;

/// Length of the key that both ends share.
pub const KEY_BYTES: usize = 32;
/// What sealing adds to a datagram: a header of its own, and the tag.
pub const SEAL_BYTES: usize = HEADER_BYTES + TAG_BYTES;

const TAG_BYTES: usize = 16;
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Both ends must speak of the same thing.
const PROLOGUE: &[u8] = b"linkmend over UDP 1";
const VERSION: u8 = 1;
const INITIATION: u8 = VERSION << 4 | 4;
const RESPONSE: u8 = VERSION << 4 | 5;
const SEALED: u8 = VERSION << 4 | 6;
/// An ephemeral key, an index and a tag.
const EPHEMERAL_BYTES: usize = 32;
const HANDSHAKE_BYTES: usize = HEADER_BYTES + EPHEMERAL_BYTES + 8 + TAG_BYTES;
/// When a session is replaced.
const REPLACE_NS: u64 = 120_000_000_000;
/// When a session is no longer accepted.
const EXPIRY_NS: u64 = 3 * REPLACE_NS;
/// How long nothing may be heard after something was sent before another session is begun.
const UNANSWERED_NS: u64 = 2_000_000_000;
/// The shortest time between two initiations.
const RETRY_NS: u64 = 500_000_000;
/// The shortest time between two initiations that are answered, because each takes two exponentiations.
const ANSWER_NS: u64 = 10_000_000;
/// Sessions that the calling end has not used yet.
const PENDING_MAX: usize = 4;
/// Initiations that are remembered, so that none is answered twice.
const SEEN_MAX: usize = 256;

/// The key of a path that follows from the secret of a link, which has at least 16 bytes that nobody can guess.
pub fn shared_key(secret: &[u8]) -> [u8; KEY_BYTES] {
    Blake2s256::new().chain_update(PROLOGUE).chain_update(secret).finalize().into()
}

/// What came of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// Its contents are in the buffer.
    Contents,
    /// The buffer contains the answer, which goes back to where the datagram came from.
    Answer,
    /// It has completed a session.
    Nothing,
    /// It is not authentic, or not new.
    Refused,
}

/// The keys of one handshake.
struct Session {
    own_index: u64,
    peer_index: u64,
    keys: StatelessTransportState,
    next_nonce: u64,
    arrived: ReplayWindow,
    begun_ns: u64,
}

/// One end's sessions.
pub struct Secure {
    key: [u8; KEY_BYTES],
    role: Role,
    /// Indices are drawn from it.
    next_index: u64,
    current: Option<Session>,
    /// The session before, whose datagrams may still arrive.
    previous: Option<Session>,
    pending: VecDeque<Session>,
    /// The initiation that waits for its response, and the index in it.
    calling: Option<(u64, HandshakeState)>,
    call_at_ns: u64,
    answer_at_ns: u64,
    seen: VecDeque<[u8; EPHEMERAL_BYTES]>,
    /// Since when this end has sent something and heard nothing.
    unanswered_ns: Option<u64>,
}

impl fmt::Debug for Secure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secure").field("has_session", &self.current.is_some()).finish_non_exhaustive()
    }
}

impl Secure {
    /// No session yet. `first_index` is drawn at random.
    pub fn new(key: [u8; KEY_BYTES], role: Role, first_index: u64) -> Secure {
        Secure {
            key,
            role,
            next_index: first_index,
            current: None,
            previous: None,
            pending: VecDeque::with_capacity(PENDING_MAX),
            calling: None,
            call_at_ns: 0,
            answer_at_ns: 0,
            seen: VecDeque::with_capacity(SEEN_MAX),
            unanswered_ns: None,
        }
    }

    fn builder(&self) -> Option<Builder<'_>> {
        Builder::new(PATTERN.parse().ok()?).psk(0, &self.key).ok()?.prologue(PROLOGUE).ok()
    }

    fn draw_index(&mut self) -> u64 {
        self.next_index = self.next_index.wrapping_add(1).max(1);
        self.next_index
    }

    /// The initiation that is due before something else is sent, if one is. Only a calling end has any.
    pub fn poll_initiation(&mut self, now_ns: u64, out: &mut Vec<u8>) -> bool {
        let since = |at: u64| now_ns.saturating_sub(at);
        let is_needed = self.current.as_ref().is_none_or(|session| since(session.begun_ns) >= REPLACE_NS)
            || self.unanswered_ns.is_some_and(|at| since(at) >= UNANSWERED_NS);
        if self.role != Role::Calls || !is_needed || now_ns < self.call_at_ns {
            return false;
        }
        self.call_at_ns = now_ns.saturating_add(RETRY_NS);
        let index = self.draw_index();
        let Some(mut handshake) = self.builder().and_then(|builder| builder.build_initiator().ok()) else {
            return false;
        };
        if !write_handshake(&mut handshake, INITIATION, 0, index, out) {
            return false;
        }
        self.calling = Some((index, handshake));
        true
    }

    /// Seals a datagram. `false` if there is no session.
    pub fn seal(&mut self, now_ns: u64, contents: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(session) = self.current.as_mut().filter(|session| session.next_nonce < NUMBER_MAX) else {
            return false;
        };
        let nonce = session.next_nonce;
        session.next_nonce += 1;
        // What is in the buffer is overwritten, and it mostly has this length from the last time.
        out.resize(SEAL_BYTES + contents.len(), 0);
        write_header(out, SEALED, session.peer_index, nonce);
        self.unanswered_ns.get_or_insert(now_ns);
        session.keys.write_message(nonce, contents, &mut out[HEADER_BYTES..]).is_ok()
    }

    /// Opens a datagram.
    pub fn open(&mut self, now_ns: u64, datagram: &[u8], out: &mut Vec<u8>) -> Opened {
        let Some((header, message)) = datagram.split_first_chunk::<HEADER_BYTES>() else {
            return Opened::Refused;
        };
        let number = |at: usize| header[at..at + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let (index, number) = (number(1), number(9));
        let is_handshake = datagram.len() == HANDSHAKE_BYTES && number == 0;
        match (header[0], self.role) {
            (SEALED, _) => self.open_sealed(now_ns, index, number, message, out),
            (INITIATION, Role::Listens) if is_handshake && index == 0 => self.answer(now_ns, message, out),
            (RESPONSE, Role::Calls) if is_handshake => self.complete(now_ns, index, message),
            _ => None,
        }
        .unwrap_or(Opened::Refused)
    }

    fn open_sealed(
        &mut self,
        now_ns: u64,
        index: u64,
        nonce: u64,
        message: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<Opened> {
        let known = [&mut self.current, &mut self.previous].into_iter().flatten();
        let session = known.chain(&mut self.pending).find(|session| session.own_index == index)?;
        let is_valid = now_ns.saturating_sub(session.begun_ns) < EXPIRY_NS;
        if !is_valid || nonce >= NUMBER_MAX || !session.arrived.is_new(nonce) {
            return None;
        }
        out.resize(message.len(), 0);
        let length = session.keys.read_message(nonce, message, out).ok()?;
        out.truncate(length);
        session.arrived.note(nonce);
        self.unanswered_ns = None;
        // The calling end uses the session, so the answer has reached it.
        if let Some(place) = self.pending.iter().position(|session| session.own_index == index) {
            let session = self.pending.remove(place);
            self.pending.clear();
            self.previous = std::mem::replace(&mut self.current, session);
        }
        Some(Opened::Contents)
    }

    /// Answers an initiation.
    fn answer(&mut self, now_ns: u64, message: &[u8], out: &mut Vec<u8>) -> Option<Opened> {
        let ephemeral = *message.first_chunk::<EPHEMERAL_BYTES>()?;
        if now_ns < self.answer_at_ns || self.seen.contains(&ephemeral) {
            return None;
        }
        let mut handshake = self.builder()?.build_responder().ok()?;
        let peer_index = read_handshake(&mut handshake, message)?;
        self.answer_at_ns = now_ns.saturating_add(ANSWER_NS);
        if self.seen.len() == SEEN_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(ephemeral);
        let own_index = self.draw_index();
        if !write_handshake(&mut handshake, RESPONSE, peer_index, own_index, out) {
            return None;
        }
        if self.pending.len() == PENDING_MAX {
            self.pending.pop_front();
        }
        self.pending.push_back(Session::new(now_ns, own_index, peer_index, handshake)?);
        Some(Opened::Answer)
    }

    /// Takes the response to the initiation.
    fn complete(&mut self, now_ns: u64, index: u64, message: &[u8]) -> Option<Opened> {
        // Anyone who reads the path can forge a response with this index, which ends the handshake. The next begins at once.
        let (own_index, mut handshake) = self.calling.take_if(|(own_index, _)| *own_index == index)?;
        let Some(peer_index) = read_handshake(&mut handshake, message) else {
            self.call_at_ns = now_ns;
            return None;
        };
        let session = Session::new(now_ns, own_index, peer_index, handshake);
        self.previous = std::mem::replace(&mut self.current, session);
        self.unanswered_ns = None;
        Some(Opened::Nothing)
    }
}

impl Session {
    fn new(now_ns: u64, own_index: u64, peer_index: u64, handshake: HandshakeState) -> Option<Session> {
        let keys = handshake.into_stateless_transport_mode().ok()?;
        let arrived = ReplayWindow::default();
        Some(Session { own_index, peer_index, keys, next_nonce: 0, arrived, begun_ns: now_ns })
    }
}

/// Writes the header to the beginning of `out`, which is longer.
fn write_header(out: &mut [u8], kind: u8, index: u64, number: u64) {
    out[0] = kind;
    out[1..9].copy_from_slice(&index.to_be_bytes());
    out[9..HEADER_BYTES].copy_from_slice(&number.to_be_bytes());
}

fn write_handshake(
    handshake: &mut HandshakeState,
    kind: u8,
    receiver: u64,
    sender: u64,
    out: &mut Vec<u8>,
) -> bool {
    out.resize(HANDSHAKE_BYTES, 0);
    write_header(out, kind, receiver, 0);
    let written = handshake.write_message(&sender.to_be_bytes(), &mut out[HEADER_BYTES..]);
    written.is_ok_and(|length| HEADER_BYTES + length == HANDSHAKE_BYTES)
}

/// The index of the sender's session.
fn read_handshake(handshake: &mut HandshakeState, message: &[u8]) -> Option<u64> {
    let mut payload = [0; HANDSHAKE_BYTES];
    let length = handshake.read_message(message, &mut payload).ok()?;
    let index: [u8; 8] = payload[..length].try_into().ok()?;
    Some(u64::from_be_bytes(index)).filter(|index| *index != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    struct Pair {
        caller: Secure,
        listener: Secure,
    }

    impl Pair {
        fn new(keys: [&[u8]; 2]) -> Pair {
            let [caller, listener] = keys.map(shared_key);
            Pair {
                caller: Secure::new(caller, Role::Calls, 1_000),
                listener: Secure::new(listener, Role::Listens, 2_000),
            }
        }

        /// Begins a session. Returns the initiation and the response.
        fn meet(&mut self, now: u64) -> (Vec<u8>, Vec<u8>) {
            let (mut initiation, mut response, mut nothing) = (Vec::new(), Vec::new(), Vec::new());
            assert!(self.caller.poll_initiation(now, &mut initiation));
            assert_eq!(self.listener.open(now, &initiation, &mut response), Opened::Answer);
            assert_eq!(self.caller.open(now, &response, &mut nothing), Opened::Nothing);
            (initiation, response)
        }

        fn call(&mut self, now: u64, contents: &[u8]) -> (Vec<u8>, Opened, Vec<u8>) {
            let (mut sealed, mut out) = (Vec::new(), Vec::new());
            assert!(self.caller.seal(now, contents, &mut sealed));
            let opened = self.listener.open(now, &sealed, &mut out);
            (sealed, opened, out)
        }

        fn answer(&mut self, now: u64, contents: &[u8]) -> Opened {
            let (mut sealed, mut out) = (Vec::new(), Vec::new());
            assert!(self.listener.seal(now, contents, &mut sealed));
            self.caller.open(now, &sealed, &mut out)
        }
    }

    fn pair() -> Pair {
        Pair::new([b"0123456789abcdef"; 2])
    }

    #[test]
    fn contents_pass_in_both_directions_once_and_unread() {
        let mut pair = pair();
        let mut sealed = Vec::new();
        assert!(!pair.caller.seal(0, b"early", &mut sealed), "no session yet");
        pair.meet(0);
        assert!(!pair.listener.seal(0, b"unconfirmed", &mut sealed), "nothing was heard in it");
        let (sealed, opened, contents) = pair.call(0, b"to the listener");
        assert_eq!((opened, &*contents), (Opened::Contents, &b"to the listener"[..]));
        assert_eq!(sealed.len(), contents.len() + SEAL_BYTES);
        assert!(!sealed.windows(8).any(|part| part == &b"listener"[..]));
        assert_eq!(pair.listener.open(0, &sealed, &mut Vec::new()), Opened::Refused, "twice");
        assert_eq!(pair.answer(0, b"back"), Opened::Contents);
    }

    #[test]
    fn whatever_was_changed_cut_or_invented_is_refused() {
        let mut pair = pair();
        let (initiation, response) = pair.meet(0);
        let (sealed, ..) = pair.call(0, &[7; 100]);
        let (mut out, mut fresh) = (Vec::new(), Vec::new());
        assert!(pair.caller.seal(0, &[8; 100], &mut fresh));
        for datagram in [&initiation, &response, &sealed, &fresh] {
            for place in 0..datagram.len() {
                let mut forged = datagram.clone();
                forged[place] ^= 1;
                let now = SECOND * (1 + place as u64);
                assert_eq!(pair.listener.open(now, &forged, &mut out), Opened::Refused, "{place}");
                assert_eq!(pair.caller.open(now, &forged, &mut out), Opened::Refused, "{place}");
                assert_eq!(pair.listener.open(now, &datagram[..place], &mut out), Opened::Refused);
            }
        }
        assert_eq!(pair.listener.open(SECOND, &initiation, &mut out), Opened::Refused, "answered before");
        assert_eq!(pair.listener.open(SECOND, &fresh, &mut out), Opened::Contents, "none has done harm");
    }

    #[test]
    fn ends_with_different_keys_never_meet() {
        let mut pair = Pair::new([b"0123456789abcdef", b"0123456789abcdeF"]);
        let (mut initiation, mut out) = (Vec::new(), Vec::new());
        assert!(pair.caller.poll_initiation(0, &mut initiation));
        assert_eq!(pair.listener.open(0, &initiation, &mut out), Opened::Refused);
    }

    #[test]
    fn a_session_is_replaced_in_time_and_loses_nothing() {
        let mut pair = pair();
        pair.meet(0);
        pair.call(0, b"first");
        let (mut late, mut out) = (Vec::new(), Vec::new());
        assert!(pair.caller.seal(REPLACE_NS, b"late", &mut late));
        pair.meet(REPLACE_NS);
        assert_eq!(pair.answer(REPLACE_NS, b"before the confirmation"), Opened::Contents);
        assert_eq!(pair.call(REPLACE_NS, b"second").1, Opened::Contents);
        assert_eq!(pair.listener.open(REPLACE_NS, &late, &mut out), Opened::Contents);
        assert_eq!(pair.answer(REPLACE_NS, b"back"), Opened::Contents);
    }

    #[test]
    fn an_end_that_was_restarted_is_met_again() {
        for restarts_caller in [true, false] {
            let mut pair = pair();
            pair.meet(0);
            pair.call(0, b"before");
            let fresh = self::pair();
            if restarts_caller {
                pair.caller = Secure { next_index: 9_000, ..fresh.caller };
            } else {
                pair.listener = Secure { next_index: 9_000, ..fresh.listener };
                assert_eq!(pair.call(0, b"lost").1, Opened::Refused);
            }
            let mut nothing = Vec::new();
            assert!(restarts_caller || !pair.caller.poll_initiation(UNANSWERED_NS - 1, &mut nothing));
            pair.meet(UNANSWERED_NS);
            assert_eq!(pair.call(UNANSWERED_NS, b"after").1, Opened::Contents);
            assert_eq!(pair.answer(UNANSWERED_NS, b"back"), Opened::Contents);
        }
    }
}
