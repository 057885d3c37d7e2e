//! A bus in Redis: a hash for each direction, and a stream that says which have changed.
//!
//! The hashes are what counts. An event only names a direction, whose state is then read, so that events that come twice,
//! late or in another order change nothing. Every agent reads the stream with a group of its own name. After every new
//! connection, and every minute, it reads all directions: nothing depends on an event that was lost. The name of an agent is
//! claimed for a while and again and again, so that a second agent of that name is refused. A server behind a broken
//! network delays an agent by [`TIMEOUT`](crate::server::TIMEOUT) once: connections are opened on a thread of their own.

mod access;
mod findings;
mod holder;
mod keys;
#[cfg(test)]
mod replays;
mod seal;
mod session;
mod settings;
mod stored;
mod trust;

pub use settings::{PREFIX_DEFAULT, RedisSettings};

use super::{Bus, BusError, BusEvent};
use crate::PortName;
use crate::exchange::DirectionState;
use crate::findings::Findings;
use crate::server::{Connector, ReachError};
use ::redis::{Connection, RedisError};
use access::Access;
use holder::Holder;
use keys::Keys;
use linkmend_diagnose::{ParameterError, excerpt};
use session::Session;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use trust::{Standing, Trust};

/// Keys of which it is remembered that they were complained of. Beyond these there are no more complaints.
const COMPLAINTS_MOST: usize = 1_000;

/// How long a poll waits for a connection that is being opened: most open within it.
const PATIENCE: Duration = Duration::from_millis(100);
/// What is shown of a name that is none.
const NAME_SHOWN_MOST: usize = 80;

/// See the module's documentation.
pub struct RedisBus {
    connector: Arc<Mutex<Connector>>,
    description: String,
    keys: Keys,
    group: String,
    holder: Holder,
    read_only: bool,
    /// Whether it is of interest what others find out about their ports.
    listens: bool,
    trust: Trust,
    /// Who may write there, once that was found out.
    access: Option<Access>,
    probing: Option<Receiver<Access>>,
    run: String,
    link: Link,
    /// Why it could not be reached the last time.
    trouble: Option<BusError>,
    /// What is wrong with which key, so that each trouble is logged once.
    complaints: BTreeMap<String, String>,
}

/// How the server is reached at the moment.
enum Link {
    Away,
    /// A thread opens a connection: a silent server takes several times [`TIMEOUT`](crate::server::TIMEOUT) until it is given up,
    /// and counters have to be read meanwhile.
    Opening(Receiver<Opened>),
    Up(Box<Session>),
}

type Opened = Result<Box<Connection>, ReachError>;

/// Opens a connection on a thread of its own. Without a thread, nothing comes.
fn open(connector: &Arc<Mutex<Connector>>) -> Receiver<Opened> {
    let (sender, opened) = channel();
    let connector = Arc::clone(connector);
    let open = move || {
        let mut connector = connector.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody waits for it any more if the bus is gone.
        let _ = sender.send(connector.connect().map(Box::new));
    };
    let _ = std::thread::Builder::new().name("redis".to_owned()).spawn(open);
    opened
}

impl RedisBus {
    /// The bus of an agent. It connects when it is polled the first time: a server that is not there yet keeps no agent
    /// from starting.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn new(settings: &RedisSettings, agent: &str) -> Result<RedisBus, ParameterError> {
        let connector = settings.connector()?;
        let (keys, run) = (Keys::new(&settings.prefix), seal::run()?);
        Ok(RedisBus {
            description: format!("{}, keys {}:*", connector.describe(), keys.tag()),
            connector: Arc::new(Mutex::new(connector)),
            keys,
            group: settings::group(agent)?,
            holder: Holder::this(&run),
            read_only: false,
            listens: false,
            trust: Trust::new(settings.read_keys(agent)?, agent, &run),
            access: None,
            probing: None,
            run,
            link: Link::Away,
            trouble: None,
            complaints: BTreeMap::new(),
        })
    }

    /// The same bus, to which nothing is written: not even that this agent reads it.
    #[must_use]
    pub fn read_only(mut self) -> RedisBus {
        self.read_only = true;
        self.trust.rehearse();
        self
    }

    /// The same bus, at which is heard what others find out about their ports.
    #[must_use]
    pub fn listening(mut self, listens: bool) -> RedisBus {
        self.listens = listens;
        self
    }

    /// Goes on with a connection, or with the attempt to open one.
    fn connect(&mut self) -> Result<(), BusError> {
        let opened = match std::mem::replace(&mut self.link, Link::Away) {
            Link::Up(session) => {
                self.link = Link::Up(session);
                return Ok(());
            }
            Link::Away => open(&self.connector),
            Link::Opening(opened) => opened,
        };
        match opened.recv_timeout(PATIENCE) {
            Ok(Ok(connection)) => {
                let session =
                    Session::new(*connection, self.keys.clone(), self.group.clone(), self.read_only);
                self.link = Link::Up(Box::new(session));
                self.trouble = None;
                Ok(())
            }
            Ok(Err(ReachError { what, hint })) => Err(self.remember(BusError { what, hint })),
            Err(RecvTimeoutError::Timeout) => {
                self.link = Link::Opening(opened);
                let silent =
                    || BusError { what: format!("{} does not answer", self.description), hint: None };
                Err(self.trouble.clone().unwrap_or_else(silent))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let what = "cannot start a thread that connects".to_owned();
                Err(self.remember(BusError { what, hint: None }))
            }
        }
    }

    fn remember(&mut self, trouble: BusError) -> BusError {
        self.trouble.insert(trouble).clone()
    }

    /// Drops the connection: an answer to an earlier question could come for a later one.
    fn lose(&mut self, error: &RedisError) -> BusError {
        self.link = Link::Away;
        let connector = self.connector.lock().unwrap_or_else(PoisonError::into_inner);
        let ReachError { what, mut hint } = connector.explain(error);
        drop(connector);
        if error.code() == Some("NOPERM") {
            let tag = self.keys.tag();
            hint = Some(format!(
                "grant the user `~{tag}* +@read +@write +@scripting`, and for databases, Sentinels and clusters `+select +role +cluster`"
            ));
        }
        self.remember(BusError { what, hint })
    }

    /// Another process has the name of this agent. Each would answer for the ports of the other.
    fn refuse(&mut self, other: &str) -> BusError {
        let what =
            format!("another corruptd already uses the agent name {}: {}", self.group, Holder::told(other));
        let hint = "give every machine a unique name with --agent, or stop the other process";
        self.remember(BusError { what, hint: Some(hint.to_owned()) })
    }

    fn complain(&mut self, key: String, why: String) {
        if self.complaints.get(&key) == Some(&why) {
            return;
        }
        if self.complaints.len() < COMPLAINTS_MOST {
            tracing::warn!(
                "ignoring {key} in Redis and keeping the previous state: {why}; agents overwrite the key within \
                 a minute if they can, otherwise delete it"
            );
            self.complaints.insert(key, why);
        }
    }
}

