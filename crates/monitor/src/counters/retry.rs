//! What a port with Link Layer Retry (LLR) counts of frames that its link has damaged and that were sent again.

use serde::{Deserialize, Serialize};

/// Counters of the receiver. A port has some of them, or none although LLR is on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RetryReading {
    /// Frames with a number that arrived damaged and were not poisoned (`RX_BAD`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_frames: Option<u64>,
    /// Gaps for which frames were demanded again (`TX_NACK_CTL_OS`): one for each, however many frames are missing in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nacks: Option<u64>,
    /// `RX_REPLAY`. Public designs count replays; Broadcom's switches use the sender's counter of that name for the frames in
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replays: Option<u64>,
}

impl RetryReading {
    /// Frames that the link has damaged since an earlier reading, at the least, where `grown` says by how much a counter has grown.
    /// A frame whose number is damaged leaves a gap and no bad frame, and many bad frames are one gap, so that the larger count of the
    /// two is taken. Where only replays are counted, a poll in which there were any is one lost frame, which is true in both readings
    /// of that counter.
    pub(super) fn lost_since<E>(
        &self,
        earlier: &RetryReading,
        grown: impl Fn(u64, u64) -> Result<u64, E>,
    ) -> Result<u64, E> {
        let since = |of: fn(&RetryReading) -> Option<u64>| {
            of(earlier).zip(of(self)).map(|(before, after)| grown(before, after)).transpose()
        };
        let (bad, nacks) = (since(|retry| retry.bad_frames)?, since(|retry| retry.nacks)?);
        match bad.max(nacks) {
            Some(lost) => Ok(lost),
            None => Ok(since(|retry| retry.replays)?.unwrap_or_default().min(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(bad: Option<u64>, nacks: Option<u64>, replays: Option<u64>) -> RetryReading {
        RetryReading { bad_frames: bad, nacks, replays }
    }

    fn lost(before: RetryReading, after: RetryReading) -> Result<u64, &'static str> {
        after.lost_since(&before, |before, after| after.checked_sub(before).ok_or("shrunk"))
    }

    #[test]
    fn the_larger_of_bad_frames_and_gaps_is_what_was_lost() {
        assert_eq!(lost(retry(Some(2), Some(1), Some(0)), retry(Some(9), Some(3), Some(40))), Ok(7));
        assert_eq!(lost(retry(Some(2), Some(1), Some(0)), retry(Some(2), Some(3), Some(40))), Ok(2));
        // Tomahawk Ultra 1 has no RX_BAD.
        assert_eq!(lost(retry(None, Some(1), Some(0)), retry(None, Some(6), Some(40))), Ok(5));
        assert_eq!(lost(retry(Some(9), None, None), retry(Some(2), None, None)), Err("shrunk"));
    }

    /// Forty frames in one replay, or forty replays: at least one frame was lost.
    #[test]
    fn replays_alone_are_one_loss_a_poll_in_either_reading() {
        let after = |replays| lost(retry(None, None, Some(5)), retry(None, None, Some(replays)));
        assert_eq!([5, 6, 45].map(after), [Ok(0), Ok(1), Ok(1)]);
    }
}
