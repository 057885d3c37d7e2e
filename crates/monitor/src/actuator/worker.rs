//! Threads that carry out requests, so that a slow one delays no poll, and no other port.

use super::{Actuator, End, Stop};
use crate::PortName;
use crate::exchange::{Effect, Request};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Looks at which nothing could be seen before that is said.
const MISSES_MOST: u32 = 3;
/// How often a port is looked at whose protection has not begun yet, and one that is protected.
const STARTING_INTERVAL: Duration = Duration::from_millis(100);
const ACTIVE_INTERVAL: Duration = Duration::from_secs(2);

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The direction that the request was about, and the end of it at which it was carried out.
    pub port: PortName,
    pub end: End,
    pub generation: u64,
    pub effect: Effect,
    /// What went wrong, for people.
    pub error: Option<String>,
}

#[derive(Debug)]
struct Job {
    /// The port at which it is to be carried out, as this agent calls it.
    at: String,
    end: End,
    port: PortName,
    request: Request,
    again: bool,
}

/// A port that was asked for protection, as it was last seen.
struct Observed {
    at: String,
    generation: u64,
    effect: Effect,
    look_at: Instant,
    /// Looks in a row at which nothing could be seen.
    misses: u32,
}

/// The threads, and the way to them. Dropping it waits until the requests under way are done; what waits behind them is
/// carried out after the next start, because nobody was told that it was done.
#[derive(Debug)]
pub struct Worker {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
    stop: Stop,
}

/// Requests that wait for a thread. Those for one port are carried out in their order, so that one that hangs holds up no other port
/// as long as there is another thread.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// Ports at which a thread carries something out.
    busy: BTreeSet<String>,
    is_closed: bool,
}

