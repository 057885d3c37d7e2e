//! A configuration with everything filled in and checked.

use super::{BusChoice, CONTROL_DEFAULT, ConfigError, DetectionConfig, MonitorConfig, SourceChoice};
use crate::agent::Policy;
use crate::detection::Settings;
use crate::{Cabling, PortName};
use linkmend_dataplane::config::ProtectMode;
use linkmend_diagnose::ParameterError;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const POLL_DEFAULT: Duration = Duration::from_secs(1);
const POLL_LEAST: Duration = Duration::from_millis(100);
const POLL_MOST: Duration = Duration::from_hours(1);

/// What carries requests out, with what that needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActuatorChoice {
    /// Daemons at these sockets, or all.
    Linkmend(Vec<PathBuf>),
    /// A program that is run for each request.
    Hook(PathBuf),
    /// Nothing is carried out, and everything written down.
    DryRun,
}

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub agent: String,
    pub source: SourceChoice,
    pub actuator: ActuatorChoice,
    pub poll: Duration,
    pub policy: Policy,
    pub cabling: Cabling,
    pub control: PathBuf,
    pub bus: BusChoice,
    pub audit: Option<PathBuf>,
    pub metrics: Option<SocketAddr>,
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
            let rule = "must be ordered or non-blocking; --dry-run protects nothing";
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
        let actuator = match &self.protection.hook {
            _ if self.protection.dry_run => ActuatorChoice::DryRun,
            Some(program) => ActuatorChoice::Hook(program.clone()),
            None => ActuatorChoice::Linkmend(self.daemons.clone()),
        };
        Ok(Resolved {
            source: self.choose_source()?,
            actuator,
            poll,
            policy: Policy { detection: self.detection.settings()?, mode, target, arm: self.protection.arm },
            cabling: Cabling::new(cables)?,
            control: self.control.clone().unwrap_or_else(|| CONTROL_DEFAULT.into()),
            bus: self.bus.choose(self.state.as_ref())?,
            audit: self.audit.clone(),
            metrics: self.metrics,
            agent,
        })
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
    fn what_cannot_be_is_refused_by_name() {
        for (text, part) in [
            ("agent = \"a/b\"", "agent = a/b"),
            ("poll = \"1ms\"", "poll = 1ms"),
            ("polls = \"1s\"", "unknown field `polls`"),
            ("cable = [\"a\"]", "`a` is no cable"),
            ("cable = [\"a=b=c\"]", "`a=b=c` is no cable"),
            ("cable = [\"a=/b\"]", "cable = a=/b"),
            ("cable = [\"a=b\", \"b=c\"]", "leaf1/b faces leaf1/a, and leaf1/c as well"),
            ("[detection]\nactivate = 0", "activate = 0"),
            ("[detection]\nactivate = 1e-9\ndeactivate = 1e-8", "deactivate = "),
            ("[protection]\nmode = \"off\"", "mode = off"),
            ("[protection]\ntarget = 0", "target = 0"),
            ("interface = [\"eth0\"]", "unknown field"),
            ("[counters]\ninterface = [\"eth0\"]", "interface = eth0: is of no use without source"),
            (
                "source = \"linux\"\n[counters.drivers.x]\ngood-frames = [\"a\"]",
                "counters.drivers = x: needs names",
            ),
            ("source = \"prometheus\"", "prometheus = : must be the address"),
            (
                "source = \"prometheus\"\n[counters]\nprometheus = \"http://a\"\nprometheus-queries = \"x\"",
                "prometheus-queries = x: must be one of linkmend, node, node-bnxt_en",
            ),
            (
                "[counters]\nsonic = \"redis://me:secret@a\"",
                "sonic = redis://me:***@a: is of no use without source",
            ),
            ("[bus]\nredis-prefix = \"x\"", "redis-prefix = x: is of no use without redis"),
            ("[bus]\nredis = [\"http://me:secret@host\"]", "redis = http://me:***@host"),
            ("state = \"/x\"\n[bus]\nredis = [\"redis://host\"]", "state = /x: is of no use with redis"),
        ] {
            let error = resolve(text).expect_err("refused");
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
