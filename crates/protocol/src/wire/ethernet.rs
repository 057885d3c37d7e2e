//! The parts of Ethernet that Linkmend must know: EtherTypes, lengths, and VLAN tags.

/// EtherTypes by name (IEEE 802 numbers).
pub mod ethertype {
    /// IPv4 (RFC 894).
    pub const IPV4: u16 = 0x0800;
    /// ARP (RFC 826).
    pub const ARP: u16 = 0x0806;
    /// VLAN tag (IEEE 802.1Q).
    pub const VLAN: u16 = 0x8100;
    /// IPv6 (RFC 2464).
    pub const IPV6: u16 = 0x86dd;
    /// MAC control: pause frames (IEEE 802.3, 802.1Qbb).
    pub const MAC_CONTROL: u16 = 0x8808;
    /// Slow protocols such as link aggregation (IEEE 802.3).
    pub const SLOW_PROTOCOLS: u16 = 0x8809;
    /// MPLS (RFC 3032).
    pub const MPLS: u16 = 0x8847;
    /// PPPoE session (RFC 2516).
    pub const PPPOE_SESSION: u16 = 0x8864;
    /// Service VLAN tag (IEEE 802.1ad).
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// Local experimental 1 (IEEE 802): Linkmend's transparent format and all its control frames.
    pub const TRANSPARENT: u16 = 0x88b5;
    /// Local experimental 2 (IEEE 802).
    pub const EXPERIMENTAL_2: u16 = 0x88b6;
    /// LLDP (IEEE 802.1AB).
    pub const LLDP: u16 = 0x88cc;
    /// The authors' P4 program: not assigned.
    pub const COMPACT: u16 = 0xabcd;
}

use ethertype::{SERVICE_VLAN, VLAN};

/// Bytes of the two MAC addresses, which stay in front.
pub const ADDRESSES_BYTES: usize = 12;
/// Bytes of the addresses and the EtherType.
pub const ETHERNET_HEADER_BYTES: usize = ADDRESSES_BYTES + 2;
/// Maximum number of VLAN tags that are skipped; frames with more are left alone.
pub const VLAN_TAGS_MAX: usize = 2;
/// Bytes of a VLAN tag.
pub const VLAN_TAG_BYTES: usize = 4;
/// Bytes of the frame check sequence, which hardware adds and removes: frames in memory are without.
pub const FCS_BYTES: usize = 4;
/// Bytes of the shortest frame, with its check sequence.
pub const FRAME_BYTES_MIN: usize = 64;
/// Bytes of the shortest frame without its check sequence; what is shorter is padded to it.
pub const FRAME_BYTES_MIN_IN_MEMORY: usize = FRAME_BYTES_MIN - FCS_BYTES;
/// Bytes of a frame with the usual 1,500 bytes of payload, without its check sequence.
pub const FULL_FRAME_BYTES_IN_MEMORY: usize = ETHERNET_HEADER_BYTES + 1_500;
/// Bytes of preamble and start-of-frame delimiter, in front of a frame.
pub const PREAMBLE_BYTES: usize = 8;
/// Minimum gap behind a frame, in byte times.
pub const INTERPACKET_GAP_BYTES: usize = 12;
/// What a frame takes on the wire in addition to its own bytes, which include the check sequence.
pub const WIRE_OVERHEAD_BYTES: usize = PREAMBLE_BYTES + INTERPACKET_GAP_BYTES;

/// How long a frame of `bytes` in memory occupies the wire, in byte times: padded to the shortest frame, with check
/// sequence, preamble and gap.
#[inline]
pub const fn wire_bytes(bytes: u64) -> u64 {
    let least = FRAME_BYTES_MIN_IN_MEMORY as u64;
    let padded = if bytes < least { least } else { bytes };
    padded + (FCS_BYTES + WIRE_OVERHEAD_BYTES) as u64
}

