//! Errors as people read them: what, because of what, and what to do.

use linkmend_dataplane::PortError;
use linkmend_dataplane::config::{ConfigError, DeviceError, HostPortError};
use linkmend_dataplane::control::{ClientError, SocketError};
use linkmend_experiment::ExperimentError;
use linkmend_fleet::FileError;
use linkmend_topology::file::TopologyFileError;
use linkmend_topology::spec::SpecError;
use std::fmt;
use std::io;
use std::process::ExitCode;

/// The command line or the configuration is wrong, not the world.
const USAGE: u8 = 2;

/// What somebody wrote cannot be used, and clap could not refuse it itself.
#[derive(Debug)]
pub struct UsageError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl UsageError {
    /// Without a hint: the message says what would be right.
    pub fn new(message: impl Into<String>) -> UsageError {
        UsageError { message: message.into(), hint: None }
    }

    /// With what to do about it, where there is something.
    pub fn hinted(message: impl Into<String>, hint: impl Into<Option<String>>) -> UsageError {
        UsageError { message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {}

/// Something went wrong, and there is something to be done about it that the error itself does not know.
#[derive(Debug)]
pub struct Hinted {
    /// What went wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Hinted {}

/// What an error says of itself beyond its message.
struct Diagnosis {
    /// What to do about it.
    hint: Option<String>,
    /// Whether what somebody wrote is wrong, and not the world.
    is_usage: bool,
}

/// Writes the error to standard error and chooses the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(gone)) {
        // Whoever read our output has seen enough.
        return ExitCode::SUCCESS;
    }
    crate::output::remark(&describe(error));
    if outermost(error).is_some_and(|diagnosis| diagnosis.is_usage) {
        ExitCode::from(USAGE)
    } else {
        ExitCode::FAILURE
    }
}

fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for cause in error.chain() {
        let message = cause.to_string();
        // Errors that show their source in their own message would say it twice.
        if !last.ends_with(&message) {
            let label = if text.is_empty() { "error" } else { "  caused by" };
            text.push_str(&format!("{label}: {}\n", message.trim_end()));
        }
        last = message;
    }
    if let Some(hint) = error.chain().find_map(|cause| diagnosis(cause)?.hint) {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text
}

/// The kinds of errors that say more of themselves than their message: hint, and whether what somebody wrote is wrong.
macro_rules! kinds {
    ($($kind:ty => |$error:ident| ($hint:expr, $is_usage:expr);)*) => {
        /// What one of a chain says of itself.
        fn diagnosis(cause: &(dyn std::error::Error + 'static)) -> Option<Diagnosis> {
            None$(.or_else(|| {
                let $error = cause.downcast_ref::<$kind>()?;
                Some(Diagnosis { hint: $hint, is_usage: $is_usage })
            }))*
        }

        /// What the outermost of a chain says of itself, below the context that was added to it.
        fn outermost(error: &anyhow::Error) -> Option<Diagnosis> {
            None$(.or_else(|| {
                let $error = error.downcast_ref::<$kind>()?;
                Some(Diagnosis { hint: $hint, is_usage: $is_usage })
            }))*
        }
    };
}

kinds! {
    UsageError => |error| (error.hint.clone(), true);
    Hinted => |error| (Some(error.hint.clone()), false);
    ConfigError => |error| (error.hint(), !matches!(error, ConfigError::Unreadable { .. }));
    ExperimentError => |error| (None, error.is_usage());
    SpecError => |error| (error.hint(), true);
    TopologyFileError => |_error| (None, true);
    FileError => |error| (error.hint(), !matches!(error, FileError::Io { .. }));
    DeviceError => |error| (error.hint(), false);
    HostPortError => |error| (error.hint(), false);
    PortError => |error| (error.hint(), false);
    SocketError => |error| (error.hint(), false);
    ClientError => |error| (error.hint(), false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn an_error_is_a_chain_and_a_hint() {
        let port = PortError::UnknownInterface { interface: "eth9".to_owned() };
        let error = Err::<(), _>(port).context("link up: cannot open its ports").expect_err("an error");
        let expected = "error: link up: cannot open its ports\n  \
                        caused by: interface eth9: no such interface in this network namespace\n\
                        hint: list the interfaces with `ip link`\n";
        assert_eq!(describe(&error), expected);
    }

    #[test]
    fn a_hint_is_a_part_of_the_error_and_an_exit_code_follows_from_its_kind() {
        let spec = linkmend_topology::spec::layered("fat-tree:k=4,k=8").expect_err("twice");
        let error = anyhow::Error::from(spec).context("which network");
        let text = describe(&error);
        assert!(text.ends_with("hint: leave one of them out\n"), "{text}");
        assert!(outermost(&error).is_some_and(|diagnosis| diagnosis.is_usage));
        let gone = FileError::Io { file: "x".to_owned(), source: io::ErrorKind::NotFound.into() };
        assert!(outermost(&gone.into()).is_some_and(|diagnosis| !diagnosis.is_usage));
    }

    #[test]
    fn nothing_is_said_twice() {
        let cause = anyhow::anyhow!("no route").context("cannot connect: no route");
        assert_eq!(describe(&cause), "error: cannot connect: no route\n");
    }
}
