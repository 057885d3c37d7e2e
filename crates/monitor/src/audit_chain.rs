//! Lines of the audit log that vouch for the ones before them.
//!
//! A line is a JSON object. Its last three fields are its `number`, the seal of the line before (`previous`, or null for the
//! first), and its own `seal`: SHA-256, or HMAC-SHA-256 with a key, of all bytes of the line before `,"seal":`. So each seal
//! depends on all lines before it.

use ring::{digest, hmac};
use serde::Deserialize;
use std::fmt;

/// What stands between a line's content and its seal.
const MARK: &str = ",\"seal\":\"";
/// Names of seals without and with a key.
const PLAIN: &str = "sha256:";
const KEYED: &str = "hmac-sha256:";

/// Writes lines: [`link`](Chain::link) for each, and [`advance`](Chain::advance) once it is written.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    key: Option<hmac::Key>,
    last: Option<Place>,
}

/// Which line of a chain it is, and its seal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub number: u64,
    pub seal: String,
}

/// What a line says of its place.
#[derive(Deserialize)]
struct Said {
    number: u64,
    #[serde(deserialize_with = "Option::deserialize")]
    previous: Option<String>,
    seal: String,
}

impl Chain {
    /// A new chain; without a key, whoever can write the file can write another chain.
    pub fn new(key: Option<hmac::Key>) -> Chain {
        Chain { key, last: None }
    }

    /// Continues after the line at this place.
    pub fn continue_after(&mut self, place: Place) {
        self.last = Some(place);
    }

    /// Makes a JSON object the next line, without its line break.
    pub fn link(&self, object: &str) -> (String, Place) {
        let content = object.strip_suffix('}').unwrap_or(object);
        let (number, previous) = match &self.last {
            Some(Place { number, seal }) => (number.saturating_add(1), format!("\"{seal}\"")),
            None => (1, "null".to_owned()),
        };
        let content = format!("{content},\"number\":{number},\"previous\":{previous}");
        let seal = seal(self.key.as_ref(), &content);
        (format!("{content}{MARK}{seal}\"}}"), Place { number, seal })
    }

    /// The line that was linked last has been written.
    pub fn advance(&mut self, place: Place) {
        self.last = Some(place);
    }
}

/// The place that a line says it has, if it says one.
pub fn place(line: &str) -> Option<Place> {
    let Said { number, seal, .. } = serde_json::from_str(line).ok()?;
    Some(Place { number, seal })
}

fn seal(key: Option<&hmac::Key>, content: &str) -> String {
    let (name, bytes) = match key {
        Some(key) => (KEYED, hmac::sign(key, content.as_bytes()).as_ref().to_vec()),
        None => (PLAIN, digest::digest(&digest::SHA256, content.as_bytes()).as_ref().to_vec()),
    };
    bytes.iter().fold(name.to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// Its content is not what was sealed.
    Changed,
    /// It has no seal, although lines before it have.
    Unsealed,
    /// It is incomplete.
    Cut,
    /// Lines that stood before it are missing.
    Removed { first: u64, last: u64 },
    /// Its number was there before.
    Repeated { number: u64 },
    /// It has the next number, but was not written after the line before it.
    Replaced,
    /// It is sealed without the key.
    WithoutKey,
    /// It is sealed with a key, which was not given.
    KeyNeeded,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Changed => f.write_str("was changed: its seal does not match its content"),
            Damage::Unsealed => f.write_str("was inserted or changed: it has no seal"),
            Damage::Cut => f.write_str("was cut: it does not end with a line break"),
            Damage::Removed { first, last } if first == last => {
                write!(f, "follows a line that was removed, number {first}")
            }
            Damage::Removed { first, last } => {
                write!(f, "follows lines that were removed, numbers {first} to {last}")
            }
            Damage::Repeated { number } => {
                write!(f, "was inserted or moved: a line with number {number} or above is before it")
            }
            Damage::Replaced => f.write_str(
                "was not written after the line before it: one of them was replaced, or lines were inserted",
            ),
            Damage::WithoutKey => f.write_str("is sealed without the key"),
            Damage::KeyNeeded => f.write_str("is sealed with a key, which verifying it needs"),
        }
    }
}

