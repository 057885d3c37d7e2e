//! Sends or receives a run of numbered frames in a thread.
//!
//! The receiver tells the sender how far it is, over the same link, and the sender keeps a window of frames in transit.
//! No queue on the way therefore overflows, and what is missing at the end was lost by the link.

use super::frames::{self, Kind, Verdict};
use crate::request::{Progress, Traffic};
use linkmend_linux::packet_ring::PacketRing;
use linkmend_linux::route;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, send};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Frames in transit: fewer than the 256 that a veth holds for a receiver that waits for its processor.
const WINDOW_FRAMES: u64 = 128;
/// The receiver tells of every so many frames.
const CREDIT_EVERY: u64 = 16;
/// Silence after which the receiver repeats how far it is.
const QUIET: Duration = Duration::from_millis(50);
/// Time without progress after which the sender takes the frames in transit for lost.
const STALL: Duration = Duration::from_secs(1);
const RING_BYTES: usize = 8 << 20;

/// What a run is for on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Sender,
    Receiver,
}

/// A run, which ends when this is dropped.
#[derive(Debug)]
pub struct Run(Arc<Mutex<Progress>>);

impl Run {
    /// Starts a run.
    ///
    /// # Errors
    /// If there is no such interface, or it is down.
    pub fn start(role: Role, traffic: Traffic) -> io::Result<Run> {
        let facts = route::interface(&traffic.interface)?.ok_or(io::ErrorKind::NotFound)?;
        let ring = PacketRing::open(facts.mtu as usize + 18, RING_BYTES)?;
        ring.bind(facts.index)?;
        let progress = Arc::new(Mutex::new(Progress::default()));
        let mut state = State {
            source: facts.mac,
            ring,
            progress: Arc::clone(&progress),
            arrived: Vec::new(),
            next: 0,
            traffic,
        };
        std::thread::spawn(move || {
            // What went wrong shows as frames that are missing.
            let _ = match role {
                Role::Sender => state.send_all(),
                Role::Receiver => state.receive_all(),
            };
            locked(&state.progress).is_done = true;
        });
        Ok(Run(progress))
    }

    /// The counts so far.
    pub fn progress(&self) -> Progress {
        *locked(&self.0)
    }
}

struct State {
    traffic: Traffic,
    source: [u8; 6],
    ring: PacketRing,
    progress: Arc<Mutex<Progress>>,
    /// Which numbers have arrived.
    arrived: Vec<bool>,
    /// One more than the highest of them; at the sender, what the receiver last told of its own.
    next: u64,
}

impl State {
    /// Whether nobody asks for the run any more.
    fn is_over(&self) -> bool {
        Arc::strong_count(&self.progress) == 1
    }

    fn send_all(&mut self) -> io::Result<()> {
        let (mut sent, mut base, mut moved) = (0, 0, Instant::now());
        while sent < self.traffic.count && !self.is_over() {
            let before = self.next;
            self.take(|state, kind, number| {
                if kind == Kind::Credit {
                    state.next = state.next.max(number);
                }
            });
            if self.next > before {
                (base, moved) = (self.next.max(base), Instant::now());
            } else if sent.saturating_sub(base) >= WINDOW_FRAMES && moved.elapsed() >= STALL {
                (base, moved) = (sent, Instant::now());
                locked(&self.progress).stalls += 1;
            }
            if sent.saturating_sub(base) >= WINDOW_FRAMES {
                self.wait()?;
                continue;
            }
            if self.put(Kind::Data, sent)? {
                sent += 1;
                locked(&self.progress).sent = sent;
            }
        }
        Ok(())
    }

    fn receive_all(&mut self) -> io::Result<()> {
        self.arrived = vec![false; usize::try_from(self.traffic.count).unwrap_or(0)];
        let (mut told, mut told_at) = (0, Instant::now());
        let mut tellings = 0;
        while !self.is_over() {
            self.take(|state, kind, number| {
                if kind == Kind::Data {
                    state.count(number);
                }
            });
            let is_done = locked(&self.progress).received >= self.traffic.count;
            let is_due = self.next >= told + CREDIT_EVERY || told_at.elapsed() >= QUIET;
            if is_due && self.put(Kind::Credit, self.next)? {
                (told, told_at) = (self.next, Instant::now());
                tellings = if is_done { tellings + 1 } else { 0 };
            }
            // Duplicates might follow the last frame.
            if tellings > 10 {
                return Ok(());
            }
            self.wait()?;
        }
        Ok(())
    }

    fn count(&mut self, number: u64) {
        let mut progress = locked(&self.progress);
        match usize::try_from(number).ok().and_then(|number| self.arrived.get_mut(number)) {
            Some(arrived) if !*arrived => {
                *arrived = true;
                progress.received += 1;
                progress.reordered += u64::from(number < self.next);
                self.next = self.next.max(number + 1);
            }
            Some(_) => progress.duplicated += 1,
            None => progress.changed += 1,
        }
    }

    /// Takes everything that has arrived.
    fn take(&mut self, mut found: impl FnMut(&mut State, Kind, u64)) {
        while let Some(arrival) = self.ring.take() {
            let verdict = frames::verdict(&self.traffic, self.ring.bytes(arrival.frame));
            self.ring.release_oldest();
            match verdict {
                Verdict::Intact(kind, number) => found(self, kind, number),
                Verdict::Changed => locked(&self.progress).changed += 1,
                Verdict::Foreign => (),
            }
        }
    }

    /// Sends a frame; `false` if the device is full.
    fn put(&self, kind: Kind, number: u64) -> io::Result<bool> {
        let frame = frames::build(&self.traffic, self.source, kind, number);
        match send(self.ring.as_fd().as_raw_fd(), &frame, MsgFlags::MSG_DONTWAIT) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EINTR | Errno::ENETDOWN) => {
                std::thread::sleep(Duration::from_millis(1));
                Ok(false)
            }
            Err(errno) => Err(errno.into()),
        }
    }

    fn wait(&self) -> io::Result<()> {
        let mut waited = [PollFd::new(self.ring.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waited, PollTimeout::from(10u8)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn locked(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}
