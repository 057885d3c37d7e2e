//! The handshake: its timer and what the two SYNs agree on (RFC 9293, section 3.5; options: RFC 7323, RFC 2018, RFC 3168).

use crate::tcp::config::{Config, Ecn, MSS_MIN, TIMESTAMPS_BYTES};
use crate::tcp::receiver::{Options, offered_shift};
use crate::tcp::segment::{Flags, Segment, SynOptions};
use crate::time::{Instant, Nanos};

/// The largest segment of a peer that names none (RFC 9293, section 3.7.1).
const MSS_DEFAULT: u32 = 536;
/// Times a SYN is retransmitted (Linux: `tcp_syn_retries`), and a SYN-ACK (Linux: `tcp_synack_retries`).
const SYN_RETRIES: u32 = 6;
const SYN_ACK_RETRIES: u32 = 5;

/// What a SYN or SYN-ACK of this end carries.
pub fn offer(config: &Config) -> SynOptions {
    SynOptions {
        mss: Some(config.offered_segment().min(u32::from(u16::MAX)) as u16),
        sack_permitted: config.sack,
        window_scale: Some(offered_shift(config.receive_buffer)),
    }
}

/// What both ends agree on after the SYN of the peer, and payload of a full segment to the peer in bytes; a peer that asks
/// for less than every network carries gets as much as that.
pub fn agree(config: &Config, peer: &Segment) -> (Options, u32) {
    let theirs = peer.syn.unwrap_or_default();
    let timestamps = config.timestamps && peer.timestamps.is_some();
    let has_ecn = if peer.flags.contains(Flags::ACK) {
        // RFC 3168, section 6.1.1: a SYN-ACK accepts by ECE alone.
        peer.flags.contains(Flags::ECE) && !peer.flags.contains(Flags::CWR)
    } else {
        peer.flags.contains(Flags::ECE.with(Flags::CWR))
    };
    let options = Options {
        sack: config.sack && theirs.sack_permitted,
        timestamps,
        ecn: if has_ecn { config.ecn } else { Ecn::Off },
        scaling: theirs.window_scale.is_some(),
    };
    (options, payload(config.offered_segment(), options).min(peer_takes(peer, options)))
}

/// Payload of the largest segment that the peer takes, whatever this end can send.
pub fn peer_takes(peer: &Segment, options: Options) -> u32 {
    payload(peer.syn.unwrap_or_default().mss.map_or(MSS_DEFAULT, u32::from), options)
}

/// Payload of a segment that has this many bytes without options.
pub fn payload(bytes: u32, options: Options) -> u32 {
    bytes.saturating_sub(if options.timestamps { TIMESTAMPS_BYTES } else { 0 }).max(MSS_MIN)
}

/// Whether it is the SYN of a peer: number 0 of its stream.
pub fn is_first_syn(segment: &Segment) -> bool {
    segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::RST) && segment.sequence == 0
}

/// What both ends have agreed on who begin without a handshake.
pub fn agreed_without_handshake(config: &Config) -> Options {
    Options { sack: config.sack, timestamps: config.timestamps, ecn: config.ecn, scaling: true }
}

/// The timer of a SYN or SYN-ACK.
#[derive(Debug, Clone, Default)]
pub struct Handshake {
    timer: Option<Instant>,
    /// When it was first sent, while it was sent once: the round-trip time of one that was retransmitted is unknown (Karn).
    sent_at: Option<Instant>,
    /// How often it was sent, and how often the timer has expired: a peer that repeats its SYN makes neither the timeout
    /// longer nor the handshake end sooner.
    sent: u32,
    timeouts: u32,
    is_due: bool,
}

impl Handshake {
    /// Sends it now for the first time.
    pub fn start(&mut self) {
        *self = Handshake { is_due: true, ..Handshake::default() };
    }

    /// Retransmits it without waiting for the timer.
    pub fn repeat(&mut self) {
        self.is_due = true;
    }

    /// It is acknowledged.
    pub fn stop(&mut self) {
        self.timer = None;
        self.is_due = false;
    }

