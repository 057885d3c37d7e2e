//! When an acknowledgement is sent: immediately, with data, or after a delay (RFC 1122, section 4.2.3.2; RFC 5681,
//! section 4.2), with the refinements of Linux: quick acknowledgements while a connection is young, and an adaptive
//! delay.

use crate::tcp::config::Config;
use crate::time::{Instant, Nanos};

/// Acknowledgements sent immediately after the first mark of an episode of ECN.
const QUICK_ACKS_AFTER_MARK: u32 = 2;
/// The delay of a connection on which data flows one way without a push is at most this (RFC 5681, section 4.2: 500 ms).
const ONE_WAY_DELAY_MAX: Nanos = Nanos::from_millis(500);
/// Full segments are assumed to have this many bytes until larger ones are seen (RFC 9293, section 3.7.1).
const SEGMENT_GUESS: u32 = 536;

/// Round-trip times as the sender knows them.
#[derive(Debug, Clone, Copy)]
pub struct RoundTrip {
    pub smoothed: Option<Nanos>,
    pub timeout: Nanos,
}

/// The acknowledgement that is owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Owed {
    #[default]
    Nothing,
    /// Something is to be acknowledged; the timer says when at the latest.
    Later,
    Now,
}

/// The timing of acknowledgements.
#[derive(Debug, Clone)]
pub struct DelayedAck {
    owed: Owed,
    timer: Option<Instant>,
    /// Acknowledgements that are still sent immediately.
    quick: u32,
    quick_max: u32,
    delay_min: Nanos,
    delay_max: Nanos,
    /// The adaptive delay, about the time between segments; zero before the first.
    delay: Nanos,
    last_data: Instant,
    /// The application responds, so acknowledgements are piggybacked on its data.
    is_interactive: bool,
    /// The end of a message of the peer has arrived (PSH) since the last acknowledgement.
    is_pushed: bool,
    /// Bytes in order since the last acknowledgement.
    unacknowledged: u64,
    /// The largest segment so far, up to `segment_max`.
    segment: u32,
    segment_max: u32,
    /// Whether the window is shrinking for lack of memory, so that an acknowledgement would only announce how little is
    /// left; and whether more than half of the memory is in use.
    is_shrinking: bool,
    is_half_used: bool,
}

impl DelayedAck {
    /// Nothing is owed yet.
    pub fn new(config: &Config) -> DelayedAck {
        DelayedAck {
            owed: Owed::Nothing,
            timer: None,
            quick: 0,
            quick_max: config.quick_acks,
            delay_min: config.delayed_ack_min,
            delay_max: config.delayed_ack_max,
            delay: Nanos::ZERO,
            last_data: Instant(0),
            is_interactive: false,
            is_pushed: false,
            unacknowledged: 0,
            segment: config.mss.min(SEGMENT_GUESS),
            segment_max: config.mss,
            is_shrinking: false,
            is_half_used: false,
        }
    }

    /// Bytes of a full segment of the peer, as far as is known.
    pub fn segment(&self) -> u32 {
        self.segment
    }

    /// How the memory for what arrives is used, if it counts: whether the window shrinks, and whether more than half of it is in use.
    pub fn set_memory(&mut self, is_shrinking: bool, is_half_used: bool) {
        (self.is_shrinking, self.is_half_used) = (is_shrinking, is_half_used);
    }

    /// A segment of `length` bytes is full, as far as is known.
    pub fn saw_segment(&mut self, length: u32) {
        self.segment = self.segment.max(length.min(self.segment_max));
    }

    /// A segment with `length` bytes arrived; `advanced` of them are the next in order. What follows decides when it is
    /// acknowledged.
    pub fn handle_data(&mut self, now: Instant, length: u32, advanced: u64, is_pushed: bool, rtt: RoundTrip) {
        self.unacknowledged = self.unacknowledged.saturating_add(advanced);
        self.is_pushed |= is_pushed;
        if length > 0 {
            self.adapt(now, rtt);
        }
        if self.is_half_used {
            self.quick = 0;
        }
        // Quick acknowledgements are for one-way data; more than one full segment is acknowledged immediately (RFC
        // 5681, section 4.2, with segments as long as receive offload makes them).
        let is_quick = self.quick > 0 && !self.is_interactive;
        if is_quick || (self.unacknowledged > u64::from(self.segment) && !self.is_shrinking) {
            self.owe_now();
        } else {
            self.owe_later(now, rtt);
        }
    }

