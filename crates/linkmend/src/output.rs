//! Data on standard output.

use std::io::{self, IsTerminal, Write};

/// Writes `text` and a newline if it has none at its end.
///
/// # Errors
/// What the system says; a reader that has left is [`io::ErrorKind::BrokenPipe`].
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Width to lay a table out for, and whether to use colour; `otherwise` is the width where there is no terminal.
pub fn terminal(otherwise: usize) -> (usize, bool) {
    let on_terminal = io::stdout().is_terminal();
    let width = ratatui::crossterm::terminal::size().ok().filter(|_| on_terminal);
    let colour = on_terminal && std::env::var_os("NO_COLOR").is_none();
    (width.map_or(otherwise, |(columns, _)| usize::from(columns)), colour)
}
