//! Logs go to standard error; standard output is for data.
//!
//! Nothing that is written for people may delay or end a link. A separate thread therefore writes the lines
//! (`LogWriter`), and a line that cannot be written is lost and counted. `Repeats` limits how often each kind of
//! message is written.

mod log_writer;
mod repeats;

pub use log_writer::{Drain, lost_lines};

use log_writer::LogWriter;
use repeats::{Limited, Repeats};
use std::fs::File;
use std::io::{Write, stderr};
use std::os::fd::AsFd;
use tracing::{Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Starts the log. `RUST_LOG` decides what is logged if it is set, otherwise the number of `-v`. Commands that are
/// `quiet` show their own progress, and print what matters about their links themselves. Dropping the result writes
/// what still waits.
pub fn start(verbose: u8, quiet: bool) -> Drain {
    let level = match verbose + u8::from(!quiet) {
        0 => Level::ERROR,
        1 => Level::INFO,
        2 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let asked = std::env::var("RUST_LOG").ok().and_then(|text| text.parse().ok());
    let filter = asked.unwrap_or_else(|| Targets::new().with_default(level));
    // The journal has its own clock.
    let is_timed = std::env::var_os("JOURNAL_STREAM").is_none();
    let (subscriber, drain) = subscriber(own_stderr(), filter, verbose > 0, is_timed);
    subscriber.init();
    drain
}

/// All that writes the log to `sink`.
fn subscriber(
    sink: impl Write + Send + 'static,
    filter: Targets,
    names_targets: bool,
    is_timed: bool,
) -> (Box<dyn Subscriber + Send + Sync>, Drain) {
    let repeats = Repeats::default();
    let (log_writer, drain) = LogWriter::open(sink, repeats.clone());
    let format = tracing_subscriber::fmt::format().with_ansi(false).with_target(names_targets);
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(log_writer)
        // The layer would report a line that cannot be written by `eprintln!`, which panics if standard error cannot be
        // written.
        .log_internal_errors(false);
    let registry = tracing_subscriber::registry();
    let subscriber: Box<dyn Subscriber + Send + Sync> = if is_timed {
        let layer = layer.event_format(Limited { inner: format, repeats });
        Box::new(registry.with(layer.with_filter(filter)))
    } else {
        let layer = layer.event_format(Limited { inner: format.without_time(), repeats });
        Box::new(registry.with(layer.with_filter(filter)))
    };
    (subscriber, drain)
}

/// A separate descriptor, because a thread that waits for a reader must not hold the lock of [`stderr`] meanwhile.
fn own_stderr() -> Box<dyn Write + Send> {
    match stderr().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(File::from(descriptor)),
        Err(_) => Box::new(stderr()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Messages in each flood.
    const FLOOD: usize = 10_000;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no panic").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// What is in the log after `log`.
    fn lines_of(log: impl FnOnce()) -> Vec<String> {
        let sink = Sink::default();
        let (subscriber, drain) =
            subscriber(sink.clone(), Targets::new().with_default(Level::INFO), false, false);
        tracing::subscriber::with_default(subscriber, log);
        drop(drain);
        let text = String::from_utf8(sink.0.lock().expect("no panic").clone()).expect("UTF-8");
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn no_kind_of_message_floods_the_log_and_all_that_are_held_back_are_counted() {
        let lines = lines_of(|| {
            for number in 0..FLOOD {
                for link in ["one", "two"] {
                    tracing::warn!(link, number, "probes of one link arrive on the other");
                    tracing::info!(link, "changed {number} times");
                    tracing::error!(%link, number, "an error");
                }
                tracing::warn!("Ethernet0: corrupts {number}");
            }
        });
        for (kind, subjects) in [("probes of", 2), ("times link=", 2), ("an error", 2), ("Ethernet0", 1)] {
            let of_kind: Vec<&String> = lines.iter().filter(|line| line.contains(kind)).collect();
            assert_eq!(of_kind.len(), subjects * 6, "{kind}: {of_kind:?}");
            let counted = of_kind
                .iter()
                .filter(|line| line.contains(&format!("[and {} more like this within 10 s]", FLOOD - 6)));
            assert_eq!(counted.count(), subjects, "{kind}: {of_kind:?}");
        }
    }

    #[test]
    fn a_text_from_elsewhere_makes_no_line_of_its_own_and_reaches_no_terminal() {
        let said = "no\n2026-11-25T00:00:00Z  INFO all is well \u{1b}]0;T\u{7}\u{9b}2J \u{202e}";
        let lines = lines_of(|| tracing::warn!(said, "the peer says {said}"));
        let of_it: Vec<&String> = lines.iter().filter(|line| line.contains("well")).collect();
        assert_eq!(of_it.len(), 1, "{lines:?}");
        assert!(of_it[0].chars().all(linkmend_diagnose::is_printable), "{of_it:?}");
    }

    #[test]
    fn messages_about_different_subjects_do_not_hold_each_other_back() {
        let lines = lines_of(|| {
            for port in 0..500 {
                tracing::warn!("Ethernet{port}: corrupts");
            }
        });
        // Another test may have lost lines, which is said here.
        assert_eq!(lines.iter().filter(|line| line.contains("corrupts")).count(), 500);
    }
}
