//! SIGINT, SIGTERM and SIGHUP end the daemon in order; a second SIGINT ends it at once.

use crate::failure::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Exit code after a forced end.
const FORCED: i32 = 1;

/// Catches the signals that stop the daemon.
pub struct Signals {
    caught: Receiver<&'static str>,
}

impl Signals {
    /// Begins to catch the signals.
    pub fn catch() -> Result<Signals> {
        let stopping = Arc::new(AtomicBool::new(false));
        // The order matters: the first signal finds the flag unset and sets it, the second finds it set.
        flag::register_conditional_shutdown(SIGINT, FORCED, Arc::clone(&stopping))
            .context("cannot catch signals")?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, Arc::clone(&stopping)).context("cannot catch signals")?;
        }
        // A log that reaches the largest allowed file size would end the daemon. If the signal is caught, it becomes an
        // error of one write, like a full disk.
        flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))).context("cannot catch signals")?;
        let mut signals =
            signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot catch signals")?;
        let (sender, caught) = channel();
        let forward = move || {
            for signal in signals.forever() {
                let name = match signal {
                    SIGINT => "SIGINT",
                    SIGTERM => "SIGTERM",
                    _ => "SIGHUP",
                };
                if sender.send(name).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(forward)
            .context("cannot start a thread for signals")?;
        Ok(Signals { caught })
    }

    /// The name of a signal, if one arrives within `timeout`.
    pub fn wait(&self, timeout: Duration) -> Option<&'static str> {
        match self.caught.recv_timeout(timeout) {
            Ok(name) => Some(name),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(timeout);
                None
            }
        }
    }
}
