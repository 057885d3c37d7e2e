//! Pieces of frames.

/// Bytes that do not repeat soon.
pub(super) fn filler(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

/// Returns `head` followed by filler, `bytes` long in total.
pub(super) fn filled(head: &[u8], bytes: usize) -> Vec<u8> {
    let mut whole = head.to_vec();
    whole.extend(filler(bytes.saturating_sub(head.len())));
    whole
}

/// An ARP message for the laboratory's network, about an address that no one has.
pub(super) fn arp(operation: u8, sender: [u8; 6], target: [u8; 6]) -> Vec<u8> {
    let mut message = vec![0, 1, 8, 0, 6, 4, 0, operation];
    message.extend(sender);
    message.extend([10, 77, 0, 98]);
    message.extend(target);
    message.extend([10, 77, 0, 99]);
    message
}

/// An IPv6 neighbour solicitation for an address that no one has (RFC 4861, section 4.3).
pub(super) fn neighbour_solicitation(sender: [u8; 6]) -> Vec<u8> {
    let address = |last: u8| [0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
    let group = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 0x99];
    let mut message = vec![135, 0, 0, 0, 0, 0, 0, 0];
    message.extend(address(0x99));
    message.extend([1, 1]);
    message.extend(sender);
    let length = message.len() as u8;
    let mut pseudo: Vec<u8> = address(0x98).into_iter().chain(group).collect();
    pseudo.extend([0, 0, 0, length, 0, 0, 0, 58]);
    pseudo.extend(&message);
    message[2..4].copy_from_slice(&internet_checksum(&pseudo).to_be_bytes());
    let mut packet = vec![0x60, 0, 0, 0, 0, length, 58, 255];
    packet.extend(address(0x98));
    packet.extend(group);
    packet.extend(message);
    packet
}

/// An IPv4 packet with a correct header around a UDP datagram without checksum, `bytes` long in total (at least 28).
pub(super) fn udp_packet(bytes: usize) -> Vec<u8> {
    let length = (bytes as u16).to_be_bytes();
    let mut packet =
        vec![0x45, 0, length[0], length[1], 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 98, 10, 77, 0, 99];
    let checksum = internet_checksum(&packet).to_be_bytes();
    packet[10..12].copy_from_slice(&checksum);
    let datagram = (bytes as u16 - 20).to_be_bytes();
    packet.extend([0x13, 0x88, 0x13, 0x89, datagram[0], datagram[1], 0, 0]);
    filled(&packet, bytes)
}

/// The Internet checksum (RFC 1071).
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_packet_with_its_checksum_is_zero() {
        assert_eq!(internet_checksum(&udp_packet(46)[..20]), 0);
        assert_eq!(internet_checksum(&[0xff]), 0x00ff);
    }
}
