//! Statements of GOAL.

use super::words::Comments;
use crate::error::ProgramError;
use crate::limits::{MAX_COMPUTE_NANOS, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_RANKS, MAX_SEND_BYTES};
use crate::read::error::{InputError, InputFault};
use crate::read::text::bounded;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// An operation of the file.
#[derive(Debug)]
pub(super) struct Node {
    pub rank: u32,
    pub kind: Kind,
    /// Operations that must be complete.
    pub requires: Vec<u32>,
    /// Operations that must have begun.
    pub begins_with: Vec<u32>,
    pub line: u32,
}

/// What an operation does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Send { to: u32, bytes: u64, tag: u32 },
    Receive { from: u32, tag: u32 },
    Compute { nanos: u64 },
}

/// Everything that a file says.
#[derive(Debug)]
pub(super) struct Schedule {
    pub ranks: u32,
    pub nodes: Vec<Node>,
    /// Whether an operation names a processor or a NIC other than 0.
    pub cpus: bool,
}

pub(super) fn parse(text: &str) -> Result<Schedule, InputError> {
    let mut parser = Parser::default();
    let mut comments = Comments::default();
    let mut last = 1;
    for (line, content) in (1..).zip(text.lines()) {
        last = line;
        let words = comments.words(content);
        parser.line(line, &mut Words(&words)).map_err(|fault| fault.at(line))?;
    }
    if let Some(rank) = parser.rank {
        return Err(InputFault::Missing { what: format!("the `}}` that ends rank {rank}") }.at(last));
    }
    let ranks =
        parser.ranks.ok_or_else(|| InputFault::Missing { what: "`num_ranks`".to_owned() }.anywhere())?;
    Ok(Schedule { ranks, nodes: parser.nodes, cpus: parser.cpus })
}

/// The words of a line that have not been read.
struct Words<'a, 'b>(&'b [&'a str]);

impl<'a> Words<'a, '_> {
    fn next(&mut self) -> &'a str {
        let (first, rest) = self.0.split_first().map_or(("", self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    fn expect(&mut self, expected: &'static str) -> Result<(), InputFault> {
        match self.next() {
            found if found == expected => Ok(()),
            found => Err(InputFault::form(format!("`{expected}`"), found)),
        }
    }

    fn end(&self) -> Result<(), InputFault> {
        self.0.first().map_or(Ok(()), |found| Err(InputFault::form("the end of the line", found)))
    }
}

#[derive(Default)]
struct Parser<'a> {
    ranks: Option<u32>,
    /// The rank whose block is being read, and the ranks whose blocks have been.
    rank: Option<u32>,
    done: Vec<bool>,
    labels: BTreeMap<&'a str, u32>,
    nodes: Vec<Node>,
    dependencies: u64,
    cpus: bool,
}

impl<'a> Parser<'a> {
    fn line(&mut self, line: u32, words: &mut Words<'a, '_>) -> Result<(), InputFault> {
        while let Some(&first) = words.0.first() {
            match (first, self.rank) {
                ("num_ranks", None) => {
                    words.next();
                    let ranks = bounded("num_ranks", words.next(), 1, u64::from(MAX_RANKS))? as u32;
                    if self.ranks.replace(ranks).is_some() {
                        return Err(InputFault::Repeated { what: "`num_ranks`".to_owned() });
                    }
                    self.done = vec![false; ranks as usize];
                }
                ("rank", None) => {
                    words.next();
                    self.begin_rank(words)?;
                }
                ("}", Some(_)) => {
                    words.next();
                    self.rank = None;
                    self.labels.clear();
                }
                (_, Some(rank)) => {
                    self.statement(line, rank, words)?;
                    words.end()?;
                }
                (found, None) => return Err(InputFault::form("`num_ranks` or `rank`", found)),
            }
        }
        Ok(())
    }

    fn begin_rank(&mut self, words: &mut Words<'a, '_>) -> Result<(), InputFault> {
        let rank = self.rank_number(words.next())?;
        if std::mem::replace(&mut self.done[rank as usize], true) {
            return Err(InputFault::Repeated { what: format!("rank {rank}") });
        }
        words.expect("{")?;
        self.rank = Some(rank);
        Ok(())
    }

    fn rank_number(&self, text: &str) -> Result<u32, InputFault> {
        let ranks = self
            .ranks
            .ok_or_else(|| InputFault::Missing { what: "`num_ranks` before the first rank".to_owned() })?;
        bounded("rank", text, 0, u64::from(ranks) - 1).map(|rank| rank as u32)
    }

