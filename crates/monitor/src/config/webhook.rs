//! Whom decisions are sent.

use crate::server::ServerUrl;
use crate::webhook::WebhookSettings;
use linkmend_diagnose::ParameterError;
use linkmend_quantity::Span;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

/// Tells another program of decisions: `[webhook]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Webhook"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WebhookConfig {
    /// Send every decision to this address in a signed POST request (Standard Webhooks) [default: none]
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL"))]
    #[serde(rename = "url", skip_serializing_if = "Option::is_none")]
    pub webhook: Option<ServerUrl>,
    /// File with the key that signs requests, `whsec_` and 24 to 64 bytes in base64, readable only by its owner
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(rename = "key", skip_serializing_if = "Option::is_none")]
    pub webhook_key: Option<PathBuf>,
    /// Certificate authorities for TLS, in PEM format [default: the system's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(rename = "ca", skip_serializing_if = "Option::is_none")]
    pub webhook_ca: Option<PathBuf>,
    /// How long an attempt may take before it is repeated, 100ms to 1min [default: 10s]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(rename = "timeout", skip_serializing_if = "Option::is_none")]
    pub webhook_timeout: Option<Span>,
    /// In a dry run, too, send what would be decided
    #[cfg_attr(feature = "clap", arg(long))]
    #[serde(rename = "dry-run")]
    pub webhook_dry_run: bool,
}

impl WebhookConfig {
    /// Fills in what was left out; `None` if nobody is told.
    pub(super) fn choose(&self) -> Result<Option<WebhookSettings>, ParameterError> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let Some(url) = &self.webhook else {
            let written = [
                ("webhook-key", path(&self.webhook_key)),
                ("webhook-ca", path(&self.webhook_ca)),
                ("webhook-timeout", self.webhook_timeout.map(|time| format!("{:?}", time.0))),
                ("webhook-dry-run", self.webhook_dry_run.then(|| "true".to_owned())),
            ];
            return match written.into_iter().find_map(|(name, value)| Some((name, value?))) {
                Some((name, value)) => {
                    Err(ParameterError::new(name, value, "requires webhook, the address to send to"))
                }
                None => Ok(None),
            };
        };
        let Some(key) = self.webhook_key.clone() else {
            let rule = "requires webhook-key, the file with the key that signs requests";
            return Err(ParameterError::new("webhook", url, rule));
        };
        let settings = WebhookSettings {
            url: url.clone(),
            key,
            ca: self.webhook_ca.clone(),
            timeout: self.webhook_timeout.map_or(TIMEOUT_DEFAULT, |time| time.0),
            dry_run: self.webhook_dry_run,
        };
        settings.validate()?;
        Ok(Some(settings))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::MonitorConfig;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_cannot_be_is_refused_by_name_and_without_passwords() {
        let folder = tempfile::tempdir().expect("a folder");
        let key = folder.path().join("key");
        std::fs::write(&key, format!("whsec_{}", "A".repeat(32))).expect("written");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("ours");
        let resolve = |text: &str| {
            let text = text.replace("KEY", &format!("key = \"{}\"", key.display()));
            let config: MonitorConfig = toml::from_str(&text).map_err(|error| error.to_string())?;
            config.resolve("leaf1").map(|resolved| resolved.webhook).map_err(|error| error.to_string())
        };
        let usual = resolve("[webhook]\nurl = \"https://me:sec@host/path?a=b\"\nKEY").expect("usable");
        let usual = usual.expect("configured");
        assert_eq!((usual.timeout.as_secs(), usual.dry_run), (10, false));
        assert_eq!(resolve(""), Ok(None));
        for (text, part) in [
            ("[webhook]\nKEY", "webhook-key = "),
            ("[webhook]\nurl = \"http://me:sec@host\"", "webhook = http://me:***@host: requires webhook-key"),
            ("[webhook]\nurl = \"ftp://me:sec@host\"\nKEY", "webhook = ftp://me:***@host: must be https://"),
            (
                "[webhook]\nurl = \"http://h\"\nkey = \"/no\"",
                "webhook-key = /no: cannot be read: No such file",
            ),
            ("[webhook]\nurl = \"http://h\"\nKEY\nca = \"a\"", "webhook-ca = a: requires TLS"),
            (
                "[webhook]\nurl = \"http://h\"\nKEY\ntimeout = \"2min\"",
                "webhook-timeout = 120s: must be 100ms",
            ),
            ("[webhook]\ndry-run = true", "webhook-dry-run = true: requires webhook"),
            ("audit-key = \"/no\"", "audit-key = /no: requires audit"),
            ("audit = \"/tmp/a\"\naudit-key = \"/no\"", "audit-key = /no: cannot be read"),
        ] {
            let error = resolve(text).expect_err("refused");
            assert!(error.contains(part) && !error.contains("sec@"), "{text}: {error}");
        }
    }
}
