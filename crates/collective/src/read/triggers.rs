//! Triggers of connection matrices: which connections start when others are done.

use super::error::{InputError, InputFault};
use std::collections::BTreeMap;

/// How a trigger starts connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The only signal starts all.
    OneShot,
    /// Each signal starts the next one.
    MultiShot,
    /// The last of this many signals starts all.
    Barrier(u64),
}

/// A trigger, while the file is read.
#[derive(Debug, Default)]
struct Trigger {
    /// Its kind and the line that gives it.
    kind: Option<(Kind, u32)>,
    /// Connections that signal it, and connections that it starts, in the order of the file.
    signals: Vec<u32>,
    starts: Vec<u32>,
    /// The first line that mentions it.
    line: u32,
}

/// The triggers of a file by their ids.
#[derive(Debug, Default)]
pub(crate) struct Triggers(BTreeMap<u64, Trigger>);

impl Triggers {
    /// A line that defines a trigger.
    pub fn define(&mut self, id: u64, kind: Kind, line: u32) -> Result<(), InputFault> {
        let trigger = self.mentioned(id, line);
        if trigger.kind.is_some() {
            return Err(InputFault::Repeated { what: format!("trigger {id}") });
        }
        trigger.kind = Some((kind, line));
        Ok(())
    }

    /// A connection signals the trigger when it is done.
    pub fn signal(&mut self, id: u64, connection: u32, line: u32) {
        self.mentioned(id, line).signals.push(connection);
    }

    /// The trigger starts a connection.
    pub fn start(&mut self, id: u64, connection: u32, line: u32) {
        self.mentioned(id, line).starts.push(connection);
    }

    /// Adds what connections wait for.
    pub fn resolve(&self, waits: &mut [Vec<u32>]) -> Result<(), InputError> {
        for (id, trigger) in &self.0 {
            let (kind, line) = trigger
                .kind
                .ok_or_else(|| InputFault::Missing { what: format!("trigger {id}") }.at(trigger.line))?;
            trigger.check(*id, kind).map_err(|what| InputFault::NeverHappens { what }.at(line))?;
            for (place, &connection) in trigger.starts.iter().enumerate() {
                match kind {
                    Kind::MultiShot => waits[connection as usize].push(trigger.signals[place]),
                    Kind::OneShot | Kind::Barrier(_) => {
                        waits[connection as usize].extend_from_slice(&trigger.signals);
                    }
                }
            }
        }
        Ok(())
    }

    /// How many connections wait for others, counting each of the others.
    pub fn dependencies(&self) -> u64 {
        let of = |trigger: &Trigger| match trigger.kind {
            Some((Kind::MultiShot, _)) => trigger.starts.len() as u64,
            _ => trigger.starts.len() as u64 * trigger.signals.len() as u64,
        };
        self.0.values().map(of).sum()
    }

    fn mentioned(&mut self, id: u64, line: u32) -> &mut Trigger {
        self.0.entry(id).or_insert_with(|| Trigger { line, ..Trigger::default() })
    }
}

impl Trigger {
    /// Whether it fires as often as it must.
    fn check(&self, id: u64, kind: Kind) -> Result<(), String> {
        let (signals, starts) = (self.signals.len() as u64, self.starts.len() as u64);
        if starts == 0 {
            return Ok(());
        }
        match kind {
            Kind::OneShot if signals != 1 => Err(format!(
                "{signals} connections signal trigger {id}, but a oneshot trigger fires at exactly one"
            )),
            Kind::MultiShot if signals < starts => Err(format!(
                "trigger {id} starts {starts} connections, one for each signal, but only {signals} signal it"
            )),
            Kind::Barrier(count) if signals != count => {
                Err(format!("trigger {id} waits for {count} connections, but {signals} signal it"))
            }
            _ => Ok(()),
        }
    }
}
