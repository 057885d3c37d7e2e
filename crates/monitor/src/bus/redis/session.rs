//! One connection: what has been heard on it, and what has been asked for.

use super::findings;
use super::holder::Holder;
use super::keys::Keys;
use super::seal::{Kind, VERSION};
use super::stored::{self, FIELD_BYTES_MOST, FIELDS};
use super::trust::{Standing, Trust};
use crate::PortName;
use crate::exchange::{DirectionState, generation_most};
use crate::findings::Findings;
use ::redis::{Connection, RedisError, Script, Value, cmd};
use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Events that the stream keeps, give or take some: those of a minute in which every link of a large network changes.
/// Whoever falls behind by more finds what was missed when all directions are read again.
const EVENTS_KEPT: usize = 10_000;
/// Events that are taken with one call, and calls in one poll. What is left waits for the next poll.
const EVENTS_READ_MOST: usize = 1_000;
const READS_MOST: usize = 10;
/// Directions that are read with one call: 26 MB if all were as long as they may be.
const DIRECTIONS_READ_MOST: usize = 200;
/// Steps through the index, each of about [`DIRECTIONS_READ_MOST`] directions: twice what all ports of ten of the largest
/// agents need.
const INDEX_STEPS_MOST: usize = 10_000;
/// How often all directions are read again, in case that an event was lost: to the bound of the stream, to a person, or
/// to a server that came back with less than it had.
const REREAD_INTERVAL: Duration = Duration::from_secs(60);

/// How often it is heard what agents find out about their ports.
const LISTEN_INTERVAL: Duration = Duration::from_secs(2);

/// Agents of which it is looked with one call who has their names.
const HOLDERS_READ_MOST: usize = 200;
/// How long a name is held, and how often it is claimed anew. A machine that dies lets go of it after that time.
const CLAIM_TIME: Duration = Duration::from_secs(15);
const CLAIM_INTERVAL: Duration = Duration::from_secs(5);

/// How often it is looked which runs of neighbours there are.
const RUNS_INTERVAL: Duration = Duration::from_secs(2);
/// Texts that may be written over before a name counts as held: a process repeats its claim every few seconds.
const CLAIMS_TRIED_MOST: usize = 4;

/// Events that were never read, in the words of XREADGROUP.
const NEW: &str = ">";

/// The longest name that is read: an agent and a port of 255 characters each.
const NAME_BYTES_MOST: usize = 2 * 255 * 4 + 1;

/// The number of an event, and the ports that it names.
type Event = (String, Vec<Vec<u8>>);

/// A direction, or why it cannot be used.
pub(super) type Read = Result<(DirectionState, Standing), String>;

/// What one look at the server has brought.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Directions that are there, or why they cannot be used.
    pub states: Vec<(PortName, Read)>,
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
    /// When it was looked last which runs of neighbours there are.
    runs_at: Option<Instant>,
    /// What was written last to say that this process has the agent's name.
    claimed: String,
    scripts: Scripts,
}

