//! Checks the sizes that a Parquet file claims against its length, before the library allocates memory for them.
//!
//! Both the footer and the header of each page are structs of Thrift's compact protocol. The library reserves memory
//! for as many elements as a list claims to have, and for as many bytes as a page claims to unpack to.

/// Deepest nesting of a footer: metadata, row group, column, its metadata, statistics, and what later versions add.
const MAX_DEPTH: u32 = 16;
/// The largest page, unpacked. Writers aim at one mebibyte, and ours does too.
const MAX_PAGE_BYTES: u64 = 64 << 20;
/// Longest list in a footer: columns of row groups, and their metadata.
const MAX_LIST: u64 = 1 << 16;
/// Fields of a page header. Each comes with the struct inside the header that it belongs to; 0 is the header itself.
const UNPACKED_BYTES: (i64, i64) = (0, 2);
const PACKED_BYTES: (i64, i64) = (0, 3);
const DICTIONARY_VALUES: (i64, i64) = (7, 1);
/// Size of a value in any of our columns.
const VALUE_BYTES: i64 = 8;

/// A struct is cut short, nested too deep, or claims more than the file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FalseSize(pub &'static str);

/// Checks that the file has room for everything that a footer lists.
pub(super) fn check_footer(bytes: &[u8]) -> Result<(), FalseSize> {
    ThriftReader(bytes).fields(MAX_DEPTH, 0, &mut |_, _| {})
}

/// Checks the headers of all pages in the bytes of a column.
pub(super) fn check_pages(mut bytes: &[u8]) -> Result<(), FalseSize> {
    while !bytes.is_empty() {
        let (mut unpacked, mut packed, mut dictionary) = (0, 0, 0);
        let mut header = ThriftReader(bytes);
        header.fields(MAX_DEPTH, 0, &mut |field, value| match field {
            UNPACKED_BYTES => unpacked = value,
            PACKED_BYTES => packed = value,
            DICTIONARY_VALUES => dictionary = value,
            _ => {}
        })?;
        if !u64::try_from(unpacked).is_ok_and(|bytes| bytes <= MAX_PAGE_BYTES) {
            return Err(FalseSize("a page is larger than 64 MiB"));
        }
        if dictionary < 0 || dictionary > unpacked / VALUE_BYTES {
            return Err(FalseSize("a dictionary lists more than it holds"));
        }
        let packed = usize::try_from(packed).ok();
        bytes = packed.and_then(|packed| header.0.get(packed..)).ok_or(CUT_SHORT)?;
    }
    Ok(())
}

const CUT_SHORT: FalseSize = FalseSize("it lists more than it holds");

/// Types of fields and elements in the compact protocol.
mod kind {
    pub const STOP: u8 = 0;
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I16: u8 = 4;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const STRUCT: u8 = 12;
}

/// The bytes that have not been read yet.
struct ThriftReader<'a>(&'a [u8]);

