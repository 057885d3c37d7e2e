//! Frames that a line loses on purpose, by their number.

use linkmend_corruption::CorruptionProcess;

/// Ethernet header without VLAN tags: two addresses and the EtherType.
const ETHERNET_BYTES: usize = 14;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
/// IPv6 header (RFC 8200, section 3).
const IPV6_BYTES: usize = 40;
const PROTOCOL_TCP: u8 = 6;
/// Octets of the check sequence, which frames here lack and corruption counts.
const CHECK_BYTES: usize = 4;

/// Which frames are lost: those that a [`CorruptionProcess`] corrupts, which counts frames with TCP payload only. What
/// else passes (handshakes, acknowledgements, address resolution) has no number and is never lost, so that a list of
/// numbers means the same segments wherever it is used.
#[derive(Debug)]
pub(super) struct Losses(CorruptionProcess);

impl Losses {
    pub(super) fn new(process: CorruptionProcess) -> Self {
        Self(process)
    }

    /// Whether this frame, the next one that the line has room for, is lost.
    pub(super) fn takes(&mut self, frame: &[u8]) -> bool {
        has_tcp_payload(frame)
            && self.0.corrupts(u32::try_from(frame.len() + CHECK_BYTES).unwrap_or(u32::MAX))
    }
}

/// Whether a frame without VLAN tags carries bytes of a TCP stream. IPv6 extension headers are not followed; hosts of
/// the laboratory send none.
fn has_tcp_payload(frame: &[u8]) -> bool {
    tcp_payload_bytes(frame).is_some_and(|bytes| bytes > 0)
}

fn tcp_payload_bytes(frame: &[u8]) -> Option<usize> {
    let packet = frame.get(ETHERNET_BYTES..)?;
    let (protocol, segment) = match frame.get(ETHERNET_BYTES - 2..ETHERNET_BYTES)? {
        ethertype if ethertype == ETHERTYPE_IPV4 => {
            let header_bytes = usize::from(packet.first()? & 0x0f) * 4;
            // The total length leaves out the padding of short frames (RFC 791, section 3.1).
            let total_bytes = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
            (*packet.get(9)?, packet.get(header_bytes..total_bytes)?)
        }
        ethertype if ethertype == ETHERTYPE_IPV6 => {
            let payload_bytes = usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]));
            (*packet.get(6)?, packet.get(IPV6_BYTES..IPV6_BYTES + payload_bytes)?)
        }
        _ => return None,
    };
    let data_offset_bytes = usize::from(*segment.get(12)? >> 4) * 4;
    (protocol == PROTOCOL_TCP).then(|| segment.len().saturating_sub(data_offset_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_corruption::Corruption;
    use linkmend_random::Random;

    /// A frame of TCP over IPv4 with timestamps, padded to Ethernet's minimum.
    fn ipv4(payload_bytes: usize) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend(ETHERTYPE_IPV4);
        let mut header = [0; 20];
        header[0] = 0x45;
        header[2..4].copy_from_slice(&(20 + 32 + payload_bytes as u16).to_be_bytes());
        header[9] = PROTOCOL_TCP;
        frame.extend(header);
        let mut segment = vec![0; 32 + payload_bytes];
        segment[12] = 8 << 4;
        frame.extend(segment);
        frame.resize(frame.len().max(60), 0);
        frame
    }

    fn ipv6(payload_bytes: usize) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend(ETHERTYPE_IPV6);
        let mut header = [0; IPV6_BYTES];
        header[4..6].copy_from_slice(&(20 + payload_bytes as u16).to_be_bytes());
        header[6] = PROTOCOL_TCP;
        frame.extend(header);
        let mut segment = vec![0; 20 + payload_bytes];
        segment[12] = 5 << 4;
        frame.extend(segment);
        frame
    }

    #[test]
    fn only_bytes_of_a_tcp_stream_are_payload() {
        assert_eq!(tcp_payload_bytes(&ipv4(1_448)), Some(1_448));
        assert_eq!(tcp_payload_bytes(&ipv4(0)), Some(0), "padding is no payload");
        assert_eq!((tcp_payload_bytes(&ipv6(0)), tcp_payload_bytes(&ipv6(7))), (Some(0), Some(7)));
        let mut other = ipv4(100);
        other[23] = 17;
        assert!(!has_tcp_payload(&other), "UDP");
        other[12..14].copy_from_slice(&[0x08, 0x06]);
        assert!(!has_tcp_payload(&other), "ARP");
        for length in 0..ipv4(10).len() {
            // A frame cut short is not read beyond its end.
            let _ = has_tcp_payload(&ipv4(10)[..length]);
            let _ = has_tcp_payload(&ipv6(10)[..length.min(84)]);
        }
    }

    #[test]
    fn a_list_counts_data_frames_alone() {
        let corruption = Corruption::Recorded([1, 2].into());
        let process = CorruptionProcess::new(&corruption, Random::new(1, "losses")).expect("it ascends");
        let mut losses = Losses::new(process);
        let frames = [ipv4(0), ipv4(1_448), ipv4(0), ipv6(1_428), ipv4(0), ipv4(1), ipv4(1_448)];
        let lost = frames.map(|frame| losses.takes(&frame));
        assert_eq!(lost, [false, false, false, true, false, true, false]);
    }
}
