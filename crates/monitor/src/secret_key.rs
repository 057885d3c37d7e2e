//! A key for HMAC in a file that only its owner may read, written as Standard Webhooks writes secrets.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use linkmend_diagnose::ParameterError;
use ring::hmac;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What a key begins with.
const PREFIX: &str = "whsec_";
/// Sizes of keys that Standard Webhooks allows.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// The largest file that is read. A key has at most 94 characters.
const FILE_BYTES_MOST: u64 = 1024;

/// Reads a file with one line: `whsec_`, and 24 to 64 bytes in base64.
///
/// # Errors
/// If there is no such file, others than its owner may read it, or it is no key. The key itself is never shown.
pub fn read_key(parameter: &'static str, path: &Path) -> Result<hmac::Key, ParameterError> {
    let wrong = |rule: String| ParameterError::new(parameter, path.display(), rule);
    let unreadable = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(wrong("must be a file".to_owned()));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(wrong("must be readable only by its owner; run chmod 600".to_owned()));
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MOST).read_to_string(&mut text).map_err(unreadable)?;
    let bytes = text.trim().strip_prefix(PREFIX).and_then(|text| BASE64_STANDARD.decode(text).ok());
    match bytes.filter(|bytes| KEY_BYTES.contains(&bytes.len())) {
        Some(bytes) => Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes)),
        None => Err(wrong(format!(
            "must have one line with `{PREFIX}` and {} to {} bytes in base64; write one with (umask 077; echo \
             \"{PREFIX}$(openssl rand -base64 32)\" > FILE)",
            KEY_BYTES.start(),
            KEY_BYTES.end()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    #[test]
    fn a_key_is_its_owners_alone_and_is_not_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let read = |text: &str, mode: u32| {
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
            read_key("webhook-key", &path).map(|_| ()).map_err(|error| error.to_string())
        };
        let (good, short) = (BASE64_STANDARD.encode([7; 32]), BASE64_STANDARD.encode([7; 23]));
        assert_eq!(read(&format!("whsec_{good}\n"), 0o600), Ok(()));
        assert!(read(&format!("whsec_{good}"), 0o640).expect_err("others read it").contains("chmod 600"));
        for text in ["", &good, &format!("whsec_{short}"), &format!("whsec_{good}\nwhsec_{good}"), "whsec_%"]
        {
            let error = read(text, 0o600).expect_err("no key");
            assert!(error.starts_with("webhook-key = ") && error.contains("openssl rand"), "{error}");
            assert!(!error.contains(&good) && !error.contains(&short), "{error}");
        }
        let error = read_key("audit-key", folder.path()).expect_err("a folder").to_string();
        assert!(error.contains("audit-key = ") && error.contains("must be a file"), "{error}");
        let error = read_key("audit-key", Path::new("/nowhere")).expect_err("absent").to_string();
        assert!(error.contains("/nowhere: cannot be read: No such file"), "{error}");
    }
}
