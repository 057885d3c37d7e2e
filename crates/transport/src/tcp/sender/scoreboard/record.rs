//! What the scoreboard keeps of a segment.

use crate::time::Instant;

/// The delivery-rate estimator's state when a segment was sent (draft-cheng-iccrg-delivery-rate-estimation, section 3.2).
#[derive(Debug, Clone, Copy, Default)]
pub struct Snapshot {
    /// When the segment was sent whose acknowledgement was the latest then.
    pub first_sent_at: Instant,
    /// When that acknowledgement came.
    pub delivered_at: Instant,
    /// Segments delivered in all, its low 32 bits.
    pub delivered: u32,
    pub is_app_limited: bool,
}

/// One segment of at most an MSS.
#[derive(Debug, Clone, Copy, Default)]
pub struct Record {
    /// Number of its first byte.
    pub start: u64,
    /// When it was sent last.
    pub sent_at: Instant,
    first_sent_at: Instant,
    delivered_at: Instant,
    delivered: u32,
    /// Neighbours in its list, or what is behind a SACKed one.
    pub(super) next: u32,
    pub(super) previous: u32,
    /// Bytes of sequence space, a FIN included.
    pub length: u16,
    pub marks: Marks,
}

/// What is known about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks(u8);

impl Marks {
    pub const SACKED: Marks = Marks(1);
    /// Found lost, until it is acknowledged.
    pub const LOST: Marks = Marks(2);
    /// A retransmission is in flight.
    pub const RESENT: Marks = Marks(4);
    pub const EVER_RESENT: Marks = Marks(8);
    /// It carries the FIN.
    pub const FIN: Marks = Marks(16);
    const APP_LIMITED: Marks = Marks(32);

    /// Whether all marks of `other` are set.
    pub const fn contains(self, other: Marks) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets the marks of `other`.
    pub fn insert(&mut self, other: Marks) {
        self.0 |= other.0;
    }

    pub(super) fn remove(&mut self, other: Marks) {
        self.0 &= !other.0;
    }

    /// Whether it waits to be resent.
    pub(super) fn waits(self) -> bool {
        self.0 & (Marks::LOST.0 | Marks::RESENT.0) == Marks::LOST.0
    }
}

impl Record {
    /// A segment that is sent for the first time.
    pub fn new(start: u64, length: u16, now: Instant, snapshot: Snapshot) -> Record {
        let mut record = Record { start, length, ..Record::default() };
        record.stamp(now, snapshot);
        record
    }

    pub(super) fn stamp(&mut self, now: Instant, snapshot: Snapshot) {
        self.sent_at = now;
        self.first_sent_at = snapshot.first_sent_at;
        self.delivered_at = snapshot.delivered_at;
        self.delivered = snapshot.delivered;
        self.marks.remove(Marks::APP_LIMITED);
        if snapshot.is_app_limited {
            self.marks.insert(Marks::APP_LIMITED);
        }
    }

    /// The number after its last byte.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    /// The estimator's state when it was sent.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            is_app_limited: self.marks.contains(Marks::APP_LIMITED),
        }
    }

    /// Whether it was sent after another one, which ended at `end` (RFC 8985, section 6.2, step 2: RACK_sent_after).
    pub fn is_sent_after(&self, sent_at: Instant, end: u64) -> bool {
        (self.sent_at, self.end()) > (sent_at, end)
    }
}
