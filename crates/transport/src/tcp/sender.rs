//! The sending half of a connection: what is outstanding, loss detection and recovery, timers, and the congestion window.
//!
//! The calls: [`Sender::open`] once the handshake is over; [`Sender::write`] and [`Sender::finish`] when the application has
//! more data, or no more. [`Sender::handle_ack`] for each acceptable segment with ACK, and [`Sender::handle_timeout`] when
//! [`Sender::next_timeout`] has come; after each of them [`Sender::poll`] until it answers `None`. While
//! [`Sender::waits_for_window`], the connection's persist timer runs, and [`Sender::poll_partial`] uses the little room
//! that there may be.
//!
//! Numbers count segments unless they are called bytes. The parts:
//!
//! - `send_buffer`: what was written; `scoreboard`: a record for each outstanding segment;
//! - `ack`: what an acknowledgement says; `recovery`: the resulting actions, in one place; `undo`: spurious reductions;
//! - `path`: longer segments, if the path carries them;
//! - `rack`, `timers`, `round_trip`, `delivery_rate`, `limits`, `output`: RACK; RTO, probes and the timer; measurements; sending.

mod ack;
mod delivery_rate;
mod limits;
mod output;
mod path;
mod rack;
mod recovery;
mod round_trip;
mod scoreboard;
mod send_buffer;
#[cfg(test)]
mod tests;
mod timers;
mod undo;

use super::config::{Config, Ecn, LossDetection};
use super::congestion::{CongestionControl, Context, Controller, Phase, Window, window_pacing_rate};
use super::info::Info;
use super::receiver::Options;
use super::segment::{Codepoint, Flags};
use crate::time::{Instant, Nanos};
use delivery_rate::DeliveryRate;
use limits::Limits;
use output::{Output, Pacer};
use path::PathSearch;
use rack::Rack;
use recovery::Recovery;
use round_trip::{MinRoundTrip, RoundTrip};
use scoreboard::Scoreboard;
use send_buffer::{Cork, Progress, SendBuffer};
use timers::{LossProbe, Timer};

/// Duplicates after which a segment is lost (RFC 5681, section 3.2), as long as no reordering was seen.
const DUPLICATES_THRESHOLD: u32 = 3;
/// Upper limit of the degree of reordering (Linux: `tcp_max_reordering`).
const REORDERING_MAX: u32 = 300;
/// Records have 16 bits for a length with a FIN.
const MSS_MAX: u32 = u16::MAX as u32 - 1;

/// Payload to be sent as one segment, or as several in a row for segmentation offload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub sequence: u64,
    /// Bytes of payload, and those of each segment.
    pub length: u32,
    pub segment: u32,
    /// PSH, FIN and CWR as they apply.
    pub flags: Flags,
    pub is_retransmission: bool,
    pub codepoint: Codepoint,
}

/// How the application writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Write {
    /// More follows soon: what is not a full segment waits for it, until an acknowledgement arrives or a probe of the
    /// window would be due (Linux: `MSG_MORE`).
    pub more_follows: bool,
    /// A segment ends with the last byte, and none holds it together with a later one (Linux: `MSG_EOR`).
    pub ends_record: bool,
}

/// What an acknowledgement has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Acknowledged {
    /// Bytes of sequence space newly acknowledged.
    pub bytes: u64,
    /// It acknowledges what was never sent, and counts for nothing (RFC 9293, section 3.10.7.4).
    pub is_ahead: bool,
}

/// The part of [`Config`] that is needed later.
#[derive(Debug, Clone)]
struct Settings {
    loss_detection: LossDetection,
    adapt_reordering_window: bool,
    tail_loss_probe: bool,
    timer_slack: Nanos,
    probe_min: Nanos,
    initial_window: u32,
    f_rto: bool,
    restart_after_idle: bool,
    paces: bool,
    offload_bytes: u32,
    burst_segments_min: u32,
    nagle: bool,
    sack: bool,
    timestamps: bool,
    ecn: Ecn,
}

/// What has happened so far.
#[derive(Debug, Clone, Default)]
struct Counts {
    bytes_acked: u64,
    bytes_sent: u64,
    bytes_resent: u64,
    segments_sent: u64,
    resent: u64,
    duplicates_reported: u64,
    reordering_seen: u32,
    timeouts: u64,
    /// Timeouts without new data acknowledged since.
    timeouts_in_a_row: u32,
    probes: u64,
}

