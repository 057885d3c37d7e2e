//! One connection: what has been heard on it, and what has been asked for.

use super::findings;
use super::holder::Holder;
use super::keys::Keys;
use super::stored::{self, FIELDS};
use crate::PortName;
use crate::exchange::DirectionState;
use crate::findings::Findings;
use ::redis::{Connection, RedisError, Script, Value, cmd, pipe};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Events that the stream keeps, give or take some: those of a minute in which every link of a large network changes.
/// Whoever falls behind by more finds what was missed when all directions are read again.
const EVENTS_KEPT: usize = 10_000;
/// Events that are taken with one call, and calls in one poll. What is left waits for the next poll.
const EVENTS_READ_MOST: usize = 1_000;
const READS_MOST: usize = 10;
/// Directions that are read with one call.
const DIRECTIONS_READ_MOST: usize = 500;
/// Steps through the index, each of about [`DIRECTIONS_READ_MOST`] directions: twice what all ports of ten of the largest
/// agents need.
const INDEX_STEPS_MOST: usize = 4_000;
/// How often all directions are read again, in case that an event was lost: to the bound of the stream, to a person, or
/// to a server that came back with less than it had.
const REREAD_INTERVAL: Duration = Duration::from_secs(60);

/// How often it is heard what agents find out about their ports.
const LISTEN_INTERVAL: Duration = Duration::from_secs(2);

/// How long a name is held, and how often it is claimed anew. A machine that dies lets go of it after that time.
const CLAIM_TIME: Duration = Duration::from_secs(15);
const CLAIM_INTERVAL: Duration = Duration::from_secs(5);

/// Events that were never read, in the words of XREADGROUP.
const NEW: &str = ">";

/// A stream's entries as the library takes them apart: those that were deleted have no fields.
type Entry = (String, Option<Vec<(Vec<u8>, Vec<u8>)>>);

/// What one look at the server has brought.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Directions that are there, or why they cannot be used.
    pub states: Vec<(PortName, Result<DirectionState, String>)>,
    /// Names in events and in the index that are no ports.
    pub strange: Vec<String>,
    /// Whether these are all directions.
    pub all: bool,
}

/// See the module's documentation.
pub(super) struct Session {
    connection: Connection,
    keys: Keys,
    group: String,
    /// Where events are read from: after this one of those that were read before a restart and not handled, or `>` for
    /// those that were never read.
    from: String,
    /// Events that were handed out, and count as handled when the next ones are asked for.
    handled: Vec<String>,
    /// When everything was read the last time.
    read_at: Option<Instant>,
    /// Whether nothing is written, so that there is no group, and `from` is the latest event that was read.
    read_only: bool,
    /// When the agent's name was claimed last.
    claimed_at: Option<Instant>,
    /// When it was heard last what agents find out.
    listened_at: Option<Instant>,
}

impl Session {
    pub fn new(connection: Connection, keys: Keys, group: String, read_only: bool) -> Session {
        Session {
            connection,
            keys,
            group,
            from: "0".to_owned(),
            handled: Vec::new(),
            read_at: None,
            read_only,
            claimed_at: None,
            listened_at: None,
        }
    }

    /// Says what this agent finds out about its ports.
    pub fn say(&mut self, said: &Findings) -> Result<(), RedisError> {
        if self.read_only {
            return Ok(());
        }
        findings::say(&mut self.connection, &self.keys, &self.group, said)
    }

    /// What agents find out about their ports, if it is time for that.
    pub fn listen(&mut self) -> Result<findings::Heard, RedisError> {
        if self.listened_at.is_some_and(|at| at.elapsed() < LISTEN_INTERVAL) {
            return Ok(findings::Heard::new());
        }
        self.listened_at = Some(Instant::now());
        findings::listen(&mut self.connection, &self.keys)
    }

