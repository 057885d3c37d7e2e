//! The send buffer: how much the application may write, and which bytes belong together.

use std::collections::VecDeque;

/// Memory that a packet takes in addition to its payload: its descriptor, its headers, and what rounds them up (Linux,
/// 64 bits).
const PACKET_OVERHEAD: u64 = 1_280;

/// How much of what is written may leave at once without being whole segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Cork {
    #[default]
    Out,
    /// Until something else happens (Linux: `MSG_MORE`).
    UntilNext,
    /// Until it is taken out (Linux: `TCP_CORK`).
    In,
}

/// Two ways to count what is written and not acknowledged: by its payload, each byte of which has room as soon as
/// another has left; or, as Linux does, by the memory of the packets that hold it. A started packet is filled up
/// regardless of the limit, and a writer that found no room is told when a third is free.
#[derive(Debug, Clone)]
pub(super) struct SendBuffer {
    /// Bytes of payload, or of memory.
    limit: u64,
    /// Bytes written and not sent from which on no more is taken (Linux: `TCP_NOTSENT_LOWAT`).
    unsent_limit: u64,
    /// Most hosts have no boundaries.
    boundaries: Option<Box<Boundaries>>,
    /// Whether the application waits for room.
    is_waited_for: bool,
}

/// Boundaries within the written bytes.
#[derive(Debug, Clone, Default)]
struct Boundaries {
    /// The ends of the packets, if their memory counts.
    packets: Option<VecDeque<u64>>,
    /// Where the last burst begins and ends, if a packet was split for it.
    burst: Option<(u64, u64)>,
    /// The ends of records, behind which a new segment begins (Linux: `MSG_EOR`); those not sent yet, and the last.
    records: VecDeque<u64>,
    last_record: u64,
}

/// What has been written, sent and acknowledged so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub unacknowledged: u64,
    pub next: u64,
    pub written: u64,
}

impl Progress {
    fn held(&self) -> u64 {
        self.written.saturating_sub(self.unacknowledged)
    }

    fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.next)
    }
}

impl SendBuffer {
    pub fn new(limit: u64, counts_packets: bool) -> SendBuffer {
        SendBuffer {
            limit,
            unsent_limit: u64::MAX,
            boundaries: counts_packets
                .then(|| Box::new(Boundaries { packets: Some(VecDeque::new()), ..Boundaries::default() })),
            is_waited_for: false,
        }
    }

    /// Whether there is more to keep than how much was written.
    pub fn has_boundaries(&self) -> bool {
        self.boundaries.is_some()
    }

    fn packets(&self) -> Option<&VecDeque<u64>> {
        self.boundaries.as_ref()?.packets.as_ref()
    }

    pub fn counts_packets(&self) -> bool {
        self.packets().is_some()
    }

