//! The audit log.

use crate::secret_key::read_key;
use linkmend_diagnose::ParameterError;
use ring::hmac;
use std::path::PathBuf;

/// Where decisions are written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditChoice {
    pub path: PathBuf,
    /// The file with the key for the seals of its lines.
    pub key: Option<PathBuf>,
}

impl AuditChoice {
    /// `None` if nothing is written down.
    pub(super) fn of(
        path: Option<&PathBuf>,
        key: Option<&PathBuf>,
    ) -> Result<Option<AuditChoice>, ParameterError> {
        match (path, key) {
            (Some(path), key) => {
                let choice = AuditChoice { path: path.clone(), key: key.cloned() };
                choice.read_key()?;
                Ok(Some(choice))
            }
            (None, Some(key)) => {
                Err(ParameterError::new("audit-key", key.display(), "requires audit, the file to write"))
            }
            (None, None) => Ok(None),
        }
    }

    /// The key, if there is one.
    pub(crate) fn read_key(&self) -> Result<Option<hmac::Key>, ParameterError> {
        self.key.as_ref().map(|path| read_key("audit-key", path)).transpose()
    }
}
