//! Ports of SONiC switches, which are taken down and brought up as `config interface shutdown` and `startup` do it: by
//! `admin_status` in CONFIG_DB.
//!
//! A link is taken out of service at each of its ends whose switch is known here. Only what was taken down here is brought up
//! again. The switch remembers that itself (`LINKMEND_DOWN` in STATE_DB), in the transaction that takes the port down, so that
//! there is no moment at which a crash makes one of both forgotten. After the switch has been started anew, it has forgotten that,
//! and may have saved the port as down; then the caller's own memory counts.

mod rules;
mod switch;

use crate::PortName;
use crate::server::{Connector, ReachError, ServerUrl, Topology};
use ::redis::RedisError;
use linkmend_diagnose::ParameterError;
use rules::{Step, bring_up, take_down};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use switch::{Switch, commands};

/// How often an operation is begun anew because somebody has changed the same entries meanwhile.
const ATTEMPTS_MOST: u32 = 5;

/// Which switches there are, and how careful to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SonicPortsSettings {
    /// The Redis of each switch, by the name of its agent.
    pub databases: BTreeMap<String, ServerUrl>,
    /// Authorities that may vouch for servers with TLS, in PEM format; `None` for those that this machine trusts.
    pub ca: Option<PathBuf>,
    /// At how many ports of a switch this may be in force at the same time.
    pub ports_most: usize,
    /// Whether it is only said what would be done.
    pub dry_run: bool,
}

/// What was done at the ports of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortsDone {
    /// What became of each port, in a few words for people.
    pub what: String,
    /// Those that are down because of it.
    pub down: BTreeSet<PortName>,
}

/// See the module's documentation.
pub struct SonicPorts {
    switches: BTreeMap<String, Connector>,
    ports_most: usize,
    dry_run: bool,
}

/// What is wanted of a port.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Down {
        why: &'a str,
    },
    /// With the ports that were taken down here, as far as this machine remembers.
    Up {
        taken_down: &'a BTreeSet<PortName>,
    },
}

impl SonicPorts {
    /// It connects when something is to be done.
    ///
    /// # Errors
    /// The first address that is none.
    pub fn new(settings: &SonicPortsSettings) -> Result<SonicPorts, ParameterError> {
        let connector = |(switch, url): (&String, &ServerUrl)| {
            let urls = std::slice::from_ref(url);
            match Connector::new(urls, Topology::Single, settings.ca.clone()) {
                Ok(connector) => Ok((switch.clone(), connector)),
                Err((url, rule)) => Err(ParameterError::new("disable-sonic", url, rule)),
            }
        };
        Ok(SonicPorts {
            switches: settings.databases.iter().map(connector).collect::<Result<_, _>>()?,
            ports_most: settings.ports_most,
            dry_run: settings.dry_run,
        })
    }

    /// What it is, for the log.
    pub fn describe(&self) -> String {
        let switches: Vec<&str> = self.switches.keys().map(String::as_str).collect();
        format!("admin_status of the ports of {}", switches.join(", "))
    }

    /// Whether nothing is done.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Whether a link may be taken out of service. Nothing is changed.
    ///
    /// # Errors
    /// Why not, for people.
    pub fn check(&mut self, ports: &[PortName; 2]) -> Result<(), String> {
        let wanted = Wanted::Down { why: "" };
        for port in self.known(ports)? {
            self.look(port, wanted).map_err(|why| format!("{port} stays up: {why}"))?;
        }
        Ok(())
    }

    /// Takes a link out of service: all of its ports that are known here, or none.
    ///
    /// # Errors
    /// What went wrong, for people. Ports before it may be down; what is done again is done once.
    pub fn take_down(&mut self, ports: &[PortName; 2], why: &str) -> Result<PortsDone, String> {
        self.check(ports)?;
        self.all(ports, Wanted::Down { why })
    }

    /// Brings up those ports of a link that were taken down here. `taken_down` has those of which this machine knows it.
    ///
    /// # Errors
    /// What went wrong, for people.
    pub fn bring_up(
        &mut self,
        ports: &[PortName; 2],
        taken_down: &BTreeSet<PortName>,
    ) -> Result<PortsDone, String> {
        self.all(ports, Wanted::Up { taken_down })
    }

