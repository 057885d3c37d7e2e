//! Delay lines: a thread that takes frames from one interface and sends each out of another when it is due.
//!
//! Kernels with netem can do this, but many small kernels do not have it, and an ordinary user may not load it. A line
//! keeps its frames in order, holds them in memory that it shares with the kernel, and counts what it had to drop and
//! how late it was. A frame's due time follows from the kernel's time of its arrival, so a busy machine delays frames
//! now and then, but does not change the rate and delay of the line as a whole.

mod line;
mod losses;
mod schedule;
mod service;

pub use line::LineReport;
pub(crate) use line::wait_for_frames;
pub(crate) use schedule::Schedule;
pub use service::{WiresError, WiresReport, serve};

use linkmend_corruption::{Corruption, CorruptionProcess, ParameterError};
use linkmend_diagnose::Diagnose;
use linkmend_linux::packet_ring::PacketRing;
use linkmend_protocol::wire::{FULL_FRAME_BYTES_IN_MEMORY, wire_bytes};
use linkmend_random::Random;
use nix::sys::socket::{getsockopt, sockopt};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::impairments::Impairments;
use crate::namespace::{Namespace, NamespaceError};
use crate::stop::StopFlag;
use crate::topology::{Cut, CutRecord, Lab, LabError, LabOptions, WireInterface};
use line::{Counters, Line};
use linkmend_protocol::paths::Path;
use losses::Losses;

/// The shortest time between two rounds of a busy line. Frames may leave this much too late; in return the thread does
/// not spend a core on waking.
const ROUND: Duration = Duration::from_micros(100);
/// How long an idle line waits for a frame before it checks whether it should stop.
const IDLE_WAIT_MS: u16 = 50;
/// Real-time priority of the thread, above that of the link ends' loops: a wire does not wait for the machines at its
/// ends.
const PRIORITY: i32 = 2;
/// The smallest and the largest number of frames that a line can hold, at any rate and delay; 2 KiB each with an MTU of
/// 1500.
const FRAMES_MIN: u64 = 8_192;
const FRAMES_MAX: u64 = 32_768;
/// For how long a line's memory can take frames at full rate while its thread does not run.
const STALL: Duration = Duration::from_millis(100);
/// The rate for which the memory is computed if the link has none.
const ASSUMED_RATE_BPS: u64 = 5_000_000_000;
const USUAL_FRAME_BITS: u64 = wire_bytes(FULL_FRAME_BYTES_IN_MEMORY as u64) * 8;

