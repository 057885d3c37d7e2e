//! How fast an end may send: congestion control for a path that also loses what no queue has dropped.
//!
//! The window is that of CUBIC as Linux has it (from `linkmend-transport`), with two differences.
//!
//! - A loss counts as congestion only if more is lost than the path always loses ([`loss`]). That is learned from
//!   rounds without congestion, and from trials at half of the rate.
//! - As long as no others fill the queue ([`company`]), the window is at most what the path carries in a round trip and
//!   5 ms: the bandwidth, the largest of ten rounds ([`history`]), times the delay without the queue ([`delay`]).
//!
//! [`start`] has how it finds out what the path carries. What is sent is paced ([`pacer`]). All this is driven by the reports
//! of the other end, which say what has arrived there, when, and what has not.

mod company;
mod delay;
mod ecn;
mod history;
mod loss;
mod pacer;
mod round;
mod start;
mod state;

use crate::wire::Report;
use company::{Company, TARGET_NS};
use delay::PathDelay;
use ecn::Ecn;
use history::{Bandwidth, History, IN_FLIGHT_MAX, Sent};
use linkmend_transport::tcp::congestion::{
    AckSample, Algorithm, Congestion as Cause, CongestionControl as _, Context, Controller, Phase, Window,
};
use linkmend_transport::{Instant, Nanos};
use loss::PathLoss;
use pacer::{BURST_NS, Pacer};
use round::Round;
use start::FEW;
pub use state::{Allowance, CongestionState};

/// The first window in datagrams (RFC 6928), and the smallest.
const WINDOW_INITIAL: u32 = 10;
const WINDOW_MIN: u32 = 4;
/// The round trip as long as none was measured.
const ROUND_TRIP_UNKNOWN_NS: u64 = 50_000_000;
/// Without a report for two round trips, but between these, what is in flight counts as lost.
const SILENCE_MIN_NS: u64 = 200_000_000;
const SILENCE_MAX_NS: u64 = 2_000_000_000;
/// In each round, this part of what was proven is forgotten.
const FORGET: u64 = 100;
/// Up to so many percent of what has passed before, losses are not caused by what is sent, if there is no queue.
const PROVEN_PERCENT: u64 = 85;
const QUEUE_NONE_NS: u64 = 1_000_000;
/// On a long path, a queue of this part of the round trip is none either: the longer a path, the more it varies.
const QUEUE_NONE_PART: u64 = 16;
/// A loss of the path above this is looked at again and again: it may be a limit of the rate that drops without a queue.
const LOSS_DOUBTED: f64 = 0.01;
/// Percent of the window in a round trip: while it doubles, and later, so that the pace does not limit it.
const PACE_SLOW_START: u64 = 200;
const PACE: u64 = 125;

/// Decides how fast datagrams leave.
///
/// A driver calls [`Congestion::handle_sent`] for each datagram that leaves, [`Congestion::handle_report`] for each report,
/// and [`Congestion::handle_timeout`] at [`Congestion::next_timeout`]. It adds a frame to its datagrams if
/// [`Congestion::allowance`] says so, and says how long it is ([`Congestion::take`]).
#[derive(Debug)]
pub struct Congestion {
    history: History,
    delay: PathDelay,
    bandwidth: Bandwidth,
    loss: PathLoss,
    company: Company,
    ecn: Ecn,
    pacer: Pacer,
    cubic: Controller,
    window: Window,
    datagram_bytes: u64,
    round: Round,
    latest: Option<(u64, Report)>,
    /// Bytes sent up to the newest datagram that has arrived.
    settled_bytes: u64,
    /// Of these, those that have not made the window grow yet.
    uncounted_bytes: u64,
    /// Losses of datagrams below this number belong to the latest reduction.
    reduced_until: u64,
    reported_at_ns: u64,
    /// The smoothed time between two reports.
    gap_ns: u64,
    silences: u32,
    /// Whether the window doubles in each round trip.
    is_starting: bool,
    flat_rounds: u32,
    flat_bandwidth: u64,
    /// The most that was in flight in a round without congestion, and the longest queue. Both are forgotten slowly.
    proven_bytes: u64,
    longest_queue_ns: u64,
    /// The longest and the mean queue of the round before this one.
    queues_before_ns: [u64; 2],
    /// The queue up to which the window goes alone: longer as long as the path carries all that is tried.
    headroom_ns: u64,
}

