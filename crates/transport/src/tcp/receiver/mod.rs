//! The receiving half of a connection: reassembly, acknowledgements, and the receive window.
//!
//! The calls: [`Receiver::accepts`] for each segment, and [`Receiver::handle_unacceptable`] if it is not accepted; if it has
//! data or a FIN, [`Receiver::wants`] and then [`Receiver::handle_data`]. Before a segment leaves, [`Receiver::fill`] writes
//! into it what concerns this half, and settles the acknowledgement that is owed. While [`Receiver::has_prior_ack`],
//! [`Receiver::fill_prior`] comes first.

mod delayed_ack;
mod ecn;
mod memory;
mod reassembly;
mod sack;
mod timestamps;
mod window;

pub(super) use delayed_ack::RoundTrip;
pub(super) use timestamps::clock;
pub(super) use window::offered_shift;

use super::config::{Config, Ecn};
use super::segment::{Flags, Segment, Timestamps};
use crate::time::{Instant, Nanos};
use delayed_ack::DelayedAck;
use ecn::EcnEcho;
use memory::ReceiveMemory;
use reassembly::Reassembly;
use sack::SackReport;
use timestamps::TimestampEcho;
use window::ReceiveWindow;

/// Segments without data that are not acceptable are answered no more often than this, so that two ends that disagree do
/// not answer each other forever (RFC 5961, section 7; Linux: `tcp_invalid_ratelimit`).
const ANSWER_INTERVAL: Nanos = Nanos::from_millis(500);

/// What both ends have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Options {
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: Ecn,
    /// Whether windows are scaled.
    pub scaling: bool,
}

/// What a segment has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Received {
    /// Bytes of data that are now in order.
    pub bytes: u64,
    /// Whether the end of the stream is now in order.
    pub is_finished: bool,
}

/// An acknowledgement of what came before the mark changed (RFC 8257, section 3.2).
#[derive(Debug, Clone, Copy)]
struct PriorAck {
    next: u64,
    is_echoing: bool,
}

/// The receiving half.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    reassembly: Reassembly,
    report: SackReport,
    window: ReceiveWindow,
    timing: DelayedAck,
    echo: EcnEcho,
    timestamp_echo: TimestampEcho,
    has_timestamps: bool,
    has_sack: bool,
    /// Whether the application immediately reads what arrives.
    reads_at_once: bool,
    prior: Option<PriorAck>,
    /// The number of the peer's FIN, once known.
    end_of_stream: Option<u64>,
    /// The number in the last acknowledgement sent.
    last_acknowledged: u64,
    /// Segments dropped because they reached beyond the window.
    pub beyond_window: u64,
    /// When data last arrived, or the handshake was over.
    pub data_at: Instant,
    /// When a segment without data that was not acceptable was last answered.
    answered_at: Option<Instant>,
}

impl Receiver {
    /// The half before the handshake, which expects the byte `next`.
    pub fn new(config: &Config, next: u64) -> Receiver {
        let offered = config.offered_segment();
        let memory = config.receive_memory.map(|bytes| Box::new(ReceiveMemory::new(bytes, offered)));
        Receiver {
            reassembly: Reassembly::new(next),
            report: SackReport::default(),
            window: ReceiveWindow::new(config.receive_buffer, memory, next),
            timing: DelayedAck::new(config),
            echo: EcnEcho::Off,
            timestamp_echo: TimestampEcho::default(),
            has_timestamps: false,
            has_sack: false,
            reads_at_once: true,
            prior: None,
            end_of_stream: None,
            last_acknowledged: next,
            beyond_window: 0,
            data_at: Instant::default(),
            answered_at: None,
        }
    }

    /// The handshake is over, or both sides of it are known.
    pub fn agree(&mut self, options: Options) {
        self.has_sack = options.sack;
        self.has_timestamps = options.timestamps;
        self.echo = EcnEcho::new(options.ecn);
        if options.scaling {
            self.window.scale();
        }
    }

