//! How a host receives: frames wait until its stack runs, which then takes all that have arrived and joins what belongs
//! together.

use super::packets::Packet;
use linkmend_transport::tcp::{Flags, Segment};

/// Most bytes that receive offload joins: an IP packet's length has 16 bits.
const JOINED_BYTES_MAX: u32 = 65_160;

/// Packets of one flow that the stack takes at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Joined {
    /// The end of a flow that receives them.
    pub(crate) endpoint: u32,
    pub(crate) packet: Packet,
    /// Whether a switch has marked them.
    pub(crate) marked: bool,
    /// Whether nothing may follow: a segment shorter than those before it, or with PSH, ends what is joined.
    complete: bool,
    /// Length of the first segment.
    segment_bytes: u32,
}

impl Joined {
    pub(crate) fn new(endpoint: u32, packet: Packet, marked: bool) -> Joined {
        let (segment_bytes, complete) = match &packet {
            Packet::Tcp(segment) => {
                (segment.length, !is_plain(segment) || segment.flags.contains(Flags::PSH))
            }
            Packet::Roce(_) | Packet::Other(_) => (0, true),
        };
        Joined { endpoint, packet, marked, complete, segment_bytes }
    }

    /// Joins the next packet, if it is the next piece of the same stream and says nothing else. Whether it did.
    pub(crate) fn join(&mut self, endpoint: u32, packet: &Packet, marked: bool) -> bool {
        let (Packet::Tcp(joined), Packet::Tcp(next)) = (&mut self.packet, packet) else { return false };
        let follows = endpoint == self.endpoint
            && !self.complete
            && marked == self.marked
            && is_plain(next)
            && next.sequence == joined.end()
            && next.acknowledgement == joined.acknowledgement
            && next.window == joined.window
            && next.codepoint == joined.codepoint
            && next.timestamps.map(|stamps| stamps.echo) == joined.timestamps.map(|stamps| stamps.echo)
            && next.length <= self.segment_bytes
            && joined.length + next.length <= JOINED_BYTES_MAX;
        if !follows {
            return false;
        }
        joined.length += next.length;
        joined.timestamps = next.timestamps;
        self.complete = next.length < self.segment_bytes || next.flags.contains(Flags::PSH);
        joined.flags.insert(Flags(next.flags.0 & Flags::PSH.0));
        true
    }
}

/// Whether a segment carries data, a cumulative acknowledgement, and nothing else.
fn is_plain(segment: &Segment) -> bool {
    let others = segment.flags.0 & !Flags::PSH.0;
    others == Flags::ACK.0 && segment.length > 0 && segment.sack.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(sequence: u64, length: u32) -> Packet {
        Packet::Tcp(Segment { sequence, length, flags: Flags::ACK, ..Default::default() })
    }

    #[test]
    fn segments_in_a_row_are_joined_until_one_is_shorter() {
        let mut joined = Joined::new(3, data(1, 1_000), false);
        assert!(joined.join(3, &data(1_001, 1_000), false));
        assert!(!joined.join(3, &data(3_001, 1_000), false), "a hole");
        assert!(!joined.join(5, &data(2_001, 1_000), false), "another flow");
        assert!(!joined.join(3, &data(2_001, 1_000), true), "a mark must be counted for its own bytes");
        assert!(joined.join(3, &data(2_001, 400), false));
        assert!(!joined.join(3, &data(2_401, 400), false), "a short segment is the last");
        let Packet::Tcp(segment) = joined.packet else { panic!("still a segment") };
        assert_eq!((segment.sequence, segment.length), (1, 2_400));
    }

    #[test]
    fn acknowledgements_are_never_joined() {
        let mut joined = Joined::new(3, data(1, 0), false);
        assert!(!joined.join(3, &data(1, 0), false));
    }
}
