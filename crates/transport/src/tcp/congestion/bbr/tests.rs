//! BBR over one bottleneck with an unlimited queue.

use super::super::RateSample;
use super::super::tests::context;
use super::*;
use std::collections::VecDeque;

const MSS: u32 = 1_000;

/// A packet on its way, with what the rate sample needs (draft-cheng-iccrg-delivery-rate-estimation, section 3.2).
struct Packet {
    sent: Instant,
    arrives: Instant,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
}

/// A sender with ever enough data, a bottleneck of `rate` bytes a second, and the way back.
struct Path {
    bbr: Bbr,
    rate: u64,
    rtt: Nanos,
    window: Window,
    now: Instant,
    next_send: Instant,
    bottleneck_free: Instant,
    flight: VecDeque<Packet>,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
}

impl Path {
    fn new(rate: u64, rtt: Nanos, seed: u64) -> Path {
        let window = Window { cwnd: 10, ssthresh: u32::MAX };
        let now = Instant(1_000_000_000);
        let mut bbr = Bbr::new(seed);
        bbr.opened(&Context { now, min_rtt: Some(rtt), smoothed_rtt: Some(rtt), ..context(window) });
        Path {
            bbr,
            rate,
            rtt,
            window,
            now,
            next_send: now,
            bottleneck_free: now,
            flight: VecDeque::new(),
            delivered: 0,
            delivered_at: now,
            first_sent: now,
        }
    }

    fn time_of(&self, rate: u64) -> Nanos {
        Nanos(u64::from(MSS) * 1_000_000_000 / rate.max(1))
    }

    fn send(&mut self) {
        if self.flight.is_empty() {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
        }
        self.bottleneck_free = self.bottleneck_free.max(self.now) + self.time_of(self.rate);
        self.flight.push_back(Packet {
            sent: self.now,
            arrives: self.bottleneck_free + self.rtt,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        });
        self.next_send = self.now + self.time_of(self.bbr.pacing_rate().expect("it paces"));
    }

    fn acknowledge(&mut self, packet: &Packet, before: u32) {
        self.delivered += 1;
        self.delivered_at = self.now;
        self.first_sent = packet.sent;
        let sending = packet.sent.since(packet.first_sent);
        let rate = RateSample {
            delivered: (self.delivered - packet.delivered) as u32,
            delivered_before: packet.delivered,
            delivered_total: self.delivered,
            interval: sending.max(self.now.since(packet.delivered_at)),
            is_app_limited: false,
        };
        let sample = AckSample {
            delivered: 1,
            acknowledged: 1,
            acknowledged_bytes: u64::from(MSS),
            rtt: Some(self.now.since(packet.sent)),
            in_flight_before: before,
            rate: Some(rate),
            ..AckSample::default()
        };
        let at = Context { now: self.now, in_flight: before - 1, ..context(self.window) };
        assert!(self.bbr.control(&at, &sample, &mut self.window));
    }

    /// One event: a packet is sent or acknowledged.
    fn step(&mut self) {
        let may_send = self.flight.len() < self.window.cwnd as usize;
        let acknowledged_at = self.flight.front().map_or(Instant(u64::MAX), |packet| packet.arrives);
        if may_send && self.next_send.max(self.now) <= acknowledged_at {
            self.now = self.next_send.max(self.now);
            return self.send();
        }
        self.now = acknowledged_at;
        let before = self.flight.len() as u32;
        let packet = self.flight.pop_front().expect("a closed window has packets in flight");
        self.acknowledge(&packet, before);
    }

    fn run_until(&mut self, end: impl Fn(&Path) -> bool) {
        for _ in 0..10_000_000 {
            if end(self) {
                return;
            }
            self.step();
        }
        panic!("it does not end: {:?}", self.bbr);
    }

    fn run(&mut self, span: Nanos) {
        let end = self.now + span;
        self.run_until(|path| path.now >= end);
    }
}

const RATE: u64 = 1_250_000;
const RTT: Nanos = Nanos::from_millis(40);