    /// Opens the window without an acknowledgement: both ends know it, as there was no handshake.
    pub fn open_without_handshake(&mut self) {
        let next = self.next();
        self.window.promise(next, self.window.advertised(next, self.timing.segment()));
    }

    /// Whether the application immediately reads what arrives, which it does unless told otherwise.
    pub fn set_reads_at_once(&mut self, reads_at_once: bool) {
        self.reads_at_once = reads_at_once;
        if reads_at_once {
            self.read(u64::MAX);
        }
    }

    /// The next byte that is expected (RCV.NXT).
    pub fn next(&self) -> u64 {
        self.reassembly.next()
    }

    /// The number after the last byte that may arrive (RCV.NXT + RCV.WND).
    pub fn edge(&self) -> u64 {
        self.window.edge().max(self.next())
    }

    /// Bytes of a full segment of the peer, as far as is known.
    pub fn segment(&self) -> u32 {
        self.timing.segment()
    }

    /// Bytes in order that were not read.
    pub fn unread(&self) -> u64 {
        self.window.unread()
    }

    /// Window of a SYN.
    pub fn syn_window(&self) -> u32 {
        self.window.of_syn()
    }

    /// Whether the acknowledgement of a segment counts (RFC 9293, section 3.10.7.4): it does not end before the last
    /// acknowledgement sent, nor begin beyond the window. That of a segment without room, or of one that repeats what was
    /// not acknowledged yet, counts too; its data does not.
    pub fn accepts(&self, segment: &Segment) -> bool {
        segment.end() >= self.last_acknowledged && segment.sequence <= self.edge()
    }

    /// Whether the data or the FIN of a segment has something new that is in the window. A FIN alone needs no room: some peers
    /// send theirs, again and again, to a window that is closed (Linux: tcp_data_queue()).
    pub fn wants(&self, segment: &Segment) -> bool {
        let is_bare_fin = segment.flags.contains(Flags::FIN) && segment.length == 0;
        let is_in_window = segment.sequence < self.edge() || (is_bare_fin && segment.sequence == self.next());
        is_in_window && segment.end() > self.next()
    }

    /// PAWS (RFC 7323, section 5.3): whether its timestamp is older than one that arrived before.
    pub fn is_outdated(&self, now: Instant, segment: &Segment) -> bool {
        let outdated = |timestamps| self.timestamp_echo.is_too_old(now, timestamps);
        self.has_timestamps && segment.timestamps.is_some_and(outdated)
    }

    /// The timestamp of an acceptable segment, of a SYN too.
    pub fn handle_timestamps(&mut self, now: Instant, segment: &Segment) {
        if let Some(timestamps) = segment.timestamps {
            self.timestamp_echo.handle(now, timestamps, segment.sequence, self.last_acknowledged);
        }
    }

    /// A segment is not acceptable: it is answered by an acknowledgement (RFC 9293, section 3.10.7.4), and if it brings
    /// data again, by a report of that (RFC 2883, section 4).
    pub fn handle_unacceptable(&mut self, now: Instant, segment: &Segment) {
        if segment.sequence_length() == 0 || segment.flags.contains(Flags::SYN) {
            self.challenge(now);
            return;
        }
        self.beyond_window += u64::from(segment.sequence >= self.edge());
        if self.has_sack && segment.sequence < self.next() {
            self.report.duplicated(&(segment.sequence..segment.end().min(self.next())));
        }
        self.timing.begin_quick();
        self.timing.owe_now();
    }

    /// Owes an acknowledgement to a segment that may be forged or come from an older connection (RFC 5961, section 7).
    pub fn challenge(&mut self, now: Instant) {
        if self.answered_at.is_some_and(|answered| now.since(answered) < ANSWER_INTERVAL) {
            return;
        }
        self.answered_at = Some(now);
        self.timing.owe_now();
    }

