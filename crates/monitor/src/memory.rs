//! Files that remember something across restarts.

use linkmend_linux::private_file;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// The largest file that is read: more than a kilobyte for each port of the largest agent.
const BYTES_MOST: u64 = 128 << 20;

/// Writes a value as JSON: the file has all of it, or what it had before.
///
/// # Errors
/// Those of the system.
pub(crate) fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = private_file::open(Path::new(&fresh), OpenOptions::new().write(true).truncate(true))?;
    serde_json::to_writer(&mut file, value)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)
}

/// Reads a value; `None` if there is no file.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mut text = String::new();
    file.take(BYTES_MOST + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > BYTES_MOST {
        return Err(format!("it has more than {BYTES_MOST} bytes"));
    }
    serde_json::from_str(&text).map(Some).map_err(|error| error.to_string())
}
