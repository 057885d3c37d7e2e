//! Priority flow control (IEEE 802.1Qbb), class 1: how the published program pauses and resumes its sender (section 3.5).

use super::reader::Reader;
use super::{ETHERNET_HEADER_BYTES, ethertype, ethertype_of};
use crate::link_end::Control;

/// No bridge forwards frames to this address.
pub(super) const ADDRESS: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];

const OPCODE: u16 = 0x0101;
const CLASS: usize = 1;
/// The longest pause, in units of 512 bit times; the published program knows this one and zero.
const QUANTA_MAX: u16 = u16::MAX;

/// What follows the EtherType: opcode, enabled classes, quanta of eight classes.
pub(super) fn body(paused: bool) -> [u8; 20] {
    let mut body = [0; 20];
    body[..2].copy_from_slice(&OPCODE.to_be_bytes());
    body[2..4].copy_from_slice(&(1u16 << CLASS).to_be_bytes());
    let quanta = if paused { QUANTA_MAX } else { 0 };
    body[4 + 2 * CLASS..6 + 2 * CLASS].copy_from_slice(&quanta.to_be_bytes());
    body
}

/// A pause or resume of class 1, if the frame is one. For links in
/// [`Format::Linkguardian`](crate::Format::Linkguardian); on other links it is an ordinary frame.
pub fn parse_priority_pause(frame: &[u8]) -> Option<Control> {
    if ethertype_of(frame)? != ethertype::MAC_CONTROL || frame[..6] != ADDRESS {
        return None;
    }
    let mut reader = Reader(&frame[ETHERNET_HEADER_BYTES..]);
    let (opcode, classes) = (reader.u16()?, reader.u16()?);
    if opcode != OPCODE || classes & 1 << CLASS == 0 {
        return None;
    }
    for _ in 0..CLASS {
        reader.u16()?;
    }
    Some(Control::PriorityPause { paused: reader.u16()? > 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{ADDRESSES_BYTES, CONTROL_FRAME_MAX, emit_control};

    #[test]
    fn a_priority_pause_reads_back_as_written() {
        for paused in [true, false] {
            let mut out = [0xff; CONTROL_FRAME_MAX];
            let length = emit_control(&Control::PriorityPause { paused }, [2, 0, 0, 0, 0, 1], &mut out);
            assert_eq!(length, 60);
            assert_eq!(parse_priority_pause(&out[..length]), Some(Control::PriorityPause { paused }));
            assert_eq!(out[..6], ADDRESS);
            assert_eq!(out[ADDRESSES_BYTES..ADDRESSES_BYTES + 6], [0x88, 0x08, 0x01, 0x01, 0x00, 0x02]);
        }
    }

    #[test]
    fn other_mac_control_frames_are_not_ours() {
        let mut out = [0; CONTROL_FRAME_MAX];
        let length = emit_control(&Control::PriorityPause { paused: true }, [2; 6], &mut out);
        for (at, value) in [(0, 3), (13, 0), (15, 0), (17, 1), (17, 0)] {
            let mut other = out;
            other[at] = value;
            assert_eq!(parse_priority_pause(&other[..length]), None, "byte {at}");
        }
        assert_eq!(parse_priority_pause(&out[..20]), None);
    }
}
