//! What a connection sends, and in which order.

use super::{Connection, Reset, State, handshake};
use crate::tcp::config::Ecn;
use crate::tcp::receiver::clock;
use crate::tcp::segment::{Flags, Segment, Timestamps};
use crate::tcp::sender::Outgoing;
use crate::time::Instant;

impl Connection {
    /// The next segment to send now, until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if let Some(reset) = self.reset.take() {
            let mut segment = reset_segment(reset);
            // RFC 7323, section 3.2: also a RST should have the option; one that answers a foreign segment has the number 0,
            // or no acknowledgement.
            if reset.sequence > 0 && reset.acknowledgement.is_some() {
                segment.timestamps = self.receiver.timestamps(now);
            }
            return Some(segment);
        }
        match self.state {
            State::Closed | State::Listen => return None,
            State::SynSent | State::SynReceived => return self.poll_syn(now),
            _ => (),
        }
        if self.receiver.has_prior_ack() {
            let mut segment = Segment { sequence: self.sender.next(), ..Segment::default() };
            self.receiver.fill_prior(now, &mut segment);
            return Some(segment);
        }
        if let Some(segment) = self.poll_data(now) {
            return Some(segment);
        }
        if self.persist.take_due() {
            if !self.is_queue_full {
                return Some(self.probe(now));
            }
            self.persist.handle_not_sent(now);
        }
        if self.receiver.ack_due() {
            return Some(self.acknowledgement(now, self.sender.next()));
        }
        None
    }

    /// A SYN, or a SYN-ACK.
    fn poll_syn(&mut self, now: Instant) -> Option<Segment> {
        if !self.handshake.is_due() {
            return None;
        }
        let is_first = self.handshake.retries() == 0 && self.handshake.rtt(now).is_none();
        self.handshake.handle_sent(now, &self.config);
        let mut segment = Segment {
            flags: Flags::SYN,
            window: self.receiver.syn_window(),
            syn: Some(handshake::offer(&self.config)),
            ..Segment::default()
        };
        let Some(options) = self.options else {
            // RFC 3168, section 6.1.1.1: a SYN that is retransmitted asks for no ECN, which may be why it was lost.
            if self.config.ecn != Ecn::Off && is_first {
                segment.flags.insert(Flags::ECE.with(Flags::CWR));
            }
            if self.config.timestamps {
                segment.timestamps = Some(Timestamps { value: clock(now), echo: 0 });
            }
            return Some(segment);
        };
        segment.flags.insert(Flags::ACK);
        segment.acknowledgement = self.receiver.next();
        segment.timestamps = self.receiver.timestamps(now);
        if options.ecn != Ecn::Off {
            segment.flags.insert(Flags::ECE);
        }
        segment.syn = segment.syn.map(|mut syn| {
            syn.sack_permitted = options.sack;
            syn.window_scale = syn.window_scale.filter(|_| options.scaling);
            syn
        });
        Some(segment)
    }

    /// Data, which carries an acknowledgement.
    fn poll_data(&mut self, now: Instant) -> Option<Segment> {
        let Some(outgoing) = self.sender.poll(now) else {
            self.sender.note_limit(now);
            if self.sender.waits_for_window() {
                self.persist.start(now, self.sender.timeout(), self.config.rto_max);
            }
            return None;
        };
        if self.persist.timer().is_some() {
            self.persist.stop();
        }
        Some(self.data_segment(now, &outgoing))
    }

    fn data_segment(&mut self, now: Instant, outgoing: &Outgoing) -> Segment {
        let mut segment = Segment {
            sequence: outgoing.sequence,
            length: outgoing.length,
            flags: outgoing.flags,
            codepoint: outgoing.codepoint,
            longest: if self.config.path_probing.is_some() { outgoing.segment as u16 } else { 0 },
            ..Segment::default()
        };
        self.receiver.fill(now, &mut segment);
        if !outgoing.is_retransmission {
            self.receiver.handle_data_sent(now);
        }
        segment
    }

    fn acknowledgement(&mut self, now: Instant, sequence: u64) -> Segment {
        let mut segment = Segment { sequence, ..Segment::default() };
        self.receiver.fill(now, &mut segment);
        segment
    }

    /// A probe of a closed window. If there is a little room in it, it is used; otherwise the probe has an old number, so
    /// that the peer answers it, and no data (as in Linux).
    fn probe(&mut self, now: Instant) -> Segment {
        if let Some(outgoing) = self.sender.poll_partial(now) {
            return self.data_segment(now, &outgoing);
        }
        self.acknowledgement(now, self.sender.unacknowledged().saturating_sub(1))
    }
}

fn reset_segment(reset: Reset) -> Segment {
    let flags = if reset.acknowledgement.is_some() { Flags::RST.with(Flags::ACK) } else { Flags::RST };
    let acknowledgement = reset.acknowledgement.unwrap_or(0);
    Segment { sequence: reset.sequence, acknowledgement, flags, ..Segment::default() }
}
