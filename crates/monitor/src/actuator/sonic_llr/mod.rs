//! Link Layer Retry (LLR) of a SONiC switch, which is switched on and off by its configuration database.
//!
//! SONiC's design (sonic-net/SONiC, `doc/llr`) has three tables for this: `LLR_PORT` and `LLR_PROFILE` in CONFIG_DB, and what the
//! switch can do in STATE_DB. `llrmgrd` reads the first two, and only switches on what has `llr_local` and `llr_remote`, so
//! that LLR of a port is on for both directions or for none. What it has taken over is in `LLR_PORT_TABLE` of APPL_DB.
//!
//! LLR needs both ends of a link. The sending end is switched on by the request of the receiving end, as for every other
//! actuator; the receiving end switches itself on with its own request ([`Actuator::acts_at_both_ends`]). That the other end
//! has LLR is seen by its answers, if the switch counts them.

mod profile;
mod rules;
mod switch;

use super::{Actuator, End};
use crate::exchange::{Effect, Request};
use crate::server::{Connector, ReachError};
use crate::sonic::{INTERNAL_ROLES, is_internal};
use crate::source::SonicSettings;
use ::redis::RedisError;
use linkmend_diagnose::ParameterError;
use profile::Link;
use rules::{Found, Kept, Step, step, switched_on};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use switch::{Change, Switch};

/// How long the other end may take to answer. Its agent may have to hear of it first, and counters of LLR are read every ten
/// seconds unless `counterpoll llr interval` says otherwise.
const ANSWER_MOST: Duration = Duration::from_mins(1);
/// How often an operation is begun anew because somebody has changed the same entries meanwhile.
const ATTEMPTS_MOST: u32 = 5;
/// Ports at which LLR is switched on at the same time, unless configured.
pub(crate) const PORTS_DEFAULT: usize = 8;

/// Where profiles come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LlrProfile {
    /// Each is planned for the speed and the cable of its port, and written into CONFIG_DB.
    Planned,
    /// One of this name that is there already.
    Named(String),
}

/// What an actuator for LLR needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SonicLlrSettings {
    /// The switch; ports are not chosen here.
    pub switch: SonicSettings,
    pub profile: LlrProfile,
    /// At how many ports it may be on because of this.
    pub ports_most: usize,
    /// Whether it is only said what would be done.
    pub dry_run: bool,
}

/// See the module's documentation.
pub struct SonicLlr {
    connector: Connector,
    profile: LlrProfile,
    ports_most: usize,
    dry_run: bool,
    /// Since when a port waits for the other end.
    waiting: BTreeMap<String, Instant>,
}

impl SonicLlr {
    /// It connects when something is to be done.
    ///
    /// # Errors
    /// The address, if it is none.
    pub fn new(settings: &SonicLlrSettings) -> Result<SonicLlr, ParameterError> {
        Ok(SonicLlr {
            connector: settings.switch.connector()?,
            profile: settings.profile.clone(),
            ports_most: settings.ports_most,
            dry_run: settings.dry_run,
            waiting: BTreeMap::new(),
        })
    }

    fn switch(&mut self) -> Result<Switch, String> {
        let explain = |ReachError { what, hint }| hint.map_or(what.clone(), |hint| format!("{what}; {hint}"));
        self.connector.connect().map(Switch::new).map_err(explain)
    }

    fn told(&self, error: &RedisError) -> String {
        let ReachError { what, hint } = self.connector.explain(error);
        hint.map_or(what.clone(), |hint| format!("{what}; {hint}"))
    }

    /// One look at the port, and what follows from it; `None` if somebody else was faster.
    fn attempt(
        &mut self,
        switch: &mut Switch,
        port: &str,
        (end, wanted): (End, bool),
    ) -> Result<Option<Effect>, String> {
        let found = switch.find(port).map_err(|error| self.told(&error))?;
        let next = step(&found, end, wanted, self.ports_most);
        let next = next.map_err(|why| format!("LLR of {port} stays as it is: {why}"))?;
        let changes = match next {
            Step::Off => return Ok(Some(Effect::Dormant)),
            Step::On { by_others } => return self.effect(switch, port, &found, by_others).map(Some),
            Step::SwitchOn { profile } => {
                self.waiting.remove(port);
                self.changes_on(switch, port, (&found, end), profile)?
            }
            Step::Remember(kept) => vec![Change::Keep { port: port.to_owned(), kept }],
            Step::Restore(kept) => self.changes_off(switch, port, &found, &kept)?,
            Step::Forget => vec![Change::Forget { port: port.to_owned() }],
        };
        if self.dry_run {
            say(&changes, port, "would be sent (dry run)");
            return Ok(Some(Effect::Rehearsed));
        }
        if !switch.write(&changes).map_err(|error| self.told(&error))? {
            return Ok(None);
        }
        say(&changes, port, "were sent");
        // What follows is seen by looking again.
        Ok(None)
    }

    /// How far LLR has come at a port that is configured for it.
    fn effect(
        &mut self,
        switch: &mut Switch,
        port: &str,
        found: &Found,
        by_others: bool,
    ) -> Result<Effect, String> {
        let mut look = || -> Result<(bool, bool), RedisError> {
            let before = found.kept.as_ref().and_then(|kept| kept.answers);
            let has_answered = switch.answers(port)?.zip(before).is_none_or(|(now, before)| now != before);
            Ok((switch.is_in_force(port)?, by_others || has_answered))
        };
        let (is_in_force, has_answered) = look().map_err(|error| self.told(&error))?;
        if is_in_force && has_answered {
            self.waiting.remove(port);
            return Ok(Effect::Active);
        }
        let since = *self.waiting.entry(port.to_owned()).or_insert_with(Instant::now);
        match (since.elapsed() < ANSWER_MOST, is_in_force) {
            (true, _) => Ok(Effect::Starting),
            (false, true) => {
                Err(format!("LLR is on at {port}, but the other end does not answer; it must have LLR, too"))
            }
            (false, false) => Err(format!(
                "LLR_PORT|{port} is set, but the switch has not taken it over (LLR_PORT_TABLE); see the log of llrmgrd"
            )),
        }
    }

