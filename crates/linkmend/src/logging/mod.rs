//! Logs go to standard error; standard output is for data.
//!
//! Nothing that is written for people may delay or end a link. A separate thread therefore writes the lines
//! ([`LogWriter`]), and a line that cannot be written is lost and counted.

mod log_writer;

pub use log_writer::{Drain, lost_lines};

use log_writer::LogWriter;
use std::fs::File;
use std::io::{Write, stderr};
use std::os::fd::AsFd;
use tracing_subscriber::EnvFilter;

/// Starts the log. `RUST_LOG` decides what is logged if it is set, otherwise the number of `-v`. Commands that are
/// `quiet` show their own progress, and print what matters about their links themselves. Dropping the result writes
/// what still waits.
pub fn start(verbose: u8, quiet: bool) -> Drain {
    let level = match verbose + u8::from(!quiet) {
        0 => "error",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let (log_writer, drain) = LogWriter::open(own_stderr());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(log_writer)
        // The subscriber would report a line that cannot be written by `eprintln!`, which panics if standard error
        // cannot be written.
        .log_internal_errors(false)
        .with_ansi(false)
        .with_target(verbose > 0);
    // The journal has its own clock.
    if std::env::var_os("JOURNAL_STREAM").is_some() {
        subscriber.without_time().init();
    } else {
        subscriber.init();
    }
    drain
}

/// A separate descriptor, because a thread that waits for a reader must not hold the lock of [`stderr`] meanwhile.
fn own_stderr() -> Box<dyn Write + Send> {
    match stderr().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(File::from(descriptor)),
        Err(_) => Box::new(stderr()),
    }
}