impl Congestion {
    /// Nothing is known of the path. The next datagram will have the number `next`.
    pub fn new(now_ns: u64, next: u64, datagram_bytes: usize) -> Congestion {
        Congestion {
            history: History::new(next),
            delay: PathDelay::default(),
            bandwidth: Bandwidth::default(),
            loss: PathLoss::default(),
            company: Company::new(now_ns),
            ecn: Ecn::new(next),
            pacer: Pacer::default(),
            cubic: Controller::new(Algorithm::Cubic, 0),
            window: Window { cwnd: WINDOW_INITIAL, ssthresh: u32::MAX },
            datagram_bytes: datagram_bytes as u64,
            round: Round::new(next, next),
            latest: None,
            settled_bytes: 0,
            uncounted_bytes: 0,
            reduced_until: 0,
            reported_at_ns: now_ns,
            gap_ns: 0,
            silences: 0,
            is_starting: true,
            proven_bytes: 0,
            longest_queue_ns: 0,
            queues_before_ns: [0; 2],
            flat_rounds: 0,
            flat_bandwidth: 0,
            headroom_ns: TARGET_NS,
        }
    }

    /// Sets the longest datagram, in which the window is counted.
    pub fn set_datagram_bytes(&mut self, bytes: usize) {
        self.datagram_bytes = bytes as u64;
    }

    fn in_flight_bytes(&self) -> u64 {
        self.history.bytes() - self.settled_bytes
    }

    /// What may be added now, while `waiting` datagrams have not left yet. Urgent frames do not wait for the pace, and go a
    /// little beyond the window: most are repetitions of what was lost, and what is in flight counts them like any other.
    pub fn allowance(&self, now_ns: u64, waiting: usize) -> Allowance {
        let ahead = self.in_flight_bytes() + waiting as u64 * self.datagram_bytes;
        let window = self.window_bytes();
        let beyond = window / 4 + u64::from(WINDOW_MIN) * self.datagram_bytes;
        match (ahead < window, self.pacer.is_open(now_ns)) {
            (true, true) => Allowance::Everything,
            _ if ahead < window + beyond => Allowance::Urgent,
            _ => Allowance::Nothing,
        }
    }

    /// The smoothed round trip, once it was measured.
    pub fn round_trip_ns(&self) -> Option<u64> {
        self.delay.round_trip_ns()
    }

    /// Whether it knows what the path carries, and does not try more and more.
    pub fn is_settled(&self) -> bool {
        !self.is_starting && (self.company.has_others() || self.headroom_ns == TARGET_NS)
    }

    /// What it believes now.
    pub fn state(&self) -> CongestionState {
        CongestionState {
            window_bytes: self.window_bytes(),
            in_flight_bytes: self.in_flight_bytes(),
            pace: self.rate(),
            bandwidth: self.bandwidth.largest(),
            queue_ns: self.delay.queue_ns(),
            path_loss: self.loss.share(),
            has_others: self.company.has_others(),
            is_markable: self.is_markable(),
        }
    }

    /// When the pace allows the next frame.
    pub fn opens_at(&self) -> u64 {
        self.pacer.opens_at()
    }

    /// So many bytes were added to the datagrams that leave now.
    pub fn take(&mut self, now_ns: u64, bytes: usize) {
        // A burst must not be what is lost at half of the rate.
        let burst_ns = if self.company.is_trial() { 0 } else { BURST_NS };
        let rate = self.rate();
        self.pacer.take(now_ns, bytes as u64, rate, burst_ns);
    }

    /// A datagram has left.
    pub fn handle_sent(&mut self, now_ns: u64, number: u64, bytes: usize) {
        let in_flight = self.in_flight_bytes();
        if in_flight == 0 {
            self.reported_at_ns = now_ns;
        }
        // A window that is never full says nothing about the path, and neither does a trial.
        let is_limited =
            self.company.is_trial() || in_flight + 2 * self.datagram_bytes < self.window_bytes() / 2;
        self.history.push(now_ns, number, bytes, is_limited);
        self.round.in_flight_bytes_max = self.round.in_flight_bytes_max.max(in_flight + bytes as u64);
    }

