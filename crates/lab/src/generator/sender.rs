//! The sending half.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getcpu, sched_setaffinity};
use nix::unistd::Pid;

use super::wire::Template;
use super::{GeneratorOptions, Shared};
use crate::packet::PacketSocket;
use crate::passing::is_full;
use crate::stop::StopFlag;
use crate::sys::{BATCH_FRAMES, FrameBatch};

/// After this time without an arrival, a window counts as lost. It is long compared with any delay of the scheduler,
/// because otherwise more frames would be sent than the path can hold.
const STALL: Duration = Duration::from_millis(200);
/// After this time without an arrival, the path counts as dead.
const DEAD: Duration = Duration::from_secs(10);
/// The first and the longest sleep while the window is closed or the device full.
const NAP: Duration = Duration::from_micros(20);
const NAP_MAX: Duration = Duration::from_micros(200);
/// The shortest and the longest sleep of a sender that keeps to a rate; frames that become due meanwhile are sent at
/// once.
const PACED_NAP: Duration = Duration::from_micros(200);
const PACED_NAP_MAX: Duration = Duration::from_millis(5);
const THIS_THREAD: Pid = Pid::from_raw(0);

/// Results of the sender.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) frames: u64,
    pub(super) retries: u64,
    pub(super) stalls: u64,
    /// When the first frame was sent.
    pub(super) first: Option<Instant>,
}

/// Keeps the calling thread on its processor. A veth hands frames to a queue of the *sending* processor, so a sender
/// that moves within a burst overtakes its own frames, and the report would blame the path.
pub(super) fn stay_on_this_processor() -> io::Result<()> {
    let mut here = CpuSet::new();
    here.set(sched_getcpu()?)?;
    Ok(sched_setaffinity(THIS_THREAD, &here)?)
}

/// Sends until everything is sent, the time is up, or the path is dead.
pub(super) fn send(
    socket: &PacketSocket,
    template: &Template,
    options: &GeneratorOptions,
    window: u32,
    shared: &Shared,
    stop: &StopFlag,
) -> io::Result<Sent> {
    let mut batch = FrameBatch::new(template.bytes().len());
    for index in 0..BATCH_FRAMES {
        batch.slot(index).copy_from_slice(template.bytes());
    }
    let began = Instant::now();
    let mut sent = Sent::default();
    let mut window = Window { frames: u64::from(window), base: 0, seen: 0, moved: began };
    let mut waits = 0;
    while sent.frames < options.count && !stop.is_stopped() {
        let now = Instant::now();
        if options.duration.is_some_and(|limit| now - began >= limit) || now - window.moved >= DEAD {
            break;
        }
        let open = window.open(sent.frames, shared.next.load(Ordering::Acquire), now, &mut sent.stalls);
        let due = due(options, now - began).saturating_sub(sent.frames);
        let left = options.count - sent.frames;
        let frames = open.min(due).min(left).min(BATCH_FRAMES as u64) as usize;
        let taken = if frames == 0 { 0 } else { push(socket, template, &mut batch, &mut sent, frames, now)? };
        if taken == 0 {
            waits += 1;
            pause(waits, options, sent.frames, now - began, due == 0);
            continue;
        }
        waits = 0;
        shared.sent.store(sent.frames, Ordering::Release);
    }
    Ok(sent)
}

/// Stamps `frames` frames and offers them once. Returns how many the kernel took.
fn push(
    socket: &PacketSocket,
    template: &Template,
    batch: &mut FrameBatch,
    sent: &mut Sent,
    frames: usize,
    now: Instant,
) -> io::Result<usize> {
    for index in 0..frames {
        template.stamp(batch.slot(index), sent.frames + index as u64);
    }
    match batch.send(socket.fd(), 0, frames) {
        Ok(taken) => {
            sent.retries += u64::from(taken < frames);
            sent.frames += taken as u64;
            sent.first.get_or_insert(now);
            Ok(taken)
        }
        Err(error) if is_full(&error) => {
            sent.retries += 1;
            Ok(0)
        }
        Err(error) => Err(error),
    }
}

/// How many frames should have been sent by now.
fn due(options: &GeneratorOptions, elapsed: Duration) -> u64 {
    options.frames_per_second.map_or(u64::MAX, |rate| {
        let frames = elapsed.as_nanos() * u128::from(rate) / 1_000_000_000 + 1;
        u64::try_from(frames).unwrap_or(u64::MAX)
    })
}

