//! Handles Ctrl-C in commands that compute: the first one ends them in order, the second one at once.

use crate::failure::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Exit code after a forced end.
const FORCED: i32 = 1;

/// A flag that becomes true when the command should end.
///
/// # Errors
/// If the kernel refuses to catch the signals.
pub fn flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    // The order matters: the first signal finds the flag unset and sets it, the second finds it set.
    flag::register_conditional_shutdown(SIGINT, FORCED, Arc::clone(&stop)).context("cannot catch signals")?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&stop)).context("cannot catch signals")?;
    }
    Ok(stop)
}
