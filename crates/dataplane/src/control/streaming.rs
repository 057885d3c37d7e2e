//! Sends a capture to a client.

use super::backend::{Backend, capture};
use crate::capture::Capture;
use linkmend_control::Response;
use linkmend_control::capture::CaptureOptions;
use linkmend_control::capture::record::Record;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

/// How often a client is sent the progress, and so how soon a client that has left is noticed.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// How long to sleep when no frames come. Meanwhile the ring holds arriving frames.
const NAP: Duration = Duration::from_millis(4);
/// Bytes sent at once.
const SEND_BYTES: usize = 256 * 1024;

/// Serves a capture until the client leaves or the link end stops.
pub(super) fn serve(
    stream: &mut UnixStream,
    backend: &dyn Backend,
    link: &str,
    options: CaptureOptions,
) -> io::Result<()> {
    let capture = match capture(backend, link, options) {
        Ok(capture) => capture,
        Err(reply) => return Response::Error(reply).write(stream),
    };
    Response::Capturing {}.write(stream)?;
    // A slow client makes its ring overflow, and is told so. Nothing else suffers.
    stream.set_write_timeout(None)?;
    let mut out = Vec::new();
    let mut told: Option<Instant> = None;
    loop {
        let more = take(&capture, &mut out);
        let idle = out.is_empty();
        if !more || told.is_none_or(|told| told.elapsed() >= PROGRESS_INTERVAL) {
            Record::Progress(capture.progress()).write(&mut out);
            told = Some(Instant::now());
        }
        stream.write_all(&out)?;
        out.clear();
        if !more {
            return Ok(());
        }
        if idle {
            std::thread::sleep(NAP);
        }
    }
}

/// Appends what waits in the ring. Returns `false` once the link end has stopped.
fn take(capture: &Capture, out: &mut Vec<u8>) -> bool {
    while out.len() < SEND_BYTES {
        match capture.try_next() {
            Ok(frame) => Record::Frame(frame).write(out),
            Err(TryRecvError::Empty) => return true,
            Err(TryRecvError::Disconnected) => return false,
        }
    }
    true
}
