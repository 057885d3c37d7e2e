//! A configuration with everything filled in and checked.

use super::plan::network;
use super::{
    ActuatorChoice, AuditChoice, BusChoice, CONTROL_DEFAULT, ConfigError, DetectionConfig, MonitorConfig,
    PlanChoice, SourceChoice, read_bounded,
};
use crate::agent::Policy;
use crate::detection::Settings;
use crate::webhook::WebhookSettings;
use crate::{Cabling, HeardCable, PortName};
use linkmend_control::ProtectMode;
use linkmend_diagnose::ParameterError;
use linkmend_topology::file::{FarPort, LldpNeighbour, lldp_neighbours, read_cables};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const POLL_DEFAULT: Duration = Duration::from_secs(1);
const POLL_LEAST: Duration = Duration::from_millis(100);
const POLL_MOST: Duration = Duration::from_hours(1);

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub agent: String,
    pub source: SourceChoice,
    pub actuator: ActuatorChoice,
    /// Whether nothing outside of this process is changed.
    pub dry_run: bool,
    pub poll: Duration,
    pub policy: Policy,
    pub cabling: Cabling,
    /// Where what is said about cables contradicts itself, for people.
    pub contradictions: Vec<String>,
    pub control: PathBuf,
    pub bus: BusChoice,
    pub plan: Option<PlanChoice>,
    /// The network in which links that only pass on what others corrupt are recognised: that of the plan, or of the cables.
    pub topology: Option<String>,
    pub audit: Option<AuditChoice>,
    pub webhook: Option<WebhookSettings>,
    pub metrics: Option<SocketAddr>,
}

impl Resolved {
    /// What differs in another configuration that a running daemon does not take over.
    pub fn changes_for_a_restart(&self, other: &Resolved) -> Vec<&'static str> {
        let changes = [
            ("agent", self.agent != other.agent),
            ("source", self.source != other.source),
            ("actuator", self.actuator != other.actuator),
            ("control", self.control != other.control),
            ("bus", self.bus != other.bus),
            ("plan", self.plan != other.plan),
            ("audit", self.audit != other.audit),
            ("webhook", self.webhook != other.webhook),
            ("metrics", self.metrics != other.metrics),
        ];
        changes.into_iter().filter(|(_, changed)| *changed).map(|(what, _)| what).collect()
    }
}

impl MonitorConfig {
    /// Fills in what was left out. `host` is the name of this machine.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn resolve(&self, host: &str) -> Result<Resolved, ConfigError> {
        let agent = self.agent.clone().unwrap_or_else(|| host.to_owned());
        if let Err(error) = PortName::new(&agent, "port") {
            let rule = format!("cannot be the name of an agent ({error})");
            return Err(ParameterError::new("agent", agent, rule).into());
        }
        let poll = self.poll.map_or(POLL_DEFAULT, |poll| poll.0);
        if !(POLL_LEAST..=POLL_MOST).contains(&poll) {
            return Err(ParameterError::new("poll", format!("{poll:?}"), "must be 100ms to 1h").into());
        }
        let mode = self.protection.mode;
        if mode == ProtectMode::Off {
            let rule = "must be ordered or non-blocking; use --dry-run to protect nothing";
            return Err(ParameterError::new("mode", mode, rule).into());
        }
        let target = self.protection.target.map_or(Policy::default().target, |target| target.0);
        if !(target > 0.0 && target < 1.0) {
            return Err(ParameterError::new("target", target, "must be above 0 and below 1").into());
        }
        let mut cables = Vec::new();
        for cable in &self.cables {
            let wrong = |error: crate::PortNameError| {
                ParameterError::new("cable", cable.to_string(), error.to_string())
            };
            cables.push(cable.ports(&agent).map_err(wrong)?);
        }
        let source = self.choose_source()?;
        let actuator = self.choose_actuator(&source)?;
        let (plan, detection) = (self.plan.choose(self.protection.dry_run)?, self.detection.settings()?);
        if let Some(plan) = plan.as_ref().filter(|plan| plan.guard.trial_time <= detection.hold_down) {
            let rule = "must be longer than hold-down; otherwise no link could be found healthy in a trial";
            return Err(
                ParameterError::new("trial-time", format!("{:?}", plan.guard.trial_time), rule).into()
            );
        }
        let bus = self.bus.choose(self.state.as_ref())?;
        if let BusChoice::Redis(settings) = &bus {
            settings.read_keys(&agent)?;
        }
        let (cabling, contradictions) = self.cabling(&agent, cables)?;
        Ok(Resolved {
            source,
            actuator,
            dry_run: self.protection.dry_run,
            poll,
            policy: Policy { detection, mode, target, arm: self.protection.arm },
            cabling,
            contradictions,
            control: self.control.clone().unwrap_or_else(|| CONTROL_DEFAULT.into()),
            plan,
            topology: self.plan.plan_topology.clone().or_else(|| self.network_of_cables()),
            bus,
            audit: AuditChoice::of(self.audit.as_ref(), self.audit_key.as_ref())?,
            webhook: self.webhook.choose()?,
            metrics: self.metrics,
            agent,
        })
    }
}

