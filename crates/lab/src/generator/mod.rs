//! A frame generator and its receiver: numbered frames of any EtherType from one host to the other.
//!
//! The sender has at most one window of frames in transit; the receiver moves the window through shared memory. Nothing
//! therefore overflows on the path or at the receiver, and missing frames were lost by the link. If the receiver's
//! socket drops frames anyway, they are reported separately.

mod receiver;
mod sender;
mod tracker;
mod wire;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linkmend_diagnose::{Diagnose, ParameterError};
use linkmend_protocol::wire::{FULL_FRAME_BYTES_IN_MEMORY, ethertype, is_vlan_tag};
use serde::{Deserialize, Serialize};

pub(crate) use tracker::Tracker;
pub use wire::{FRAME_MAX, FRAME_MIN};

use crate::packet::{FramePath, PacketError, PacketSocket};
use crate::stop::RunControl;
use receiver::Received;
use sender::Sent;
use wire::Template;

/// The largest number of frames in transit.
pub const WINDOW_MAX: u32 = 65_536;
/// The receive buffer that is requested.
const RECEIVE_BUFFER_BYTES: usize = 64 << 20;
const LOOK: Duration = Duration::from_millis(20);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Samples kept: a run of 100,000 s.
const SAMPLES_MAX: usize = 1_000_000;

/// Which frames to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GeneratorOptions {
    /// Frames to send. Default 1,000,000.
    pub count: u64,
    /// End after this time at the latest; `None` for no limit. Default none.
    pub duration: Option<Duration>,
    /// Size of a frame in bytes with its Ethernet header and without check sequence, [`FRAME_MIN`] to the MTU plus 14.
    /// Default 1514.
    pub frame_bytes: usize,
    /// EtherType, at least 0x0600, not a VLAN's. Default 0x88B6 (IEEE 802 local experimental 2).
    pub ethertype: u16,
    /// Frames per second; `None` for as fast as possible. Default none.
    pub frames_per_second: Option<u32>,
    /// The largest number of frames in transit, 1 to [`WINDOW_MAX`]. Fewer if the receive buffer is small. Default 512.
    pub window_frames: u32,
    /// How long after the last arrival a frame counts as lost. Default 500 ms.
    pub drain: Duration,
}

impl Default for GeneratorOptions {
    fn default() -> Self {
        Self {
            count: 1_000_000,
            duration: None,
            frame_bytes: FULL_FRAME_BYTES_IN_MEMORY,
            ethertype: ethertype::EXPERIMENTAL_2,
            frames_per_second: None,
            window_frames: 512,
            drain: Duration::from_millis(500),
        }
    }
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorSample {
    /// Nanoseconds since the run began.
    pub at_ns: u64,
    /// Frames sent so far.
    pub sent: u64,
    /// Different frames received so far.
    pub received: u64,
}

/// The counts of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorReport {
    /// The options of the run.
    pub options: GeneratorOptions,
    /// The window that was used, in frames.
    pub window_frames: u32,
    /// Frames that the kernel took from the sender.
    pub sent: u64,
    /// Different frames that arrived unchanged.
    pub received: u64,
    /// `sent - received`, for whatever reason.
    pub lost: u64,
    /// Frames that the receiver's socket dropped because its buffer was full, which is not the link's fault. `lost`
    /// includes them unless they were duplicates or somebody else's.
    pub receive_socket_drops: u64,
    /// Arrivals of frames that had arrived before.
    pub duplicated: u64,
    /// Frames that arrived after one with a higher number.
    pub reordered: u64,
    /// How far the worst of them was behind the highest number.
    pub reordering_extent: u64,
    /// Arrivals more than a million numbers behind, which may be the first or duplicates.
    pub stale: u64,
    /// Frames of this run that arrived changed.
    pub corrupted: u64,
    /// Frames of the same EtherType that do not belong to this run.
    pub foreign: u64,
    /// How often the sender found its device full and tried again.
    pub send_retries: u64,
    /// How often a whole window seemed lost, so that the sender continued without it.
    pub window_stalls: u64,
    /// From the first frame sent to the last one received, in nanoseconds.
    pub duration_ns: u64,
    /// Received frames per second of that time.
    pub frames_per_second: f64,
    /// Bits of received frames (`frame_bytes` each) per second of that time.
    pub bits_per_second: f64,
    /// The counters during the run, every 100 ms.
    pub samples: Vec<GeneratorSample>,
    /// Whether it ended before all frames were sent: it was stopped, ran out of time, or nothing arrived for seconds.
    pub ended_early: bool,
}

impl GeneratorReport {
    /// Frames lost on the path, not counting the receiver's own drops.
    pub fn lost_on_path(&self) -> u64 {
        self.lost.saturating_sub(self.receive_socket_drops)
    }
}

