//! Counters and histograms of a link end.

use crate::histogram::Histogram;
use crate::mode::PerMode;

/// A buffer's fill level in bytes: now, and the extremes since the last [`BufferStats::reset_extremes`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BufferStats {
    /// Bytes held now.
    pub now: u64,
    /// Frames held now.
    pub frames: u64,
    /// Least bytes held.
    pub min: u64,
    /// Most bytes held.
    pub max: u64,
}

impl BufferStats {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.now += bytes;
        self.frames += 1;
        self.max = self.max.max(self.now);
    }

    #[inline]
    pub(crate) fn remove(&mut self, bytes: u64) {
        self.remove_all(1, bytes);
    }

    #[inline]
    pub(crate) fn remove_all(&mut self, frames: u64, bytes: u64) {
        debug_assert!(self.now >= bytes && self.frames >= frames, "removed more than was added");
        self.now -= bytes;
        self.frames -= frames;
        self.min = self.min.min(self.now);
    }

    /// Resets the extremes to the current level.
    pub fn reset_extremes(&mut self) {
        (self.min, self.max) = (self.now, self.now);
    }
}

/// Everything that a link end counts. Counters never decrease while the link end lives, and continue over sessions.
///
/// Two identities hold after every call:
///
/// - what was missing: `lost_frames + rx_buffer_overflows = recovered_frames + recovery_timeouts + withdrawn_frames +
///   unrecovered_frames + missing_frames`;
/// - what was received: `received_frames = delivered_frames + rx_buffer.frames + duplicates_dropped +
///   rx_buffer_overflows + overflowed_copies + out_of_window_frames`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stats {
    /// Frames sent with a data header (originals).
    pub protected_frames: u64,
    /// Their bytes, without header.
    pub protected_bytes: u64,
    /// Frames sent without protection while the link end was driven (dormant, opening, or not to be protected).
    pub unprotected_frames: u64,
    /// Retransmitted copies sent.
    pub retransmitted_copies: u64,
    /// Bytes of those copies.
    pub retransmitted_bytes: u64,
    /// Frames retransmitted because of a change of path ([`LinkEnd::change_path`](crate::LinkEnd::change_path)); they
    /// are included in `retransmitted_copies` once they have been sent.
    pub resent_frames: u64,
    /// Frames given up because the copies of their last round were lost.
    pub exhausted_frames: u64,
    /// Frames whose fate is unknown because their session ended without acknowledgement (peer lost).
    pub abandoned_frames: u64,
    /// Dummy frames sent.
    pub dummies_sent: u64,
    /// Explicit ACKs sent (low priority, nothing urgent in them).
    pub acks_sent: u64,
    /// ACKs that travelled on data frames.
    pub piggybacked_acks_sent: u64,
    /// Loss notifications sent: feedback at high priority because something is missing or changed.
    pub notifications_sent: u64,
    /// Feedbacks received and used.
    pub feedbacks_received: u64,
    /// Protected frames received, copies and duplicates included.
    pub received_frames: u64,
    /// Frames delivered to the inner port out of protected ones.
    pub delivered_frames: u64,
    pub delivered_bytes: u64,
    /// Frames found missing (actual loss).
    pub lost_frames: u64,
    /// Missing frames that arrived after all.
    pub recovered_frames: u64,
    /// Missing frames given up after a timeout: after the recovery timeout, or earlier in non-blocking mode if their
    /// sender has withdrawn them, or in the authors' protocol if their place in the window is needed; or after a
    /// silence as long as the peer timeout.
    pub recovery_timeouts: u64,
    /// Missing frames given up because their sender no longer holds them.
    pub withdrawn_frames: u64,
    /// Missing frames that were not waited for because their session ended.
    pub unrecovered_frames: u64,
    /// Frames missing now.
    pub missing_frames: u64,
    /// Copies dropped because the frame had arrived already, or had been given up.
    pub duplicates_dropped: u64,
    /// Originals that did not fit into the Rx buffer, and so became missing.
    pub rx_buffer_overflows: u64,
    /// Copies of missing frames that did not fit into the Rx buffer either.
    pub overflowed_copies: u64,
    /// Frames dropped because their number lies outside the window (another session's, or forged).
    pub out_of_window_frames: u64,
    /// Frames with a data header that arrived without a session: delivered if original.
    pub orphan_frames: u64,
    /// Retransmitted copies that arrived without a session: dropped.
    pub orphan_copies_dropped: u64,
    /// Control frames that did not fit the session or the window (stale, or forged).
    pub control_rejected: u64,
    /// Times the receiver here asked its peer to pause.
    pub pauses_sent: u64,
    /// Times the sender here was paused by its peer.
    pub pauses_received: u64,
    /// Time the sender here spent paused, in ticks of the driver's clock.
    pub paused_ticks: u64,
    /// Sessions opened as sender.
    pub sessions_opened: u64,
    /// Sessions accepted as receiver.
    pub sessions_accepted: u64,
    /// Times a session ended because the peer fell silent or had lost it.
    pub peers_lost: u64,
    /// Times the automatic fallback changed the level.
    pub fallback_changes: u64,
    /// Tx buffers of the two lanes.
    pub tx_buffer: PerMode<BufferStats>,
    /// Rx buffer (ordered lane).
    pub rx_buffer: BufferStats,
    /// Time from noticing a loss to its recovery, in ticks of the driver's clock.
    pub recovery_latency: Histogram,
    /// Lengths of holes, in frames.
    pub hole_length: Histogram,
}

impl Stats {
    /// Frames that arrived again, or with a number from another time.
    pub(crate) const fn strays(&self) -> u64 {
        self.duplicates_dropped + self.out_of_window_frames
    }

    /// Missing frames that were given up, for whatever reason: the effective loss.
    pub const fn given_up_frames(&self) -> u64 {
        self.recovery_timeouts + self.withdrawn_frames + self.unrecovered_frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_knows_its_level_and_both_extremes() {
        let mut buffer = BufferStats::default();
        buffer.add(300);
        buffer.add(50);
        assert_eq!(buffer, BufferStats { now: 350, frames: 2, min: 0, max: 350 });
        buffer.reset_extremes();
        buffer.remove(300);
        buffer.add(100);
        assert_eq!(buffer, BufferStats { now: 150, frames: 2, min: 50, max: 350 });
        buffer.remove_all(2, 150);
        assert_eq!(buffer, BufferStats { now: 0, frames: 0, min: 0, max: 350 });
    }
}