    /// Data or a FIN of an acceptable segment.
    pub fn handle_data(&mut self, now: Instant, segment: &Segment, rtt: RoundTrip) -> Received {
        self.data_at = now;
        let next_before = self.next();
        let (had_gap, was_closed) = (self.reassembly.has_gap(), self.edge() == next_before);
        if self.reaches_too_far(segment) {
            self.beyond_window += 1;
            self.timing.owe_now();
            return Received::default();
        }
        let range = segment.sequence..self.end_within_limits(segment);
        let inserted = self.reassembly.insert(range);
        if inserted.is_dropped {
            self.timing.owe_now();
            return Received::default();
        }
        if self.has_sack {
            if let Some(duplicate) = &inserted.duplicate {
                self.report.duplicated(duplicate);
            }
            if let Some(block) = &inserted.block {
                self.report.arrived(block);
            }
            self.report.advanced(self.next());
        }
        let is_finished = inserted.advanced > 0 && self.is_finished();
        let bytes = inserted.advanced - u64::from(is_finished);
        self.window.arrived(bytes);
        self.handle_marks(segment, next_before);
        if is_finished {
            // The application answers by closing, and what is SACKed of a stream that is complete matters to nobody.
            self.timing.handle_end();
            self.report = SackReport::default();
        }
        let longest = if segment.longest > 0 { u32::from(segment.longest) } else { segment.length };
        self.timing.saw_segment(longest);
        if inserted.advanced > 0 || inserted.block.is_some() {
            self.hold_memory(segment, longest);
        }
        let is_pushed = segment.flags.contains(Flags::PSH) && bytes > 0;
        self.timing.handle_data(now, segment.length, inserted.advanced, is_pushed, rtt);
        // RFC 5681, section 4.2: immediately when it is out of order or fills a gap. In Linux also if there is no
        // memory for it.
        if had_gap
            || was_closed
            || self.reassembly.has_gap()
            || (inserted.duplicate.is_some() && !is_finished)
        {
            self.timing.owe_now();
        }
        if self.reads_at_once {
            self.window.read(u64::MAX);
            self.timing.handle_all_read();
        }
        Received { bytes, is_finished }
    }

    /// Whether a segment reaches beyond the window. Where the memory of packets counts, as in Linux, it is dropped, unless
    /// everything before it was read.
    fn reaches_too_far(&mut self, segment: &Segment) -> bool {
        if self.window.memory().is_none() {
            return false;
        }
        let end = segment.sequence.saturating_add(u64::from(segment.length));
        let is_alone = self.unread() == 0 && segment.sequence <= self.next();
        !is_alone && end > self.edge()
    }

    /// Counts the memory of a packet, if that counts.
    fn hold_memory(&mut self, segment: &Segment, longest: u32) {
        let Some(memory) = self.window.memory() else { return };
        memory.arrived(segment.sequence.saturating_add(u64::from(segment.length)), segment.length, longest);
        let (is_half_used, is_exhausted) = (memory.is_half_used(), memory.is_exhausted());
        let is_shrinking = self.window.is_shrinking(self.timing.segment());
        self.timing.set_memory(is_shrinking, is_half_used);
        if is_exhausted {
            self.timing.owe_now();
        }
    }

    /// Changes how much memory packets may take, if it counts.
    pub fn set_memory(&mut self, bytes: u32) {
        if let Some(memory) = self.window.memory() {
            memory.set_limit(bytes);
        }
    }

    /// The number after the last byte that counts: not beyond the window, nor beyond the end of the stream. If everything was
    /// read, a segment in order may reach beyond the window, as in Linux (tcp_sequence()): what follows it finds no room.
    fn end_within_limits(&mut self, segment: &Segment) -> u64 {
        let is_alone = self.unread() == 0 && segment.sequence <= self.next();
        let edge = if is_alone { u64::MAX } else { self.edge() };
        let data_end = segment.sequence.saturating_add(u64::from(segment.length));
        let is_last = segment.flags.contains(Flags::FIN);
        if is_last
            && self.end_of_stream.is_none()
            && self.reassembly.highest() <= data_end
            && data_end <= edge
        {
            self.end_of_stream = Some(data_end);
        }
        match self.end_of_stream {
            // The FIN takes one number.
            Some(last) if is_last && data_end == last => data_end + 1,
            Some(last) => data_end.min(last),
            None => data_end.min(edge),
        }
    }

