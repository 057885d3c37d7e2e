//! The host under test: one TCP connection in virtual time, and the script's numbers of it.

use crate::error::Lacking;
use crate::script::{Direction, EcnNotation, Options, Packet, TcpOption};
use crate::settings::Settings;
use crate::timestamping::Timestamping;
use linkmend_transport::tcp::{
    Abort, Codepoint, Config, Connection, Event, Flags, SackBlocks, Segment, State, SynOptions, Timestamps,
};
use linkmend_transport::{Instant, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// The beginning of the script in the host's clock; not 0, so that no timestamp is.
const START: Instant = Instant(1_000_000_000_000);
/// Timers of one wait; no script needs a hundred.
const TIMERS_MAX: u32 = 100_000;
/// The timestamps option with its padding.
const TIMESTAMPS_BYTES: u32 = 12;

/// A packet of the host, and when it was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub at: Nanos,
    pub packet: Packet,
}

/// The host and its connection.
#[derive(Debug)]
pub struct Host {
    now: Instant,
    pub settings: Settings,
    pub connection: Option<Connection>,
    /// That of the connection.
    config: Config,
    sent: VecDeque<Sent>,
    numbers: Numbers,
    /// Bytes written by the application.
    pub written: u64,
    pub is_established: bool,
    pub is_peer_closed: bool,
    /// Of what is written to the connection, if its socket asks for it.
    pub timestamping: Option<Timestamping>,
    /// Whether something was written without copying, of which the simulated host does not say when it is over.
    pub owes_zero_copy_notice: bool,
    /// Why it ended early, until a call has reported it.
    pub abort: Option<Abort>,
}

/// The script's numbers of one connection and the connection's own.
#[derive(Debug, Clone, Default)]
struct Numbers {
    /// The number of the remote SYN.
    remote_initial: u32,
    /// The highest numbers so far in both streams, near which others lie.
    remote_highest: u64,
    local_highest: u64,
    remote_shift: Option<u8>,
    local_shift: Option<u8>,
    remote_mss: u32,
    has_remote_timestamps: bool,
    /// Timestamps of the host by those that the script calls them.
    timestamps: BTreeMap<u32, u32>,
}

impl Host {
    /// A host without a connection, at the time 0 of the script.
    pub fn new(settings: Settings) -> Host {
        Host {
            now: START,
            config: settings.config,
            settings,
            connection: None,
            sent: VecDeque::new(),
            numbers: Numbers::default(),
            written: 0,
            is_established: false,
            is_peer_closed: false,
            timestamping: None,
            owes_zero_copy_notice: false,
            abort: None,
        }
    }

    /// Time since the script began.
    pub fn now(&self) -> Nanos {
        self.now.since(START)
    }

    /// The present in the connection's clock.
    pub fn instant(&self) -> Instant {
        self.now
    }

    /// Opens a connection, from this side or for a SYN that will arrive.
    ///
    /// # Errors
    /// If the settings cannot be used.
    pub fn connect(&mut self, settings: &Settings, is_server: bool) -> Result<(), String> {
        let config = settings.connection(is_server)?;
        let made = if is_server { Connection::new_server(config) } else { Connection::new_client(config) };
        let mut connection = made.map_err(|error| format!("the configuration {error:?}"))?;
        connection.set_reads_at_once(false);
        connection.set_nagle(settings.has_nagle);
        connection.set_cork(settings.is_corked);
        connection.set_unsent_limit(settings.unsent_limit());
        connection.set_user_timeout(settings.user_timeout);
        if !is_server {
            connection.open();
        }
        self.numbers = Numbers { remote_mss: u32::MAX, ..Numbers::default() };
        (self.is_established, self.is_peer_closed, self.abort, self.written) = (false, false, None, 0);
        (self.timestamping, self.owes_zero_copy_notice) = (None, false);
        self.connection = Some(connection);
        self.config = config;
        self.collect();
        Ok(())
    }

    /// Whether there is a connection that has begun and not ended.
    pub fn is_busy(&self) -> bool {
        let state = self.connection.as_ref().map_or(State::Closed, Connection::state);
        !matches!(state, State::Closed | State::Listen | State::TimeWait)
    }

    /// Does something with the connection, and takes what it has to send and to say.
    pub fn with<T>(&mut self, action: impl FnOnce(&mut Connection, Instant) -> T) -> Option<T> {
        let now = self.now;
        let connection = self.connection.as_mut()?;
        let result = action(connection, now);
        self.collect();
        Some(result)
    }

