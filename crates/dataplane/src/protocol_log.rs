//! The protocol log: every call of a link end's state machines with its answer, one JSON object per line, so that the
//! run can be replayed exactly (`linkmend sim replay`). It is off by default, and meant for minutes, not for months.

use linkmend_linux::private_file;
use linkmend_protocol::Instant;
use linkmend_protocol::trace::{LogHeader, Record, Step, StepSink};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// The largest log. What would follow is missing, and the log says so. A frame takes about a kilobyte.
const LOG_BYTES_MAX: u64 = 1 << 30;
/// Bytes handed to the writing thread at a time.
const CHUNK_BYTES: usize = 256 * 1024;
/// How many chunks may wait for a slow disk: 16 MiB. If there are more, the log ends, because one with a gap cannot be
/// replayed.
const CHUNKS_MAX: usize = 64;
/// How often the log is flushed: a run that ends badly loses at most this much of it.
const FLUSH_INTERVAL_NS: u64 = 1_000_000_000;
/// How long the end of a run waits for the disk.
const LAST_CHUNKS_MAX: Duration = Duration::from_secs(2);

/// A protocol log. A thread writes it, so the link end never waits for the disk.
#[derive(Debug)]
pub(crate) struct ProtocolLog {
    path: PathBuf,
    /// `None` after an error, or when the log is full.
    writer: Option<SyncSender<Vec<u8>>>,
    /// Disconnected once the thread has ended.
    written: Receiver<()>,
    chunk: Vec<u8>,
    bytes: u64,
    limit_bytes: u64,
    flushed_ns: u64,
}

impl ProtocolLog {
    /// Begins a log, replacing the file's earlier content.
    pub(crate) fn create(path: &Path, header: &LogHeader) -> io::Result<ProtocolLog> {
        Self::with_limit(path, header, LOG_BYTES_MAX)
    }

    fn with_limit(path: &Path, header: &LogHeader, limit_bytes: u64) -> io::Result<ProtocolLog> {
        let mut file = private_file::open(path, OpenOptions::new().write(true).truncate(true))?;
        let mut line = serde_json::to_vec(header)?;
        line.push(b'\n');
        // A file that cannot be written at all is reported before the link starts.
        file.write_all(&line)?;
        let (writer, chunks) = sync_channel(CHUNKS_MAX);
        let (done, written) = sync_channel(1);
        let log_path = path.to_owned();
        std::thread::Builder::new().name("protocol-log".to_owned()).spawn(move || {
            write_all(&log_path, file, chunks);
            drop(done);
        })?;
        Ok(ProtocolLog {
            path: path.to_owned(),
            writer: Some(writer),
            written,
            chunk: Vec::with_capacity(CHUNK_BYTES),
            bytes: line.len() as u64,
            limit_bytes,
            flushed_ns: 0,
        })
    }

    fn append(&mut self, record: &Record) -> io::Result<()> {
        let before = self.chunk.len();
        serde_json::to_writer(&mut self.chunk, record)?;
        self.chunk.push(b'\n');
        self.bytes += (self.chunk.len() - before) as u64;
        if self.bytes > self.limit_bytes {
            self.chunk.truncate(before);
            self.hand_over();
            self.writer = None;
            let path = self.path.display();
            tracing::warn!(%path, bytes = self.limit_bytes, "the protocol log is full and ends here");
        }
        Ok(())
    }

    fn hand_over(&mut self) {
        let Some(writer) = &self.writer else { return };
        if self.chunk.is_empty() {
            return;
        }
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK_BYTES));
        match writer.try_send(chunk) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.writer = None;
                let path = self.path.display();
                tracing::error!(%path, "the disk is too slow for the protocol log; it ends here");
            }
            // The thread has logged the reason.
            Err(TrySendError::Disconnected(_)) => self.writer = None,
        }
    }
}

/// Writes the chunks that arrive, until no more can arrive or be written.
fn write_all(path: &Path, mut file: File, chunks: Receiver<Vec<u8>>) {
    for chunk in chunks {
        if let Err(error) = file.write_all(&chunk) {
            tracing::error!(path = %path.display(), %error, "cannot write the protocol log; it ends here");
            return;
        }
    }
}

impl StepSink for ProtocolLog {
    fn record(&mut self, at: Instant, step: &Step) {
        if self.writer.is_none() {
            return;
        }
        if let Err(error) = self.append(&Record { at, step: step.clone() }) {
            self.writer = None;
            tracing::error!(path = %self.path.display(), %error, "cannot write the protocol log; it ends here");
            return;
        }
        let due = at.0.saturating_sub(self.flushed_ns) >= FLUSH_INTERVAL_NS;
        if due || self.chunk.len() >= CHUNK_BYTES - CHUNK_BYTES / 8 {
            self.flushed_ns = at.0;
            self.hand_over();
        }
    }
}

impl Drop for ProtocolLog {
    fn drop(&mut self) {
        self.hand_over();
        self.writer = None;
        let waited = self.written.recv_timeout(LAST_CHUNKS_MAX);
        if waited == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            tracing::error!(path = %self.path.display(), "cannot write the end of the protocol log");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_protocol::Tick;
    use linkmend_protocol::{Config, FrameHandle, Mode};
    use std::os::unix::fs::OpenOptionsExt;

    fn header() -> LogHeader {
        LogHeader {
            protocol_log: LogHeader::VERSION,
            link: "east".to_owned(),
            seed: 7,
            config: Config::new(Tick::Nanosecond),
        }
    }

    #[test]
    fn lines_read_back_as_what_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("east.jsonl");
        let steps = [
            Step::Unprotect,
            Step::Send { mode: Mode::NonBlocking, frame: FrameHandle(3), bytes: 64, header: None },
            Step::PollDeliver { frame: None },
        ];
        let mut log = ProtocolLog::create(&path, &header()).expect("it can be written");
        (5..).zip(&steps).for_each(|(at, step)| log.record(Instant(at), step));
        drop(log);
        let text = std::fs::read_to_string(&path).expect("it is there");
        let mut lines = text.lines();
        assert_eq!(
            serde_json::from_str::<LogHeader>(lines.next().expect("a header")).expect("valid"),
            header()
        );
        let records: Vec<Record> =
            lines.map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect();
        assert_eq!(records.len(), steps.len());
        for ((at, step), record) in (5..).zip(steps).zip(records) {
            assert_eq!(record, Record { at: Instant(at), step });
        }
    }

    #[test]
    fn a_full_log_ends_with_a_whole_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("full.jsonl");
        let mut log = ProtocolLog::with_limit(&path, &header(), 1500).expect("it can be written");
        (0..1000).for_each(|at| log.record(Instant(at), &Step::Stall));
        drop(log);
        let text = std::fs::read_to_string(&path).expect("it is there");
        assert!(text.len() <= 1500 && text.len() > 1400 && text.ends_with("}\n"), "{}", text.len());
    }

    /// A named pipe that nobody reads from behaves like a disk that hangs.
    #[test]
    fn a_disk_that_hangs_does_not_hold_up_the_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hangs");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        assert!(
            ProtocolLog::create(&path, &header()).is_err(),
            "without a reader it is refused, and at once"
        );
        let options = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        let _reader = options.expect("it opens");
        let mut log = ProtocolLog::create(&path, &header()).expect("it has a reader");
        let begun = std::time::Instant::now();
        // Twice as much as the pipe, the channel and a chunk hold together.
        let steps = 2 * (CHUNKS_MAX + 1) * CHUNK_BYTES / 20;
        (0..steps as u64).for_each(|at| log.record(Instant(at), &Step::Stall));
        assert!(log.writer.is_none(), "it has ended");
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    }
}
