//! Writes data to standard output, and remarks to standard error.

use crate::written_file::{WriteError, cannot_write};
use linkmend_diagnose::printable_lines;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// How long a remark waits for a reader that does not read.
const REMARK_PATIENCE_MS: u16 = 1_000;

/// `text` without what a terminal would obey, except line breaks and, on request, the colours of tables.
fn harmless(text: &str, with_colours: bool) -> Cow<'_, str> {
    if !with_colours {
        return printable_lines(text);
    }
    let is_colour = |piece: &str| {
        let code = piece.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        code.is_some_and(|(code, _)| code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
    };
    let pieces = text.split('\x1b').enumerate().map(|(index, piece)| match index {
        0 => printable_lines(piece).into_owned(),
        _ if is_colour(piece) => format!("\x1b{}", printable_lines(piece)),
        _ => printable_lines(&format!("\x1b{piece}")).into_owned(),
    });
    Cow::Owned(pieces.collect())
}

/// Writes `text`, with a newline at its end.
///
/// # Errors
/// [`WriteError`]; its source is [`io::ErrorKind::BrokenPipe`] if the reader has left.
pub fn print(text: &str) -> Result<(), WriteError> {
    let mut out = io::stdout().lock();
    let text = harmless(text, terminal(0).1);
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
        let _ = out.write_all(printable_lines(text).as_bytes());
    }
}

/// The width of the terminal, or `alternative` if there is none, and whether to use colour.
pub fn terminal(alternative: usize) -> (usize, bool) {
    let on_terminal = io::stdout().is_terminal() && obeys_sequences(std::env::var_os("TERM").as_deref());
    let colour = on_terminal && std::env::var_os("NO_COLOR").is_none();
    (size().map_or(alternative, |(columns, _)| columns), colour)
}

/// Whether a terminal of this kind (`TERM`) obeys sequences that move its cursor or change colours. indicatif draws its
/// progress bars by the same rule.
fn obeys_sequences(kind: Option<&OsStr>) -> bool {
    kind.is_some_and(|kind| kind != "dumb")
}

/// Columns and lines of the terminal that standard output is.
fn size() -> Option<(usize, usize)> {
    let (columns, lines) = terminal_size::terminal_size_of(io::stdout())?;
    Some((columns.0.into(), lines.0.into()))
}

/// Shows `text` on the terminal in place of what is there, as much of it as fits; below what is there if the terminal
/// cannot move its cursor.
///
/// # Errors
/// [`WriteError`].
pub fn redraw(text: &str) -> Result<(), WriteError> {
    if !obeys_sequences(std::env::var_os("TERM").as_deref()) {
        return print(&format!("{text}\n"));
    }
    let (columns, lines) = size().unwrap_or((80, 24));
    let mut out = io::stdout().lock();
    let written = out.write_all(screen(text, columns, lines).as_bytes()).and_then(|()| out.flush());
    written.map_err(cannot_write(Path::new("standard output")))
}

/// What a terminal of this size has to be sent. Each line overwrites the one that was there, so that nothing flickers.
fn screen(text: &str, columns: usize, lines: usize) -> String {
    const HOME: &str = "\x1b[H";
    const CLEAR_LINE: &str = "\x1b[K";
    const CLEAR_BELOW: &str = "\x1b[J";
    // The cursor stands on the last line.
    let shown = harmless(text, false);
    let shown = shown.lines().take(lines.saturating_sub(1)).map(|line| {
        let line: String = line.chars().take(columns).collect();
        format!("{line}{CLEAR_LINE}\r\n")
    });
    format!("{HOME}{}{CLEAR_BELOW}", shown.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::{harmless, obeys_sequences, screen};
    use std::ffi::OsStr;

    #[test]
    fn only_colours_reach_a_terminal_and_nothing_a_file() {
        let text = "\x1b[1;31mred\x1b[0m\x1b]0;title\x07\u{202e}\n";
        assert_eq!(harmless(text, true), "\x1b[1;31mred\x1b[0m\\u001b]0;title\\u0007\\u202e\n");
        assert_eq!(harmless(text, false), "\\u001b[1;31mred\\u001b[0m\\u001b]0;title\\u0007\\u202e\n");
    }

    #[test]
    fn a_dumb_terminal_and_an_unknown_one_get_no_sequences() {
        let obeys = |kind: &str| obeys_sequences(Some(OsStr::new(kind)));
        assert!(obeys("xterm-256color") && obeys("linux") && !obeys("dumb") && !obeys_sequences(None));
    }

    #[test]
    fn a_screen_is_what_fits_and_obeys_no_name() {
        assert_eq!(
            screen("one\u{1b}[2J\nlonger than it is wide\nthree\n", 10, 3),
            "\x1b[Hone\\u001b[\x1b[K\r\nlonger tha\x1b[K\r\n\x1b[J"
        );
        for (columns, lines) in [(0, 0), (1, 1), (300, 100)] {
            assert!(screen("a\nb\n", columns, lines).ends_with("\x1b[J"));
        }
    }
}
