//! GML: networkx, yEd, the Internet Topology Zoo.

use super::attributes::{self, Attributes, GraphEdge, GraphNode};
use super::draft::Location;
use super::gather::{Gathering, Order};
use super::graphml::SPEED_HINT;
use super::sketch::Sketch;
use super::{MAX_LINKS, MAX_SWITCHES, TopologyFileError};
use linkmend_diagnose::excerpt;
use std::collections::BTreeMap;

/// Deepest nesting of lists. The format needs three.
const MAX_DEPTH: usize = 32;

/// Whether a text is GML: a graph in brackets, after whatever names its creator.
pub(super) fn is_gml(text: &str) -> bool {
    let mut tokens = Tokens::new(text);
    for _ in 0..16 {
        match (tokens.next(), tokens.peek()) {
            (Some(Ok((_, Token::Word("graph")))), Some(Ok((_, Token::Open)))) => return true,
            (
                Some(Ok((_, Token::Word("Creator" | "Version" | "comment")))),
                Some(Ok((_, Token::Text(_) | Token::Word(_)))),
            ) => {
                tokens.next();
            }
            _ => return false,
        }
    }
    false
}

#[derive(Debug, Clone, PartialEq)]
enum Token<'a> {
    /// A key or a number.
    Word(&'a str),
    Text(&'a str),
    Open,
    Close,
}

#[derive(Clone)]
struct Tokens<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Tokens<'a> {
        Tokens { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 }
    }

    fn peek(&self) -> Option<Result<(u32, Token<'a>), (u32, String)>> {
        self.clone().next()
    }

    fn skip(&mut self) {
        loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            let comment = if self.rest[blank..].starts_with('#') {
                self.rest[blank..].find('\n').unwrap_or(self.rest.len() - blank)
            } else {
                0
            };
            if blank + comment == 0 {
                return;
            }
            self.take(blank + comment);
        }
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line = self.line.saturating_add(taken.bytes().filter(|byte| *byte == b'\n').count() as u32);
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Result<(u32, Token<'a>), (u32, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip();
        let line = self.line;
        let token = match self.rest.bytes().next()? {
            b'[' => {
                self.take(1);
                Token::Open
            }
            b']' => {
                self.take(1);
                Token::Close
            }
            b'"' => match self.rest[1..].find('"') {
                Some(end) => Token::Text(self.take(end + 2).trim_matches('"')),
                None => return Some(Err((line, "a text is not closed by `\"`".to_owned()))),
            },
            _ => {
                let is_end = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"');
                let end = self.rest.find(is_end).unwrap_or(self.rest.len());
                Token::Word(self.take(end))
            }
        };
        Some(Ok((line, token)))
    }
}

/// What a list is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Graph,
    Node,
    Edge,
    /// Something that is not read, at any depth.
    Other,
}

#[derive(Default)]
struct Item {
    attributes: Attributes,
    line: u32,
}

#[derive(Default)]
struct Graph {
    nodes: Vec<Item>,
    edges: Vec<Item>,
    directed: bool,
}

pub(super) fn read(text: &str, file: String) -> Result<Sketch, TopologyFileError> {
    let mut gathering = Gathering::default();
    let number = gathering.file(file);
    let at = |line: u32| Location { file: number, line };
    let graph = parse(text).map_err(|(line, reason)| gathering.form(at(line), reason))?;
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
    for Item { mut attributes, line } in graph.nodes {
        let id = attributes.remove("id").ok_or_else(|| gathering.form(at(line), "a node needs an `id`"))?;
        if by_id.insert(id.clone(), nodes.len()).is_some() {
            return Err(gathering
                .form(at(line), format!("there is already a node with the id `{}`", excerpt(&id, 40))));
        }
        let label = attributes.get("label").or_else(|| attributes.get("name")).cloned();
        nodes.push(GraphNode { id, label, attributes, at: at(line) });
    }
    let mut edges = Vec::with_capacity(graph.edges.len());
    for Item { mut attributes, line } in graph.edges {
        let mut end = |name: &str| {
            let id = attributes.remove(name).ok_or_else(|| format!("an edge needs a `{name}`"))?;
            by_id.get(&id).copied().ok_or_else(|| format!("the {name} `{}` is not a node", excerpt(&id, 40)))
        };
        let ends = end("source").and_then(|source| Ok([source, end("target")?]));
        let ends = ends.map_err(|reason| gathering.form(at(line), reason))?;
        edges.push(GraphEdge { ends, attributes, at: at(line) });
    }
    attributes::add(&mut gathering, &nodes, edges, number)?;
    gathering.finish(if graph.directed { Order::Directed } else { Order::Undirected }, SPEED_HINT)
}