/// Sleeps until the next frame is due, or until there may be room.
fn pause(waits: u32, options: &GeneratorOptions, sent: u64, elapsed: Duration, early: bool) {
    std::thread::sleep(pause_time(waits, options, sent, elapsed, early));
}

/// How long to sleep: longer the longer it has waited, but never zero, because a spinning sender takes the processor
/// from the link ends that it measures.
fn pause_time(waits: u32, options: &GeneratorOptions, sent: u64, elapsed: Duration, early: bool) -> Duration {
    if let Some(rate) = options.frames_per_second.filter(|_| early) {
        let next = Duration::from_nanos((u128::from(sent) * 1_000_000_000 / u128::from(rate)) as u64);
        return next.saturating_sub(elapsed).clamp(PACED_NAP, PACED_NAP_MAX);
    }
    (NAP * waits.clamp(1, 16)).min(NAP_MAX)
}

/// The frames in transit, as far as the sender knows.
struct Window {
    frames: u64,
    /// Every frame below this number has arrived or is given up.
    base: u64,
    /// Highest progress of the receiver so far.
    seen: u64,
    moved: Instant,
}

impl Window {
    /// How many more frames may be sent now.
    fn open(&mut self, sent: u64, next: u64, now: Instant, stalls: &mut u64) -> u64 {
        if next > self.seen {
            (self.seen, self.moved) = (next, now);
            self.base = self.base.max(next);
        }
        let under_way = sent.saturating_sub(self.base);
        if under_way == 0 {
            // Nothing is expected, so nothing can stall or be dead.
            self.moved = if self.base <= self.seen { now } else { self.moved };
        } else if under_way >= self.frames && now - self.moved >= STALL * stall_count(self, sent) {
            *stalls += 1;
            self.base = sent;
        }
        self.frames.saturating_sub(sent.saturating_sub(self.base))
    }
}

/// One more than the number of windows given up in a row, each of which waited for its own [`STALL`].
fn stall_count(window: &Window, sent: u64) -> u32 {
    u32::try_from(sent.saturating_sub(window.seen) / window.frames.max(1)).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_closes_opens_and_gives_up() {
        let start = Instant::now();
        let mut window = Window { frames: 10, base: 0, seen: 0, moved: start };
        let mut stalls = 0;
        assert_eq!(window.open(0, 0, start, &mut stalls), 10);
        assert_eq!(window.open(10, 0, start, &mut stalls), 0);
        assert_eq!(window.open(10, 4, start, &mut stalls), 4);
        assert_eq!(window.open(14, 4, start + STALL / 2, &mut stalls), 0);
        assert_eq!((window.open(14, 4, start + STALL, &mut stalls), stalls), (10, 1));
        assert_eq!((window.open(24, 4, start + STALL + STALL / 2, &mut stalls), stalls), (0, 1));
        assert_eq!((window.open(24, 4, start + STALL * 2, &mut stalls), stalls), (10, 2));
        assert!(window.moved == start, "a dead path looks alive");
        assert_eq!(window.open(24, 24, start + STALL * 3, &mut stalls), 10);
        assert!(window.moved == start + STALL * 3);
    }

    #[test]
    fn a_sender_that_waits_sleeps_from_the_first_moment() {
        let full = GeneratorOptions::default();
        let naps = [1, 2, 5, 1_000].map(|waits| pause_time(waits, &full, 0, Duration::ZERO, false));
        assert_eq!(naps, [20, 40, 100, 200].map(Duration::from_micros));
        let paced = GeneratorOptions { frames_per_second: Some(100_000), ..full };
        assert_eq!(pause_time(1, &paced, 10, Duration::from_micros(95), true), PACED_NAP);
        let slow = GeneratorOptions { frames_per_second: Some(1_000), ..paced };
        assert_eq!(pause_time(1, &slow, 1, Duration::ZERO, true), Duration::from_millis(1));
    }

    #[test]
    fn the_rate_is_kept_on_average() {
        let options = GeneratorOptions { frames_per_second: Some(1_000), ..GeneratorOptions::default() };
        assert_eq!(due(&options, Duration::ZERO), 1);
        assert_eq!(due(&options, Duration::from_secs(2)), 2_001);
        assert_eq!(due(&GeneratorOptions::default(), Duration::ZERO), u64::MAX);
    }
}