impl ThriftReader<'_> {
    /// Reads a struct that is field `outer` of another. Reports the integers among its fields, and among those of
    /// structs inside it.
    fn fields(
        &mut self,
        depth: u32,
        outer: i64,
        say: &mut dyn FnMut((i64, i64), i64),
    ) -> Result<(), FalseSize> {
        let depth = depth.checked_sub(1).ok_or(FalseSize("it is nested too deep"))?;
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            let kind = head & 0xf;
            if kind == kind::STOP {
                return Ok(());
            }
            id = match head >> 4 {
                0 => self.whole()?,
                delta => id.saturating_add(delta.into()),
            };
            match kind {
                kind::TRUE | kind::FALSE => {}
                kind::I16..=kind::I64 => say((outer, id), self.whole()?),
                // Nothing below the second level is of interest, and field numbers there have no meaning here.
                kind::STRUCT if outer == 0 => self.fields(depth, id, say)?,
                _ => self.value(kind, depth)?,
            }
        }
    }

    /// Reads a value that is not a field of a struct, or not an integer.
    fn value(&mut self, kind: u8, depth: u32) -> Result<(), FalseSize> {
        match kind {
            kind::TRUE | kind::FALSE | kind::BYTE => self.skip(1),
            kind::I16..=kind::I64 => self.whole().map(drop),
            kind::DOUBLE => self.skip(8),
            kind::BINARY => {
                let length = self.varint()?;
                self.skip(length)
            }
            kind::LIST | kind::SET => self.list(depth),
            kind::STRUCT => self.fields(depth, 0, &mut |_, _| {}),
            _ => Err(FalseSize("it has values of a kind that Parquet does not use")),
        }
    }

    fn list(&mut self, depth: u32) -> Result<(), FalseSize> {
        let depth = depth.checked_sub(1).ok_or(FalseSize("it is nested too deep"))?;
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            length => length.into(),
        };
        // Every element takes at least one byte.
        if length > self.0.len() as u64 {
            return Err(CUT_SHORT);
        }
        if length > MAX_LIST {
            return Err(FalseSize("a list in its footer has more than 65,536 elements"));
        }
        (0..length).try_for_each(|_| self.value(head & 0xf, depth))
    }

    fn byte(&mut self) -> Result<u8, FalseSize> {
        let (&first, rest) = self.0.split_first().ok_or(CUT_SHORT)?;
        self.0 = rest;
        Ok(first)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), FalseSize> {
        let rest = usize::try_from(bytes).ok().and_then(|bytes| self.0.get(bytes..));
        self.0 = rest.ok_or(CUT_SHORT)?;
        Ok(())
    }

    /// Reads a number of seven bits in each byte, the lowest bits first.
    fn varint(&mut self) -> Result<u64, FalseSize> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(FalseSize("it has a number of more than 64 bits"))
    }

    /// Reads a signed number in zigzag coding: 0, -1, 1, -2 and so on.
    fn whole(&mut self) -> Result<i64, FalseSize> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list field with 2^31 - 1 structs: without the check, 20 bytes can claim that many row groups.
    #[test]
    fn lists_and_texts_that_are_longer_than_the_file_are_refused() {
        assert_eq!(check_footer(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0]), Err(CUT_SHORT));
        assert_eq!(check_footer(&[0x18, 0x05, b'a', 0]), Err(CUT_SHORT));
        assert_eq!(check_footer(&[0x18, 0x01, b'a', 0]), Ok(()));
        assert_eq!(check_footer(&[0x15]), Err(CUT_SHORT));
        assert_eq!(check_footer(&[0x1c; 100]), Err(FalseSize("it is nested too deep")));
    }

    #[test]
    fn pages_that_unpack_to_gigabytes_are_refused() {
        // Type 0, then 2^30 bytes unpacked and one byte packed.
        let large = [0x15, 0x00, 0x15, 0x80, 0x80, 0x80, 0x80, 0x08, 0x15, 0x02, 0x00, 0xaa];
        assert_eq!(check_pages(&large), Err(FalseSize("a page is larger than 64 MiB")));
        let small = [0x15, 0x00, 0x15, 0x04, 0x15, 0x02, 0x00, 0xaa];
        assert_eq!(check_pages(&[small, small].concat()), Ok(()));
        assert_eq!(check_pages(&small[..7]), Err(CUT_SHORT));
    }

    #[test]
    fn dictionaries_of_more_values_than_bytes_are_refused() {
        // A dictionary page of 16 bytes, one of them packed, with this many values.
        let page = |values: &[u8]| {
            let head = [0x15, 0x04, 0x15, 0x20, 0x15, 0x02, 0x4c, 0x15];
            [&head, values, &[0x00, 0x00, 0xaa]].concat()
        };
        assert_eq!(check_pages(&page(&[0x04])), Ok(()));
        let too_many = Err(FalseSize("a dictionary lists more than it holds"));
        assert_eq!(check_pages(&page(&[0x06])), too_many);
        assert_eq!(check_pages(&page(&[0xfe, 0xff, 0xff, 0xff, 0x0f])), too_many);
        assert_eq!(check_pages(&page(&[0x01])), too_many);
    }

    #[test]
    fn long_lists_are_refused() {
        let list = |length: u32| {
            let varint =
                [(length & 0x7f) as u8 | 0x80, (length >> 7 & 0x7f) as u8 | 0x80, (length >> 14) as u8];
            [&[0x19, 0xf3][..], &varint, &vec![0; length as usize], &[0]].concat()
        };
        assert_eq!(check_footer(&list(1 << 16)), Ok(()));
        assert!(check_footer(&list((1 << 16) + 1)).is_err());
    }
}
