//! Runs many seeds on all cores and reports the first that fails, with what repeats it.
//!
//! * `LINKMEND_SIM_CASES=100000`: how many seeds, from `LINKMEND_SIM_FIRST` (0) on;
//! * `LINKMEND_SIM_SEED=17`: only that one.

#![expect(clippy::disallowed_methods, reason = "which seeds run is set from outside")]

use std::any::Any;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into())).unwrap_or_default()
}

/// Whether all the usual seeds ran, so that totals over them mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    All,
    Chosen,
}

/// Runs `case` for each of `usual` seeds, or those that the environment names.
///
/// # Panics
/// If a case does: with its message and the command that repeats it.
pub fn run(test: &str, usual: u64, case: impl Fn(u64) + Sync) -> Extent {
    let single = number("LINKMEND_SIM_SEED");
    let first = single.or_else(|| number("LINKMEND_SIM_FIRST")).unwrap_or(0);
    let count = if single.is_some() { 1 } else { number("LINKMEND_SIM_CASES").unwrap_or(usual) };
    let next = AtomicU64::new(first);
    let failed = AtomicU64::new(u64::MAX);
    let stop = AtomicBool::new(false);
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                break;
            }
            if catch_unwind(AssertUnwindSafe(|| case(seed))).is_err() {
                failed.fetch_min(seed, Ordering::Relaxed);
                stop.store(true, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let seed = failed.into_inner();
    if seed != u64::MAX {
        let panic = catch_unwind(AssertUnwindSafe(|| case(seed))).expect_err("a seed fails always or never");
        panic!(
            "seed {seed} fails: {}\nto repeat:\n  \
             LINKMEND_SIM_SEED={seed} cargo test -p linkmend-sim --test {test} -- --nocapture",
            message(&*panic)
        );
    }
    if single.is_none() && first == 0 && count >= usual { Extent::All } else { Extent::Chosen }
}
