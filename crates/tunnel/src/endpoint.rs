//! One end of a path of datagrams.

use crate::acquaintance::{Acquaintance, Change, Identity, Reply, Role};
use crate::address::Reach;
use crate::congestion::{Allowance, Congestion};
use crate::counters::Counters;
use crate::path_mtu::{BASE_BYTES, PathMtu};
use crate::receiver::Receiver;
use crate::sender::{NoRoom, Sender};
use crate::wire::{self, Body, Datagram, HEADER_BYTES, Report};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// How many addresses of a name are tried.
pub const ADDRESSES_MAX: usize = 4;

/// How often an end calls a peer that it does not know.
const CALL_NS: u64 = 250_000_000;
/// How often an end that knows its peer says so. NATs keep a mapping for 30 s at least (RFC 4787 demands two minutes).
const KEEPALIVE_NS: u64 = 5_000_000_000;
/// The shortest time between two answers to hellos and strangers, of which there are as many as somebody sends.
const ANSWER_NS: u64 = 10_000_000;
/// Hellos, probes and acknowledgements that wait to be sent.
const CONTROL_MAX: usize = 16;

/// What UDP and IPv4 add to a datagram, as the pace counts.
const PACKET_BYTES: usize = 8 + 20;

/// How an endpoint is set up.
#[derive(Clone, Copy, Debug)]
pub struct EndpointConfig {
    pub identity: Identity,
    pub role: Role,
    pub reach: Reach,
    /// Whether it sends no faster than [`Congestion`] allows. What arrives is reported in any case, for the other end.
    pub is_controlled: bool,
    /// By how much [`Secure`](crate::Secure) makes datagrams longer; 0 without it.
    pub seal_bytes: usize,
}

/// What came of a datagram that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// The peer sent it, or nobody of importance.
    Usual,
    /// There is a peer, or another one, or it was restarted.
    NewPeer(SocketAddr),
    /// The peer's address has changed.
    Moved(SocketAddr),
}

#[derive(Clone, Copy, Debug)]
enum Control {
    Hello(Reply),
    Probe(usize),
    ProbeAcknowledged(usize),
    Report(Report),
}

/// One end. The crate's documentation gives the order of calls.
#[derive(Debug)]
pub struct Endpoint {
    acquaintance: Acquaintance,
    /// Where the peer is looked for.
    expected: Vec<SocketAddr>,
    sender: Sender,
    receiver: Receiver,
    path_mtu: PathMtu,
    /// Of an endpoint that is controlled.
    congestion: Option<Congestion>,
    seal_bytes: usize,
    control: VecDeque<(SocketAddr, Control)>,
    buffer: Vec<u8>,
    hellos: u64,
    reports: u64,
    /// The time that was told last.
    now_ns: u64,
    call_at_ns: u64,
    answer_at_ns: u64,
    /// Whether the peer was silent when the time was last told. Probes then wait for it.
    probes_wait: bool,
    round_trip_ns: Option<u64>,
    counters: Counters,
}

impl Endpoint {
    /// An end that knows nobody yet.
    pub fn new(now_ns: u64, config: &EndpointConfig) -> Endpoint {
        let EndpointConfig { identity, role, reach, is_controlled, seal_bytes } = *config;
        Endpoint {
            acquaintance: Acquaintance::new(identity, role, reach),
            expected: Vec::with_capacity(ADDRESSES_MAX),
            sender: Sender::new(BASE_BYTES - seal_bytes),
            receiver: Receiver::default(),
            path_mtu: PathMtu::new(now_ns, false, seal_bytes),
            congestion: is_controlled.then(|| Congestion::new(now_ns, 0, BASE_BYTES)),
            seal_bytes,
            control: VecDeque::with_capacity(CONTROL_MAX),
            buffer: Vec::new(),
            hellos: 0,
            reports: 0,
            now_ns,
            call_at_ns: now_ns,
            answer_at_ns: now_ns,
            probes_wait: true,
            round_trip_ns: None,
            counters: Counters::default(),
        }
    }

