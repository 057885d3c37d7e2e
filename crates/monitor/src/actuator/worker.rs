//! A thread that carries out requests, so that a slow one delays no poll.

use super::Actuator;
use crate::PortName;
use crate::exchange::{Effect, Request};
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a port is looked at whose protection has not begun yet, and one that is protected.
const STARTING_INTERVAL: Duration = Duration::from_millis(100);
const ACTIVE_INTERVAL: Duration = Duration::from_secs(2);

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The direction that the request was about.
    pub port: PortName,
    pub generation: u64,
    pub effect: Effect,
    /// What went wrong, for people.
    pub error: Option<String>,
}

struct Job {
    sender: String,
    port: PortName,
    request: Request,
    again: bool,
}

/// A port that was asked for protection, as it was last seen.
struct Observed {
    sender: String,
    generation: u64,
    effect: Effect,
    look_at: Instant,
}

/// The thread, and the way to it. Dropping it waits until the request under way is done.
#[derive(Debug)]
pub struct Worker {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread, which sends what becomes of requests to `outcomes`.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start(actuator: Box<dyn Actuator>, outcomes: Sender<Outcome>) -> io::Result<Worker> {
        let (jobs, waiting) = channel();
        let thread = std::thread::Builder::new()
            .name("actuator".to_owned())
            .spawn(move || run(actuator, &waiting, &outcomes))?;
        Ok(Worker { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands over a request for a direction, to be carried out at the port that sends.
    pub fn carry_out(&self, sender: String, port: PortName, request: Request, again: bool) {
        if let Some(jobs) = &self.jobs {
            // It fails only if the thread has ended, and then everything does.
            let _ = jobs.send(Job { sender, port, request, again });
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(mut actuator: Box<dyn Actuator>, jobs: &Receiver<Job>, outcomes: &Sender<Outcome>) {
    let mut observed: BTreeMap<PortName, Observed> = BTreeMap::new();
    loop {
        let next = observed.values().map(|observed| observed.look_at).min();
        let wait = next.map_or(ACTIVE_INTERVAL, |next| next.saturating_duration_since(Instant::now()));
        let outcome = match jobs.recv_timeout(wait) {
            Ok(job) => Some(carry_out(&mut *actuator, job, &mut observed)),
            Err(RecvTimeoutError::Timeout) => look(&mut *actuator, &mut observed),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if outcome.is_some_and(|outcome| outcomes.send(outcome).is_err()) {
            return;
        }
    }
}

fn carry_out(actuator: &mut dyn Actuator, job: Job, observed: &mut BTreeMap<PortName, Observed>) -> Outcome {
    let Job { sender, port, request, again } = job;
    let generation = request.generation;
    let (effect, error) = match actuator.apply(&sender, &request, again) {
        Ok(effect) => (effect, None),
        Err(error) => (Effect::Failed, Some(error)),
    };
    if request.protection.is_some() && error.is_none() {
        let look_at = Instant::now() + interval(effect);
        observed.insert(port.clone(), Observed { sender, generation, effect, look_at });
    } else {
        observed.remove(&port);
    }
    Outcome { port, generation, effect, error }
}

/// Looks at the port whose turn it is; says so if it has changed.
fn look(actuator: &mut dyn Actuator, observed: &mut BTreeMap<PortName, Observed>) -> Option<Outcome> {
    let (port, at) = observed.iter_mut().min_by_key(|(_, observed)| observed.look_at)?;
    let effect = actuator.observe(&at.sender);
    at.look_at = Instant::now() + interval(effect.unwrap_or(at.effect));
    let effect = effect.filter(|&effect| effect != at.effect)?;
    at.effect = effect;
    Some(Outcome { port: port.clone(), generation: at.generation, effect, error: None })
}

fn interval(effect: Effect) -> Duration {
    if effect == Effect::Starting { STARTING_INTERVAL } else { ACTIVE_INTERVAL }
}
