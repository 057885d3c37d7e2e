//! How one of two links is cut, and the record of it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path as FilePath, PathBuf};

use linkmend_protocol::paths::Path;
use serde::{Deserialize, Serialize};

use super::marker::{MARKER_FOLDER, MarkerError};

/// How a link is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// Both link ends lose the carrier, as when somebody pulls the cable.
    Carrier,
    /// The carrier stays and frames vanish, as behind a media converter or in a switch that has lost its tables.
    Silent(Direction),
}

/// The directions of a link in which frames vanish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    Both,
    LeftRight,
    RightLeft,
}

impl Cut {
    const CARRIER: u8 = 1;
    const LEFT_RIGHT: u8 = 2;
    const RIGHT_LEFT: u8 = 4;

    /// Whether frames vanish on their way from left to right, and from right to left, by the wires' own doing.
    pub(crate) fn swallows(self) -> [bool; 2] {
        match self {
            Cut::Carrier => [false; 2],
            Cut::Silent(direction) => [direction != Direction::RightLeft, direction != Direction::LeftRight],
        }
    }

    fn byte(cut: Option<Cut>) -> u8 {
        match cut {
            None => 0,
            Some(Cut::Carrier) => Self::CARRIER,
            Some(Cut::Silent(Direction::LeftRight)) => Self::LEFT_RIGHT,
            Some(Cut::Silent(Direction::RightLeft)) => Self::RIGHT_LEFT,
            Some(Cut::Silent(Direction::Both)) => Self::LEFT_RIGHT | Self::RIGHT_LEFT,
        }
    }

    fn of_byte(byte: u8) -> Option<Cut> {
        match (byte & Self::CARRIER != 0, byte & Self::LEFT_RIGHT != 0, byte & Self::RIGHT_LEFT != 0) {
            (true, ..) => Some(Cut::Carrier),
            (_, true, true) => Some(Cut::Silent(Direction::Both)),
            (_, true, false) => Some(Cut::Silent(Direction::LeftRight)),
            (_, false, true) => Some(Cut::Silent(Direction::RightLeft)),
            (_, false, false) => None,
        }
    }
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Cut::Carrier => "no carrier",
            Cut::Silent(Direction::Both) => "silently, in both directions",
            Cut::Silent(Direction::LeftRight) => "silently, from left to right",
            Cut::Silent(Direction::RightLeft) => "silently, from right to left",
        })
    }
}

/// The record of how both links of a laboratory are cut: a file of one byte for each, next to the laboratory's own record. The
/// delay lines look at it all the time, in whatever process they run.
#[derive(Debug)]
pub(crate) struct CutRecord {
    file: File,
    path: PathBuf,
}

impl CutRecord {
    fn path(prefix: &str) -> PathBuf {
        FilePath::new(MARKER_FOLDER).join(format!("{prefix}.cuts"))
    }

    /// A record of two links that are whole.
    pub(crate) fn create(prefix: &str) -> Result<(), MarkerError> {
        let path = Self::path(prefix);
        fs::write(&path, [0; 2]).map_err(|source| MarkerError::Access { action: "write", path, source })
    }

    /// The record of a laboratory that is up.
    pub(crate) fn open(prefix: &str) -> Result<Self, MarkerError> {
        let path = Self::path(prefix);
        match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => Ok(Self { file, path }),
            Err(source) => Err(MarkerError::Access { action: "open", path, source }),
        }
    }

    /// Removes the record, if there is one.
    pub(crate) fn remove(prefix: &str) -> Result<(), MarkerError> {
        let path = Self::path(prefix);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(MarkerError::Access { action: "remove", path, source })
            }
            _ => Ok(()),
        }
    }

    /// How the first and the second link are cut.
    pub(crate) fn read(&self) -> Result<[Option<Cut>; 2], MarkerError> {
        let mut bytes = [0; 2];
        let read = self.file.read_exact_at(&mut bytes, 0);
        read.map_err(|source| MarkerError::Access { action: "read", path: self.path.clone(), source })?;
        Ok(bytes.map(Cut::of_byte))
    }

    /// Writes how one link is cut.
    pub(crate) fn write(&self, link: Path, cut: Option<Cut>) -> Result<(), MarkerError> {
        let written = self.file.write_all_at(&[Cut::byte(cut)], link as u64);
        written.map_err(|source| MarkerError::Access { action: "write", path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_survives_its_byte() {
        let silent = [Direction::Both, Direction::LeftRight, Direction::RightLeft].map(Cut::Silent);
        for cut in [None, Some(Cut::Carrier)].into_iter().chain(silent.map(Some)) {
            assert_eq!(Cut::of_byte(Cut::byte(cut)), cut);
        }
        assert_eq!(Cut::Silent(Direction::LeftRight).swallows(), [true, false]);
        assert_eq!(Cut::Carrier.swallows(), [false, false]);
    }
}
