//! Words of a line of GOAL, without comments.

/// Takes comments out of lines; one between `/*` and `*/` may span several.
#[derive(Debug, Default)]
pub(super) struct Comments {
    open: bool,
}

impl Comments {
    /// The words of the next line.
    pub fn words<'a>(&mut self, mut line: &'a str) -> Vec<&'a str> {
        let mut words = Vec::new();
        loop {
            if self.open {
                let Some((_, after)) = line.split_once("*/") else { return words };
                self.open = false;
                line = after;
            }
            let [to_end, to_mark] = ["//", "/*"].map(|mark| line.find(mark).unwrap_or(line.len()));
            split(&line[..to_end.min(to_mark)], &mut words);
            if to_mark >= to_end {
                return words;
            }
            self.open = true;
            line = &line[to_mark + 2..];
        }
    }
}

/// Splits a text into identifiers, numbers and signs. A number ends where its digits end: `10b` is two words.
fn split<'a>(mut text: &'a str, words: &mut Vec<&'a str>) {
    loop {
        text = text.trim_ascii_start();
        let Some(first) = text.chars().next() else { return };
        let part_of_word = |c: char| match first {
            _ if first.is_ascii_digit() => c.is_ascii_digit(),
            _ => c.is_ascii_alphanumeric() || c == '_',
        };
        let rest = &text[first.len_utf8()..];
        let end = match first.is_ascii_alphanumeric() || first == '-' {
            true => rest.find(|c| !part_of_word(c)).unwrap_or(rest.len()),
            false => 0,
        };
        let (word, after) = text.split_at(first.len_utf8() + end);
        words.push(word);
        text = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_words_and_numbers_end_with_their_digits() {
        let mut comments = Comments::default();
        assert_eq!(comments.words("l1:send 10b to 1 // tag 2"), ["l1", ":", "send", "10", "b", "to", "1"]);
        assert_eq!(comments.words("a/*b*/c /* // d"), ["a", "c"]);
        assert!(comments.words("e").is_empty());
        assert_eq!(comments.words("f */ recv -1 é}"), ["recv", "-1", "é", "}"]);
    }
}
