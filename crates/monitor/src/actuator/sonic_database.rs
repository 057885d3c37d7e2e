//! A SONiC switch's databases, as those use them that change something: read, watched, and written in one transaction.

use crate::sonic::CONFIG_DB;
use ::redis::{Connection, RedisError, Value, cmd};
use std::collections::BTreeMap;

/// The fields of a hash.
pub(super) type Fields = BTreeMap<String, String>;

/// Keys that are looked at with one call, and calls.
const SCAN_STEP: usize = 1_000;
const SCANS_MOST: usize = 10_000;

/// One connection: what it watches ends with it.
pub(super) struct Database {
    connection: Connection,
}

impl Database {
    pub fn new(connection: Connection) -> Database {
        Database { connection }
    }

    fn select(&mut self, database: u8) -> Result<(), RedisError> {
        cmd("SELECT").arg(database).exec(&mut self.connection)
    }

    /// All fields of a hash; none if it is not there.
    pub fn hash(&mut self, database: u8, key: &str) -> Result<Fields, RedisError> {
        self.select(database)?;
        cmd("HGETALL").arg(key).query(&mut self.connection)
    }

    /// The same. What is [written](Self::write) next is refused if the hash has changed until then.
    pub fn watched_hash(&mut self, database: u8, key: &str) -> Result<Fields, RedisError> {
        self.select(database)?;
        cmd("WATCH").arg(key).exec(&mut self.connection)?;
        cmd("HGETALL").arg(key).query(&mut self.connection)
    }

    /// Some fields of a hash.
    pub fn fields<const N: usize>(
        &mut self,
        database: u8,
        key: &str,
        fields: [&str; N],
    ) -> Result<[Option<String>; N], RedisError> {
        self.select(database)?;
        let found: Vec<Option<String>> = cmd("HMGET").arg(key).arg(&fields).query(&mut self.connection)?;
        let mut found = found.into_iter();
        Ok(fields.map(|_| found.next().flatten()))
    }

    /// Keys of CONFIG_DB.
    pub fn configured(&mut self, pattern: &str) -> Result<Vec<String>, RedisError> {
        self.select(CONFIG_DB)?;
        let (mut keys, mut cursor) = (Vec::new(), "0".to_owned());
        for _ in 0..SCANS_MOST {
            let mut scan = cmd("SCAN");
            scan.arg(&cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(SCAN_STEP);
            let (next, found): (String, Vec<String>) = scan.query(&mut self.connection)?;
            keys.extend(found);
            if next == "0" {
                break;
            }
            cursor = next;
        }
        Ok(keys)
    }

    /// Sends all commands at once, unless something that is watched has changed; whether they were sent.
    pub fn write(&mut self, commands: impl IntoIterator<Item = Vec<String>>) -> Result<bool, RedisError> {
        // One by one: a command that is refused ends the transaction before any of it is done.
        cmd("MULTI").exec(&mut self.connection)?;
        for command in commands {
            if let Some((name, arguments)) = command.split_first() {
                cmd(name).arg(arguments).exec(&mut self.connection)?;
            }
        }
        let done: Option<Vec<Value>> = cmd("EXEC").query(&mut self.connection)?;
        Ok(done.is_some())
    }
}
