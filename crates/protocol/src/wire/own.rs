//! What happens to a host's unprotected frame whose EtherType is one of Linkmend's, so that the other end never
//! mistakes it for a frame of this end.

use super::{ETHERNET_HEADER_BYTES, Encapsulation, MAGIC, escape};

/// What is known of the other end of the link, as far as a host's frames of our EtherTypes depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherEnd {
    /// It removes escapes.
    Unescapes,
    /// It may mistake a host's frame for one of ours, and does not remove escapes: an end that may know this one
    /// already or still, or the authors' program.
    MayBelieve,
    /// It is not a link end, as far as can be told. Only frames with our magic could begin something there.
    Indifferent,
}

/// How a host's unprotected frame is to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// As it is.
    AsItIs,
    /// Behind an escape, which the other end removes.
    Escaped(Encapsulation),
    /// Not at all: it would be mistaken for a frame of this end.
    Never,
}

/// Decides how a host's unprotected frame of `bytes` is to leave on a link that takes `room` bytes. The first 18 bytes of
/// the frame suffice.
///
/// Whatever leaves is read by [`parse`](super::parse) as escaped or as foreign, or goes to an end that is
/// [`OtherEnd::Indifferent`], and is not a control frame with our magic then.
pub fn depart(frame: &[u8], bytes: usize, room: usize, other: OtherEnd) -> Departure {
    let Some(escape) = escape(frame) else { return Departure::AsItIs };
    let has_magic = frame.get(ETHERNET_HEADER_BYTES + 1..).is_some_and(|rest| rest.starts_with(&MAGIC));
    match other {
        OtherEnd::Unescapes if bytes + escape.growth() <= room => Departure::Escaped(escape),
        OtherEnd::Indifferent if !has_magic => Departure::AsItIs,
        OtherEnd::Unescapes | OtherEnd::MayBelieve | OtherEnd::Indifferent => Departure::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{
        ADDRESSES_BYTES, FRAME_BYTES_MIN_IN_MEMORY, LinkFrame, VLAN_TAG_BYTES, ethertype, parse, transparent,
    };
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    fn other() -> impl Strategy<Value = OtherEnd> {
        prop_oneof![Just(OtherEnd::Unescapes), Just(OtherEnd::MayBelieve), Just(OtherEnd::Indifferent)]
    }

    /// A host's frame: up to three tags, mostly our EtherTypes behind them, and often our magic where it would stand.
    fn frame() -> impl Strategy<Value = Vec<u8>> {
        let ethertype = prop_oneof![
            4 => Just(ethertype::TRANSPARENT),
            4 => Just(ethertype::COMPACT),
            1 => any::<u16>(),
            1 => Just(ethertype::IPV4),
        ];
        let tags = proptest::collection::vec((any::<bool>(), any::<u16>()), 0..=3);
        let lengths = prop_oneof![0_usize..64, 1_480_usize..1_530, 8_990_usize..9_030];
        (any::<[u8; 12]>(), tags, ethertype, any::<(u8, bool)>(), lengths, any::<u64>()).prop_map(
            |(addresses, tags, ethertype, (first, has_magic), length, seed)| {
                let mut frame = addresses.to_vec();
                for (service, tag) in tags {
                    let tpid = if service { ethertype::SERVICE_VLAN } else { ethertype::VLAN };
                    frame.extend([tpid.to_be_bytes(), tag.to_be_bytes()].concat());
                }
                frame.extend(ethertype.to_be_bytes());
                frame.push(first);
                if has_magic {
                    frame.extend(MAGIC);
                }
                let mut state = seed | 1;
                while frame.len() < length {
                    state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    frame.push((state >> 56) as u8);
                }
                frame.truncate(length.max(ETHERNET_HEADER_BYTES));
                frame
            },
        )
    }

    /// What the other end reads: the frame as a port sends it, padded.
    fn arrives(mut frame: Vec<u8>) -> (Vec<u8>, LinkFrame) {
        frame.resize(frame.len().max(FRAME_BYTES_MIN_IN_MEMORY), 0);
        let parsed = parse(&frame);
        (frame, parsed)
    }

    fn check(frame: &[u8], mtu: usize, other: OtherEnd) -> Result<(), TestCaseError> {
        let room = mtu + ETHERNET_HEADER_BYTES;
        let is_own = [[0x88, 0xb5], [0xab, 0xcd]].iter().any(|ethertype| frame[12..14] == *ethertype);
        let departure = depart(frame, frame.len(), room, other);
        prop_assert!(
            is_own || departure == Departure::AsItIs,
            "a frame of another EtherType is none of ours"
        );
        match departure {
            Departure::AsItIs => {
                let (_, parsed) = arrives(frame.to_vec());
                let is_harmless = match parsed {
                    LinkFrame::Foreign => true,
                    LinkFrame::Escaped(_) => false,
                    LinkFrame::Control(control) => other == OtherEnd::Indifferent && !control.has_magic(),
                    _ => other == OtherEnd::Indifferent,
                };
                prop_assert!(is_harmless, "{:?} to {:?}", parsed, other);
            }
            Departure::Escaped(escape) => {
                let wrapped = [&frame[..ADDRESSES_BYTES], escape.bytes(), &frame[ADDRESSES_BYTES..]].concat();
                prop_assert!(wrapped.len() <= room);
                let (wrapped, parsed) = arrives(wrapped);
                let LinkFrame::Escaped(decapsulation) = parsed else { panic!("{parsed:?}") };
                prop_assert_eq!(decapsulation.ethertype, None);
                let rest = &wrapped[ADDRESSES_BYTES + decapsulation.removes..];
                let restored = [&wrapped[..ADDRESSES_BYTES], rest].concat();
                prop_assert_eq!(&restored[..frame.len()], frame);
            }
            Departure::Never => prop_assert!(
                other != OtherEnd::Unescapes || frame.len() + escape_growth() > room,
                "it has room for an escape"
            ),
        }
        Ok(())
    }

    fn escape_growth() -> usize {
        transparent::escape().growth()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_096, ..ProptestConfig::default() })]

        #[test]
        fn no_frame_of_a_host_is_read_as_one_of_ours(frame in frame(), slack in -12_isize..=12, other in other()) {
            let payload = frame.len() - ETHERNET_HEADER_BYTES;
            check(&frame, payload.saturating_add_signed(slack), other)?;
        }
    }

    /// Every first byte, with and without magic, at every length around the limit, behind up to three tags.
    #[test]
    fn every_kind_of_header_in_a_hosts_frame_is_harmless() {
        for ethertype in [ethertype::TRANSPARENT, ethertype::COMPACT] {
            for first in 0..=u8::MAX {
                for magic in [&MAGIC[..], b"LM2", &[]] {
                    for tags in 0..=3 {
                        let header = [&ethertype.to_be_bytes()[..], &[first], magic].concat();
                        let mut frame = vec![2; ADDRESSES_BYTES];
                        frame.extend([0x81, 0, 0, 7].repeat(tags));
                        frame.extend(header);
                        for length in (46..64).chain(1_500..1_530) {
                            let mut frame = frame.clone();
                            frame.resize(length + tags * VLAN_TAG_BYTES, 0x45);
                            for other in [OtherEnd::Unescapes, OtherEnd::MayBelieve, OtherEnd::Indifferent] {
                                check(&frame, 1_508, other).expect("harmless");
                            }
                        }
                    }
                }
            }
        }
    }
}
