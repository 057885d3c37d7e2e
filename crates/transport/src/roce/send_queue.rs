//! Messages that are posted but not completed, and the packets into which they are divided.

use super::packet::{Opcode, Position, RequestPacket};
use std::collections::VecDeque;

/// A message in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message {
    /// Messages are counted from zero.
    pub number: u64,
    pub opcode: Opcode,
    pub bytes: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    first_psn: u64,
    bytes: u32,
    opcode: Opcode,
}

/// The queue. Packet numbers are assigned when a message is posted, without gaps.
#[derive(Debug, Clone, Default)]
pub(super) struct SendQueue {
    entries: VecDeque<Entry>,
    /// Messages that have left the queue: the number of its first.
    retired: u64,
    /// The packet after the last message.
    end: u64,
}

impl SendQueue {
    /// The packet after the last message.
    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Total number of messages posted.
    pub fn posted(&self) -> u64 {
        self.retired + self.entries.len() as u64
    }

    /// Adds a message and returns its number. An empty message is one packet without payload.
    pub fn push(&mut self, opcode: Opcode, bytes: u32, path_mtu: u16) -> u64 {
        let number = self.posted();
        self.entries.push_back(Entry { first_psn: self.end, bytes, opcode });
        self.end += u64::from(bytes.div_ceil(u32::from(path_mtu)).max(1));
        number
    }

    /// Removes the first message if all of its packets are before `acknowledged`.
    pub fn retire(&mut self, acknowledged: u64) -> Option<Message> {
        if self.entries.is_empty() || self.end_of(0) > acknowledged {
            return None;
        }
        self.take()
    }

    /// Takes the first message.
    pub fn take(&mut self) -> Option<Message> {
        let entry = self.entries.pop_front()?;
        self.retired += 1;
        Some(Message { number: self.retired - 1, opcode: entry.opcode, bytes: entry.bytes })
    }

    /// The packet with this number, without a request for an ACK, and the number after it. A READ uses the numbers of
    /// its response, and requests what is left of it. `cursor` is the number of the message in which the last packet
    /// was found: packets in sequence are found without a search.
    pub fn packet(&self, psn: u64, path_mtu: u16, cursor: &mut u64) -> Option<(RequestPacket, u64)> {
        let index = self.find(psn, *cursor)?;
        *cursor = self.retired + index as u64;
        let entry = self.entries[index];
        let before = (psn - entry.first_psn) * u64::from(path_mtu);
        let left = u64::from(entry.bytes).saturating_sub(before);
        if entry.opcode == Opcode::Read {
            let request = RequestPacket {
                opcode: Opcode::Read,
                position: Position::Only,
                payload: 0,
                ack_request: false,
                dma_length: Some(left as u32),
            };
            return Some((request, self.end_of(index)));
        }
        let begins = psn == entry.first_psn;
        let ends = psn + 1 == self.end_of(index);
        let position = match (begins, ends) {
            (true, true) => Position::Only,
            (true, false) => Position::First,
            (false, false) => Position::Middle,
            (false, true) => Position::Last,
        };
        // At most the path MTU, which has 16 bits.
        let payload = left.min(u64::from(path_mtu)) as u16;
        let dma_length = (entry.opcode == Opcode::Write && begins).then_some(entry.bytes);
        let request =
            RequestPacket { opcode: entry.opcode, position, payload, ack_request: false, dma_length };
        Some((request, psn + 1))
    }

    /// The index of the message with this packet.
    fn find(&self, psn: u64, cursor: u64) -> Option<usize> {
        if psn >= self.end {
            return None;
        }
        // Numbers below 2^32, as the depth of a queue is: a cursor behind the queue counts as its first.
        let near = cursor.saturating_sub(self.retired) as usize;
        let contains = |index: &usize| {
            self.entries.get(*index).is_some_and(|entry| entry.first_psn <= psn && psn < self.end_of(*index))
        };
        if let Some(index) = [near, near.saturating_add(1)].into_iter().find(contains) {
            return Some(index);
        }
        let after = self.entries.partition_point(|entry| entry.first_psn <= psn);
        after.checked_sub(1)
    }

    /// The packet after the message at `index`.
    fn end_of(&self, index: usize) -> u64 {
        self.entries.get(index + 1).map_or(self.end, |entry| entry.first_psn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(queue: &SendQueue, path_mtu: u16) -> Vec<RequestPacket> {
        let mut cursor = 0;
        (0..queue.end()).filter_map(|psn| Some(queue.packet(psn, path_mtu, &mut cursor)?.0)).collect()
    }

    /// 24,387 B: 23 packets of 1,024 B and one of 835 B, or five of 4,096 B and one of 3,907 B.
    #[test]
    fn the_papers_flow_sizes_are_cut_as_counted_by_hand() {
        for (bytes, path_mtu, full, last) in [(24_387, 1_024, 23, 835), (24_387, 4_096, 5, 3_907)] {
            let mut queue = SendQueue::default();
            queue.push(Opcode::Write, bytes, path_mtu);
            let packets = packets(&queue, path_mtu);
            assert_eq!(packets.len(), full + 1);
            assert!(packets[..full].iter().all(|packet| packet.payload == path_mtu));
            assert_eq!(packets[full].payload, last);
            assert_eq!((packets[0].position, packets[0].dma_length), (Position::First, Some(bytes)));
            let inner = &packets[1..full];
            assert!(
                inner.iter().all(|packet| (packet.position, packet.dma_length) == (Position::Middle, None))
            );
            assert_eq!((packets[full].position, packets[full].dma_length), (Position::Last, None));
        }
        let mut queue = SendQueue::default();
        queue.push(Opcode::Write, 143, 1_024);
        let only = packets(&queue, 1_024);
        assert_eq!(only.len(), 1);
        assert_eq!((only[0].position, only[0].payload, only[0].dma_length), (Position::Only, 143, Some(143)));
    }

    #[test]
    fn a_full_packet_more_begins_only_with_a_byte_more() {
        let count = |bytes| {
            let mut queue = SendQueue::default();
            queue.push(Opcode::Send, bytes, 1_024);
            queue.end()
        };
        assert_eq!([0, 1, 1_024, 1_025, 2_048, 2_049].map(count), [1, 1, 1, 2, 2, 3]);
        assert_eq!(count(1 << 31), 1 << 21);
    }

    #[test]
    fn packets_are_found_in_any_order_and_messages_leave_when_all_is_acknowledged() {
        let mut queue = SendQueue::default();
        for message in 0..100 {
            queue.push(Opcode::Send, 1_024 * (message % 5), 1_024);
        }
        let all = packets(&queue, 1_024);
        for cursor in [0, 50, 99, 100, u64::MAX] {
            for psn in (0..queue.end()).rev() {
                let mut cursor = cursor;
                let place = usize::try_from(psn).expect("small");
                assert_eq!(queue.packet(psn, 1_024, &mut cursor), Some((all[place], psn + 1)));
            }
        }
        assert_eq!(queue.packet(queue.end(), 1_024, &mut 0), None);
        // The first three messages have 1, 1 and 2 packets.
        assert_eq!(queue.retire(0), None);
        assert_eq!(queue.retire(3).map(|message| message.number), Some(0));
        assert_eq!(queue.retire(3).map(|message| message.number), Some(1));
        assert_eq!(queue.retire(3), None);
        assert_eq!(queue.retire(4).map(|message| (message.number, message.bytes)), Some((2, 2_048)));
        assert_eq!((queue.retired, queue.posted(), queue.len()), (3, 100, 97));
    }
}
