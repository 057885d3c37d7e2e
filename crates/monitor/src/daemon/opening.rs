//! What the loop is opened with.

use super::error::StartError;
use crate::actuator::{Actuator, ControlSocket, DryRun, Hook, SonicLlr, Stop};
use crate::agent::Agent;
use crate::bus::{Bus, EmbeddedBus, RedisBus, RehearsedBus};
use crate::config::{ActuatorChoice, BusChoice, Resolved};
use std::time::{SystemTime, UNIX_EPOCH};

/// Commands that may run at the same time.
const HOOKS_AT_ONCE: usize = 8;

/// The agent, as its configuration has it.
pub(super) fn agent(config: &Resolved) -> Agent {
    let agent = Agent::new(&config.agent, config.policy.clone(), config.cabling.clone());
    let agent = agent.since(&named("boot_id")).dry_run(config.dry_run);
    // Keys are there against anyone who puts back what agents have said before.
    let BusChoice::Redis(settings) = &config.bus else { return agent };
    if settings.keys.is_none() {
        return agent;
    }
    let agent = agent.numbered_from(generation());
    // A daemon says itself what it protects.
    match config.actuator {
        ActuatorChoice::Hook(_) => agent.in_run(&named("uuid")),
        _ => agent,
    }
}

/// A name that the kernel gives: `boot_id` to this start of the machine, `uuid` to each reader. Empty if it cannot be read.
pub(super) fn named(what: &str) -> String {
    let name = std::fs::read_to_string(format!("/proc/sys/kernel/random/{what}"));
    name.unwrap_or_default().trim().to_owned()
}

/// A generation above those of earlier runs: so many microseconds have passed since 1970.
fn generation() -> u64 {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(clock.as_micros()).unwrap_or(u64::MAX)
}

/// What carries requests out. Commands may hang, so that there are several to run them.
pub(super) fn actuators(choice: &ActuatorChoice, stop: &Stop) -> Result<Vec<Box<dyn Actuator>>, StartError> {
    Ok(match choice {
        ActuatorChoice::Linkmend(paths) => vec![Box::new(ControlSocket::new(paths.clone()))],
        ActuatorChoice::Hook(program) => {
            let hook = || Box::new(Hook::new(program.clone(), stop.clone())) as Box<dyn Actuator>;
            (0..HOOKS_AT_ONCE).map(|_| hook()).collect()
        }
        ActuatorChoice::SonicLlr(settings) => vec![Box::new(SonicLlr::new(settings)?)],
        ActuatorChoice::DryRun => vec![Box::new(DryRun)],
    })
}

/// Opens the bus; in a dry run, so that nothing of it is changed.
pub(super) fn bus(config: &Resolved) -> Result<Box<dyn Bus>, StartError> {
    Ok(match (&config.bus, config.dry_run) {
        (BusChoice::Embedded(state), false) => Box::new(EmbeddedBus::open(Some(state.clone()))?),
        (BusChoice::Embedded(state), true) => Box::new(EmbeddedBus::open(Some(state.clone()))?.read_only()),
        (BusChoice::Redis(settings), dry_run) => {
            let bus = RedisBus::new(settings, &config.agent)?.listening(config.plan.is_some());
            match dry_run {
                true => Box::new(RehearsedBus::new(Box::new(bus.read_only()))),
                false => Box::new(bus),
            }
        }
    })
}
