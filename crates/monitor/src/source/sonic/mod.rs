//! The ports of a SONiC switch, as its database has counted them.
//!
//! `syncd` writes the counters of the switching chip to the database COUNTERS_DB of the switch's Redis, once a second unless
//! `counterpoll port interval` says otherwise. A poll between two such updates finds nothing new, and the next one finds all
//! of it. When updates are rarer than polls by much, ports seem to receive more than they can, which is refused: let polls
//! be as far apart as updates, or farther.
//!
//! `sonic-clear counters` does not change the database. After a restart of the switch counters begin again.

mod counters;
mod namespaces;
mod optics;
mod session;
mod settings;

pub use namespaces::SonicSources;
pub use settings::SonicSettings;

use super::complaints::{Complaints, Trouble};
use super::{NAMED_MOST, Source, SourceError};
use crate::PortName;
use crate::agent::PORTS_MOST;
use crate::counters::Reading;
use crate::optics::OpticsReading;
use crate::server::{Connector, ReachError};
use crate::sonic::is_internal;
use ::redis::RedisError;
use counters::Choice;
use linkmend_diagnose::ParameterError;
use session::{Llr, Session};
use std::collections::BTreeMap;
use std::time::Instant;
use wildmatch::WildMatch;

/// Keys that are read.
const RIGHTS: &str =
    "~COUNTERS* ~PORT_TABLE:* ~SWITCH_CAPABILITY* ~FLEX_COUNTER_TABLE* ~LLR_PORT_TABLE:* ~TRANSCEIVER_*";
/// Ports that are read with one call.
const PORTS_READ_MOST: usize = 500;

/// Reads what ports have received. A port has the name that SONiC gives it, like `Ethernet4`.
pub struct SonicSource {
    connector: Connector,
    patterns: Vec<WildMatch>,
    session: Option<Session>,
    ports: BTreeMap<String, Port>,
    /// The number of the epoch that began last, of whichever port.
    epoch: u64,
    complaints: Complaints,
    /// Of which nobody was told yet.
    aliases: Vec<(String, String)>,
    optics: Vec<(String, Option<OpticsReading>)>,
    optics_at: Option<Instant>,
}

/// What is remembered of a port from one poll to the next.
#[derive(Debug)]
struct Port {
    object: String,
    choice: Choice,
    /// Another one begins when counters are taken from elsewhere: their difference would mean nothing.
    epoch: u64,
    flaps: Option<u64>,
    alias: Option<String>,
}

