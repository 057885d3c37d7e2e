//! Text that others wrote, as it may stand in a terminal, a log, a table or a page.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character shows as itself and changes nothing around it. Control characters drive terminals and break lines,
/// marks of direction swap what is read, and invisible ones let two names look the same.
pub fn is_printable(c: char) -> bool {
    let deceives = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    !c.is_control() && !deceives
}

/// A name or a message on one line. What is not printable is escaped as in JSON (`\u202e`), so a JSON text stays one.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_printable)
}

/// A whole document, which keeps its line breaks and tabs.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_printable(c) || c == '\n' || c == '\t')
}

/// The beginning of a text that may be long, of at most `most` characters before they are escaped.
pub fn excerpt(text: &str, most: usize) -> String {
    let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
    printable(&text[..end]).into_owned()
}

fn escaped(text: &str, keep: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&keep) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if keep(c) => harmless.push(c),
            '\n' => harmless.push_str("\\n"),
            '\r' => harmless.push_str("\\r"),
            '\t' => harmless.push_str("\\t"),
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                write!(harmless, "\\u{unit:04x}").expect("a string takes everything");
            }),
        }
    }
    Cow::Owned(harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_and_what_deceives_readers_is_escaped() {
        assert_eq!(printable("\u{1b}[31mred\u{7f}\r\n"), "\\u001b[31mred\\u007f\\r\\n");
        assert_eq!(printable("\u{9b}2J leaf\u{202e}1\u{2028}"), "\\u009b2J leaf\\u202e1\\u2028");
        assert_eq!(printable("a\u{e0041}"), "a\\udb40\\udc41");
        assert_eq!(printable_lines("a\tb\nc\u{1b}"), "a\tb\nc\\u001b");
        assert_eq!(excerpt("\u{7}abc", 2), "\\u0007a");
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        let text = "Zürich—leaf1 \"é\" \\ 東京 עברית 🙂";
        assert!(matches!(printable(text), Cow::Borrowed(same) if same == text));
    }
}
