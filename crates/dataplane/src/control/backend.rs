//! Translates requests to commands of link ends.

use crate::capture::Capture;
use crate::command::{Command, CommandError, CommandResult};
use crate::config::{HeaderFormat, protection, validate_protection};
use linkmend_control::capture::CaptureOptions;
use linkmend_control::{
    ErrorKind, ErrorReply, LinkReport, PROTOCOL_VERSION, ProtectConfig, ProtectMode, Request, Response,
};
use linkmend_diagnose::Diagnose;

/// The links of a daemon, as the socket's requests use them.
pub trait Backend: Send + Sync + 'static {
    /// The names of the links, in the order of the configuration.
    fn links(&self) -> Vec<String>;
    /// Gives one of them a command; `None` if there is no such link.
    fn command(&self, link: &str, command: Command) -> Option<CommandResult>;
    /// Begins a capture of one of them; `None` if there is no such link.
    fn capture(&self, link: &str, options: CaptureOptions) -> Option<Result<Capture, CommandError>>;
    /// Protects the sending direction of one of them, or ends that; `None` if there is no such link.
    fn protect(&self, link: &str, protect: &ProtectConfig) -> Option<CommandResult> {
        self.command(link, protect_command(protect))
    }
}

pub(super) fn protect_command(protect: &ProtectConfig) -> Command {
    protection(protect).map_or(Command::Unprotect, Command::Protect)
}

/// Answers one line. Never fails: anything that makes no sense is answered with [`Response::Error`].
pub fn answer(backend: &dyn Backend, line: &[u8]) -> Response {
    tracing::debug!("client request: {}", line.escape_ascii());
    match serde_json::from_slice(line) {
        Ok(request) => serve(backend, request).unwrap_or_else(Response::Error),
        Err(error) => {
            Response::Error(ErrorReply::new(ErrorKind::Malformed, format!("malformed request: {error}")))
        }
    }
}

fn serve(backend: &dyn Backend, request: Request) -> Result<Response, ErrorReply> {
    match request {
        Request::Version {} => Ok(Response::Version {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL_VERSION,
            pid: std::process::id(),
            links: backend.links(),
        }),
        Request::Status { link } => each(backend, link, &Command::Report),
        Request::ResetExtremes { link } => each(backend, link, &Command::ResetExtremes),
        Request::Unprotect { link } => {
            let off = ProtectConfig { mode: ProtectMode::Off, ..ProtectConfig::default() };
            answered(backend, &link, backend.protect(&link, &off))
        }
        Request::Protect { link, protect } => {
            // The link end knows the format, and checks the modes against it.
            if let Err((key, problem)) = validate_protection(&protect, HeaderFormat::Transparent) {
                let message = format!("link {link}: {key}: {problem}");
                return Err(ErrorReply {
                    hint: problem.hint(),
                    ..ErrorReply::new(ErrorKind::Invalid, message)
                });
            }
            answered(backend, &link, backend.protect(&link, &protect))
        }
        // A capture needs its own connection, which this function does not have.
        Request::Capture { .. } => {
            Err(ErrorReply::new(ErrorKind::Invalid, "a capture must be the last request on its connection"))
        }
        Request::Prefer { link, path } => one(backend, &link, Command::Prefer(path)),
        Request::Corrupt { link, corruption, on } => {
            if let Some(Err(error)) = corruption.map(|model| model.validate()) {
                return Err(ErrorReply::new(ErrorKind::Invalid, format!("link {link}: {error}")));
            }
            let command = match on {
                Some(path) => Command::CorruptPath(path, corruption),
                None => Command::Corrupt(corruption),
            };
            one(backend, &link, command)
        }
    }
}

fn each(backend: &dyn Backend, link: Option<String>, command: &Command) -> Result<Response, ErrorReply> {
    if let Some(link) = link {
        return one(backend, &link, command.clone());
    }
    let mut links = Vec::new();
    for link in backend.links() {
        links.push(report(backend, &link, command.clone())?);
    }
    Ok(Response::Links { links })
}

fn one(backend: &dyn Backend, link: &str, command: Command) -> Result<Response, ErrorReply> {
    report(backend, link, command).map(|report| Response::Links { links: vec![report] })
}

fn answered(
    backend: &dyn Backend,
    link: &str,
    result: Option<CommandResult>,
) -> Result<Response, ErrorReply> {
    report_of(backend, link, result).map(|report| Response::Links { links: vec![report] })
}

fn report(backend: &dyn Backend, link: &str, command: Command) -> Result<LinkReport, ErrorReply> {
    report_of(backend, link, backend.command(link, command))
}

fn report_of(
    backend: &dyn Backend,
    link: &str,
    result: Option<CommandResult>,
) -> Result<LinkReport, ErrorReply> {
    let Some(result) = result else { return Err(unknown(backend, link)) };
    result.map(|report| *report).map_err(|error| refused(&error))
}

/// Begins a capture.
pub(super) fn capture(
    backend: &dyn Backend,
    link: &str,
    options: CaptureOptions,
) -> Result<Capture, ErrorReply> {
    let Some(result) = backend.capture(link, options) else { return Err(unknown(backend, link)) };
    result.map_err(|error| refused(&error))
}

fn unknown(backend: &dyn Backend, link: &str) -> ErrorReply {
    let names = backend.links().join(", ");
    ErrorReply::new(ErrorKind::UnknownLink, format!("there is no link `{link}` here"))
        .with_hint(format!("this daemon serves {names}"))
}

fn refused(error: &CommandError) -> ErrorReply {
    let kind = match error {
        CommandError::CorruptionNotAllowed { .. } => ErrorKind::NotAllowed,
        CommandError::OneMode { .. }
        | CommandError::DeadlineWithoutUdp { .. }
        | CommandError::NoBackup { .. }
        | CommandError::Corruption { .. }
        | CommandError::CaptureFilter { .. } => ErrorKind::Invalid,
        CommandError::TooManyCaptures { .. } => ErrorKind::Busy,
        CommandError::NoAnswer { .. } | CommandError::Stopped { .. } | CommandError::Gone { .. } => {
            ErrorKind::Stopped
        }
    };
    ErrorReply { hint: error.hint(), ..ErrorReply::new(kind, error.to_string()) }
}