impl MonitorConfig {
    /// The cables that were written, those of a network file, and those that lldpd sees, and where these contradict each other.
    fn cabling(
        &self,
        agent: &str,
        cables: Vec<[PortName; 2]>,
    ) -> Result<(Cabling, Vec<String>), ConfigError> {
        let (heard, seen) = (self.cables_of_neighbours(agent)?, self.cables_of_network()?);
        let (cabling, faults) = Cabling::new(cables)?.with_heard(&heard, &seen);
        let said = |fault: &crate::CablingError| format!("{fault}; {}", fault.consequence());
        let contradictions: Vec<String> = faults.iter().map(said).collect();
        for contradiction in &contradictions {
            tracing::warn!("{contradiction}");
        }
        Ok((cabling, contradictions))
    }

    fn cables_of_network(&self) -> Result<Vec<[PortName; 2]>, ConfigError> {
        let Some(path) = &self.cables_from else { return Ok(Vec::new()) };
        let cables = read_cables(path)?;
        if cables.is_empty() {
            let rule = "must name the ports of links, as `from_port` and `to_port`";
            return Err(ParameterError::new("cables-from", path.display(), rule).into());
        }
        let mut seen = Vec::with_capacity(cables.len());
        for ends in cables {
            let [one, other] = ends.map(|(node, port)| PortName::new(&node, &port));
            let wrong = |error: crate::PortNameError| {
                ParameterError::new("cables-from", path.display(), error.to_string())
            };
            seen.push([one.map_err(wrong)?, other.map_err(wrong)?]);
        }
        Ok(seen)
    }

    /// The network of the cables, if its layers are known. Cables alone do not need them.
    fn network_of_cables(&self) -> Option<String> {
        let path = self.cables_from.as_ref()?.display().to_string();
        match network(&path) {
            Ok(_) => Some(path),
            Err(error) => {
                tracing::warn!(
                    "cables-from contains cables but no layers, so links that only pass on corrupted frames \
                     cannot be recognised: {error}"
                );
                None
            }
        }
    }

    fn cables_of_neighbours(&self, agent: &str) -> Result<Vec<HeardCable>, ConfigError> {
        let Some(path) = &self.lldp else { return Ok(Vec::new()) };
        let (file, content) = (path.display().to_string(), read_bounded(path)?);
        let mut heard = Vec::new();
        for LldpNeighbour { port, neighbour, far_port, faces } in lldp_neighbours(content, agent, &file)? {
            if let (Some(faces), Some(neighbour)) = (faces.filter(|faces| *faces != port), &neighbour) {
                tracing::warn!(
                    "{file}: {neighbour} is connected to {port}, but describes its port as connected to {faces}; \
                     ignoring the description"
                );
            }
            let by_alias = matches!(far_port, Some(FarPort::Alias(_)));
            let far_port = far_port.map(|(FarPort::Name(name) | FarPort::Alias(name))| name);
            let far = neighbour.zip(far_port).and_then(|(name, port)| PortName::new(&name, &port).ok());
            match (PortName::new(agent, &port), far) {
                (Ok(near), Some(far)) => heard.push(HeardCable { near, far, by_alias }),
                _ => tracing::warn!(
                    "{file}: the neighbour at {port} does not announce its own port, so no protection is requested for \
                     frames that arrive there; configure its cable with --cable"
                ),
            }
        }
        Ok(heard)
    }
}

