//! Errors of a configuration, and where in it they are.

use super::interface_name::HOST_PORT_NAME_BYTES_MAX;
use linkmend_control::ClassField;
use linkmend_diagnose::{Diagnose, Fault, LineSuffix, ParameterError, line_of};
use linkmend_protocol::Format;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file is not a configuration file.
    #[error("{}: has {bytes} bytes, but a configuration can have at most {limit}", path.display())]
    TooLarge { path: PathBuf, bytes: u64, limit: u64 },
    /// The text is not TOML, contains an unknown key, or has a value of the wrong form.
    #[error("{}{}: {message}", path.display(), LineSuffix(*line))]
    Syntax {
        path: PathBuf,
        /// The line, counted from 1.
        line: Option<usize>,
        /// What is wrong.
        message: String,
    },
    /// A value in a file is impossible.
    #[error("{}{}: {place}: {problem}", path.display(), LineSuffix(*line))]
    InFile {
        path: PathBuf,
        /// The line, counted from 1.
        line: Option<usize>,
        place: Place,
        /// What is wrong.
        problem: Box<Problem>,
    },
    /// A value on the command line is impossible.
    #[error("{option} {problem}")]
    InArguments {
        option: String,
        /// What is wrong.
        problem: Box<Problem>,
    },
}

impl ConfigError {
    pub(super) fn syntax(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
        ConfigError::Syntax {
            path: path.to_owned(),
            line: error.span().map(|span| line_of(text, span.start)),
            message: error.message().trim_end().replace('\n', ", "),
        }
    }
}

impl Diagnose for ConfigError {
    fn fault(&self) -> Fault {
        match self {
            ConfigError::Unreadable { .. } => Fault::Failure,
            _ => Fault::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ConfigError::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Some("give the path of a configuration file, or --inner and --link".to_owned())
            }
            ConfigError::InFile { problem, .. } | ConfigError::InArguments { problem, .. } => problem.hint(),
            _ => None,
        }
    }
}

/// A key of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The link, with its name; `None` for the daemon's own keys.
    pub link: Option<(usize, String)>,
    /// Path of the key within that, like `parameters.pause`; empty for the whole.
    pub key: &'static str,
}

impl Place {
    /// The command line option for this key.
    pub fn option(&self) -> String {
        let option = match self.key.rsplit_once('.') {
            Some(("fallback", "enabled")) => "fallback".to_owned(),
            Some(("fallback", name)) => format!("fallback-{name}"),
            Some(("protect", "classes")) => "class".to_owned(),
            Some(("failover", "detection")) => "failure-detection".to_owned(),
            Some(("failover", "return-after")) => "failover-return-after".to_owned(),
            Some((_, name)) => name.to_owned(),
            None => self.key.to_owned(),
        };
        format!("--{option}")
    }

    /// The line of the key, or of the nearest table around it.
    pub(super) fn line_in(&self, text: &str) -> Option<usize> {
        let root = DeTable::parse(text).ok()?;
        let mut table: &DeTable<'_> = root.get_ref();
        let mut at = None;
        if let Some((index, _)) = &self.link {
            let links = table.get("link")?;
            let link = links.get_ref().get(*index)?;
            at = Some(link.span().start);
            let DeValue::Table(inside) = link.get_ref() else { return at.map(|at| line_of(text, at)) };
            table = inside;
        }
        for part in self.key.split('.') {
            let Some((key, value)) = table.get_key_value(part) else { break };
            at = Some(key.span().start);
            let DeValue::Table(inside) = value.get_ref() else { break };
            table = inside;
        }
        at.map(|at| line_of(text, at))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.link {
            Some((_, name)) if self.key.is_empty() => write!(f, "link {name}"),
            Some((_, name)) => write!(f, "link {name}: {}", self.key),
            None => f.write_str(self.key),
        }
    }
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    #[error("no link is configured; add a [[link]] table with `inner` and `link`")]
    NoLink,
    #[error(
        "`{name}` is not a name for a link: 1 to 32 letters, digits, `-`, `_` and `.`, not starting with `.` or `-`"
    )]
    LinkName { name: String },
    #[error("another link already has this name")]
    LinkNameTaken,
    #[error(
        "`{name}` is not an interface name: 1 to {limit} characters, no `/`, `:`, white space or control characters"
    )]
    InterfaceName { name: String, limit: usize },
    #[error("`{interface}` is also the inner port of this link; the two ports must differ")]
    InnerIsLink { interface: String },
    #[error("`{interface}` is already a port of link {other}")]
    InterfaceTaken { interface: String, other: String },
    #[error("requires `backup`, the interface of a second link; add it, or remove this")]
    WithoutBackup,
    #[error("a second link requires the transparent format, but this link uses the {format} format")]
    BackupFormat { format: Format },
    #[error("`{interface}` is also another port of this link; the three ports must differ")]
    BackupTaken { interface: String },
    #[error("cannot be used with `copies`, which fixes the number of copies; remove one of them")]
    BesideCopies,
    #[error("{field} already has a mode")]
    ClassTwice { field: ClassField },
    #[error("needs two modes, and the {format} format carries one at a time")]
    OneMode { format: Format },
    /// A value that is out of its range. Its name is that of the place.
    #[error("{}: {}", .0.value, .0.requirement)]
    Value(ParameterError),
}

impl Problem {
    /// A key whose value is out of its range, with what is wrong with it.
    pub(super) fn value(
        key: &'static str,
        value: impl fmt::Display,
        requirement: impl Into<String>,
    ) -> (&'static str, Problem) {
        (key, Problem::Value(ParameterError::new(key, value, requirement)))
    }
}

impl Diagnose for Problem {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            Problem::OneMode { .. } => {
                Some(format!("remove the classes, or set the format to {}", Format::Transparent))
            }
            Problem::BackupFormat { .. } => Some(format!("set the format to {}", Format::Transparent)),
            Problem::InterfaceName { limit, .. } if *limit == HOST_PORT_NAME_BYTES_MAX => {
                Some("create:NAME makes a pair `NAME` and `lm-NAME`; both must fit 15 characters".to_owned())
            }
            Problem::LinkNameTaken => Some("give it a name of its own with `name`".to_owned()),
            Problem::InterfaceTaken { .. } => Some("each link needs two separate interfaces".to_owned()),
            _ => None,
        }
    }
}
