//! Who is believed, and who is not.

use super::*;
use crate::config::Format;
use crate::sequence::SequenceNumber;
use crate::wire::{
    CONTROL_FRAME_MAX, FRAME_BYTES_MIN_IN_MEMORY, LinkFrame, control_end, emit_sealed, encapsulate, parse,
};
use proptest::prelude::*;
use std::string::ToString;
use std::vec::Vec;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn key() -> LinkKey {
    KEY.parse().expect("a key")
}

fn hello(from: u64, to: u64) -> Control {
    Control::Hello { nonce: from, echo: to }
}

fn fin(session: u32) -> Control {
    Control::Fin { session: SessionNumber(session) }
}

fn emit(seal: &mut Seal, control: &Control) -> Vec<u8> {
    let mut out = [0xff; CONTROL_FRAME_MAX];
    let length = emit_sealed(control, MAC, &mut out, seal).expect("it can be sealed");
    out[..length].to_vec()
}

fn open(seal: &mut Seal, frame: &[u8]) -> Genuineness {
    let LinkFrame::Control(control) = parse(frame) else { panic!("{frame:x?}") };
    let genuineness = seal.open_control(&control, frame, control_end(frame).expect("control"));
    if let (Genuineness::Genuine, Control::Hello { nonce, echo }) = (genuineness, control) {
        seal.meet(nonce, echo);
    }
    genuineness
}

/// Two ends that have met.
fn met() -> [Seal; 2] {
    let mut ends = [Seal::new(key(), 1), Seal::new(key(), 2)];
    let first = emit(&mut ends[0], &hello(1, 0));
    assert_eq!(open(&mut ends[1], &first), Genuineness::Genuine);
    let answer = emit(&mut ends[1], &hello(2, 1));
    assert_eq!(open(&mut ends[0], &answer), Genuineness::Genuine);
    let third = emit(&mut ends[0], &hello(1, 2));
    assert_eq!(open(&mut ends[1], &third), Genuineness::Genuine);
    ends
}

/// The vector of the authors of SipHash (Aumasson, Bernstein 2012, appendix A), whose key this is.
#[test]
fn tags_are_siphash_2_4() {
    let message: Vec<u8> = (0..15).collect();
    assert_eq!(key().tag(&message), 0xa129_ca61_49be_45e5);
}

#[test]
fn only_a_random_key_of_32_digits_is_one() {
    for (text, error) in [
        ("", "32 hexadecimal digits, not 0 characters"),
        (&KEY[1..], "not 31 characters"),
        ("000102030405060708090a0b0c0d0e0g", "32 hexadecimal digits"),
        ("äääääääääääääääääääääääääääääääää", "32 hexadecimal digits"),
        ("ffffffffffffffffffffffffffffffff", "are the same"),
    ] {
        let said = text.parse::<LinkKey>().expect_err("no key").to_string();
        assert!(said.contains(error), "{text}: {said}");
    }
    assert_eq!(std::format!("{:?}", key()), "LinkKey(secret)");
    assert_eq!(std::format!(" {}\n", KEY.to_uppercase()).parse(), Ok(key()));
}

#[test]
fn nothing_but_a_hello_leaves_before_the_peer_is_met() {
    let mut end = Seal::new(key(), 1);
    let mut out = [0; CONTROL_FRAME_MAX];
    assert_eq!(emit_sealed(&fin(7), MAC, &mut out, &mut end), None);
    assert!(emit_sealed(&hello(1, 0), MAC, &mut out, &mut end).is_some());
    let [mut a, mut b] = met();
    let frame = emit(&mut a, &fin(7));
    assert_eq!(open(&mut b, &frame), Genuineness::Genuine);
    assert_eq!(open(&mut Seal::new(key(), 2), &frame), Genuineness::Refused);
}

#[test]
fn a_frame_is_believed_once_in_its_direction_and_however_late_within_the_window() {
    let [mut a, mut b] = met();
    let frames: Vec<Vec<u8>> = (0..WINDOW as u32 + 10).map(|session| emit(&mut a, &fin(session))).collect();
    for frame in [&frames[5], &frames[9], &frames[0], &frames[1_000]] {
        assert_eq!(open(&mut b, frame), Genuineness::Genuine);
        assert_eq!(open(&mut b, frame), Genuineness::Refused, "again");
        assert_eq!(open(&mut a, frame), Genuineness::Refused, "reflected");
    }
    assert_eq!(open(&mut b, &frames[WINDOW as usize + 9]), Genuineness::Genuine);
    assert_eq!(open(&mut b, &frames[3]), Genuineness::Refused, "too late to tell");
    assert_eq!(open(&mut b, &frames[20]), Genuineness::Genuine);
}

