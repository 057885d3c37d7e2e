//! Lines, words and numbers.

use super::error::{InputError, InputFault};
use linkmend_diagnose::{ParameterError, line_of};

/// The largest file.
pub const MAX_FILE_BYTES: usize = 1 << 30;

/// A file as text.
pub(crate) fn text(content: &[u8]) -> Result<&str, InputError> {
    if content.len() > MAX_FILE_BYTES {
        let requirement = format!("must be at most {MAX_FILE_BYTES}B");
        return Err(InputFault::from(ParameterError::new("file size", content.len(), requirement)).anywhere());
    }
    std::str::from_utf8(content).map_err(|error| {
        let valid = String::from_utf8_lossy(&content[..error.valid_up_to()]);
        let line = u32::try_from(line_of(&valid, valid.len())).unwrap_or(u32::MAX);
        InputFault::form("text in UTF-8", "a byte that is none").at(line)
    })
}

/// The lines of a text that are neither empty nor comments, with their numbers from 1. Comments begin with `#`.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// An unsigned number in decimal digits.
pub(crate) fn number(what: &str, text: &str) -> Result<u64, InputFault> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits => Ok(number),
        _ => Err(InputFault::form(format!("{what}, a whole number"), text)),
    }
}

/// A number from `least` to `most`.
pub(crate) fn bounded(what: &'static str, text: &str, least: u64, most: u64) -> Result<u64, InputFault> {
    let number = number(what, text)?;
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(ParameterError::new(what, number, format!("must be from {least} to {most}")).into())
}