    fn collect(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(segment) = connection.poll_transmit(self.now) {
            let mss = self.numbers.segment_size(&self.config);
            if self.settings.has_full_queue {
                continue;
            }
            for piece in segment.split(mss) {
                let packet = self.numbers.outbound(&piece);
                self.sent.push_back(Sent { at: self.now.since(START), packet });
            }
        }
        if let Some(timestamping) = &mut self.timestamping {
            let info = connection.info(self.now);
            let sent = self.written.saturating_sub(info.notsent_bytes);
            timestamping.handle_progress(self.now.since(START), sent, info.bytes_acked);
        }
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Established => self.is_established = true,
                Event::PeerClosed => self.is_peer_closed = true,
                Event::Aborted(why) => self.abort = Some(why),
                _ => (),
            }
        }
    }

    /// The instant of the next timer, if it is no later than `limit`.
    pub fn next_timer(&self, limit: Nanos) -> Option<Nanos> {
        let timer = self.connection.as_ref()?.next_timeout()?;
        let at = timer.since(START).max(self.now());
        (at <= limit).then_some(at)
    }

    /// Lets the time pass to `at` and the timers expire that are due then. Time never goes back.
    pub fn set_time(&mut self, at: Nanos) {
        self.now = self.now.max(START + at);
        for _ in 0..TIMERS_MAX {
            let is_due = |connection: &Connection| connection.next_timeout().is_some_and(|t| t <= self.now);
            if !self.connection.as_ref().is_some_and(is_due) {
                return;
            }
            self.with(|connection, now| connection.handle_timeout(now));
        }
    }

    /// A packet of the script arrives.
    pub fn inject(&mut self, packet: &Packet) {
        let mut segment = self.numbers.inbound(packet);
        let longest = self.settings.inbound_segment;
        segment.longest = if segment.length > u32::from(longest) { longest } else { 0 };
        self.with(|connection, now| connection.handle_segment(now, &segment));
    }

    /// The host's queue takes nothing from now on, or does again.
    pub fn set_queue_full(&mut self, is_full: bool) {
        self.with(|connection, _| connection.set_queue_full(is_full));
    }

    /// The MTU of the route to the peer has changed.
    ///
    /// # Errors
    /// If the connection does not probe its path, and so would have to learn of it in another way.
    pub fn change_route(&mut self) -> Result<(), Lacking> {
        let segment = self.settings.largest_segment();
        if self.is_busy() && self.config.path_probing.is_none() {
            return Err("another MTU of a connection that does not probe its path".to_owned());
        }
        self.with(|connection, _| connection.set_route_segment(segment));
        Ok(())
    }

    /// A call has written everything up to now.
    pub fn note_written(&mut self) {
        if let Some(timestamping) = &mut self.timestamping {
            timestamping.handle_written(self.written);
        }
        self.collect();
    }

    /// The next packet that was sent and not yet compared.
    pub fn take_sent(&mut self) -> Option<Sent> {
        self.sent.pop_front()
    }

    /// The packet that [`take_sent`](Self::take_sent) would take.
    pub fn peek_sent(&self) -> Option<&Sent> {
        self.sent.front()
    }

    /// The script calls the timestamp `actual` of the host `expected`.
    pub fn name_timestamp(&mut self, expected: u32, actual: u32) {
        self.numbers.timestamps.insert(expected, actual);
    }

    /// The first of the host's timestamps and what the script calls it.
    pub fn first_timestamp(&self) -> Option<(u32, u32)> {
        self.numbers.timestamps.iter().next().map(|(expected, actual)| (*expected, *actual))
    }
}

impl Numbers {
    /// Payload of a full segment.
    fn segment_size(&self, config: &Config) -> u32 {
        let options = |has: bool| if has { TIMESTAMPS_BYTES } else { 0 };
        let own = config.mss + options(config.timestamps);
        let both = config.timestamps && self.has_remote_timestamps;
        own.min(self.remote_mss).saturating_sub(options(both)).max(1)
    }

    /// A segment of the host as the script would write it.
    fn outbound(&mut self, segment: &Segment) -> Packet {
        let is_syn = segment.flags.contains(Flags::SYN);
        if let Some(syn) = segment.syn {
            self.local_shift = syn.window_scale;
        }
        self.local_highest = self.local_highest.max(segment.end());
        let remote = |number: u64| self.remote_initial.wrapping_add(number as u32);
        let mut options = Vec::new();
        if let Some(syn) = segment.syn {
            options.extend(syn.mss.map(TcpOption::Mss));
            options.extend(syn.sack_permitted.then_some(TcpOption::SackPermitted));
        }
        let timestamps = segment.timestamps;
        options.extend(
            timestamps.map(|stamps| TcpOption::Timestamps { value: stamps.value, echo: stamps.echo }),
        );
        options.extend(segment.syn.and_then(|syn| syn.window_scale).map(TcpOption::WindowScale));
        if !segment.sack.is_empty() {
            let blocks = segment.sack.iter().map(|block| (remote(block.start), remote(block.end)));
            options.push(TcpOption::Sack(blocks.collect()));
        }
        let shift = if is_syn { 0 } else { self.shifts().1 };
        Packet {
            direction: Direction::Outbound,
            ecn: Some(match segment.codepoint {
                Codepoint::NotEct => EcnNotation::NoEcn,
                Codepoint::Ect0 => EcnNotation::Ect0,
                Codepoint::Ect1 => EcnNotation::Ect1,
                Codepoint::Ce => EcnNotation::Ce,
            }),
            flags: segment.flags,
            sequence: segment.sequence as u32,
            length: segment.length,
            acknowledgement: segment.flags.contains(Flags::ACK).then(|| remote(segment.acknowledgement)),
            window: Some((segment.window >> shift).min(u32::from(u16::MAX))),
            options: Options::These(options),
        }
    }