#[test]
fn frames_of_an_earlier_start_are_not_believed_nor_do_their_hellos_bring_it_back() {
    let [mut a, mut b] = met();
    let recorded = [emit(&mut b, &hello(2, 1)), emit(&mut b, &fin(7))];
    let mut again = Seal::new(key(), 3);
    for (from, to, control) in [(0, 1, hello(3, 0)), (1, 0, hello(1, 3)), (0, 1, hello(3, 1))] {
        let ends: [&mut Seal; 2] = [&mut again, &mut a];
        let frame = emit(ends[from], &control);
        let ends: [&mut Seal; 2] = [&mut again, &mut a];
        assert_eq!(open(ends[to], &frame), Genuineness::Genuine, "{control:?}");
    }
    for frame in &recorded {
        assert_eq!(open(&mut a, frame), Genuineness::Refused);
    }
    // To an end that never met it, it may be a new one; but it does not hear this end.
    assert_eq!(open(&mut again, &recorded[0]), Genuineness::Genuine);
    assert_eq!(open(&mut again, &recorded[1]), Genuineness::Refused);
    assert_eq!(again.peer.as_ref().map(|peer| peer.nonce), Some(1));
    let frame = emit(&mut again, &fin(9));
    assert_eq!(open(&mut a, &frame), Genuineness::Genuine);
    // The end that went on restarts, too.
    let mut a = Seal::new(key(), 4);
    let meets = |seal: &mut Seal, frame: &[u8]| {
        open(seal, frame);
        seal.peer.is_some()
    };
    assert!(!meets(&mut a, &recorded[0]), "it repeats another nonce");
}

/// Somebody holds back all that an end says to the one whose hello it has heard, until that end has restarted.
#[test]
fn a_hello_that_never_arrived_does_not_bring_an_earlier_start_back() {
    let mut a = Seal::new(key(), 1);
    let mut b = Seal::new(key(), 2);
    let first = emit(&mut a, &hello(1, 0));
    assert_eq!(open(&mut b, &first), Genuineness::Genuine);
    let held_back = [emit(&mut b, &hello(2, 1)), emit(&mut b, &hello(2, 1))];
    let mut again = Seal::new(key(), 3);
    let mut meet_again = |a: &mut Seal| {
        let question = emit(&mut again, &hello(3, 0));
        open(a, &question);
        let answer = emit(a, &hello(1, 3));
        assert_eq!(open(&mut again, &answer), Genuineness::Genuine);
        let proof = emit(&mut again, &hello(3, 1));
        assert_eq!(open(a, &proof), Genuineness::Genuine);
        assert_eq!(a.peer.as_ref().map(|peer| peer.nonce), Some(3));
        emit(&mut again, &fin(7))
    };
    let frame = meet_again(&mut a);
    assert_eq!(open(&mut a, &held_back[0]), Genuineness::Refused);
    assert_eq!(open(&mut a, &frame), Genuineness::Genuine);
    // It may come first, and lasts until the next hello of the end that is there.
    let mut a = Seal::new(key(), 1);
    emit(&mut a, &hello(1, 0));
    assert_eq!(open(&mut a, &held_back[1]), Genuineness::Genuine);
    let mut again = Seal::new(key(), 3);
    for (from_a, control) in
        [(true, hello(1, 2)), (false, hello(3, 0)), (true, hello(1, 3)), (false, hello(3, 1))]
    {
        let (writer, reader) = if from_a { (&mut a, &mut again) } else { (&mut again, &mut a) };
        let frame = emit(writer, &control);
        assert_eq!(open(reader, &frame), Genuineness::Genuine, "{control:?}");
    }
    assert_eq!(a.peer.as_ref().map(|peer| peer.nonce), Some(3));
}

#[test]
fn ends_without_a_key_and_with_another_are_told_apart() {
    let mut end = Seal::new(key(), 1);
    let mut plain = [0; CONTROL_FRAME_MAX];
    let length = crate::wire::emit_control(&hello(2, 1), MAC, &mut plain);
    assert_eq!(open(&mut end, &plain[..length]), Genuineness::Keyless);
    let other = "00112233445566778899aabbccddeeff".parse().expect("a key");
    let foreign = emit(&mut Seal::new(other, 2), &hello(2, 1));
    assert_eq!(open(&mut end, &foreign), Genuineness::OtherKey);
    assert!(is_sealed(&foreign, control_end(&foreign).expect("control")));
    assert!(!is_sealed(&plain[..length], control_end(&plain[..length]).expect("control")));
}

