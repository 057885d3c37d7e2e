//! Connection matrices of htsim (`.cm`).

use super::Input;
use super::error::{InputError, InputFault};
use super::order::order;
use super::text::{bounded, lines, number, text};
use super::triggers::{Kind, Triggers};
use crate::error::ProgramError;
use crate::limits::{MAX_COMPUTE_NANOS, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_RANKS, MAX_SEND_BYTES};
use crate::program::{Action, Program};

/// Reads a connection matrix. Connections become sends; one that starts later than at 0 waits for a computation of
/// that length at its sender. Start times are in picoseconds, and rounded to nanoseconds.
///
/// `send_done_trigger` and `recv_done_trigger` both fire on delivery. If several connections signal a `multishot`
/// trigger, the first of them in the file starts the first that waits for it, and so on. `prio` is left out.
///
/// # Errors
/// If the file is not of this format, contradicts itself, or has connections that never start; with the line.
pub fn parse_connection_matrix(content: &[u8]) -> Result<Input, InputError> {
    let mut matrix = Matrix::default();
    for (line, content) in lines(text(content)?) {
        matrix.line(line, content).map_err(|fault| fault.at(line))?;
    }
    let nodes = matrix.check_counts().map_err(InputFault::anywhere)?;
    matrix.program(nodes)
}

/// A connection of the file.
#[derive(Debug, Clone, Copy)]
struct Connection {
    from: u32,
    to: u32,
    bytes: u64,
    start_nanos: u64,
    line: u32,
}

#[derive(Debug, Default)]
struct Matrix {
    nodes: Option<u64>,
    /// What the header says: connections and triggers.
    said_connections: Option<u64>,
    said_triggers: Option<u64>,
    connections: Vec<Connection>,
    triggers: Triggers,
    trigger_count: u64,
    priorities: bool,
}

impl Matrix {
    fn line(&mut self, line: u32, content: &str) -> Result<(), InputFault> {
        let mut words = content.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let mut header = |most| {
            let value = words.next().unwrap_or_default();
            bounded("the number after it", value, 0, most)
        };
        let (place, value) = match first {
            "Nodes" => (&mut self.nodes, header(u64::from(MAX_RANKS))?),
            "Connections" => (&mut self.said_connections, header(u64::from(MAX_OPERATIONS))?),
            "Triggers" => (&mut self.said_triggers, header(u64::from(MAX_OPERATIONS))?),
            "Failures" if header(u64::MAX)? == 0 => return Ok(()),
            "failure" | "Failures" => {
                return Err(InputFault::Unsupported {
                    what: "the failure of a link".to_owned(),
                    instead: "remove the failures, and give links losses or failures with options",
                });
            }
            "trigger" => return self.trigger(line, words),
            _ if first.contains("->") => return self.connection(line, first, words),
            _ => {
                let expected = "`Nodes`, `Connections`, `Triggers`, `trigger` or a connection `0->1`";
                return Err(InputFault::form(expected, first));
            }
        };
        if place.replace(value).is_some() {
            return Err(InputFault::Repeated { what: format!("`{first}`") });
        }
        Ok(())
    }

