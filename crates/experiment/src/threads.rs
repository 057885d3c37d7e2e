//! Independent work on several threads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Works through the indices below `count`, in order, on as many threads as requested. `worker` makes the function that
/// each thread calls with an index; that function returns whether to go on. Meanwhile `watch` runs on the calling
/// thread. When `stop` becomes true, no more work begins.
pub(crate) fn work_through<W: FnMut(usize) -> bool + Send>(
    count: usize,
    threads: usize,
    stop: &AtomicBool,
    worker: impl Fn() -> W,
    watch: impl FnOnce(),
) {
    let next = &AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            let mut work = worker();
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count || stop.load(Ordering::Relaxed) || !work(index) {
                        return;
                    }
                }
            });
        }
        // Drops what only workers hold, such as their end of a channel, together with the last of them.
        drop(worker);
        watch();
    });
}

/// Does `work` for each index below `count` on `threads` threads. The results are in the order of indices, so they do
/// not depend on the number of threads. `done` is called after each; when `stop` becomes true, the result is `None`.
pub fn run_each<T: Send + Sync>(
    count: usize,
    threads: usize,
    stop: &AtomicBool,
    done: &(impl Fn() + Sync),
    work: impl Fn(usize) -> T + Sync,
) -> Option<Vec<T>> {
    let results: Vec<OnceLock<T>> = (0..count).map(|_| OnceLock::new()).collect();
    let one = &|index: usize| {
        let value = work(index);
        results[index].get_or_init(|| value);
        done();
        true
    };
    work_through(count, threads, stop, || one, || ());
    results.into_iter().map(OnceLock::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_by_index_however_many_threads_there_are() {
        for threads in [0, 1, 3, 200] {
            let told = AtomicUsize::new(0);
            let done = || {
                told.fetch_add(1, Ordering::Relaxed);
            };
            let squares = run_each(100, threads, &AtomicBool::new(false), &done, |index| index * index);
            assert_eq!(squares, Some((0..100).map(|index| index * index).collect()), "{threads} threads");
            assert_eq!(told.into_inner(), 100);
        }
        assert_eq!(run_each(0, 4, &AtomicBool::new(false), &|| (), |index| index), Some(Vec::new()));
    }

    #[test]
    fn nothing_comes_out_of_what_was_stopped() {
        let stop = AtomicBool::new(false);
        let work = |index: usize| {
            stop.store(index == 5, Ordering::Relaxed);
            index
        };
        assert_eq!(run_each(10, 1, &stop, &|| (), work), None);
    }
}
