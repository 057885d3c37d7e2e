//! A bus in Redis: a hash for each direction, and a stream that says which have changed.
//!
//! The hashes are what counts. An event only names a direction, whose state is then read, so that events that come twice,
//! late or in another order change nothing. Every agent reads the stream with a group of its own name. After every new
//! connection, and every minute, it reads all directions: nothing depends on an event that was lost. Times to wait are
//! bounded by [`TIMEOUT`](crate::server::TIMEOUT), so that a server behind a broken network delays an agent no longer.

mod keys;
mod session;
mod settings;
mod stored;

pub use settings::{PREFIX_DEFAULT, RedisSettings};

use super::{Bus, BusError, BusEvent};
use crate::PortName;
use crate::exchange::DirectionState;
use crate::server::{Connector, ReachError};
use ::redis::{RedisError, Script};
use keys::Keys;
use linkmend_diagnose::ParameterError;
use session::Session;
use std::collections::BTreeMap;

/// Keys of which it is remembered that they were complained of. Beyond these there are no more complaints.
const COMPLAINTS_MOST: usize = 1_000;

/// See the module's documentation.
pub struct RedisBus {
    connector: Connector,
    keys: Keys,
    group: String,
    script: Script,
    session: Option<Session>,
    /// What is wrong with which key, so that each trouble is logged once.
    complaints: BTreeMap<String, String>,
}

impl RedisBus {
    /// The bus of an agent. It connects when it is polled the first time: a server that is not there yet keeps no agent
    /// from starting.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn new(settings: &RedisSettings, agent: &str) -> Result<RedisBus, ParameterError> {
        Ok(RedisBus {
            connector: settings.connector()?,
            keys: Keys::new(&settings.prefix),
            group: settings::group(agent)?,
            script: Script::new(include_str!("advance.lua")),
            session: None,
            complaints: BTreeMap::new(),
        })
    }

    fn session(&mut self) -> Result<&mut Session, BusError> {
        let session = match self.session.take() {
            Some(session) => session,
            None => {
                let connection = self.connector.connect();
                let connection =
                    connection.map_err(|error| BusError { what: error.what, hint: error.hint })?;
                Session::new(connection, self.keys.clone(), self.group.clone())
            }
        };
        Ok(self.session.insert(session))
    }

    /// Drops the connection: an answer to an earlier question could come for a later one.
    fn lose(&mut self, error: &RedisError) -> BusError {
        self.session = None;
        let ReachError { what, mut hint } = self.connector.explain(error);
        if error.code() == Some("NOPERM") {
            let tag = self.keys.tag();
            hint = Some(format!(
                "grant the user `~{tag}* +@read +@write +@scripting`, and for databases, Sentinels and clusters `+select +role +cluster`"
            ));
        }
        BusError { what, hint }
    }

    fn complain(&mut self, key: String, why: String) {
        if self.complaints.get(&key) == Some(&why) {
            return;
        }
        if self.complaints.len() < COMPLAINTS_MOST {
            tracing::warn!(
                "{key} in Redis is passed over, and what it is about stays as it is: {why}; delete the key, and the \
                 agents write it again"
            );
            self.complaints.insert(key, why);
        }
    }
}

impl Bus for RedisBus {
    fn describe(&self) -> String {
        format!("{}, keys {}:*", self.connector.describe(), self.keys.tag())
    }

    fn put(&mut self, port: &PortName, state: DirectionState) -> Result<(), BusError> {
        let Some(session) = &mut self.session else {
            return Err(BusError {
                what: format!("{}: not connected", self.connector.describe()),
                hint: None,
            });
        };
        match session.put(&self.script, port, &state) {
            Ok(why) if why.is_empty() => Ok(()),
            Ok(why) => {
                self.complain(self.keys.direction(port), why);
                Ok(())
            }
            Err(error) => Err(self.lose(&error)),
        }
    }

    fn poll(&mut self) -> Result<Vec<BusEvent>, BusError> {
        let heard = self.session()?.hear();
        let heard = heard.map_err(|error| self.lose(&error))?;
        let mut events = Vec::new();
        for name in heard.strange {
            let index = self.keys.index.clone();
            self.complain(index, format!("`{}` in it is no port", name.escape_debug()));
        }
        for (port, state) in heard.states {
            match state {
                Ok(state) => {
                    self.complaints.remove(&self.keys.direction(&port));
                    events.push(BusEvent::State(port, state));
                }
                Err(why) => self.complain(self.keys.direction(&port), why),
            }
        }
        if heard.all {
            events.push(BusEvent::Synchronised);
        }
        Ok(events)
    }
}
