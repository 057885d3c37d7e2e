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

/// The ends that are heard at the port of one link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// The address of the port.
    own: Address,
    peer: Option<Heard>,
    other: Option<Heard>,
    /// Whether the other is one beside the peer, and not in its place.
    is_third: bool,
    /// When an end that is not the peer was last greeted, and the nonce that was heard of it.
    greeted_at: Option<u64>,
    strange_nonce: u64,
}

impl Ends {
    pub(super) fn new(own: [u8; 6]) -> Ends {
        let own = Address(own);
        Ends { own, peer: None, other: None, is_third: false, greeted_at: None, strange_nonce: 0 }
    }

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

    /// Notes a control frame: whether it may be the peer's, and what it reveals. `elsewhere` is what is heard on the other link.
    /// `is_proof`: its writer hears this end, or is this end. While the peer is not heard for `replaced_after`, the frame of
    /// another may be its successor's.
    fn hear(
        &mut self,
        elsewhere: Option<Ends>,
        now: u64,
        from: Address,
        is_proof: bool,
        replaced_after: u64,
    ) -> (bool, Option<News>) {
        let is_own = self.is_own(elsewhere, from);
        match self.peer {
            _ if is_own => {
                if is_proof {
                    self.hear_other(now, from);
                }
                (false, self.turn_third().map(|own| News::Loop { own }))
            }
            Some(peer) if peer.address == from => {
                self.peer = Some(Heard { at: now, ..peer });
                (true, self.turn_third().map(|third| News::Third { third, peer: from }))
            }
            Some(peer) if !peer.is_silent(now, replaced_after) => {
                // What comes from the peer's port on the other link is the peer's: the cables have just been swapped.
                if elsewhere.and_then(|ends| ends.peer).is_some_and(|peer| peer.address == from) {
                    return (true, None);
                }
                if is_proof {
                    self.hear_other(now, from);
                }
                (false, None)
            }
            _ => (true, None),
        }
    }

    /// Notes that an end has proved to be the peer. It takes the place of one that is not heard for `replaced_after`.
    fn note_peer(
        &mut self,
        elsewhere: Option<Ends>,
        now: u64,
        from: Address,
        replaced_after: u64,
    ) -> Option<News> {
        let before = self.peer;
        if self.is_own(elsewhere, from) || before.is_some_and(|peer| !peer.is_silent(now, replaced_after)) {
            return None;
        }
        self.peer = Some(Heard { address: from, since: now, at: now });
        let before = before.map(|before| before.address).filter(|&before| before != from)?;
        (self.other, self.is_third) = (None, false);
        // With two links, the peer may have another port here, or the cables have been swapped, as its probes show.
        let is_same = elsewhere
            .and_then(|ends| ends.peer)
            .is_some_and(|peer| peer.address == from || !peer.is_silent(now, replaced_after));
        (!is_same).then_some(News::NewPeer { before })
    }

    fn is_own(&self, elsewhere: Option<Ends>, address: Address) -> bool {
        self.own == address || elsewhere.is_some_and(|ends| ends.own == address)
    }

    /// Whether to say hello to an end that is not the peer.
    fn greets(&mut self, now: u64) -> bool {
        let greets = self.greeted_at.is_none_or(|at| now.saturating_sub(at) >= GREETING_NS);
        if greets {
            self.greeted_at = Some(now);
        }
        greets
    }

    /// Forgets an end beside the peer that has fallen silent. Returns whether that was a third end.
    fn forget_silent(&mut self, now: u64, silence: u64) -> bool {
        let is_silent = self.other.is_some_and(|other| other.is_silent(now, silence));
        if is_silent {
            self.other = None;
        }
        is_silent && std::mem::take(&mut self.is_third)
    }

    /// The address of the third end; this end's own if it hears itself.
    pub(super) fn third(&self) -> Option<Address> {
        self.other.filter(|_| self.is_third).map(|other| other.address)
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
        let Some(from) = Address::of_sender(self.pool.head(frame)) else { return false };
        let is_proof = self.end.is_heard_by_writer(control) || self.end.is_own_hello(control);
        let (elsewhere, replaced_after) = (self.heard_elsewhere(path), self.replaced_after());
        let (is_peer, news) = self.sides[path].ends.hear(elsewhere, now, from, is_proof, replaced_after);
        self.weigh_thirds(now);
        self.tell(path, from, news);
        if !is_peer {
            self.counters.strange_frames += 1;
            let ends = &mut self.sides[path].ends;
            // It can only prove that it hears this end if there is something to hear.
            if let Control::Hello { nonce, .. } = control {
                ends.strange_nonce = *nonce;
            }
            if ends.greets(now) {
                // What is greeted last may have been no hello.
                let heard = Control::Hello { nonce: ends.strange_nonce, echo: 0 };
                self.send_control_on(now, path, &self.end.hello_to(&heard));
            }
        }
        is_peer
    }