    /// Adapts the delay to the time between segments.
    fn adapt(&mut self, now: Instant, rtt: RoundTrip) {
        let pause = now.since(self.last_data);
        self.last_data = now;
        if self.delay == Nanos::ZERO {
            // The sender starts with a small window, so it waits for each acknowledgement.
            self.delay = self.delay_min.max(Nanos(1));
            self.allow_quick();
        } else if pause <= self.delay_min / 2 {
            self.delay = self.delay / 2 + self.delay_min / 2;
        } else if pause < self.delay {
            self.delay = (self.delay / 2 + pause).min(rtt.timeout);
        } else if pause > rtt.timeout {
            // The sender may have lost its window in the meantime.
            self.allow_quick();
        }
    }

    /// The peer has no more to say: the application's FIN may carry the acknowledgement (RFC 9293, section 3.10.7.4, asks
    /// for one and not for it alone; Linux).
    pub fn handle_end(&mut self) {
        self.is_interactive = true;
    }

    /// The application has read everything. Pushed data is then acknowledged, unless the application responds.
    pub fn handle_all_read(&mut self) {
        if self.owed == Owed::Later && self.is_pushed && !self.is_interactive {
            self.owe_now();
        }
    }

    /// More than one full segment is waiting although the application has read.
    pub fn handle_read(&mut self) {
        if self.owed == Owed::Later && self.unacknowledged > u64::from(self.segment) {
            self.owe_now();
        }
    }

    /// The next acknowledgement is sent immediately: something is out of order, has filled a gap, is not acceptable, or
    /// ends the stream.
    pub fn owe_now(&mut self) {
        self.owed = Owed::Now;
    }

    /// Acknowledgements are sent immediately for a while, because the peer retransmits data that was not lost.
    pub fn begin_quick(&mut self) {
        self.allow_quick();
        self.is_interactive = false;
        self.delay = self.delay_min;
    }

    /// The first mark of an episode of ECN.
    pub fn handle_mark(&mut self) {
        self.quick = self.quick.max(QUICK_ACKS_AFTER_MARK);
        self.is_interactive = false;
        self.owe_now();
    }

    /// The application sends data: soon after it received some, its data carries the acknowledgements.
    pub fn handle_data_sent(&mut self, now: Instant) {
        if self.delay > Nanos::ZERO && now.since(self.last_data) < self.delay {
            self.is_interactive = true;
        }
    }

    /// An acknowledgement is sent, alone or with data.
    pub fn handle_ack_sent(&mut self) {
        self.owed = Owed::Nothing;
        self.timer = None;
        self.unacknowledged = 0;
        self.is_pushed = false;
        if self.quick == 1 {
            self.delay = self.delay_min;
        }
        self.quick = self.quick.saturating_sub(1);
    }

    /// Whether an acknowledgement is to be sent now.
    pub fn is_due(&self) -> bool {
        self.owed == Owed::Now
    }

    /// When the delay ends.
    pub fn timer(&self) -> Option<Instant> {
        self.timer.filter(|_| self.owed == Owed::Later)
    }

    /// Ends the delay, if it is over.
    pub fn handle_timeout(&mut self, now: Instant, rtt: RoundTrip) {
        if self.timer().is_none_or(|timer| timer > now) {
            return;
        }
        self.timer = None;
        if self.is_interactive {
            // It did not respond.
            self.is_interactive = false;
            self.delay = self.delay_min;
        } else {
            self.delay = (self.delay * 2).min(rtt.timeout);
        }
        self.owe_now();
    }

    /// A number of quick acknowledgements.
    fn allow_quick(&mut self) {
        self.quick = self.quick.max(self.quick_max);
    }

