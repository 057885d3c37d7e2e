//! Our headers in a host's frames, behind VLAN tags and where a tag was: what a host's VLAN device sends, without a kernel that
//! has them.

use crate::rules::{Case, Stranger};
use crate::world::{START_NS, open_ends};
use linkmend_dataplane::bench::Side;
use linkmend_protocol::wire::{MAGIC, ethertype};

const STEP_NS: u64 = 100_000;
/// No tag, one of either kind, and two.
const TAGS: [&[u8]; 4] = [
    &[],
    &[0x81, 0x00, 0x00, 0x07],
    &[0x88, 0xa8, 0x20, 0x07],
    &[0x88, 0xa8, 0x00, 0x07, 0x81, 0x00, 0x00, 0x08],
];

/// Each kind of header of ours, behind each kind of tags. Where a port takes the tag out, the frame is the one without a tag.
fn frames() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for own in [ethertype::TRANSPARENT, ethertype::COMPACT] {
        for first in 0..=u8::MAX {
            for magic in [&MAGIC[..], &[]] {
                for tags in TAGS {
                    let number = (frames.len() as u32).to_be_bytes();
                    let addresses = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
                    let mut frame = [&addresses, tags, &own.to_be_bytes(), &[first], magic].concat();
                    frame.resize(100, 0x45);
                    frame.extend(number);
                    frames.push(frame);
                }
            }
        }
    }
    frames
}

#[test]
fn a_tag_in_or_beside_a_hosts_frame_hides_no_header() {
    for protects in [[false; 2], [true; 2]] {
        let case = Case { has_key: false, stranger: Stranger::None, protects };
        let (mut ends, mut now_ns) = (open_ends(case, 1), START_NS);
        let mut delivered = Vec::new();
        let mut waiting = frames().into_iter();
        let mut buffer = Vec::new();
        // Sessions are open, and the ends know each other, after a second.
        for step in 0..20_000 {
            now_ns += STEP_NS;
            if step > 10_000
                && let Some(frame) = waiting.next()
            {
                assert!(ends[0].arrive(Side::Inner, &frame), "the port has room");
            }
            for end in 0..2 {
                ends[end].round(now_ns);
                while ends[end].depart(Side::Link, &mut buffer) {
                    assert!(ends[1 - end].arrive(Side::Link, &buffer), "the port has room");
                }
                while ends[end].depart(Side::Inner, &mut buffer) {
                    assert_eq!(end, 1, "nobody sends there: {buffer:02x?}");
                    delivered.push(buffer.clone());
                }
            }
        }
        assert_eq!(delivered.len(), frames().len());
        for (sent, received) in frames().iter().zip(&delivered) {
            assert_eq!(sent, received);
        }
        for end in &mut ends {
            assert!(end.is_open(protects[0], protects[1]));
            let counters = end.report().counters;
            let wrong = [counters.malformed_frames, counters.control_rejected, counters.lost_frames];
            assert_eq!(wrong, [0; 3], "{counters:?}");
        }
    }
}
