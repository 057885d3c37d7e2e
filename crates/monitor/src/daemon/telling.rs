//! Whom decisions are told: the log, the audit file, and a webhook.

use super::audit::Audit;
use super::error::StartError;
use super::record::Record;
use crate::agent::{Decision, DecisionKind, PlanVerdict};
use crate::config::Resolved;
use crate::detection::State;
use crate::exchange::Effect;
use crate::webhook::{Webhook, WebhookStatus};

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Telling {
    audit: Option<Audit>,
    webhook: Option<Webhook>,
}

impl Telling {
    /// Opens what is configured. `run` is a name that no other run of any agent has.
    pub fn open(config: &Resolved, run: &str) -> Result<Telling, StartError> {
        let audit = match &config.audit {
            Some(settings) => {
                Some(Audit::open(settings.path.clone(), settings.read_key()?).map_err(StartError::Audit)?)
            }
            None => None,
        };
        let settings = config.webhook.as_ref().filter(|settings| !config.dry_run || settings.dry_run);
        let start = |settings| Webhook::start(settings, &config.agent, run, config.dry_run);
        Ok(Telling { audit, webhook: settings.map(start).transpose()? })
    }

    /// Opens the audit file again, which may have been moved away for a new one.
    pub fn reopen(&mut self) {
        if let Some(audit) = &mut self.audit {
            audit.reopen();
        }
    }

    /// Tells everyone.
    pub fn tell(&mut self, decision: &Decision) {
        log(decision);
        let record = Record::now(decision);
        let place = self.audit.as_mut().and_then(|audit| audit.write(&record));
        if let Some(webhook) = self.webhook.as_mut().filter(|_| !is_beginning(decision)) {
            webhook.send(&record, place.as_ref());
        }
    }

    /// How it stands with the webhook.
    pub fn webhook(&self) -> Option<WebhookStatus> {
        self.webhook.as_ref().map(Webhook::status)
    }

    /// What does not work, for people.
    pub fn trouble(&self) -> Option<String> {
        let WebhookStatus { server, trouble, .. } = self.webhook()?;
        trouble.map(|why| format!("cannot deliver decisions to {server}: {why}"))
    }
}

/// Every port that is polled begins so, which is no news.
fn is_beginning(decision: &Decision) -> bool {
    matches!(decision.kind, DecisionKind::State { from: State::Unknown, to: State::Healthy, .. })
}

fn log(decision: &Decision) {
    match &decision.kind {
        DecisionKind::Effect { effect: Effect::Failed, .. } => tracing::warn!("{decision}"),
        DecisionKind::Plan { verdict, .. }
            if !matches!(verdict, PlanVerdict::Returned | PlanVerdict::Tried | PlanVerdict::Unsure) =>
        {
            tracing::warn!("{decision}")
        }
        DecisionKind::Flaps { .. }
        | DecisionKind::FlapsAtOnce { .. }
        | DecisionKind::FlapsOfModules { .. } => {
            tracing::warn!("{decision}")
        }
        _ if is_beginning(decision) => tracing::debug!("{decision}"),
        DecisionKind::State { to, .. } if to.corrupts() => tracing::warn!("{decision}"),
        _ => tracing::info!("{decision}"),
    }
}