/// What a thread does next.
enum Next {
    Job(Box<Job>),
    /// Nothing has come for as long as it was to wait.
    Look,
    End,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first request for a port at which nothing is under way.
    fn next(&self, wait: Duration) -> Next {
        let until = Instant::now() + wait;
        let mut waiting = self.lock();
        loop {
            if waiting.is_closed {
                return Next::End;
            }
            let place = waiting.jobs.iter().position(|job| !waiting.busy.contains(&job.at));
            if let Some(job) = place.and_then(|place| waiting.jobs.remove(place)) {
                waiting.busy.insert(job.at.clone());
                return Next::Job(Box::new(job));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Look;
            }
            waiting = self.changed.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

impl Worker {
    /// Starts a thread for each of these, which are alike; only one that is alone observes what it has done. They report to `outcomes`
    /// how each request ended, and begin no other once `stop` is asked for.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start(
        actuators: Vec<Box<dyn Actuator>>,
        outcomes: &Sender<Outcome>,
        stop: Stop,
    ) -> io::Result<Worker> {
        let mut worker = Worker { queue: Arc::default(), threads: Vec::with_capacity(actuators.len()), stop };
        for actuator in actuators {
            let (queue, outcomes, stop) = (Arc::clone(&worker.queue), outcomes.clone(), worker.stop.clone());
            let thread = std::thread::Builder::new()
                .name("actuator".to_owned())
                .spawn(move || run(actuator, &queue, &outcomes, &stop))?;
            worker.threads.push(thread);
        }
        Ok(worker)
    }

    /// Hands over a request for a direction, to be carried out at the port `at` one end of it.
    pub fn carry_out(&self, (at, end): (String, End), port: PortName, request: Request, again: bool) {
        if self.threads.iter().all(JoinHandle::is_finished) {
            tracing::error!(
                "requests are no longer carried out until a restart, because all worker threads \
             have exited"
            );
        }
        self.queue.change(|waiting| waiting.jobs.push_back(Job { at, end, port, request, again }));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.ask();
        self.queue.change(|waiting| waiting.is_closed = true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn run(mut actuator: Box<dyn Actuator>, queue: &Queue, outcomes: &Sender<Outcome>, stop: &Stop) {
    let mut observed: BTreeMap<(PortName, End), Observed> = BTreeMap::new();
    loop {
        let next = observed.values().map(|observed| observed.look_at).min();
        let wait = next.map_or(ACTIVE_INTERVAL, |next| next.saturating_duration_since(Instant::now()));
        let next = queue.next(wait);
        if stop.is_asked_for() {
            return;
        }
        let outcome = match next {
            Next::Job(job) => {
                let at = job.at.clone();
                let outcome = carry_out(&mut *actuator, *job, &mut observed);
                queue.change(|waiting| _ = waiting.busy.remove(&at));
                Some(outcome)
            }
            Next::Look => look(&mut *actuator, &mut observed),
            Next::End => return,
        };
        if outcome.is_some_and(|outcome| outcomes.send(outcome).is_err()) {
            return;
        }
    }
}

fn carry_out(
    actuator: &mut dyn Actuator,
    job: Job,
    observed: &mut BTreeMap<(PortName, End), Observed>,
) -> Outcome {
    let Job { at, end, port, request, again } = job;
    let generation = request.generation;
    let (effect, error) = match actuator.apply(&at, end, &request, again) {
        Ok(effect) => (effect, None),
        Err(error) => (Effect::Failed, Some(error)),
    };
    if request.protection.is_some() && error.is_none() {
        let look_at = Instant::now() + interval(effect);
        observed.insert((port.clone(), end), Observed { at, generation, effect, look_at, misses: 0 });
    } else {
        observed.remove(&(port.clone(), end));
    }
    Outcome { port, end, generation, effect, error }
}

/// Looks at the port whose turn it is; says so if it has changed.
fn look(actuator: &mut dyn Actuator, observed: &mut BTreeMap<(PortName, End), Observed>) -> Option<Outcome> {
    let ((port, end), at) = observed.iter_mut().min_by_key(|(_, observed)| observed.look_at)?;
    let seen = actuator.observe(&at.at);
    at.misses = if seen.is_err() { at.misses + 1 } else { 0 };
    let (effect, error) = match seen {
        Ok(effect) => (effect, None),
        // It may be about to be restarted.
        Err(_) if at.misses < MISSES_MOST => (None, None),
        Err(error) => (Some(Effect::Failed), Some(error)),
    };
    at.look_at = Instant::now() + interval(effect.unwrap_or(at.effect));
    let effect = effect.filter(|&effect| effect != at.effect)?;
    at.effect = effect;
    Some(Outcome { port: port.clone(), end: *end, generation: at.generation, effect, error })
}

fn interval(effect: Effect) -> Duration {
    if effect == Effect::Starting { STARTING_INTERVAL } else { ACTIVE_INTERVAL }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;

    /// Hangs at one port until it may go on.
    struct Slow(Arc<AtomicBool>);

    impl Actuator for Slow {
        fn describe(&self) -> String {
            "a test".to_owned()
        }

        fn apply(&mut self, sender: &str, _: End, _: &Request, _: bool) -> Result<Effect, String> {
            while sender == "slow" && !self.0.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(Effect::Dormant)
        }

        fn observe(&mut self, _: &str) -> Result<Option<Effect>, String> {
            Ok(None)
        }
    }

    #[test]
    fn a_port_that_hangs_holds_up_no_other_and_what_waits_at_the_end_is_left() {
        let go_on = Arc::new(AtomicBool::new(false));
        let (sender, outcomes) = channel();
        let actuators = (0..4).map(|_| Box::new(Slow(Arc::clone(&go_on))) as Box<dyn Actuator>).collect();
        let worker = Worker::start(actuators, &sender, Stop::default()).expect("threads");
        let names: Vec<String> = (0..40).map(|port| format!("eth{port}")).collect();
        for name in ["slow", "slow"].into_iter().chain(names.iter().map(String::as_str)) {
            let port = PortName::new("leaf1", name).expect("a name");
            worker.carry_out((name.to_owned(), End::Sends), port, Request::default(), false);
        }
        let done = std::iter::from_fn(|| outcomes.recv_timeout(Duration::from_millis(500)).ok()).count();
        assert_eq!(done, 40, "while one hangs");
        // The request under way ends; those behind it are not begun.
        let release = Arc::clone(&go_on);
        let later = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            release.store(true, Ordering::Relaxed);
        });
        drop(worker);
        later.join().expect("no panic");
        assert_eq!(outcomes.try_iter().count(), 1, "only the one that hung");
    }
}