    /// Notes that the writer of a control frame has proved to be the peer.
    pub(super) fn note_peer(&mut self, now: u64, path: Path, frame: FrameHandle) {
        let Some(from) = Address::of_sender(self.pool.head(frame)) else { return };
        let (elsewhere, replaced_after) = (self.heard_elsewhere(path), self.replaced_after());
        let news = self.sides[path].ends.note_peer(elsewhere, now, from, replaced_after);
        self.tell(path, from, news);
    }

    fn heard_elsewhere(&self, path: Path) -> Option<Ends> {
        self.sides.other(path).map(|side| side.ends)
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
                "a different end than before answers on this link; hint: were cables swapped?"
            ),
            Some(News::Third { third, peer }) => tracing::warn!(
                %link, on = %path, %peer, %third,
                "a third end answers on this link, {so}; hint: a link has exactly two ends, so stop one of them, or give each \
                 pair its own broadcast domain"
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
        let (mut was_third, silence) = (false, self.third_gone_after());
        for side in self.sides.iter_mut() {
            was_third |= side.ends.forget_silent(now, silence);
        }
        if was_third && self.third_end().is_none() {
            tracing::info!(link = %self.settings.name, "there is no longer a third end on this link");
        }
        self.weigh_thirds(now);
    }

    /// Leaves a link with a third end to it while the other one has none. Ends protection, without loss, while that is not
    /// so, and protects again when it is.
    fn weigh_thirds(&mut self, now: u64) {
        if let Some(failover) = &mut self.failover {
            for side in self.sides.iter() {
                failover.paths.set_shared(Instant(now), side.path, side.ends.is_third);
            }
        }
        let is_needed = self.has_third_in_use();
        let since = is_needed.then(|| self.third_since.unwrap_or(now));
        self.third_since = since;
        // A peer that stands still for a moment is heard on neither link, which says nothing of the clean one.
        let patience = if self.failover.is_some() { PERSISTENT_NS } else { 0 };
        if since.is_some_and(|since| now.saturating_sub(since) >= patience) {
            if self.end.status().protection_requested {
                self.is_suspended = true;
                self.end.unprotect(Instant(now));
            }
        } else if !is_needed && std::mem::take(&mut self.is_suspended) {
            self.end.protect(Instant(now), Protection { copies: self.protection.copies });
        }
    }

    /// The address of a third end, and that of the peer beside it; this end's own, and nothing, if it hears itself.
    pub(super) fn third_end(&self) -> Option<(Address, Option<Address>)> {
        let side = self.sides.iter().find(|side| side.ends.is_third)?;
        let (third, peer) = (side.ends.third()?, side.ends.peer);
        let is_own = side.ends.is_own(self.heard_elsewhere(side.path), third);
        Some((third, peer.filter(|_| !is_own).map(|peer| peer.address)))
    }

    /// Whether there is a third end on a link that cannot be done without.
    fn has_third_in_use(&self) -> bool {
        self.sides.iter().any(|side| side.ends.is_third && !self.is_foreign(side.path))
    }

