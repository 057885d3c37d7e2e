//! Catches panics of a library and turns them into `None`, without printing them.

use std::cell::Cell;
use std::panic::{self, UnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread is caught, so that it must not be printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Returns the result of `work`, or `None` if it panics, in which case nothing is printed. Panics of other threads are
/// printed as usual.
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
