//! How the cells of a table are separated.

use super::headers;

/// Bytes that separate cells.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// What a spreadsheet writes before the headers to name its separator.
const SEPARATOR_LINE: &str = "sep=";

/// The text without its byte order mark and the line that names its separator, how many lines are missing, and the
/// separator: the one that the header has most of.
pub(super) fn split(text: &str) -> (&str, u32, u8) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(rest) = text.strip_prefix(SEPARATOR_LINE)
        && let Some((line, rest)) = rest.split_once('\n')
        && let Some(separator) =
            SEPARATORS.iter().find(|separator| line.trim_end_matches('\r').as_bytes() == [**separator])
    {
        return (rest, 1, *separator);
    }
    let header = header(text);
    let count = |separator: u8| header.bytes().filter(|byte| *byte == separator).count();
    let most = SEPARATORS.into_iter().rev().max_by_key(|separator| count(*separator));
    (text, 0, most.unwrap_or(b','))
}

/// The first line that is not empty and no comment.
fn header(text: &str) -> &str {
    let is_header = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    text.lines().find(is_header).unwrap_or_default()
}

/// Whether a text begins with the headers of a table of cables.
pub fn is_table(text: &str) -> bool {
    let (text, _, separator) = split(text);
    // Other formats have commas in their first lines, too.
    let is_other = |line: &str| {
        line.contains(": ") || line.starts_with('-') || line.contains(['{', '}', '[', ']', '<', '>'])
    };
    if is_other(header(text)) {
        return false;
    }
    let cells = header(text).split(char::from(separator)).map(|cell| cell.trim().trim_matches('"'));
    let cells: Vec<&str> = cells.collect();
    cells.len() > 1 && headers::is_of_cables(&cells)
}

pub(super) fn reader(text: &str, separator: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .delimiter(separator)
        .comment(Some(b'#'))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes())
}