impl DetectionConfig {
    /// Fills in what was left out.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn settings(&self) -> Result<Settings, ParameterError> {
        let usual = Settings::default();
        let activate = self.activate.map_or(usual.activate, |rate| rate.0);
        let settings = Settings {
            activate,
            deactivate: self.deactivate.map_or(activate / 10.0, |rate| rate.0),
            disable: self.disable.map_or(usual.disable.max(activate), |rate| rate.0),
            false_alarm: self.false_alarm.map_or(usual.false_alarm, |share| share.0),
            window_frames: self.window_frames.map_or(usual.window_frames, |count| count.0),
            window_time: self.window_time.map_or(usual.window_time, |time| time.0),
            hold_down: self.hold_down.map_or(usual.hold_down, |time| time.0),
            flap_memory: self.flap_memory.map_or(usual.flap_memory, |time| time.0),
            link_up_hold_off: self.link_up_hold_off.map_or(usual.link_up_hold_off, |time| time.0),
            flap_half_life: self.flap_half_life.map_or(usual.flap_half_life, |time| time.0),
            correctable: self.fec_corrects,
        };
        settings.validate()?;
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(text: &str) -> Result<Resolved, String> {
        let config: MonitorConfig = toml::from_str(text).map_err(|error| error.to_string())?;
        config.resolve("leaf1").map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_written_means_the_papers_values() {
        let resolved = resolve("").expect("usable");
        assert_eq!(resolved.policy, Policy::default());
        assert_eq!((resolved.agent.as_str(), resolved.poll), ("leaf1", POLL_DEFAULT));
    }

    #[test]
    fn the_delivered_file_says_what_is_usual() {
        let resolved = resolve(include_str!("../../../../dist/corruptd.toml")).expect("usable");
        let usual = resolve("").expect("usable");
        let own = (resolved.cabling.clone(), resolved.agent.clone());
        assert_eq!(resolved, Resolved { cabling: own.0, agent: own.1, ..usual });
    }

    #[test]
    fn a_full_file_reads_back_as_written() {
        let text = "agent = \"leaf2\"\nsource = \"linkmend\"\npoll = \"500ms\"\ncable = [\"up=spine1/eth0\"]\n\n\
                    [detection]\nactivate = 1e-7\nwindow-frames = \"10M\"\nhold-down = \"5s\"\n\n\
                    [protection]\nmode = \"non-blocking\"\ndry-run = true\n";
        let config: MonitorConfig = toml::from_str(text).expect("usable");
        assert_eq!(toml::from_str::<MonitorConfig>(&config.to_toml()).expect("usable"), config);
        let resolved = config.resolve("leaf1").expect("usable");
        let detection = &resolved.policy.detection;
        assert_eq!(
            (detection.activate, detection.deactivate, detection.window_frames),
            (1e-7, 1e-8, 10_000_000)
        );
        assert_eq!(resolved.actuator, ActuatorChoice::DryRun);
        let port = "leaf2/up".parse().expect("a port");
        assert_eq!(resolved.cabling.peer(&port).map(ToString::to_string).as_deref(), Some("spine1/eth0"));
    }

    #[test]
    fn what_lldpd_sees_is_added_to_what_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("neighbours.json");
        let interface = |port: &str, name: &str, far: &str| {
            format!(
                "{{\"{port}\": {{\"chassis\": {{\"{name}\": {{\"id\": {{\"type\": \"mac\", \"value\": \"00:01\"}}}}}}, \
                 \"port\": {{\"id\": {{\"type\": \"ifname\", \"value\": \"{far}\"}}}}}}}}"
            )
        };
        let interfaces = [
            interface("eth1", "spine1", "swp1"),
            interface("eth2", "spine2", "swp1"),
            interface("eth3", "id", "swp1"),
        ];
        let text = format!("{{\"lldp\": {{\"interface\": [{}]}}}}", interfaces.join(", "));
        std::fs::write(&path, text).expect("written");
        let config =
            format!("cable = [\"eth2=spine9/swp9\", \"eth4=spine4/swp1\"]\nlldp = \"{}\"", path.display());
        let cabling = resolve(&config).expect("usable").cabling;
        let ports: Vec<String> = cabling.ports().map(ToString::to_string).collect();
        // What is written about eth2 contradicts what is seen there, and the neighbour at eth3 has no name.
        assert_eq!(
            ports,
            ["leaf1/eth1", "leaf1/eth2", "leaf1/eth4", "spine1/swp1", "spine4/swp1", "spine9/swp9"]
        );
        let said = &resolve(&config).expect("usable").contradictions;
        assert_eq!(said.len(), 1);
        assert!(said[0].ends_with("lldpd sees spine2/swp1 there; using the configuration"), "{said:?}");
        // A network file is a third opinion, which differs about eth4.
        let network = folder.path().join("network.yaml");
        let links = "{from: leaf1, to: spine1, from_port: eth1, to_port: swp1}\n  \
                     - {from: leaf1, to: spine4, from_port: eth4, to_port: swp7}\n  \
                     - {from: leaf2, to: spine1, from_port: eth1, to_port: swp2}";
        let switches = ["leaf1, layer: 0", "leaf2, layer: 0", "spine1, layer: 1", "spine4, layer: 1"];
        let switches: String = switches.iter().map(|switch| format!("  - {{name: {switch}}}\n")).collect();
        std::fs::write(&network, format!("switches:\n{switches}links:\n  - {links}\n")).expect("written");
        let three = format!("cables-from = \"{}\"\n{config}", network.display());
        let cabling = resolve(&three).expect("usable").cabling;
        let ports: Vec<String> = cabling.ports().map(ToString::to_string).collect();
        let expected =
            ["leaf1/eth1", "leaf1/eth2", "leaf2/eth1", "spine1/swp1", "spine1/swp2", "spine9/swp9"];
        assert_eq!(ports, expected);
        std::fs::write(&path, "{\"lldp\": 3}").expect("written");
        let error = resolve(&config).expect_err("refused");
        assert!(error.contains("neighbours.json"), "{error}");
        assert!(resolve("lldp = \"/nowhere/at-all\"").expect_err("refused").contains("/nowhere/at-all"));
    }

