//! Errors as people read them: what failed, why, and what to do about it.

use linkmend_diagnose::{Diagnose, Fault};
use std::fmt::{self, Display};
use std::io;
use std::process::ExitCode;

/// The error that ends a command. It knows whose fault it is, and what was being done when it occurred.
#[derive(Debug)]
pub struct Error {
    /// What was being done, the innermost first.
    context: Vec<String>,
    cause: Box<dyn Diagnose + Send + Sync>,
}

/// The result of a command.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl<E: Diagnose + Send + Sync + 'static> From<E> for Error {
    fn from(cause: E) -> Error {
        Error { context: Vec::new(), cause: Box::new(cause) }
    }
}

impl Error {
    /// Adds what was being done.
    pub fn context(mut self, context: impl Into<String>) -> Error {
        self.context.push(context.into());
        self
    }

    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        self.cause.fault()
    }

    /// What to do about it, if that is known.
    pub fn hint(&self) -> Option<String> {
        self.cause.hint()
    }

    /// What was being done, the outermost first, then the error and its causes.
    fn chain(&self) -> Vec<String> {
        let mut texts: Vec<String> = self.context.iter().rev().cloned().collect();
        let mut cause: Option<&dyn std::error::Error> = Some(&*self.cause);
        while let Some(error) = cause {
            texts.push(error.to_string());
            cause = error.source();
        }
        texts
    }

    /// Whether the reader of our output has left.
    fn is_broken_pipe(&self) -> bool {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*self.cause);
        while let Some(error) = cause {
            let system = error.downcast_ref::<io::Error>();
            if system.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
                return true;
            }
            cause = error.source();
        }
        false
    }
}

/// The outermost message; with `#`, the whole chain on one line.
impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chain = self.chain();
        let shown = if f.alternate() { chain.len() } else { 1 };
        f.write_str(&chain[..shown].join(": "))
    }
}

/// Adds to an error what was being done.
pub trait Context<T> {
    /// Adds a text that already exists.
    ///
    /// # Errors
    /// The same error with that text.
    fn context(self, context: impl Into<String>) -> Result<T>;
    /// Adds a text that is only composed if there is an error.
    ///
    /// # Errors
    /// The same error with that text.
    fn with_context<C: Into<String>>(self, context: impl FnOnce() -> C) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for std::result::Result<T, E> {
    fn context(self, context: impl Into<String>) -> Result<T> {
        self.map_err(|error| error.into().context(context))
    }

    fn with_context<C: Into<String>>(self, context: impl FnOnce() -> C) -> Result<T> {
        self.map_err(|error| error.into().context(context()))
    }
}

/// A value cannot be used, and clap could not refuse it.
#[derive(Debug)]
pub struct UsageError {
    pub message: String,
    /// What to do about it, if anything.
    pub hint: Option<String>,
}

impl UsageError {
    /// An error without a hint, because the message says what would be right.
    pub fn new(message: impl Into<String>) -> UsageError {
        UsageError { message: message.into(), hint: None }
    }

    /// An error with a hint, if there is one.
    pub fn hinted(message: impl Into<String>, hint: impl Into<Option<String>>) -> UsageError {
        UsageError { message: message.into(), hint: hint.into() }
    }
}

impl Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for UsageError {}

impl Diagnose for UsageError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

/// Something failed, and what to do about it is not known to the error itself.
#[derive(Debug)]
pub struct Hinted {
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Hinted {
    /// The error of a command.
    pub fn error(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Hinted { message: message.into(), hint: hint.into() }.into()
    }
}

impl Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Hinted {}

impl Diagnose for Hinted {
    fn hint(&self) -> Option<String> {
        Some(self.hint.clone())
    }
}

/// Somebody ended the command before it was done.
#[derive(Debug)]
pub struct Interrupted {
    pub message: String,
    /// How to go on, or what takes less time.
    pub hint: String,
}

impl Interrupted {
    /// The error of a command.
    pub fn error(message: impl Into<String>, hint: impl Into<String>) -> Error {
        Interrupted { message: message.into(), hint: hint.into() }.into()
    }
}

impl Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Interrupted {}

impl Diagnose for Interrupted {
    fn fault(&self) -> Fault {
        Fault::Interruption
    }

    fn hint(&self) -> Option<String> {
        Some(self.hint.clone())
    }
}

/// A failure about which there is nothing to say beyond its message.
#[derive(Debug)]
pub struct Plain(pub String);

impl Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Plain {}

impl Diagnose for Plain {}

/// Writes the error to standard error and chooses the exit code.
pub fn report(error: &Error) -> ExitCode {
    if error.is_broken_pipe() {
        // The reader of the output has seen enough.
        return ExitCode::SUCCESS;
    }
    crate::output::remark(&describe(error));
    ExitCode::from(error.cause.fault().exit_code())
}

fn describe(error: &Error) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for message in error.chain() {
        // Some errors contain the message of their source; it is not repeated.
        if !last.ends_with(&message) {
            let label = if text.is_empty() { "error" } else { "  caused by" };
            text.push_str(&format!("{label}: {}\n", message.trim_end()));
        }
        last = message;
    }
    if let Some(hint) = error.cause.hint() {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_dataplane::{PortError, StartError};
    use linkmend_fleet::FileError;

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
    fn an_error_that_wraps_another_passes_its_hint_on() {
        let source = PortError::UnknownInterface { interface: "eth9".to_owned() };
        let error = Error::from(StartError::Port { link: "up".to_owned(), source });
        let text = describe(&error);
        assert!(text.ends_with("hint: list the interfaces with `ip link`\n"), "{text}");
    }

    #[test]
    fn a_hint_is_a_part_of_the_error_and_an_exit_code_follows_from_its_kind() {
        let spec = linkmend_topology::spec::layered("fat-tree:k=4,k=8").expect_err("twice");
        let error = Error::from(spec).context("which network");
        let text = describe(&error);
        assert!(text.ends_with("hint: leave one of them out\n"), "{text}");
        assert_eq!(error.cause.fault(), Fault::Usage);
        let gone = FileError::Io { file: "x".to_owned(), source: io::ErrorKind::NotFound.into() };
        assert_eq!(Error::from(gone).cause.fault(), Fault::Failure);
    }

    #[test]
    fn nothing_is_said_twice() {
        let cause = Error::from(Plain("no route".to_owned())).context("cannot connect: no route");
        assert_eq!(describe(&cause), "error: cannot connect: no route\n");
    }

    #[test]
    fn an_output_that_nobody_reads_is_no_error() {
        let gone = io::Error::from(io::ErrorKind::BrokenPipe);
        let error = Error::from(FileError::Io { file: "x".to_owned(), source: gone }).context("writing");
        assert!(error.is_broken_pipe());
    }
}
