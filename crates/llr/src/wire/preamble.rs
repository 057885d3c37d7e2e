//! The preamble: eight octets before a frame, three of which carry the number of an eligible frame.
//!
//! ```text
//! eligible     FB 7n nn nn 55 55 55 D5      20 bits of number, most significant first
//! ineligible   FB 55 55 55 55 55 55 D5      as in Ethernet
//! ```
//!
//! The taxonomy of messages has a start-of-frame delimiter of DD and a number of 24 bits. All other sources (SAI, FBOSS, OTG,
//! Xena) have 20 bits, so this format follows the article. A preamble with DD is refused.

use crate::sequence::SequenceNumber;
use std::error::Error;
use std::fmt;

/// Length of a preamble with its delimiter.
pub const PREAMBLE_OCTETS: usize = 8;
/// The control character that starts a packet on the xMII.
const START: u8 = 0xFB;
const FILL: u8 = 0x55;
/// The start-of-frame delimiter.
const DELIMITER: u8 = 0xD5;
/// The four bits before the number.
const ELIGIBLE: u8 = 0x70;

/// A preamble, to be read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preamble {
    /// Of a frame with this number, below 2^20.
    Eligible(SequenceNumber),
    /// Of a frame without a number.
    Ineligible,
}

/// Octets that are not a preamble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreambleError {
    /// Index of the wrong octet, counted from 0.
    pub octet: usize,
    pub value: u8,
    pub expected: u8,
}

impl fmt::Display for PreambleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PreambleError { octet, value, expected } = self;
        write!(f, "octet {octet} of the preamble is {value:#04x}, not {expected:#04x}")
    }
}

impl Error for PreambleError {}

impl Preamble {
    /// The eight octets. Only the low 20 bits of a number are written.
    pub const fn encode(self) -> [u8; PREAMBLE_OCTETS] {
        match self {
            Preamble::Eligible(SequenceNumber(number)) => {
                let [_, high, middle, low] = number.to_be_bytes();
                [START, ELIGIBLE | high & 0x0F, middle, low, FILL, FILL, FILL, DELIMITER]
            }
            Preamble::Ineligible => [START, FILL, FILL, FILL, FILL, FILL, FILL, DELIMITER],
        }
    }

    /// Reads eight octets.
    ///
    /// # Errors
    /// The first octet that fits neither kind of preamble.
    pub fn decode(octets: [u8; PREAMBLE_OCTETS]) -> Result<Preamble, PreambleError> {
        let demand = |octet: usize, expected: u8| {
            let value = octets[octet];
            if value == expected { Ok(()) } else { Err(PreambleError { octet, value, expected }) }
        };
        demand(0, START)?;
        let is_eligible = octets[1] & 0xF0 == ELIGIBLE;
        if !is_eligible {
            (1..=3).try_for_each(|octet| demand(octet, FILL))?;
        }
        (4..=6).try_for_each(|octet| demand(octet, FILL))?;
        demand(7, DELIMITER)?;
        if !is_eligible {
            return Ok(Preamble::Ineligible);
        }
        let number = u32::from_be_bytes([0, octets[1] & 0x0F, octets[2], octets[3]]);
        Ok(Preamble::Eligible(SequenceNumber(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand from the article: 0xFB, 0x7 and 20 bits, 0x55 three times, 0xD5.
    const VECTORS: [(Preamble, [u8; 8]); 4] = [
        (Preamble::Eligible(SequenceNumber(0)), [0xFB, 0x70, 0x00, 0x00, 0x55, 0x55, 0x55, 0xD5]),
        (Preamble::Eligible(SequenceNumber(0x12345)), [0xFB, 0x71, 0x23, 0x45, 0x55, 0x55, 0x55, 0xD5]),
        (Preamble::Eligible(SequenceNumber(0xFFFFF)), [0xFB, 0x7F, 0xFF, 0xFF, 0x55, 0x55, 0x55, 0xD5]),
        (Preamble::Ineligible, [0xFB, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5]),
    ];

    #[test]
    fn vectors_are_written_and_read() {
        for (preamble, octets) in VECTORS {
            assert_eq!((preamble.encode(), Preamble::decode(octets)), (octets, Ok(preamble)));
        }
    }

    #[test]
    fn the_delimiter_of_the_taxonomy_is_refused() {
        let octets = [0xFB, 0x70, 0x00, 0x01, 0x55, 0x55, 0x55, 0xDD];
        let error = PreambleError { octet: 7, value: 0xDD, expected: 0xD5 };
        assert_eq!(Preamble::decode(octets), Err(error));
        assert_eq!(error.to_string(), "octet 7 of the preamble is 0xdd, not 0xd5");
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(octets in any::<[u8; 8]>(), kept in any::<[bool; 8]>()) {
            // Half of the octets are those of a preamble, so that some are read.
            let mut octets = octets;
            for (index, keep) in kept.into_iter().enumerate() {
                if keep { octets[index] = VECTORS[1].1[index] }
            }
            if let Ok(preamble) = Preamble::decode(octets) {
                prop_assert_eq!(preamble.encode(), octets);
            }
        }

        #[test]
        fn every_number_returns(number in 0u32..1 << 20) {
            let preamble = Preamble::Eligible(SequenceNumber(number));
            prop_assert_eq!(Preamble::decode(preamble.encode()), Ok(preamble));
        }
    }
}