#[test]
fn the_bandwidth_is_known_when_startup_ends_after_three_rounds_without_growth() {
    let mut path = Path::new(RATE, RTT, 1);
    let is_known = |path: &Path| path.bbr.model.bandwidth() * 100 >= RATE * 99;
    path.run_until(is_known);
    let known = path.now;
    let round = |path: &Path| path.bbr.model.bandwidth();
    assert!(round(&path) <= RATE * 101 / 100, "{} B/s", round(&path));
    // 50 segments are in the pipe and startup begins with 10: three doublings.
    assert!(known.since(Instant(1_000_000_000)) <= RTT * 6, "{known:?}");
    let mut rounds = 0;
    while path.bbr.state == State::Startup {
        path.step();
        rounds += u32::from(path.bbr.model.is_round_start && path.flight.len() < path.window.cwnd as usize);
    }
    assert!(path.bbr.is_pipe_full);
    assert_eq!(path.bbr.full_rounds, FULL_ROUNDS);
    assert!(rounds >= u32::from(FULL_ROUNDS), "{rounds} rounds");
}

/// Section 4.1.1.3: rounds are counted by what was delivered, and the estimate follows a faster bottleneck in 3 rounds.
#[test]
fn the_filter_converges_to_a_slower_bottleneck_in_ten_rounds_and_to_the_first_in_three() {
    let mut path = Path::new(RATE, RTT, 1);
    path.run(Nanos::from_secs(3));
    let error = path.bbr.model.bandwidth().abs_diff(RATE) * 1_000 / RATE;
    assert!(error <= 10, "{error} thousandths");
    path.rate = RATE / 2;
    path.run(Nanos::from_secs(4));
    let error = path.bbr.model.bandwidth().abs_diff(RATE / 2) * 1_000 / (RATE / 2);
    assert!(error <= 30, "{error} thousandths after the bottleneck has become slower");
    let mut model = Model::default();
    let mut sample = RateSample {
        delivered: 100,
        delivered_before: 0,
        delivered_total: 100,
        interval: RTT,
        is_app_limited: false,
    };
    for _ in 0..3 {
        model.update_bandwidth(MSS, &AckSample { rate: Some(sample), ..AckSample::default() });
        sample.delivered_before = sample.delivered_total;
        sample.delivered_total += 100;
    }
    assert_eq!(model.bandwidth(), 2_500_000, "100,000 B in 40 ms");
}

#[test]
fn the_gains_of_a_cycle_have_mean_one() {
    assert_eq!(CYCLE.iter().map(|gain| gain.0).sum::<u32>(), 8 * Gain::ONE.0);
}

/// Section 4.3.3: every phase lasts for about a round trip, the queue that a probe makes is drained in the next phase, and
/// the link is always busy.
#[test]
fn the_cycle_keeps_the_link_busy_and_the_queue_short() {
    let mut path = Path::new(RATE, RTT, 1);
    path.run_until(|path| matches!(path.bbr.state, State::ProbeBandwidth { .. }));
    path.run(Nanos::from_secs(1));
    let (start, before) = (path.now, path.delivered);
    let (mut phases, mut last, mut in_flight, mut samples) = (0, None, 0_u64, 0_u64);
    while path.now.since(start) < Nanos::from_secs(5) {
        path.step();
        let State::ProbeBandwidth { phase, .. } = path.bbr.state else { panic!("{:?}", path.bbr.state) };
        phases += u32::from(last.is_some_and(|last| last != phase));
        last = Some(phase);
        in_flight += path.flight.len() as u64;
        samples += 1;
    }
    let goodput = (path.delivered - before) * u64::from(MSS) / 5;
    assert!(goodput >= RATE * 98 / 100, "{goodput} B/s of {RATE}");
    let pipe = RATE * 40 / 1_000 / u64::from(MSS);
    let mean = in_flight / samples;
    println!("{phases} phases in 5 s; {mean} segments in flight, the pipe holds {pipe}");
    assert!((90..=126).contains(&phases), "{phases} phases of 40 ms or a little more in 5 s");
    assert!(mean <= pipe * 125 / 100, "{mean} segments in flight, the pipe holds {pipe}");
}