    fn connection<'a>(
        &mut self,
        line: u32,
        ends: &str,
        mut words: impl Iterator<Item = &'a str>,
    ) -> Result<(), InputFault> {
        if self.connections.len() as u64 == u64::from(MAX_OPERATIONS) {
            return Err(ProgramError::TooManyOperations.into());
        }
        let index = self.connections.len() as u32;
        let rank = |text| bounded("node", text, 0, u64::from(MAX_RANKS) - 1).map(|rank| rank as u32);
        let (from, to) = ends.split_once("->").unwrap_or_default();
        let (from, to) = (rank(from)?, rank(to)?);
        let (mut bytes, mut start, mut trigger) = (None, None, None);
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_default();
            match word {
                "size" => bytes = Some(size(value())?),
                "start" => start = Some(nanos(value())?),
                "trigger" => trigger = Some(trigger_id(value())?),
                "send_done_trigger" | "recv_done_trigger" => {
                    self.triggers.signal(trigger_id(value())?, index, line);
                }
                "id" => drop(bounded("id", value(), 1, u64::MAX)?),
                "prio" => {
                    number("prio", value())?;
                    self.priorities = true;
                }
                "addon" | "msg" => {
                    return Err(InputFault::Unsupported {
                        what: format!("`{word}`, by which connections are parts of one,"),
                        instead: "write one connection for all of them, with the sum of their sizes",
                    });
                }
                _ => {
                    let expected = "`id`, `start`, `size`, `trigger`, `send_done_trigger`, `recv_done_trigger` or `prio`";
                    return Err(InputFault::form(expected, word));
                }
            }
        }
        let bytes =
            bytes.ok_or_else(|| InputFault::Missing { what: "the size of the connection".to_owned() })?;
        match (start, trigger) {
            (None, None) => {
                return Err(InputFault::NeverHappens {
                    what: "the connection never starts: it has neither `start` nor `trigger`".to_owned(),
                });
            }
            (Some(_), Some(_)) => {
                return Err(InputFault::Repeated { what: "the start of the connection".to_owned() });
            }
            (Some(_), None) => {}
            (None, Some(trigger)) => self.triggers.start(trigger, index, line),
        }
        self.connections.push(Connection { from, to, bytes, start_nanos: start.unwrap_or(0), line });
        Ok(())
    }

    fn trigger<'a>(&mut self, line: u32, mut words: impl Iterator<Item = &'a str>) -> Result<(), InputFault> {
        let (mut id, mut kind, mut count) = (None, None, None);
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_default();
            match word {
                "id" => id = Some(trigger_id(value())?),
                "count" => count = Some(bounded("count", value(), 1, u64::from(MAX_OPERATIONS))?),
                "oneshot" => kind = Some(Kind::OneShot),
                "multishot" => kind = Some(Kind::MultiShot),
                "barrier" => kind = Some(Kind::Barrier(0)),
                _ => {
                    let expected = "`id`, `oneshot`, `multishot`, `barrier` or `count`";
                    return Err(InputFault::form(expected, word));
                }
            }
        }
        let missing = |what: &str| InputFault::Missing { what: what.to_owned() };
        let id = id.ok_or_else(|| missing("the id of the trigger"))?;
        let kind = match kind.ok_or_else(|| missing("the kind of the trigger"))? {
            Kind::Barrier(_) => Kind::Barrier(count.ok_or_else(|| missing("the count of the barrier"))?),
            kind => kind,
        };
        self.trigger_count += 1;
        self.triggers.define(id, kind, line)
    }

    fn check_counts(&self) -> Result<u64, InputFault> {
        let missing = |what: &str| InputFault::Missing { what: format!("a line `{what}`") };
        let nodes = self.nodes.ok_or_else(|| missing("Nodes N"))?;
        let said = self.said_connections.ok_or_else(|| missing("Connections N"))?;
        let counts = [
            ("connections", said, self.connections.len() as u64),
            ("triggers", self.said_triggers.unwrap_or(0), self.trigger_count),
        ];
        for (what, said, found) in counts {
            if said != found {
                return Err(InputFault::Count { what, said, found });
            }
        }
        Ok(nodes)
    }

    fn program(self, nodes: u64) -> Result<Input, InputError> {
        let mut builder =
            Program::builder(nodes as u32).map_err(|error| InputFault::from(error).anywhere())?;
        if self.triggers.dependencies() > u64::from(MAX_DEPENDENCIES) {
            return Err(InputFault::from(ProgramError::TooManyDependencies).anywhere());
        }
        let mut waits = vec![Vec::new(); self.connections.len()];
        self.triggers.resolve(&mut waits)?;
        let ordered = order(&waits).map_err(|connection| {
            let what = "the connection never starts: it waits for itself, through others".to_owned();
            InputFault::NeverHappens { what }.at(self.connections[connection as usize].line)
        })?;
        let mut operations = vec![0; self.connections.len()];
        for connection in ordered.into_iter().map(|connection| connection as usize) {
            let Connection { from, to, bytes, start_nanos, line } = self.connections[connection];
            let mut after: Vec<u32> =
                waits[connection].iter().map(|&before| operations[before as usize]).collect();
            let mut add = |action, after: &[u32]| {
                builder.add(action, after).map_err(|error| InputFault::from(error).at(line))
            };
            if start_nanos > 0 {
                after.push(add(Action::Compute { rank: from, nanos: start_nanos }, &[])?);
            }
            operations[connection] = add(Action::Send { from, to, bytes }, &after)?;
        }
        let left_out =
            if self.priorities { vec!["priorities of connections (`prio`)".to_owned()] } else { vec![] };
        Ok(Input { program: builder.finish(), left_out })
    }
}

fn size(text: &str) -> Result<u64, InputFault> {
    match bounded("size", text, 0, MAX_SEND_BYTES)? {
        0 => Err(InputFault::Unsupported {
            what: "a connection without an end (`size` 0)".to_owned(),
            instead: "give it the size that it sends in the time of the run",
        }),
        bytes => Ok(bytes),
    }
}

fn trigger_id(text: &str) -> Result<u64, InputFault> {
    bounded("trigger", text, 1, u64::from(u32::MAX))
}

/// Nanoseconds from picoseconds, which may have a fraction.
fn nanos(text: &str) -> Result<u64, InputFault> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    match text.parse::<f64>() {
        Ok(picos) if plain && picos >= 0.0 => {
            let nanos = (picos / 1e3).round();
            if nanos > MAX_COMPUTE_NANOS as f64 {
                return Err(ProgramError::ComputeNanos { nanos: nanos as u64 }.into());
            }
            Ok(nanos as u64)
        }
        _ => Err(InputFault::form("a start in picoseconds", text)),
    }
}
