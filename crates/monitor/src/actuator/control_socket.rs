//! Linkmend's own dataplane, by its control socket.

use super::better_link::BetterLinks;
use super::{Actuator, End};
use crate::exchange::{Effect, Protection, Request};
use crate::source::backup_port;
use linkmend_control::report::{FailoverReport, Path, TransmitState};
use linkmend_control::{Client, LinkReport, ProtectConfig, sockets};
use linkmend_quantity::LossRate;
use std::path::PathBuf;

/// Protects links of the daemons on this machine. A port has the name of its link, or of the interface of its link port. Of a link
/// end with two links, the one that corrupts less is preferred.
#[derive(Debug, Default)]
pub struct ControlSocket {
    /// The daemons' sockets; empty for all that are in the usual folder.
    paths: Vec<PathBuf>,
    better: BetterLinks,
}

impl ControlSocket {
    /// Acts on the daemons at these sockets, or on all those in the usual folder if there are none.
    pub fn new(paths: Vec<PathBuf>) -> ControlSocket {
        ControlSocket { paths, better: BetterLinks::default() }
    }

    /// The link of a port, and the daemon that serves it. A link whose name is the port's comes before one whose link port
    /// is that interface.
    fn report(&self, port: &str) -> Result<(Client, LinkReport), String> {
        let paths = if self.paths.is_empty() { sockets() } else { self.paths.clone() };
        let (mut by_interface, mut failure) = (None, None);
        for path in &paths {
            let mut client = match Client::connect(path) {
                Ok(client) => client,
                Err(error) => {
                    failure = Some(error.to_string());
                    continue;
                }
            };
            let reports = match client.status(None) {
                Ok(reports) => reports,
                Err(error) => {
                    failure = Some(error.to_string());
                    continue;
                }
            };
            for report in reports {
                if report.name == port || port == backup_port(&report.name) {
                    return alive(client, report);
                }
                if serves(&report, port) && report.gone.is_none() {
                    by_interface = Some((path, report));
                }
            }
        }
        match by_interface {
            Some((path, report)) => alive(Client::connect(path).map_err(|error| error.to_string())?, report),
            None => Err(failure.unwrap_or_else(|| {
                format!("no Linkmend daemon on this machine has a link named {port}, or a link on interface {port}")
            })),
        }
    }
}

/// Whether one of the link end's links is at this interface.
fn serves(report: &LinkReport, interface: &str) -> bool {
    report.ports().any(|(side, port)| side.is_on_link() && port.interface == interface)
}

/// The link of a link end with two that a port belongs to.
fn path_of(report: &LinkReport, failover: &FailoverReport, port: &str) -> Path {
    let is_backup = port == backup_port(&report.name) || port == failover.backup.interface;
    if is_backup { Path::Backup } else { Path::Primary }
}

fn alive(client: Client, report: LinkReport) -> Result<(Client, LinkReport), String> {
    match report.gone {
        Some(why) => Err(why),
        None => Ok((client, report)),
    }
}

impl Actuator for ControlSocket {
    fn describe(&self) -> String {
        "Linkmend's daemons on this machine".to_owned()
    }

    fn apply(&mut self, sender: &str, _: End, request: &Request, again: bool) -> Result<Effect, String> {
        let (mut client, report) = self.report(sender)?;
        if let Some(failover) = &report.failover {
            let rate = request.protection.map_or(0.0, |protection| protection.loss_rate);
            let path = path_of(&report, failover, sender);
            if let Some(better) = self.better.note(&report.name, path, rate, failover.preferred) {
                tracing::info!(
                    link = %report.name, prefer = %better, sender, rate,
                    "preferring the better one of two links"
                );
                client.prefer(&report.name, better).map_err(|error| error.to_string())?;
            }
        }
        let report = match request.protection {
            Some(_) if again && report.protection_requested => report,
            Some(protection) => {
                client.protect(&report.name, &config(protection)).map_err(|error| error.to_string())?
            }
            // What somebody has protected since is not ours to end.
            None if again || !report.protection_requested || self.better.any_corrupts(&report.name) => report,
            None => client.unprotect(&report.name).map_err(|error| error.to_string())?,
        };
        Ok(effect(&report))
    }

    fn observe(&mut self, sender: &str) -> Result<Option<Effect>, String> {
        self.report(sender).map(|(_, report)| Some(effect(&report)))
    }
}

/// The daemon chooses the copies from the loss that it measures itself, and begins with the one that was measured here.
fn config(protection: Protection) -> ProtectConfig {
    ProtectConfig {
        mode: protection.mode,
        target: Some(LossRate(protection.target)),
        loss: Some(LossRate(protection.loss_rate)),
        ..ProtectConfig::default()
    }
}

fn effect(report: &LinkReport) -> Effect {
    match (report.protection_requested, report.transmit_state) {
        (false, _) => Effect::Dormant,
        (true, TransmitState::Active) => Effect::Active,
        (true, _) => Effect::Starting,
    }
}
