//! A thread that keeps the plan, because planning for a large network takes seconds, and disabling a link as well.

use super::keeper::{Hands, Keeper, Setup};
use crate::agent::{Decision, PlanStatus};
use crate::planning::Known;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The thread, which ends when it is no longer needed and nothing is under way.
pub(super) struct PlanThread {
    known: Option<SyncSender<Known>>,
    /// What could not be handed over yet, because a plan is being made or carried out. Only the latest counts.
    waiting: Option<Known>,
    decisions: Receiver<Decision>,
    status: Arc<Mutex<PlanStatus>>,
    /// Whether links are only named.
    only_advises: bool,
    thread: Option<JoinHandle<()>>,
}

impl PlanThread {
    /// Starts it.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start(setup: Setup) -> io::Result<PlanThread> {
        let (known, changed) = sync_channel(1);
        let (told, decisions) = channel();
        let status = Arc::new(Mutex::new(PlanStatus::default()));
        let only_advises = matches!(setup.hands, Hands::None);
        let keeper = Keeper::new(setup, told, Arc::clone(&status));
        let thread =
            std::thread::Builder::new().name("planner".to_owned()).spawn(move || keeper.run(&changed))?;
        let thread = Some(thread);
        Ok(PlanThread { known: Some(known), waiting: None, decisions, status, only_advises, thread })
    }

    /// Which links are disabled, and which are to be.
    pub fn status(&self) -> PlanStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a link is on trial, or waits to be disabled, so that it matters that nothing changes.
    pub fn is_waiting(&self) -> bool {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = !self.only_advises && status.held.iter().any(|link| !link.unsure);
        waits || status.disabled.iter().any(|link| link.on_trial)
    }

    /// Hands over what is known.
    pub fn plan(&mut self, known: Known) {
        self.waiting = Some(known);
        self.hand_over();
    }

    /// Hands over what waits, if the thread can take it. Called now and then.
    pub fn hand_over(&mut self) {
        let (Some(waiting), Some(sender)) = (self.waiting.take(), &self.known) else { return };
        match sender.try_send(waiting) {
            Ok(()) => {}
            Err(TrySendError::Full(waiting)) => self.waiting = Some(waiting),
            Err(TrySendError::Disconnected(_)) => {
                tracing::error!("planning has stopped until a restart, because the planner has exited");
                self.known = None;
            }
        }
    }

    /// What came of it since the last call.
    pub fn decisions(&self) -> impl Iterator<Item = Decision> {
        self.decisions.try_iter()
    }
}

impl Drop for PlanThread {
    /// Waits for a running command, for the few seconds that it has when the daemon stops.
    fn drop(&mut self) {
        self.known = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
