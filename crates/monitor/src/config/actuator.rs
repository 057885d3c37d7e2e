//! What carries requests out, and what that needs.

use super::{MonitorConfig, SourceChoice};
use crate::actuator::{LLR_PORTS_DEFAULT, LlrProfile, SonicLlrSettings, fault};
use linkmend_diagnose::ParameterError;
use std::path::PathBuf;

/// The word for profiles that are planned.
const PLAN: &str = "plan";
/// The longest name of a profile in SONiC.
const PROFILE_CHARACTERS_MOST: usize = 64;
/// The largest limit: more ports have no switch.
const LLR_PORTS_MOST: usize = 1_000;

/// What carries requests out, with what that needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActuatorChoice {
    /// Daemons at these sockets, or all.
    Linkmend(Vec<PathBuf>),
    /// A program that is run for each request.
    Hook(PathBuf),
    /// The LLR of a SONiC switch.
    SonicLlr(Box<SonicLlrSettings>),
    /// Nothing is carried out, and everything written down.
    DryRun,
}

impl MonitorConfig {
    /// Takes what the chosen actuator needs, and refuses what another one would.
    pub(super) fn choose_actuator(&self, source: &SourceChoice) -> Result<ActuatorChoice, ParameterError> {
        let protection = &self.protection;
        if let Some((hook, why)) = protection.hook.as_ref().and_then(|hook| Some((hook, fault(hook)?))) {
            return Err(ParameterError::new("hook", hook.display(), format!("cannot be run: {why}")));
        }
        if let Some(ports) = protection.llr_ports {
            if protection.llr.is_none() {
                return Err(ParameterError::new("llr-ports", ports, "requires llr"));
            }
            if !(1..=LLR_PORTS_MOST).contains(&ports) {
                let rule = format!("must be 1 to {LLR_PORTS_MOST}");
                return Err(ParameterError::new("llr-ports", ports, rule));
            }
        }
        if let Some(profile) = &protection.llr {
            let wrong = |rule: &str| Err(ParameterError::new("llr", profile, rule));
            let is_name = (1..=PROFILE_CHARACTERS_MOST).contains(&profile.len())
                && profile.chars().all(|letter| letter.is_ascii_graphic() && letter != '|');
            return match source {
                _ if protection.hook.is_some() => wrong("cannot be combined with hook"),
                _ if !is_name => wrong("must be plan, or the name of a profile of LLR"),
                SourceChoice::Sonic(switch) => Ok(ActuatorChoice::SonicLlr(Box::new(SonicLlrSettings {
                    switch: switch.clone(),
                    profile: match profile == PLAN {
                        true => LlrProfile::Planned,
                        false => LlrProfile::Named(profile.clone()),
                    },
                    ports_most: protection.llr_ports.unwrap_or(LLR_PORTS_DEFAULT),
                    dry_run: protection.dry_run,
                }))),
                _ => wrong("requires source = \"sonic\""),
            };
        }
        Ok(match &protection.hook {
            _ if protection.dry_run => ActuatorChoice::DryRun,
            Some(program) => ActuatorChoice::Hook(program.clone()),
            None => ActuatorChoice::Linkmend(self.daemons.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(text: &str) -> Result<ActuatorChoice, String> {
        let config: MonitorConfig = toml::from_str(text).map_err(|error| error.to_string())?;
        config.resolve("leaf1").map(|resolved| resolved.actuator).map_err(|error| error.to_string())
    }

    #[test]
    fn llr_is_for_switches_and_instead_of_a_program() {
        let sonic = "source = \"sonic\"\n[protection]\n";
        let Ok(ActuatorChoice::SonicLlr(settings)) = choose(&format!("{sonic}llr = \"plan\"\n")) else {
            panic!("LLR");
        };
        assert_eq!(
            (&settings.profile, settings.ports_most, settings.dry_run),
            (&LlrProfile::Planned, 8, false)
        );
        let named = choose(&format!("{sonic}llr = \"mine\"\nllr-ports = 3\ndry-run = true\n"));
        let Ok(ActuatorChoice::SonicLlr(settings)) = named else { panic!("LLR") };
        let mine = LlrProfile::Named("mine".to_owned());
        assert_eq!((&settings.profile, settings.ports_most, settings.dry_run), (&mine, 3, true));
        for (text, part) in [
            ("[protection]\nllr = \"plan\"\n".to_owned(), "requires source = \"sonic\""),
            (format!("{sonic}llr = \"plan\"\nhook = \"/bin/sh\"\n"), "cannot be combined with hook"),
            (format!("{sonic}llr = \"a|b\"\n"), "must be plan, or the name"),
            (format!("{sonic}llr = \"plan\"\nllr-ports = 0\n"), "must be 1 to 1000"),
            (format!("{sonic}llr-ports = 3\n"), "requires llr"),
        ] {
            let error = choose(&text).expect_err("refused");
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
