//! Who answers on the links. Exactly two link ends belong on a link; a third, or another in the peer's place, is
//! recognised by the source address of control frames, which is that of the port they were sent from.
//!
//! With a third end, sessions of three ends would mix, and frames be lost. So control frames of a third end are ignored,
//! and of two links the one without it is used. Where there is none, protection is suspended, and frames pass as without
//! Linkmend until only one other end is heard.

use super::Engine;
use linkmend_protocol::paths::Path;
use linkmend_protocol::wire::ADDRESSES_BYTES;
use linkmend_protocol::{Control, Format, FrameHandle, Instant, Protection, ReceiveState, TransmitState};
use std::fmt::{self, Display};

/// Silence, in hellos of a dormant end, after which an end counts as gone.
const HELLOS_MISSED: u64 = 3;
/// How long an end must be heard to count as a third. A real one repeats itself, and a burst of forged frames must not end
/// protection.
const PERSISTENT_NS: u64 = 200_000_000;
/// The shortest time between two hellos to an end that is not the peer.
const GREETING_NS: u64 = 50_000_000;

/// A MAC address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address(pub(super) [u8; 6]);

impl Address {
    /// That of the port which a frame was sent from.
    pub(super) fn of_sender(head: &[u8]) -> Option<Address> {
        let &[.., a, b, c, d, e, f] = head.first_chunk::<ADDRESSES_BYTES>()?;
        Some(Address([a, b, c, d, e, f]))
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// What a control frame reveals about the ends on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    /// The peer is another than before.
    NewPeer { before: Address },
    /// A third end is heard beside the peer.
    Third { third: Address, peer: Address },
    /// This end hears itself.
    Loop { own: Address },
}

/// An end that was heard at a port, when first and when last.
#[derive(Debug, Clone, Copy)]
struct Heard {
    address: Address,
    since: u64,
    at: u64,
}

impl Heard {
    fn is_silent(self, now: u64, silence: u64) -> bool {
        now.saturating_sub(self.at) >= silence
    }

    fn is_persistent(self) -> bool {
        self.at.saturating_sub(self.since) >= PERSISTENT_NS
    }
}

/// The ends that are heard at one port.
#[derive(Debug, Clone, Copy, Default)]
struct Port {
    peer: Option<Heard>,
    other: Option<Heard>,
    /// Whether the other is one beside the peer, and not in its place.
    is_third: bool,
}

impl Port {
    fn hear_other(&mut self, now: u64, from: Address) {
        let since = self.other.filter(|other| other.address == from).map_or(now, |other| other.since);
        self.other = Some(Heard { address: from, since, at: now });
    }

    /// The other, if it has just turned out to be a third end.
    fn turn_third(&mut self) -> Option<Address> {
        let third = self.other.filter(|other| !self.is_third && other.is_persistent())?;
        self.is_third = true;
        Some(third.address)
    }
}

/// The ends that are heard at the ports of the links, and what that means for protection.
#[derive(Debug)]
pub(super) struct Peers {
    /// The addresses of the link ports; twice the same with one link.
    own: [Address; 2],
    ports: [Port; 2],
    /// When an end that is not the peer was last greeted, and the nonce that was heard of it, by path.
    greeted_at: [Option<u64>; 2],
    strange_nonces: [u64; 2],
    /// Whether protection is wanted, and waits until there is no third end.
    is_suspended: bool,
    /// Since when there is a third end on a link that cannot be done without.
    in_use_since: Option<u64>,
}

impl Peers {
    pub(super) fn new(own: [[u8; 6]; 2]) -> Peers {
        Peers {
            own: own.map(Address),
            ports: [Port::default(); 2],
            greeted_at: [None; 2],
            strange_nonces: [0; 2],
            is_suspended: false,
            in_use_since: None,
        }
    }

    /// Notes a control frame: whether it may be the peer's, and what it reveals. `is_proof`: its writer hears this end, or
    /// is this end. While the peer is not heard for `replaced_after`, the frame of another may be its successor's.
    fn hear(
        &mut self,
        now: u64,
        path: Path,
        from: Address,
        is_proof: bool,
        replaced_after: u64,
    ) -> (bool, Option<News>) {
        let is_own = self.own.contains(&from);
        let elsewhere = self.ports[path.other() as usize].peer;
        let port = &mut self.ports[path as usize];
        match port.peer {
            _ if is_own => {
                if is_proof {
                    port.hear_other(now, from);
                }
                (false, port.turn_third().map(|own| News::Loop { own }))
            }
            Some(peer) if peer.address == from => {
                port.peer = Some(Heard { at: now, ..peer });
                (true, port.turn_third().map(|third| News::Third { third, peer: from }))
            }
            Some(peer) if !peer.is_silent(now, replaced_after) => {
                // What comes from the peer's port on the other link is the peer's: the cables have just been swapped.
                if elsewhere.is_some_and(|elsewhere| elsewhere.address == from) {
                    return (true, None);
                }
                if is_proof {
                    port.hear_other(now, from);
                }
                (false, None)
            }
            _ => (true, None),
        }
    }

