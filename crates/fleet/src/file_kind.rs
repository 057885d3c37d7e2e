//! Recognises kinds of files by their first bytes, so that a message can say that one kind was given for another.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The number of bytes that are read to recognise a file.
const LOOKED_AT_BYTES: u64 = 64 << 10;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// CSV with a column of links.
    List,
    /// YAML or JSON of switches and links, or a folder of dumps.
    Network,
    /// None of these, or the file cannot be read.
    Unclear,
}

impl FileKind {
    /// Recognises a file by its first bytes.
    pub fn detect(path: &Path) -> FileKind {
        if path.is_dir() {
            return FileKind::Network;
        }
        let mut beginning = String::new();
        let read =
            File::open(path).and_then(|file| file.take(LOOKED_AT_BYTES).read_to_string(&mut beginning));
        if read.is_err() {
            return FileKind::Unclear;
        }
        let text = beginning.trim_start_matches('\u{feff}').lines().map(str::trim);
        let mut lines = text.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let Some(first) = lines.next() else { return FileKind::Unclear };
        if has_column(first, "link") {
            return FileKind::List;
        }
        let keys = ["switches:", "links:", "topology:"];
        let is_network = |line: &str| line.starts_with('{') || keys.iter().any(|key| line.starts_with(key));
        if is_network(first) || lines.any(is_network) { FileKind::Network } else { FileKind::Unclear }
    }
}

/// Whether a line of CSV has this field.
fn has_column(line: &str, name: &str) -> bool {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    let first = reader.records().next();
    first.is_some_and(|record| record.is_ok_and(|record| record.iter().any(|field| field.trim() == name)))
}
