//! What a stranger on the link sends, and what it has heard.

use crate::hosts::{change, pick};
use crate::rules::Stranger;
use linkmend_protocol::wire::{CONTROL_FRAME_MAX, emit_control, ethertype};
use linkmend_protocol::{
    Control, Feedback, Format, LaneFeedback, LongSequenceNumber, Mode, PerMode, SequenceNumber,
    SequenceRange, SessionNumber,
};
use linkmend_random::Random;

/// Frames that are remembered: the latest, and as many of all times.
const LATEST: usize = 256;
const OLD: usize = 256;

/// What was heard at one place.
#[derive(Debug, Default)]
pub struct Memory {
    latest: Vec<Vec<u8>>,
    old: Vec<Vec<u8>>,
    count: usize,
}

impl Memory {
    pub fn hear(&mut self, random: &mut Random, frame: &[u8]) {
        let remember = |frames: &mut Vec<Vec<u8>>, at: usize| match frames.get_mut(at) {
            Some(place) => {
                place.clear();
                place.extend(frame);
            }
            None => frames.push(frame.to_vec()),
        };
        remember(&mut self.latest, self.count % LATEST);
        if self.old.len() < OLD || pick(random, 1_000) == 0 {
            let at = if self.old.len() < OLD { self.old.len() } else { pick(random, OLD as u64) as usize };
            remember(&mut self.old, at);
        }
        self.count += 1;
    }

    pub fn recall(&self, random: &mut Random) -> Option<&[u8]> {
        let frames = if pick(random, 4) == 0 { &self.old } else { &self.latest };
        (!frames.is_empty()).then(|| frames[pick(random, frames.len() as u64) as usize].as_slice())
    }
}

/// A frame of a stranger. `heard` is what arrived at either end.
pub fn frame(random: &mut Random, stranger: Stranger, heard: [&Memory; 2], out: &mut Vec<u8>) {
    out.clear();
    let recalled = heard[pick(random, 2) as usize].recall(random);
    match (stranger, recalled) {
        (Stranger::Hears, Some(frame)) if pick(random, 8) > 0 => {
            out.extend(frame);
            change(random, out);
        }
        (Stranger::Guesses | Stranger::Hears, _) if pick(random, 20) == 0 => guess(random, out),
        _ if pick(random, 4) == 0 => blind(random, out),
        _ => {
            let mut buffer = [0; CONTROL_FRAME_MAX];
            let length = emit_control(&forged(random), source(random), &mut buffer);
            out.extend(&buffer[..length]);
        }
    }
}

/// Its own address, or one that an end may have.
fn source(random: &mut Random) -> [u8; 6] {
    [2, 0, 0, 0, 0, pick(random, 64) as u8]
}

/// A frame for the hosts, or one with the authors' headers.
fn blind(random: &mut Random, out: &mut Vec<u8>) {
    let ethertypes = [ethertype::COMPACT, ethertype::COMPACT, ethertype::IPV4, ethertype::MAC_CONTROL];
    out.extend([0xff; 6]);
    out.extend(source(random));
    out.extend(ethertypes[pick(random, 4) as usize].to_be_bytes());
    for _ in 0..6 {
        out.extend(random.next_u64().to_be_bytes());
    }
}

/// A protected frame, or an acknowledgement on an unprotected one, of a number that it guesses.
fn guess(random: &mut Random, out: &mut Vec<u8>) {
    out.extend([0xff; 6]);
    out.extend(source(random));
    out.extend(ethertype::TRANSPARENT.to_be_bytes());
    let first = random.next_u64() as u8;
    out.push(if first >> 6 == 0b10 { first & 0b0011_1111 } else { first | 0b0010_0000 });
    for _ in 0..6 {
        out.extend(random.next_u64().to_be_bytes());
    }
}

fn sequence(random: &mut Random) -> SequenceNumber {
    SequenceNumber::new(random.next_u64() as u16, random.next_u64() & 1 == 0)
}

fn forged(random: &mut Random) -> Control {
    let session = SessionNumber(if pick(random, 8) == 0 { 0 } else { random.next_u64() as u32 });
    let format = if pick(random, 4) == 0 { Format::Compact } else { Format::Transparent };
    match pick(random, 10) {
        0 => Control::Hello { nonce: random.next_u64(), echo: random.next_u64() },
        1 => Control::OldHello,
        2 => Control::Init { session, format },
        3 => {
            let (nonce, window_frames) = (random.next_u64() as u32, random.next_u64() as u32);
            Control::InitEcho { session, nonce, window_frames, format }
        }
        4 => Control::Start { session, nonce: random.next_u64() as u32 },
        5 => Control::Fin { session },
        6 => Control::FinEcho { session },
        7 => {
            let mut lanes = || PerMode([0; 2].map(|_: u8| LongSequenceNumber(random.next_u64() as u32)));
            let (next, held_from) = (lanes(), lanes());
            Control::Dummy { session, stamp: random.next_u64() as u16, next, held_from }
        }
        8 => match pick(random, 3) {
            0 => Control::CompactAck { next: sequence(random) },
            1 => Control::CompactDummy { mode: Mode::Ordered, next: sequence(random) },
            _ => {
                let hole = SequenceRange { first: sequence(random), length: 3 };
                Control::CompactNotification { next: sequence(random), hole }
            }
        },
        _ => Control::Feedback(feedback(random, session)),
    }
}

fn feedback(random: &mut Random, session: SessionNumber) -> Feedback {
    let mut lane = || {
        let long = LongSequenceNumber(random.next_u64() as u32);
        let mut lane = LaneFeedback::new(long, sequence(random), true);
        lane.push_missing(SequenceRange { first: sequence(random), length: random.next_u64() as u16 | 1 });
        lane
    };
    let lanes = PerMode([lane(), lane()]);
    Feedback {
        session,
        number: random.next_u64() as u16,
        dummy_stamp: random.next_u64() as u16,
        lost_total: random.next_u64() as u32,
        rx_overflow_total: 0,
        lanes,
    }
}