fn parse(text: &str) -> Result<Graph, (u32, String)> {
    let mut graph = Graph::default();
    let mut tokens = Tokens::new(text);
    let mut places = vec![Place::Top];
    while let Some(token) = tokens.next() {
        let (line, key) = match token? {
            (_, Token::Close) if places.len() > 1 => {
                places.pop();
                continue;
            }
            (line, Token::Close) => return Err((line, "`]` has no matching `[`".to_owned())),
            (line, Token::Word(key)) => (line, key),
            (line, _) => return Err((line, "a key is expected here".to_owned())),
        };
        let place = places.last().copied().unwrap_or(Place::Top);
        let value =
            tokens.next().unwrap_or_else(|| Err((line, format!("`{}` has no value", excerpt(key, 40)))))?;
        match value.1 {
            Token::Open if places.len() > MAX_DEPTH => {
                return Err((line, format!("lists are nested more than {MAX_DEPTH} deep")));
            }
            Token::Open => places.push(graph.open(place, key, line)?),
            Token::Word(value) | Token::Text(value) => graph.set(place, key, value),
            Token::Close => return Err((value.0, format!("`{}` has no value", excerpt(key, 40)))),
        }
    }
    if places.len() > 1 {
        return Err((tokens.line, "a list is not closed by `]`".to_owned()));
    }
    Ok(graph)
}

impl Graph {
    fn open(&mut self, place: Place, key: &str, line: u32) -> Result<Place, (u32, String)> {
        let item = || Item { line, ..Item::default() };
        let too_many = |what: &str, most: u64| (line, format!("there are more than {most} {what}"));
        Ok(match (place, key) {
            (Place::Top, "graph") => Place::Graph,
            (Place::Graph, "node") => {
                if self.nodes.len() as u64 == MAX_SWITCHES {
                    return Err(too_many("nodes", MAX_SWITCHES));
                }
                self.nodes.push(item());
                Place::Node
            }
            (Place::Graph, "edge") => {
                if self.edges.len() as u64 == 2 * MAX_LINKS {
                    return Err(too_many("edges", 2 * MAX_LINKS));
                }
                self.edges.push(item());
                Place::Edge
            }
            _ => Place::Other,
        })
    }

    fn set(&mut self, place: Place, key: &str, value: &str) {
        let item = match place {
            Place::Graph if key == "directed" => {
                self.directed = value == "1";
                return;
            }
            Place::Node => self.nodes.last_mut(),
            Place::Edge => self.edges.last_mut(),
            _ => return,
        };
        if let Some(item) = item {
            item.attributes.entry(key.to_ascii_lowercase()).or_insert_with(|| decoded(value));
        }
    }
}

/// A text without its character references: `Z&#252;rich`.
fn decoded(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let reference = after.split_once(';').filter(|(name, _)| name.len() <= 8);
        match reference.and_then(|(name, after)| Some((character(name)?, after))) {
            Some((character, after)) => {
                plain.push(character);
                rest = after;
            }
            None => {
                plain.push('&');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn character(name: &str) -> Option<char> {
    match name {
        "quot" => Some('"'),
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        _ => char::from_u32(name.strip_prefix('#')?.parse().ok()?),
    }
}