    fn changes_on(
        &self,
        switch: &mut Switch,
        port: &str,
        (found, end): (&Found, End),
        theirs: Option<String>,
    ) -> Result<Vec<Change>, String> {
        let told = |error: RedisError| self.told(&error);
        let Some(supported) = switch.supported().map_err(told)? else {
            return Err("the switch has no LLR (STATE_DB, SWITCH_CAPABILITY|switch, LLR_CAPABLE)".to_owned());
        };
        let at = switch.port(port).map_err(told)?;
        if at.is_empty() {
            return Err(format!("CONFIG_DB has no PORT|{port}"));
        }
        let role = at.get("role").filter(|role| INTERNAL_ROLES.contains(&role.as_str()));
        if is_internal(port) || role.is_some() {
            return Err(format!("{port} is a port inside of the switch, at which nothing is changed"));
        }
        let named = theirs.or_else(|| match &self.profile {
            LlrProfile::Named(name) => Some(name.clone()),
            LlrProfile::Planned => None,
        });
        let (name, planned) = match named {
            Some(name) => (name, None),
            None => {
                let cable = switch.cable(port).map_err(told)?;
                let (name, fields) = Link::of(&at, cable.as_deref())?.profile(&supported)?;
                (name, Some(fields))
            }
        };
        let there = switch.profile(&name).map_err(told)?;
        let written = planned.filter(|_| there.is_empty());
        if let Some(fault) = profile::fault(&name, written.as_ref().unwrap_or(&there)) {
            return Err(fault);
        }
        let ours =
            found.others.values().filter_map(|kept| kept.profile.clone()).find(|(ours, _)| *ours == name);
        let kept = Kept {
            ends: [end].into(),
            before: (!found.entry.is_empty()).then(|| found.entry.clone()),
            wrote: switched_on(&found.entry, &name),
            profile: written.clone().map(|fields| (name.clone(), fields)).or(ours),
            answers: switch.answers(port).map_err(told)?,
        };
        let port = port.to_owned();
        let mut changes = vec![Change::Port { port: port.clone(), entry: Some(kept.wrote.clone()) }];
        if let Some(fields) = written {
            changes.insert(0, Change::Profile { name, fields });
        }
        changes.insert(0, Change::Keep { port, kept });
        Ok(changes)
    }

    /// Puts back what was there. A profile that was written here goes with the last port that has it.
    fn changes_off(
        &mut self,
        switch: &mut Switch,
        port: &str,
        found: &Found,
        kept: &Kept,
    ) -> Result<Vec<Change>, String> {
        self.waiting.remove(port);
        let (name, entry) = (port.to_owned(), kept.before.clone());
        let mut changes = vec![Change::Port { port: name.clone(), entry }, Change::Forget { port: name }];
        if let Some((profile, fields)) = &kept.profile {
            let told = |error: RedisError| self.told(&error);
            let is_kept = |kept: &Kept| kept.profile.as_ref().is_some_and(|(other, _)| other == profile);
            let is_used = found.others.values().any(is_kept) || switch.uses(profile, port).map_err(told)?;
            if !is_used && switch.profile(profile).map_err(told)? == *fields {
                changes.push(Change::DeleteProfile { name: profile.clone() });
            }
        }
        Ok(changes)
    }
}

/// What changes at a switch is written down as loudly as what goes wrong.
fn say(changes: &[Change], port: &str, what: &str) {
    let commands = changes.iter().flat_map(Change::commands).map(|command| command.join(" "));
    tracing::warn!("LLR of {port}: {what}: {}", commands.collect::<Vec<_>>().join("; "));
}

impl Actuator for SonicLlr {
    fn describe(&self) -> String {
        let dry_run = if self.dry_run { " (dry run)" } else { "" };
        let profile = match &self.profile {
            LlrProfile::Planned => "planned profiles".to_owned(),
            LlrProfile::Named(name) => format!("profile {name}"),
        };
        format!("LLR of the SONiC switch, {}, {profile}{dry_run}", self.connector.describe())
    }

    fn acts_at_both_ends(&self) -> bool {
        true
    }

    fn apply(&mut self, port: &str, end: End, request: &Request, _: bool) -> Result<Effect, String> {
        let wanted = request.protection.is_some();
        for _ in 0..ATTEMPTS_MOST {
            // A connection of its own: what it watches ends with it.
            let mut switch = self.switch()?;
            if let Some(effect) = self.attempt(&mut switch, port, (end, wanted))? {
                return Ok(effect);
            }
        }
        Err(format!("LLR of {port} is being changed by somebody else; trying again later"))
    }

    fn observe(&mut self, port: &str) -> Result<Option<Effect>, String> {
        if self.dry_run {
            return Ok(None);
        }
        let mut switch = self.switch()?;
        let found = switch.find(port).map_err(|error| self.told(&error))?;
        if !rules::is_on(&found.entry) {
            return Ok(Some(Effect::Dormant));
        }
        let by_others = found.kept.as_ref().is_none_or(|kept| kept.wrote != found.entry);
        self.effect(&mut switch, port, &found, by_others).map(Some)
    }
}
