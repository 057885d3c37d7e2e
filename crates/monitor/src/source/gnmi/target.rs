//! What a device has said, as messages of its subscriptions bring it: no I/O, and times are arguments.
//!
//! [`Target::handle_connected`] begins a session. Then each message goes to [`Target::handle_notification`] or
//! [`Target::handle_sync`], in the order of its subscription, and [`Target::poll`] has the readings.
//! [`Target::handle_failure`] ends the session: there are no readings until the next.

use super::message::{Notification, Path};
use super::path::{Place, Removed, Step, is_nameless, joined, place};
use super::port::{By, Held, Leaves, Port};
use super::subscription::Group;
use super::value::{Scalar, leaves};
use crate::PortName;
use crate::agent::PORTS_MOST;
use crate::counters::Reading;
use crate::source::SourceError;
use crate::source::complaints::{Complaints, Trouble};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wildmatch::WildMatch;

/// Transceivers whose counters are kept. A port has one, or shares one.
const MODULES_MOST: usize = PORTS_MOST;
/// Troubles that are remembered from one poll to the next.
const TROUBLES_MOST: usize = 1_000;

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Target {
    /// What it is called in the log.
    label: String,
    patterns: Vec<WildMatch>,
    /// The target that its answers must have in their prefix, if it was asked for by one; or empty.
    name: String,
    ports: BTreeMap<String, Port>,
    modules: BTreeMap<String, Leaves>,
    boot_time: Option<u64>,
    session: u64,
    /// Subscriptions that have sent all there is in this session, and those that have sent anything.
    synchronised: BTreeSet<Group>,
    heard: BTreeSet<Group>,
    /// Why there are no readings.
    failure: Option<SourceError>,
    /// Whether any session has ended.
    has_failed: bool,
    troubles: BTreeSet<(String, Trouble)>,
}

impl Target {
    pub fn new(label: &str, patterns: &[String], name: &str) -> Target {
        let not_yet = SourceError {
            what: format!("{label}: the device has sent no counters yet"),
            hint: Some("wait for its first sample".to_owned()),
        };
        Target {
            label: label.to_owned(),
            patterns: patterns.iter().map(|pattern| WildMatch::new(pattern)).collect(),
            name: name.to_owned(),
            ports: BTreeMap::new(),
            modules: BTreeMap::new(),
            boot_time: None,
            session: 0,
            synchronised: BTreeSet::new(),
            heard: BTreeSet::new(),
            failure: Some(not_yet),
            has_failed: false,
            troubles: BTreeSet::new(),
        }
    }

    /// Begins a session.
    pub fn handle_connected(&mut self) {
        self.session += 1;
        self.synchronised.clear();
        self.heard.clear();
    }

    /// Ends the session.
    pub fn handle_failure(&mut self, failure: SourceError) {
        self.has_failed = true;
        self.failure = Some(failure);
    }

    /// Something is wrong with the device as a whole.
    pub fn complain(&mut self, trouble: Trouble) {
        self.complain_about(self.label.clone(), trouble);
    }

    fn complain_about(&mut self, name: String, trouble: Trouble) {
        if self.troubles.len() < TROUBLES_MOST {
            self.troubles.insert((name, trouble));
        }
    }

    /// Takes what a subscription brought at `now`. What it did not ask for is ignored.
    pub fn handle_notification(&mut self, now: Duration, group: Group, notification: &Notification) {
        let prefix = notification.prefix.as_ref();
        let says = prefix.map_or("", |prefix| prefix.target.as_str());
        if !self.name.is_empty() && !says.is_empty() && says != self.name {
            let what = format!("sends what belongs to another target than {}", self.name);
            return self.complain(Trouble::with(what, says));
        }
        if notification.atomic {
            self.delete(now, prefix, None);
        }
        for path in &notification.delete {
            self.delete(now, prefix, Some(path));
        }
        let by = By { group, session: self.session };
        for update in &notification.update {
            let Some((mut path, value)) = joined(prefix, update.path.as_ref()).zip(update.val.as_ref())
            else {
                continue;
            };
            let read = leaves(&mut path, value, &mut |path, scalar| match place(path) {
                _ if !group.covers(path) => {}
                Some(place) => self.handle_leaf(now, notification.timestamp, place, &scalar, by),
                None if is_nameless(path) => {
                    let rule = "sends counters without the names of their ports, which are ignored";
                    self.complain(Trouble::new(rule));
                }
                None => {}
            });
            if let Err(why) = read {
                self.complain(Trouble::with("sends JSON that cannot be read", why));
            }
        }
    }

