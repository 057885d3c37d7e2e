//! The bus of a single machine: no server, and a file as its memory.

use super::{Bus, BusError, BusEvent};
use crate::PortName;
use crate::exchange::DirectionState;
use crate::memory;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Increases when the meaning of the file changes.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    version: u32,
    directions: BTreeMap<PortName, DirectionState>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct EmbeddedBus {
    path: Option<PathBuf>,
    directions: BTreeMap<PortName, DirectionState>,
    changed: BTreeSet<PortName>,
    synchronised: bool,
    /// Whether the file lacks a change.
    unwritten: bool,
    /// Whether the file is only read.
    read_only: bool,
}

impl EmbeddedBus {
    /// A bus that remembers in the file at `path`, or forgets with the process if there is none. A file that is not there
    /// yet is made with the first change.
    ///
    /// # Errors
    /// If the file is there and cannot be used.
    pub fn open(path: Option<PathBuf>) -> Result<EmbeddedBus, BusError> {
        let directions = path.as_deref().map_or(Ok(BTreeMap::new()), |path| {
            read(path).map_err(|problem| BusError {
                what: format!("cannot use {}: {problem}", path.display()),
                hint: Some(
                    "move the file away to start with an empty state; links that are protected then stay \
                     protected until somebody ends it"
                        .to_owned(),
                ),
            })
        })?;
        let changed = directions.keys().cloned().collect();
        Ok(EmbeddedBus { path, directions, changed, synchronised: false, unwritten: false, read_only: false })
    }

    /// The same bus, which only reads its file and keeps changes to itself.
    #[must_use]
    pub fn read_only(mut self) -> EmbeddedBus {
        self.read_only = true;
        self
    }

    /// Says everything once more.
    pub(super) fn say_all(&mut self) {
        self.changed.extend(self.directions.keys().cloned());
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        memory::write(path, &Memory { version: VERSION, directions: self.directions.clone() })
    }
}

fn read(path: &Path) -> Result<BTreeMap<PortName, DirectionState>, String> {
    match memory::read::<Memory>(path)? {
        None => Ok(BTreeMap::new()),
        Some(Memory { version: VERSION, directions }) => Ok(directions),
        Some(Memory { version, .. }) => {
            Err(format!("its version is {version}, but this program supports version {VERSION}"))
        }
    }
}

impl Bus for EmbeddedBus {
    fn describe(&self) -> String {
        match &self.path {
            Some(path) if self.read_only => format!("{} (read-only)", path.display()),
            Some(path) => format!("this machine alone, stored in {}", path.display()),
            None => "this machine alone, not stored".to_owned(),
        }
    }

    fn put(&mut self, port: &PortName, state: DirectionState) -> Result<(), BusError> {
        if self.directions.entry(port.clone()).or_default().advance(state) {
            self.changed.insert(port.clone());
            self.unwritten = true;
        }
        Ok(())
    }

    /// Writes the file, once for all changes: it has all directions, of which a thousand may change at once.
    fn flush(&mut self) -> Result<(), BusError> {
        if let (Some(path), true) = (&self.path, self.unwritten && !self.read_only) {
            self.write(path).map_err(|error| BusError {
                what: format!("cannot write {}: {error}", path.display()),
                hint: Some("free some disk space, or choose another file with --state".to_owned()),
            })?;
        }
        self.unwritten = false;
        Ok(())
    }

    fn poll(&mut self) -> Result<Vec<BusEvent>, BusError> {
        let changed = std::mem::take(&mut self.changed);
        let states = changed.into_iter().map(|port| {
            let state = self.directions.get(&port).cloned().unwrap_or_default();
            BusEvent::State(port, state)
        });
        let mut events: Vec<BusEvent> = states.collect();
        if !std::mem::replace(&mut self.synchronised, true) {
            events.push(BusEvent::Synchronised);
        }
        Ok(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Request;

    fn request(generation: u64) -> DirectionState {
        let request = Request { generation, reason: "a test".to_owned(), ..Request::default() };
        DirectionState { request: Some(request), acknowledgement: None }
    }

    #[test]
    fn what_was_written_is_there_after_a_restart_and_said_before_all_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("made").join("state.json");
        let port: PortName = "a/1".parse().expect("a port");
        let mut bus = EmbeddedBus::open(Some(path.clone())).expect("a new one");
        assert_eq!(bus.poll().expect("works"), [BusEvent::Synchronised]);
        bus.put(&port, request(2)).expect("written");
        bus.put(&port, request(1)).expect("outdated");
        assert!(!path.exists(), "all changes are written together");
        bus.flush().expect("written");
        assert_eq!(bus.poll().expect("works"), [BusEvent::State(port.clone(), request(2))]);
        let mut again = EmbeddedBus::open(Some(path)).expect("the same");
        assert_eq!(again.poll().expect("works"), [BusEvent::State(port, request(2)), BusEvent::Synchronised]);
        assert_eq!(again.poll().expect("works"), []);
    }

    #[test]
    fn a_file_that_is_only_read_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("made").join("state.json");
        let mut bus = EmbeddedBus::open(Some(path.clone())).expect("a new one").read_only();
        bus.put(&"a/1".parse().expect("a port"), request(1)).expect("kept");
        bus.flush().expect("nothing to do");
        assert_eq!(bus.poll().expect("works").len(), 2, "it is known here");
        assert!(!path.parent().expect("a folder").exists());
    }

    #[test]
    fn a_damaged_file_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.json");
        for text in
            ["", "{", "{\"version\":9,\"directions\":{}}", "{\"version\":1,\"directions\":{\"x\":{}}}"]
        {
            std::fs::write(&path, text).expect("written");
            let error = EmbeddedBus::open(Some(path.clone())).expect_err("refused").to_string();
            assert!(error.contains("state.json"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).expect("still there"), text);
        }
    }
}
