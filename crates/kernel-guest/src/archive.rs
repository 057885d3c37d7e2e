//! A file system in the kernel's format for its first one (`cpio`, "newc").

/// Begins every entry.
const MAGIC: &[u8] = b"070701";
/// Types of files, as in `st_mode`.
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const DEVICE: u32 = 0o020_000;

/// Entries so far.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// A folder; those around it come first.
    pub fn folder(&mut self, path: &str) {
        self.entry(path, FOLDER | 0o755, (0, 0), &[]);
    }

    /// A program, or any other file.
    pub fn file(&mut self, path: &str, contents: &[u8]) {
        self.entry(path, FILE | 0o755, (0, 0), contents);
    }

    /// A device for characters, by its major and minor number.
    pub fn device(&mut self, path: &str, numbers: (u32, u32)) {
        self.entry(path, DEVICE | 0o600, numbers, &[]);
    }

    /// All of it.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), contents: &[u8]) {
        self.entries += 1;
        self.bytes.extend(MAGIC);
        let name_bytes = path.len() as u32 + 1;
        // Number, mode, owner, group, links, time, length, device, special device, length of the name, checksum.
        let fields =
            [self.entries, mode, 0, 0, 1, 0, contents.len() as u32, 0, 0, device.0, device.1, name_bytes, 0];
        self.bytes.extend(fields.map(|field| format!("{field:08x}")).concat().as_bytes());
        self.bytes.extend(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(contents);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_header_of_110_bytes_a_name_and_contents_each_padded_to_four() {
        let mut archive = Archive::default();
        archive.file("init", b"hello");
        archive.device("dev/console", (5, 1));
        let bytes = archive.finish();
        let text = |range: std::ops::Range<usize>| String::from_utf8_lossy(&bytes[range]).into_owned();
        assert_eq!(text(0..14), "07070100000001");
        assert_eq!(text(14..22), "000081ed", "a file that everyone may run");
        assert_eq!(text(54..62), "00000005", "its length");
        assert_eq!(text(94..102), "00000005", "the length of its name with a zero");
        assert_eq!(text(110..116), "init\0\0");
        assert_eq!(text(116..124), "hello\0\0\0");
        let device = 124;
        assert_eq!(text(device + 14..device + 22), "00002180");
        assert_eq!(text(device + 78..device + 94), "0000000500000001");
        assert!(bytes.len().is_multiple_of(4));
        assert!(bytes.windows(10).any(|window| window == b"TRAILER!!!"));
    }
}