    /// Notes that an end has proved to be the peer. It takes the place of one that is not heard for `replaced_after`.
    fn note_peer(&mut self, now: u64, path: Path, from: Address, replaced_after: u64) -> Option<News> {
        let elsewhere = self.ports[path.other() as usize].peer;
        let port = &mut self.ports[path as usize];
        let before = port.peer;
        if self.own.contains(&from) || before.is_some_and(|peer| !peer.is_silent(now, replaced_after)) {
            return None;
        }
        let peer = Some(Heard { address: from, since: now, at: now });
        let before = before.map(|before| before.address).filter(|&before| before != from);
        let Some(before) = before else {
            port.peer = peer;
            return None;
        };
        *port = Port { peer, ..Port::default() };
        // With two links, the peer may have another port here, or the cables have been swapped, as its probes show.
        let is_same = elsewhere
            .is_some_and(|elsewhere| elsewhere.address == from || !elsewhere.is_silent(now, replaced_after));
        (!is_same).then_some(News::NewPeer { before })
    }

    /// Whether to say hello to an end that is not the peer.
    fn greets(&mut self, now: u64, path: Path) -> bool {
        let at = &mut self.greeted_at[path as usize];
        let greets = at.is_none_or(|at| now.saturating_sub(at) >= GREETING_NS);
        if greets {
            *at = Some(now);
        }
        greets
    }

    /// Whether a third end has fallen silent, and was the last one.
    fn third_has_gone(&mut self, now: u64, silence: u64) -> bool {
        let had_third = self.third().is_some();
        for port in &mut self.ports {
            if port.other.is_some_and(|other| other.is_silent(now, silence)) {
                (port.other, port.is_third) = (None, false);
            }
        }
        had_third && self.third().is_none()
    }

    /// The address of a third end, and that of the peer beside it; this end's own, and nothing, if it hears itself.
    pub(super) fn third(&self) -> Option<(Address, Option<Address>)> {
        let port = self.ports.iter().find(|port| port.is_third)?;
        let third = port.other?.address;
        let peer = port.peer.map(|peer| peer.address);
        Some((third, peer.filter(|_| !self.own.contains(&third))))
    }

    fn has_third(&self, path: Path) -> bool {
        self.ports[path as usize].is_third
    }

    /// The address of the third end on a link.
    pub(super) fn third_on(&self, path: Path) -> Option<Address> {
        self.ports[path as usize].other.filter(|_| self.has_third(path)).map(|other| other.address)
    }

    /// Whether protection is wanted, and waits until there is no third end.
    pub(super) fn is_suspended(&self) -> bool {
        self.is_suspended
    }
}

impl Engine {
    /// Whether a control frame may be the peer's. The authors' program has no address of its own.
    pub(super) fn is_from_peer(
        &mut self,
        now: u64,
        path: Path,
        frame: FrameHandle,
        control: &Control,
    ) -> bool {
        if self.settings.format == Format::Linkguardian {
            return true;
        }
        let Some(from) = Address::of_sender(self.ports.pool.head(frame)) else { return false };
        let is_proof = self.end.is_heard_by_writer(control) || self.end.is_own_hello(control);
        let (is_peer, news) = self.peers.hear(now, path, from, is_proof, self.replaced_after());
        self.weigh_thirds(now);
        self.tell(path, from, news);
        if !is_peer {
            self.counters.strange_frames += 1;
            // It can only prove that it hears this end if there is something to hear.
            if let Control::Hello { nonce, .. } = control {
                self.peers.strange_nonces[path as usize] = *nonce;
            }
            if self.peers.greets(now, path) {
                // What is greeted last may have been no hello.
                let heard = Control::Hello { nonce: self.peers.strange_nonces[path as usize], echo: 0 };
                self.send_control_on(now, path, &self.end.hello_to(&heard));
            }
        }
        is_peer
    }

    /// Notes that the writer of a control frame has proved to be the peer.
    pub(super) fn note_peer(&mut self, now: u64, path: Path, frame: FrameHandle) {
        let Some(from) = Address::of_sender(self.ports.pool.head(frame)) else { return };
        let news = self.peers.note_peer(now, path, from, self.replaced_after());
        self.tell(path, from, news);
    }