    /// Claims the agent's name, if it is time for that; another process that has it.
    pub fn claim(&mut self, script: &Script, holder: &Holder) -> Result<Option<String>, RedisError> {
        if self.read_only || self.claimed_at.is_some_and(|at| at.elapsed() < CLAIM_INTERVAL) {
            return Ok(None);
        }
        let mut other = self.hold(script, holder, CLAIM_TIME, "")?;
        if holder.knows_to_be_gone(&other) {
            let gone = other;
            other = self.hold(script, holder, CLAIM_TIME, &gone)?;
        }
        if other.is_empty() {
            self.claimed_at = Some(Instant::now());
            return Ok(None);
        }
        (self.claimed_at, self.read_at) = (None, None);
        Ok(Some(other))
    }

    /// Lets go of the name, so that nobody has to wait for it.
    pub fn release(&mut self, script: &Script, holder: &Holder) {
        if self.claimed_at.take().is_some() {
            let _ = self.hold(script, holder, Duration::ZERO, "");
        }
    }

    fn hold(
        &mut self,
        script: &Script,
        holder: &Holder,
        time: Duration,
        gone: &str,
    ) -> Result<String, RedisError> {
        let milliseconds = time.as_millis().to_string();
        let mut call = script.key(self.keys.agent(&self.group));
        call.arg(holder.written()).arg(milliseconds).arg(gone).invoke(&mut self.connection)
    }

    /// Writes what is not older than what is known; the answer is empty, or why the key cannot be used.
    pub fn put(
        &mut self,
        script: &Script,
        port: &PortName,
        state: &DirectionState,
    ) -> Result<String, RedisError> {
        let written = stored::written("request", state.request_generation(), state.request.as_ref())
            .and_then(|request| {
                let generation = state.acknowledgement_generation();
                let acknowledgement =
                    stored::written("acknowledgement", generation, state.acknowledgement.as_ref())?;
                Ok((request, acknowledgement))
            });
        let (request, acknowledgement) = match written {
            Ok(written) => written,
            Err(why) => return Ok(why),
        };
        script
            .key(self.keys.direction(port))
            .key(&self.keys.index)
            .key(&self.keys.events)
            .arg(stored::VERSION)
            .arg(port.to_string())
            .arg(EVENTS_KEPT)
            .arg(&request)
            .arg(&acknowledgement)
            .invoke(&mut self.connection)
    }

    /// What has changed, or everything if it is time for that.
    pub fn hear(&mut self) -> Result<Heard, RedisError> {
        if self.read_at.is_none_or(|at| at.elapsed() >= REREAD_INTERVAL) {
            return self.hear_all();
        }
        match self.hear_events() {
            // The server has lost its memory, or somebody has tidied up.
            Err(error) if error.code() == Some("NOGROUP") => self.hear_all(),
            heard => heard,
        }
    }

    fn hear_events(&mut self) -> Result<Heard, RedisError> {
        let mut taken = Vec::new();
        let mut names = BTreeSet::new();
        for _ in 0..READS_MOST {
            let entries = self.read_events()?;
            match entries.last() {
                None if self.read_only || self.from == NEW => break,
                None => NEW.clone_into(&mut self.from),
                Some((id, _)) if self.from != NEW => self.from.clone_from(id),
                Some(_) => (),
            }
            for (id, fields) in entries {
                taken.push(id);
                let ports = fields.into_iter().flatten().filter(|(name, _)| name == b"port");
                names.extend(ports.map(|(_, port)| String::from_utf8_lossy(&port).into_owned()));
            }
        }
        if !self.read_only {
            self.handled = taken;
        }
        let mut heard = Heard::default();
        let names: Vec<String> = names.into_iter().collect();
        for some in names.chunks(DIRECTIONS_READ_MOST) {
            self.read_directions(some, &mut heard)?;
        }
        Ok(heard)
    }