    /// What the path carries in this time, in bytes that are sent.
    fn carried_bytes(&self, time_ns: u64) -> u64 {
        let sent = self.bandwidth.largest() as f64 / (1.0 - self.loss.share());
        (sent * time_ns as f64 / 1e9) as u64
    }

    /// The window that keeps the queue short, once it is known what the path carries.
    fn short_queue_bytes(&self) -> Option<u64> {
        let base_ns = self.delay.base_ns()?;
        let bytes = self.carried_bytes(base_ns + self.gap_ns + self.headroom_ns);
        (bytes > 0).then_some(bytes)
    }

    fn cwnd_bytes(&self) -> u64 {
        u64::from(self.window.cwnd) * self.datagram_bytes
    }

    fn window_bytes(&self) -> u64 {
        let cwnd = self.cwnd_bytes();
        let bytes = match (self.company.is_trial(), self.delay.base_ns(), self.short_queue_bytes()) {
            // Half of what arrives: what is lost on the way may be what is too much.
            (true, Some(base_ns), _) => {
                self.trial_rate().saturating_mul(base_ns + self.gap_ns) / 1_000_000_000
            }
            // Before it was full, it says nothing about the path.
            (_, _, Some(short)) if self.is_starting => {
                cwnd.min((2 * short).max(u64::from(WINDOW_INITIAL) * self.datagram_bytes))
            }
            (_, _, Some(short)) if !self.company.has_others() => short,
            _ => cwnd,
        };
        let datagrams = |count: u64| count * self.datagram_bytes;
        bytes.clamp(datagrams(WINDOW_MIN.into()), datagrams(IN_FLIGHT_MAX as u64 / 2))
    }

    fn trial_rate(&self) -> u64 {
        self.bandwidth.largest() / 2
    }

    /// Bytes a second.
    fn rate(&self) -> u64 {
        if self.company.is_trial() {
            return self.trial_rate().max(self.datagram_bytes * u64::from(WINDOW_MIN));
        }
        let time_ns = self.delay.round_trip_ns().unwrap_or(ROUND_TRIP_UNKNOWN_NS) + self.gap_ns / 2;
        let percent = if self.is_starting { PACE_SLOW_START } else { PACE };
        let rate =
            u128::from(self.window_bytes()) * u128::from(percent) * 10_000_000 / u128::from(time_ns.max(1));
        rate as u64
    }

    /// The other end reports. Returns whether the report can be true.
    pub fn handle_report(&mut self, now_ns: u64, number: u64, report: &Report) -> bool {
        if self.latest.is_some_and(|(latest, _)| number <= latest) {
            return true;
        }
        let Some(sent) = self.history.of(report.highest) else { return false };
        let before = self.latest.map_or(*report, |(_, before)| before);
        let Some(news) = report.since(&before).filter(|news| news.bytes <= self.history.bytes()) else {
            return false;
        };
        self.latest = Some((number, *report));
        self.silences = 0;
        self.round.decided += news.decided;
        self.round.lost += news.lost;
        self.ecn.handle_report(report.highest, self.history.next());
        if self.believes_marks() {
            self.round.marked += news.marked;
        }
        if report.highest > before.highest || sent.bytes > self.settled_bytes {
            self.handle_progress(now_ns, report, sent, news.bytes);
        }
        self.check_congestion(now_ns);
        if report.decided >= self.round.end {
            self.end_round(now_ns);
        }
        true
    }