    /// Switches protection on, or notes that it is wanted while there is a third end. `None` switches it off.
    pub(super) fn want_protection(&mut self, now: u64, protection: Option<Protection>) {
        match protection {
            Some(_) if self.has_third_in_use() => self.is_suspended = true,
            Some(protection) => self.end.protect(Instant(now), protection),
            None => {
                self.is_suspended = false;
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

    /// A control frame at one of both ports; if `is_proof`, it proves that its writer hears this end.
    fn hear_any(
        ends: &mut [Ends; 2],
        now: u64,
        path: Path,
        from: Address,
        is_proof: bool,
        replaced_after: u64,
    ) -> (bool, Option<News>) {
        let (elsewhere, ends) = (Some(ends[path.other() as usize]), &mut ends[path as usize]);
        let (is_peer, news) = ends.hear(elsewhere, now, from, is_proof, replaced_after);
        let proved = is_peer && is_proof;
        let proved = proved.then(|| ends.note_peer(elsewhere, now, from, replaced_after));
        (is_peer, news.or(proved.flatten()))
    }

    fn hear(
        ends: &mut [Ends; 2],
        now: u64,
        path: Path,
        from: Address,
        replaced_after: u64,
    ) -> (bool, Option<News>) {
        hear_any(ends, now, path, from, true, replaced_after)
    }

    fn third(ends: &[Ends; 2]) -> Option<Address> {
        ends.iter().find_map(Ends::third)
    }

    #[test]
    fn who_only_says_that_it_speaks_linkmend_is_no_third_end_and_replaces_nobody() {
        let (mut ends, silence) = ([Ends::new(OWN); 2], 500 * MS);
        assert_eq!(
            hear_any(&mut ends, 0, Primary, OTHER, false, silence),
            (true, None),
            "it may become the peer"
        );
        hear(&mut ends, MS, Primary, PEER, silence);
        for at in 1..100 {
            let now = at * 20 * MS;
            assert_eq!(hear_any(&mut ends, now, Primary, OTHER, false, silence), (false, None));
            assert_eq!(hear_any(&mut ends, now, Primary, Address(OWN), false, silence), (false, None));
            assert_eq!(hear_any(&mut ends, now, Primary, PEER, false, silence), (true, None));
        }
        assert_eq!(third(&ends), None);
        assert_eq!(hear_any(&mut ends, 3_000 * MS, Primary, OTHER, false, silence), (true, None));
        assert_eq!(
            hear_any(&mut ends, 3_001 * MS, Primary, PEER, false, silence),
            (true, None),
            "it is the peer still"
        );
    }

    #[test]
    fn an_end_that_is_not_the_peer_is_greeted_now_and_then() {
        let mut ends = [Ends::new(OWN); 2];
        let greeted = (0..1_000).filter(|ms| ends[0].greets(ms * MS)).count();
        assert_eq!(greeted, 20);
        assert!(ends[1].greets(999 * MS));
    }

    #[test]
    fn a_third_end_is_one_that_is_heard_beside_the_peer_for_a_while() {
        let (mut ends, silence) = ([Ends::new(OWN); 2], 500 * MS);
        assert_eq!(hear(&mut ends, 0, Primary, PEER, silence), (true, None));
        assert_eq!(
            hear(&mut ends, 50 * MS, Primary, OTHER, silence),
            (false, None),
            "it may be in the peer's place"
        );
        assert_eq!(hear(&mut ends, 60 * MS, Primary, PEER, silence), (true, None), "or a forged frame");
        assert_eq!(hear(&mut ends, 250 * MS, Primary, OTHER, silence), (false, None));
        assert_eq!(third(&ends), None);
        assert_eq!(hear(&mut ends, 260 * MS, Primary, PEER, silence), (true, NEW_THIRD));
        assert_eq!(hear(&mut ends, 350 * MS, Primary, OTHER, silence), (false, None));
        assert_eq!(hear(&mut ends, 351 * MS, Primary, PEER, silence), (true, None), "it is told once");
        assert_eq!(third(&ends), Some(OTHER));
        assert!(!ends[0].forget_silent(849 * MS, silence));
        assert!(ends[0].forget_silent(850 * MS, silence) && third(&ends).is_none());
        assert!(!ends[0].forget_silent(900 * MS, silence), "it is told once");
    }

    #[test]
    fn an_end_that_is_heard_instead_of_the_peer_takes_its_place() {
        let mut ends = [Ends::new(OWN); 2];
        hear(&mut ends, 0, Primary, PEER, 100);
        assert_eq!(hear(&mut ends, 50, Primary, OTHER, 100), (false, None));
        assert_eq!(hear(&mut ends, 100, Primary, OTHER, 100), (true, Some(News::NewPeer { before: PEER })));
        assert_eq!((third(&ends), hear(&mut ends, 110, Primary, OTHER, 100)), (None, (true, None)));
    }

    #[test]
    fn swapped_cables_and_new_ports_of_the_peer_are_no_new_peer() {
        let mut ends = [OWN, [4; 6]].map(Ends::new);
        let swapped = [OTHER, PEER];
        for (now, [primary, backup]) in [(0, [PEER, OTHER]), (10, swapped), (500, swapped), (510, swapped)] {
            assert_eq!(hear(&mut ends, now, Primary, primary, 100), (true, None), "at {now}");
            assert_eq!(hear(&mut ends, now, Backup, backup, 100), (true, None), "at {now}");
        }
        assert_eq!(hear(&mut ends, 700, Primary, OTHER, 100), (true, None));
        assert_eq!(
            hear(&mut ends, 710, Backup, Address([9; 6]), 100),
            (true, None),
            "the peer is heard on the other"
        );
        assert_eq!(third(&ends), None);
    }

    #[test]
    fn own_frames_never_make_a_peer() {
        let mut ends = [OWN, [4; 6]].map(Ends::new);
        for (path, own) in [(Primary, OWN), (Backup, OWN)] {
            let own = Address(own);
            assert_eq!(hear(&mut ends, 0, path, own, 100), (false, None));
            assert_eq!(hear(&mut ends, 200 * MS, path, own, 100), (false, Some(News::Loop { own })));
            assert_eq!(hear(&mut ends, 201 * MS, path, own, 100), (false, None));
        }
        assert_eq!(third(&ends), Some(Address(OWN)));
    }
}