/// Reads chains: call [`handle_file`](Verifier::handle_file) before each file, the oldest first, and
/// [`handle_line`](Verifier::handle_line) for each of its lines, until one is damaged.
#[derive(Debug, Default)]
pub struct Verifier {
    key: Option<hmac::Key>,
    last: Option<Place>,
    /// Whether no line of this file has been read.
    at_start: bool,
    /// Whether a chain may begin here: no sealed line of this file has been read.
    may_begin: bool,
    found: Verified,
}

/// What was found intact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Lines of chains.
    pub lines: u64,
    /// Lines from before there was a chain, of which nothing is known.
    pub unsealed_lines: u64,
    /// Lines that begin a new chain.
    pub beginnings: u64,
    /// The number of the first line, if it is not the first of its chain: what was before it was not given.
    pub begins_at: Option<u64>,
    /// The last line.
    pub last: Option<Place>,
}

impl Verifier {
    /// With a key, every line must be sealed with it.
    pub fn new(key: Option<hmac::Key>) -> Verifier {
        Verifier { key, ..Verifier::default() }
    }

    /// Another file begins, which continues the chain or begins one.
    pub fn handle_file(&mut self) {
        (self.at_start, self.may_begin) = (true, true);
    }

    /// Takes the next line, with its line break.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn handle_line(&mut self, line: &[u8]) -> Result<(), Damage> {
        let at_start = std::mem::take(&mut self.at_start);
        let Some(line) = line.strip_suffix(b"\n") else { return Err(Damage::Cut) };
        let line = std::str::from_utf8(line).map_err(|_| Damage::Changed)?;
        let Ok(Said { number, previous, seal: said }) = serde_json::from_str(line) else {
            if self.last.is_some() {
                return Err(Damage::Unsealed);
            }
            self.found.unsealed_lines += 1;
            return Ok(());
        };
        self.check_seal(line, &said)?;
        self.check_order(number, previous.as_ref(), at_start)?;
        if previous.is_none() {
            self.found.beginnings += 1;
        } else if self.last.is_none() {
            self.found.begins_at = Some(number);
        }
        self.may_begin = false;
        self.found.lines += 1;
        self.last = Some(Place { number, seal: said });
        Ok(())
    }

    fn check_seal(&self, line: &str, said: &str) -> Result<(), Damage> {
        match (said.starts_with(KEYED), &self.key) {
            (true, None) => return Err(Damage::KeyNeeded),
            (false, Some(_)) if said.starts_with(PLAIN) => return Err(Damage::WithoutKey),
            _ => {}
        }
        let content = line.strip_suffix(&format!("{MARK}{said}\"}}")).ok_or(Damage::Changed)?;
        match seal(self.key.as_ref(), content) == said {
            true => Ok(()),
            false => Err(Damage::Changed),
        }
    }

    fn check_order(&self, number: u64, previous: Option<&String>, at_start: bool) -> Result<(), Damage> {
        let Some(last) = &self.last else {
            return match previous {
                // After lines without a seal, a chain can only begin.
                Some(_) if !at_start => Err(Damage::Removed { first: 1, last: number.saturating_sub(1) }),
                _ => Ok(()),
            };
        };
        match previous {
            None if self.may_begin => Ok(()),
            Some(previous) if *previous == last.seal && number == last.number.saturating_add(1) => Ok(()),
            Some(_) if number > last.number.saturating_add(1) => {
                Err(Damage::Removed { first: last.number + 1, last: number - 1 })
            }
            _ if number <= last.number => Err(Damage::Repeated { number }),
            _ => Err(Damage::Replaced),
        }
    }

    /// What was found, once no line is left.
    pub fn finish(self) -> Verified {
        Verified { last: self.last, ..self.found }
    }
}

#[cfg(test)]
mod tests;