    /// After which silence of the peer another end may be its successor.
    fn replaced_after(&self) -> u64 {
        let status = self.end.status();
        let has_session = status.transmit != TransmitState::Dormant || status.receive == ReceiveState::Active;
        if has_session { self.end.config().peer_timeout.0 } else { self.third_gone_after() }
    }

    fn tell(&self, path: Path, from: Address, news: Option<News>) {
        let link = &self.settings.name;
        let so = if self.is_foreign(path) { "so it is not used" } else { "so frames pass unprotected" };
        match news {
            Some(News::NewPeer { before }) => tracing::warn!(
                %link, on = %path, peer = %from, %before,
                "another end answers on this link than before; hint: were cables swapped?"
            ),
            Some(News::Third { third, peer }) => tracing::warn!(
                %link, on = %path, %peer, %third,
                "a third end answers on this link, {so}; hint: a link has exactly two ends, so stop one of them, or give each \
                 pair a broadcast domain of its own"
            ),
            Some(News::Loop { own }) => tracing::warn!(
                %link, on = %path, %own,
                "this end's own frames come back on the link, {so}; hint: find the loop"
            ),
            None => {}
        }
    }

    /// Looks whether a third end is gone, and what that means.
    pub(super) fn look_for_third(&mut self, now: u64) {
        if self.peers.third_has_gone(now, self.third_gone_after()) {
            tracing::info!(link = %self.settings.name, "there is no third end on this link any more");
        }
        self.weigh_thirds(now);
    }

    /// Leaves a link with a third end to it while the other one has none. Ends protection, without loss, while that is not
    /// so, and protects again when it is.
    fn weigh_thirds(&mut self, now: u64) {
        if let Some(failover) = &mut self.failover {
            for path in Path::ALL {
                failover.paths.set_shared(Instant(now), path, self.peers.has_third(path));
            }
        }
        let is_needed = self.has_third_in_use();
        let since = is_needed.then(|| self.peers.in_use_since.unwrap_or(now));
        self.peers.in_use_since = since;
        // A peer that stands still for a moment is heard on neither link, which says nothing of the clean one.
        let patience = if self.failover.is_some() { PERSISTENT_NS } else { 0 };
        if since.is_some_and(|since| now.saturating_sub(since) >= patience) {
            if self.end.status().protection_requested {
                self.peers.is_suspended = true;
                self.end.unprotect(Instant(now));
            }
        } else if !is_needed && std::mem::take(&mut self.peers.is_suspended) {
            self.end.protect(Instant(now), Protection { copies: self.protection.copies });
        }
    }

    /// Whether there is a third end on a link that cannot be done without.
    fn has_third_in_use(&self) -> bool {
        Path::ALL.iter().any(|&path| self.peers.has_third(path) && !self.is_foreign(path))
    }

    /// Switches protection on, or notes that it is wanted while there is a third end. `None` switches it off.
    pub(super) fn want_protection(&mut self, now: u64, protection: Option<Protection>) {
        match protection {
            Some(_) if self.has_third_in_use() => self.peers.is_suspended = true,
            Some(protection) => self.end.protect(Instant(now), protection),
            None => {
                self.peers.is_suspended = false;
                self.end.unprotect(Instant(now));
            }
        }
    }

