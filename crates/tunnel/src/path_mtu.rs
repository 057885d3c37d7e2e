//! Finds the longest datagram that a path takes (RFC 8899, datagram packetization layer path MTU discovery).
//!
//! Sizes are those of the datagram without the headers of IP and UDP. The search begins at a size that every path takes and
//! tries the sizes of usual MTUs upwards, until one does not pass. Afterwards, the size in use is confirmed regularly. If it
//! no longer passes although the peer is heard, the search begins again from the bottom (a black hole).
//!
//! Paths lose probes of sizes that pass, too. A size is given up after as many probes as the path's losses hardly explain.

/// The size that every path is expected to take (`BASE_PLPMTU`): a packet of 1,280 bytes, with room for a tunnel.
pub const BASE_BYTES: usize = 1_200;

/// MTUs that are usual: of IPv6, of tunnels, of PPPoE, of Ethernet, and of jumbo frames.
const MTUS: [usize; 11] = [1_280, 1_340, 1_380, 1_400, 1_420, 1_440, 1_460, 1_492, 1_500, 4_000, 9_000];
/// A size is given up when chance would lose all of its probes as rarely as this. On a path that loses none, this takes three
/// attempts (`MAX_PROBES`).
const CHANCE_MAX: f64 = 1e-3;
/// Probes of sizes that pass, before older ones count half.
const HISTORY: u32 = 100;
/// The wait for an acknowledgement (`PROBE_TIMER`), the least that the RFC allows.
const PROBE_TIMER_NS: u64 = 1_000_000_000;
/// How often the size in use is confirmed (`CONFIRMATION_TIMER`). With three attempts, a smaller size is used within 5 s.
const CONFIRM_NS: u64 = 2_000_000_000;
/// When larger sizes are tried again (`PMTU_RAISE_TIMER`).
const RAISE_NS: u64 = 600_000_000_000;

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    Raise,
    Confirm,
}

/// The search on one path.
#[derive(Debug)]
pub struct PathMtu {
    /// Bytes of the headers of IP and UDP, and of a seal.
    overhead_bytes: usize,
    base_bytes: usize,
    bytes: usize,
    goal: Goal,
    /// Probes without acknowledgement for this goal.
    unanswered: u32,
    /// When the next probe is due, or the last one counts as lost.
    at_ns: u64,
    raise_at_ns: u64,
    is_in_flight: bool,
    answers: Answers,
}

/// How many probes of sizes that pass are answered.
#[derive(Debug, Default)]
struct Answers {
    sent: u32,
    lost: u32,
}

impl Answers {
    /// A size has passed at last.
    fn note(&mut self, lost: u32) {
        self.sent += lost + 1;
        self.lost += lost;
        if self.sent > HISTORY {
            (self.sent, self.lost) = (self.sent / 2, self.lost / 2);
        }
    }

    /// The probability that so many probes are lost of a size that passes (with Laplace's rule).
    fn chance(&self, lost: u32) -> f64 {
        (f64::from(self.lost + 1) / f64::from(self.sent + 2)).powi(lost as i32)
    }
}

impl PathMtu {
    /// A search on a path of IPv4, or of IPv6, for datagrams that a seal makes longer by `seal_bytes`.
    pub fn new(now_ns: u64, is_ipv6: bool, seal_bytes: usize) -> PathMtu {
        let base_bytes = BASE_BYTES - seal_bytes;
        PathMtu {
            overhead_bytes: seal_bytes + if is_ipv6 { 48 } else { 28 },
            base_bytes,
            bytes: base_bytes,
            goal: Goal::Raise,
            unanswered: 0,
            at_ns: now_ns,
            raise_at_ns: now_ns.saturating_add(RAISE_NS),
            is_in_flight: false,
            answers: Answers::default(),
        }
    }

    /// The longest datagram to send.
    pub fn datagram_bytes(&self) -> usize {
        self.bytes
    }

    /// The next larger size.
    fn next_bytes(&self) -> Option<usize> {
        MTUS.iter().map(|mtu| mtu - self.overhead_bytes).find(|bytes| *bytes > self.bytes)
    }

    fn target(&self) -> Option<usize> {
        match self.goal {
            Goal::Raise => self.next_bytes(),
            Goal::Confirm => Some(self.bytes),
        }
    }

    /// The size of a probe that is to be sent now.
    pub fn poll_probe(&mut self, now_ns: u64) -> Option<usize> {
        if now_ns < self.at_ns {
            return None;
        }
        if std::mem::take(&mut self.is_in_flight) {
            self.unanswered += 1;
            if self.answers.chance(self.unanswered) <= CHANCE_MAX {
                self.give_up(now_ns);
            }
        }
        if self.goal == Goal::Confirm && now_ns >= self.raise_at_ns {
            self.raise_at_ns = now_ns.saturating_add(RAISE_NS);
            self.begin(now_ns, Goal::Raise);
        }
        if now_ns < self.at_ns {
            return None;
        }
        let Some(bytes) = self.target() else {
            self.begin(now_ns.saturating_add(CONFIRM_NS), Goal::Confirm);
            return None;
        };
        self.is_in_flight = true;
        self.at_ns = now_ns.saturating_add(PROBE_TIMER_NS);
        Some(bytes)
    }

    fn begin(&mut self, at_ns: u64, goal: Goal) {
        (self.goal, self.at_ns, self.unanswered, self.is_in_flight) = (goal, at_ns, 0, false);
    }

