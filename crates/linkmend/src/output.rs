//! Data on standard output.

use std::io::{self, Write};

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
