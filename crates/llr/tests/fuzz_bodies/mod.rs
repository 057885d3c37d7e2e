//! The body of the fuzz target of the wire format. The target under `fuzz/` includes this file, and so does the ordinary test,
//! which replays the committed corpus with it.

use linkmend_llr::Integrity;
use linkmend_llr::config::PoisonPattern;
use linkmend_llr::wire::{
    Message, Preamble, decode_block, decode_xmii, encode_block, encode_xmii, integrity, poisoned,
};

/// Each eight octets as a block, as an ordered set on the xMII, as a preamble, and as two frame check sequences. What is read
/// means the same after it was written.
pub fn llr_wire(data: &[u8]) {
    for octets in data.as_chunks::<8>().0 {
        let written_again = |message: Message| {
            assert_eq!(decode_block(encode_block(message)), Ok(message));
            assert_eq!(decode_xmii(encode_xmii(message)), Ok(message));
        };
        if let Ok(message) = decode_block(*octets) {
            written_again(message);
        }
        if let Ok(message) = decode_xmii(*octets) {
            written_again(message);
        }
        if let Ok(preamble) = Preamble::decode(*octets) {
            assert_eq!(preamble.encode(), *octets);
        }
        let [a, b, c, d, e, f, g, h] = *octets;
        check_sequences(u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
    }
}

fn check_sequences(right: u32, received: u32) {
    // A mask of 0 is refused, because the right frame check sequence would then mark poison.
    for pattern in [PoisonPattern::Inverted, PoisonPattern::Xor(received.max(1))] {
        assert_eq!(integrity(right, right, pattern), Integrity::Good);
        assert_eq!(integrity(right, poisoned(right, pattern), pattern), Integrity::Poisoned);
        let is_good = integrity(right, received, pattern) == Integrity::Good;
        assert_eq!(is_good, received == right);
    }
}
