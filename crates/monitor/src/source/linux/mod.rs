//! The interfaces of this machine, as the kernel counts them.

mod modules;
mod names;
mod port;

pub use names::{CounterNames, DriverNames};

use super::{Source, SourceError};
use crate::counters::Reading;
use crate::optics::OpticsReading;
use linkmend_linux::interface_counters::{InterfaceCounterSocket, InterfaceCounters};
use linkmend_linux::link_statistics::LinkStatisticsSocket;
use modules::Modules;
use port::Port;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use wildmatch::WildMatch;

/// Interfaces of one kind that are named in the log.
const NAMED_MOST: usize = 4;

/// Reads what interfaces have received. A port has the name of its interface.
pub struct LinuxSource {
    interfaces: InterfaceCounterSocket,
    /// `None` before Linux 5.6.
    standard: Option<LinkStatisticsSocket>,
    names: DriverNames,
    patterns: Vec<WildMatch>,
    /// By index, which stays the same when an interface is renamed.
    ports: BTreeMap<u32, Port>,
    /// Interfaces whose counters could not be read the last time.
    unreadable: BTreeMap<u32, String>,
    /// `None` if transceivers cannot be read here.
    modules: Option<Modules>,
}

impl LinuxSource {
    /// Interfaces of the calling thread's network namespace whose names match one of these patterns, in which `*` stands
    /// for any characters and `?` for one; all that are not virtual if there are no patterns.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(patterns: &[String], drivers: &DriverNames) -> io::Result<LinuxSource> {
        let standard = LinkStatisticsSocket::open();
        if let Err(error) = &standard {
            tracing::info!(
                "the standard's counters (ethtool) are not available, so only those of the kernel and of \
                 drivers are used: {error}"
            );
        }
        Ok(LinuxSource {
            interfaces: InterfaceCounterSocket::open()?,
            standard: standard.ok(),
            names: names::with_known(drivers),
            patterns: patterns.iter().map(|pattern| WildMatch::new(pattern)).collect(),
            ports: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            modules: Modules::start()
                .inspect_err(|error| tracing::info!("transceivers are not read: {error}"))
                .ok(),
        })
    }

    /// Whether an interface is to be watched. One that has never been up says nothing.
    fn watches(&self, interface: &InterfaceCounters) -> bool {
        let named = match &self.patterns[..] {
            [] => interface.kind.is_none() && interface.name != "lo",
            patterns => patterns.iter().any(|pattern| pattern.matches(&interface.name)),
        };
        named && (interface.up || self.ports.contains_key(&interface.index))
    }

    /// Drops ports that are gone, and begins with those that are new.
    fn follow(&mut self, interfaces: &[&InterfaceCounters]) {
        let there: BTreeSet<u32> = interfaces.iter().map(|interface| interface.index).collect();
        self.ports.retain(|index, _| there.contains(index));
        self.unreadable.retain(|index, _| there.contains(index));
        let mut chosen: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for interface in interfaces {
            if !self.ports.contains_key(&interface.index) {
                let port = Port::of(&interface.name, &self.names, self.standard.as_ref());
                if !self.unreadable.contains_key(&interface.index) {
                    chosen.entry(port.to_string()).or_default().push(&interface.name);
                }
                self.ports.insert(interface.index, port);
            }
        }
        for (what, names) in chosen {
            let more = names.len().saturating_sub(NAMED_MOST);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let names = names[..names.len().min(NAMED_MOST)].join(", ");
            tracing::info!("monitoring {names}{more} ({what})");
        }
    }

    fn complain(&mut self, interface: &InterfaceCounters, error: &io::Error) {
        let why = error.to_string();
        if self.unreadable.get(&interface.index) != Some(&why) {
            tracing::warn!("the counters of {} cannot be read: {why}", interface.name);
            self.unreadable.insert(interface.index, why);
        }
    }
}

impl Source for LinuxSource {
    fn describe(&self) -> String {
        let which = match &self.patterns[..] {
            [] => "that are not virtual".to_owned(),
            patterns => patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        format!("interfaces of this machine: {which}")
    }

    fn poll(&mut self) -> Result<Vec<(String, Reading)>, SourceError> {
        let failed = |error: io::Error| SourceError {
            what: format!("cannot ask the kernel for the counters of interfaces: {error}"),
            hint: None,
        };
        let all = self.interfaces.all().map_err(failed)?.answers;
        let watched: Vec<&InterfaceCounters> =
            all.iter().filter(|interface| self.watches(interface)).collect();
        if watched.is_empty() {
            return Err(SourceError {
                what: format!(
                    "of the {} interfaces here, none matches and is up: {}",
                    all.len(),
                    self.describe()
                ),
                hint: Some("name interfaces with --interface, like --interface 'eth*'".to_owned()),
            });
        }
        self.follow(&watched);
        let mut readings = Vec::with_capacity(watched.len());
        for interface in watched {
            let Some(port) = self.ports.get_mut(&interface.index) else { continue };
            match port.read(interface, self.standard.as_ref()) {
                Ok(reading) => {
                    self.unreadable.remove(&interface.index);
                    readings.push((interface.name.clone(), reading));
                }
                Err(error) => {
                    // It may have another name now, or its driver other counters: they are chosen anew.
                    self.ports.remove(&interface.index);
                    self.complain(interface, &error);
                }
            }
        }
        if let Some(modules) = &mut self.modules {
            modules.follow(readings.iter().map(|(name, _)| name.clone()).collect());
        }
        Ok(readings)
    }

    fn take_optics(&mut self) -> Vec<(String, Option<OpticsReading>)> {
        self.modules.as_ref().map(Modules::take).unwrap_or_default()
    }
}
