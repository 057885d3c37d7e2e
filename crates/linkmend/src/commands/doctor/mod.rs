//! `linkmend doctor`: what this machine can do for each interface, and what to change.

mod interface;
mod machine;
mod show;
mod wake_ups;

use crate::failure::Result;
use crate::output::print;
use clap::Args;
use linkmend_dataplane::PortError;
use linkmend_linux::interface_counters::InterfaceCounterSocket;
use linkmend_linux::login;
use serde::Serialize;
use std::io;

/// The largest number of interfaces that are looked at if none is named.
const INTERFACES_MAX: usize = 64;

/// Arguments of `linkmend doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend doctor                       # this machine and all its interfaces
  linkmend doctor eth1 eth2             # also what is in the way of a link between these ports
  linkmend doctor --json > doctor.json  # for a bug report

Fails if an interface that is named cannot be used as it is.

Nothing is changed. Run it as root, or with the capabilities of the daemon: it tries what the daemon would use.")]
pub struct DoctorArgs {
    /// Interfaces to examine [default: all Ethernet interfaces]
    #[arg(value_name = "INTERFACE")]
    pub interfaces: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Everything that was found.
#[derive(Debug, Serialize)]
struct Report {
    /// Version of Linkmend.
    linkmend: &'static str,
    machine: machine::Machine,
    interfaces: Vec<interface::Interface>,
    /// Whether the interfaces were named, so that the findings cover them.
    ports_named: bool,
    findings: Vec<Finding>,
}

/// Something to know or to change.
#[derive(Debug, Serialize)]
struct Finding {
    severity: Severity,
    /// The interface; none if it is about the machine.
    interface: Option<String>,
    problem: String,
    /// Commands, or what else to do.
    remedy: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Severity {
    /// A link cannot use it as it is.
    Error,
    /// It works, with a disadvantage that can be removed.
    Warning,
    /// Depends on what the interface is used for.
    Note,
}

impl Finding {
    fn of_machine(severity: Severity, problem: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { severity, interface: None, problem: problem.into(), remedy: remedy.into() }
    }
}

/// Executes the command.
pub(crate) fn execute(arguments: &DoctorArgs) -> Result<()> {
    let mut findings = Vec::new();
    let machine = machine::examine(&mut findings);
    let names = match arguments.interfaces.as_slice() {
        [] => all()?,
        named => named.to_vec(),
    };
    let is_named = !arguments.interfaces.is_empty();
    let login = login::of_this_process();
    let mut interfaces = Vec::new();
    for name in &names {
        let mut of_interface = Vec::new();
        match interface::examine(name, login.as_ref(), &mut of_interface) {
            Ok(interface) => {
                interfaces.push(interface);
                // What a port requires is no problem of an interface that is not to be one.
                findings.extend(of_interface.into_iter().filter(|_| is_named));
            }
            // It may have gone since it was listed.
            Err(PortError::UnknownInterface { .. }) if !is_named => {}
            Err(error) => return Err(error.into()),
        }
    }
    findings.sort_by_key(|finding| finding.severity);
    let report =
        Report { linkmend: env!("CARGO_PKG_VERSION"), machine, interfaces, ports_named: is_named, findings };
    if arguments.json {
        print(&serde_json::to_string_pretty(&report).map_err(io::Error::from)?)?;
    } else {
        print(&show::page(&report))?;
    }
    let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    match errors > 0 {
        true => Err(CannotBeUsed { errors }.into()),
        false => Ok(()),
    }
}

/// The names of all interfaces but the loopback.
fn all() -> Result<Vec<String>> {
    let interfaces = InterfaceCounterSocket::open()?.all()?.answers;
    let names = interfaces.into_iter().map(|interface| interface.name).filter(|name| name != "lo");
    Ok(names.take(INTERFACES_MAX).collect())
}

/// The named interfaces cannot be ports as they are.
#[derive(Debug, thiserror::Error)]
#[error("{errors} of the findings prevent a link from using these interfaces")]
struct CannotBeUsed {
    errors: usize,
}

impl linkmend_diagnose::Diagnose for CannotBeUsed {
    fn hint(&self) -> Option<String> {
        Some("the page above names a command for each".to_owned())
    }
}