impl SonicSource {
    /// It connects when it is polled the first time.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn new(settings: &SonicSettings) -> Result<SonicSource, ParameterError> {
        Ok(SonicSource {
            connector: settings.connector()?,
            patterns: settings.patterns.iter().map(|pattern| WildMatch::new(pattern)).collect(),
            session: None,
            ports: BTreeMap::new(),
            epoch: 0,
            complaints: Complaints::default(),
            aliases: Vec::new(),
            optics: Vec::new(),
            optics_at: None,
        })
    }

    fn session(&mut self) -> Result<Session, SourceError> {
        if let Some(session) = self.session.take() {
            return Ok(session);
        }
        let connection = self.connector.connect();
        connection.map(Session::new).map_err(|ReachError { what, hint }| SourceError { what, hint })
    }

    fn failure(&self, error: &RedisError) -> SourceError {
        let ReachError { what, mut hint } = self.connector.explain(error);
        if error.code() == Some("NOPERM") {
            let rights = format!("grant the user `{RIGHTS} +@read +select`");
            hint = Some(rights);
        }
        SourceError { what, hint }
    }

    /// The ports that are to be watched, with the objects that have their counters.
    fn watched(&mut self, map: BTreeMap<String, String>) -> Vec<(String, String)> {
        let mut watched = Vec::with_capacity(map.len().min(PORTS_MOST));
        for (name, object) in map {
            if is_internal(&name)
                || !self.patterns.is_empty() && !self.patterns.iter().any(|pattern| pattern.matches(&name))
            {
                continue;
            }
            // Which agent will have them does not matter here.
            if PortName::new("agent", &name).is_err() {
                self.complaints.add(&name, &Trouble::new("cannot be the name of a port"));
            } else if !session::is_object(&object) {
                let trouble = Trouble::with("is not mapped to an object, like oid:0x1", object);
                self.complaints.add(&name, &trouble);
            } else if watched.len() >= PORTS_MOST {
                let what = format!("is left out: at most {PORTS_MOST} ports are read");
                self.complaints.add(&name, &Trouble::new(what));
            } else {
                watched.push((name, object));
            }
        }
        watched
    }

    fn read_all(&mut self) -> Result<Vec<(String, Reading)>, SourceError> {
        let mut session = self.session()?;
        let map = session.ports().map_err(|error| self.failure(&error))?;
        let there = map.len();
        let watched = self.watched(map);
        let llr = self.llr(&mut session).map_err(|error| self.failure(&error))?;
        let lines = session.gearbox_lines().map_err(|error| self.failure(&error))?;
        let mut readings = Vec::with_capacity(watched.len());
        for ports in watched.chunks(PORTS_READ_MOST) {
            let read = self.read(&mut session, (llr, &lines), ports, &mut readings);
            read.map_err(|error| self.failure(&error))?;
        }
        self.read_optics(&mut session, &watched).map_err(|error| self.failure(&error))?;
        // After an error the connection is dropped: an answer to an earlier question could come for a later one.
        self.session = Some(session);
        self.ports
            .retain(|name, _| watched.binary_search_by(|(watched, _)| watched.as_str().cmp(name)).is_ok());
        if readings.is_empty() {
            return Err(none_read(there, watched.len(), &self.describe()));
        }
        Ok(readings)
    }

    /// Reads transceivers when that is due. Where they must not be read, there are none.
    fn read_optics(&mut self, session: &mut Session, watched: &[(String, String)]) -> Result<(), RedisError> {
        if self.optics_at.is_some_and(|at| at.elapsed() < optics::INTERVAL) {
            return Ok(());
        }
        self.optics_at = Some(Instant::now());
        for ports in watched.chunks(PORTS_READ_MOST) {
            let names: Vec<&str> = ports.iter().map(|(name, _)| name.as_str()).collect();
            let complaints = &mut self.complaints;
            match optics::read(session, &names, |name, trouble| complaints.add(name, &trouble)) {
                Ok(read) => self.optics.extend(read),
                Err(error) if error.code() == Some("NOPERM") => {
                    let what =
                        "must not be read as far as its transceiver goes; grant the user `~TRANSCEIVER_*`";
                    self.complaints.add(names[0], &Trouble::new(what));
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What the switch says of LLR. Where that must not be read, ports are read as if they had none.
    fn llr(&mut self, session: &mut Session) -> Result<Llr, RedisError> {
        Ok(session.llr()?.unwrap_or_else(|why| {
            let what = format!("cannot be seen ({why}); grant the user `{RIGHTS}`");
            self.complaints.add("LLR", &Trouble::new(what));
            Llr { is_capable: false, is_counted: true }
        }))
    }

    fn read(
        &mut self,
        session: &mut Session,
        (llr, lines): (Llr, &BTreeMap<String, String>),
        ports: &[(String, String)],
        readings: &mut Vec<(String, Reading)>,
    ) -> Result<(), RedisError> {
        let objects = ports.iter().map(|(_, object)| object.as_str());
        let counted = session.counters(objects)?;
        // A flap that is not known yet when counters are read is known now.
        let states = session.states(ports.iter().map(|(name, _)| name.as_str()))?;
        let retried = match llr.is_capable {
            true => session.llr_ports(ports.iter().map(|(name, _)| name.as_str()))?,
            false => vec![false; ports.len()],
        };
        let mut gearboxes = gearboxes(session, lines, ports)?;
        let read = ports.iter().zip(counted).zip(states).zip(retried);
        for ((((name, object), counted), state), is_retried) in read {
            let mut troubles = Vec::new();
            let counted = counted.map_err(|why| Trouble::new(format!("has no counters: {why}")));
            let taken = counted.and_then(|counted| counters::take(&counted, &mut troubles));
            let state = state.unwrap_or_else(|why| {
                troubles.push(Trouble::new(format!("has no speed: {why}")));
                Vec::new()
            });
            if counters::is_inside(&state) {
                continue;
            }
            let (speed, flaps) = counters::speed_and_flaps(&state, &mut troubles);
            match taken {
                Ok((choice, reading)) => {
                    let (up, code) = (counters::is_up(&state), counters::code(&state, speed));
                    let retry = counters::retry(&reading, is_retried, llr.is_counted);
                    let reading = Reading { up, speed, code, retry, ..reading };
                    let line = gearboxes.remove(name.as_str());
                    let line = line.and_then(|fields| counters::line_fec(fields, &mut troubles));
                    let (choice, reading) = choice.with_gearbox(reading, line);
                    readings.push((name.clone(), self.complete(name, object, choice, flaps, reading)));
                    self.know_alias(name, counters::alias(&state));
                }
                Err(trouble) => troubles.push(trouble),
            }
            for trouble in &troubles {
                self.complaints.add(name, trouble);
            }
        }
        Ok(())
    }

    /// Adds what the readings before let know.
    fn complete(
        &mut self,
        name: &str,
        object: &str,
        choice: Choice,
        flaps: Option<u64>,
        reading: Reading,
    ) -> Reading {
        let known = self.ports.get(name).filter(|port| port.object == object && port.choice == choice);
        let (epoch, before) = match known {
            Some(port) => (port.epoch, port.flaps),
            None => {
                self.epoch += 1;
                (self.epoch, flaps)
            }
        };
        let alias = self.ports.get_mut(name).and_then(|port| port.alias.take());
        let port = Port { object: object.to_owned(), choice, epoch, flaps, alias };
        self.ports.insert(name.to_owned(), port);
        // A flap is known at once, and what it did to the counters up to a second later. With the number of the poll before
        // added, the number changes in both polls that may have some of it.
        let carrier_changes = flaps.map(|flaps| flaps.saturating_add(before.unwrap_or_default()));
        Reading { carrier_changes, epoch: Some(epoch), ..reading }
    }

    fn know_alias(&mut self, name: &str, alias: Option<&str>) {
        let known = self.ports.get_mut(name).map(|port| &mut port.alias);
        if let (Some(known), Some(alias)) = (known, alias)
            && known.as_deref() != Some(alias)
        {
            *known = Some(alias.to_owned());
            self.aliases.push((name.to_owned(), alias.to_owned()));
        }
    }

    /// Says which counters are taken of ports that are new, or of which they are others than before.
    fn say_chosen(&self, epoch_before: u64) {
        let mut chosen: BTreeMap<Choice, Vec<&str>> = BTreeMap::new();
        for (name, port) in self.ports.iter().filter(|(_, port)| port.epoch > epoch_before) {
            chosen.entry(port.choice).or_default().push(name);
        }
        for (choice, names) in chosen {
            let more = names.len().saturating_sub(NAMED_MOST);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            tracing::info!("monitoring {}{more} ({choice})", names[..names.len().min(NAMED_MOST)].join(", "));
        }
    }
}

impl Source for SonicSource {
    fn describe(&self) -> String {
        let which = match &self.patterns[..] {
            [] => String::new(),
            patterns => {
                let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
                format!(": {}", patterns.join(", "))
            }
        };
        format!("ports of a SONiC switch, {}{which}", self.connector.describe())
    }

    fn poll(&mut self) -> Result<Vec<(String, Reading)>, SourceError> {
        let epoch_before = self.epoch;
        let readings = self.read_all();
        self.say_chosen(epoch_before);
        for complaint in self.complaints.take() {
            tracing::warn!("{complaint}");
        }
        readings
    }

    fn take_aliases(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.aliases)
    }

    fn take_optics(&mut self) -> Vec<(String, Option<OpticsReading>)> {
        std::mem::take(&mut self.optics)
    }
}

/// What gearboxes of these ports have counted, by their names.
fn gearboxes<'a>(
    session: &mut Session,
    lines: &BTreeMap<String, String>,
    ports: &'a [(String, String)],
) -> Result<BTreeMap<&'a str, session::Fields>, RedisError> {
    let sides = ports.iter().filter_map(|(name, _)| Some((name.as_str(), lines.get(name)?.as_str())));
    let (names, objects): (Vec<&str>, Vec<&str>) = sides.unzip();
    if objects.is_empty() {
        return Ok(BTreeMap::new());
    }
    Ok(names.into_iter().zip(session.gearbox_counters(objects.into_iter())?).collect())
}

fn none_read(there: usize, watched: usize, which: &str) -> SourceError {
    let (what, hint) = match (there, watched) {
        (0, _) => (
            "no port has counters".to_owned(),
            "check that this is the Redis of a SONiC switch, and that `counterpoll show` has PORT_STAT enabled",
        ),
        (_, 0) => (format!("none of {there} ports is selected"), "select others with --interface"),
        _ => (
            format!("none of {watched} ports has usable counters"),
            "see the log for the reasons, and check that `counterpoll show` has PORT_STAT enabled",
        ),
    };
    SourceError { what: format!("{which}: {what}"), hint: Some(hint.to_owned()) }
}