    fn third_gone_after(&self) -> u64 {
        HELLOS_MISSED * self.end.config().hello_interval.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [u8; 6] = [1; 6];
    const PEER: Address = Address([2; 6]);
    const OTHER: Address = Address([3; 6]);
    const MS: u64 = 1_000_000;
    const NEW_THIRD: Option<News> = Some(News::Third { third: OTHER, peer: PEER });
    use Path::{Backup, Primary};

    /// A control frame that proves that its writer hears this end.
    fn hear(
        peers: &mut Peers,
        now: u64,
        path: Path,
        from: Address,
        replaced_after: u64,
    ) -> (bool, Option<News>) {
        let (is_peer, news) = peers.hear(now, path, from, true, replaced_after);
        let proved = is_peer.then(|| peers.note_peer(now, path, from, replaced_after));
        (is_peer, news.or(proved.flatten()))
    }

    #[test]
    fn who_only_says_that_it_speaks_linkmend_is_no_third_end_and_replaces_nobody() {
        let (mut peers, silence) = (Peers::new([OWN; 2]), 500 * MS);
        assert_eq!(peers.hear(0, Primary, OTHER, false, silence), (true, None), "it may become the peer");
        hear(&mut peers, MS, Primary, PEER, silence);
        for at in 1..100 {
            let now = at * 20 * MS;
            assert_eq!(peers.hear(now, Primary, OTHER, false, silence), (false, None));
            assert_eq!(peers.hear(now, Primary, Address(OWN), false, silence), (false, None));
            assert_eq!(peers.hear(now, Primary, PEER, false, silence), (true, None));
        }
        assert_eq!(peers.third(), None);
        assert_eq!(peers.hear(3_000 * MS, Primary, OTHER, false, silence), (true, None));
        assert_eq!(
            peers.hear(3_001 * MS, Primary, PEER, false, silence),
            (true, None),
            "it is the peer still"
        );
    }

    #[test]
    fn an_end_that_is_not_the_peer_is_greeted_now_and_then() {
        let mut peers = Peers::new([OWN; 2]);
        let greeted = (0..1_000).filter(|ms| peers.greets(ms * MS, Primary)).count();
        assert_eq!(greeted, 20);
        assert!(peers.greets(999 * MS, Backup));
    }

    #[test]
    fn a_third_end_is_one_that_is_heard_beside_the_peer_for_a_while() {
        let (mut peers, silence) = (Peers::new([OWN; 2]), 500 * MS);
        assert_eq!(hear(&mut peers, 0, Primary, PEER, silence), (true, None));
        assert_eq!(
            hear(&mut peers, 50 * MS, Primary, OTHER, silence),
            (false, None),
            "it may be in the peer's place"
        );
        assert_eq!(hear(&mut peers, 60 * MS, Primary, PEER, silence), (true, None), "or a forged frame");
        assert_eq!(hear(&mut peers, 250 * MS, Primary, OTHER, silence), (false, None));
        assert_eq!(peers.third(), None);
        assert_eq!(hear(&mut peers, 260 * MS, Primary, PEER, silence), (true, NEW_THIRD));
        assert_eq!(hear(&mut peers, 350 * MS, Primary, OTHER, silence), (false, None));
        assert_eq!(hear(&mut peers, 351 * MS, Primary, PEER, silence), (true, None), "it is told once");
        assert_eq!(peers.third(), Some((OTHER, Some(PEER))));
        assert!(!peers.third_has_gone(849 * MS, silence));
        assert!(peers.third_has_gone(850 * MS, silence) && peers.third().is_none());
        assert!(!peers.third_has_gone(900 * MS, silence), "it is told once");
    }

    #[test]
    fn an_end_that_is_heard_instead_of_the_peer_takes_its_place() {
        let mut peers = Peers::new([OWN; 2]);
        hear(&mut peers, 0, Primary, PEER, 100);
        assert_eq!(hear(&mut peers, 50, Primary, OTHER, 100), (false, None));
        assert_eq!(hear(&mut peers, 100, Primary, OTHER, 100), (true, Some(News::NewPeer { before: PEER })));
        assert_eq!((peers.third(), hear(&mut peers, 110, Primary, OTHER, 100)), (None, (true, None)));
    }

    #[test]
    fn swapped_cables_and_new_ports_of_the_peer_are_no_new_peer() {
        let mut peers = Peers::new([OWN, [4; 6]]);
        let swapped = [OTHER, PEER];
        for (now, [primary, backup]) in [(0, [PEER, OTHER]), (10, swapped), (500, swapped), (510, swapped)] {
            assert_eq!(hear(&mut peers, now, Primary, primary, 100), (true, None), "at {now}");
            assert_eq!(hear(&mut peers, now, Backup, backup, 100), (true, None), "at {now}");
        }
        assert_eq!(hear(&mut peers, 700, Primary, OTHER, 100), (true, None));
        assert_eq!(
            hear(&mut peers, 710, Backup, Address([9; 6]), 100),
            (true, None),
            "the peer is heard on the other"
        );
        assert_eq!(peers.third(), None);
    }

    #[test]
    fn own_frames_never_make_a_peer() {
        let mut peers = Peers::new([OWN, [4; 6]]);
        for (path, own) in [(Primary, OWN), (Backup, OWN)] {
            let own = Address(own);
            assert_eq!(hear(&mut peers, 0, path, own, 100), (false, None));
            assert_eq!(hear(&mut peers, 200 * MS, path, own, 100), (false, Some(News::Loop { own })));
            assert_eq!(hear(&mut peers, 201 * MS, path, own, 100), (false, None));
        }
        assert_eq!(peers.third(), Some((Address(OWN), None)));
    }
}