    /// The next events, after those that were handed out are taken off the list of what is pending.
    fn read_events(&mut self) -> Result<Vec<Entry>, RedisError> {
        let mut calls = pipe();
        for some in self.handled.chunks(EVENTS_READ_MOST) {
            calls.cmd("XACK").arg(&self.keys.events).arg(&self.group).arg(some);
        }
        match self.read_only {
            true => calls.cmd("XREAD"),
            false => calls.cmd("XREADGROUP").arg("GROUP").arg(&self.group).arg(&self.group),
        };
        calls.arg("COUNT").arg(EVENTS_READ_MOST).arg("STREAMS").arg(&self.keys.events).arg(&self.from);
        // Errors come as answers then, with the code that tells them apart.
        calls.ignore_errors();
        let answers: Vec<Value> = calls.query(&mut self.connection)?;
        self.handled.clear();
        let mut entries = Vec::new();
        for answer in answers {
            match answer {
                Value::ServerError(error) => return Err(error.into()),
                Value::Array(_) => {
                    let streams: Vec<(String, Vec<Entry>)> = ::redis::from_redis_value(answer)?;
                    entries.extend(streams.into_iter().flat_map(|(_, entries)| entries));
                }
                // How many were taken off the list, or that there is nothing new.
                _ => (),
            }
        }
        Ok(entries)
    }

    /// Makes the group if it is not there, and then reads all directions: what changes meanwhile is an event of the group.
    fn hear_all(&mut self) -> Result<Heard, RedisError> {
        if self.read_only {
            let mut latest = cmd("XREVRANGE");
            latest.arg(&self.keys.events).arg("+").arg("-").arg("COUNT").arg(1);
            let latest: Vec<Entry> = latest.query(&mut self.connection)?;
            self.from = latest.into_iter().next().map_or_else(|| "0".to_owned(), |(id, _)| id);
        } else {
            self.make_group()?;
        }
        let mut heard = Heard { all: true, ..Heard::default() };
        let mut cursor = "0".to_owned();
        for _ in 0..INDEX_STEPS_MOST {
            let mut scan = cmd("SSCAN");
            scan.arg(&self.keys.index).arg(&cursor).arg("COUNT").arg(DIRECTIONS_READ_MOST);
            let (next, names): (String, Vec<Vec<u8>>) = scan.query(&mut self.connection)?;
            let names: Vec<String> =
                names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
            for some in names.chunks(DIRECTIONS_READ_MOST) {
                self.read_directions(some, &mut heard)?;
            }
            if next == "0" {
                self.read_at = Some(Instant::now());
                return Ok(heard);
            }
            cursor = next;
        }
        Err(RedisError::from(std::io::Error::other(format!(
            "{} has no end after {INDEX_STEPS_MOST} steps",
            self.keys.index
        ))))
    }

    fn make_group(&mut self) -> Result<(), RedisError> {
        let mut create = cmd("XGROUP");
        create.arg("CREATE").arg(&self.keys.events).arg(&self.group).arg("$").arg("MKSTREAM");
        match create.exec(&mut self.connection) {
            Err(error) if error.code() != Some("BUSYGROUP") => Err(error),
            _ => Ok(()),
        }
    }

    fn read_directions(&mut self, names: &[String], heard: &mut Heard) -> Result<(), RedisError> {
        let mut ports: Vec<PortName> = Vec::new();
        for name in names {
            match name.parse() {
                Ok(port) => ports.push(port),
                Err(_) => heard.strange.push(name.clone()),
            }
        }
        if ports.is_empty() {
            return Ok(());
        }
        let mut calls = pipe();
        for port in &ports {
            calls.cmd("HMGET").arg(self.keys.direction(port)).arg(&FIELDS);
        }
        calls.ignore_errors();
        let answers: Vec<Value> = calls.query(&mut self.connection)?;
        for (port, answer) in ports.into_iter().zip(answers) {
            let state = match answer {
                Value::Array(fields) => stored::state(&fields),
                // A hash that is something else is nobody's fault but that key's; anything else ends the connection.
                Value::ServerError(error) if error.code() == "WRONGTYPE" => Err("it is no hash".to_owned()),
                Value::ServerError(error) => return Err(error.into()),
                _ => Err("the answer is no list".to_owned()),
            };
            match state {
                Ok(Some(state)) => heard.states.push((port, Ok(state))),
                Ok(None) => (),
                Err(why) => heard.states.push((port, Err(why))),
            }
        }
        Ok(())
    }
}
