//! Controlled delay (CoDel, RFC 8289): a queue that stands is told from one that absorbs a burst by the time that frames wait.
//!
//! A frame that leaves its queue signals congestion if frames have waited longer than [`TARGET_NS`] for a whole interval, which
//! is about the longest round trip. Further ones signal more and more often, until a frame has waited for less.

/// The wait that may stand, and the interval for it (RFC 8289, sections 4.3 and 4.2).
const TARGET_NS: u64 = 5_000_000;
const INTERVAL_NS: u64 = 100_000_000;
/// The same for the interval of a long path: a twentieth of it.
const TARGET_PART: u64 = INTERVAL_NS / TARGET_NS;
/// A queue that stood within the last so many intervals begins with as many signals as it ended (RFC 8289, section 5.4).
const RECENT_INTERVALS: u64 = 16;

/// What is known of the waits in one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Codel {
    /// When the waits will have been too long for an interval; `None` while they are not.
    above_at_ns: Option<u64>,
    is_signalling: bool,
    /// When the next frame signals, or would have signalled.
    next_at_ns: u64,
    /// Signals since the waits were too long, and how many were assumed at the beginning.
    count: u32,
    count_at_begin: u32,
}

impl Codel {
    /// A frame leaves its queue, in which it has been since `since_ns`. `round_trip_ns` is that of the path; the hosts' is
    /// longer. Returns whether the frame is to signal congestion. The last frame of a queue never does.
    pub(super) fn signals(&mut self, now_ns: u64, since_ns: u64, is_last: bool, round_trip_ns: u64) -> bool {
        let interval_ns = INTERVAL_NS.max(2 * round_trip_ns);
        if is_last || now_ns.saturating_sub(since_ns) < interval_ns / TARGET_PART {
            self.forgive();
            return false;
        }
        let above_at_ns = *self.above_at_ns.get_or_insert(now_ns + interval_ns);
        let spacing_ns = |count: u32| (interval_ns as f64 / f64::from(count).sqrt()) as u64;
        if self.is_signalling {
            if now_ns < self.next_at_ns {
                return false;
            }
            self.count += 1;
            self.next_at_ns += spacing_ns(self.count);
        } else {
            if now_ns < above_at_ns {
                return false;
            }
            let is_recent = now_ns.saturating_sub(self.next_at_ns) < RECENT_INTERVALS * interval_ns;
            let signals = self.count - self.count_at_begin;
            self.count = if is_recent && signals > 1 { signals } else { 1 };
            self.count_at_begin = self.count;
            self.next_at_ns = now_ns + spacing_ns(self.count);
            self.is_signalling = true;
        }
        true
    }

    /// The waits so far are no sign of congestion.
    pub(super) fn forgive(&mut self) {
        (self.above_at_ns, self.is_signalling) = (None, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const NONE: [u64; 0] = [];

    /// When a queue signals in which every frame waits for `wait_ms`, of frames that leave a millisecond apart.
    fn signals(codel: &mut Codel, from_ms: u64, to_ms: u64, wait_ms: u64, round_trip_ms: u64) -> Vec<u64> {
        let is_signal = |now: &u64| codel.signals(now * MS, (now - wait_ms) * MS, false, round_trip_ms * MS);
        (from_ms..to_ms).filter(is_signal).collect()
    }

    #[test]
    fn a_short_wait_and_a_burst_signal_nothing() {
        let mut codel = Codel::default();
        assert_eq!(signals(&mut codel, 1_000, 5_000, 4, 20), NONE);
        assert_eq!(signals(&mut codel, 5_000, 5_099, 80, 20), NONE);
        assert_eq!(signals(&mut codel, 5_099, 5_100, 1, 20), NONE);
        assert_eq!(signals(&mut codel, 5_100, 5_199, 80, 20), NONE);
    }

    #[test]
    fn a_wait_that_stands_signals_more_and_more_often() {
        let mut codel = Codel::default();
        // 100 ms, then 100 ms divided by the root of the number of signals (RFC 8289, section 5.3).
        assert_eq!(signals(&mut codel, 1_000, 1_400, 20, 20), [1_100, 1_200, 1_271, 1_329, 1_379]);
    }

    #[test]
    fn a_queue_that_stood_lately_is_not_begun_anew() {
        let mut codel = Codel::default();
        let before = signals(&mut codel, 1_000, 3_000, 20, 20).len();
        assert_eq!(signals(&mut codel, 3_000, 3_010, 1, 20), NONE);
        let again = signals(&mut codel, 3_010, 3_310, 20, 20);
        assert!(before > 20 && again.len() > 5, "{before} {again:?}");
        assert_eq!(signals(&mut codel, 30_000, 30_001, 1, 20), NONE);
        assert_eq!(signals(&mut codel, 30_001, 30_202, 20, 20), [30_101, 30_201]);
    }

    #[test]
    fn a_longer_round_trip_has_a_longer_interval() {
        let mut codel = Codel::default();
        assert_eq!(signals(&mut codel, 1_000, 5_000, 14, 150), NONE);
        assert_eq!(signals(&mut codel, 5_000, 5_700, 16, 150), [5_300, 5_600]);
    }

    #[test]
    fn the_last_frame_of_a_queue_never_signals() {
        let mut codel = Codel::default();
        let mut is_signal = |now: u64| codel.signals(now * MS, 0, true, 0);
        assert!((1_000..5_000).all(|now| !is_signal(now)));
    }
}
