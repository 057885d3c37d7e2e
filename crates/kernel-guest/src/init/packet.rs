//! IPv4 packets with TCP segments, as far as records need them.

use linkmend_kernel_guest::record::Frame;

const TCP: u8 = 6;
const SYN: u8 = 0x02;
/// Kinds of TCP options.
const END_OF_LIST: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;

/// Initial sequence numbers of both streams, once seen.
#[derive(Debug, Default)]
pub struct Streams([Option<u32>; 2]);

impl Streams {
    /// What a packet from this host says; `None` if it is not TCP over IPv4.
    pub fn frame(&mut self, at_ns: u64, from: u8, packet: &[u8]) -> Option<Frame> {
        let first = *packet.first()?;
        if first >> 4 != 4 || *packet.get(9)? != TCP {
            return None;
        }
        let total = usize::from(u16::from_be_bytes(packet.get(2..4)?.try_into().ok()?));
        let segment = packet.get(usize::from(first & 0xf) * 4..total)?;
        let number = |at: usize| Some(u32::from_be_bytes(segment.get(at..at + 4)?.try_into().ok()?));
        let header = usize::from(segment.get(12)? >> 4) * 4;
        let flags = *segment.get(13)?;
        let sequence = number(4)?;
        if flags & SYN != 0 {
            self.0[usize::from(from)] = Some(sequence);
        }
        let relative =
            |of: u8, number: u32| self.0[usize::from(of)].map_or(0, |first| number.wrapping_sub(first));
        Some(Frame {
            at_ns,
            from,
            is_lost: false,
            flags,
            sequence: relative(from, sequence),
            acknowledgement: relative(1 - from, number(8)?),
            bytes: (segment.len() - header.min(segment.len())) as u32,
            sacks: sack_blocks(segment.get(20..header)?),
        })
    }
}

fn sack_blocks(mut options: &[u8]) -> u8 {
    loop {
        match *options {
            [NO_OPERATION, ref rest @ ..] => options = rest,
            [] | [END_OF_LIST, ..] => return 0,
            [SACK, length, ..] => return length / 8,
            [_, length, ..] => match options.get(usize::from(length).max(2)..) {
                Some(rest) => options = rest,
                None => return 0,
            },
            [_] => return 0,
        }
    }
}
