//! Estimates the width of text. No font is available, so widths are those of a wide common sans-serif: a label may get
//! more room than it needs, but not less.

/// Width of `text` at `size` pixels.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// Width of `text` in the heavier weight of titles.
pub(crate) fn bold_width(text: &str, size: f64) -> f64 {
    width(text, size) * BOLD
}

/// How much wider the weight of titles is, in the widest common font (DejaVu Sans).
pub(crate) const BOLD: f64 = 1.16;

/// Truncates `text` to `available` pixels; an ellipsis marks the cut.
pub(crate) fn fit(text: &str, size: f64, available: f64) -> String {
    if width(text, size) <= available {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        if width(&kept, size) + (em(character) + em('…')) * size > available {
            break;
        }
        kept.push(character);
    }
    format!("{}…", kept.trim_end())
}

/// Breaks `text` at spaces into at most `max_lines` lines of at most `available` pixels. Wider words are truncated, and
/// the last line ends in an ellipsis if text is left over.
pub(crate) fn wrap(text: &str, size: f64, available: f64, max_lines: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let full = lines.len() == max_lines;
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + em(' ') * size <= available => {
                line.push(' ');
                line.push_str(word);
            }
            Some(line) if full => {
                *line = fit(&format!("{line} {word}"), size, available);
                break;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| fit(line, size, available)).collect()
}

fn em(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '\'' | '|' => 0.28,
        ' ' | '.' | ',' | ':' | ';' | '!' => 0.32,
        'f' | 't' | 'r' | 'I' | '(' | ')' | '[' | ']' | '/' | '-' => 0.4,
        '⁰'..='⁹' | '⁻' | '²' | '³' | '¹' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '→' | '–' => 0.95,
        'A'..='Z' => 0.7,
        c if c.is_ascii() => 0.62,
        c if (c as u32) < 0x1100 => 0.66,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_and_cuts() {
        assert_eq!(wrap("", 12.0, 100.0, 2), Vec::<String>::new());
        assert_eq!(wrap("one two", 12.0, 1000.0, 2), ["one two"]);
        let lines = wrap("ordered retransmission with tail loss detection", 12.0, 120.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('…'), "{lines:?}");
        assert!(lines.iter().all(|line| width(line, 12.0) <= 120.0), "{lines:?}");
    }
}
