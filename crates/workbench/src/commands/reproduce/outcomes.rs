//! What runs measured, in the file of a shard.
//!
//! The file is a sequence of records: the length of the rest, a digest of it, the run, and its outcome. A record is appended
//! as soon as its run is done. If a machine fails in between, the last record may be cut off; it is then removed, and its run
//! repeated. A finished file is in the order of runs, so that it does not depend on which run was done first.

use super::folder::digest;
use linkmend::failure::{Context, Result};
use linkmend::written_file::{Unfinished, cannot_write};
use linkmend_experiment::{Stored, Unit};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Name of the file.
const FILE: &str = "outcomes";

/// Outcomes of runs, as bytes.
#[derive(Debug, Default)]
pub struct Outcomes(BTreeMap<Unit, Vec<u8>>);

impl Outcomes {
    /// Reads those of a shard; none if there is no file yet.
    pub fn read(folder: &Path) -> Result<Outcomes> {
        Ok(read(&folder.join(FILE))?.0)
    }

    /// The outcome of a run, if it is there.
    pub fn outcome<O: Stored>(&self, unit: Unit) -> Option<O> {
        O::restore(&mut self.0.get(&unit)?.as_slice())
    }

    /// Whether the outcome of a run is there.
    pub fn has(&self, unit: &Unit) -> bool {
        self.0.contains_key(unit)
    }

    /// Adds those of another shard.
    pub fn extend(&mut self, other: Outcomes) {
        self.0.extend(other.0);
    }
}

/// Reads all whole records, and returns how many bytes they take.
fn read(path: &Path) -> Result<(Outcomes, u64)> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mut rest = bytes.as_slice();
    let mut outcomes = Outcomes::default();
    let mut whole = 0;
    while let Some((unit, outcome)) = next(&mut rest) {
        outcomes.0.insert(unit, outcome);
        whole = bytes.len() - rest.len();
    }
    Ok((outcomes, whole as u64))
}

fn next(rest: &mut &[u8]) -> Option<(Unit, Vec<u8>)> {
    let (length, expected) = (usize::restore(rest)?, u64::restore(rest)?);
    let (mut record, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    let is_whole = digest(record) == expected;
    let unit = Unit::restore(&mut record)?;
    is_whole.then(|| (unit, record.to_vec()))
}

fn record(unit: Unit, outcome: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    unit.store(&mut content);
    content.extend_from_slice(outcome);
    let mut record = Vec::new();
    content.len().store(&mut record);
    digest(content.as_slice()).store(&mut record);
    record.extend(content);
    record
}

/// The file of a shard whose runs are being done.
pub struct OutcomeFile {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    file: File,
    /// Why a record could not be appended.
    trouble: Option<io::Error>,
}

impl OutcomeFile {
    /// Opens the file, and returns what is in it.
    pub fn open(folder: &Path) -> Result<(OutcomeFile, Outcomes)> {
        let path = folder.join(FILE);
        let (outcomes, whole) = read(&path)?;
        let open = || {
            let file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.set_len(whole)?;
            Ok(file)
        };
        let file = open().map_err(cannot_write(&path))?;
        Ok((OutcomeFile { path, state: Mutex::new(State { file, trouble: None }) }, outcomes))
    }

    /// Appends the outcome of a run. Returns false if that failed, which [`finish`](Self::finish) reports.
    pub fn append(&self, unit: Unit, outcome: &impl Stored) -> bool {
        let mut bytes = Vec::new();
        outcome.store(&mut bytes);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.trouble.is_none() {
            state.trouble = state.file.write_all(&record(unit, &bytes)).err();
        }
        state.trouble.is_none()
    }

    /// Puts the records in the order of runs, and returns them.
    pub fn finish(self) -> Result<Outcomes> {
        let OutcomeFile { path, state } = self;
        if let Some(error) = state.into_inner().unwrap_or_else(PoisonError::into_inner).trouble {
            return Err(cannot_write(&path)(error).into());
        }
        let (outcomes, _) = read(&path)?;
        let write = || {
            let (mut file, unfinished) = Unfinished::create(&path).map_err(io::Error::other)?;
            for (unit, outcome) in &outcomes.0 {
                file.write_all(&record(*unit, outcome))?;
            }
            file.sync_all()?;
            unfinished.finish()
        };
        write().map_err(cannot_write(&path))?;
        Ok(outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(run: u64) -> Unit {
        Unit { experiment: 1, point: 2, run }
    }

    #[test]
    fn a_record_that_was_cut_off_is_removed_and_the_rest_is_put_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        let (file, before) = OutcomeFile::open(folder.path()).expect("it opens");
        assert!(before.0.is_empty());
        for run in [2, 1, 3] {
            assert!(file.append(unit(run), &(10 * run)));
        }
        drop(file);
        let bytes = std::fs::read(&path).expect("a file");
        let record = bytes.len() / 3;
        std::fs::write(&path, &bytes[..bytes.len() - 1]).expect("it is written");
        let (file, before) = OutcomeFile::open(folder.path()).expect("it opens");
        assert_eq!(before.outcome::<u64>(unit(1)), Some(10));
        assert!(before.has(&unit(2)) && !before.has(&unit(3)), "the last was cut off");
        assert!(file.append(unit(3), &30_u64));
        let outcomes = file.finish().expect("it is written");
        assert_eq!(outcomes.outcome::<u64>(unit(3)), Some(30));
        let in_order: Vec<&[u8]> = [1, 0, 2].map(|place| &bytes[record * place..][..record]).into();
        assert_eq!(std::fs::read(&path).expect("a file"), in_order.concat());
    }

    #[test]
    fn a_changed_byte_ends_the_records() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(FILE);
        let (file, _) = OutcomeFile::open(folder.path()).expect("it opens");
        assert!(file.append(unit(0), &7_u64) && file.append(unit(1), &8_u64));
        drop(file);
        let bytes = std::fs::read(&path).expect("a file");
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 0x40;
            std::fs::write(&path, changed).expect("it is written");
            let whole = Outcomes::read(folder.path()).expect("it is read").0.len();
            assert_eq!(whole, usize::from(place >= bytes.len() / 2), "byte {place}");
        }
    }
}
