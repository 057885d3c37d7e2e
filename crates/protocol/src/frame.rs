//! What the state machines know about a frame, and the content of its headers.

#[cfg(feature = "serde")]
mod lane_form;

use crate::mode::{Mode, PerMode};
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use crate::session::SessionNumber;

/// The driver's identifier of a frame buffer. The state machines store and return it, and never look behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrameHandle(pub u32);

/// The header of a protected frame (section 3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DataHeader {
    /// Position in its lane.
    pub sequence: SequenceNumber,
    /// The lane of the frame.
    pub mode: Mode,
    /// Set on retransmitted copies.
    pub retransmitted: bool,
    /// Cumulative acknowledgement of the other direction, if it travels along.
    pub ack: Option<PiggybackAck>,
}

/// A cumulative acknowledgement: everything before `next` was received or given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PiggybackAck {
    /// The lane that is acknowledged.
    pub mode: Mode,
    /// First number not yet acknowledged.
    pub next: SequenceNumber,
}

/// A run of missing frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SequenceRange {
    /// First missing number.
    pub first: SequenceNumber,
    /// Number of consecutive missing frames, at least 1.
    pub length: u16,
}

/// A run in one word: 17 bits of its first number above 15 of its length. Feedbacks are passed by value, and most of
/// one is room for runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PackedRun(u32);

impl PackedRun {
    const NONE: PackedRun = PackedRun(0);

    /// The length is at most [`RUN_LENGTH_MAX`].
    const fn new(run: SequenceRange) -> PackedRun {
        PackedRun(run.first.bits() << RUN_LENGTH_BITS | run.length as u32)
    }

    const fn range(self) -> SequenceRange {
        let first = SequenceNumber::from_absolute((self.0 >> RUN_LENGTH_BITS) as u64);
        SequenceRange { first, length: self.0 as u16 & RUN_LENGTH_MAX }
    }
}

/// Maximum number of runs of missing frames in one feedback; the next feedback continues from there.
pub(crate) const RANGES_MAX: usize = 32;
/// Longest run in a feedback. A window may contain one frame more, which is then a run of its own.
pub(crate) const RUN_LENGTH_MAX: u16 = (1 << RUN_LENGTH_BITS) - 1;
const RUN_LENGTH_BITS: u32 = 15;

/// The receiver's report on one lane: on the frames from `from` to `covered`, and how far it has seen. Reports state
/// facts: a lost, late or repeated one does no harm, and their order does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "lane_form::LaneForm", into = "lane_form::LaneForm")
)]
pub struct LaneFeedback {
    /// Everything before this was received or given up. This one long number shows the age of all the others.
    pub cumulative: LongSequenceNumber,
    /// Where the report begins. It says nothing about frames between `cumulative` and this.
    pub from: SequenceNumber,
    /// Everything from there to before this was received, given up, or is listed in `missing`.
    pub covered: SequenceNumber,
    /// One beyond the highest number that the receiver knew to have been sent when it wrote this.
    pub seen: SequenceNumber,
    /// The receiver asks the sender to hold this lane's normal queue (Algorithm 2).
    pub paused: bool,
    /// The receiver gives up purely by timeout, whatever the sender still holds.
    pub by_clock: bool,
    missing: [PackedRun; RANGES_MAX],
    missing_count: u8,
    /// A bit for each run: its frames arrived, and did not fit into the Rx buffer.
    overflowed: u32,
}

const _: () = assert!(RANGES_MAX <= u32::BITS as usize);

/// A run in a feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MissingRun {
    pub(crate) range: SequenceRange,
    /// Its frames arrived, and did not fit into the Rx buffer.
    pub(crate) overflowed: bool,
}

impl LaneFeedback {
    /// A report from `cumulative` on, by a receiver that has seen no more than it covers, with nothing missing.
    pub const fn new(cumulative: LongSequenceNumber, covered: SequenceNumber, paused: bool) -> LaneFeedback {
        LaneFeedback {
            cumulative,
            from: cumulative.short(),
            covered,
            seen: covered,
            paused,
            by_clock: false,
            missing: [PackedRun::NONE; RANGES_MAX],
            missing_count: 0,
            overflowed: 0,
        }
    }

    /// Adds a run of missing frames; `false` if there is no room for it, or it is longer than 32,767.
    pub fn push_missing(&mut self, range: SequenceRange) -> bool {
        if range.length > RUN_LENGTH_MAX {
            return false;
        }
        let Some(place) = self.missing.get_mut(usize::from(self.missing_count)) else { return false };
        *place = PackedRun::new(range);
        self.missing_count += 1;
        true
    }

    /// Adds a run of frames that have arrived, each at least once, and did not fit into the Rx buffer: they are
    /// missing, but the link did not lose them. `false` as for [`LaneFeedback::push_missing`].
    pub fn push_overflowed(&mut self, range: SequenceRange) -> bool {
        let bit = 1_u32.checked_shl(self.missing_count.into()).unwrap_or(0);
        let fits = self.push_missing(range);
        if fits {
            self.overflowed |= bit;
        }
        fits
    }

    /// The runs of missing frames, in ascending order.
    pub fn missing(&self) -> impl ExactSizeIterator<Item = SequenceRange> {
        self.missing[..usize::from(self.missing_count)].iter().map(|run| run.range())
    }

    /// Whether the frames of a run have arrived, and did not fit into the Rx buffer.
    pub const fn is_overflowed(&self, run: usize) -> bool {
        run < RANGES_MAX && self.overflowed >> run & 1 != 0
    }

    /// The runs with their causes, in ascending order.
    pub(crate) fn runs(&self) -> impl Iterator<Item = MissingRun> {
        let run = |(index, range)| MissingRun { range, overflowed: self.is_overflowed(index) };
        self.missing().enumerate().map(run)
    }
}

/// A receiver's report to its sender: an explicit ACK and a loss notification in one. It is idempotent, and repeated
/// until it is no longer true, so a lost one costs only a delay (section 5, bidirectional corruption).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Feedback {
    /// The session of the report.
    pub session: SessionNumber,
    /// Counts feedback frames, so that a late one does not revert the pause state.
    pub number: u16,
    /// Stamp of the latest dummy seen. It tells the sender what the receiver had seen when it wrote this.
    pub dummy_stamp: u16,
    /// Frames lost before recovery since the session began, both lanes, wrapping.
    pub lost_total: u32,
    /// Frames that did not fit into the Rx buffer since the session began, wrapping.
    pub rx_overflow_total: u16,
    /// The reports on the two lanes.
    pub lanes: PerMode<LaneFeedback>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feedback_is_little_longer_than_its_runs_are_on_the_wire() {
        let on_the_wire = 2 * 4 * RANGES_MAX;
        assert!(size_of::<Feedback>() <= on_the_wire + 64, "{} bytes", size_of::<Feedback>());
    }

    #[test]
    fn a_run_comes_out_of_a_feedback_as_it_went_in() {
        let first = |number, era| SequenceNumber::new(number, era);
        let mut lane = LaneFeedback::new(LongSequenceNumber(0), first(0, false), false);
        let runs = [(first(0, false), 1), (first(0xffff, true), RUN_LENGTH_MAX), (first(0x8001, true), 2)]
            .map(|(first, length)| SequenceRange { first, length });
        assert!(runs.iter().all(|&run| lane.push_missing(run)));
        assert!(lane.missing().eq(runs));
        assert!(!lane.push_missing(SequenceRange { length: RUN_LENGTH_MAX + 1, ..runs[0] }));
    }
}
