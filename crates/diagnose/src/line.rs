//! Lines of files, as messages name them.

use std::fmt;

/// The number of the line, from 1, in which an offset of a text lies.
pub fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

/// What follows a file's name in a message: `:` and the number of the line, or nothing if there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSuffix(pub Option<usize>);

impl fmt::Display for LineSuffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_lies_in_the_line_that_its_line_breaks_count() {
        let text = "a\nbc\n";
        assert_eq!([0, 1, 2, 4, 5, 100].map(|offset| line_of(text, offset)), [1, 1, 2, 2, 3, 3]);
        assert_eq!([Some(7), None].map(|line| LineSuffix(line).to_string()), [":7", ""]);
    }
}
