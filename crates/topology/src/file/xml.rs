//! XML with line numbers and limits.

use super::{TopologyFault, TopologyFileError};
use roxmltree::{Document, Node, ParsingOptions};

/// The largest number of elements, attributes and texts; a hundred thousand links take a few million.
const MAX_NODES: u32 = 20_000_000;

/// Deepest nesting of elements. The formats need ten.
const MAX_DEPTH: usize = 100;

/// The local name of the first element, without reading further.
pub(super) fn root(text: &str) -> Option<String> {
    let mut rest = text;
    loop {
        rest = rest.trim_start().strip_prefix('<')?;
        let skipped = match rest.as_bytes().first()? {
            b'?' => rest.split_once("?>")?.1,
            b'!' if rest.starts_with("!--") => rest.split_once("-->")?.1,
            b'!' => {
                let end = rest.find('>')?;
                // A document type may hold declarations in brackets.
                if rest[..end].contains('[') { rest.split_once("]>")?.1 } else { &rest[end + 1..] }
            }
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))?;
                let name = &rest[..end];
                let local = name.rsplit_once(':').map_or(name, |(_, local)| local);
                return Some(local.to_owned()).filter(|local| !local.is_empty());
            }
        };
        rest = skipped;
    }
}

/// A document and its lines.
pub(super) struct Xml<'a> {
    pub document: Document<'a>,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl<'a> Xml<'a> {
    pub fn parse(text: &'a str, file: &str) -> Result<Xml<'a>, TopologyFileError> {
        let refuse =
            |reason: String, line: u32| TopologyFault::form(reason).at(file, (line > 0).then_some(line));
        if let Some(line) = too_deep(text) {
            return Err(refuse(format!("elements are nested more than {MAX_DEPTH} deep"), line));
        }
        let options =
            ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options).map_err(|error| {
            let message = error.to_string();
            // The line already stands before the message.
            let reason = message.rfind(" at ").map_or(&message[..], |end| &message[..end]).to_owned();
            let last = text.lines().count().max(1) as u32;
            refuse(reason, error.pos().row.min(last))
        })?;
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Ok(Xml { document, lines })
    }

    pub fn line(&self, node: Node<'_, '_>) -> u32 {
        let at = node.range().start;
        u32::try_from(self.lines.partition_point(|start| *start <= at)).unwrap_or(u32::MAX)
    }
}

/// The line at which elements are nested too deep for a parser that may recurse.
fn too_deep(text: &str) -> Option<u32> {
    let bytes = text.as_bytes();
    let (mut depth, mut line) = (0_usize, 1_u32);
    for (at, byte) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1);
        match (byte, next) {
            (b'\n', _) => line = line.saturating_add(1),
            (b'<', Some(b'/')) | (b'/', Some(b'>')) => depth = depth.saturating_sub(1),
            (b'<', Some(b'!' | b'?')) => {}
            (b'<', _) => depth += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Some(line);
        }
    }
    None
}

/// The first child element of this local name.
pub(super) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.is_element() && child.tag_name().name() == name)
}

/// All child elements of this local name.
pub(super) fn children<'a, 'i>(node: Node<'a, 'i>, name: &'a str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// The text of a child element.
pub(super) fn text<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    child(node, name)?.text().map(str::trim).filter(|text| !text.is_empty())
}
