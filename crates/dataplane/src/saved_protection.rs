//! Protection that was set at run time, saved for the next start of the daemon.
//!
//! One small file serves all links of a daemon. Beside what was set, it stores what the configuration said at the time.
//! If the configuration has been changed since, the change was deliberate, and the configuration wins.

use crate::config::{LinkConfig, protection, validate_protection};
use linkmend_control::health::Part;
use linkmend_control::{DaemonHealth, ProtectConfig, ProtectMode};
use linkmend_linux::private_file;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Increases when the meaning of the file changes.
const VERSION: u32 = 1;
/// The largest file that is read: far more than the links of any machine need.
const FILE_BYTES_MAX: u64 = 1 << 20;
const HEAD: &str = "# Protection set at run time (`linkmend protect`, `linkmend unprotect`), kept for the next start of the\n\
                    # daemon. Written by it; remove the file, or set `restore = false`, to start as configured.\n";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedFile {
    version: u32,
    #[serde(default, rename = "link")]
    links: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    /// The protection that was set.
    protect: ProtectConfig,
    /// What the configuration said at the time.
    configured: ProtectConfig,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
enum SavedFileError {
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    #[error("it has more than {FILE_BYTES_MAX} bytes")]
    TooLarge,
    #[error("{0}")]
    Syntax(String),
    #[error("its version is {0}, but this program supports version {VERSION}")]
    Version(u32),
    #[error("link {link}: {key}: {problem}")]
    Invalid { link: String, key: &'static str, problem: String },
}

/// The saved settings, and their file.
#[derive(Debug)]
pub struct SavedProtection {
    /// `None` if the configuration always wins.
    path: Option<PathBuf>,
    health: Arc<DaemonHealth>,
    saved: Mutex<Saved>,
}

#[derive(Debug, Default)]
struct Saved {
    /// The entries by link name.
    entries: BTreeMap<String, Entry>,
    configured: BTreeMap<String, ProtectConfig>,
}

impl SavedProtection {
    /// Saves nothing, so every start is as configured.
    pub fn none() -> SavedProtection {
        SavedProtection { path: None, health: Arc::default(), saved: Mutex::default() }
    }

    /// Reads what an earlier run saved at `path`. An unreadable file is moved aside with an error in the log, and the
    /// links start as configured, because a link must not stay down for its sake.
    pub fn open(path: &Path, health: Arc<DaemonHealth>) -> SavedProtection {
        let entries = read(path).unwrap_or_else(|error| {
            let aside = path.with_extension("damaged");
            let path = path.display();
            tracing::error!(
                "{path}: protection set at run time cannot be restored, so links start as configured: {error}"
            );
            health.set(
                Part::State,
                Some(format!("{path} could not be used: {error}; links started as configured")),
            );
            if fs::rename(path.to_string(), &aside).is_ok() {
                tracing::error!("the file is kept as {}", aside.display());
            }
            Vec::new()
        });
        let entries = entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect();
        let saved = Mutex::new(Saved { entries, ..Saved::default() });
        SavedProtection { path: Some(path.to_owned()), health, saved }
    }

    /// The protection with which `link` starts: as set at run time, or else as configured.
    pub fn restore(&self, link: &LinkConfig) -> ProtectConfig {
        let mut saved = self.lock();
        let name = link.name();
        saved.configured.insert(name.to_owned(), link.protect.clone());
        let Some(entry) = saved.entries.get(name) else { return link.protect.clone() };
        let refusal = if !means_the_same(&entry.configured, &link.protect) {
            Some("its configuration has been changed since".to_owned())
        } else {
            let problem = validate_protection(&entry.protect, link.format).err();
            problem.map(|(key, problem)| format!("{key}: {problem}"))
        };
        if let Some(refusal) = refusal {
            tracing::warn!(link = name, "protection set at run time is not restored: {refusal}");
            saved.entries.remove(name);
            self.save(&saved);
            return link.protect.clone();
        }
        let protect = entry.protect.clone();
        let configured = link.protect.mode;
        tracing::info!(
            link = name,
            "protection is restored as it was set at run time: {}; configured: {configured} (to start as \
             configured, set `restore = false`)",
            protect.mode
        );
        protect
    }

    /// Changes protection by calling `set`, and saves the change if that succeeds. Only one caller at a time does this,
    /// so the change saved last is the one made last.
    ///
    /// # Errors
    /// The error of `set`. In that case nothing is saved.
    pub fn apply<T, E>(
        &self,
        link: &str,
        protect: &ProtectConfig,
        set: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut saved = self.lock();
        let done = set()?;
        let Some(configured) = saved.configured.get(link).cloned() else { return Ok(done) };
        let entry = Entry { name: link.to_owned(), protect: protect.clone(), configured };
        let before = match means_the_same(&entry.protect, &entry.configured) {
            true => saved.entries.remove(link),
            false => saved.entries.insert(link.to_owned(), entry),
        };
        if before.as_ref() != saved.entries.get(link) {
            self.save(&saved);
        }
        Ok(done)
    }

    /// Whether changes at run time survive the daemon.
    pub fn outlives_the_daemon(&self) -> bool {
        self.path.is_some()
    }

    /// Whether the protection of a link differs from its configuration.
    pub fn differs(&self, link: &str) -> bool {
        self.lock().entries.contains_key(link)
    }

    fn lock(&self) -> MutexGuard<'_, Saved> {
        // The data is consistent even if a thread panicked while holding the lock.
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self, saved: &Saved) {
        let Some(path) = &self.path else { return };
        let links = saved.entries.values().cloned().collect();
        match write(path, &SavedFile { version: VERSION, links }) {
            Ok(()) => {
                self.health.set(Part::State, None);
            }
            Err(error) => {
                let trouble = format!(
                    "{}: protection set at run time will be lost at the next start: {error}",
                    path.display()
                );
                tracing::warn!("{trouble}");
                self.health.set(Part::State, Some(trouble));
            }
        }
    }
}

/// Compares two protections; a default that is written out equals one that is left out.
fn means_the_same(one: &ProtectConfig, other: &ProtectConfig) -> bool {
    let off = |protect: &ProtectConfig| protect.mode == ProtectMode::Off;
    (off(one) && off(other)) || protection(one) == protection(other)
}

fn read(path: &Path) -> Result<Vec<Entry>, SavedFileError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut text = String::new();
    // A folder, or bytes that are not text, count as read errors.
    if file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)? as u64 > FILE_BYTES_MAX {
        return Err(SavedFileError::TooLarge);
    }
    let file: SavedFile =
        toml::from_str(&text).map_err(|error| SavedFileError::Syntax(error.message().replace('\n', ", ")))?;
    if file.version != VERSION {
        return Err(SavedFileError::Version(file.version));
    }
    for Entry { name, protect, .. } in &file.links {
        // The format is checked once the link is known.
        validate_protection(protect, crate::config::HeaderFormat::Transparent).map_err(
            |(key, problem)| SavedFileError::Invalid {
                link: name.clone(),
                key,
                problem: problem.to_string(),
            },
        )?;
    }
    Ok(file.links)
}