/// Why delay lines could not be started.
#[derive(Debug, thiserror::Error)]
pub enum DelayLineError {
    /// See [`NamespaceError`].
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A socket or the thread could not be created.
    #[error("cannot {action} the delay line at `{interface}`: {source}")]
    System {
        /// The operation that failed.
        action: &'static str,
        interface: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// Of a laboratory with two links, it is not known which of them are cut.
    #[error("delay lines of two links: {0}")]
    Cuts(Box<LabError>),
    /// Losses are asked for on a link that has no line of its own.
    #[error("cannot lose frames on the link, because it has neither a rate nor a delay")]
    NoLine,
    /// See [`ParameterError`].
    #[error("losses on the link: {} = {} cannot be used: {}", .0.parameter, .0.value, .0.requirement)]
    Losses(ParameterError),
}

impl Diagnose for DelayLineError {
    fn hint(&self) -> Option<String> {
        match self {
            DelayLineError::Namespace(error) => error.hint(),
            DelayLineError::System { .. } => Some("this requires CAP_NET_RAW".to_owned()),
            DelayLineError::Cuts(error) => error.hint(),
            DelayLineError::NoLine | DelayLineError::Losses(_) => None,
        }
    }
}

/// The running lines of a laboratory. Dropping this stops them.
#[derive(Debug)]
pub struct DelayLines {
    reports: Vec<(String, Arc<Counters>)>,
    /// Where the line of the link from h1 to h2 is asked for losses; `None` if the link has no line.
    losses: Option<Sender<Losses>>,
    stop: StopFlag,
    thread: Option<JoinHandle<()>>,
    real_time: bool,
}

/// Two interfaces and the lines that join them, in both directions.
struct Pair {
    /// The link that it is on.
    link: Option<Path>,
    left: PacketRing,
    right: PacketRing,
    rightwards: Line,
    leftwards: Line,
}

impl DelayLines {
    /// Starts the lines of a laboratory on one thread; `None` if it has none, for lack of impairments.
    ///
    /// # Errors
    /// [`DelayLineError`].
    pub fn start(lab: &Lab) -> Result<Option<Self>, DelayLineError> {
        let Some(wires) = lab.wires() else { return Ok(None) };
        let options = lab.options();
        let pairs_of_lines = options.lines();
        if pairs_of_lines.is_empty() {
            return Ok(None);
        }
        let mut reports = Vec::new();
        let mut pairs = Vec::new();
        let mut losses = None;
        for [left, right] in pairs_of_lines {
            let link = left.link();
            let impairments = impairments(options, link);
            let (schedule, slots) = (schedule(&impairments, link.is_some()), slots(&impairments));
            let frame_bytes = left.mtu(options.host_mtu) as usize + 14 + 8;
            let open = |interface: WireInterface| open_ring(wires, interface, frame_bytes, slots);
            let mut line = |from: WireInterface, to: WireInterface| {
                let counters = Arc::new(Counters::default());
                reports.push((format!("{} to {}", from.name(), to.name()), Arc::clone(&counters)));
                let (sender, requests) = channel();
                (Line::new(schedule.clone(), counters, requests), sender)
            };
            let ((rightwards, requests), (leftwards, _)) = (line(left, right), line(right, left));
            if link == Some(Path::Primary) {
                losses = Some(requests);
            }
            pairs.push(Pair { link, left: open(left)?, right: open(right)?, rightwards, leftwards });
        }
        let cuts = options.backup.is_some().then(|| CutRecord::open(&options.prefix)).transpose();
        let cuts = cuts.map_err(|error| DelayLineError::Cuts(Box::new(error.into())))?;
        let stop = StopFlag::new();
        let failed = |action| {
            let interface = wires.name().to_owned();
            move |source| DelayLineError::System { action, interface, source }
        };
        let (ready, is_real_time) = std::sync::mpsc::sync_channel(1);
        let seen = stop.clone();
        let thread = std::thread::Builder::new()
            .name("delay lines".to_owned())
            .spawn(move || {
                // Ordinary users may not do this; the lines are then only punctual while the machine is idle.
                let _ = ready.send(linkmend_linux::thread::set_real_time(PRIORITY).is_ok());
                let _ = nix::sys::prctl::set_timerslack(1);
                run(&mut pairs, cuts.as_ref(), &seen);
            })
            .map_err(failed("start"))?;
        let real_time = is_real_time.recv().unwrap_or(false);
        Ok(Some(Self { reports, losses, stop, thread: Some(thread), real_time }))
    }

    /// Loses frames on the link from h1 to h2 from now on, instead of those asked for before. Only frames with TCP payload
    /// count and are lost, the first one from now on being number 0.
    ///
    /// # Errors
    /// [`DelayLineError::NoLine`] if the link has neither a rate nor a delay; [`DelayLineError::Losses`].
    pub fn lose(&self, corruption: &Corruption, seed: u64) -> Result<(), DelayLineError> {
        let requests = self.losses.as_ref().ok_or(DelayLineError::NoLine)?;
        let random = Random::new(seed, "losses");
        let process = CorruptionProcess::new(corruption, random).map_err(DelayLineError::Losses)?;
        // A line that has ended loses everything.
        let _ = requests.send(Losses::new(process));
        Ok(())
    }

    /// What each line has done so far.
    pub fn report(&self) -> Vec<LineReport> {
        self.reports.iter().map(|(name, counters)| counters.report(name)).collect()
    }

    /// Whether the thread runs at real-time priority.
    pub fn is_real_time(&self) -> bool {
        self.real_time
    }

    /// Whether the lines are still running. They end by themselves when their interfaces are gone.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for DelayLines {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread shows as frames that do not arrive.
            let _ = thread.join();
        }
    }
}

