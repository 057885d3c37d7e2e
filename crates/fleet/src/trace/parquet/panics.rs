//! Panics of a library that are an answer, and nobody's to read.

use std::cell::Cell;
use std::panic::{self, UnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is caught and told otherwise.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// What comes out, or nothing after a panic, of which nothing is printed. Panics of other threads are told as ever.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> T + UnwindSafe) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let tell = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                tell(info);
            }
        }));
    });
    QUIET.set(true);
    let outcome = panic::catch_unwind(work);
    QUIET.set(false);
    outcome.ok()
}
