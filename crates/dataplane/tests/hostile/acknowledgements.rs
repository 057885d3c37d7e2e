//! Acknowledgements that a stranger who hears the link forges on protected frames.

use crate::rules::{Case, Stranger};
use crate::world::{START_NS, open_ends};
use linkmend_dataplane::bench::{BenchedEnd, Side};
use linkmend_protocol::wire::{LinkFrame, TAG_BYTES, encapsulate, ethertype, parse};
use linkmend_protocol::{DataHeader, Format, Mode, PiggybackAck, SequenceNumber};

const STEP_NS: u64 = 100_000;

/// One round of each end; the link carries frames both ways, or nothing.
fn round(ends: &mut [BenchedEnd; 2], now_ns: &mut u64, carries: bool) -> Vec<Vec<u8>> {
    let (mut sent, mut frame) = (Vec::new(), Vec::new());
    *now_ns += STEP_NS;
    for end in 0..2 {
        ends[end].round(*now_ns);
        while ends[end].depart(Side::Link, &mut frame) {
            if carries {
                assert!(ends[1 - end].arrive(Side::Link, &frame), "the port has room");
            } else if end == 0 {
                sent.push(frame.clone());
            }
        }
    }
    sent
}

fn of_host(number: u8) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend(ethertype::IPV4.to_be_bytes());
    frame.resize(200, number);
    frame
}

/// A protected frame with an acknowledgement of everything before `next`, and some tag.
fn forged(next: SequenceNumber) -> Vec<u8> {
    let ack = Some(PiggybackAck { mode: Mode::Ordered, next });
    let header = DataHeader { sequence: next, mode: Mode::Ordered, retransmitted: false, ack };
    let host = of_host(0);
    let header = encapsulate(Format::Transparent, &header, &host).expect("a header");
    [&host[..12], header.bytes(), &[7; TAG_BYTES], &host[14..]].concat()
}

/// An end whose peer does not protect has no session by which to judge such a frame, and used to believe its acknowledgement:
/// it then no longer had the frames that the link had lost.
#[test]
fn they_are_not_believed_where_the_frame_cannot_be_judged() {
    let case = Case { has_key: true, stranger: Stranger::Hears, protects: [true, false] };
    let (mut ends, mut now_ns) = (open_ends(case, 1), START_NS);
    for _ in 0..1_000 {
        round(&mut ends, &mut now_ns, true);
    }
    assert!(ends[0].is_open(true, false));
    for number in 0..10 {
        assert!(ends[0].arrive(Side::Inner, &of_host(number)), "the port has room");
    }
    let lost = round(&mut ends, &mut now_ns, false);
    let mut numbers = lost.iter().filter_map(|frame| match parse(frame) {
        LinkFrame::Data { header, .. } => Some(header.sequence),
        _ => None,
    });
    let last = numbers.next_back().expect("protected frames");
    let held = ends[0].report().tx_buffer.now;
    assert!(held > 0);
    assert!(ends[0].arrive(Side::Link, &forged(last.plus(1))), "the port has room");
    round(&mut ends, &mut now_ns, false);
    assert_eq!(ends[0].report().tx_buffer.now, held, "nobody has received them");
}