/// What runs in the server.
struct Scripts {
    events: Script,
    scan: Script,
    read: Script,
    forget: Script,
    claim: Script,
    holders: Script,
    advance: Script,
    latest: Script,
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
            runs_at: None,
            claimed: String::new(),
            scripts: Scripts {
                events: Script::new(include_str!("events.lua")),
                scan: Script::new(include_str!("scan.lua")),
                read: Script::new(include_str!("read.lua")),
                forget: Script::new(include_str!("forget.lua")),
                claim: Script::new(include_str!("claim.lua")),
                holders: Script::new(include_str!("holders.lua")),
                advance: Script::new(include_str!("advance.lua")),
                latest: Script::new(include_str!("latest.lua")),
            },
        }
    }

    /// Says what this agent finds out about its ports, if it has its name: a second one of that name must not speak for the first.
    pub fn say(&mut self, trust: &Trust, said: &Findings) -> Result<(), RedisError> {
        if self.read_only || self.claimed_at.is_none() {
            return Ok(());
        }
        findings::say(&mut self.connection, &self.keys, trust, &self.group, said)
    }

    /// What agents find out about their ports, if it is time for that.
    pub fn listen(&mut self, trust: &mut Trust) -> Result<findings::Heard, RedisError> {
        if self.listened_at.is_some_and(|at| at.elapsed() < LISTEN_INTERVAL) {
            return Ok(findings::Heard::new());
        }
        self.listened_at = Some(Instant::now());
        findings::listen(&mut self.connection, &self.keys, trust)
    }

    /// Claims the agent's name, if it is time for that; another process that has it.
    pub fn claim(&mut self, trust: &mut Trust, holder: &Holder) -> Result<Option<String>, RedisError> {
        if self.read_only || self.claimed_at.is_some_and(|at| at.elapsed() < CLAIM_INTERVAL) {
            return Ok(None);
        }
        let place = self.keys.agent(&self.group);
        let claim = trust.seal_claim(&place, holder);
        let mut over = vec![std::mem::replace(&mut self.claimed, claim)];
        for _ in 0..CLAIMS_TRIED_MOST {
            let written = self.hold(CLAIM_TIME, &over)?;
            if written.is_empty() {
                break;
            }
            let written = String::from_utf8_lossy(&written).into_owned();
            if let Some(other) = trust.other_holder(&place, holder, &written) {
                (self.claimed_at, self.read_at) = (None, None);
                return Ok(Some(other));
            }
            over.push(written);
        }
        // Somebody who writes there all the time, and is no agent, does not keep this one from speaking.
        self.claimed_at = Some(Instant::now());
        Ok(None)
    }

    /// Lets go of the name, so that nobody has to wait for it.
    pub fn release(&mut self) {
        if self.claimed_at.take().is_some() {
            let _ = self.hold(Duration::ZERO, &[]);
        }
    }

    fn hold(&mut self, time: Duration, over: &[String]) -> Result<Vec<u8>, RedisError> {
        let milliseconds = time.as_millis().to_string();
        let mut call = self.scripts.claim.key(self.keys.agent(&self.group));
        call.arg(&self.claimed).arg(milliseconds).arg(over).invoke(&mut self.connection)
    }

    /// Seals what this agent asks for once more for neighbours that have been restarted, if it is time to look for these.
    pub fn confirm(&mut self, trust: &mut Trust) -> Result<(), RedisError> {
        let is_early = self.runs_at.is_some_and(|at| at.elapsed() < RUNS_INTERVAL);
        if self.read_only || is_early || !trust.has_keys() {
            return Ok(());
        }
        self.runs_at = Some(Instant::now());
        let readers: Vec<String> = trust.readers().into_iter().collect();
        for some in readers.chunks(HOLDERS_READ_MOST) {
            self.look_for_runs(trust, some)?;
        }
        for reader in readers {
            for (port, request) in trust.to_seal_for(&reader) {
                self.put(trust, &port, &DirectionState { request: Some(request), acknowledgement: None })?;
            }
        }
        Ok(())
    }

    /// Looks which runs of these agents there are.
    fn look_for_runs(&mut self, trust: &mut Trust, agents: &[String]) -> Result<(), RedisError> {
        let mut call = self.scripts.holders.prepare_invoke();
        for agent in agents {
            call.key(self.keys.agent(agent));
        }
        let written: Vec<Vec<u8>> = call.invoke(&mut self.connection)?;
        for (agent, written) in agents.iter().zip(written) {
            let written = String::from_utf8_lossy(&written);
            if trust.hear_claim(&self.keys.agent(agent), agent, &written) {
                tracing::debug!("{agent} has been restarted");
            }
        }
        Ok(())
    }

    /// Writes what is not older than what is known; the answer is empty, or why the key cannot be used.
    pub fn put(
        &mut self,
        trust: &mut Trust,
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
        let (mut request, mut acknowledgement) = match written {
            Ok(written) => written,
            Err(why) => return Ok(why),
        };
        if let Some(reader) = trust.unknown_reader(port, state.request.as_ref()) {
            self.look_for_runs(trust, &[reader])?;
        }
        let place = self.keys.direction(port);
        let mut seal = |kind: Kind, written: &mut [String; 2]| {
            let seal = if written[1].is_empty() { None } else { trust.seal(&place, port, kind, &written[1]) };
            // What another agent has said, and nobody remembers as it has sealed it, only that agent can say again.
            seal.unwrap_or_else(|| {
                *written = [String::new(), String::new()];
                String::new()
            })
        };
        let request_seal = seal(Kind::Request, &mut request);
        let acknowledgement_seal = seal(Kind::Acknowledgement, &mut acknowledgement);
        let advance = self.scripts.advance.clone();
        let mut call = advance.key(&place);
        call.key(&self.keys.index).key(&self.keys.events);
        call.arg(VERSION).arg(port.to_string()).arg(EVENTS_KEPT).arg(generation_most(now()));
        call.arg(&request).arg(request_seal).arg(&acknowledgement).arg(acknowledgement_seal);
        let why: String = call.invoke(&mut self.connection)?;
        if why.is_empty() || !trust.has_keys() {
            return Ok(why);
        }
        // It may be nobody's: reading it takes it out then.
        self.read_directions(&[port.to_string()], trust, &mut Heard::default())?;
        call.invoke(&mut self.connection)
    }

    /// What has changed, or everything if it is time for that.
    pub fn hear(&mut self, trust: &mut Trust) -> Result<Heard, RedisError> {
        if self.read_at.is_none_or(|at| at.elapsed() >= REREAD_INTERVAL) {
            return self.hear_all(trust);
        }
        match self.hear_events(trust) {
            // The server has lost its memory, or somebody has tidied up.
            Err(error) if error.code() == Some("NOGROUP") => self.hear_all(trust),
            heard => heard,
        }
    }

    fn hear_events(&mut self, trust: &mut Trust) -> Result<Heard, RedisError> {
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
            for (id, ports) in entries {
                taken.push(id);
                names.extend(ports.iter().map(|port| String::from_utf8_lossy(port).into_owned()));
            }
        }
        if !self.read_only {
            self.handled = taken;
        }
        let mut heard = Heard::default();
        let names: Vec<String> = names.into_iter().collect();
        for some in names.chunks(DIRECTIONS_READ_MOST) {
            self.read_directions(some, trust, &mut heard)?;
        }
        Ok(heard)
    }

    /// The next events, after those that were handed out are taken off the list of what is pending.
    fn read_events(&mut self) -> Result<Vec<Event>, RedisError> {
        for some in std::mem::take(&mut self.handled).chunks(EVENTS_READ_MOST) {
            cmd("XACK").arg(&self.keys.events).arg(&self.group).arg(some).exec(&mut self.connection)?;
        }
        let group = if self.read_only { "" } else { self.group.as_str() };
        let mut call = self.scripts.events.key(&self.keys.events);
        let call = call.arg(group).arg(EVENTS_READ_MOST).arg(&self.from).arg(NAME_BYTES_MOST);
        Ok(call.invoke::<Option<Vec<Event>>>(&mut self.connection)?.unwrap_or_default())
    }

    /// Makes the group if it is not there, and then reads all directions: what changes meanwhile is an event of the group.
    fn hear_all(&mut self, trust: &mut Trust) -> Result<Heard, RedisError> {
        if self.read_only {
            let latest = self.scripts.latest.key(&self.keys.events).invoke(&mut self.connection);
            self.from = latest?;
        } else {
            self.make_group()?;
        }
        let mut heard = Heard { all: true, ..Heard::default() };
        let mut cursor = "0".to_owned();
        for _ in 0..INDEX_STEPS_MOST {
            let mut scan = self.scripts.scan.key(&self.keys.index);
            scan.arg(&cursor).arg(DIRECTIONS_READ_MOST).arg(NAME_BYTES_MOST);
            let (next, names): (String, Vec<Vec<u8>>) = scan.invoke(&mut self.connection)?;
            let names: Vec<String> =
                names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
            for some in names.chunks(DIRECTIONS_READ_MOST) {
                self.read_directions(some, trust, &mut heard)?;
            }
            if next == "0" {
                self.read_at = Some(Instant::now());
                return Ok(heard);
            }
            cursor = next;
        }
        Err(RedisError::from(std::io::Error::other(format!(
            "{} does not end after {INDEX_STEPS_MOST} steps",
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

    fn read_directions(
        &mut self,
        names: &[String],
        trust: &mut Trust,
        heard: &mut Heard,
    ) -> Result<(), RedisError> {
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
        let mut call = self.scripts.read.prepare_invoke();
        for port in &ports {
            call.key(self.keys.direction(port));
        }
        call.arg(FIELD_BYTES_MOST).arg(&FIELDS);
        let answers: Vec<Value> = call.invoke(&mut self.connection)?;
        for (port, answer) in ports.into_iter().zip(answers) {
            let parts = match answer {
                Value::Array(fields) => stored::parts(&fields),
                // A key that is something else is nobody's fault but that key's.
                _ => Err("it is not a hash".to_owned()),
            };
            let place = self.keys.direction(&port);
            let usable = parts.as_ref().map_err(String::clone).and_then(|parts| match parts {
                Some(parts) => parts.check_version(),
                None => Ok(()),
            });
            if let Err(why) = usable {
                let parts = parts.ok().flatten();
                let state = if trust.refuses(&place, &port, parts.as_ref(), &why) {
                    self.take_out(&place)?;
                    Ok((DirectionState::default(), Standing::Live))
                } else {
                    Err(why)
                };
                heard.states.push((port, state));
                continue;
            }
            match parts {
                Ok(Some(mut parts)) => {
                    let (forged, standing) = trust.judge(&place, &port, &mut parts);
                    self.forget(&place, forged)?;
                    let state = parts.state(generation_most(now()));
                    heard.states.push((port, state.map(|state| (state, standing))));
                }
                Ok(None) => (),
                Err(why) => heard.states.push((port, Err(why))),
            }
        }
        Ok(())
    }

    /// Deletes what no agent has written. If one writes meanwhile, it does so again within a minute.
    fn take_out(&mut self, place: &str) -> Result<(), RedisError> {
        if self.read_only {
            return Ok(());
        }
        cmd("DEL").arg(place).exec(&mut self.connection)
    }

    /// Makes room for what agents have to say where somebody else has written.
    fn forget(&mut self, place: &str, forged: Vec<(Kind, String)>) -> Result<(), RedisError> {
        for (kind, text) in forged.into_iter().filter(|_| !self.read_only) {
            let mut call = self.scripts.forget.key(place);
            let _: Value = call.arg(kind.name()).arg(text).invoke(&mut self.connection)?;
        }
        Ok(())
    }
}

/// The time by this machine's clock.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
