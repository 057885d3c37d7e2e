//! Where decisions are sent, and with which key they are signed.

use crate::secret_key::read_key;
use crate::server::{ServerUrl, http};
use linkmend_diagnose::{Diagnose, ParameterError};
use ring::hmac;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

const TIMEOUT_LEAST: Duration = Duration::from_millis(100);
const TIMEOUT_MOST: Duration = Duration::from_mins(1);

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// `https://USER:PASSWORD@HOST:PORT/PATH?QUERY`, or `http://`.
    pub url: ServerUrl,
    /// The file with the key.
    pub key: PathBuf,
    /// Authorities that may vouch for the server, in PEM format; `None` for those that this machine trusts.
    pub ca: Option<PathBuf>,
    /// How long an attempt may take.
    pub timeout: Duration,
    /// Whether a dry run sends what it would do.
    pub dry_run: bool,
}

impl WebhookSettings {
    /// Whether decisions can be sent so.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        if !http::is_address(&self.url) {
            let rule = "must be https://HOST:PORT/PATH or http://, with USER:PASSWORD@ before the host if need be; write %40 \
                        for @ and %2F for / in a password";
            return Err(ParameterError::new("webhook", &self.url, rule));
        }
        if let Some(ca) = self.ca.as_ref().filter(|_| !http::is_tls(&self.url)) {
            let rule = "requires TLS; write https:// in webhook";
            return Err(ParameterError::new("webhook-ca", ca.display(), rule));
        }
        if !(TIMEOUT_LEAST..=TIMEOUT_MOST).contains(&self.timeout) {
            let rule = "must be 100ms to 1min";
            return Err(ParameterError::new("webhook-timeout", format!("{:?}", self.timeout), rule));
        }
        self.read_key().map(|_| ())
    }

    /// The key with which requests are signed.
    pub(super) fn read_key(&self) -> Result<hmac::Key, ParameterError> {
        read_key("webhook-key", &self.key)
    }
}

/// Why no decisions can be sent.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// A value cannot be used.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// There can be no more threads.
    #[error("cannot start a thread for the webhook")]
    Thread(#[source] io::Error),
}

impl Diagnose for WebhookError {
    fn hint(&self) -> Option<String> {
        match self {
            WebhookError::Parameter(error) => error.hint(),
            WebhookError::Thread(_) => None,
        }
    }
}