    fn handle_leaf(&mut self, now: Duration, stamp_ns: i64, place: Place, scalar: &Scalar, by: By) {
        self.heard.insert(by.group);
        match place {
            Place::BootTime => self.boot_time = scalar.number(),
            Place::Interface(name, leaf) => {
                if !self.wants(&name) {
                    return;
                }
                let port = self.ports.entry(name.clone()).or_default();
                if let Err(trouble) = port.handle_value(now, stamp_ns, leaf, scalar, by) {
                    self.complain_about(name, trouble);
                }
                if by.group == Group::Counters {
                    self.failure = None;
                }
            }
            Place::Component(name, leaf) => {
                let Some(value) = scalar.number() else {
                    let trouble =
                        Trouble::with("its transceiver's counter is not a whole number", scalar.shown());
                    return self.complain_about(name, trouble);
                };
                if self.modules.len() < MODULES_MOST || self.modules.contains_key(&name) {
                    self.modules.entry(name).or_default().insert(leaf, Held { value, by });
                }
            }
        }
    }

    /// Whether a port is to be watched.
    fn wants(&mut self, name: &str) -> bool {
        if self.ports.contains_key(name) {
            return true;
        }
        if !self.patterns.is_empty() && !self.patterns.iter().any(|pattern| pattern.matches(name)) {
            return false;
        }
        let trouble = if PortName::new("agent", name).is_err() {
            Trouble::new("cannot be the name of a port")
        } else if self.ports.len() >= PORTS_MOST {
            Trouble::new(format!("is left out: at most {PORTS_MOST} ports are read"))
        } else {
            return true;
        };
        self.complain_about(name.to_owned(), trouble);
        false
    }

    /// Forgets what is at or beneath a path.
    fn delete(&mut self, now: Duration, prefix: Option<&Path>, path: Option<&Path>) {
        let Some(steps) = joined(prefix, path) else { return };
        let removed = Removed(&steps);
        for (name, port) in &mut self.ports {
            port.remove(now, |leaf, _| removed.has_interface(name, leaf));
        }
        for (name, module) in &mut self.modules {
            module.retain(|&leaf, _| !removed.has_component(name, leaf));
        }
        if steps.is_empty() || steps[0] == Step::new("system", None) {
            self.boot_time = None;
        }
        self.drop_empty();
    }

    /// A subscription has sent all there is. What it has not sent, but had in an earlier session, is gone.
    pub fn handle_sync(&mut self, now: Duration, group: Group) {
        let session = self.session;
        let is_gone = |by: By| by.group == group && by.session != session;
        for port in self.ports.values_mut() {
            port.remove(now, |_, by| by.is_some_and(is_gone));
        }
        for module in self.modules.values_mut() {
            module.retain(|_, held| !is_gone(held.by));
        }
        self.drop_empty();
        self.synchronised.insert(group);
        if !self.heard.contains(&group) && !group.is_rare() {
            let what = format!("sends nothing for {}, so {}", group.path_text(), group.consequence());
            self.complain(Trouble::new(what));
        }
    }

    fn drop_empty(&mut self) {
        self.ports.retain(|_, port| !port.is_empty());
        self.modules.retain(|_, module| !module.is_empty());
    }

    /// Whether there is something to be read, or a reason why not: the first poll waits for it.
    pub fn has_begun(&self) -> bool {
        self.has_failed || self.synchronised.contains(&Group::Counters)
    }

    /// The readings of all ports at `now`.
    ///
    /// # Errors
    /// Why there are none.
    pub fn poll(
        &mut self,
        now: Duration,
        complaints: &mut Complaints,
    ) -> Result<Vec<(String, Reading)>, SourceError> {
        for (about, trouble) in std::mem::take(&mut self.troubles) {
            complaints.add(&about, &trouble);
        }
        if let Some(SourceError { what, hint }) = &self.failure {
            return Err(SourceError { what: what.clone(), hint: hint.clone() });
        }
        let mut users: BTreeMap<String, usize> = BTreeMap::new();
        for module in self.ports.values().filter_map(Port::transceiver) {
            *users.entry(module.to_owned()).or_default() += 1;
        }
        let (mut readings, mut troubles) = (Vec::with_capacity(self.ports.len()), Vec::new());
        for (name, port) in &mut self.ports {
            if self.patterns.is_empty() && !port.is_ethernet() {
                continue;
            }
            let module = port.transceiver().filter(|module| users.get(*module) == Some(&1));
            let module = module.and_then(|module| self.modules.get(module));
            let reading = port.poll_reading(now, module, self.boot_time, &mut troubles);
            readings.extend(reading.map(|reading| (name.clone(), reading)));
            for trouble in troubles.drain(..) {
                complaints.add(name, &trouble);
            }
        }
        Ok(readings)
    }
}
