//! Errors as people read them: what, because of what, and what to do.

use linkmend_dataplane::PortError;
use linkmend_dataplane::config::{ConfigError, DeviceError, HostPortError};
use linkmend_dataplane::control::{ClientError, SocketError};
use linkmend_experiment::ExperimentError;
use std::fmt;
use std::io;
use std::process::ExitCode;

/// The command line or the configuration is wrong, not the world.
const USAGE: u8 = 2;

/// A use of the command line that clap could not refuse itself.
#[derive(Debug)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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

/// Writes the error to standard error and chooses the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(gone)) {
        // Whoever read our output has seen enough.
        return ExitCode::SUCCESS;
    }
    crate::output::remark(&describe(error));
    let of_usage = error.downcast_ref::<UsageError>().is_some()
        || error
            .downcast_ref::<ConfigError>()
            .is_some_and(|error| !matches!(error, ConfigError::Unreadable { .. }))
        || error
            .downcast_ref::<ExperimentError>()
            .is_some_and(|error| !matches!(error, ExperimentError::Unreadable { .. }));
    if of_usage { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
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
    if let Some(hint) = error.chain().find_map(hint) {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text
}

fn hint(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    None.or_else(|| cause.downcast_ref::<Hinted>().map(|error| error.hint.clone()))
        .or_else(|| cause.downcast_ref::<ConfigError>().and_then(ConfigError::hint))
        .or_else(|| cause.downcast_ref::<DeviceError>().and_then(DeviceError::hint))
        .or_else(|| cause.downcast_ref::<HostPortError>().and_then(HostPortError::hint))
        .or_else(|| cause.downcast_ref::<PortError>().and_then(PortError::hint))
        .or_else(|| cause.downcast_ref::<SocketError>().and_then(SocketError::hint))
        .or_else(|| cause.downcast_ref::<ClientError>().and_then(ClientError::hint))
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
    fn nothing_is_said_twice() {
        let cause = anyhow::anyhow!("no route").context("cannot connect: no route");
        assert_eq!(describe(&cause), "error: cannot connect: no route\n");
    }
}
