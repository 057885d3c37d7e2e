//! ECN marking (RFC 3168): sets Congestion Experienced on frames of ECN-capable transports.

use linkmend_protocol::wire::{Untagged, ethertype};

/// The header length without options.
const IPV4_HEADER_BYTES: usize = 20;
/// ECN field values (RFC 3168, section 5).
const NOT_ECT: u8 = 0b00;
const CE: u8 = 0b11;

/// Marks an ECN-capable frame. Returns `true` if it is marked afterwards. The IPv4 header checksum stays correct.
pub(super) fn mark(frame: &mut [u8]) -> bool {
    let Some(untagged) = Untagged::of_frame(frame) else { return false };
    let (ethertype, at) = (untagged.ethertype, frame.len() - untagged.payload.len());
    let packet = &mut frame[at..];
    match ethertype {
        ethertype::IPV4 => packet.get_mut(..IPV4_HEADER_BYTES).is_some_and(mark_ipv4),
        ethertype::IPV6 => packet.get_mut(..2).is_some_and(mark_ipv6),
        _ => false,
    }
}

fn mark_ipv4(header: &mut [u8]) -> bool {
    match header[1] & CE {
        NOT_ECT => false,
        CE => true,
        ecn => {
            let before = u16::from_be_bytes([header[0], header[1]]);
            header[1] |= CE;
            let checksum = u16::from_be_bytes([header[10], header[11]]);
            // RFC 1624, equation 3: HC' = ~(~HC + ~m + m'); the field grows by CE - ecn.
            let sum = u32::from(!checksum) + u32::from(!before) + u32::from(before) + u32::from(CE - ecn);
            let folded = (sum & 0xffff) + (sum >> 16);
            let folded = (folded & 0xffff) + (folded >> 16);
            header[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
            true
        }
    }
}

fn mark_ipv6(header: &mut [u8]) -> bool {
    // Version 4, traffic class 8 (the last two are ECN), flow label: ECN is bits 5..4 of the second byte.
    match header[1] >> 4 & CE {
        NOT_ECT => false,
        _ => {
            header[1] |= CE << 4;
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One's complement sum over an IPv4 header with a correct checksum is 0xffff (RFC 791).
    fn checksum_holds(header: &[u8]) -> bool {
        let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        (sum & 0xffff) + (sum >> 16) == 0xffff
    }

    fn ipv4_frame(ecn: u8) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0b1010_1000 | ecn, 0, 84, 0x1c, 0x46, 0x40, 0, 64, 6, 0, 0]);
        frame.extend([192, 168, 0, 1, 192, 168, 0, 199]);
        let sum: u32 =
            frame[14..34].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        frame[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        frame
    }

    #[test]
    fn ipv4_is_marked_with_a_correct_checksum() {
        for ecn in [0b01, 0b10, 0b11] {
            let mut frame = ipv4_frame(ecn);
            assert!(checksum_holds(&frame[14..34]), "the test's own frame");
            assert!(mark(&mut frame));
            assert_eq!(frame[15], 0b1010_1011);
            assert!(checksum_holds(&frame[14..34]), "ECN {ecn:02b}");
        }
        let mut frame = ipv4_frame(NOT_ECT);
        let before = frame.clone();
        assert!(!mark(&mut frame));
        assert_eq!(frame, before);
    }

    #[test]
    fn ipv6_and_tagged_frames_are_marked() {
        let mut frame = [&[0; 12][..], &[0x81, 0, 0, 5, 0x86, 0xdd, 0x60, 0b0010_0000, 0, 0]].concat();
        assert!(mark(&mut frame));
        assert_eq!(frame[19], 0b0011_0000);
    }

    #[test]
    fn short_and_other_frames_are_left_alone() {
        let full = ipv4_frame(0b10);
        for length in 0..34 {
            let mut cut = full[..length].to_vec();
            assert!(!mark(&mut cut));
        }
        assert!(!mark(&mut [0; 60]));
    }
}
