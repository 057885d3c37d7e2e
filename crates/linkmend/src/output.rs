//! Writes data to standard output, and remarks to standard error.

use crate::written_file::{WriteError, cannot_write};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// How long a remark waits for a reader that does not read.
const REMARK_PATIENCE_MS: u16 = 1_000;

/// Writes `text`, with a newline at its end.
///
/// # Errors
/// [`WriteError`]; its source is [`io::ErrorKind::BrokenPipe`] if the reader has left.
pub fn print(text: &str) -> Result<(), WriteError> {
    let mut out = io::stdout().lock();
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end)).and_then(|()| out.flush());
    written.map_err(cannot_write(Path::new("standard output")))
}

/// Writes `text` to standard error if somebody reads it. A full disk, a reader that has left, or one that stands still
/// is not a reason to fail or to wait.
pub fn remark(text: &str) {
    let mut out = io::stderr().lock();
    let mut ready = [PollFd::new(out.as_fd(), PollFlags::POLLOUT)];
    if poll(&mut ready, PollTimeout::from(REMARK_PATIENCE_MS)).is_ok_and(|count| count > 0) {
        let _ = out.write_all(text.as_bytes());
    }
}

/// The width of the terminal, or `alternative` if there is none, and whether to use colour.
pub fn terminal(alternative: usize) -> (usize, bool) {
    let on_terminal = io::stdout().is_terminal();
    let width = ratatui::crossterm::terminal::size().ok().filter(|_| on_terminal);
    let colour = on_terminal && std::env::var_os("NO_COLOR").is_none();
    (width.map_or(alternative, |(columns, _)| usize::from(columns)), colour)
}