    /// Changes the limit; what is in the buffer stays.
    pub fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes.max(1);
    }

    pub fn set_unsent_limit(&mut self, bytes: u64) {
        self.unsent_limit = bytes.max(1);
    }

    /// Takes up to `bytes` after what is written. Returns how many: with packets, no more than fill one of `packet_bytes`, which
    /// takes more for each of the `sendable` bytes that would leave now.
    pub fn write(&mut self, bytes: u64, at: Progress, packet_bytes: u64, sendable: u64) -> u64 {
        let taken = if self.counts_packets() {
            self.write_packet(bytes, at, packet_bytes, sendable)
        } else {
            let room = self.limit.saturating_sub(at.held());
            bytes.min(room).min(self.unsent_limit.saturating_sub(at.unsent()))
        };
        self.is_waited_for = taken == 0 && bytes > 0;
        taken
    }

    fn write_packet(&mut self, bytes: u64, at: Progress, packet_bytes: u64, sendable: u64) -> u64 {
        let is_free = self.is_free(at, 1);
        let Some(boundaries) = &mut self.boundaries else { return 0 };
        let last_record = boundaries.last_record;
        let Some(packets) = &mut boundaries.packets else { return 0 };
        let begin = packets.len().checked_sub(2).map_or(at.unacknowledged, |before| packets[before]);
        let is_open = packets.back() == Some(&at.written) && begin >= at.next && last_record != at.written;
        let room = if is_open { (packet_bytes + sendable).saturating_sub(at.written - begin) } else { 0 };
        let taken = match (room, is_free) {
            (0, false) => return 0,
            (0, true) => bytes.min(packet_bytes + sendable),
            _ => {
                packets.pop_back();
                bytes.min(room)
            }
        };
        if taken > 0 || room > 0 {
            packets.push_back(at.written + taken);
        }
        taken
    }

    /// Whether another packet could be started if the limits were `part` times lower.
    fn is_free(&self, at: Progress, part: u64) -> bool {
        self.memory(at) < self.limit && at.unsent().saturating_mul(part) < self.unsent_limit
    }

    /// Payload plus the overhead of the packets.
    fn memory(&self, at: Progress) -> u64 {
        let packets = self.packets().map_or(0, |packets| packets.len() as u64);
        at.held() + packets * PACKET_OVERHEAD
    }

    /// Whether a writer who waits should write: when a third of the memory is free, and less than half of the limit of what is
    /// not sent waits.
    pub fn is_writable(&self, at: Progress) -> bool {
        match self.packets() {
            None => at.held() < self.limit && at.unsent() < self.unsent_limit,
            Some(_) => {
                let memory = self.memory(at);
                self.limit.saturating_sub(memory) >= memory / 2 && self.is_free(at, 2)
            }
        }
    }

    /// Whether the application found no room and has not been told of any since.
    pub fn is_waited_for(&mut self, at: Progress) -> bool {
        self.is_waited_for &= !self.is_writable(at);
        self.is_waited_for
    }

    /// What was written last ends a record.
    pub fn end_record(&mut self, written: u64) {
        let boundaries = self.boundaries.get_or_insert_default();
        boundaries.records.push_back(written);
        boundaries.last_record = written;
    }

    /// Where the record ends that the byte `next` belongs to, if it ends.
    pub fn record_end(&self, next: u64) -> Option<u64> {
        self.boundaries.as_ref()?.records.front().copied().filter(|&end| end > next)
    }

    /// The bytes before `to` have left.
    pub fn leave_records(&mut self, to: u64) {
        let Some(boundaries) = &mut self.boundaries else { return };
        while boundaries.records.pop_front_if(|end| *end <= to).is_some() {}
    }

    /// The bytes from `from` to before `to` leave. Packets are split where they do not leave as one, at most `burst_bytes` long.
    pub fn sent(&mut self, from: u64, to: u64, burst_bytes: u64) {
        let Some(boundaries) = &mut self.boundaries else { return };
        let Some(packets) = &mut boundaries.packets else { return };
        let begin = match boundaries.burst {
            Some((begin, end)) if end == from && to - begin <= burst_bytes => {
                // It goes on with the burst before.
                if let Ok(index) = packets.binary_search(&from) {
                    packets.remove(index);
                }
                begin
            }
            _ => from,
        };
        boundaries.burst = match packets.binary_search(&to) {
            Ok(_) => None,
            Err(index) => {
                packets.insert(index, to);
                Some((begin, to))
            }
        };
    }

    /// All before `unacknowledged` is acknowledged.
    pub fn acknowledged(&mut self, unacknowledged: u64) {
        if let Some(packets) = self.boundaries.as_mut().and_then(|boundaries| boundaries.packets.as_mut()) {
            while packets.pop_front_if(|end| *end <= unacknowledged).is_some() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(unacknowledged: u64, next: u64, written: u64) -> Progress {
        Progress { unacknowledged, next, written }
    }

    #[test]
    fn payload_has_room_byte_by_byte() {
        let mut buffer = SendBuffer::new(1_000, false);
        assert_eq!(buffer.write(1_500, at(1, 1, 1), 400, 0), 1_000);
        assert_eq!(buffer.write(500, at(1, 1, 1_001), 400, 0), 0);
        assert!(!buffer.is_writable(at(1, 1, 1_001)));
        assert_eq!(buffer.write(500, at(11, 101, 1_001), 400, 0), 10);
    }

    /// socket(7), SO_SNDBUF: the memory of packets counts, so that less payload than the limit fits, or more by a packet.
    #[test]
    fn a_packet_that_has_begun_is_filled_up_and_another_needs_room() {
        let mut buffer = SendBuffer::new(20_000, true);
        assert_eq!(buffer.write(50_000, at(1, 1, 1), 15_000, 0), 15_000);
        assert_eq!(buffer.write(50_000, at(1, 1, 15_001), 15_000, 0), 15_000, "16,280 of memory were in use");
        assert_eq!(buffer.write(50_000, at(1, 1, 30_001), 15_000, 0), 0);
        // What leaves splits the packet, and the rest of it takes more.
        buffer.sent(15_001, 20_001, 65_000);
        assert_eq!(buffer.write(50_000, at(1, 20_001, 30_001), 15_000, 0), 5_000);
    }

    /// A writer who waits is not woken for every byte.
    #[test]
    fn room_is_told_of_when_a_third_is_free() {
        let mut buffer = SendBuffer::new(30_000, true);
        for written in [1, 10_001, 20_001] {
            assert_eq!(buffer.write(10_000, at(1, 1, written), 10_000, 0), 10_000);
        }
        assert_eq!(buffer.write(1, at(1, 1, 30_001), 10_000, 0), 0);
        for (acknowledged, is_writable) in [(10_001, false), (12_561, true)] {
            buffer.acknowledged(acknowledged);
            assert_eq!(buffer.is_writable(at(acknowledged, 30_001, 30_001)), is_writable, "{acknowledged}");
            assert_eq!(buffer.is_waited_for(at(acknowledged, 30_001, 30_001)), !is_writable);
        }
    }

    /// tcp(7), TCP_NOTSENT_LOWAT.
    #[test]
    fn what_is_not_sent_may_be_limited() {
        for counts_packets in [false, true] {
            let mut buffer = SendBuffer::new(u64::MAX, counts_packets);
            buffer.set_unsent_limit(4_000);
            let taken = buffer.write(9_000, at(1, 1, 1), 3_000, 0);
            let written = 1 + taken + buffer.write(9_000 - taken, at(1, 1, 1 + taken), 3_000, 0);
            assert_eq!(written, if counts_packets { 6_001 } else { 4_001 });
            assert_eq!(buffer.write(1, at(1, 1, written), 3_000, 0), 0);
            assert!(!buffer.is_writable(at(1, 1, written)));
            buffer.sent(1, written - 1_999, 65_000);
            assert!(buffer.is_writable(at(1, written - 1_999, written)));
        }
    }

    #[test]
    fn bursts_that_follow_each_other_are_one_packet_up_to_their_length() {
        let mut buffer = SendBuffer::new(u64::MAX, true);
        buffer.write(10_000, at(1, 1, 1), 10_000, 0);
        for sent in (1_000..=6_000).step_by(1_000) {
            buffer.sent(1 + sent - 1_000, 1 + sent, 2_000);
        }
        assert_eq!(buffer.packets(), Some(&VecDeque::from([2_001, 4_001, 6_001, 10_001])));
    }

    #[test]
    fn a_record_ends_where_it_was_written_to() {
        let mut buffer = SendBuffer::new(u64::MAX, true);
        buffer.write(100, at(1, 1, 1), 1_000, 0);
        buffer.end_record(101);
        assert_eq!((buffer.record_end(1), buffer.record_end(101)), (Some(101), None));
        buffer.write(100, at(1, 1, 101), 1_000, 0);
        assert_eq!(buffer.packets(), Some(&VecDeque::from([101, 201])));
        buffer.leave_records(101);
        assert_eq!(buffer.record_end(1), None);
    }
}