    /// Whether it is to be sent now.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// How often it was retransmitted.
    pub fn retries(&self) -> u32 {
        self.sent.saturating_sub(1)
    }

    /// It leaves now. The timeout doubles each time (RFC 6298, section 5.5).
    pub fn handle_sent(&mut self, now: Instant, config: &Config) {
        self.is_due = false;
        self.sent_at = if self.sent == 0 { Some(now) } else { None };
        let timeout =
            Nanos(config.rto_initial.0.saturating_mul(1 << self.timeouts.min(30))).min(config.rto_max);
        self.timer = Some(now + timeout.max(Nanos(1)));
        self.sent = self.sent.saturating_add(1);
    }

    /// Round-trip time, if it was sent once and is acknowledged now.
    pub fn rtt(&self, now: Instant) -> Option<Nanos> {
        self.sent_at.map(|sent_at| now.since(sent_at))
    }

    /// When it is retransmitted.
    pub fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Retransmits it, if it is time. Returns whether it was sent often enough to give up.
    pub fn handle_timeout(&mut self, now: Instant, is_answer: bool) -> bool {
        if self.timer.is_none_or(|timer| timer > now) {
            return false;
        }
        self.timer = None;
        let retries_max = if is_answer { SYN_ACK_RETRIES } else { SYN_RETRIES };
        if self.timeouts >= retries_max {
            return true;
        }
        self.timeouts += 1;
        self.is_due = true;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syn(mss: Option<u16>) -> Segment {
        let syn = Some(SynOptions { mss, sack_permitted: true, window_scale: Some(7) });
        Segment { flags: Flags::SYN, syn, ..Segment::default() }
    }

    /// RFC 9293, section 3.7.1: the option counts neither for the largest segment that is announced nor for that of the
    /// peer, but takes room in each segment.
    #[test]
    fn timestamps_take_room_in_each_segment() {
        let config = Config { mss: 1_448, timestamps: true, ..Config::default() };
        assert_eq!(offer(&config).mss, Some(1_460));
        let with = Segment { timestamps: Some(Default::default()), ..syn(Some(1_000)) };
        assert_eq!(agree(&config, &with).1, 988);
        assert_eq!(agree(&config, &syn(Some(1_000))).1, 1_000);
        assert_eq!(agree(&config, &syn(Some(9_000))).1, 1_460, "without the option there is more room");
        assert_eq!(agree(&config, &syn(None)).1, 536);
        assert!(agree(&config, &syn(Some(0))).1 > 0);
    }

    /// RFC 3168, section 6.1.1.
    #[test]
    fn ecn_needs_both_bits_of_a_syn_and_one_of_a_syn_ack() {
        let config = Config { ecn: Ecn::Classic, ..Config::default() };
        let agreed = |flags| agree(&config, &Segment { flags, ..syn(None) }).0.ecn;
        assert_eq!(agreed(Flags::SYN), Ecn::Off);
        assert_eq!(agreed(Flags::SYN.with(Flags::ECE)), Ecn::Off);
        assert_eq!(agreed(Flags::SYN.with(Flags::ECE).with(Flags::CWR)), Ecn::Classic);
        assert_eq!(agreed(Flags::SYN.with(Flags::ACK).with(Flags::ECE)), Ecn::Classic);
        assert_eq!(agreed(Flags::SYN.with(Flags::ACK).with(Flags::ECE).with(Flags::CWR)), Ecn::Off);
    }

    /// RFC 6298, section 5.5, from 1 s.
    #[test]
    fn a_syn_is_sent_again_after_1_3_7_15_31_and_63_seconds() {
        let config = Config::default();
        let mut handshake = Handshake::default();
        handshake.start();
        let mut now = Instant(0);
        for seconds in [1, 3, 7, 15, 31, 63, 127] {
            assert!(handshake.is_due());
            handshake.handle_sent(now, &config);
            now = Instant(seconds * 1_000_000_000);
            assert_eq!(handshake.timer(), Some(now));
            let gives_up = handshake.handle_timeout(now, false);
            assert_eq!(gives_up, seconds == 127);
        }
    }
}