/// Why frames could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// An option is out of its range.
    #[error("{} = {} cannot be used: {}", .0.parameter, .0.value, .0.requirement)]
    Option(ParameterError),
    /// A thread panicked or could not be started.
    #[error("the {name} thread did not finish")]
    Thread { name: &'static str },
    /// See [`PacketError`].
    #[error(transparent)]
    Packet(#[from] PacketError),
}

impl Diagnose for GeneratorError {
    fn hint(&self) -> Option<String> {
        match self {
            GeneratorError::Option(error) if error.parameter == "frame_bytes" => {
                Some("the lab's host MTU is an option".to_owned())
            }
            GeneratorError::Packet(error) => error.hint(),
            GeneratorError::Option(_) | GeneratorError::Thread { .. } => None,
        }
    }
}

/// State shared by sender and receiver.
#[derive(Debug, Default)]
struct Shared {
    /// Frames that the kernel has taken.
    sent: AtomicU64,
    /// One more than the highest number received.
    next: AtomicU64,
    /// Different frames received.
    received: AtomicU64,
    /// Whether the sender has finished.
    sender_done: AtomicBool,
}

/// Sends numbered frames along `path` and counts what arrives. Blocks until everything is sent and received, or the
/// drain time is over. Progress counts the frames sent.
///
/// # Errors
/// [`GeneratorError::Option`], and [`GeneratorError::Packet`] when sockets are not to be had.
pub fn generate(
    path: &FramePath,
    options: &GeneratorOptions,
    control: &RunControl,
) -> Result<GeneratorReport, GeneratorError> {
    validate(path, options)?;
    let input = PacketSocket::receiver(&path.to, options.ethertype, RECEIVE_BUFFER_BYTES)?;
    let output = PacketSocket::sender(&path.from, true)?;
    let run = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let run = run ^ (u64::from(std::process::id()) << 48);
    let template = Template::new(path.to.mac, path.from.mac, options.ethertype, run, options.frame_bytes);
    let window = options.window_frames.min(fitting(input.receive_buffer_bytes(), options.frame_bytes));
    let shared = Shared::default();
    control.progress.begin(options.count);
    let began = Instant::now();
    let mut samples = Vec::new();
    let (sent, received) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receiver::receive(&input, &template, options, &shared, &control.stop));
        let sending = scope.spawn(|| {
            let result = sender::stay_on_this_processor()
                .and_then(|()| sender::send(&output, &template, options, window, &shared, &control.stop));
            shared.sender_done.store(true, Ordering::Release);
            result
        });
        let mut next_sample = SAMPLE_INTERVAL;
        while !receiving.is_finished() {
            std::thread::sleep(LOOK);
            control.progress.set_done(shared.sent.load(Ordering::Relaxed));
            if began.elapsed() >= next_sample && samples.len() < SAMPLES_MAX {
                samples.push(shared.sample(began));
                next_sample = began.elapsed() + SAMPLE_INTERVAL;
            }
        }
        (sending.join(), receiving.join())
    });
    samples.push(shared.sample(began));
    let sent = sent.map_err(|_| GeneratorError::Thread { name: "sender" })?;
    let received = received.map_err(|_| GeneratorError::Thread { name: "receiver" })?;
    let sent = sent.map_err(|source| path.from.failed("send frames", source))?;
    let received = received.map_err(|source| path.to.failed("receive frames", source))?;
    Ok(report(options, window, &sent, &received, samples))
}

impl Shared {
    fn sample(&self, began: Instant) -> GeneratorSample {
        GeneratorSample {
            at_ns: began.elapsed().as_nanos() as u64,
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
        }
    }
}

fn validate(path: &FramePath, options: &GeneratorOptions) -> Result<(), GeneratorError> {
    let bad = |option, value: u64, requirement: &str| {
        Err(GeneratorError::Option(ParameterError::new(option, value, requirement)))
    };
    let longest = FRAME_MAX.min(path.mtu as usize + 14);
    if !(FRAME_MIN..=longest).contains(&options.frame_bytes) {
        return bad(
            "frame_bytes",
            options.frame_bytes as u64,
            &format!("{FRAME_MIN} to {longest} bytes fit"),
        );
    }
    match options {
        GeneratorOptions { count: 0, .. } => bad("count", 0, "at least one frame is sent"),
        GeneratorOptions { frames_per_second: Some(0), .. } => {
            bad("frames_per_second", 0, "at least one frame per second is sent")
        }
        GeneratorOptions { window_frames, .. } if !(1..=WINDOW_MAX).contains(window_frames) => {
            bad("window_frames", u64::from(*window_frames), "1 to 65,536 frames")
        }
        GeneratorOptions { ethertype, .. } if *ethertype < 0x600 || is_vlan_tag(*ethertype) => {
            bad("ethertype", u64::from(*ethertype), "0x0600 or more, and not that of a VLAN tag")
        }
        _ => Ok(()),
    }
}

/// How many frames a receive buffer certainly holds: the kernel counts each with its bookkeeping and with the slack of
/// its memory, which is at most as large again.
fn fitting(buffer_bytes: usize, frame_bytes: usize) -> u32 {
    u32::try_from(buffer_bytes / (2 * frame_bytes + 1024)).unwrap_or(u32::MAX).max(1)
}

fn report(
    options: &GeneratorOptions,
    window_frames: u32,
    sent: &Sent,
    received: &Received,
    samples: Vec<GeneratorSample>,
) -> GeneratorReport {
    let first = sent.first.or(received.last);
    let duration =
        first.zip(received.last).map_or(Duration::ZERO, |(from, to)| to.saturating_duration_since(from));
    let rate = received.tracker.received as f64 / duration.as_secs_f64().max(1e-9);
    GeneratorReport {
        options: options.clone(),
        window_frames,
        sent: sent.frames,
        received: received.tracker.received,
        lost: sent.frames.saturating_sub(received.tracker.received),
        receive_socket_drops: received.socket_drops,
        duplicated: received.tracker.duplicated,
        reordered: received.tracker.reordered,
        reordering_extent: received.tracker.reordering_extent,
        stale: received.tracker.stale,
        corrupted: received.corrupted,
        foreign: received.foreign,
        send_retries: sent.retries,
        window_stalls: sent.stalls,
        duration_ns: duration.as_nanos() as u64,
        frames_per_second: rate,
        bits_per_second: rate * options.frame_bytes as f64 * 8.0,
        samples,
        ended_early: sent.frames < options.count,
    }
}
