//! The simulator's event queue against the usual ones, on the simulator's patterns of events.
//!
//! `cargo bench -p linkmend-sim --bench event_queue` prints millions of events per second, each the median of several
//! rounds in which the candidates take turns, and the ratio to the binary heap of the standard library. `cargo test`
//! runs the same code on small inputs. Either way all candidates must have seen exactly the same events.
//!
//! There are two kinds of candidate. *Every event* queues hold each pending event, in the order of its time and then
//! of its scheduling. *Heads only* queues hold the next event of each source, and the sources keep the rest in
//! first-in-first-out queues, whose cost is counted.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod calendar;
mod every_event;
mod four_ary;
mod heads_only;
mod hold;
mod ladder;
mod links;

use calendar::Calendar;
use every_event::PlainHeap;
use four_ary::FourAryHeap;
use heads_only::{IndexedHeap, LinearScan};
use hold::Hold;
use ladder::Ladder;
use linkmend_sim::event_queue::EventQueue;
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

/// A fast mix of bits, in place of random numbers: the same event draws the same number in every candidate.
#[inline]
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits ^ (bits >> 29)
}

/// One pattern of events, and every candidate at work on it.
struct Workload {
    name: String,
    candidates: Vec<Box<dyn Run>>,
    /// About how many events happen in a microsecond.
    events_per_us: f64,
}

/// In the order of the table; the first is what the others are compared with, the last is ours.
const NAMES: [&str; 7] =
    ["binary heap", "4-ary heap", "calendar", "ladder", "scan", "indexed heap", "EventQueue"];

/// Where more events than this happen in a microsecond, about as many sources take too long to scan.
const MOST_SCANNED: f64 = 1_000.0;

fn hold(pending: usize) -> Workload {
    Workload {
        name: format!("hold, {pending} pending"),
        candidates: vec![
            Box::new(Hold::every_event(PlainHeap::default(), pending)),
            Box::new(Hold::every_event(FourAryHeap::default(), pending)),
            Box::new(Hold::every_event(Calendar::default(), pending)),
            Box::new(Hold::every_event(Ladder::default(), pending)),
            Box::new(Hold::heads_only(LinearScan::new(pending), pending)),
            Box::new(Hold::heads_only(IndexedHeap::new(pending), pending)),
            Box::new(Hold::heads_only(EventQueue::new(pending), pending)),
        ],
        events_per_us: pending as f64 / hold::MEAN.as_nanos() * 1e3,
    }
}

fn links(links: usize) -> Workload {
    let sources = links::SOURCES * links;
    Workload {
        name: format!("{links} link{}", if links == 1 { "" } else { "s" }),
        candidates: vec![
            Box::new(Links::every_event(PlainHeap::default(), links)),
            Box::new(Links::every_event(FourAryHeap::default(), links)),
            Box::new(Links::every_event(Calendar::default(), links)),
            Box::new(Links::every_event(Ladder::default(), links)),
            Box::new(Links::heads_only(LinearScan::new(sources), links)),
            Box::new(Links::heads_only(IndexedHeap::new(sources), links)),
            Box::new(Links::heads_only(EventQueue::new(sources), links)),
        ],
        events_per_us: links as f64 * links::EVENTS_PER_US,
    }
}

fn workloads(pending: &[usize], link_counts: &[usize]) -> Vec<Workload> {
    pending.iter().map(|n| hold(*n)).chain(link_counts.iter().map(|n| links(*n))).collect()
}

impl Workload {
    /// Nanoseconds per event of each candidate, the median of the rounds; the first round is a warm-up.
    fn measure(&mut self, rounds: usize, events: u64) -> Vec<Option<f64>> {
        let round = Time::from_nanos((events as f64 / self.events_per_us * 1e3) as u64);
        let mut end = Time::ZERO;
        let mut times = vec![Vec::new(); self.candidates.len()];
        let scanned = self.events_per_us < MOST_SCANNED;
        for warmed_up in (0..=rounds).map(|round| round > 0) {
            end += round;
            let mut expected = None;
            for ((candidate, times), name) in self.candidates.iter_mut().zip(&mut times).zip(NAMES) {
                if name == "scan" && !scanned {
                    continue;
                }
                let mut seen = Observed::default();
                let begun = Instant::now();
                candidate.run_until(end, &mut seen);
                let nanos = begun.elapsed().as_nanos() as f64;
                assert_eq!(*expected.get_or_insert(seen), seen, "{}: {name} saw other events", self.name);
                if warmed_up {
                    times.push(nanos / seen.events as f64);
                }
            }
        }
        times.iter_mut().map(|times| median(times)).collect()
    }
}

fn median(times: &mut [f64]) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

fn main() {
    // `cargo bench` says so; `cargo test` does not.
    if !std::env::args().any(|argument| argument == "--bench") {
        for mut workload in workloads(&[1, 2, 8, 64, 300], &[1, 2, 40]) {
            workload.measure(2, 5_000);
        }
        println!("event queues: all candidates saw the same events");
        return;
    }
    println!("million events per second (ratio to the binary heap)");
    println!("{:22}{:^44}|{:^33}", "", "every event", "heads only");
    print!("{:22}", "");
    NAMES.iter().for_each(|name| print!("{name:>13}"));
    println!();
    for mut workload in workloads(&[8, 64, 1024, 16384], &[1, 2, 8, 1024]) {
        let nanos = workload.measure(9, 2_000_000);
        print!("{:22}", workload.name);
        for one in &nanos {
            match (one, nanos[0]) {
                (Some(one), Some(plain)) => print!("{:7.1} ({:3.1})", 1e3 / one, plain / one),
                _ => print!("{:>13}", "-"),
            }
        }
        println!();
    }
}
