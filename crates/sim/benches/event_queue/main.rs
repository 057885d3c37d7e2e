//! The simulator's event queue against the binary heap of the standard library, on the simulator's patterns of events.
//!
//! `cargo bench -p linkmend-sim --bench event_queue` prints millions of events per second of both, each the median of
//! several rounds in which they take turns, and their ratio. `cargo test` runs the same code on small inputs. Either way
//! both must have seen exactly the same events.
//!
//! The heap holds each pending event, in the order of its time and then of its scheduling. The event queue holds the next
//! event of each source, and the sources keep the rest in first-in-first-out queues, whose cost is counted.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod heap;
mod hold;
mod links;

use hold::Hold;
use linkmend_sim::time::Time;
use links::Links;
use std::time::Instant;

/// A queue at work on a pattern of events.
trait Run {
    /// Processes every event before `end`.
    fn run_until(&mut self, end: Time, seen: &mut Observed);
}

/// What a run has observed, independent of the order within one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Observed {
    events: u64,
    now: Time,
    sum: u64,
}

impl Observed {
    #[inline]
    fn event(&mut self, now: Time, source: usize) {
        assert!(self.now <= now, "time runs backwards");
        self.now = now;
        self.events += 1;
        self.sum = self.sum.wrapping_add(mixed(now.0 ^ (source as u64) << 48));
    }
}

/// A fast mix of bits, in place of random numbers: the same event draws the same number in both queues.
#[inline]
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits ^ (bits >> 29)
}

/// One pattern of events, and both queues at work on it.
struct Workload {
    name: String,
    queues: [Box<dyn Run>; 2],
    /// About how many events happen in a microsecond.
    events_per_us: f64,
}

fn hold(pending: usize) -> Workload {
    Workload {
        name: format!("hold, {pending} pending"),
        queues: [Box::new(Hold::every_event(pending)), Box::new(Hold::heads_only(pending))],
        events_per_us: pending as f64 / hold::MEAN.as_nanos() * 1e3,
    }
}

fn links(links: usize) -> Workload {
    Workload {
        name: format!("{links} link{}", if links == 1 { "" } else { "s" }),
        queues: [Box::new(Links::every_event(links)), Box::new(Links::heads_only(links))],
        events_per_us: links as f64 * links::EVENTS_PER_US,
    }
}

fn workloads(pending: &[usize], link_counts: &[usize]) -> Vec<Workload> {
    pending.iter().map(|n| hold(*n)).chain(link_counts.iter().map(|n| links(*n))).collect()
}

impl Workload {
    /// Nanoseconds per event of each queue, the median of the rounds; the first round is a warm-up.
    fn measure(&mut self, rounds: usize, events: u64) -> [f64; 2] {
        let round = Time::from_nanos((events as f64 / self.events_per_us * 1e3) as u64);
        let mut end = Time::ZERO;
        let mut times = [Vec::new(), Vec::new()];
        for warmed_up in (0..=rounds).map(|round| round > 0) {
            end += round;
            let mut expected = None;
            for (queue, times) in self.queues.iter_mut().zip(&mut times) {
                let mut seen = Observed::default();
                let begun = Instant::now();
                queue.run_until(end, &mut seen);
                let nanos = begun.elapsed().as_nanos() as f64;
                assert_eq!(*expected.get_or_insert(seen), seen, "{}: the queues differ", self.name);
                if warmed_up {
                    times.push(nanos / seen.events as f64);
                }
            }
        }
        times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        })
    }
}

fn main() {
    // `cargo bench` says so; `cargo test` does not.
    if !std::env::args().any(|argument| argument == "--bench") {
        for mut workload in workloads(&[1, 2, 8, 64, 300], &[1, 2, 40]) {
            workload.measure(2, 5_000);
        }
        println!("event queues: both saw the same events");
        return;
    }
    println!("{:22}{:>13}{:>13}{:>8}", "million events per s", "binary heap", "EventQueue", "ratio");
    for mut workload in workloads(&[8, 64, 1024, 16384], &[1, 2, 8, 1024]) {
        let [heap, ours] = workload.measure(9, 2_000_000);
        println!("{:22}{:13.1}{:13.1}{:8.1}", workload.name, 1e3 / heap, 1e3 / ours, heap / ours);
    }
}
