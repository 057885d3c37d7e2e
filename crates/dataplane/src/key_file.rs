//! The file with the key of a link.

use linkmend_diagnose::Diagnose;
use linkmend_protocol::wire::{BadKey, LinkKey};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// More than any text that is a key.
const TEXT_BYTES_MAX: u64 = 256;
/// Permissions of anybody but the owner.
const OF_OTHERS: u32 = 0o077;

/// Why a key cannot be taken from its file.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It is a folder, a device or a pipe.
    #[error("it is not a regular file")]
    NotRegular,
    /// Others may read or write it.
    #[error("its permissions are {mode:04o}, so others than its owner have access")]
    NotSecret {
        /// As `chmod` takes them.
        mode: u32,
    },
    /// Its text is no key.
    #[error(transparent)]
    Bad(#[from] BadKey),
}

impl Diagnose for KeyFileError {
    fn hint(&self) -> Option<String> {
        match self {
            KeyFileError::Unreadable(_) => None,
            KeyFileError::NotRegular | KeyFileError::Bad(_) => Some(
                "`(umask 077; openssl rand -hex 16 > FILE)` makes one, the same for both ends".to_owned(),
            ),
            KeyFileError::NotSecret { .. } => Some("`chmod 600` it".to_owned()),
        }
    }
}

/// Reads the key of a link.
///
/// # Errors
/// [`KeyFileError`].
pub(crate) fn read(path: &Path) -> Result<LinkKey, KeyFileError> {
    // Opening a pipe would wait for its writer.
    if !path.metadata()?.is_file() {
        return Err(KeyFileError::NotRegular);
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(KeyFileError::NotRegular);
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & OF_OTHERS != 0 {
        return Err(KeyFileError::NotSecret { mode });
    }
    let mut bytes = Vec::new();
    file.take(TEXT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).parse()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;
    use std::fs::{self, Permissions};

    const KEY: &str = "00112233445566778899aabbccddeeff\n";

    #[test]
    fn a_key_is_read_from_a_file_of_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        for (mode, text, expected) in [
            (0o600, KEY, None),
            (0o400, KEY.trim(), None),
            (0o640, KEY, Some("its permissions are 0640")),
            (0o602, KEY, Some("its permissions are 0602")),
            (0o600, "", Some("32 hexadecimal digits, not 0")),
            (0o600, &KEY[1..], Some("32 hexadecimal digits, not 31")),
            (0o600, "00112233445566778899aabbccddeefg", Some("32 hexadecimal digits")),
            (0o600, "00000000000000000000000000000000", Some("are the same")),
        ] {
            let _ = fs::remove_file(&path);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let error = read(&path).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), expected.is_some(), "{mode:o} {text:?}: {error:?}");
            assert!(error.unwrap_or_default().contains(expected.unwrap_or_default()));
        }
        assert!(matches!(read(folder.path()), Err(KeyFileError::NotRegular)));
        assert!(matches!(read(&folder.path().join("none")), Err(KeyFileError::Unreadable(_))));
    }
}