fn header() -> impl Strategy<Value = DataHeader> {
    let lane = || any::<bool>().prop_map(|ordered| if ordered { Mode::Ordered } else { Mode::NonBlocking });
    let sequence = || any::<(u16, bool)>().prop_map(|(number, era)| SequenceNumber::new(number, era));
    let ack = proptest::option::of((lane(), sequence()).prop_map(|(mode, next)| PiggybackAck { mode, next }));
    (sequence(), lane(), ack).prop_map(|(sequence, mode, ack)| DataHeader {
        sequence,
        mode,
        retransmitted: false,
        ack,
    })
}

proptest! {
    #[test]
    fn no_changed_bit_of_a_control_frame_is_believed(session in any::<u32>(), bit in 0_usize..8 * 76) {
        let [mut a, mut b] = met();
        let mut frame = emit(&mut a, &fin(session));
        let end = control_end(&frame).expect("control") + CONTROL_SEAL_BYTES;
        prop_assert!(end <= frame.len() && frame.len() >= FRAME_BYTES_MIN_IN_MEMORY);
        let bit = bit % (8 * end);
        frame[bit / 8] ^= 1 << (bit % 8);
        if let LinkFrame::Control(control) = parse(&frame) && let Some(at) = control_end(&frame) {
            prop_assert_ne!(b.open_control(&control, &frame, at), Genuineness::Genuine);
        }
    }

    #[test]
    fn a_tag_covers_number_session_header_addresses_ethertype_and_length(
        header in header(),
        ethertype in any::<u16>(),
        (session, number, link_bytes) in any::<(u32, u64, u32)>(),
        addresses in any::<[u8; 12]>(),
    ) {
        let [a, b] = met();
        let tagged = |header| Tagged {
            session: SessionNumber(session),
            number,
            header: TaggedHeader::Data(header),
            addresses: &addresses,
            ethertype,
            link_bytes,
        };
        let frame = [&addresses[..], &ethertype.to_be_bytes(), &[9; 50]].concat();
        let mut encapsulation = encapsulate(Format::Transparent, &header, &frame).expect("it can be wrapped");
        a.close(&tagged(header), &mut encapsulation).expect("they have met");
        let removes = usize::from(encapsulation.removes);
        let mut wrapped =
            [&frame[..12], encapsulation.bytes(), &frame[12 + removes..]].concat();
        for retransmitted in [false, true] {
            if retransmitted {
                crate::wire::mark_retransmitted(&mut wrapped);
            }
            let LinkFrame::Data { header: parsed, decapsulation } = parse(&wrapped) else { panic!("not data") };
            let (tag, decapsulation) = without_tag(&wrapped, decapsulation).expect("it has one");
            prop_assert!(b.opens(&tagged(parsed), tag));
            prop_assert!(!a.opens(&tagged(parsed), tag), "reflected");
            prop_assert_eq!(decapsulation.shrinkage(), encapsulation.growth());
            let mut other = addresses;
            other[7] ^= 1;
            let ack = PiggybackAck { mode: Mode::Ordered, next: SequenceNumber::new(1, true) };
            let mode = if header.mode == Mode::Ordered { Mode::NonBlocking } else { Mode::Ordered };
            let changed = [
                Tagged { session: SessionNumber(session ^ 1), ..tagged(parsed) },
                // A number that looks the same in the header.
                Tagged { number: number ^ 1 << 17, ..tagged(parsed) },
                Tagged { ethertype: ethertype ^ 1, ..tagged(parsed) },
                Tagged { link_bytes: link_bytes ^ 1, ..tagged(parsed) },
                Tagged { addresses: &other, ..tagged(parsed) },
                tagged(DataHeader { mode, ..parsed }),
                Tagged { header: TaggedHeader::Ack(ack), ..tagged(parsed) },
            ];
            for changed in changed {
                prop_assert!(!b.opens(&changed, tag), "{:?}", changed);
            }
        }
    }
}

#[test]
fn a_window_takes_each_counter_once_as_a_set_would() {
    let mut window = Window::default();
    let mut taken = std::collections::BTreeSet::new();
    let mut state = 1_u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        let highest = taken.last().copied().unwrap_or(0);
        let jump = if state >> 60 == 0 { 3 * WINDOW } else { 8 };
        let counter = (highest + (state >> 32) % jump).saturating_sub((state >> 20) % (2 * WINDOW));
        let expected = (taken.is_empty() || counter + WINDOW > highest) && taken.insert(counter);
        assert_eq!(window.accepts(counter), expected, "{counter}, highest {highest}");
    }
    assert!(!window.accepts(u64::MAX));
}
