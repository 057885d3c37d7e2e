//! Linkmend's own dataplane, by its control socket.

use super::Actuator;
use crate::exchange::{Effect, Protection, Request};
use linkmend_dataplane::LinkReport;
use linkmend_dataplane::config::ProtectConfig;
use linkmend_dataplane::control::{Client, sockets};
use linkmend_dataplane::report::TransmitState;
use linkmend_quantity::LossRate;
use std::path::PathBuf;

/// Protects links of the daemons on this machine. A port has the name of its link.
#[derive(Debug, Default)]
pub struct ControlSocket {
    /// The daemons' sockets; empty for all that are in the usual folder.
    paths: Vec<PathBuf>,
}

impl ControlSocket {
    /// Acts on the daemons at these sockets, or on all those in the usual folder if there are none.
    pub fn new(paths: Vec<PathBuf>) -> ControlSocket {
        ControlSocket { paths }
    }

    fn client(&self, link: &str) -> Result<Client, String> {
        let paths = if self.paths.is_empty() { sockets() } else { self.paths.clone() };
        Client::find(link, &paths).map_err(|error| error.to_string())
    }

    fn report(&self, link: &str) -> Result<(Client, LinkReport), String> {
        let mut client = self.client(link)?;
        let report = client.status(Some(link)).map_err(|error| error.to_string())?.pop();
        let report = report.ok_or_else(|| format!("its daemon says nothing of link {link}"))?;
        match report.gone {
            Some(why) => Err(why),
            None => Ok((client, report)),
        }
    }
}

impl Actuator for ControlSocket {
    fn describe(&self) -> String {
        "Linkmend's daemons on this machine".to_owned()
    }

    fn apply(&mut self, sender: &str, request: &Request, again: bool) -> Result<Effect, String> {
        let (mut client, report) = self.report(sender)?;
        let report = match request.protection {
            Some(_) if again && report.protection_requested => report,
            Some(protection) => {
                client.protect(sender, &config(protection)).map_err(|error| error.to_string())?
            }
            None if !report.protection_requested => report,
            None => client.unprotect(sender).map_err(|error| error.to_string())?,
        };
        Ok(effect(&report))
    }

    fn observe(&mut self, sender: &str) -> Option<Effect> {
        self.report(sender).ok().map(|(_, report)| effect(&report))
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