    /// A network file needed layers, although cables do not.
    #[test]
    fn cables_come_from_a_network_without_layers() {
        let folder = tempfile::tempdir().expect("a folder");
        let resolved = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            let config: MonitorConfig =
                toml::from_str(&format!("cables-from = \"{}\"", path.display())).expect("a configuration");
            config.resolve("r1").expect("usable")
        };
        for (name, text) in [
            ("ring.csv", "a,a_port,b,b_port\nr1,e1,r2,e1\nr2,e2,r3,e1\nr3,e2,r1,e2\n"),
            ("ring.dot", "graph ring { \"r1\":\"e1\" -- \"r2\":\"e1\"; r2:e2 -- r3:e1; r3:e2 -- r1:e2 }"),
            (
                "ring.clab.yml",
                "topology:\n  nodes: {r1: {kind: ceos}, r2: {kind: ceos}, r3: {kind: linux}}\n  links:\n  \
                 - endpoints: [r1:e1, r2:e1]\n  - endpoints: [r2:e2, r3:e1]\n  - endpoints: [r3:e2, r1:e2]\n",
            ),
            (
                "ring.yaml",
                "links:\n- {from: r1, to: r2, from_port: e1, to_port: e1}\n- {from: r2, to: r3, from_port: e2, to_port: e1}\n\
                 - {from: r3, to: r1, from_port: e2, to_port: e2}\n",
            ),
        ] {
            let Resolved { cabling, topology, .. } = resolved(name, text);
            let ports: Vec<String> = cabling.ports().map(ToString::to_string).collect();
            assert_eq!(ports, ["r1/e1", "r1/e2", "r2/e1", "r2/e2", "r3/e1", "r3/e2"], "{name}");
            let peer = |port: &str| cabling.peer(&port.parse().expect("a port")).map(ToString::to_string);
            assert_eq!(peer("r1/e2").as_deref(), Some("r3/e2"), "{name}");
            assert_eq!(topology, None, "{name} has no layers");
        }
        let leaves = "a,a_port,b,b_port\nleaf1,e1,spine1,e1\nleaf2,e1,spine1,e2\n";
        assert!(resolved("leaves.csv", leaves).topology.is_some(), "names say the layers");
    }

    #[test]
    fn neighbours_that_are_known_by_aliases_are_no_contradiction() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("neighbours.json");
        let interface = |port: &str, alias: &str, description: &str| {
            format!(
                "{{\"{port}\": {{\"chassis\": {{\"t0\": {{\"id\": {{\"type\": \"mac\", \"value\": \"00:01\"}}}}}}, \
                 \"port\": {{\"id\": {{\"type\": \"local\", \"value\": \"{alias}\"}}, \"descr\": \"{description}\"}}}}}}"
            )
        };
        let interfaces = [
            interface("Ethernet0", "Ethernet30/1", "leaf1:Ethernet0"),
            interface("Ethernet4", "Ethernet31/1", "leaf1:Ethernet8"),
            interface("Ethernet8", "7", "leaf1:Ethernet8"),
        ];
        let text = format!("{{\"lldp\": {{\"interface\": [{}]}}}}", interfaces.join(", "));
        std::fs::write(&path, text).expect("written");
        let config = format!("lldp = \"{}\"", path.display());
        let ports = |config: &str| -> Vec<String> {
            resolve(config).expect("usable").cabling.ports().map(ToString::to_string).collect()
        };
        let seen = ["leaf1/Ethernet0", "leaf1/Ethernet4", "t0/Ethernet30/1", "t0/Ethernet31/1"];
        assert_eq!(ports(&config), seen);
        let named = ports(&format!("cable = [\"Ethernet0=t0/Ethernet116\"]\n{config}"));
        assert_eq!(named, ["leaf1/Ethernet0", "leaf1/Ethernet4", "t0/Ethernet116", "t0/Ethernet31/1"]);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (text, part) in [
            ("agent = \"a/b\"", "agent = a/b"),
            ("poll = \"1ms\"", "poll = 1ms"),
            ("polls = \"1s\"", "unknown field `polls`"),
            ("cable = [\"a\"]", "`a` is not a cable"),
            ("cable = [\"a=b=c\"]", "`a=b=c` is not a cable"),
            ("cable = [\"a=/b\"]", "cable = a=/b"),
            ("cable = [\"a=b\", \"b=c\"]", "leaf1/b is connected to both leaf1/a and leaf1/c"),
            ("[detection]\nactivate = 0", "activate = 0"),
            ("[detection]\nactivate = 1e-9\ndeactivate = 1e-8", "deactivate = "),
            ("[protection]\nmode = \"off\"", "mode = off"),
            ("[protection]\ntarget = 0", "target = 0"),
            ("interface = [\"eth0\"]", "unknown field"),
            ("[counters]\ninterface = [\"eth0\"]", "interface = eth0: requires source"),
            (
                "source = \"linux\"\n[counters.drivers.x]\ngood-frames = [\"a\"]",
                "counters.drivers = x: needs names",
            ),
            ("source = \"prometheus\"", "prometheus = : must be the address"),
            (
                "source = \"prometheus\"\n[counters]\nprometheus = \"http://a\"\nprometheus-queries = \"x\"",
                "prometheus-queries = x: must be one of linkmend, node, node-bnxt_en",
            ),
            ("[counters]\nsonic = \"redis://me:secret@a\"", "sonic = redis://me:***@a: requires source"),
            ("[plan]\nconstraint = \"50%\"", "plan-constraint = 50%: requires plan-topology"),
            ("[plan]\ntopology = \"thin-tree\"", "thin-tree"),
            ("[plan]\ntrial-after = \"1h\"", "trial-after = 3600s: requires plan-topology"),
            (
                "[plan]\ntopology = \"fat-tree:k=4\"\ndisables-per-hour = 0",
                "disables-per-hour = 0: must be 1 to",
            ),
            ("[plan]\ntopology = \"fat-tree:k=4\"\ndisable-after = \"25h\"", "disable-after = "),
            ("[plan]\ntopology = \"fat-tree:k=4\"\ntrial-after = \"1s\"", "trial-after = 1s: must be 1min"),
            (
                "[plan]\ntopology = \"fat-tree:k=4\"\ntrial-after = \"2h\"\ntrial-longest = \"1h\"",
                "trial-longest = 3600s: must be trial-after",
            ),
            (
                "[plan]\ntopology = \"fat-tree:k=4\"\ntrial-time = \"5min\"",
                "trial-time = 300s: must be longer than hold-down",
            ),
            (
                "[plan]\ntopology = \"fat-tree:k=4\"\ndisable-hook = \"/nowhere/hook\"",
                "disable-hook = /nowhere/hook: cannot be run: No such file",
            ),
            ("[protection]\nhook = \"/nowhere/hook\"", "hook = /nowhere/hook: cannot be run: No such file"),
            ("[detection]\nlink-up-hold-off = \"2h\"", "link-up-hold-off = 7200s: must be 0 s to an hour"),
            ("[plan]\ntopology = \"/nowhere/network.yaml\"", "/nowhere/network.yaml"),
            ("[bus]\nredis-prefix = \"x\"", "redis-prefix = x: requires redis"),
            ("[bus]\nredis-keys = \"/x\"", "redis-keys = /x: requires redis"),
            (
                "[bus]\nredis = [\"redis://host\"]\nredis-keys = \"/nowhere/keys\"",
                "redis-keys = /nowhere/keys: cannot be read: No such file",
            ),
            ("[bus]\nredis = [\"http://me:secret@host\"]", "redis = http://me:***@host"),
            ("state = \"/x\"\n[bus]\nredis = [\"redis://host\"]", "state = /x: cannot be used with redis"),
        ] {
            let error = resolve(text).expect_err("refused");
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