/// See the module's documentation.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    settings: Settings,
    mss: u32,
    /// SND.UNA, SND.NXT, and the number after the last byte written.
    unacknowledged: u64,
    next: u64,
    written: u64,
    /// The number after the last byte that is to be pushed: not what more is announced to follow.
    pushed: u64,
    /// Whether a FIN follows the last byte written.
    is_finishing: bool,
    buffer: SendBuffer,
    cork: Cork,
    /// The first timeout since new data was acknowledged.
    unanswered_since: Option<Instant>,
    /// Kept where the send buffer counts packets.
    limits: Option<Box<Limits>>,
    /// SND.WND in bytes, the largest so far, and SND.WL1.
    peer_window: u64,
    largest_window: u64,
    window_sequence: u64,
    board: Scoreboard,
    round_trip: RoundTrip,
    min_rtt: MinRoundTrip,
    rate: DeliveryRate,
    rack: Rack,
    path: Option<Box<PathSearch>>,
    controller: Controller,
    window: Window,
    /// Whether the algorithm has full control of the window.
    is_controlled: bool,
    recovery: Recovery,
    /// The degree of reordering, in segments: how far apart segments were that arrived in the other order.
    reordering: u32,
    probe: LossProbe,
    timer: Option<Timer>,
    output: Output,
    pacer: Pacer,
    counts: Counts,
}

impl Sender {
    /// Before the handshake; the first byte of data has number 1.
    pub fn new(config: &Config, mss: u32) -> Sender {
        let settings = Settings {
            loss_detection: config.loss_detection,
            adapt_reordering_window: config.adapt_reordering_window,
            tail_loss_probe: config.tail_loss_probe,
            timer_slack: config.timer_slack,
            probe_min: config.probe_min,
            initial_window: config.initial_window.max(1),
            f_rto: config.f_rto,
            restart_after_idle: config.restart_after_idle,
            paces: config.pacing,
            offload_bytes: config.offload_bytes,
            burst_segments_min: config.burst_segments_min,
            nagle: false,
            sack: config.sack,
            timestamps: config.timestamps,
            ecn: config.ecn,
        };
        let initial = Window { cwnd: settings.initial_window, ssthresh: u32::MAX };
        Sender {
            settings,
            mss: mss.clamp(1, MSS_MAX),
            unacknowledged: 1,
            next: 1,
            written: 1,
            pushed: 1,
            is_finishing: false,
            buffer: SendBuffer::new(config.send_buffer, config.counts_packet_memory),
            cork: Cork::default(),
            unanswered_since: None,
            limits: config.counts_packet_memory.then(Box::default),
            peer_window: 0,
            largest_window: 0,
            window_sequence: 0,
            board: Scoreboard::default(),
            round_trip: RoundTrip::new(config),
            min_rtt: MinRoundTrip::default(),
            rate: DeliveryRate::default(),
            rack: Rack::default(),
            path: config.path_probing.map(|probing| Box::new(PathSearch::new(probing))),
            controller: Controller::new(config.algorithm, config.seed),
            window: initial,
            is_controlled: false,
            recovery: Recovery::default(),
            reordering: DUPLICATES_THRESHOLD,
            probe: LossProbe::default(),
            timer: None,
            output: Output::default(),
            pacer: Pacer::default(),
            counts: Counts::default(),
        }
    }

    /// What both ends have agreed on.
    pub fn agree(&mut self, options: Options) {
        self.settings.sack = options.sack;
        self.settings.timestamps = options.timestamps;
        self.settings.ecn = options.ecn;
    }