/// Rate, delays and queue of a link, or of the path before it.
fn impairments(options: &LabOptions, link: Option<Path>) -> Impairments {
    let backup = options.backup.as_ref().filter(|_| link == Some(Path::Backup));
    backup.map_or_else(|| options.impairments.clone(), |backup| backup.impairments())
}

fn schedule(impairments: &Impairments, on_link: bool) -> Schedule {
    let nanos = |delay: Duration| u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
    if on_link {
        let queue = impairments.queue_bytes().unwrap_or(0);
        Schedule::new(impairments.rate_bps, nanos(impairments.link_delay), queue)
    } else {
        Schedule::new(None, nanos(impairments.delay), 0)
    }
}

/// How many frames a line's memory holds: those delayed, those waiting, and those that arrive while the thread does not
/// run.
fn slots(impairments: &Impairments) -> usize {
    let rate = impairments.rate_bps.unwrap_or(ASSUMED_RATE_BPS);
    let held = impairments.delay.max(impairments.link_delay) + STALL;
    let under_way_bits = u128::from(rate) * held.as_nanos() / 1_000_000_000;
    let waiting_bits = u128::from(impairments.queue_bytes().unwrap_or(0)) * 8;
    let frames = (under_way_bits + waiting_bits) / u128::from(USUAL_FRAME_BITS);
    u64::try_from(frames).unwrap_or(u64::MAX).clamp(FRAMES_MIN, FRAMES_MAX) as usize
}

/// Opens an interface of the fifth namespace, with memory for as many frames.
pub(crate) fn open_ring(
    wires: &Namespace,
    interface: WireInterface,
    frame_bytes: usize,
    slots: usize,
) -> Result<PacketRing, DelayLineError> {
    let ring = wires.run(|| -> io::Result<PacketRing> {
        let index = nix::net::if_::if_nametoindex(interface.name())?;
        let ring = PacketRing::open(frame_bytes, slots * PacketRing::slot_bytes(frame_bytes))?;
        ring.bind(index)?;
        Ok(ring)
    })?;
    ring.map_err(|source| DelayLineError::System {
        action: "open",
        interface: format!("{} in {}", interface.name(), wires.name()),
        source,
    })
}

fn run(pairs: &mut [Pair], cuts: Option<&CutRecord>, stop: &StopFlag) {
    while !stop.is_stopped() {
        let mut waiting = false;
        // A record that cannot be read is that of a laboratory that has gone.
        let cuts = cuts.and_then(|record| record.read().ok()).unwrap_or_default();
        for pair in &mut *pairs {
            let Pair { link, left, right, rightwards, leftwards } = pair;
            let cut = link.and_then(|link| cuts[link as usize]);
            let swallows = cut.map_or([false; 2], Cut::swallows);
            let served =
                [rightwards.serve(left, right, swallows[0]), leftwards.serve(right, left, swallows[1])];
            for left in served {
                // The interfaces are gone together with their laboratory.
                let Ok(left) = left else { return };
                waiting |= left;
            }
        }
        if waiting {
            // The sleep is no longer than this even if the first frame is due later, because another line may have
            // received one that is due earlier.
            std::thread::sleep(ROUND);
        } else {
            let rings: Vec<BorrowedFd<'_>> =
                pairs.iter().flat_map(|pair| [pair.left.as_fd(), pair.right.as_fd()]).collect();
            for ring in &rings {
                // The kernel notes that an interface was set down as an error, and would not wait before it is taken.
                let _ = getsockopt(ring, sockopt::SocketError);
            }
            wait_for_frames(&rings, IDLE_WAIT_MS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_covers_what_is_under_way_and_has_bounds() {
        let of = |rate_bps, delay_ms| {
            slots(&Impairments { rate_bps, delay: Duration::from_millis(delay_ms), ..Impairments::default() })
        };
        assert_eq!(of(Some(100_000_000), 1), FRAMES_MIN as usize);
        assert_eq!(of(None, 2_000), FRAMES_MAX as usize);
        // 1 Gb/s: 200 ms in transit or held up, 200 ms (both ways) waiting.
        let frames = of(Some(1_000_000_000), 100);
        assert!((32_500..=32_768).contains(&frames), "{frames}");
    }
}
