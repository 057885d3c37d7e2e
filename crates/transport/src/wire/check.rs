//! Checksums of IPv4 and TCP, and the CRC of RoCE.

/// The internet checksum (RFC 1071) of a header whose checksum field is zero. `sum` is the sum of everything else that
/// the checksum covers.
pub(super) fn internet_checksum(sum: u32, header: &[u8]) -> u16 {
    let mut sum = sum;
    for pair in header.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // The sum has 16 bits now.
    !(sum as u16)
}

/// The CRC of Ethernet (polynomial 0x04c11db7, reflected), one entry for each value of a byte.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// An Ethernet CRC that is being computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crc32(u32);

impl Crc32 {
    pub fn new() -> Crc32 {
        Crc32(u32::MAX)
    }

    pub fn update(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for byte in bytes {
            self.0 = TABLE[usize::from(self.0 as u8 ^ byte)] ^ self.0 >> 8;
        }
    }

    pub fn finish(self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071, section 3: the words 0001, f203, f4f5, f6f7 sum to ddf2.
    #[test]
    fn the_internet_checksum_of_the_rfcs_example() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(internet_checksum(0, &bytes), !0xddf2);
        assert_eq!(internet_checksum(0xddf2, &[]), !0xddf2);
        assert_eq!(internet_checksum(0, &[0x12]), !0x1200, "an odd byte counts as the upper one");
    }

    /// The check value of CRC-32 in the catalogues.
    #[test]
    fn the_crc_of_nine_digits() {
        let mut crc = Crc32::new();
        crc.update(*b"123456789");
        assert_eq!(crc.finish(), 0xcbf4_3926);
    }
}