impl Drop for RedisBus {
    fn drop(&mut self) {
        if let Link::Up(session) = &mut self.link {
            session.release();
        }
    }
}

impl Bus for RedisBus {
    fn describe(&self) -> String {
        let sealed = if self.trust.has_keys() {
            ", sealed"
        } else {
            ", unsealed: anyone who can write there is trusted"
        };
        format!("{}{sealed}", self.description)
    }

    fn trouble(&self) -> Option<String> {
        let access = self.access.filter(|_| !self.trust.has_keys()).and_then(Access::trouble);
        self.trust.trouble().or(access)
    }

    fn put(&mut self, port: &PortName, state: DirectionState) -> Result<(), BusError> {
        let Link::Up(session) = &mut self.link else {
            let away = || BusError { what: format!("{}: not connected", self.description), hint: None };
            return Err(self.trouble.clone().unwrap_or_else(away));
        };
        match session.put(&mut self.trust, port, &state) {
            Ok(why) if why.is_empty() => Ok(()),
            Ok(why) => {
                self.complain(self.keys.direction(port), why);
                Ok(())
            }
            Err(error) => Err(self.lose(&error)),
        }
    }

    fn say(&mut self, findings: &Findings) -> Result<(), BusError> {
        let Link::Up(session) = &mut self.link else { return Ok(()) };
        session.say(&self.trust, findings).map_err(|error| self.lose(&error))
    }

    fn poll(&mut self) -> Result<Vec<BusEvent>, BusError> {
        self.connect()?;
        if let Some(access) = self.probing.as_ref().and_then(|probing| probing.try_recv().ok()) {
            access.tell(self.trust.has_keys());
            self.access = Some(access);
        }
        let Link::Up(session) = &mut self.link else { return Ok(Vec::new()) };
        let other = session.claim(&mut self.trust, &self.holder);
        let heard = match other {
            Ok(Some(other)) => return Err(self.refuse(&other)),
            Ok(None) => session.confirm(&mut self.trust).and_then(|()| session.hear(&mut self.trust)),
            Err(error) => Err(error),
        };
        let heard = heard.map_err(|error| self.lose(&error))?;
        if self.probing.is_none() {
            let connector = self.connector.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.probing = Some(access::probe(connector, self.keys.clone(), self.run.clone()));
        }
        let Link::Up(session) = &mut self.link else { return Ok(Vec::new()) };
        let found = if self.listens { session.listen(&mut self.trust) } else { Ok(Vec::new()) };
        let found = found.map_err(|error| self.lose(&error))?;
        let mut events = if heard.all { vec![BusEvent::Rereading] } else { Vec::new() };
        for name in heard.strange {
            let keys = format!("{} or {}", self.keys.index, self.keys.events);
            self.complain(keys, format!("`{}` in it is not a port", excerpt(&name, NAME_SHOWN_MOST)));
        }
        for (port, state) in heard.states {
            match state {
                Ok((state, standing)) => {
                    self.complaints.remove(&self.keys.direction(&port));
                    events.push(match standing {
                        Standing::Live => BusEvent::State(port, state),
                        Standing::Recorded => BusEvent::Recorded(port, state),
                    });
                }
                Err(why) => self.complain(self.keys.direction(&port), why),
            }
        }
        for (agent, findings) in found {
            match findings {
                Ok(mut findings) => {
                    if !self.trust.has_keys() {
                        // A number that somebody has made up must not keep the agent from being heard for ever.
                        findings.beat = findings.beat.min(seal::number());
                    }
                    events.push(BusEvent::Findings(agent, findings));
                }
                Err(why) => self.complain(self.keys.findings(&agent), why),
            }
        }
        if heard.all {
            events.push(BusEvent::Synchronised);
        }
        Ok(events)
    }
}
