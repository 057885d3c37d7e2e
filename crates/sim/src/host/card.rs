//! A host's network card: it takes packets from the ends of flows in turns, splits them into frames, and sends them at the
//! rate of its port.

use super::packets::Packet;
use linkmend_transport::tcp::Segment;
use std::collections::VecDeque;

/// What a card is sending: the rest of a segment that is split, one frame at a time.
#[derive(Debug, Clone, Copy)]
struct Splitting {
    endpoint: u32,
    rest: Segment,
    mss: u32,
}

/// A host's card.
#[derive(Debug, Default)]
pub(crate) struct Card {
    /// What goes before new packets, each with the end that sends it: acknowledgements that the stack has made, and copies.
    pub(crate) queued: VecDeque<(u32, Packet)>,
    /// Ends of flows that may have something to send, each once.
    pub(crate) ready: VecDeque<u32>,
    splitting: Option<Splitting>,
}

impl Card {
    /// Takes a packet of `endpoint`; returns the first frame's, and keeps the others.
    pub(crate) fn begin(&mut self, endpoint: u32, packet: Packet, mss: u32) -> Packet {
        match packet {
            Packet::Tcp(segment) if segment.length > mss => {
                let (first, rest) = cut(segment, mss);
                self.splitting = Some(Splitting { endpoint, rest, mss });
                Packet::Tcp(first)
            }
            other => other,
        }
    }

    /// The next frame of the packet that is being split.
    pub(crate) fn next_piece(&mut self) -> Option<(u32, Packet)> {
        let splitting = self.splitting?;
        let Splitting { endpoint, rest, mss } = splitting;
        if rest.length <= mss {
            self.splitting = None;
            return Some((endpoint, Packet::Tcp(rest)));
        }
        let (piece, rest) = cut(rest, mss);
        self.splitting = Some(Splitting { rest, ..splitting });
        Some((endpoint, Packet::Tcp(piece)))
    }
}

/// The first `mss` bytes of a longer segment, and the rest.
fn cut(segment: Segment, mss: u32) -> (Segment, Segment) {
    use linkmend_transport::tcp::Flags;
    let mut first = Segment { length: mss, ..segment };
    first.flags.remove(Flags::PSH);
    first.flags.remove(Flags::FIN);
    let mut rest =
        Segment { sequence: segment.sequence + u64::from(mss), length: segment.length - mss, ..segment };
    rest.flags.remove(Flags::CWR);
    (first, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_transport::tcp::Flags;

    #[test]
    fn a_long_segment_leaves_as_the_frames_that_offload_makes_of_it() {
        let segment = Segment {
            sequence: 1,
            length: 3_000,
            flags: Flags::ACK.with(Flags::PSH).with(Flags::CWR),
            ..Default::default()
        };
        let mut card = Card::default();
        let mut frames = vec![card.begin(7, Packet::Tcp(segment), 1_448)];
        while let Some((endpoint, packet)) = card.next_piece() {
            assert_eq!(endpoint, 7);
            frames.push(packet);
        }
        let expected: Vec<Packet> = segment.split(1_448).map(Packet::Tcp).collect();
        assert_eq!(frames, expected);
    }
}