    /// The ports whose switch is known.
    fn known<'a>(&self, ports: &'a [PortName; 2]) -> Result<Vec<&'a PortName>, String> {
        let known: Vec<&PortName> =
            ports.iter().filter(|port| self.switches.contains_key(port.agent())).collect();
        if known.is_empty() {
            let [one, other] = ports.each_ref().map(|port| port.agent());
            return Err(format!("no database of {one} or {other} is configured (disable-sonic)"));
        }
        Ok(known)
    }

    fn all(&mut self, ports: &[PortName; 2], wanted: Wanted) -> Result<PortsDone, String> {
        let (mut down, mut what) = (BTreeSet::new(), Vec::new());
        for port in self.known(ports)? {
            let step = self.port(port, wanted).map_err(|why| format!("{port}: {why}"))?;
            if matches!(step, Step::TakeDown | Step::IsDown) {
                down.insert(port.clone());
            }
            what.push(format!("{port} {}", told(step, self.dry_run)));
        }
        Ok(PortsDone { what: what.join(", "), down })
    }

    /// Does at a port what is wanted of it.
    fn port(&mut self, port: &PortName, wanted: Wanted) -> Result<Step, String> {
        let why = match wanted {
            Wanted::Down { why } => why,
            Wanted::Up { .. } => "",
        };
        for _ in 0..ATTEMPTS_MOST {
            let (mut switch, step) = self.look(port, wanted)?;
            let commands = commands(step, port.port(), why);
            if self.dry_run || commands.is_empty() {
                say(port, &commands, "would be sent (dry run)");
                return Ok(step);
            }
            if switch.write(commands.clone()).map_err(|error| self.explain(port, &error))? {
                say(port, &commands, "were sent");
                return Ok(step);
            }
        }
        Err("its configuration is being changed by somebody else; trying again later".to_owned())
    }

    /// What is to be done at a port, on a connection of its own: what it watches ends with it.
    fn look(&mut self, port: &PortName, wanted: Wanted) -> Result<(Switch, Step), String> {
        let connector = self.switches.get_mut(port.agent()).ok_or("its switch is not known")?;
        let connection = connector.connect().map_err(|ReachError { what, hint }| {
            hint.map_or(what.clone(), |hint| format!("{what}; {hint}"))
        })?;
        let mut switch = Switch::new(connection);
        let found = switch.find(port.port()).map_err(|error| self.explain(port, &error))?;
        let step = match wanted {
            Wanted::Down { .. } => take_down(port.port(), &found, self.ports_most)?,
            Wanted::Up { taken_down } => bring_up(&found, taken_down.contains(port)),
        };
        Ok((switch, step))
    }

    fn explain(&self, port: &PortName, error: &RedisError) -> String {
        let explained = self.switches.get(port.agent()).map(|connector| connector.explain(error));
        match explained {
            Some(ReachError { what, hint: Some(hint) }) => format!("{what}; {hint}"),
            Some(ReachError { what, .. }) => what,
            None => error.to_string(),
        }
    }
}

/// What changes at a switch is written down as loudly as what goes wrong.
fn say(port: &PortName, commands: &[Vec<String>], what: &str) {
    if !commands.is_empty() {
        let commands: Vec<String> = commands.iter().map(|command| command.join(" ")).collect();
        tracing::warn!("{port}: {what}: {}", commands.join("; "));
    }
}

fn told(step: Step, dry_run: bool) -> &'static str {
    match (step, dry_run) {
        (Step::TakeDown, true) => "would be set to admin_status down",
        (Step::TakeDown, false) => "was set to admin_status down",
        (Step::BringUp, true) => "would be set to admin_status up",
        (Step::BringUp, false) => "was set to admin_status up",
        (Step::IsDown, _) => "is down because of corruptd",
        (Step::WasDown, _) => "stays down, because it was not corruptd that took it down",
        (Step::Forget | Step::IsUp, _) => "is up",
    }
}