    fn handle_marks(&mut self, segment: &Segment, next_before: u64) {
        if segment.length == 0 {
            return;
        }
        let was_echoing = self.echo.is_echoing();
        let reaction = self.echo.handle_data(segment);
        if reaction.changed {
            if self.last_acknowledged < next_before {
                self.prior = Some(PriorAck { next: next_before, is_echoing: was_echoing });
            }
            self.timing.owe_now();
        }
        if reaction.begins_episode {
            self.timing.handle_mark();
        }
        if reaction.ends_episode {
            self.timing.owe_now();
        }
    }

    /// Whether the whole stream of the peer has arrived, with its FIN.
    pub fn is_finished(&self) -> bool {
        self.end_of_stream.is_some_and(|last| self.next() > last)
    }

    /// The application has read up to `bytes`; returns how many there were. It may open the window.
    pub fn read(&mut self, bytes: u64) -> u64 {
        let read = self.window.read(bytes);
        if read > 0 && !self.is_finished() {
            self.timing.handle_read();
            if self.unread() == 0 {
                self.timing.handle_all_read();
            }
            if self.window.is_update_due(self.next(), self.timing.segment()) {
                self.timing.owe_now();
            }
        }
        read
    }

    /// Data leaves this end.
    pub fn handle_data_sent(&mut self, now: Instant) {
        self.timing.handle_data_sent(now);
    }

    /// Owes an acknowledgement immediately: of a SYN, or of a FIN after this end has closed.
    pub fn owe_ack(&mut self) {
        self.timing.owe_now();
    }

    /// Whether an acknowledgement is to be sent now.
    pub fn ack_due(&self) -> bool {
        self.timing.is_due()
    }

    /// Whether an acknowledgement of what came before is to be sent first, alone.
    pub fn has_prior_ack(&self) -> bool {
        self.prior.is_some()
    }

    /// Writes the acknowledgement of what came before the mark changed; that of the rest stays owed.
    pub fn fill_prior(&mut self, now: Instant, segment: &mut Segment) {
        if let Some(prior) = self.prior.take() {
            self.write(now, segment, prior.next, prior.is_echoing);
        }
    }

    /// Writes acknowledgement, window, timestamps, SACK blocks and the echo of marks, which settles what is owed.
    pub fn fill(&mut self, now: Instant, segment: &mut Segment) {
        self.prior = None;
        self.write(now, segment, self.next(), self.echo.is_echoing());
        segment.sack = self.report.take(self.has_timestamps);
        self.timing.handle_ack_sent();
    }

    fn write(&mut self, now: Instant, segment: &mut Segment, next: u64, is_echoing: bool) {
        segment.flags.insert(Flags::ACK);
        if is_echoing {
            segment.flags.insert(Flags::ECE);
        }
        segment.acknowledgement = next;
        segment.window = self.window.advertised(next, self.timing.segment());
        self.window.promise(next, segment.window);
        segment.timestamps = self.timestamps(now);
        self.last_acknowledged = next;
    }

    /// The timestamps option of a segment that leaves now.
    pub fn timestamps(&self, now: Instant) -> Option<Timestamps> {
        self.has_timestamps.then(|| Timestamps { value: clock(now), echo: self.timestamp_echo.echo() })
    }

    /// When a delayed acknowledgement leaves.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timing.timer()
    }

    /// Ends the delay of an acknowledgement, if it is over.
    pub fn handle_timeout(&mut self, now: Instant, rtt: RoundTrip) {
        self.timing.handle_timeout(now, rtt);
    }
}

#[cfg(test)]
mod tests;