    /// Starts the timer, or leaves it when it ends sooner.
    fn owe_later(&mut self, now: Instant, rtt: RoundTrip) {
        if self.owed == Owed::Now {
            return;
        }
        let mut delay = self.delay;
        if delay > self.delay_min {
            let answers = self.is_interactive || self.is_pushed;
            let most = if answers { self.delay_max } else { ONE_WAY_DELAY_MAX };
            // No longer than a round trip, because the sender might be waiting for it.
            let most = rtt.smoothed.map_or(most, |smoothed| most.min(smoothed.max(self.delay_min)));
            delay = delay.min(most);
        }
        let end = now + delay.min(self.delay_max);
        match self.timer() {
            Some(timer) if timer <= now + delay / 4 => self.owe_now(),
            timer => {
                self.owed = Owed::Later;
                self.timer = Some(timer.map_or(end, |timer| timer.min(end)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: RoundTrip =
        RoundTrip { smoothed: Some(Nanos::from_millis(100)), timeout: Nanos::from_millis(300) };
    const MSS: u32 = 1_000;

    fn ms(millis: u64) -> Instant {
        Instant(millis * 1_000_000)
    }

    fn timing(quick_acks: u32) -> DelayedAck {
        DelayedAck::new(&Config { mss: MSS, quick_acks, ..Config::default() })
    }

    fn segment(timing: &mut DelayedAck, at: Instant) {
        timing.saw_segment(MSS);
        timing.handle_data(at, MSS, u64::from(MSS), false, RTT);
    }

    /// RFC 5681, section 4.2: at least every second full-sized segment.
    #[test]
    fn the_second_full_segment_is_acknowledged_at_once() {
        let mut timing = timing(0);
        segment(&mut timing, ms(10));
        assert!(!timing.is_due());
        segment(&mut timing, ms(11));
        assert!(timing.is_due());
    }

    #[test]
    fn a_segment_of_receive_offload_counts_by_its_bytes() {
        let mut timing = timing(0);
        timing.saw_segment(4 * MSS);
        timing.handle_data(ms(10), 4 * MSS, 4 * u64::from(MSS), false, RTT);
        assert!(timing.is_due());
    }

    /// RFC 1122, section 4.2.3.2: less than 0.5 s. Linux: 40 ms at first.
    #[test]
    fn one_segment_is_acknowledged_after_40_ms() {
        let mut timing = timing(0);
        segment(&mut timing, ms(10));
        assert_eq!(timing.timer(), Some(ms(50)));
        timing.handle_timeout(ms(49), RTT);
        assert!(!timing.is_due());
        timing.handle_timeout(ms(50), RTT);
        assert!(timing.is_due());
        assert_eq!(timing.timer(), None);
    }

    #[test]
    fn a_young_connection_acknowledges_at_once_for_a_while() {
        let mut timing = timing(3);
        for index in 0..3 {
            segment(&mut timing, ms(10 * index));
            assert!(timing.is_due(), "quick acknowledgement {index}");
            timing.handle_ack_sent();
        }
        segment(&mut timing, ms(40));
        assert!(!timing.is_due());
    }

    #[test]
    fn an_application_that_answers_ends_quick_acknowledgements() {
        let mut timing = timing(16);
        segment(&mut timing, ms(10));
        timing.handle_data_sent(ms(11));
        timing.handle_ack_sent();
        segment(&mut timing, ms(12));
        assert!(!timing.is_due(), "its data carries the acknowledgement");
    }

    #[test]
    fn pushed_data_is_acknowledged_when_it_is_read() {
        let mut timing = timing(0);
        timing.saw_segment(100);
        timing.handle_data(ms(10), 100, 100, true, RTT);
        assert!(!timing.is_due());
        timing.handle_all_read();
        assert!(timing.is_due());
    }

    #[test]
    fn a_delay_grows_when_it_ends_for_nothing_but_not_beyond_a_round_trip() {
        let mut timing = timing(0);
        segment(&mut timing, ms(0));
        timing.handle_timeout(ms(40), RTT);
        timing.handle_ack_sent();
        segment(&mut timing, ms(100));
        assert_eq!(timing.timer(), Some(ms(180)), "80 ms");
        timing.handle_timeout(ms(180), RTT);
        timing.handle_ack_sent();
        segment(&mut timing, ms(300));
        assert_eq!(timing.timer(), Some(ms(400)), "not 160 ms but the round trip");
    }

    #[test]
    fn after_a_pause_longer_than_the_timeout_acknowledgements_are_quick_again() {
        let mut timing = timing(1);
        segment(&mut timing, ms(0));
        timing.handle_ack_sent();
        segment(&mut timing, ms(10));
        assert!(!timing.is_due());
        timing.handle_timeout(ms(50), RTT);
        timing.handle_ack_sent();
        segment(&mut timing, ms(1_000));
        assert!(timing.is_due());
    }
}