    /// Sets the addresses at which the peer is looked for: the first [`ADDRESSES_MAX`].
    pub fn expect_at(&mut self, now_ns: u64, addresses: impl IntoIterator<Item = SocketAddr>) {
        self.expected.clear();
        self.expected.extend(addresses.into_iter().take(ADDRESSES_MAX));
        self.call_at_ns = self.call_at_ns.min(now_ns);
    }

    /// Calls the peer at the next timeout, because it can be reached now.
    pub fn call_at_once(&mut self, now_ns: u64) {
        self.call_at_ns = self.call_at_ns.min(now_ns);
    }

    /// Where the peer is; `None` as long as it is not known.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.acquaintance.address()
    }

    /// Whether there is no peer, or it has been silent for [`crate::SILENCE_NS`].
    pub fn is_silent(&self, now_ns: u64) -> bool {
        self.acquaintance.is_silent(now_ns)
    }

    /// The longest datagram that the path takes, as far as is known.
    pub fn datagram_bytes(&self) -> usize {
        self.path_mtu.datagram_bytes()
    }

    /// The longest frame that takes one datagram.
    pub fn whole_frame_bytes(&self) -> usize {
        self.sender.whole_frame_bytes()
    }

    /// How long a missing datagram is waited for now.
    pub fn wait_ns(&self) -> u64 {
        self.receiver.wait_ns()
    }

    /// The time that a probe and its acknowledgement took, lately.
    pub fn round_trip_ns(&self) -> Option<u64> {
        self.round_trip_ns
    }

    /// What decides how fast it sends, if something does.
    pub fn congestion(&self) -> Option<&Congestion> {
        self.congestion.as_ref()
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        self.receiver.count(&mut counters);
        self.sender.count(&mut counters);
        counters
    }

    /// Handles a datagram, which a queue of the path may have marked (ECN). Calls `deliver` for each frame that is next.
    pub fn handle_datagram(
        &mut self,
        now_ns: u64,
        from: SocketAddr,
        datagram: &[u8],
        is_marked: bool,
        deliver: &mut impl FnMut(&[u8]),
    ) -> Handled {
        self.now_ns = now_ns;
        let before = self.peer();
        let Some(Datagram { token, number, body }) = wire::parse(datagram) else {
            self.counters.malformed += 1;
            return Handled::Usual;
        };
        if let Body::Hello(hello) = body {
            let expected = &self.expected;
            let (change, reply) =
                self.acquaintance.handle_hello(now_ns, from, token, number, &hello, expected);
            let handled = self.handle_change(now_ns, change, before);
            if let Some(reply) = reply {
                self.answer(now_ns, from, reply);
            }
            return handled;
        }
        let outer = matches!(body, Body::Frames(_)).then_some(number);
        let change = self.acquaintance.handle(now_ns, from, token, outer);
        let handled = self.handle_change(now_ns, change, before);
        match (change, body) {
            (Change::Refused, _) => {}
            (Change::Stranger, _) => {
                if self.acquaintance.may_follow(now_ns, from.ip(), &self.expected) {
                    self.answer(now_ns, from, self.acquaintance.introduction());
                }
            }
            (_, Body::Frames(records)) => {
                self.receiver.handle(now_ns, number, records, is_marked, deliver);
                self.receiver.owe_report(self.round_trip_ns);
                self.report(now_ns);
            }
            (_, Body::Report(report)) => {
                let congestion = self.congestion.as_mut();
                let is_possible =
                    congestion.is_none_or(|congestion| congestion.handle_report(now_ns, number, &report));
                self.counters.impossible_reports += u64::from(!is_possible);
            }
            (_, Body::Probe(bytes)) => self.queue(from, Control::ProbeAcknowledged(bytes)),
            (_, Body::ProbeAcknowledged(bytes)) => {
                let round_trip_ns = self.path_mtu.handle_acknowledgement(now_ns, bytes);
                self.round_trip_ns = round_trip_ns.or(self.round_trip_ns);
                self.set_limit();
            }
            (_, Body::Hello(_)) => {}
        }
        handled
    }

    fn handle_change(&mut self, now_ns: u64, change: Change, before: Option<SocketAddr>) -> Handled {
        match change {
            Change::Stranger => self.counters.strangers += 1,
            Change::Refused => self.counters.refused_addresses += 1,
            Change::NewPeer => {
                self.counters.sessions += 1;
                self.receiver.restart();
            }
            Change::Moved => self.counters.roamed += 1,
            Change::Nothing => {}
        }
        self.sender.set_token(self.acquaintance.grant());
        let (Change::NewPeer | Change::Moved, Some(address)) = (change, self.peer()) else {
            return Handled::Usual;
        };
        // A NAT that has forgotten a port translates to another one, but leads the same way (RFC 9000, section 9.4).
        if change == Change::Moved && before.is_some_and(|before| before.ip() == address.ip()) {
            return Handled::Moved(address);
        }
        // The path is another one.
        let is_ipv6 = address.ip().to_canonical().is_ipv6();
        self.path_mtu = PathMtu::new(now_ns, is_ipv6, self.seal_bytes);
        self.round_trip_ns = None;
        if let Some(congestion) = &mut self.congestion {
            *congestion = Congestion::new(now_ns, self.sender.first_number(), BASE_BYTES);
        }
        self.set_limit();
        if change == Change::NewPeer { Handled::NewPeer(address) } else { Handled::Moved(address) }
    }

    fn set_limit(&mut self) {
        let bytes = self.path_mtu.datagram_bytes();
        self.sender.set_limit(bytes);
        if let Some(congestion) = &mut self.congestion {
            congestion.set_datagram_bytes(bytes);
        }
    }

    fn report(&mut self, now_ns: u64) {
        if let Some(peer) = self.peer()
            && let Some(report) = self.receiver.poll_report(now_ns)
        {
            self.queue(peer, Control::Report(report));
        }
    }

    /// Does what is due: hellos, probes, reports, and giving up datagrams that have been waited for.
    pub fn handle_timeout(&mut self, now_ns: u64, deliver: &mut impl FnMut(&[u8])) {
        self.now_ns = now_ns;
        self.receiver.handle_timeout(now_ns, deliver);
        self.report(now_ns);
        if let Some(congestion) = &mut self.congestion {
            congestion.handle_timeout(now_ns);
        }
        if now_ns >= self.call_at_ns {
            let is_silent = self.is_silent(now_ns);
            let greeting = self.acquaintance.greeting();
            let peer = self.peer();
            if let Some(peer) = peer {
                self.queue(peer, Control::Hello(greeting));
            }
            if is_silent {
                let introduction = self.acquaintance.introduction();
                for place in 0..self.expected.len() {
                    if Some(self.expected[place]) != peer {
                        self.queue(self.expected[place], Control::Hello(introduction));
                    }
                }
            }
            self.call_at_ns = now_ns.saturating_add(if is_silent { CALL_NS } else { KEEPALIVE_NS });
        }
        self.probes_wait = self.is_silent(now_ns);
        if let Some(peer) = self.peer()
            && !self.probes_wait
        {
            if let Some(bytes) = self.path_mtu.poll_probe(now_ns) {
                self.queue(peer, Control::Probe(bytes));
            }
            self.set_limit();
        }
    }

    /// When [`Endpoint::handle_timeout`] is to be called at the latest.
    pub fn next_timeout(&self) -> u64 {
        let probe = if self.probes_wait { u64::MAX } else { self.path_mtu.next_timeout() };
        let wait = self.receiver.next_timeout().unwrap_or(u64::MAX);
        let silence = self.congestion.as_ref().and_then(Congestion::next_timeout).unwrap_or(u64::MAX);
        self.call_at_ns.min(wait).min(probe).min(silence)
    }

    fn answer(&mut self, now_ns: u64, to: SocketAddr, reply: Reply) {
        if now_ns >= self.answer_at_ns {
            self.answer_at_ns = now_ns.saturating_add(ANSWER_NS);
            self.queue(to, Control::Hello(reply));
        }
    }

    fn queue(&mut self, to: SocketAddr, control: Control) {
        // What does not fit is repeated.
        if self.control.len() < CONTROL_MAX {
            self.control.push_back((to, control));
        }
    }

    /// The next datagram without frames, and where to send it. `None` if there is none.
    pub fn poll_control(&mut self) -> Option<(SocketAddr, &[u8])> {
        let (to, control) = self.control.pop_front()?;
        let grant = self.acquaintance.grant();
        let out = &mut self.buffer;
        match control {
            Control::Hello(Reply { token, hello }) => {
                self.hellos += 1;
                wire::write(out, token, self.hellos, &Body::Hello(hello));
            }
            Control::Report(report) => {
                self.reports += 1;
                wire::write(out, grant, self.reports, &Body::Report(report));
            }
            Control::Probe(bytes) => wire::write(out, grant, 0, &Body::Probe(bytes)),
            Control::ProbeAcknowledged(bytes) => wire::write(out, grant, 0, &Body::ProbeAcknowledged(bytes)),
        }
        Some((to, &self.buffer))
    }

    /// The kernel has refused a datagram of so many bytes as too long for the interface.
    pub fn handle_too_long(&mut self, now_ns: u64, bytes: usize) {
        self.path_mtu.handle_refusal(now_ns, bytes);
        self.set_limit();
    }

    /// Which frames the path is to carry now. Ask again before each one.
    pub fn allowance(&self) -> Allowance {
        match &self.congestion {
            Some(congestion) if self.peer().is_some() => congestion.allowance(self.now_ns, self.sender.len()),
            _ => Allowance::Everything,
        }
    }

    /// How many frames of at most `frame_bytes` [`Endpoint::push`] certainly takes now.
    pub fn room(&self, frame_bytes: usize) -> usize {
        self.sender.room() / self.sender.datagrams_for(frame_bytes)
    }

    /// Adds a frame of `bytes`, given by its pieces. Without a peer it is dropped, as on a cable that leads nowhere;
    /// returns whether there is one.
    ///
    /// # Errors
    /// [`NoRoom`]; the frame was not taken.
    pub fn push<'a>(
        &mut self,
        bytes: usize,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<bool, NoRoom> {
        if self.peer().is_none() {
            return Ok(false);
        }
        let before = self.sender.len();
        self.sender.push(bytes, pieces)?;
        if let Some(congestion) = &mut self.congestion {
            let begun = self.sender.len() - before;
            congestion.take(self.now_ns, bytes + begun * (HEADER_BYTES + self.seal_bytes + PACKET_BYTES));
        }
        Ok(true)
    }

    /// Lets the datagram go that was being filled.
    pub fn close(&mut self) {
        self.sender.close();
    }

    /// The datagrams with frames for the peer, oldest first.
    pub fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        self.sender.datagrams()
    }

    /// Whether queues of the path may mark the datagrams with frames (`ECT(0)`).
    pub fn is_markable(&self) -> bool {
        self.congestion.as_ref().is_some_and(Congestion::is_markable)
    }

    /// How many datagrams with frames wait.
    pub fn waiting(&self) -> usize {
        self.sender.len()
    }

    /// The first datagrams with frames were sent.
    pub fn handle_sent(&mut self, now_ns: u64, count: usize) {
        let first = self.sender.first_number();
        if let Some(congestion) = &mut self.congestion {
            for (number, datagram) in (first..).zip(self.sender.datagrams().take(count)) {
                congestion.handle_sent(now_ns, number, datagram.len());
            }
        }
        self.sender.drop_first(count);
    }

    /// Drops the first datagrams with frames, because they cannot be sent.
    pub fn drop_first(&mut self, count: usize) {
        self.sender.drop_first(count);
    }

    /// When [`Endpoint::allowance`] is larger, if the pace is what it waits for.
    pub fn opens_at(&self) -> Option<u64> {
        self.congestion.as_ref().map(Congestion::opens_at).filter(|at| *at > self.now_ns)
    }
}