    /// Shifts of the remote windows and of the host's own; scaling takes both sides (RFC 7323, section 2.2).
    fn shifts(&self) -> (u8, u8) {
        match (self.remote_shift, self.local_shift) {
            (Some(remote), Some(local)) => (remote.min(14), local.min(14)),
            _ => (0, 0),
        }
    }

    /// A packet of the script as it arrives.
    fn inbound(&mut self, packet: &Packet) -> Segment {
        let is_syn = packet.flags.contains(Flags::SYN);
        let options = match &packet.options {
            Options::These(options) => options.as_slice(),
            Options::Whatever => &[],
        };
        let mut syn = SynOptions::default();
        let mut segment = Segment { flags: packet.flags, length: packet.length, ..Segment::default() };
        if is_syn && self.remote_highest == 0 {
            self.remote_initial = packet.sequence;
        }
        for option in options {
            match option {
                TcpOption::Mss(bytes) => syn.mss = Some(*bytes),
                TcpOption::WindowScale(shift) => syn.window_scale = Some(*shift),
                TcpOption::SackPermitted => syn.sack_permitted = true,
                TcpOption::Timestamps { value, echo } => {
                    segment.timestamps = Some(Timestamps { value: *value, echo: self.echo(*echo) });
                }
                TcpOption::Sack(blocks) => segment.sack = self.local_blocks(blocks),
                TcpOption::NoOperation | TcpOption::EndOfList | TcpOption::FastOpen { .. } => (),
            }
        }
        if is_syn {
            segment.syn = Some(syn);
            self.remote_shift = syn.window_scale;
            self.remote_mss = u32::from(syn.mss.unwrap_or(536));
            self.has_remote_timestamps = segment.timestamps.is_some();
        }
        let shift = if is_syn { 0 } else { self.shifts().0 };
        segment.window = packet.window.unwrap_or(0).checked_shl(u32::from(shift)).unwrap_or(u32::MAX);
        segment.codepoint = match packet.ecn {
            Some(EcnNotation::Ect0 | EcnNotation::Ect01) => Codepoint::Ect0,
            Some(EcnNotation::Ect1) => Codepoint::Ect1,
            Some(EcnNotation::Ce) => Codepoint::Ce,
            Some(EcnNotation::NoEcn) | None => Codepoint::NotEct,
        };
        segment.sequence = near(self.remote_highest, packet.sequence.wrapping_sub(self.remote_initial));
        self.remote_highest = self.remote_highest.max(segment.end());
        segment.acknowledgement = packet.acknowledgement.map_or(0, |number| near(self.local_highest, number));
        segment
    }

    fn local_blocks(&self, blocks: &[(u32, u32)]) -> SackBlocks {
        let mut found = SackBlocks::default();
        for &(first, end) in blocks {
            found.push(near(self.local_highest, first)..near(self.local_highest, end));
        }
        found
    }

    /// What the host called the timestamp that the script calls `echo`.
    fn echo(&self, echo: u32) -> u32 {
        if echo == 0 {
            return 0;
        }
        if let Some(actual) = self.timestamps.get(&echo) {
            return *actual;
        }
        // One that no expected packet has named lies as far from the last one named before it.
        let named = self.timestamps.range(..echo).next_back().or_else(|| self.timestamps.iter().next());
        named.map_or(echo, |(expected, actual)| actual.wrapping_add(echo.wrapping_sub(*expected)))
    }
}

/// The number of a stream whose low 32 bits are `low`, and that lies nearest to `reference`; not before the stream's
/// beginning.
fn near(reference: u64, low: u32) -> u64 {
    let difference = low.wrapping_sub(reference as u32) as i32;
    reference.saturating_add_signed(i64::from(difference))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_for_the_nearest_ones() {
        for (reference, low, wanted) in [
            (0, 0, 0),
            (1_000, 2_000, 2_000),
            (1_000, 0, 0),
            (10, u32::MAX, 0),
            ((1 << 32) + 5, 3, (1 << 32) + 3),
            ((1 << 32) + 5, u32::MAX, (1 << 32) - 1),
        ] {
            assert_eq!(near(reference, low), wanted, "{low} near {reference}");
        }
    }
}
