//! What was sent, and the rate at which it was delivered.

/// The largest number of datagrams in flight: 1,400 bytes each at 1 Gbit/s and a round trip of 180 ms.
pub(super) const IN_FLIGHT_MAX: usize = 16_384;
/// The bandwidth is the largest of so many rounds.
const ROUNDS: usize = 10;

/// A datagram that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    number: u64,
    pub(super) at_ns: u64,
    /// Bytes sent up to and including this one.
    pub(super) bytes: u64,
    /// What had been delivered when it was sent, and when by the clock of the other end.
    delivered_bytes: u64,
    delivered_at_ns: u64,
    /// When the datagram was sent that was the newest delivered one.
    delivered_sent_ns: u64,
    /// Bytes sent up to and including that one.
    newest_bytes: u64,
    /// Whether there was less to send than was allowed.
    is_limited: bool,
}

/// The datagrams that were sent last, by their numbers.
#[derive(Debug)]
pub(super) struct History {
    sent: Vec<Sent>,
    next: u64,
    bytes: u64,
    delivered_bytes: u64,
    delivered_at_ns: u64,
    delivered_sent_ns: u64,
    newest_bytes: u64,
}

/// A delivery rate (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug)]
pub(super) struct RateSample {
    /// Bytes a second.
    pub(super) rate: u64,
    pub(super) is_limited: bool,
}

impl History {
    /// Nothing was sent; the first number will be `next`.
    pub(super) fn new(next: u64) -> History {
        let nothing = Sent {
            number: u64::MAX,
            at_ns: 0,
            bytes: 0,
            delivered_bytes: 0,
            delivered_at_ns: 0,
            delivered_sent_ns: 0,
            newest_bytes: 0,
            is_limited: false,
        };
        History {
            sent: vec![nothing; IN_FLIGHT_MAX],
            next,
            bytes: 0,
            delivered_bytes: 0,
            delivered_at_ns: 0,
            delivered_sent_ns: 0,
            newest_bytes: 0,
        }
    }

    /// The number after the newest.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// All bytes that were sent.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn push(&mut self, now_ns: u64, number: u64, bytes: usize, is_limited: bool) {
        self.bytes += bytes as u64;
        self.next = number + 1;
        self.sent[number as usize % IN_FLIGHT_MAX] = Sent {
            number,
            at_ns: now_ns,
            bytes: self.bytes,
            delivered_bytes: self.delivered_bytes,
            delivered_at_ns: self.delivered_at_ns,
            delivered_sent_ns: self.delivered_sent_ns,
            newest_bytes: self.newest_bytes,
            is_limited,
        };
    }

    /// The datagram with this number, if it was sent and is remembered.
    pub(super) fn of(&self, number: u64) -> Option<Sent> {
        let sent = self.sent[number as usize % IN_FLIGHT_MAX];
        (sent.number == number).then_some(sent)
    }

    /// The other end has received `bytes` more; the newest datagram is `sent`, which arrived at `arrived_ns` of its clock.
    pub(super) fn deliver(&mut self, sent: Sent, bytes: u64, arrived_ns: u64) -> Option<RateSample> {
        self.delivered_bytes += bytes;
        let is_first = self.delivered_at_ns == 0;
        (self.delivered_at_ns, self.delivered_sent_ns) = (arrived_ns, sent.at_ns);
        self.newest_bytes = sent.bytes;
        if is_first || sent.delivered_at_ns == 0 {
            return None;
        }
        // Whatever a report says, no more can have arrived than was sent.
        let delivered =
            (self.delivered_bytes - sent.delivered_bytes).min(sent.bytes.saturating_sub(sent.newest_bytes));
        let arrival = arrived_ns.saturating_sub(sent.delivered_at_ns);
        let sending = sent.at_ns.saturating_sub(sent.delivered_sent_ns);
        let interval = arrival.max(sending);
        (interval > 0).then(|| RateSample {
            rate: (u128::from(delivered) * 1_000_000_000 / u128::from(interval)) as u64,
            is_limited: sent.is_limited,
        })
    }
}

/// The largest rate of the last rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bandwidth {
    rounds: [u64; ROUNDS],
    place: usize,
}

impl Bandwidth {
    /// Bytes a second; 0 before the first sample.
    pub(super) fn largest(&self) -> u64 {
        self.rounds.into_iter().max().unwrap_or(0)
    }

    /// The largest rate of the rounds before this one.
    pub(super) fn before(&self) -> u64 {
        let others = self.rounds.iter().enumerate().filter(|(place, _)| *place != self.place);
        others.map(|(_, rate)| *rate).max().unwrap_or(0)
    }

    /// A sample that was limited by what there was to send can only say that the path carries more.
    pub(super) fn learn(&mut self, sample: RateSample) {
        if !sample.is_limited || sample.rate > self.largest() {
            let place = &mut self.rounds[self.place];
            *place = sample.rate.max(*place);
        }
    }

    /// Begins a round, unless nothing was learned in this one.
    pub(super) fn turn(&mut self) {
        if self.rounds[self.place] > 0 {
            self.place = (self.place + 1) % ROUNDS;
            self.rounds[self.place] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_rate_is_that_of_the_bottleneck_although_more_is_sent() {
        let mut history = History::new(7);
        let mut rates = Vec::new();
        for number in 7..107 {
            history.push(number * MS, number, 1_000, false);
            // Half of what is sent arrives, 10 ms later by a clock that is a second ahead.
            if let Some(sent) =
                number.checked_sub(10).filter(|number| number % 2 == 0).and_then(|number| history.of(number))
            {
                rates.extend(history.deliver(sent, 1_000, (number + 1_000) * MS));
            }
        }
        let last = rates.last().expect("a sample");
        assert!(last.rate == 500_000 && !last.is_limited, "{last:?}");
        assert!(history.of(107).is_none() && history.of(6).is_none());
    }

    #[test]
    fn no_report_makes_the_rate_larger_than_that_of_sending() {
        let mut history = History::new(0);
        for number in 0..1_000 {
            history.push(number * MS, number, 1_000, false);
            // Nothing is said to have arrived at first, and then far too much.
            let bytes = if number < 500 { 0 } else { 1_000_000 };
            let Some(sent) = number.checked_sub(10).and_then(|number| history.of(number)) else { continue };
            let rate = history.deliver(sent, bytes, number * MS + 1).map_or(0, |sample| sample.rate);
            assert!(rate <= 1_000_000, "{rate} after {number}");
        }
    }

    #[test]
    fn the_bandwidth_is_forgotten_after_ten_rounds_in_which_something_was_learned() {
        let mut bandwidth = Bandwidth::default();
        bandwidth.learn(RateSample { rate: 9, is_limited: true });
        for _ in 0..20 {
            bandwidth.turn();
            bandwidth.learn(RateSample { rate: 5, is_limited: true });
        }
        assert_eq!(bandwidth.largest(), 9);
        for _ in 0..10 {
            bandwidth.learn(RateSample { rate: 5, is_limited: false });
            bandwidth.turn();
        }
        assert_eq!(bandwidth.largest(), 5);
    }
}