    /// Payload of a full segment in bytes. It applies to what is sent from now on.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss.clamp(1, MSS_MAX);
    }

    /// The peer's window in bytes, of a segment with this sequence number.
    pub fn set_peer_window(&mut self, bytes: u64, sequence: u64) {
        self.peer_window = bytes;
        self.largest_window = self.largest_window.max(bytes);
        self.window_sequence = sequence;
    }

    /// Small segments wait for the acknowledgement of the small one before (RFC 9293, section 3.7.4, with Minshall's
    /// modification); they do not unless this is called.
    pub fn set_nagle(&mut self, nagle: bool) {
        self.settings.nagle = nagle;
        self.output.leaves_at_once = !nagle;
    }

    /// Whether small segments wait until this is reset (Linux: `TCP_CORK`), or until a probe of the window is due.
    pub fn set_cork(&mut self, is_corked: bool) {
        self.cork = if is_corked { Cork::In } else { Cork::Out };
    }

    /// The connection is established. `rtt` is the round-trip time of the handshake, if it was measured; `retries` says how
    /// often its SYN or SYN-ACK was retransmitted: then one segment is the initial window (RFC 6928, section 2; in Linux
    /// after the second time).
    pub fn open(&mut self, now: Instant, rtt: Option<Nanos>, retries: u32) {
        if let Some(rtt) = rtt {
            self.round_trip.sample(rtt, self.unacknowledged, self.next);
            self.min_rtt.sample(now, rtt);
        }
        if retries > 1 {
            self.window.cwnd = 1;
        }
        let context = self.context(now);
        self.controller.opened(&context);
        self.update_pacing_rate(now);
    }

    /// The application writes this many bytes. Returns how many the send buffer takes before something has to leave.
    pub fn write(&mut self, bytes: u64, kind: Write) -> u64 {
        if self.is_finishing {
            return 0;
        }
        let most = bytes.min(u64::MAX / 2 - self.written.min(u64::MAX / 2));
        let taken = self.buffer.write(most, self.progress(), self.packet_bytes(), self.sendable());
        self.check_application_limit();
        self.written += taken;
        self.output.leaves_at_once = false;
        if self.cork != Cork::In {
            self.cork = if kind.more_follows { Cork::UntilNext } else { Cork::Out };
        }
        if !kind.more_follows {
            self.pushed = self.written;
        }
        if kind.ends_record && taken == bytes {
            self.buffer.end_record(self.written);
        }
        taken
    }

    fn progress(&self) -> Progress {
        Progress { unacknowledged: self.unacknowledged, next: self.next, written: self.written }
    }

    /// Whether an application that waits for room in the send buffer should write now.
    pub fn is_writable(&self) -> bool {
        !self.is_finishing && self.buffer.is_writable(self.progress())
    }

    /// Changes the size of the send buffer; what it holds stays.
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.buffer.set_limit(bytes);
    }

    /// Sets the number of unsent bytes at which the send buffer accepts no more.
    pub fn set_unsent_limit(&mut self, bytes: u64) {
        self.buffer.set_unsent_limit(bytes);
    }

    /// A FIN follows what was written.
    pub fn finish(&mut self) {
        self.is_finishing = true;
    }

    /// Whether the peer has acknowledged the FIN.
    pub fn is_finished(&self) -> bool {
        self.is_finishing && self.unacknowledged > self.written
    }

    /// Whether all bytes written are acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.unacknowledged >= self.written
    }

    /// SND.UNA.
    pub fn unacknowledged(&self) -> u64 {
        self.unacknowledged
    }

    /// The largest window of the peer so far, in bytes.
    pub fn largest_window(&self) -> u64 {
        self.largest_window
    }

    /// SND.NXT.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Bytes not sent yet, a FIN counted as one.
    pub fn unsent(&self) -> u64 {
        (self.written + u64::from(self.is_finishing)).saturating_sub(self.next)
    }

    /// The retransmission timeout with its backoff.
    pub fn timeout(&self) -> Nanos {
        self.round_trip.timeout()
    }

    /// Smoothed round-trip time, once measured.
    pub fn smoothed_rtt(&self) -> Option<Nanos> {
        self.round_trip.smoothed()
    }

    /// When the retransmission timer first expired since new data was acknowledged.
    pub fn unanswered_since(&self) -> Option<Instant> {
        self.unanswered_since
    }

    /// Whether the host's own queue is full, so that nothing leaves.
    pub fn set_queue_full(&mut self, is_full: bool) {
        self.output.is_queue_full = is_full;
    }

    /// Timeouts without new data acknowledged since (RFC 1122, section 4.2.3.5: a connection is given up after some).
    pub fn timeouts_in_a_row(&self) -> u32 {
        self.counts.timeouts_in_a_row
    }

    /// The number after the last byte that fits into the peer's window.
    fn window_end(&self) -> u64 {
        self.unacknowledged.saturating_add(self.peer_window)
    }

    /// The current threshold of duplicates.
    fn threshold(&self) -> u32 {
        match self.settings.loss_detection {
            LossDetection::DuplicateAcks => DUPLICATES_THRESHOLD,
            LossDetection::AdaptiveDuplicateAcks | LossDetection::RackTlp => self.reordering,
        }
    }

    fn uses_rack(&self) -> bool {
        self.settings.sack && self.settings.loss_detection == LossDetection::RackTlp
    }

    fn context(&self, now: Instant) -> Context {
        Context {
            now,
            mss: self.mss,
            window: self.window,
            phase: self.recovery.phase,
            in_flight: self.board.pipe(),
            smoothed_rtt: self.round_trip.smoothed(),
            min_rtt: self.min_rtt.least(),
            unacknowledged: self.unacknowledged,
            next: self.next,
            is_window_limited: self.is_window_limited(),
        }
    }

    /// RFC 7661, section 4.1, in Linux's form: whether the window was in use when it was last full, or half of it in slow
    /// start, where it may then double.
    fn is_window_limited(&self) -> bool {
        if self.window.in_slow_start() {
            u64::from(self.window.cwnd) < 2 * u64::from(self.output.usage_max)
        } else {
            self.output.is_window_limited
        }
    }

    fn update_pacing_rate(&mut self, now: Instant) {
        self.pacer.rate = match self.controller.pacing_rate() {
            Some(rate) => Some(rate),
            None if self.settings.paces => window_pacing_rate(&self.context(now)),
            None => None,
        };
    }

    /// draft-cheng-iccrg-delivery-rate-estimation, section 3.4: whether the application is what limits sending.
    fn check_application_limit(&mut self) {
        let in_flight = self.board.pipe();
        if self.unsent() < u64::from(self.mss)
            && in_flight < self.window.cwnd
            && self.board.lost() <= self.board.resent()
        {
            self.rate.limit(in_flight);
        }
    }

    /// The state of the sender; the connection adds what it knows.
    pub fn info(&self, now: Instant) -> Info {
        let context = self.context(now);
        let times = self.limits.as_ref().map(|limits| limits.times(now)).unwrap_or_default();
        Info {
            phase: self.recovery.phase,
            timeouts_in_a_row: self.counts.timeouts_in_a_row,
            backoff: u32::from(self.round_trip.backoff()),
            rto: self.round_trip.timeout(),
            snd_mss: self.mss,
            unacked: self.board.len(),
            sacked: self.board.sacked(),
            lost: self.board.lost(),
            retrans: self.board.resent(),
            rtt: self.round_trip.smoothed(),
            rtt_deviation: self.round_trip.deviation(),
            min_rtt: self.min_rtt.least(),
            snd_cwnd: self.window.cwnd,
            snd_ssthresh: self.window.ssthresh,
            reordering: self.reordering,
            reord_seen: self.counts.reordering_seen,
            total_retrans: self.counts.resent,
            pacing_rate: self.pacer.rate.or_else(|| window_pacing_rate(&context)),
            delivery_rate: self.rate.latest.map(|rate| {
                let bytes = u128::from(rate.delivered) * u128::from(self.mss);
                u64::try_from(bytes * 1_000_000_000 / u128::from(rate.interval.0.max(1))).unwrap_or(u64::MAX)
            }),
            delivery_rate_app_limited: self.rate.latest.is_some_and(|rate| rate.is_app_limited),
            delivered: self.rate.delivered,
            delivered_ce: self.rate.delivered_marked,
            bytes_acked: self.counts.bytes_acked,
            bytes_sent: self.counts.bytes_sent,
            bytes_retrans: self.counts.bytes_resent,
            segments_sent: self.counts.segments_sent,
            notsent_bytes: self.written.saturating_sub(self.next),
            busy_time: times.busy,
            rwnd_limited: times.peer_window,
            sndbuf_limited: times.send_buffer,
            dsack_dups: self.counts.duplicates_reported,
            timeouts: self.counts.timeouts,
            loss_probes: self.counts.probes,
            snd_wnd: self.peer_window,
            ..Info::default()
        }
    }
}

/// Whether timestamp `one` is older than `other`, modulo 2^32 (RFC 7323, section 3).
fn is_older(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) < 0
}

/// Whether recovery is in progress.
fn is_recovering(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Loss)
}
