//! Sends frames one at a time, and compares what arrives.

use std::io;
use std::time::{Duration, Instant};

use linkmend_diagnose::Diagnose;
use linkmend_protocol::wire::FRAME_BYTES_MIN_IN_MEMORY;
use serde::{Deserialize, Serialize};

use super::{FRAMES_MAX, TestFrame, index_of};
use crate::packet::{EVERY_PROTOCOL, FramePath, PacketError, PacketSocket};
use crate::passing::{is_full, is_timeout};
use crate::stop::RunControl;
use crate::sys;

const BUFFER_BYTES: usize = 16 << 20;
/// Longer than any frame of the laboratory.
const CAPTURE_BYTES: usize = 10_240;
/// How many unexpected frames are kept; a few are enough to recognise them.
const STRANGERS_KEPT: usize = 16;
const SEND_TRIES: u32 = 1_000;

/// The times to wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransparencyOptions {
    /// How long a frame may take. Default 300 ms.
    pub timeout: Duration,
    /// How long to wait for duplicates and stragglers after the last frame. Default 200 ms.
    pub settle: Duration,
}

impl Default for TransparencyOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_millis(300), settle: Duration::from_millis(200) }
    }
}

/// How one frame arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It arrived unchanged.
    Identical,
    /// It was shorter than 60 bytes and arrived padded with zeros to at most that length.
    Padded,
    /// It arrived with different content.
    Changed {
        /// Offset of the first byte that differs.
        first_difference: usize,
        /// The frame as it arrived.
        received: Vec<u8>,
    },
    /// It did not arrive.
    Missing,
}

/// One frame and how it arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameOutcome {
    /// Name of the frame.
    pub name: String,
    /// Its length in bytes.
    pub bytes: usize,
    /// How it arrived; the worst, if more than once.
    pub verdict: Verdict,
    /// Arrivals beyond the first.
    pub duplicates: u64,
}

impl FrameOutcome {
    /// Whether the frame arrived once and unchanged; the padding that a real wire would also add does not count as a
    /// change.
    pub fn is_transparent(&self) -> bool {
        matches!(self.verdict, Verdict::Identical | Verdict::Padded) && self.duplicates == 0
    }
}

/// How all frames arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransparencyReport {
    /// The outcomes in the order of sending; fewer than there were frames if the run was stopped.
    pub outcomes: Vec<FrameOutcome>,
    /// Frames that arrived but match none that was sent: traffic of the hosts themselves, or frames that the path
    /// produced.
    pub strangers: u64,
    /// The first few of them.
    pub first_strangers: Vec<Vec<u8>>,
    /// Frames the receiving socket dropped for want of buffer.
    pub receive_socket_drops: u64,
    /// Whether it was stopped before all were sent.
    pub ended_early: bool,
}

impl TransparencyReport {
    /// The frames that did not arrive as they should.
    pub fn failures(&self) -> impl Iterator<Item = &FrameOutcome> {
        self.outcomes.iter().filter(|outcome| !outcome.is_transparent())
    }
}

/// Why the frames could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum FramesError {
    /// There are more frames than source addresses to distinguish them, or a frame does not have one of our addresses.
    #[error("frame {index} (`{name}`) does not carry its number")]
    Unnumbered {
        /// Its position in the list.
        index: usize,
        name: String,
    },
    /// The kernel did not take a frame.
    #[error("cannot send `{name}` ({bytes} bytes): {source}")]
    Send {
        /// Name of the frame.
        name: String,
        bytes: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// See [`PacketError`].
    #[error(transparent)]
    Packet(#[from] PacketError),
}

impl Diagnose for FramesError {
    fn hint(&self) -> Option<String> {
        match self {
            FramesError::Unnumbered { .. } => {
                Some(format!("frames come from the catalogue, at most {FRAMES_MAX}"))
            }
            FramesError::Send { .. } => Some("does the MTU fit?".to_owned()),
            FramesError::Packet(error) => error.hint(),
        }
    }
}

/// Sends each of `frames` along `path`, waits for it, and compares it with what arrives. VLAN tags that the receiving
/// kernel keeps beside the frame are put back. Progress counts frames.
///
/// # Errors
/// [`FramesError`]. A frame that does not arrive is not an error but an outcome.
pub fn send_and_capture(
    path: &FramePath,
    frames: &[TestFrame],
    options: &TransparencyOptions,
    control: &RunControl,
) -> Result<TransparencyReport, FramesError> {
    for (index, frame) in frames.iter().enumerate() {
        if index >= FRAMES_MAX || index_of(&frame.bytes) != Some(index) {
            return Err(FramesError::Unnumbered { index, name: frame.name.clone() });
        }
    }
    let input = PacketSocket::receiver(&path.to, EVERY_PROTOCOL, BUFFER_BYTES)?;
    let output = PacketSocket::sender(&path.from, false)?;
    let mut capture =
        Capture { frames, arrivals: vec![Vec::new(); frames.len()], strangers: Vec::new(), strange: 0 };
    control.progress.begin(frames.len() as u64);
    let mut sent = 0;
    for (index, frame) in frames.iter().enumerate() {
        if control.stop.is_stopped() {
            break;
        }
        send(&output, frame)?;
        sent += 1;
        let awaited = |capture: &Capture<'_>| !capture.arrivals[index].is_empty();
        capture.take(&input, options.timeout, awaited).map_err(|source| path.to.failed("receive", source))?;
        control.progress.set_done(sent as u64);
    }
    capture.take(&input, options.settle, |_| false).map_err(|source| path.to.failed("receive", source))?;
    let receive_socket_drops =
        input.take_drops().map_err(|source| path.to.failed("read the drops", source))?;
    Ok(TransparencyReport {
        outcomes: frames[..sent].iter().zip(&capture.arrivals).map(outcome).collect(),
        strangers: capture.strange,
        first_strangers: capture.strangers,
        receive_socket_drops,
        ended_early: sent < frames.len(),
    })
}

fn send(output: &PacketSocket, frame: &TestFrame) -> Result<(), FramesError> {
    let failed = |source| FramesError::Send { name: frame.name.clone(), bytes: frame.bytes.len(), source };
    for _ in 0..SEND_TRIES {
        match output.send(&frame.bytes) {
            Ok(_) => return Ok(()),
            Err(error) if is_full(&error) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(failed(error)),
        }
    }
    Err(failed(io::ErrorKind::TimedOut.into()))
}

struct Capture<'a> {
    frames: &'a [TestFrame],
    arrivals: Vec<Vec<Vec<u8>>>,
    strangers: Vec<Vec<u8>>,
    strange: u64,
}

