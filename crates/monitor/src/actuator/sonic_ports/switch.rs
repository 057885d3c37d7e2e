//! A switch's databases, as far as the state of its ports is concerned.

use super::rules::{ADMIN_STATUS, Channel, DOWN, Found, Step, UP};
use crate::actuator::sonic_database::Database;
use crate::sonic::{APPL_DB, CONFIG_DB, STATE_DB};
use ::redis::{Connection, RedisError};

/// In STATE_DB, which is empty after the switch has been started: the ports that were taken down here, and why.
const KEPT: &str = "LINKMEND_DOWN";
/// Its field that is no port: it is there as long as nobody has emptied the database.
const SINCE: &str = "since-the-switch-was-started";

/// See the module's documentation.
pub(super) struct Switch {
    database: Database,
}

impl Switch {
    pub fn new(connection: Connection) -> Switch {
        Switch { database: Database::new(connection) }
    }

    /// A port, and what was done at all ports. What is written next is refused if any of it has changed until then.
    pub fn find(&mut self, port: &str) -> Result<Found, RedisError> {
        let kept = self.database.watched_hash(STATE_DB, KEPT)?;
        let entry = self.database.watched_hash(CONFIG_DB, &format!("PORT|{port}"))?;
        let is_management = !self.database.hash(CONFIG_DB, &format!("MGMT_PORT|{port}"))?.is_empty();
        Ok(Found {
            port: entry,
            is_management,
            channels: self.channels(port)?,
            is_ours: kept.contains_key(port),
            has_forgotten: !kept.contains_key(SINCE),
            others_down: kept.keys().filter(|other| *other != port && *other != SINCE).count(),
        })
    }

    fn channels(&mut self, port: &str) -> Result<Vec<Channel>, RedisError> {
        let members = self.database.configured("PORTCHANNEL_MEMBER|*")?;
        let members: Vec<(&str, &str)> =
            members.iter().filter_map(|key| key.split_once('|')?.1.split_once('|')).collect();
        let mut channels = Vec::new();
        for (name, _) in members.iter().filter(|(_, member)| *member == port) {
            let settings = self.database.watched_hash(CONFIG_DB, &format!("PORTCHANNEL|{name}"))?;
            let mut channel = Channel {
                name: (*name).to_owned(),
                min_links: settings.get("min_links").cloned(),
                ..Channel::default()
            };
            for (_, other) in members.iter().filter(|(of, member)| of == name && *member != port) {
                channel.others += 1;
                channel.others_up += usize::from(self.carries(name, other)?);
            }
            channels.push(channel);
        }
        Ok(channels)
    }

    /// Whether a member carries traffic of its channel: it is to be up, is so, and the other end has not refused it.
    fn carries(&mut self, channel: &str, member: &str) -> Result<bool, RedisError> {
        let entry = self.database.watched_hash(CONFIG_DB, &format!("PORT|{member}"))?;
        let [oper_status] =
            self.database.fields(APPL_DB, &format!("PORT_TABLE:{member}"), ["oper_status"])?;
        let [selected] =
            self.database.fields(APPL_DB, &format!("LAG_MEMBER_TABLE:{channel}:{member}"), ["status"])?;
        let is_up = |status: Option<&String>| status.is_some_and(|status| status == UP);
        let is_selected = selected.is_none_or(|status| status != "disabled");
        Ok(is_up(entry.get(ADMIN_STATUS)) && is_up(oper_status.as_ref()) && is_selected)
    }

    /// Sends these commands at once, unless what [`find`](Self::find) has found has changed; whether they were sent.
    pub fn write(&mut self, commands: Vec<Vec<String>>) -> Result<bool, RedisError> {
        self.database.write(commands)
    }
}

/// The commands of a step at a port. What is done and that it was done here are one transaction.
pub(super) fn commands(step: Step, port: &str, why: &str) -> Vec<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let select = |database: u8| words(&["SELECT", &database.to_string()]);
    let status =
        |status: &str| [select(CONFIG_DB), words(&["HSET", &format!("PORT|{port}"), ADMIN_STATUS, status])];
    let forget = || [select(STATE_DB), words(&["HDEL", KEPT, port])];
    match step {
        Step::TakeDown => {
            let keep = words(&["HSET", KEPT, SINCE, "yes", port, why]);
            [select(STATE_DB), keep].into_iter().chain(status(DOWN)).collect()
        }
        Step::BringUp => forget().into_iter().chain(status(UP)).collect(),
        Step::Forget => forget().into(),
        Step::IsDown | Step::WasDown | Step::IsUp => Vec::new(),
    }
}