    fn statement(&mut self, line: u32, rank: u32, words: &mut Words<'a, '_>) -> Result<(), InputFault> {
        let first = words.next();
        if matches!(first, "send" | "recv" | "calc") {
            return self.operation(line, rank, first, words).map(drop);
        }
        if !first.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(InputFault::form("`send`, `recv`, `calc`, a label or `}`", first));
        }
        match words.next() {
            ":" => {
                let action = words.next();
                let operation = self.operation(line, rank, action, words)?;
                match self.labels.entry(first) {
                    Entry::Vacant(entry) => drop(entry.insert(operation)),
                    Entry::Occupied(_) => {
                        return Err(InputFault::Repeated { what: format!("the label `{first}`") });
                    }
                }
                Ok(())
            }
            "requires" => {
                let [this, other] = [self.labelled(first)?, self.labelled(words.next())?];
                self.depend(|nodes| &mut nodes[this as usize].requires, other)
            }
            "irequires" => {
                let [this, other] = [self.labelled(first)?, self.labelled(words.next())?];
                self.depend(|nodes| &mut nodes[this as usize].begins_with, other)
            }
            found => Err(InputFault::form("`:`, `requires` or `irequires`", found)),
        }
    }

    fn depend(&mut self, list: impl Fn(&mut [Node]) -> &mut Vec<u32>, other: u32) -> Result<(), InputFault> {
        self.dependencies += 1;
        if self.dependencies > u64::from(MAX_DEPENDENCIES) {
            return Err(ProgramError::TooManyDependencies.into());
        }
        list(&mut self.nodes).push(other);
        Ok(())
    }

    fn labelled(&self, label: &str) -> Result<u32, InputFault> {
        let operation = self.labels.get(label).copied();
        operation.ok_or_else(|| InputFault::form("a label of an earlier operation of this rank", label))
    }

    fn operation(
        &mut self,
        line: u32,
        rank: u32,
        action: &str,
        words: &mut Words<'a, '_>,
    ) -> Result<u32, InputFault> {
        let kind = match action {
            "calc" => {
                let nanos = bounded("calc", words.next(), 0, MAX_COMPUTE_NANOS)?;
                self.attributes(words, &["cpu"])?;
                Kind::Compute { nanos }
            }
            "send" => {
                let bytes = bounded("size", words.next(), 0, MAX_SEND_BYTES)?;
                words.expect("b")?;
                words.expect("to")?;
                let to = self.rank_number(words.next())?;
                if to == rank {
                    return Err(ProgramError::SendToItself { rank }.into());
                }
                Kind::Send { to, bytes, tag: self.attributes(words, &["tag", "cpu", "nic"])? }
            }
            "recv" => {
                bounded("size", words.next(), 0, MAX_SEND_BYTES)?;
                words.expect("b")?;
                words.expect("from")?;
                let from = match words.next() {
                    "-1" => return Err(any("a receive from any source")),
                    from => self.rank_number(from)?,
                };
                Kind::Receive { from, tag: self.attributes(words, &["tag", "cpu", "nic"])? }
            }
            found => return Err(InputFault::form("`send`, `recv` or `calc`", found)),
        };
        if self.nodes.len() == MAX_OPERATIONS as usize {
            return Err(ProgramError::TooManyOperations.into());
        }
        self.nodes.push(Node { rank, kind, requires: Vec::new(), begins_with: Vec::new(), line });
        Ok(self.nodes.len() as u32 - 1)
    }

    /// Reads what may follow an operation, in this order. Returns the tag.
    fn attributes(&mut self, words: &mut Words<'a, '_>, names: &[&'static str]) -> Result<u32, InputFault> {
        let mut tag = 0;
        for &name in names {
            if words.0.first() != Some(&name) {
                continue;
            }
            words.next();
            let value = words.next();
            if name == "tag" && value == "-1" {
                return Err(any("a message with any tag"));
            }
            let value = bounded(name, value, 0, u64::from(u32::MAX) - 1)? as u32;
            if name == "tag" {
                tag = value;
            } else {
                self.cpus |= value != 0;
            }
        }
        Ok(tag)
    }
}

fn any(what: &str) -> InputFault {
    InputFault::Unsupported {
        what: what.to_owned(),
        instead: "which message it matches depends on the time; name the source and the tag, as in the traced run",
    }
}
