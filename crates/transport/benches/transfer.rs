//! How many segments a second a pair of TCP connections exchanges, with and without loss, at windows from 16 segments to
//! 4,096.
//!
//! `cargo bench -p linkmend-transport --bench transfer`. A segment costs all that both ends do for it, its share of the
//! acknowledgements and of a link of two queues included. The last column compares it with that at the smallest window.
//! BBR keeps its window at 1e-3, at which the others would not.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![expect(clippy::print_stdout, reason = "it prints its table")]

use linkmend_transport::tcp::{Algorithm, Config, Connection, Event, Segment};
use linkmend_transport::{Instant, Nanos};
use std::collections::VecDeque;
use std::sync::Arc;

const MSS: u32 = 1_448;
/// A full segment at 100 Gb/s, and an acknowledgement.
const SEGMENT_TIME: Nanos = Nanos(123);
const ACK_TIME: Nanos = Nanos(7);
/// Segments of a run: in a benchmark, and when only its working is tested.
const SEGMENTS: u64 = 2_000_000;
const TEST_SEGMENTS: u64 = 20_000;
const ROUNDS: usize = 5;

fn main() {
    let bench = std::env::args().any(|argument| argument == "--bench");
    let (segments, rounds) = if bench { (SEGMENTS, ROUNDS) } else { (TEST_SEGMENTS, 1) };
    println!("A pair of TCP connections over 100 Gb/s, {segments} segments, best of {rounds} rounds.");
    println!("A connection takes {} B and 48 B for each outstanding segment.\n", size_of::<Connection>());
    println!(
        "{:10} {:>8} {:>7} {:>10} {:>12} {:>8} {:>14} {:>7}",
        "algorithm", "loss", "window", "in flight", "sent again", "timeouts", "M segments/s", "ratio"
    );
    for (algorithm, loss) in
        [(Algorithm::Cubic, 0.0), (Algorithm::Dctcp, 0.0), (Algorithm::Bbr, 0.0), (Algorithm::Bbr, 1e-3)]
    {
        let mut first = None;
        for window in [16, 256, 4_096] {
            let runs = (0..rounds).map(|_| Run::new(algorithm, window, loss).timed(segments));
            let Some(best) = runs.min_by(|a, b| a.seconds.total_cmp(&b.seconds)) else { continue };
            let cost = best.seconds / segments as f64;
            println!(
                "{:10} {loss:>8} {window:>7} {:>10.1} {:>12} {:>8} {:>14.2} {:>7.2}",
                algorithm.name(),
                best.in_flight,
                best.resent,
                best.timeouts,
                1e-6 / cost,
                cost / *first.get_or_insert(cost)
            );
        }
    }
}

struct Outcome {
    seconds: f64,
    /// Segments outstanding, on average over the acknowledgements.
    in_flight: f64,
    resent: u64,
    timeouts: u64,
}

/// Two ends, and a queue from each to the other.
struct Run {
    ends: [Connection; 2],
    ways: [VecDeque<(Instant, Segment)>; 2],
    port_free: [Instant; 2],
    delay: Nanos,
    loss: f64,
    draw: u64,
    now: Instant,
    delivered: u64,
}

impl Run {
    fn new(algorithm: Algorithm, window: u32, loss: f64) -> Run {
        let config = Arc::new(Config {
            mss: MSS,
            algorithm,
            initial_window: window,
            receive_buffer: window * MSS,
            // Each segment on its own.
            offload_bytes: MSS,
            rto_min: Nanos::from_millis(1),
            ..Config::default()
        });
        let end = || Connection::established(Instant(0), Arc::clone(&config)).expect("a good configuration");
        Run {
            ends: [end(), end()],
            ways: [VecDeque::new(), VecDeque::new()],
            port_free: [Instant(0); 2],
            // A window fills the round trip.
            delay: SEGMENT_TIME * u64::from(window) / 2,
            loss,
            draw: 1,
            now: Instant(0),
            delivered: 0,
        }
    }

    fn timed(mut self, segments: u64) -> Outcome {
        let bytes = segments * u64::from(MSS);
        let began = std::time::Instant::now();
        self.ends[0].write(bytes);
        self.let_send(0);
        let (mut outstanding, mut samples) = (0, 0);
        while self.delivered < bytes {
            self.step();
            samples += 1;
            if samples % 64 == 0 {
                outstanding += u64::from(self.ends[0].info(self.now).unacked);
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        let info = self.ends[0].info(self.now);
        let in_flight = outstanding as f64 / (samples / 64).max(1) as f64;
        Outcome { seconds, in_flight, resent: info.total_retrans, timeouts: info.timeouts }
    }

    /// What happens next: an arrival, or a timeout.
    fn step(&mut self) {
        let arrivals = [0, 1].map(|to| self.ways[to].front().map(|(at, _)| *at));
        let timeouts = [0, 1].map(|end| self.ends[end].next_timeout());
        let next = arrivals.into_iter().chain(timeouts).flatten().min().expect("the transfer goes on");
        self.now = next;
        for (end, timeout) in timeouts.into_iter().enumerate() {
            if let Some((_, segment)) = self.ways[end].pop_front_if(|(at, _)| *at <= next) {
                self.ends[end].handle_segment(next, &segment);
            } else if timeout.is_some_and(|at| at <= next) {
                self.ends[end].handle_timeout(next);
            } else {
                continue;
            }
            self.let_send(end);
        }
    }

    fn let_send(&mut self, from: usize) {
        while let Some(segment) = self.ends[from].poll_transmit(self.now) {
            let time = if segment.length > 0 { SEGMENT_TIME } else { ACK_TIME };
            self.port_free[from] = self.port_free[from].max(self.now) + time;
            if segment.length == 0 || !self.is_lost() {
                self.ways[1 - from].push_back((self.port_free[from] + self.delay, segment));
            }
        }
        while let Some(event) = self.ends[from].poll_event() {
            if let (Event::Delivered(bytes), 1) = (event, from) {
                self.delivered += bytes;
            }
        }
    }

    /// Xorshift: one seed is one run.
    fn is_lost(&mut self) -> bool {
        self.draw ^= self.draw << 13;
        self.draw ^= self.draw >> 7;
        self.draw ^= self.draw << 17;
        ((self.draw >> 11) as f64) < self.loss * (1_u64 << 53) as f64
    }
}