/// Writes the whole file or nothing, even if the machine loses power.
fn write(path: &Path, file: &SavedFile) -> io::Result<()> {
    let text = toml::to_string(file).map_err(io::Error::other)?;
    let beside = path.with_extension("new");
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let mut new = private_file::open(&beside, OpenOptions::new().write(true).truncate(true))?;
    new.write_all(HEAD.as_bytes())?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn link(mode: ProtectMode) -> LinkConfig {
        let mut link = LinkConfig::new("eth1".to_owned().into(), "eth2");
        link.protect.mode = mode;
        link
    }

    fn protect(mode: ProtectMode) -> ProtectConfig {
        ProtectConfig { mode, ..ProtectConfig::default() }
    }

    fn set(saved: &SavedProtection, mode: ProtectMode) {
        saved.apply("eth2", &protect(mode), || Ok::<_, Infallible>(())).expect("it was set");
    }

    struct Place {
        _folder: tempfile::TempDir,
        path: PathBuf,
        health: Arc<DaemonHealth>,
    }

    impl Place {
        fn new() -> Place {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("up.state");
            Place { _folder: folder, path, health: Arc::default() }
        }

        fn open(&self) -> SavedProtection {
            SavedProtection::open(&self.path, Arc::clone(&self.health))
        }
    }

    #[test]
    fn what_was_set_is_restored_and_setting_what_is_configured_forgets_it() {
        let place = Place::new();
        let first = place.open();
        assert_eq!(first.restore(&link(ProtectMode::Ordered)).mode, ProtectMode::Ordered);
        set(&first, ProtectMode::NonBlocking);
        assert!(first.differs("eth2"));
        let second = place.open();
        assert_eq!(second.restore(&link(ProtectMode::Ordered)).mode, ProtectMode::NonBlocking);
        set(&second, ProtectMode::Ordered);
        assert!(!second.differs("eth2"));
        assert_eq!(place.open().restore(&link(ProtectMode::Ordered)).mode, ProtectMode::Ordered);
        assert_eq!(place.health.report().troubles, Vec::<String>::new());
    }

    #[test]
    fn a_configuration_that_was_changed_since_wins() {
        let place = Place::new();
        let first = place.open();
        first.restore(&link(ProtectMode::Ordered));
        set(&first, ProtectMode::Off);
        let mut changed = link(ProtectMode::Ordered);
        changed.protect.copies = Some(4);
        assert_eq!(place.open().restore(&changed), changed.protect);
        assert_eq!(place.open().restore(&link(ProtectMode::Ordered)).mode, ProtectMode::Ordered, "for good");
    }

    #[test]
    fn what_could_not_be_set_is_not_kept() {
        let place = Place::new();
        let saved = place.open();
        saved.restore(&link(ProtectMode::Ordered));
        let refused: Result<(), &str> = saved.apply("eth2", &protect(ProtectMode::Off), || Err("no"));
        assert_eq!(refused, Err("no"));
        assert!(!place.path.exists());
    }

    #[test]
    fn a_damaged_file_is_refused_loudly_and_ignored() {
        let long = format!("{HEAD}version = 1\n{}", "# nothing\n".repeat(200_000));
        let bad_copies =
            "version = 1\n[[link]]\nname = \"eth2\"\n[link.protect]\ncopies = 99\n[link.configured]\n";
        for text in ["", "version = 2", "version = 1\n[[link]]\nname = 3", "\u{0}\u{0}", bad_copies, &long] {
            let place = Place::new();
            fs::write(&place.path, text).expect("written");
            let saved = place.open();
            let troubles = place.health.report().troubles;
            assert!(troubles[0].contains("up.state could not be used: "), "{troubles:?}");
            assert_eq!(saved.restore(&link(ProtectMode::Ordered)).mode, ProtectMode::Ordered);
            assert_eq!(fs::read_to_string(place.path.with_extension("damaged")).expect("put aside"), text);
            set(&saved, ProtectMode::Off);
            assert_eq!(
                place.open().restore(&link(ProtectMode::Ordered)).mode,
                ProtectMode::Off,
                "it works again"
            );
            assert_eq!(place.health.report().troubles, Vec::<String>::new());
        }
        // This is not even a file.
        let place = Place::new();
        fs::create_dir(&place.path).expect("made");
        assert_eq!(place.open().restore(&link(ProtectMode::Off)).mode, ProtectMode::Off);
    }

    #[test]
    fn a_disk_that_is_full_is_told() {
        let place = Place::new();
        let saved = SavedProtection::open(Path::new("/proc/no/such.state"), Arc::clone(&place.health));
        saved.restore(&link(ProtectMode::Ordered));
        set(&saved, ProtectMode::Off);
        let troubles = place.health.report().troubles;
        assert!(
            troubles[0].contains("protection set at run time will be lost at the next start"),
            "{troubles:?}"
        );
    }
}
