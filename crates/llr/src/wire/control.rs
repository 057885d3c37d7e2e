//! Control ordered sets (CtlOS): eight octets between frames, or inside one.
//!
//! ```text
//!                 0       1     2            3           4                    5          6         7
//! 64B/66B block   4B      type  number 19-12 number 11-4 number 3-0, O-code 6 data 15-8  data 7-0  0
//! xMII            5C      type  number 19-12 number 11-4 number 3-0, 0        data 15-8  data 7-0  0
//! ```
//!
//! The article puts the number into D2, D3 and D4\[7:4\]. In the block of type 0x4B, the O-code is the low half of the
//! same octet (IEEE 802.3, Figure 49-7), which fits. No source says that the octets of the number and the data are in
//! network order; this follows from the order in the preamble. Bits without a meaning are written as 0 and ignored when
//! read.

use crate::frame::Control;
use crate::sequence::SequenceNumber;
use std::error::Error;
use std::fmt;

/// Length of a control ordered set.
pub const BLOCK_OCTETS: usize = 8;
/// The type of a 64B/66B block that starts with an ordered set.
const BLOCK_TYPE: u8 = 0x4B;
/// The O-code of CtlOS in a block.
const O_CODE: u8 = 0x6;
/// The control character of CtlOS on the xMII.
const XMII_CODE: u8 = 0x5C;
const ACK: u8 = 0x01;
const NACK: u8 = 0x02;
const INIT: u8 = 0x03;
const INIT_ECHO: u8 = 0x04;
const CF_UPDATE: u8 = 0x10;

/// What a control ordered set carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    Llr(Control),
    /// Credits of credit-based flow control (CBFC), which are not interpreted here: D2 to D7, with the O-code cleared.
    CfUpdate([u8; 6]),
}

/// Octets that are not a control ordered set of Ultra Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlError {
    /// The first octet.
    BlockType(u8),
    /// The low half of D4.
    OCode(u8),
    /// D1, the type of the message.
    MessageType(u8),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::BlockType(value) => write!(f, "the first octet is {value:#04x}: no ordered set"),
            ControlError::OCode(value) => write!(f, "the O-code is {value:#x}, not {O_CODE:#x}"),
            ControlError::MessageType(value) => write!(f, "message type {value:#04x} is unknown"),
        }
    }
}

impl Error for ControlError {}

/// D1 to D7, with the low half of D4 cleared.
fn data_octets(message: Message) -> [u8; 7] {
    let (kind, SequenceNumber(number), data) = match message {
        Message::Llr(Control::Ack(number)) => (ACK, number, 0),
        Message::Llr(Control::Nack(number)) => (NACK, number, 0),
        Message::Llr(Control::Init { first, data }) => (INIT, first, data),
        Message::Llr(Control::InitEcho { first, data }) => (INIT_ECHO, first, data),
        Message::CfUpdate([d2, d3, d4, d5, d6, d7]) => return [CF_UPDATE, d2, d3, d4 & 0xF0, d5, d6, d7],
    };
    let [_, d2, d3, d4] = (number << 4 & 0x00FF_FFFF).to_be_bytes();
    let [d5, d6] = data.to_be_bytes();
    [kind, d2, d3, d4, d5, d6, 0]
}

fn message([kind, d2, d3, d4, d5, d6, d7]: [u8; 7]) -> Result<Message, ControlError> {
    let number = SequenceNumber(u32::from_be_bytes([0, d2, d3, d4]) >> 4);
    let data = u16::from_be_bytes([d5, d6]);
    Ok(match kind {
        ACK => Message::Llr(Control::Ack(number)),
        NACK => Message::Llr(Control::Nack(number)),
        INIT => Message::Llr(Control::Init { first: number, data }),
        INIT_ECHO => Message::Llr(Control::InitEcho { first: number, data }),
        CF_UPDATE => Message::CfUpdate([d2, d3, d4 & 0xF0, d5, d6, d7]),
        unknown => return Err(ControlError::MessageType(unknown)),
    })
}

/// The eight octets of a 64B/66B control block, without its synchronisation header.
pub fn encode_block(message: Message) -> [u8; BLOCK_OCTETS] {
    let [d1, d2, d3, d4, d5, d6, d7] = data_octets(message);
    [BLOCK_TYPE, d1, d2, d3, d4 | O_CODE, d5, d6, d7]
}

