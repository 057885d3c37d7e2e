//! Statements of DOT: nodes and edges with their attributes.

use super::super::attributes::Attributes;
use super::super::draft::Location;
use super::super::gather::{End, Entry, Gathering, Order};
use super::super::sketch::Sketch;
use super::super::{TopologyFileError, speed};
use super::tokens::{Token, Tokens};
use std::iter::Peekable;

/// Attributes of a node that say what it is. PTM and Cumulus' simulator use `function`.
const ROLES: [&str; 5] = ["function", "role", "type", "group", "tier"];

/// Deepest nesting of subgraphs.
const MAX_DEPTH: usize = 32;

type Fault = (u32, String);

struct Parser<'a> {
    tokens: Peekable<Tokens<'a>>,
    line: u32,
    gathering: Gathering,
    file: u32,
    directed: bool,
}

/// A node with its port, as an edge names it.
struct Named {
    node: String,
    port: Option<String>,
    line: u32,
}

/// Reads the nodes and edges of a graph; the ends of an edge may name ports.
pub fn read(text: &str, file: String) -> Result<Sketch, TopologyFileError> {
    let mut gathering = Gathering::default();
    let file = gathering.file(file);
    let tokens = Tokens::new(text).peekable();
    let mut parser = Parser { tokens, line: 1, gathering, file, directed: false };
    if let Err((line, reason)) = parser.graph()? {
        return Err(parser.gathering.form(Location { file, line }, reason));
    }
    let order = if parser.directed { Order::Directed } else { Order::Undirected };
    parser.gathering.finish(order, "an attribute `speed` of its edge, like `100G`")
}

/// A fault of the text, or one of the network.
type Outcome<T> = Result<Result<T, Fault>, TopologyFileError>;

impl<'a> Parser<'a> {
    fn next(&mut self) -> Result<Option<Token<'a>>, Fault> {
        match self.tokens.next() {
            Some(Ok((line, token))) => {
                self.line = line;
                Ok(Some(token))
            }
            Some(Err(fault)) => Err(fault),
            None => Ok(None),
        }
    }

    fn is_next(&mut self, sign: char) -> bool {
        matches!(self.tokens.peek(), Some(Ok((_, Token::Sign(next)))) if *next == sign)
    }

    fn at(&self, line: u32) -> Location {
        Location { file: self.file, line }
    }

    fn graph(&mut self) -> Outcome<()> {
        // What comes before the brace: `strict graph "name"`.
        loop {
            match self.next() {
                Err(fault) => return Ok(Err(fault)),
                Ok(Some(Token::Sign('{'))) => break,
                Ok(Some(Token::Id(word))) => self.directed |= word.eq_ignore_ascii_case("digraph"),
                Ok(_) => return Ok(Err((self.line, "a graph begins with `graph {`".to_owned()))),
            }
        }
        let mut depth = 1_usize;
        while depth > 0 {
            let token = match self.next() {
                Err(fault) => return Ok(Err(fault)),
                Ok(token) => token,
            };
            match token {
                None => return Ok(Err((self.line, "the graph is not closed by `}`".to_owned()))),
                Some(Token::Sign('}')) => {
                    depth -= 1;
                    if matches!(self.tokens.peek(), Some(Ok((_, Token::Edge { .. })))) {
                        return Ok(Err((
                            self.line,
                            "edges to several nodes at once are not supported".to_owned(),
                        )));
                    }
                }
                Some(Token::Sign('{')) if depth == MAX_DEPTH => {
                    return Ok(Err((self.line, format!("graphs are nested more than {MAX_DEPTH} deep"))));
                }
                Some(Token::Sign('{')) => depth += 1,
                Some(Token::Sign(';' | ',')) => {}
                Some(Token::Id(word)) => {
                    if let Err(fault) = self.statement(word.into_owned())? {
                        return Ok(Err(fault));
                    }
                }
                Some(_) => return Ok(Err((self.line, "a node is expected here".to_owned()))),
            }
        }
        Ok(Ok(()))
    }

    fn statement(&mut self, word: String) -> Outcome<()> {
        let is_keyword = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        if is_keyword("subgraph") {
            if matches!(self.tokens.peek(), Some(Ok((_, Token::Id(_))))) {
                self.tokens.next();
            }
            return Ok(Ok(()));
        }
        if ["graph", "node", "edge"].into_iter().any(is_keyword) {
            return Ok(self.attributes().map(drop));
        }
        if self.is_next('=') {
            self.tokens.next();
            return Ok(self.next().map(drop));
        }
        let first = match self.named(word) {
            Ok(first) => first,
            Err(fault) => return Ok(Err(fault)),
        };
        let mut chain = vec![first];
        while let Some(Ok((_, Token::Edge { directed }))) = self.tokens.peek() {
            self.directed |= *directed;
            self.tokens.next();
            let next = match self.next() {
                Ok(Some(Token::Id(word))) => self.named(word.into_owned()),
                Ok(Some(Token::Sign('{'))) => {
                    Err((self.line, "edges to several nodes at once are not supported".to_owned()))
                }
                Ok(_) => Err((self.line, "an edge has a node at both ends".to_owned())),
                Err(fault) => Err(fault),
            };
            match next {
                Ok(next) => chain.push(next),
                Err(fault) => return Ok(Err(fault)),
            }
        }
        match self.attributes() {
            Ok(attributes) => self.add(&chain, &attributes).map(Ok),
            Err(fault) => Ok(Err(fault)),
        }
    }

    /// The rest of a node's name: its port.
    fn named(&mut self, node: String) -> Result<Named, Fault> {
        let line = self.line;
        let mut port = None;
        while self.is_next(':') {
            self.tokens.next();
            match self.next()? {
                // A second one is the side at which an edge is drawn.
                Some(Token::Id(word)) => port = port.or(Some(word.into_owned())),
                _ => return Err((self.line, "a port is expected after `:`".to_owned())),
            }
        }
        Ok(Named { node, port, line })
    }

    /// Lists of `name=value` in brackets.
    fn attributes(&mut self) -> Result<Attributes, Fault> {
        let mut attributes = Attributes::new();
        while self.is_next('[') {
            self.tokens.next();
            loop {
                match self.next()? {
                    Some(Token::Sign(']')) => break,
                    Some(Token::Sign(';' | ',')) => {}
                    Some(Token::Id(name)) => {
                        let mut value = String::new();
                        if self.is_next('=') {
                            self.tokens.next();
                            match self.next()? {
                                Some(Token::Id(word)) => value = word.into_owned(),
                                _ => return Err((self.line, format!("`{name}` has no value"))),
                            }
                        }
                        attributes.insert(name.to_ascii_lowercase(), value);
                    }
                    _ => return Err((self.line, "attributes are `[name=value, ...]`".to_owned())),
                }
            }
        }
        Ok(attributes)
    }

    fn add(&mut self, chain: &[Named], attributes: &Attributes) -> Result<(), TopologyFileError> {
        let mut ends = Vec::with_capacity(chain.len());
        for named in chain {
            let node = self.gathering.node(&named.node, self.at(named.line))?;
            ends.push(End { node, port: named.port.clone() });
        }
        if let [node] = &ends[..] {
            for what in ROLES {
                if let Some(word) = attributes.get(what) {
                    self.gathering.say(node.node, what, word);
                }
            }
        }
        let speed = attributes.get("speed").and_then(|text| speed::parse(text));
        for pair in ends.windows(2) {
            let at = self.at(chain[0].line);
            self.gathering.cable(Entry {
                ends: [pair[0].clone(), pair[1].clone()],
                speed,
                length: None,
                at,
            })?;
        }
        Ok(())
    }
}
