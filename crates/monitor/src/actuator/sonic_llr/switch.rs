//! A switch's databases, as far as LLR is concerned: what is read of them, and what is written.

use super::profile::Fields;
use super::rules::{Found, Kept, is_on};
use crate::actuator::sonic_database::Database;
use crate::sonic::{APPL_DB, CAPABILITY, CONFIG_DB, COUNTERS_DB, LLR_CAPABLE, STATE_DB, llr_port_in_force};
use ::redis::{Connection, RedisError};
use std::collections::BTreeMap;

/// In STATE_DB, which is empty after the switch has been started, as the configuration is what was saved: what was done at ports.
const KEPT: &str = "LINKMEND_LLR";
const SUPPORTED: &str = "LLR_SUPPORTED_PROFILE_ATTRIBUTES";
const NAME_MAP: &str = "COUNTERS_PORT_NAME_MAP";
/// What a port hears only from a peer that has LLR.
const ANSWERS: [&str; 2] = ["SAI_PORT_STAT_LLR_RX_ACK_CTL_OS", "SAI_PORT_STAT_LLR_RX_INIT_ECHO_CTL_OS"];

fn llr_port(port: &str) -> String {
    format!("LLR_PORT|{port}")
}

fn llr_profile(name: &str) -> String {
    format!("LLR_PROFILE|{name}")
}

/// A change of a database.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Keep {
        port: String,
        kept: Kept,
    },
    Forget {
        port: String,
    },
    Profile {
        name: String,
        fields: Fields,
    },
    DeleteProfile {
        name: String,
    },
    /// The port's entry, or none. It is written as a whole, because the switch keeps in mind what a field was that is only gone.
    Port {
        port: String,
        entry: Option<Fields>,
    },
}

impl Change {
    /// The commands that make it.
    pub fn commands(&self) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let select = |database: u8| words(&["SELECT", &database.to_string()]);
        let hash = |key: String, fields: &Fields| {
            let mut command = vec!["HSET".to_owned(), key];
            command.extend(fields.iter().flat_map(|(field, value)| [field.clone(), value.clone()]));
            command
        };
        match self {
            Change::Keep { port, kept } => {
                let text = serde_json::to_string(kept)
                    .unwrap_or_else(|error| unreachable!("texts and numbers: {error}"));
                vec![select(STATE_DB), words(&["HSET", KEPT, port, &text])]
            }
            Change::Forget { port } => vec![select(STATE_DB), words(&["HDEL", KEPT, port])],
            Change::Profile { name, fields } => vec![select(CONFIG_DB), hash(llr_profile(name), fields)],
            Change::DeleteProfile { name } => vec![select(CONFIG_DB), words(&["DEL", &llr_profile(name)])],
            Change::Port { port, entry } => {
                let mut commands = vec![select(CONFIG_DB), words(&["DEL", &llr_port(port)])];
                commands.extend(entry.iter().map(|entry| hash(llr_port(port), entry)));
                commands
            }
        }
    }
}

/// See the module's documentation.
pub(super) struct Switch {
    database: Database,
}

impl Switch {
    pub fn new(connection: Connection) -> Switch {
        Switch { database: Database::new(connection) }
    }

    /// The fields of profiles that the switch supports; `None` if it has no LLR.
    pub fn supported(&mut self) -> Result<Option<String>, RedisError> {
        let capability = self.database.hash(STATE_DB, CAPABILITY)?;
        let is_capable = capability.get(LLR_CAPABLE).is_some_and(|capable| capable == "true");
        Ok(is_capable.then(|| capability.get(SUPPORTED).cloned().unwrap_or_default()))
    }

    /// A port, and what was done at all ports. What is written next is refused if any of it has changed until then.
    pub fn find(&mut self, port: &str) -> Result<Found, RedisError> {
        let kept = self.database.watched_hash(STATE_DB, KEPT)?;
        // What is not ours to read was not done by us.
        let kept =
            kept.into_iter().filter_map(|(port, text)| Some((port, serde_json::from_str(&text).ok()?)));
        let mut others: BTreeMap<String, Kept> = kept.collect();
        let entry = self.database.watched_hash(CONFIG_DB, &llr_port(port))?;
        Ok(Found { entry, kept: others.remove(port), others })
    }

    /// The port's configuration; empty if there is no such port.
    pub fn port(&mut self, port: &str) -> Result<Fields, RedisError> {
        self.database.hash(CONFIG_DB, &format!("PORT|{port}"))
    }

    pub fn profile(&mut self, name: &str) -> Result<Fields, RedisError> {
        self.database.hash(CONFIG_DB, &llr_profile(name))
    }

    /// The length of a port's cable, as it is configured.
    pub fn cable(&mut self, port: &str) -> Result<Option<String>, RedisError> {
        for key in self.database.configured("CABLE_LENGTH|*")? {
            let [length] = self.database.fields(CONFIG_DB, &key, [port])?;
            if length.is_some() {
                return Ok(length);
            }
        }
        Ok(None)
    }

    /// Whether a port other than this one is configured with a profile.
    pub fn uses(&mut self, profile: &str, other_than: &str) -> Result<bool, RedisError> {
        for key in self.database.configured("LLR_PORT|*")? {
            let [used] = self.database.fields(CONFIG_DB, &key, ["llr_profile"])?;
            if key != llr_port(other_than) && used.as_deref() == Some(profile) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the switch has taken over that LLR is on at a port: `llrmgrd` has found a profile and told `orchagent`.
    pub fn is_in_force(&mut self, port: &str) -> Result<bool, RedisError> {
        Ok(is_on(&self.database.hash(APPL_DB, &llr_port_in_force(port))?))
    }

    /// How often the peer has answered; `None` if that is not counted.
    pub fn answers(&mut self, port: &str) -> Result<Option<u64>, RedisError> {
        let [object] = self.database.fields(COUNTERS_DB, NAME_MAP, [port])?;
        let Some(object) = object else { return Ok(None) };
        let counts = self.database.fields(COUNTERS_DB, &format!("COUNTERS:{object}"), ANSWERS)?;
        let counts: Vec<u64> = counts.into_iter().flatten().filter_map(|count| count.parse().ok()).collect();
        Ok((!counts.is_empty()).then(|| counts.iter().fold(0, |sum, count| count.saturating_add(sum))))
    }

    /// Makes all changes at once, unless what [`find`](Self::find) has found has changed; whether they were made.
    pub fn write(&mut self, changes: &[Change]) -> Result<bool, RedisError> {
        self.database.write(changes.iter().flat_map(Change::commands))
    }
}
