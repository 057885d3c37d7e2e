//! The protocol log: every call of a link end's state machines with its answer, one JSON object per line, so that the
//! run can be replayed exactly (`linkmend sim replay`). Off unless asked for; meant for minutes, not for months.

use linkmend_protocol::Instant;
use linkmend_protocol::trace::{LogHeader, Record, Step, StepSink};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Most that is written; what comes after is missing, and the log says so. A frame takes about a kilobyte.
const LOG_BYTES_MAX: u64 = 1 << 30;
/// Written to the file at once.
const BUFFER_BYTES: usize = 256 * 1024;
/// A run that ends badly loses no more of its log than this.
const FLUSH_INTERVAL_NS: u64 = 1_000_000_000;

/// A protocol log that is being written.
#[derive(Debug)]
pub(crate) struct ProtocolLog {
    path: PathBuf,
    /// `None` after an error, or when it is full.
    file: Option<BufWriter<File>>,
    line: Vec<u8>,
    written_bytes: u64,
    limit_bytes: u64,
    flushed_ns: u64,
}

impl ProtocolLog {
    /// Begins a log, in place of what the file held before.
    pub(crate) fn create(path: &Path, header: &LogHeader) -> io::Result<ProtocolLog> {
        Self::with_limit(path, header, LOG_BYTES_MAX)
    }

    fn with_limit(path: &Path, header: &LogHeader, limit_bytes: u64) -> io::Result<ProtocolLog> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
        let mut log = ProtocolLog {
            path: path.to_owned(),
            file: Some(file),
            line: Vec::with_capacity(1024),
            written_bytes: 0,
            limit_bytes,
            flushed_ns: 0,
        };
        log.write(header)?;
        log.file.as_mut().map_or(Ok(()), BufWriter::flush)?;
        Ok(log)
    }

    fn write(&mut self, line: &impl serde::Serialize) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        self.line.clear();
        serde_json::to_writer(&mut self.line, line)?;
        self.line.push(b'\n');
        self.written_bytes += self.line.len() as u64;
        if self.written_bytes > self.limit_bytes {
            file.flush()?;
            self.file = None;
            let path = self.path.display();
            tracing::warn!(%path, bytes = self.limit_bytes, "the protocol log is full and ends here");
            return Ok(());
        }
        file.write_all(&self.line)
    }

    fn flush_now_and_then(&mut self, at: Instant) -> io::Result<()> {
        if at.0.saturating_sub(self.flushed_ns) < FLUSH_INTERVAL_NS {
            return Ok(());
        }
        self.flushed_ns = at.0;
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl StepSink for ProtocolLog {
    fn record(&mut self, at: Instant, step: &Step) {
        if self.file.is_none() {
            return;
        }
        let record = Record { at, step: step.clone() };
        if let Err(error) = self.write(&record).and_then(|()| self.flush_now_and_then(at)) {
            self.file = None;
            tracing::error!(path = %self.path.display(), %error, "cannot write the protocol log; it ends here");
        }
    }
}

impl Drop for ProtocolLog {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.file.as_mut().map(BufWriter::flush) {
            tracing::error!(path = %self.path.display(), %error, "cannot write the end of the protocol log");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_protocol::{Config, FrameHandle, Mode};

    fn header() -> LogHeader {
        LogHeader {
            protocol_log: LogHeader::VERSION,
            link: "east".to_owned(),
            seed: 7,
            config: Config::default(),
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
}
