//! The daemon: its links, its control socket, its metrics.

use super::error::ConfigError;
use super::link::LinkConfig;
use linkmend_control::CONTROL_FOLDER;
use serde::{Deserialize, Deserializer, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Largest configuration file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A whole configuration file, or the arguments of `linkmend run`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", command(next_help_heading = "Daemon"))]
pub struct DaemonConfig {
    /// Path of the control socket [default: /run/linkmend/NAME.sock, with --config /run/linkmend/control.sock]
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATH"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<PathBuf>,
    /// Address on which to serve Prometheus metrics, like 127.0.0.1:9464 [default: none]
    #[cfg_attr(feature = "clap", arg(long, value_name = "ADDRESS", value_parser = metrics_address))]
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "metrics_address_of_file")]
    pub metrics: Option<SocketAddr>,
    /// File that stores the settings made at run time with `linkmend protect` and `unprotect` [default: beside the control
    /// socket]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PathBuf>,
    /// Restore settings made at run time, unless the configuration has changed since; `false`: always start as configured
    /// [default: true]
    #[cfg_attr(feature = "clap", arg(long, value_name = "BOOL", action = clap::ArgAction::Set))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<bool>,
    /// The links. One of them on the command line, any number in a file.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(default, rename = "link")]
    pub links: Vec<LinkConfig>,
}

fn metrics_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let example = if text.parse::<u16>().is_ok() {
            format!("`127.0.0.1:{text}` for this machine only, or `[::]:{text}` for all")
        } else {
            "`127.0.0.1:9464` or `[::1]:9464`".to_owned()
        };
        format!("`{text}` is not an IP address with a port; write {example}")
    })
}

fn metrics_address_of_file<'de, D: Deserializer<'de>>(file: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(file)?;
    metrics_address(&text).map(Some).map_err(serde::de::Error::custom)
}

impl DaemonConfig {
    /// Reads and validates a file.
    ///
    /// # Errors
    /// [`ConfigError`], with the line and the key where there is one.
    pub fn read(path: &Path) -> Result<DaemonConfig, ConfigError> {
        let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
        let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(ConfigError::TooLarge { path: path.to_owned(), bytes, limit: FILE_BYTES_MAX });
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        DaemonConfig::parse(path, &text)
    }

    /// Parses and validates the text of a file. `path` is used only in messages.
    ///
    /// # Errors
    /// See [`DaemonConfig::read`].
    pub fn parse(path: &Path, text: &str) -> Result<DaemonConfig, ConfigError> {
        let config: DaemonConfig =
            toml::from_str(text).map_err(|error| ConfigError::syntax(path, text, &error))?;
        config.validate().map_err(|(place, problem)| ConfigError::InFile {
            line: place.line_in(text),
            path: path.to_owned(),
            place,
            problem: Box::new(problem),
        })?;
        Ok(config)
    }

    /// One link from the command line, validated.
    ///
    /// # Errors
    /// [`ConfigError::InArguments`].
    pub fn with_link(self, link: LinkConfig) -> Result<DaemonConfig, ConfigError> {
        let config = DaemonConfig { links: vec![link], ..self };
        match config.validate() {
            Ok(()) => Ok(config),
            Err((place, problem)) => {
                Err(ConfigError::InArguments { option: place.option(), problem: Box::new(problem) })
            }
        }
    }

    /// Returns the configuration with all defaults filled in that depend on other values.
    #[must_use]
    pub fn resolved(mut self, from_file: bool) -> DaemonConfig {
        let name = match self.links.first() {
            Some(link) if !from_file => link.name(),
            _ => "control",
        };
        let control = Path::new(CONTROL_FOLDER).join(format!("{name}.sock"));
        let control = self.control.get_or_insert(control);
        self.state.get_or_insert(control.with_extension("state"));
        self.restore.get_or_insert(true);
        for link in &mut self.links {
            link.name = Some(link.name().to_owned());
        }
        self
    }

    /// Writes the configuration as a file, which reads back as the same configuration.
    pub fn to_toml(&self) -> String {
        // Every value can be written as text. Should that ever change, a test fails.
        toml::to_string(self).unwrap_or_else(|error| format!("# not representable: {error}\n"))
    }
}
