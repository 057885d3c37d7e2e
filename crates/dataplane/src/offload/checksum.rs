//! The internet checksum (RFC 1071), in the byte order of this machine: sums may be added in any order, and swapping the
//! bytes of all terms swaps those of the result.

/// The one's complement sum of `bytes` and `sum`. An odd last byte counts as if a zero followed.
pub(super) fn sum(sum: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    // Two lanes of 32 bits each, which half a million words do not overflow.
    let mut total = words.iter().fold(sum, |total, word| {
        let word = u64::from_ne_bytes(*word);
        total + (word & 0xffff_ffff) + (word >> 32)
    });
    let (pairs, last) = rest.as_chunks::<2>();
    total += pairs.iter().map(|&pair| u64::from(u16::from_ne_bytes(pair))).sum::<u64>();
    total + last.first().map_or(0, |&byte| u64::from(u16::from_ne_bytes([byte, 0])))
}

/// The term of a number of 16 bits that the checksum covers.
pub(super) fn term(number: u16) -> u64 {
    u64::from(u16::from_ne_bytes(number.to_be_bytes()))
}

/// Folds a sum into 16 bits.
pub(super) fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Writes the checksum of `sum`, which covers everything but the checksum itself.
pub(super) fn write(field: &mut [u8], sum: u64) {
    field.copy_from_slice(&(!fold(sum)).to_ne_bytes());
}

/// Writes the checksum of an IPv4 header.
pub(super) fn write_ipv4(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = sum(0, header);
    write(&mut header[10..12], sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_standard_whatever_the_length_and_the_content() {
        // RFC 1071, section 3: the sum of these bytes is ddf2.
        let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(0, &example)).to_ne_bytes(), [0xdd, 0xf2]);
        for length in 0..100 {
            for seed in [1_u32, 255, 77] {
                let bytes: Vec<u8> =
                    (0..length).map(|at| (at * seed + seed).to_le_bytes()[0] | (seed as u8 & 0xf0)).collect();
                let mut slow = 0_u32;
                for pair in bytes.chunks(2) {
                    slow += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
                }
                while slow > 0xffff {
                    slow = (slow & 0xffff) + (slow >> 16);
                }
                assert_eq!(
                    fold(sum(0, &bytes)).to_ne_bytes(),
                    (slow as u16).to_be_bytes(),
                    "{length} {seed}"
                );
            }
        }
        assert_eq!(fold(sum(0, &[0xff; 65_536])), 0xffff);
    }
}
