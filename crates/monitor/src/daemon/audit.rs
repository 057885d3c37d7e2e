//! The file in which every decision is written down, each line with a seal that vouches for the lines before it.

use super::record::Record;
use crate::audit_chain::{Chain, Place, place};
use linkmend_diagnose::printable;
use linkmend_linux::private_file;
use ring::hmac;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// So much of the end of a file is searched for its last line. A decision has some hundred bytes.
const END_BYTES: u64 = 1 << 20;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Audit {
    path: PathBuf,
    file: File,
    chain: Chain,
    lost: u64,
}

impl Audit {
    /// Appends to the file at this path, and continues its chain, or that of the file that was there before it.
    ///
    /// # Errors
    /// Those of the system, or if another process writes there.
    pub fn open(path: PathBuf, key: Option<hmac::Key>) -> io::Result<Audit> {
        let file = open(&path)?;
        let mut chain = Chain::new(key);
        if let Some(place) = last_place(&path, &file) {
            chain.continue_after(place);
        }
        Ok(Audit { path, file, chain, lost: 0 })
    }

    /// Opens the file again, which may have been moved away for a new one.
    pub fn reopen(&mut self) {
        match open(&self.path) {
            Ok(opened) => self.file = opened,
            // Nothing was moved away: the lock is our own.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.is_same_file() => {}
            Err(error) => tracing::warn!(
                "{}: cannot reopen the audit log, so the open file is still used: {error}",
                self.path.display()
            ),
        }
    }

    /// Writes a decision down, and says where. `None` if that failed, which the log says.
    pub fn write(&mut self, record: &Record<'_>) -> Option<Place> {
        let before = self.file.metadata().map(|metadata| metadata.len());
        let written = serde_json::to_string(record).map_err(io::Error::other).and_then(|object| {
            let (line, place) = self.chain.link(&printable(&object));
            // One call for each line, so that none is ever torn.
            self.file.write_all(format!("{line}\n").as_bytes()).map(|()| place)
        });
        let path = self.path.display();
        match written {
            Ok(place) => {
                if self.lost > 0 {
                    tracing::warn!("{path}: decisions are recorded again; {} were lost", self.lost);
                    self.lost = 0;
                }
                self.chain.advance(place.clone());
                Some(place)
            }
            Err(error) => {
                // What a full disk has left of the line would be the beginning of the next one.
                let _ = before.and_then(|length| self.file.set_len(length));
                if self.lost == 0 {
                    tracing::warn!("{path}: cannot record decisions: {error}");
                }
                self.lost += 1;
                None
            }
        }
    }

    fn is_same_file(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let (open, there) = (self.file.metadata().map(identity), self.path.metadata().map(identity));
        open.is_ok_and(|open| there.is_ok_and(|there| open == there))
    }
}

/// Opens a file to append to it, which no other process does meanwhile: lines of two would break the chain of both.
fn open(path: &Path) -> io::Result<File> {
    let file = private_file::open(path, OpenOptions::new().append(true))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let what =
                format!("another process writes to {}; give each corruptd its own file", path.display());
            Err(io::Error::new(io::ErrorKind::WouldBlock, what))
        }
        // Not every file system can lock.
        Err(TryLockError::Error(_)) => Ok(file),
    }
}

/// The last line that has a place, in the file or in the one that was there before it. What a crash has left of a line is cut off.
fn last_place(path: &Path, file: &File) -> Option<Place> {
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let text = end_of(path).unwrap_or_default();
    let torn = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
    if torn > 0 && file.set_len(metadata.len() - torn as u64).is_ok() {
        tracing::warn!("{}: cut off {torn} bytes of a line that was not completed", path.display());
    }
    if metadata.len() > torn as u64 {
        return last_place_in(&text[..text.len() - torn]);
    }
    let before = file_before(path)?;
    let place = end_of(&before).ok().and_then(|text| last_place_in(&text));
    if place.is_some() {
        tracing::info!("{}: continues {}", path.display(), before.display());
    }
    place
}

fn last_place_in(text: &str) -> Option<Place> {
    text.lines().rev().find_map(place)
}

/// The end of a file, from the beginning of a character on.
fn end_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(END_BYTES).read_to_end(&mut bytes)?;
    // Lines that are no UTF-8 are none of ours, and only their bytes count.
    let text = bytes.utf8_chunks().fold(String::with_capacity(bytes.len()), |mut text, chunk| {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|_| text.push('?'));
        text
    });
    Ok(text)
}

/// The file that logrotate has moved away last: `audit.jsonl.1`, or `audit.jsonl-20261129`, unless it is compressed.
fn file_before(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_before = |other: &OsStr| {
        let rest = other.as_bytes().strip_prefix(name.as_bytes());
        let is_packed =
            [".gz", ".xz", ".bz2", ".zst"].iter().any(|end| other.as_bytes().ends_with(end.as_bytes()));
        rest.is_some_and(|rest| rest.starts_with(b".") || rest.starts_with(b"-")) && !is_packed
    };
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let files = entries.filter(|entry| is_before(&entry.file_name())).filter_map(|entry| {
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), entry.path()))
    });
    files.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests;
