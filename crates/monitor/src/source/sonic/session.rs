//! One connection to SONiC's Redis, and the questions that are asked on it.

use super::PORTS_MOST;
use super::counters::{FIELDS, STATE_FIELDS};
use crate::sonic::{
    APPL_DB, CAPABILITY, CONFIG_DB, COUNTERS_DB, GB_COUNTERS_DB, LLR_CAPABLE, STATE_DB, llr_port_in_force,
};
use ::redis::{Connection, RedisError, Value, cmd, pipe};
use std::collections::BTreeMap;

/// Objects that have the counters of ports, by the names of the ports.
const NAME_MAP: &str = "COUNTERS_PORT_NAME_MAP";
/// How the side of a gearbox that faces the cable is called, behind the name of its port. The other one is `_system`.
const LINE_SIDE: &str = "_line";
/// Ports that are read of the map with one call.
const MAP_STEP: usize = 1_000;
/// Calls for the map; twice what the most ports need.
const MAP_STEPS_MOST: usize = 2 * PORTS_MOST / MAP_STEP;

/// How `counterpoll llr` is set.
const LLR_POLLING: &str = "FLEX_COUNTER_TABLE|LLR";
const LLR_POLLING_STATUS: &str = "FLEX_COUNTER_STATUS";

/// A table with the fields that are read of it.
pub(super) type Table = (&'static str, &'static [&'static str]);

/// Fields of a hash with their values.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The fields of a hash in the order in which they were asked for, or why it has none.
pub(super) type Fields = Result<Vec<Value>, String>;

/// Whether a text names an object: `oid:0x` and at most 16 hexadecimal digits.
pub(super) fn is_object(text: &str) -> bool {
    let digits = text.strip_prefix("oid:0x").unwrap_or_default();
    (1..=16).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// What the switch says of LLR as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Llr {
    pub is_capable: bool,
    /// Whether its counters are brought up to date, as far as the configuration does not deny it.
    pub is_counted: bool,
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
        self.names(COUNTERS_DB)
    }

    /// The objects of the sides of gearboxes that face cables, by the names of their ports.
    pub fn gearbox_lines(&mut self) -> Result<BTreeMap<String, String>, RedisError> {
        let sides = match self.names(GB_COUNTERS_DB) {
            // A server may have fewer databases.
            Err(error) if error.code() == Some("ERR") => return Ok(BTreeMap::new()),
            sides => sides?.into_iter(),
        };
        let line = |(name, object): (String, String)| {
            let port = name.strip_suffix(LINE_SIDE).filter(|_| is_object(&object))?;
            Some((port.to_owned(), object))
        };
        Ok(sides.filter_map(line).collect())
    }

    fn names(&mut self, database: u8) -> Result<BTreeMap<String, String>, RedisError> {
        cmd("SELECT").arg(database).exec(&mut self.connection)?;
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

    /// What forward error correction has counted at these sides of gearboxes.
    pub fn gearbox_counters<'a>(
        &mut self,
        objects: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<Fields>, RedisError> {
        self.hashes(GB_COUNTERS_DB, objects.map(|object| format!("COUNTERS:{object}")), &FIELDS)
    }

    pub fn states<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<Vec<Fields>, RedisError> {
        self.hashes(APPL_DB, names.map(|name| format!("PORT_TABLE:{name}")), &STATE_FIELDS)
    }

    /// Whether ports can have LLR, or why that cannot be seen.
    pub fn llr(&mut self) -> Result<Result<Llr, String>, RedisError> {
        let mut read = |database, key: &str, field: &str| {
            let mut hashes = self.hashes(database, std::iter::once(key.to_owned()), &[field])?;
            Ok::<_, RedisError>(hashes.pop().unwrap_or_else(|| Err("there is no answer".to_owned())))
        };
        let says = |fields: Vec<Value>, text: &str| fields == [Value::BulkString(text.as_bytes().to_vec())];
        let capable = read(STATE_DB, CAPABILITY, LLR_CAPABLE);
        let capable = match capable {
            Err(error) if error.code() == Some("NOPERM") => return Ok(Err(error.to_string())),
            capable => capable?.is_ok_and(|fields| says(fields, "true")),
        };
        if !capable {
            return Ok(Ok(Llr { is_capable: false, is_counted: true }));
        }
        let polling = match read(CONFIG_DB, LLR_POLLING, LLR_POLLING_STATUS) {
            Err(error) if error.code() == Some("NOPERM") => return Ok(Err(error.to_string())),
            polling => polling?,
        };
        let is_counted = !polling.is_ok_and(|fields| says(fields, "disable"));
        Ok(Ok(Llr { is_capable: true, is_counted }))
    }

    /// Whether LLR is on at ports, as far as they receive.
    pub fn llr_ports<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<Vec<bool>, RedisError> {
        let ports = self.hashes(APPL_DB, names.map(llr_port_in_force), &["llr_local"])?;
        let on = [Value::BulkString(b"enabled".to_vec())];
        Ok(ports.into_iter().map(|fields| fields.is_ok_and(|fields| fields == on)).collect())
    }

    /// What the transceiver daemon says of ports.
    pub fn transceivers(&mut self, table: Table, names: &[&str]) -> Result<Vec<Fields>, RedisError> {
        let (table, fields) = table;
        self.hashes(STATE_DB, names.iter().map(|name| format!("{table}|{name}")), fields)
    }

    /// Whether ports have only some lanes of their transceivers.
    pub fn subports(&mut self, names: &[&str]) -> Result<Vec<bool>, RedisError> {
        let ports =
            self.hashes(APPL_DB, names.iter().map(|name| format!("PORT_TABLE:{name}")), &["subport"])?;
        let whole = |field: &Value| matches!(field, Value::Nil) || *field == Value::BulkString(b"0".to_vec());
        Ok(ports.into_iter().map(|fields| fields.is_ok_and(|fields| !fields.iter().all(whole))).collect())
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
