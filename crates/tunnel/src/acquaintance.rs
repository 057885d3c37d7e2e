//! Who the peer is, and where.
//!
//! An end grants each peer a *token*, which is in every datagram that the peer sends. The token is a keyed hash of the
//! peer's session and address, so an end grants it without remembering anything, and a peer that returns it has received what
//! was sent to that address. It is no signature: anyone who reads the traffic can copy it.
//!
//! A peer that was restarted has another session. Its datagrams are numbered from the beginning, and those of its former
//! session are no longer accepted. A peer whose address changes (a NAT forgets, a host moves) is followed to where its
//! newest datagram comes from.

use crate::address::Reach;
use crate::wire::Hello;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};

/// Silence after which another may take the place of a peer, and its name is looked up again.
pub const SILENCE_NS: u64 = 10_000_000_000;
/// How many former sessions are remembered, so that delayed datagrams do not bring them back.
const FORMER_MAX: usize = 16;

/// What tells this end from all others, drawn at random for each start.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Not 0.
    pub session: u64,
    /// Known to nobody else.
    pub secret: (u64, u64),
}

/// How an end finds its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It calls the configured address.
    Calls,
    /// It waits for a peer, whose address it learns.
    Listens,
}

/// Who answers, and where.
#[derive(Clone, Copy, Debug)]
struct Known {
    session: u64,
    address: SocketAddr,
    /// What it has to show.
    token: u64,
    /// What it wants to see.
    grant: u64,
    heard_ns: u64,
    newest_number: Option<u64>,
    newest_hello: u64,
}

/// What a datagram has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Nothing,
    /// There is a peer, or another one, or it was restarted.
    NewPeer,
    /// The peer has another address.
    Moved,
    /// Who sent it is not the peer.
    Stranger,
    /// The address is public, and such are not allowed.
    Refused,
}

/// The answer to a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    pub token: u64,
    pub hello: Hello,
}

/// What an end knows about its peer.
#[derive(Debug)]
pub struct Acquaintance {
    identity: Identity,
    role: Role,
    reach: Reach,
    peer: Option<Known>,
    former: [u64; FORMER_MAX],
    next_former: usize,
}

impl Acquaintance {
    /// Knows nobody yet.
    pub fn new(identity: Identity, role: Role, reach: Reach) -> Acquaintance {
        Acquaintance { identity, role, reach, peer: None, former: [0; FORMER_MAX], next_former: 0 }
    }

    /// Where the peer is.
    pub fn address(&self) -> Option<SocketAddr> {
        self.peer.map(|peer| peer.address)
    }

    /// The token that the peer wants to see; 0 without a peer.
    pub fn grant(&self) -> u64 {
        self.peer.map_or(0, |peer| peer.grant)
    }

    /// Whether there is no peer, or it has been silent for [`SILENCE_NS`].
    pub fn is_silent(&self, now_ns: u64) -> bool {
        self.peer.is_none_or(|peer| now_ns.saturating_sub(peer.heard_ns) >= SILENCE_NS)
    }

    /// Notes a datagram other than a hello. One with an outer number tells where the peer is, if it is the newest.
    pub fn handle(&mut self, now_ns: u64, from: SocketAddr, token: u64, number: Option<u64>) -> Change {
        let Some(peer) = self.peer.as_mut().filter(|peer| peer.token == token) else {
            return Change::Stranger;
        };
        if !self.reach.includes(from.ip()) {
            return Change::Refused;
        }
        peer.heard_ns = now_ns;
        let is_newest = number > peer.newest_number;
        peer.newest_number = peer.newest_number.max(number);
        if is_newest && std::mem::replace(&mut peer.address, from) != from {
            Change::Moved
        } else {
            Change::Nothing
        }
    }

    /// Notes a hello, and says what to answer. `expected` are the addresses at which the peer is looked for.
    pub fn handle_hello(
        &mut self,
        now_ns: u64,
        from: SocketAddr,
        token: u64,
        number: u64,
        hello: &Hello,
        expected: &[SocketAddr],
    ) -> (Change, Option<Reply>) {
        if hello.session == self.identity.session || self.former.contains(&hello.session) {
            return (Change::Stranger, None);
        }
        if !self.reach.includes(from.ip()) {
            return (Change::Refused, None);
        }
        let granted = self.token_for(hello.session, from);
        let may_follow = self.may_follow(now_ns, from.ip(), expected);
        let known = self.peer.as_mut().filter(|peer| peer.session == hello.session);
        let is_proof = token == granted || known.as_ref().is_some_and(|peer| peer.token == token);
        let mut change = Change::Nothing;
        match known {
            Some(peer) if is_proof => {
                peer.heard_ns = now_ns;
                if number > peer.newest_hello {
                    peer.newest_hello = number;
                    let before = std::mem::replace(&mut peer.address, from);
                    peer.grant = if hello.grant == 0 { peer.grant } else { hello.grant };
                    change = if before == from { Change::Nothing } else { Change::Moved };
                }
            }
            Some(_) => {}
            None if !may_follow => return (Change::Stranger, None),
            None if is_proof && hello.grant != 0 => {
                self.install(now_ns, from, token, number, hello);
                change = Change::NewPeer;
            }
            None => {}
        }
        let reply = (!is_proof || !hello.knows_receiver).then(|| self.reply(hello, granted));
        (change, reply)
    }

    fn install(&mut self, now_ns: u64, from: SocketAddr, token: u64, number: u64, hello: &Hello) {
        if let Some(before) = self.peer {
            self.former[self.next_former] = before.session;
            self.next_former = (self.next_former + 1) % FORMER_MAX;
        }
        self.peer = Some(Known {
            session: hello.session,
            address: from,
            token,
            grant: hello.grant,
            heard_ns: now_ns,
            newest_number: None,
            newest_hello: number,
        });
    }

    fn reply(&self, hello: &Hello, granted: u64) -> Reply {
        let known = self.peer.filter(|peer| peer.session == hello.session);
        let hello_back = Hello {
            session: self.identity.session,
            grant: known.map_or(granted, |peer| peer.token),
            knows_receiver: known.is_some(),
        };
        Reply { token: known.map_or(hello.grant, |peer| peer.grant), hello: hello_back }
    }

    /// The hello of an end that was not asked: to its peer, or to one that it looks for.
    pub fn greeting(&self) -> Reply {
        let hello = Hello {
            session: self.identity.session,
            grant: self.peer.map_or(0, |peer| peer.token),
            knows_receiver: self.peer.is_some(),
        };
        Reply { token: self.grant(), hello }
    }

    /// The hello to somebody who shows a token that this end does not know: the peer may not know of a restart.
    pub fn introduction(&self) -> Reply {
        Reply { token: 0, hello: Hello { session: self.identity.session, grant: 0, knows_receiver: false } }
    }

    /// Whether an end at this address may become the peer.
    pub fn may_follow(&self, now_ns: u64, address: IpAddr, expected: &[SocketAddr]) -> bool {
        self.address().is_some_and(|peer| peer.ip() == address)
            || expected.iter().any(|expected| expected.ip() == address)
            || self.role == Role::Listens && self.is_silent(now_ns)
    }

    fn token_for(&self, session: u64, address: SocketAddr) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.identity.secret.0, self.identity.secret.1);
        hasher.write_u64(session);
        match address.ip().to_canonical() {
            IpAddr::V4(v4) => hasher.write(&v4.octets()),
            IpAddr::V6(v6) => hasher.write(&v6.octets()),
        }
        hasher.write_u16(address.port());
        // 0 is no token.
        hasher.finish().max(1)
    }
}
