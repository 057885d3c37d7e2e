//! Independent runs on several threads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Does `work` for each index below `count` on `threads` threads: the results by index, so that they do not depend on the
/// number of threads. `done` is told of each; when `stop` becomes true, nothing comes out.
pub(crate) fn run_each<T: Send + Sync>(
    count: usize,
    threads: usize,
    stop: &AtomicBool,
    done: &(impl Fn() + Sync),
    work: impl Fn(usize) -> T + Sync,
) -> Option<Vec<T>> {
    let results: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(result) = results.get(index) else { return };
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let value = work(index);
            result.get_or_init(|| value);
            done();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(work);
        }
    });
    results.into_iter().map(OnceLock::into_inner).collect()
}