/// What a frame carries after its VLAN tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untagged<'a> {
    /// Tag control information of each tag, the outer one first: priority in bits 15 to 13, VLAN identifier in 11 to 0.
    pub tags: [Option<u16>; VLAN_TAGS_MAX],
    /// EtherType of the payload; that of a tag if there are more, or if one is cut off.
    pub ethertype: u16,
    /// What follows that EtherType.
    pub payload: &'a [u8],
}

impl<'a> Untagged<'a> {
    /// Skips the VLAN tags of a frame, which starts at its destination address; `None` if it has no EtherType.
    #[inline]
    pub fn of_frame(frame: &'a [u8]) -> Option<Untagged<'a>> {
        let (header, payload) = frame.split_at_checked(ETHERNET_HEADER_BYTES)?;
        let ethertype = u16::from_be_bytes([header[ADDRESSES_BYTES], header[ADDRESSES_BYTES + 1]]);
        Some(Untagged::of_payload(ethertype, payload))
    }

    /// Skips the VLAN tags in what follows an EtherType.
    #[inline]
    pub fn of_payload(ethertype: u16, payload: &'a [u8]) -> Untagged<'a> {
        let mut untagged = Untagged { tags: [None; VLAN_TAGS_MAX], ethertype, payload };
        for tag in 0..VLAN_TAGS_MAX {
            if !is_vlan_tag(untagged.ethertype) {
                break;
            }
            let Some((&[high, low, type_high, type_low], payload)) = untagged.payload.split_first_chunk()
            else {
                break;
            };
            untagged.tags[tag] = Some(u16::from_be_bytes([high, low]));
            untagged.ethertype = u16::from_be_bytes([type_high, type_low]);
            untagged.payload = payload;
        }
        untagged
    }

    /// Priority of the outermost tag (PCP), 0 to 7.
    #[inline]
    pub fn priority(&self) -> Option<u8> {
        self.tags[0].map(|tag| (tag >> 13) as u8)
    }
}

/// Whether this is the EtherType of a VLAN tag.
#[inline]
pub const fn is_vlan_tag(ethertype: u16) -> bool {
    matches!(ethertype, VLAN | SERVICE_VLAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ethertype::IPV4;
    use std::vec::Vec;

    fn frame(tail: &[u8]) -> Vec<u8> {
        [&[0; ADDRESSES_BYTES][..], tail].concat()
    }

    #[test]
    fn the_shortest_and_the_longest_standard_frame_take_84_and_1538_byte_times() {
        assert_eq!(FULL_FRAME_BYTES_IN_MEMORY, 1514);
        assert_eq!([0, 1, 60, 61, 1514].map(wire_bytes), [84, 84, 84, 85, 1538]);
    }

    #[test]
    fn two_tags_are_looked_through_and_a_third_is_left_alone() {
        let plain = frame(&[8, 0, 0x45]);
        let expected = Untagged { tags: [None; 2], ethertype: IPV4, payload: &[0x45] };
        assert_eq!(Untagged::of_frame(&plain), Some(expected));
        assert_eq!(expected.priority(), None);
        let tagged = frame(&[0x88, 0xa8, 0xa0, 1, 0x81, 0, 0, 2, 8, 0, 0x45]);
        let expected = Untagged { tags: [Some(0xa001), Some(2)], ethertype: IPV4, payload: &[0x45] };
        assert_eq!(Untagged::of_frame(&tagged), Some(expected));
        assert_eq!(expected.priority(), Some(5));
        let thrice = frame(&[0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3, 8, 0]);
        let expected = Untagged { tags: [Some(1), Some(2)], ethertype: VLAN, payload: &[0, 3, 8, 0] };
        assert_eq!(Untagged::of_frame(&thrice), Some(expected));
    }

    #[test]
    fn a_truncated_tag_is_not_skipped() {
        let whole = frame(&[0x81, 0, 0, 1, 8, 0]);
        for length in 0..whole.len() {
            let untagged = Untagged::of_frame(&whole[..length]);
            assert_eq!(
                untagged.map(|untagged| (untagged.ethertype, untagged.tags)),
                match length {
                    0..ETHERNET_HEADER_BYTES => None,
                    _ => Some((VLAN, [None; 2])),
                }
            );
        }
    }
}