/// Section 4.3.4: the round-trip time is probed when its least has not been met for 10 s, for 200 ms and a round.
#[test]
fn the_round_trip_time_is_probed_every_ten_seconds() {
    let mut path = Path::new(RATE, RTT, 3);
    // A standing queue of 5 ms hides the true round-trip time from startup's end on.
    path.run(Nanos::from_secs(1));
    path.rtt = RTT + Nanos::from_millis(5);
    let is_probing = |path: &Path| matches!(path.bbr.state, State::ProbeRtt(_));
    let mut starts = Vec::new();
    for _ in 0..3 {
        path.run_until(is_probing);
        starts.push(path.now);
        path.run_until(|path| path.window.cwnd == CWND_MIN && path.flight.len() <= CWND_MIN as usize);
        let small = path.now;
        path.run_until(|path| !is_probing(path));
        let lasted = path.now.since(small);
        assert!(lasted >= PROBE_RTT_DURATION && lasted < PROBE_RTT_DURATION + RTT * 4, "{lasted:?}");
        assert!(path.window.cwnd > CWND_MIN, "the window is restored");
        assert!(path.bbr.model.bandwidth() * 100 >= RATE * 98, "the small window's rate is not believed");
    }
    for pair in starts.windows(2) {
        let between = pair[1].since(pair[0]).as_secs_f64();
        assert!((10.0..10.6).contains(&between), "{between} s");
    }
}

/// Section 4.2.3.4.
#[test]
fn recovery_conserves_packets_for_a_round_and_restores_the_window() {
    let mut path = Path::new(RATE, RTT, 1);
    path.run(Nanos::from_secs(3));
    let good = path.window;
    let mut at = Context { now: path.now, in_flight: 40, ..context(good) };
    path.bbr.ssthresh(&at, Congestion::Loss);
    at.phase = Phase::Recovery;
    let rate = |before, total| {
        Some(RateSample {
            delivered: 1,
            delivered_before: before,
            delivered_total: total,
            interval: RTT,
            is_app_limited: false,
        })
    };
    let total = path.delivered;
    let mut sample =
        AckSample { delivered: 1, lost: 1, rate: rate(total - 20, total + 1), ..AckSample::default() };
    path.bbr.control(&at, &sample, &mut path.window);
    assert_eq!(path.window.cwnd, 41, "what is in flight and what was delivered");
    at.window = path.window;
    at.in_flight = 30;
    sample.lost = 10;
    sample.rate = rate(total - 19, total + 2);
    path.bbr.control(&at, &sample, &mut path.window);
    assert_eq!(path.window.cwnd, 31, "41 less 10 lost, and no less than in flight and delivered");
    sample.lost = 0;
    sample.rate = rate(total + 2, total + 3);
    path.bbr.control(&at, &sample, &mut path.window);
    assert_eq!(path.window.cwnd, 32, "after a round it grows again");
    at.phase = Phase::Open;
    at.window = path.window;
    sample.rate = rate(total + 2, total + 4);
    path.bbr.control(&at, &sample, &mut path.window);
    assert!(path.window.cwnd >= good.cwnd.min(path.bbr.inflight(MSS, CWND_GAIN)), "{:?}", path.window);
}

/// Section 4.3.4.4.
#[test]
fn after_an_idle_time_it_sends_at_the_estimated_bandwidth_and_does_not_probe_at_once() {
    let mut path = Path::new(RATE, RTT, 1);
    path.run(Nanos::from_secs(3));
    let at = Context { now: path.now + Nanos::from_secs(20), in_flight: 0, ..context(path.window) };
    path.bbr.idle_ended(&at, Nanos::from_secs(20));
    assert_eq!(path.bbr.pacing_rate(), Some(PACING_MARGIN.of(path.bbr.model.bandwidth())));
    path.flight.clear();
    path.now = at.now;
    path.next_send = at.now;
    path.run_until(|path| path.flight.is_empty() || path.now > at.now + RTT);
    path.run(RTT * 2);
    assert!(!matches!(path.bbr.state, State::ProbeRtt(_)), "the restart itself has measured the round trip");
}

#[test]
fn the_same_seed_begins_the_cycle_in_the_same_phase_and_never_in_the_draining_one() {
    let first_phase = |seed| {
        let mut bbr = Bbr::new(seed);
        bbr.enter_probe_bandwidth(Instant(0));
        let State::ProbeBandwidth { phase, .. } = bbr.state else { panic!("{:?}", bbr.state) };
        phase
    };
    let mut counts = [0_u32; 8];
    for seed in 0..7_000 {
        counts[first_phase(seed)] += 1;
        assert_eq!(first_phase(seed), first_phase(seed));
    }
    assert_eq!(counts[1], 0);
    assert!(counts.iter().enumerate().all(|(phase, &count)| phase == 1 || (850..=1_150).contains(&count)));
}
