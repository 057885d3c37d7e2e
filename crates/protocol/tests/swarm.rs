//! The seeded fault swarm. Each seed draws two link ends, a link and its faults, checks safety after every step, heals
//! the link and demands delivery.
//!
//! * `LINKMEND_SWARM_SEEDS=1000000`: how many seeds to run, from `LINKMEND_SWARM_FIRST` (0) on;
//! * `LINKMEND_SWARM_SEED=17`: only that one, with its last events if it fails.

#![expect(
    clippy::disallowed_methods,
    reason = "which seeds run is set from outside, and how long they take is shown"
)]

mod common;

use common::swarm::Run;
use std::any::Any;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Seeds of an ordinary test run.
const SEEDS: u64 = 100_000;
/// Seeds that a thread takes at a time.
const CHUNK: u64 = 64;

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into())).unwrap_or_default()
}

/// Runs one seed; the panic's message and the trace if it fails.
fn run(seed: u64, trace: bool) -> Result<u64, (String, String)> {
    let mut run = Run::new(seed);
    if trace {
        run.pair.enable_trace();
    }
    match catch_unwind(AssertUnwindSafe(|| run.drive())) {
        Ok(()) => Ok(run.pair.steps),
        Err(panic) => Err((message(&*panic), run.pair.trace())),
    }
}

fn report(seed: u64) -> ! {
    let (message, trace) = run(seed, true).expect_err("a seed fails every time or never");
    panic!(
        "seed {seed} fails: {message}\nlast events:\n{trace}\nto reproduce:\n  \
         LINKMEND_SWARM_SEED={seed} cargo test -p linkmend-protocol --test swarm -- --nocapture"
    );
}

/// The first failing seed, and the number of events.
fn run_all(first: u64, count: u64) -> (Option<u64>, u64) {
    let next = AtomicU64::new(first);
    let steps = AtomicU64::new(0);
    let failed = AtomicU64::new(u64::MAX);
    let stop = AtomicBool::new(false);
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let chunk = next.fetch_add(CHUNK, Ordering::Relaxed);
            if chunk >= first + count {
                break;
            }
            for seed in chunk..(chunk + CHUNK).min(first + count) {
                match run(seed, false) {
                    Ok(taken) => _ = steps.fetch_add(taken, Ordering::Relaxed),
                    Err(_) => {
                        failed.fetch_min(seed, Ordering::Relaxed);
                        stop.store(true, Ordering::Relaxed);
                        break;
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner();
    ((failed != u64::MAX).then_some(failed), steps.into_inner())
}

#[test]
fn faults_lose_nothing_that_is_not_accounted_for() {
    // The panic of a failing seed is reported once, with its trace, and not from within a thread.
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let begun = Instant::now();
    let single = number("LINKMEND_SWARM_SEED");
    let first = single.or_else(|| number("LINKMEND_SWARM_FIRST")).unwrap_or(0);
    let count = if single.is_some() { 1 } else { number("LINKMEND_SWARM_SEEDS").unwrap_or(SEEDS) };
    let (failed, steps) = run_all(first, count);
    let seconds = begun.elapsed().as_secs_f64();
    let outcome = failed.map(|seed| catch_unwind(|| report(seed)));
    set_hook(hook);
    if let Some(Err(panic)) = outcome {
        panic!("{}", message(&*panic));
    }
    println!("{count} seeds, {steps} events in {seconds:.1} s: {:.0} seeds/s", count as f64 / seconds);
}
