//! Wraps paragraphs for terminals.

/// Breaks the paragraph at spaces into lines of at most `width` characters; a longer word gets a line of its own.
pub fn wrap(paragraph: &str, width: usize) -> String {
    let mut text = String::with_capacity(paragraph.len());
    let mut used = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if used == 0 {
            used = length;
        } else if used + 1 + length > width {
            text.push('\n');
            used = length;
        } else {
            text.push(' ');
            used += 1 + length;
        }
        text.push_str(word);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_are_no_longer_than_asked_for_unless_a_word_is() {
        assert_eq!(wrap("to be  or not", 5), "to be\nor\nnot");
        assert_eq!(wrap("a µs-precise clock", 12), "a µs-precise\nclock");
        assert_eq!(wrap("one-long-word b", 4), "one-long-word\nb");
        assert_eq!(wrap(" ", 4), "");
    }
}