    fn handle_progress(&mut self, now_ns: u64, report: &Report, sent: Sent, bytes: u64) {
        let gap_ns = now_ns.saturating_sub(self.reported_at_ns).min(self.delay.round_trip_ns().unwrap_or(0));
        self.gap_ns = (self.gap_ns * 7 + gap_ns) / 8;
        self.reported_at_ns = now_ns;
        let round_trip_ns = now_ns.saturating_sub(sent.at_ns).saturating_sub(report.held_ns);
        self.delay.learn(now_ns, sent.at_ns, report.arrived_ns, round_trip_ns);
        self.round.add_queue(self.delay.queue_ns());
        if let Some(sample) = self.history.deliver(sent, bytes, report.arrived_ns) {
            self.bandwidth.learn(sample);
        }
        let settled = sent.bytes.saturating_sub(self.settled_bytes);
        self.settled_bytes = self.settled_bytes.max(sent.bytes);
        self.grow(now_ns, settled);
    }

    fn begin_round(&mut self) {
        let decided = self.latest.map_or(0, |(_, latest)| latest.decided);
        self.queues_before_ns = self.round.queues_ns();
        self.round = Round::new(decided, self.history.next());
        self.round.in_flight_bytes_max = self.in_flight_bytes();
    }

    fn context(&self, now_ns: u64) -> Context {
        let limit = self.window_bytes();
        let is_full = self.round.in_flight_bytes_max + 2 * self.datagram_bytes >= limit;
        let is_cwnd = limit >= self.cwnd_bytes();
        Context {
            now: Instant(now_ns),
            mss: self.datagram_bytes as u32,
            window: self.window,
            phase: Phase::Open,
            in_flight: (self.in_flight_bytes() / self.datagram_bytes) as u32,
            smoothed_rtt: self.delay.round_trip_ns().map(Nanos),
            min_rtt: self.delay.base_ns().map(Nanos),
            unacknowledged: self.settled_bytes,
            next: self.history.bytes(),
            is_window_limited: is_full && is_cwnd && !self.company.is_trial(),
        }
    }

    /// Lets the window grow, after so many bytes have arrived or were lost without congestion.
    fn grow(&mut self, now_ns: u64, settled_bytes: u64) {
        let bytes = self.uncounted_bytes + settled_bytes;
        let segments = (bytes / self.datagram_bytes) as u32;
        self.uncounted_bytes = bytes % self.datagram_bytes;
        let context = self.context(now_ns);
        let mut window = self.window;
        self.cubic.acknowledged(
            &context,
            &AckSample { delivered: segments, ..AckSample::default() },
            &mut window,
        );
        let follows_cubic = self.is_starting || self.company.has_others();
        if context.is_window_limited && follows_cubic && !self.is_recovering() {
            self.cubic.grow(&context, &mut window, segments);
        }
        self.window = window;
    }

    /// Whether datagrams have waited so long that what is lost may have been dropped by a full queue: some as long as ever, and
    /// not only some, because paths and machines delay single ones. Of a path that is not known, nothing says that its queue
    /// was ever empty.
    fn has_queue(&self) -> bool {
        let none_ns = QUEUE_NONE_NS.max(self.delay.base_ns().unwrap_or(0) / QUEUE_NONE_PART);
        let [longest_ns, mean_ns] = self.round.queues_ns();
        let [longest_before_ns, mean_before_ns] = self.queues_before_ns;
        let longest_ns = longest_ns.max(longest_before_ns);
        if self.loss.is_unknown() && self.was_full() {
            return longest_ns > QUEUE_NONE_NS;
        }
        longest_ns > none_ns.max(self.longest_queue_ns / 2)
            && mean_ns.max(mean_before_ns) > QUEUE_NONE_NS.max(self.longest_queue_ns / 4)
    }

    /// Whether the losses of this round are those that have made the window smaller.
    fn is_recovering(&self) -> bool {
        self.round.end <= self.reduced_until
    }

    /// Reduces the window at most once in a round trip.
    fn check_congestion(&mut self, now_ns: u64) {
        let Round { lost, decided, marked, size, .. } = self.round;
        if self.is_recovering()
            || !(marked > 0 || self.loss.is_exceeded(lost, decided.max(size), self.has_queue()))
        {
            return;
        }
        if self.is_starting && marked == 0 {
            self.handle_loss_at_start(lost, decided.max(size));
            return;
        }
        // Losses without a queue, of less than has passed before, are not caused by what is sent.
        let was_proven = self.round.in_flight_bytes_max <= self.proven_bytes / 100 * PROVEN_PERCENT;
        if marked == 0 && (was_proven || !self.was_full()) && !self.has_queue() {
            self.loss.learn(lost, decided.max(size));
            if lost <= decided.max(size) / FEW {
                return self.begin_round();
            }
        }
        self.company.handle_congestion();
        self.reduce(now_ns, if marked > 0 { Cause::Mark } else { Cause::Loss });
    }