    /// No probe of a size has passed.
    fn give_up(&mut self, now_ns: u64) {
        match self.goal {
            Goal::Raise => self.begin(now_ns.saturating_add(CONFIRM_NS), Goal::Confirm),
            Goal::Confirm => self.fall(now_ns),
        }
    }

    fn fall(&mut self, now_ns: u64) {
        self.bytes = self.base_bytes;
        self.begin(now_ns, Goal::Raise);
    }

    /// A probe of this size has arrived. Returns the round trip, if it is that of the last probe.
    pub fn handle_acknowledgement(&mut self, now_ns: u64, bytes: usize) -> Option<u64> {
        if !self.is_in_flight || self.target() != Some(bytes) {
            return None;
        }
        let sent_ns = self.at_ns.saturating_sub(PROBE_TIMER_NS);
        let is_first = self.unanswered == 0;
        self.answers.note(self.unanswered);
        self.bytes = bytes;
        match self.goal {
            Goal::Raise => self.begin(now_ns, Goal::Raise),
            Goal::Confirm => self.begin(now_ns.saturating_add(CONFIRM_NS), Goal::Confirm),
        }
        // That of a repeated probe may answer an earlier one.
        is_first.then(|| now_ns.saturating_sub(sent_ns))
    }

    /// The kernel does not send datagrams of this size, because the interface has a smaller MTU.
    pub fn handle_refusal(&mut self, now_ns: u64, bytes: usize) {
        if bytes > self.bytes {
            if self.goal == Goal::Raise && self.is_in_flight {
                self.begin(now_ns.saturating_add(CONFIRM_NS), Goal::Confirm);
            }
        } else if self.bytes > self.base_bytes {
            self.fall(now_ns);
        }
    }

    /// When [`PathMtu::poll_probe`] is to be called.
    pub fn next_timeout(&self) -> u64 {
        self.at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Drives a search over a path that takes datagrams of `path_bytes` for some seconds. Returns the number of probes.
    fn drive(search: &mut PathMtu, seconds: std::ops::Range<u64>, path_bytes: usize) -> u32 {
        let mut probes = 0;
        for now in seconds.flat_map(|second| (0..100).map(move |step| second * SECOND + step * SECOND / 100))
        {
            if let Some(bytes) = search.poll_probe(now) {
                probes += 1;
                if bytes <= path_bytes {
                    search.handle_acknowledgement(now, bytes);
                }
            }
        }
        probes
    }

    #[test]
    fn finds_the_largest_usual_size_that_passes() {
        for (path, is_ipv6, expected) in [
            (1_472, false, 1_472),
            (1_452, true, 1_452),
            (1_392, false, 1_392),
            (1_400, false, 1_392),
            (1_232, true, 1_232),
            (1_200, false, 1_200),
            (9_999, false, 8_972),
        ] {
            let mut search = PathMtu::new(0, is_ipv6, 0);
            drive(&mut search, 0..5, path);
            assert_eq!(search.datagram_bytes(), expected, "{path}");
        }
    }

    #[test]
    fn a_black_hole_is_left_within_twice_the_confirmation_and_a_wider_path_used_later() {
        let mut search = PathMtu::new(0, false, 0);
        drive(&mut search, 0..10, 1_472);
        drive(&mut search, 10..20, 1_300);
        assert_eq!(search.datagram_bytes(), 1_280 - 28);
        assert!(drive(&mut search, 20..620, 9_000) < 700);
        assert_eq!(search.datagram_bytes(), 8_972);
    }

    /// A regression: at 25 % in either direction, three lost probes were taken for a black hole every few seconds, and frames of
    /// the usual length were split, which doubles their loss.
    #[test]
    fn losses_are_not_taken_for_a_black_hole() {
        for (percent, shorter_seconds_max) in [(10, 60), (25, 120)] {
            let mut search = PathMtu::new(0, false, 0);
            let (mut random, mut shorter) = (1_u64, 0);
            let mut passes = || {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) % 100 >= percent
            };
            for now in 0..3_600 {
                if let Some(bytes) = search.poll_probe(now * SECOND)
                    && bytes <= 1_472
                    && passes()
                    && passes()
                {
                    search.handle_acknowledgement(now * SECOND, bytes);
                }
                shorter += u32::from(search.datagram_bytes() < 1_472);
            }
            assert!(shorter <= shorter_seconds_max, "{percent} %: {shorter} of 3,600 s");
        }
    }

    #[test]
    fn what_the_interface_refuses_is_not_tried_again_and_not_sent() {
        let mut search = PathMtu::new(0, false, 0);
        let first = search.poll_probe(0).expect("a probe");
        search.handle_refusal(0, first);
        assert_eq!((search.poll_probe(1), search.datagram_bytes()), (None, BASE_BYTES));
        let mut search = PathMtu::new(0, false, 0);
        drive(&mut search, 0..5, 1_472);
        search.handle_refusal(6 * SECOND, 1_472);
        assert_eq!(search.datagram_bytes(), BASE_BYTES);
    }

    #[test]
    fn acknowledgements_of_what_was_not_sent_raise_nothing() {
        let mut search = PathMtu::new(0, false, 0);
        for bytes in [0, 1_252, 8_972, usize::MAX] {
            search.handle_acknowledgement(0, bytes);
        }
        assert_eq!(search.datagram_bytes(), BASE_BYTES);
    }
}
