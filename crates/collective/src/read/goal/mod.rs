//! GOAL (group operation assembly language) as text, which Schedgen and ATLAHS write and LogGOPSim reads.

mod parser;
mod words;

use super::Input;
use super::error::{InputError, InputFault};
use super::order::order;
use super::text::text;
use crate::error::ProgramError;
use crate::limits::MAX_DEPENDENCIES;
use crate::program::{Action, Program, ProgramBuilder};
use parser::{Kind, Node, Schedule};
use std::collections::BTreeMap;

/// What a GOAL file leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoalOptions {
    /// The largest message that is buffered: what requires its send waits only until the send begins. What requires
    /// the send of a larger message waits until it has been delivered.
    pub eager_bytes: u64,
}

impl Default for GoalOptions {
    /// As LogGOPSim: 65,535 bytes.
    fn default() -> GoalOptions {
        GoalOptions { eager_bytes: 65_535 }
    }
}

/// Reads a schedule. Sends and receives with the same ranks and tag are matched in the order of the file.
///
/// A receive is complete when its message has arrived and everything that the receive requires is complete. A send does
/// not wait for its receive. `calc` is in nanoseconds, and computations of a rank overlap unless one requires the
/// other, whatever their `cpu`. A message of 0 bytes has 1.
///
/// # Errors
/// If the file is not of this format, has messages without a counterpart, receives from any source or tag, or
/// operations that wait for themselves; with the line.
pub fn parse_goal(content: &[u8], options: &GoalOptions) -> Result<Input, InputError> {
    let Schedule { ranks, nodes, cpus } = parser::parse(text(content)?)?;
    let sends = matches(&nodes)?;
    let mut waits: Vec<Vec<u32>> = Vec::with_capacity(nodes.len());
    for (node, send) in nodes.iter().zip(&sends) {
        let all = node.requires.iter().chain(&node.begins_with).chain(send);
        waits.push(all.copied().collect());
    }
    let ordered = order(&waits).map_err(|node| {
        let what = "the operation never begins: it waits for itself, through others".to_owned();
        InputFault::NeverHappens { what }.at(nodes[node as usize].line)
    })?;
    drop(waits);
    let builder = Program::builder(ranks).map_err(|error| InputFault::from(error).anywhere())?;
    let mut building = Building { builder, options, nodes: &nodes, begun: vec![None; nodes.len()] };
    for node in ordered {
        building
            .add(node, sends[node as usize])
            .map_err(|error| InputFault::from(error).at(nodes[node as usize].line))?;
    }
    let mut left_out = Vec::new();
    if cpus {
        left_out.push("the processors (`cpu`) and NICs (`nic`) of operations".to_owned());
    }
    Ok(Input { program: building.builder.finish(), left_out })
}

/// Sends and receives between two ranks with the same tag.
#[derive(Default)]
struct Channel {
    sent: Vec<u32>,
    received: Vec<u32>,
}

/// The send of each receive.
fn matches(nodes: &[Node]) -> Result<Vec<Option<u32>>, InputError> {
    let mut channels: BTreeMap<(u32, u32, u32), Channel> = BTreeMap::new();
    for (index, node) in (0..).zip(nodes) {
        match node.kind {
            Kind::Send { to, tag, .. } => channels.entry((node.rank, to, tag)).or_default().sent.push(index),
            Kind::Receive { from, tag } => {
                channels.entry((from, node.rank, tag)).or_default().received.push(index)
            }
            Kind::Compute { .. } => {}
        }
    }
    let mut sends = vec![None; nodes.len()];
    for ((from, to, tag), Channel { sent, received }) in channels {
        let common = sent.len().min(received.len());
        if let Some(&lonely) = sent.get(common).or(received.get(common)) {
            let (what, other) = if sent.len() > common { ("send", "receive") } else { ("receive", "send") };
            let what = format!("this {what} from rank {from} to {to} with tag {tag} has no {other}");
            return Err(InputFault::NeverHappens { what }.at(nodes[lonely as usize].line));
        }
        for (send, receive) in sent.into_iter().zip(received) {
            sends[receive as usize] = Some(send);
        }
    }
    Ok(sends)
}

/// An operation of the file in the program.
#[derive(Debug, Clone, Copy)]
struct Begun {
    /// The operation that completes it.
    operation: u32,
    /// Whether the operation begins with it; otherwise it begins at once.
    begins: bool,
    /// Whether others need not wait for its completion.
    buffered: bool,
}

struct Building<'a> {
    builder: ProgramBuilder,
    options: &'a GoalOptions,
    nodes: &'a [Node],
    begun: Vec<Option<Begun>>,
}

impl Building<'_> {
    fn add(&mut self, index: u32, send: Option<u32>) -> Result<(), ProgramError> {
        let node = &self.nodes[index as usize];
        let mut after = Vec::new();
        for &required in &node.requires {
            match self.begun[required as usize] {
                Some(begun) if begun.buffered => self.add_beginning(required, &mut after)?,
                Some(begun) => after.push(begun.operation),
                None => {}
            }
        }
        for &started in &node.begins_with {
            self.add_beginning(started, &mut after)?;
        }
        after.sort_unstable();
        after.dedup();
        let mut begins = true;
        let mut buffered = false;
        let operation = match node.kind {
            Kind::Send { to, bytes, .. } => {
                buffered = bytes <= self.options.eager_bytes;
                self.builder.add(Action::Send { from: node.rank, to, bytes: bytes.max(1) }, &after)?
            }
            Kind::Compute { nanos } => {
                self.builder.add(Action::Compute { rank: node.rank, nanos }, &after)?
            }
            Kind::Receive { .. } => {
                let sent = send.and_then(|send| self.begun[send as usize]).map(|begun| begun.operation);
                match sent {
                    Some(sent) if after.is_empty() => {
                        begins = false;
                        sent
                    }
                    _ => {
                        after.extend(sent);
                        self.builder.add(Action::Compute { rank: node.rank, nanos: 0 }, &after)?
                    }
                }
            }
        };
        self.begun[index as usize] = Some(Begun { operation, begins, buffered });
        Ok(())
    }

    /// Adds what another operation waits for before it begins.
    fn add_beginning(&self, node: u32, after: &mut Vec<u32>) -> Result<(), ProgramError> {
        let Some(begun) = self.begun[node as usize].filter(|begun| begun.begins) else { return Ok(()) };
        let mut before = self.builder.after(begun.operation);
        if matches!(self.nodes[node as usize].kind, Kind::Receive { .. }) {
            // The last one is the message.
            before = before.split_last().map_or(before, |(_, before)| before);
        }
        if after.len() + before.len() > MAX_DEPENDENCIES as usize {
            return Err(ProgramError::TooManyDependencies);
        }
        after.extend_from_slice(before);
        Ok(())
    }
}
