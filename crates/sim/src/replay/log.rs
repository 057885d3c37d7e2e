//! Reading a protocol log.

use super::ReplayError;
use linkmend_protocol::trace::{LogHeader, Record};
use linkmend_protocol::{Instant, LinkEnd};
use std::path::Path;

/// A protocol log of one link end, as `linkmend run --protocol-log` writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolLog {
    /// The file's name, for messages.
    pub name: String,
    /// The content of its first line.
    pub header: LogHeader,
    /// All other lines: record `i` stands in line `i + 2`.
    pub records: Vec<Record>,
}

impl ProtocolLog {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ReplayError::Unreadable`], and as [`ProtocolLog::parse`].
    pub fn read(path: &Path) -> Result<ProtocolLog, ReplayError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ReplayError::Unreadable { log: name.clone(), source })?;
        ProtocolLog::parse(&name, &text)
    }

    /// Reads a text. A last line without its end, which a crash leaves behind, is ignored.
    ///
    /// # Errors [`ReplayError::Line`] names the first line that is not of a protocol log, [`ReplayError::Version`] one
    /// that is of another version.
    pub fn parse(name: &str, text: &str) -> Result<ProtocolLog, ReplayError> {
        let wrong = |line: usize, source| ReplayError::Line { log: name.to_owned(), line, source };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines();
        let header: LogHeader =
            serde_json::from_str(lines.next().unwrap_or("")).map_err(|source| wrong(1, source))?;
        if header.protocol_log != LogHeader::VERSION {
            return Err(ReplayError::Version { log: name.to_owned(), version: header.protocol_log });
        }
        let records = (2..)
            .zip(lines)
            .map(|(line, text)| serde_json::from_str(text).map_err(|source| wrong(line, source)));
        let records = records.collect::<Result<_, _>>()?;
        Ok(ProtocolLog { name: name.to_owned(), header, records })
    }

    /// Line of a record.
    pub fn line(&self, record: usize) -> usize {
        record + 2
    }

    /// Times of the first and the last record.
    pub(super) fn span(&self) -> Option<(Instant, Instant)> {
        Some((self.records.first()?.at, self.records.last()?.at))
    }

    /// A fresh link end as this one was at its start.
    pub(super) fn fresh_end(&self) -> Result<LinkEnd, ReplayError> {
        LinkEnd::new(self.header.config, self.header.seed)
            .map_err(|source| ReplayError::Parameter { log: self.name.clone(), source })
    }
}