/// Reads the eight octets of a 64B/66B control block.
///
/// # Errors
/// A block of another type, another O-code, or an unknown message type.
pub fn decode_block(octets: [u8; BLOCK_OCTETS]) -> Result<Message, ControlError> {
    let [block_type, d1, d2, d3, d4, d5, d6, d7] = octets;
    if block_type != BLOCK_TYPE {
        return Err(ControlError::BlockType(block_type));
    }
    if d4 & 0x0F != O_CODE {
        return Err(ControlError::OCode(d4 & 0x0F));
    }
    message([d1, d2, d3, d4, d5, d6, d7])
}

/// The eight octets on the xMII.
pub fn encode_xmii(message: Message) -> [u8; BLOCK_OCTETS] {
    let [d1, d2, d3, d4, d5, d6, d7] = data_octets(message);
    [XMII_CODE, d1, d2, d3, d4, d5, d6, d7]
}

/// Reads the eight octets on the xMII.
///
/// # Errors
/// Another control character, or an unknown message type.
pub fn decode_xmii(octets: [u8; BLOCK_OCTETS]) -> Result<Message, ControlError> {
    let [code, d1, d2, d3, d4, d5, d6, d7] = octets;
    if code != XMII_CODE {
        return Err(ControlError::BlockType(code));
    }
    message([d1, d2, d3, d4, d5, d6, d7])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand from the article: the number 0x12345 is 12 34 5, INIT data 0xBEEF is BE EF.
    const VECTORS: [(Message, [u8; 8]); 5] = [
        (
            Message::Llr(Control::Ack(SequenceNumber(0x12345))),
            [0x4B, 0x01, 0x12, 0x34, 0x56, 0x00, 0x00, 0x00],
        ),
        (Message::Llr(Control::Nack(SequenceNumber(900))), [0x4B, 0x02, 0x00, 0x38, 0x46, 0x00, 0x00, 0x00]),
        (
            Message::Llr(Control::Init { first: SequenceNumber(0xFFFFF), data: 0xBEEF }),
            [0x4B, 0x03, 0xFF, 0xFF, 0xF6, 0xBE, 0xEF, 0x00],
        ),
        (
            Message::Llr(Control::InitEcho { first: SequenceNumber(1), data: 2 }),
            [0x4B, 0x04, 0x00, 0x00, 0x16, 0x00, 0x02, 0x00],
        ),
        (Message::CfUpdate([1, 2, 0x30, 4, 5, 6]), [0x4B, 0x10, 0x01, 0x02, 0x36, 0x04, 0x05, 0x06]),
    ];

    #[test]
    fn vectors_are_written_and_read() {
        for (message, octets) in VECTORS {
            assert_eq!((encode_block(message), decode_block(octets)), (octets, Ok(message)));
            let mut xmii = octets;
            (xmii[0], xmii[4]) = (0x5C, octets[4] & 0xF0);
            assert_eq!((encode_xmii(message), decode_xmii(xmii)), (xmii, Ok(message)));
        }
    }

    #[test]
    fn other_blocks_are_refused() {
        let good = VECTORS[0].1;
        let with = |octet: usize, value| {
            let mut octets = good;
            octets[octet] = value;
            decode_block(octets)
        };
        assert_eq!(with(0, 0x1E), Err(ControlError::BlockType(0x1E)));
        assert_eq!(with(4, 0x50), Err(ControlError::OCode(0)), "the sequence ordered set of IEEE 802.3");
        assert_eq!(with(1, 0x05), Err(ControlError::MessageType(5)));
        assert_eq!(ControlError::MessageType(5).to_string(), "message type 0x05 is unknown");
    }

    fn messages() -> impl Strategy<Value = Message> {
        let number = || (0u32..1 << 20).prop_map(SequenceNumber);
        prop_oneof![
            number().prop_map(|number| Message::Llr(Control::Ack(number))),
            number().prop_map(|number| Message::Llr(Control::Nack(number))),
            (number(), any::<u16>()).prop_map(|(first, data)| Message::Llr(Control::Init { first, data })),
            (number(), any::<u16>())
                .prop_map(|(first, data)| Message::Llr(Control::InitEcho { first, data })),
        ]
    }

    proptest! {
        #[test]
        fn every_message_returns_in_both_forms(message in messages()) {
            prop_assert_eq!(decode_block(encode_block(message)), Ok(message));
            prop_assert_eq!(decode_xmii(encode_xmii(message)), Ok(message));
        }

        #[test]
        fn what_is_read_means_the_same_when_written(mut octets in any::<[u8; 8]>(), kind in 0u8..=17) {
            (octets[0], octets[1], octets[4]) = (0x4B, kind, octets[4] & 0xF0 | 0x06);
            if let Ok(message) = decode_block(octets) {
                prop_assert_eq!(decode_block(encode_block(message)), Ok(message));
            }
        }
    }
}