impl Capture<'_> {
    /// Receives until `enough` is true, for at most `time`.
    fn take(
        &mut self,
        input: &PacketSocket,
        time: Duration,
        enough: impl Fn(&Self) -> bool,
    ) -> io::Result<()> {
        let end = Instant::now() + time;
        let mut buffer = vec![0; CAPTURE_BYTES];
        while !enough(self) && Instant::now() < end {
            match sys::receive_with_vlan(input.fd(), &mut buffer) {
                Ok(captured) => self.handle(restore(&buffer[..captured.bytes], captured.vlan)),
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn handle(&mut self, frame: Vec<u8>) {
        match index_of(&frame).filter(|index| *index < self.frames.len()) {
            Some(index) => self.arrivals[index].push(frame),
            None => {
                self.strange += 1;
                if self.strangers.len() < STRANGERS_KEPT {
                    self.strangers.push(frame);
                }
            }
        }
    }
}

/// Puts the tag that the kernel removed back behind the addresses.
fn restore(frame: &[u8], vlan: Option<(u16, u16)>) -> Vec<u8> {
    let Some((protocol, control)) = vlan.filter(|_| frame.len() >= 12) else { return frame.to_vec() };
    let (addresses, rest) = frame.split_at(12);
    [addresses, &protocol.to_be_bytes(), &control.to_be_bytes(), rest].concat()
}

fn outcome((frame, arrivals): (&TestFrame, &Vec<Vec<u8>>)) -> FrameOutcome {
    let worst =
        arrivals.iter().map(|arrival| compare(&frame.bytes, arrival)).max_by_key(|verdict| match verdict {
            Verdict::Identical => 0,
            Verdict::Padded => 1,
            _ => 2,
        });
    FrameOutcome {
        name: frame.name.clone(),
        bytes: frame.bytes.len(),
        verdict: worst.unwrap_or(Verdict::Missing),
        duplicates: (arrivals.len() as u64).saturating_sub(1),
    }
}

fn compare(sent: &[u8], received: &[u8]) -> Verdict {
    if sent == received {
        return Verdict::Identical;
    }
    let added = received.strip_prefix(sent);
    // A frame that is shorter may arrive with zeros added up to this length.
    if received.len() <= FRAME_BYTES_MIN_IN_MEMORY
        && added.is_some_and(|added| added.iter().all(|byte| *byte == 0))
    {
        return Verdict::Padded;
    }
    let same = sent.iter().zip(received).take_while(|(one, other)| one == other).count();
    Verdict::Changed { first_difference: same, received: received.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_tell_padding_from_change() {
        let sent = vec![7; 42];
        let with = |extra: &[u8]| [sent.as_slice(), extra].concat();
        assert_eq!(compare(&sent, &sent), Verdict::Identical);
        assert_eq!(compare(&sent, &with(&[0; 18])), Verdict::Padded);
        assert!(matches!(compare(&sent, &with(&[0; 19])), Verdict::Changed { first_difference: 42, .. }));
        assert!(matches!(compare(&sent, &with(&[1])), Verdict::Changed { first_difference: 42, .. }));
        assert!(matches!(compare(&sent, &sent[..40]), Verdict::Changed { first_difference: 40, .. }));
    }

    #[test]
    fn a_tag_is_put_back_where_it_was() {
        let frame: Vec<u8> = (0..20).collect();
        let tagged = restore(&frame, Some((0x88a8, 0x0102)));
        assert_eq!(tagged[..12], frame[..12]);
        assert_eq!(tagged[12..16], [0x88, 0xa8, 1, 2]);
        assert_eq!(tagged[16..], frame[12..]);
        assert_eq!(restore(&frame, None), frame);
    }

    #[test]
    fn an_outcome_reports_missing_changed_and_duplicated() {
        let frame = TestFrame { name: "x".to_owned(), bytes: vec![1; 60] };
        assert_eq!(outcome((&frame, &vec![])).verdict, Verdict::Missing);
        let twice = outcome((&frame, &vec![vec![1; 60], vec![1; 60]]));
        assert_eq!((twice.duplicates, twice.is_transparent()), (1, false));
        let changed = outcome((&frame, &vec![vec![1; 60], vec![2; 60]]));
        assert!(matches!(changed.verdict, Verdict::Changed { first_difference: 0, .. }));
    }
}
