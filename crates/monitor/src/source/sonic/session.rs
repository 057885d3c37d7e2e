//! One connection to SONiC's Redis, and the questions that are asked on it.

use super::PORTS_MOST;
use super::counters::{FIELDS, STATE_FIELDS};
use ::redis::{Connection, RedisError, Value, cmd, pipe};
use std::collections::BTreeMap;

/// Numbers of databases, which are the same on all switches (`database_config.json`).
const APPL_DB: u8 = 0;
const COUNTERS_DB: u8 = 2;
/// Objects that have the counters of ports, by the names of the ports.
const NAME_MAP: &str = "COUNTERS_PORT_NAME_MAP";
/// Ports that are read of the map with one call.
const MAP_STEP: usize = 1_000;
/// Calls for the map; twice what the most ports need.
const MAP_STEPS_MOST: usize = 2 * PORTS_MOST / MAP_STEP;

/// Fields of a hash with their values.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The fields of a hash in the order in which they were asked for, or why it has none.
pub(super) type Fields = Result<Vec<Value>, String>;

/// Whether a text names an object: `oid:0x` and at most 16 hexadecimal digits.
pub(super) fn is_object(text: &str) -> bool {
    let digits = text.strip_prefix("oid:0x").unwrap_or_default();
    (1..=16).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// See the module's documentation.
pub(super) struct Session {
    connection: Connection,
}

impl Session {
    pub fn new(connection: Connection) -> Session {
        Session { connection }
    }

    /// The objects of ports, by the names of the ports: a few more than [`PORTS_MOST`] at most, so that those that are left
    /// out can be told.
    pub fn ports(&mut self) -> Result<BTreeMap<String, String>, RedisError> {
        cmd("SELECT").arg(COUNTERS_DB).exec(&mut self.connection)?;
        let mut ports = BTreeMap::new();
        let mut cursor = "0".to_owned();
        for _ in 0..MAP_STEPS_MOST {
            let mut scan = cmd("HSCAN");
            scan.arg(NAME_MAP).arg(&cursor).arg("COUNT").arg(MAP_STEP);
            let (next, found): (String, Pairs) = scan.query(&mut self.connection)?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            ports.extend(found.iter().map(|(name, object)| (text(name), text(object))));
            if next == "0" || ports.len() > PORTS_MOST {
                break;
            }
            cursor = next;
        }
        Ok(ports)
    }

    pub fn counters<'a>(
        &mut self,
        objects: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<Fields>, RedisError> {
        self.hashes(COUNTERS_DB, objects.map(|object| format!("COUNTERS:{object}")), &FIELDS)
    }

    pub fn states<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<Vec<Fields>, RedisError> {
        self.hashes(APPL_DB, names.map(|name| format!("PORT_TABLE:{name}")), &STATE_FIELDS)
    }

    fn hashes(
        &mut self,
        database: u8,
        keys: impl Iterator<Item = String>,
        fields: &[&str],
    ) -> Result<Vec<Fields>, RedisError> {
        let mut calls = pipe();
        calls.cmd("SELECT").arg(database);
        for key in keys {
            calls.cmd("HMGET").arg(key).arg(fields);
        }
        // Errors come as answers then, so that one hash that is none does not hide the others.
        calls.ignore_errors();
        let mut answers = calls.query::<Vec<Value>>(&mut self.connection)?.into_iter();
        if let Some(Value::ServerError(error)) = answers.next() {
            return Err(error.into());
        }
        let fields = answers.map(|answer| match answer {
            Value::Array(fields) => Ok(Ok(fields)),
            Value::ServerError(error) if error.code() == "WRONGTYPE" => {
                Ok(Err("its key is not a hash".to_owned()))
            }
            Value::ServerError(error) => Err(error.into()),
            _ => Ok(Err("the answer is not a list".to_owned())),
        });
        fields.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_a_number() {
        assert!(is_object("oid:0x1000000000012") && is_object("oid:0xFFffFFffFFffFFff"));
        for wrong in
            ["", "oid:0x", "oid:1", "0x12", "oid:0x12 ", "oid:0x10000000000000000", "oid:0x12\r\nDEL"]
        {
            assert!(!is_object(wrong), "{wrong}");
        }
    }
}
