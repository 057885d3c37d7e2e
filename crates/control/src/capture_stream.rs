//! Receives a capture from a daemon.

use crate::capture::record::Record;
use crate::client_error::ClientError;
use std::io::{self, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// A capture as a client receives it. Dropping it ends the capture.
#[derive(Debug)]
pub struct CaptureStream {
    path: PathBuf,
    stream: BufReader<UnixStream>,
    pending: Vec<u8>,
}

impl CaptureStream {
    pub(crate) fn new(path: PathBuf, stream: BufReader<UnixStream>) -> CaptureStream {
        CaptureStream { path, stream, pending: Vec::new() }
    }

    /// Returns the next record, or `None` if none comes within `patience`.
    ///
    /// # Errors
    /// [`ClientError::Exchange`], also when the daemon has ended.
    pub fn next(&mut self, patience: Duration) -> Result<Option<Record>, ClientError> {
        let failed = |path: &PathBuf, source| ClientError::Exchange { path: path.clone(), source };
        loop {
            match Record::read(&self.pending) {
                Ok(Some((record, length))) => {
                    self.pending.drain(..length);
                    return Ok(Some(record));
                }
                Ok(None) => {}
                Err(error) => return Err(failed(&self.path, io::Error::other(error))),
            }
            self.stream.get_ref().set_read_timeout(Some(patience)).map_err(|e| failed(&self.path, e))?;
            let mut chunk = [0; READ_BYTES];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(failed(&self.path, io::ErrorKind::UnexpectedEof.into())),
                Ok(length) => self.pending.extend_from_slice(&chunk[..length]),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(failed(&self.path, error)),
            }
        }
    }
}