    fn reduce(&mut self, now_ns: u64, cause: Cause) {
        self.window.cwnd = (self.window_bytes() / self.datagram_bytes) as u32;
        self.window.ssthresh = self.cubic.ssthresh(&self.context(now_ns), cause);
        self.window.cwnd = self.window.ssthresh.max(WINDOW_MIN);
        self.is_starting = cause == Cause::Timeout;
        (self.flat_bandwidth, self.flat_rounds) = (0, 0);
        self.reduced_until = self.history.next();
        self.begin_round();
    }

    fn end_round(&mut self, now_ns: u64) {
        let Round { shortest_queue_ns, longest_queue_ns, lost, decided, marked, .. } = self.round;
        self.ecn.handle_round(decided.saturating_sub(lost), marked);
        let shortest_queue_ns = shortest_queue_ns.min(longest_queue_ns);
        let (has_queue, is_trial) = (self.has_queue(), self.company.is_trial());
        let was_alone = !self.company.has_others();
        let believes_loss = self.loss.share() > LOSS_DOUBTED;
        let was_full = is_trial || (self.was_full() && !self.is_starting);
        let is_low_rate =
            was_full && self.company.handle_round(now_ns, shortest_queue_ns, longest_queue_ns, believes_loss);
        self.loss.check_less(lost, decided);
        if is_low_rate && !has_queue {
            self.loss.learn_at_low_rate(lost, decided);
        } else if !self.is_recovering() && !is_trial {
            // Beside others there may always be a queue, and at the start.
            if !has_queue || (lost == 0 && (self.company.has_others() || self.loss.is_unknown())) {
                self.loss.learn(lost, decided);
            }
            self.proven_bytes = self.proven_bytes.max(self.round.in_flight_bytes_max);
        }
        self.proven_bytes -= self.proven_bytes / FORGET;
        self.longest_queue_ns -= self.longest_queue_ns / FORGET;
        self.longest_queue_ns = self.longest_queue_ns.max(longest_queue_ns);
        self.check_headroom(shortest_queue_ns, lost);
        self.bandwidth.turn();
        self.check_start(shortest_queue_ns);
        if was_alone && self.company.has_others() {
            // The curve begins here.
            self.cubic.ssthresh(&self.context(now_ns), Cause::Mark);
        }
        if !self.company.has_others() && !self.company.is_trial() && !self.is_starting {
            // From here CUBIC goes on as soon as others come.
            self.window.cwnd = (self.window_bytes() / self.datagram_bytes) as u32;
            self.window.ssthresh = self.window.cwnd;
        }
        self.begin_round();
    }

    /// When [`Congestion::handle_timeout`] is to be called; `None` if nothing is in flight.
    pub fn next_timeout(&self) -> Option<u64> {
        let round_trip_ns = self.delay.round_trip_ns().unwrap_or(ROUND_TRIP_UNKNOWN_NS);
        let silence_ns = (2 * (round_trip_ns + self.gap_ns)).max(SILENCE_MIN_NS) << self.silences.min(4);
        (self.in_flight_bytes() > 0)
            .then(|| self.reported_at_ns.saturating_add(silence_ns.min(SILENCE_MAX_NS)))
    }

    /// If nothing was reported for long, what is in flight counts as lost. If that was much, everything begins again from a
    /// small window.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if self.next_timeout().is_none_or(|at| now_ns < at) {
            return;
        }
        if self.in_flight_bytes() >= self.window_bytes() / 2 {
            self.reduce(now_ns, Cause::Timeout);
            self.window = Window { cwnd: WINDOW_MIN, ssthresh: u32::MAX };
        }
        self.silences += 1;
        self.ecn.handle_silence(self.history.next());
        self.settled_bytes = self.history.bytes();
        self.reported_at_ns = now_ns;
        self.begin_round();
    }
}
