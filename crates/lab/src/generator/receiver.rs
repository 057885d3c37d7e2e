//! The receiving half.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::tracker::Tracker;
use super::wire::{FRAME_MAX, Template, Verdict};
use super::{GeneratorOptions, Shared};
use crate::packet::PacketSocket;
use crate::passing::is_timeout;
use crate::stop::StopFlag;
use crate::sys::FrameBatch;

/// One byte more than any expected frame, so that a longer one is detected; and a tag.
const SLOT_BYTES: usize = FRAME_MAX + 5;
/// How long the receiver still takes frames in transit after the stop flag is raised.
const STOP_DRAIN: Duration = Duration::from_millis(100);

/// Results of the receiver.
pub(super) struct Received {
    pub(super) tracker: Tracker,
    pub(super) corrupted: u64,
    pub(super) foreign: u64,
    pub(super) socket_drops: u64,
    /// When the last frame of the run arrived.
    pub(super) last: Option<Instant>,
}

/// Receives until the sender is done and everything has arrived, or until nothing has arrived for the drain time.
pub(super) fn receive(
    socket: &PacketSocket,
    template: &Template,
    options: &GeneratorOptions,
    shared: &Shared,
    stop: &StopFlag,
) -> io::Result<Received> {
    let slot_bytes = SLOT_BYTES.min(template.bytes().len() + 5);
    let mut batch = FrameBatch::new(slot_bytes);
    let mut found =
        Received { tracker: Tracker::new(), corrupted: 0, foreign: 0, socket_drops: 0, last: None };
    let mut quiet_since = Instant::now();
    loop {
        match batch.receive(socket.fd()) {
            Ok(frames) => {
                found.handle(&batch, frames, template);
                shared.received.store(found.tracker.received, Ordering::Relaxed);
                shared.next.store(found.tracker.next, Ordering::Release);
                quiet_since = Instant::now();
                found.last = Some(quiet_since);
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
        if shared.sender_done.load(Ordering::Acquire) {
            let all = found.tracker.received >= shared.sent.load(Ordering::Relaxed);
            let drain = if stop.is_stopped() { STOP_DRAIN.min(options.drain) } else { options.drain };
            if all || quiet_since.elapsed() >= drain {
                break;
            }
        }
    }
    found.socket_drops = socket.take_drops()?;
    Ok(found)
}

impl Received {
    fn handle(&mut self, batch: &FrameBatch, frames: usize, template: &Template) {
        for index in 0..frames {
            match template.verdict(batch.frame(index)) {
                Verdict::Intact(number) => self.tracker.handle(number),
                Verdict::Corrupted => self.corrupted += 1,
                Verdict::Foreign => self.foreign += 1,
            }
        }
    }
}
