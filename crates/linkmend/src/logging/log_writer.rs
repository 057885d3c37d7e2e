//! The writer of the log: a bounded queue, and a thread that writes it out.

use super::repeats::Repeats;
use linkmend_diagnose::printable;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};
use tracing_subscriber::fmt::MakeWriter;

/// How many lines may wait for a slow reader; more are lost.
const LINES_MAX: usize = 1024;
/// How long the end of the program waits for a reader that does not read.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);
/// Interval between attempts to write to a full descriptor.
const PAUSE: Duration = Duration::from_millis(5);

/// Interval between looks for messages that were held back for long enough.
const HELD_INTERVAL: Duration = Duration::from_secs(1);

static LOST: AtomicU64 = AtomicU64::new(0);

/// Lines of the log that could not be written since the start.
pub fn lost_lines() -> u64 {
    LOST.load(Ordering::Relaxed)
}

fn lose(lines: u64) {
    LOST.fetch_add(lines, Ordering::Relaxed);
}

enum Item {
    Line(Vec<u8>),
    /// Everything before this item has been written; its sender is waiting for that.
    End(SyncSender<()>),
}

/// Accepts lines. It never fails and never waits.
#[derive(Clone)]
pub struct LogWriter(SyncSender<Item>);

/// Dropping this waits, for a short time, until everything so far has been written.
pub struct Drain(SyncSender<Item>);

impl LogWriter {
    /// A writer to `sink`, of lines and of what `repeats` held back. If no thread can be started, every line is lost.
    pub(super) fn open(sink: impl Write + Send + 'static, repeats: Repeats) -> (LogWriter, Drain) {
        let (lines, waiting) = sync_channel(LINES_MAX);
        let thread = std::thread::Builder::new().name("log".to_owned());
        if thread.spawn(move || write_all(&waiting, sink, &repeats)).is_err() {
            lose(1);
        }
        (LogWriter(lines.clone()), Drain(lines))
    }
}

impl Write for LogWriter {
    /// The subscriber writes each event in one piece, so a line break within is a part of what somebody else wrote.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let harmless = format!("{}\n", printable(text.strip_suffix('\n').unwrap_or(&text)));
        if self.0.try_send(Item::Line(harmless.into_bytes())).is_err() {
            lose(1);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for LogWriter {
    type Writer = LogWriter;

    fn make_writer(&self) -> LogWriter {
        self.clone()
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        let deadline = Instant::now() + LAST_WORDS_MAX;
        let (done, written) = sync_channel(1);
        let mut end = Item::End(done);
        while let Err(TrySendError::Full(back)) = self.0.try_send(end) {
            if Instant::now() > deadline {
                return;
            }
            end = back;
            std::thread::sleep(PAUSE);
        }
        let _ = written.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

fn write_all(waiting: &Receiver<Item>, mut sink: impl Write, repeats: &Repeats) {
    let mut told = 0;
    let mut write_line = |line: &[u8]| {
        let lost = lost_lines();
        if lost > told {
            let note = format!("{} log lines are missing here\n", lost - told);
            if write(&mut sink, note.as_bytes()).is_ok() {
                told = lost;
            }
        }
        if write(&mut sink, line).is_err() {
            lose(1);
        }
    };
    let mut looked = Instant::now();
    loop {
        let item = waiting.recv_timeout(HELD_INTERVAL);
        let is_last = matches!(item, Ok(Item::End(_)));
        if is_last || looked.elapsed() >= HELD_INTERVAL {
            looked = Instant::now();
            let held = repeats.take_held((!is_last).then_some(looked));
            held.iter().for_each(|line| write_line(line.as_bytes()));
        }
        match item {
            Ok(Item::Line(line)) => write_line(&line),
            Ok(Item::End(done)) => {
                let _ = done.try_send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Like [`Write::write_all`], but waits if somebody made the descriptor non-blocking.
fn write(sink: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Keeps what is written to it, or refuses while `broken`.
    #[derive(Clone, Default)]
    struct Sink {
        text: Arc<Mutex<Vec<u8>>>,
        broken: Arc<Mutex<bool>>,
    }

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if *self.broken.lock().expect("no panic") {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.text.lock().expect("no panic").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted_and_named_when_it_works_again() {
        let sink = Sink::default();
        let (mut log_writer, drain) = LogWriter::open(sink.clone(), Repeats::default());
        let settle = || {
            let (done, written) = sync_channel(1);
            drain.0.send(Item::End(done)).expect("the thread runs");
            written.recv().expect("it answers");
        };
        let before = lost_lines();
        *sink.broken.lock().expect("no panic") = true;
        log_writer.write_all(b"one\n").expect("it never fails");
        settle();
        assert_eq!(lost_lines() - before, 1);
        *sink.broken.lock().expect("no panic") = false;
        log_writer.write_all(b"two\n").expect("it never fails");
        drop(drain);
        let text = String::from_utf8(sink.text.lock().expect("no panic").clone()).expect("UTF-8");
        assert!(text.ends_with("log lines are missing here\ntwo\n"), "{text}");
    }
}
