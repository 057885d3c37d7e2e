//! Measures the figures that acceptance requires, and prints each beside its bound:
//!
//!     cargo run --release -p linkmend-lab --example acceptance -- FORWARDER [ROUNDS] [PREFIX]
//!
//! FORWARDER is the plainest AF_XDP forwarder, built from the dataplane's `forward` example. Configurations take turns
//! and medians are compared, so that a machine whose speed drifts treats all alike.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::error::Error;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use linkmend_control::CorruptionModel;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::tcp::{self, BulkOptions, FlowOptions, TrafficPath};
use linkmend_lab::{Lab, LabOptions, LinkEnds, Role, RunControl, StopFlag, Summary};
use linkmend_protocol::{Copies, Mode};

/// A mode, as a function from loss rates to setups.
type Lane = fn(f64) -> Setup;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long a setup stays in [`one_connection`], and how much of that time is not measured.
const SLOT: Duration = Duration::from_millis(600);
const SETTLE: Duration = Duration::from_millis(150);

/// One configuration of the link.
#[derive(Clone, Copy, PartialEq)]
enum Setup {
    /// The plainest forwarder.
    Forwarder,
    /// Dormant: the kernel forwards.
    Dormant,
    /// The daemons forward without protection, at a loss rate.
    PassThrough(f64),
    /// Protected at a loss rate.
    Protected(Mode, f64),
}

impl Setup {
    fn label(self) -> String {
        match self {
            Setup::Forwarder => "plainest AF_XDP forwarder".to_owned(),
            Setup::Dormant => "dormant".to_owned(),
            Setup::PassThrough(loss) => format!("passed through, loss {loss:e}"),
            Setup::Protected(mode, loss) => format!("{mode:?}, loss {loss:e}"),
        }
    }
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let forwarder = arguments.next().ok_or("usage: acceptance FORWARDER [ROUNDS] [PREFIX]")?;
    let rounds: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let prefix = arguments.next().unwrap_or_else(|| "lmacc".to_owned());
    let lab = Lab::up(LabOptions { prefix, remove_on_drop: true, ..LabOptions::default() })?;
    let mut failed = goodput(&lab, Path::new(&forwarder), rounds)?;
    failed += flows(&lab)?;
    failed += idle(&lab)?;
    println!("{failed} of the bounds missed");
    if failed > 0 { Err("bounds missed".into()) } else { Ok(()) }
}

/// Prints a figure beside its bound. Returns 1 if the figure misses it.
fn hold(what: &str, value: f64, at_least: bool, bound: f64) -> usize {
    let holds = if at_least { value >= bound } else { value <= bound };
    let (sign, verdict) = (if at_least { ">=" } else { "<=" }, if holds { "holds" } else { "MISSED" });
    println!("  {verdict:<6}  {what}: {value:.3} ({sign} {bound})");
    usize::from(!holds)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn start(lab: &Lab) -> Outcome<LinkEnds> {
    let ends = LinkEnds::start(lab, PortChoice::Auto, 1)?;
    tcp::wait_until_reachable(&TrafficPath::ipv4(lab), Duration::from_secs(5), &StopFlag::new())?;
    Ok(ends)
}

fn bring(ends: &LinkEnds, setup: Setup) -> Outcome<()> {
    let (loss, mode) = match setup {
        Setup::Forwarder | Setup::Dormant => (None, None),
        Setup::PassThrough(loss) => (Some(loss), None),
        Setup::Protected(mode, loss) => (Some(loss), Some(mode)),
    };
    ends.corrupt(loss.map(|rate| CorruptionModel::Iid { rate }))?;
    ends.corrupt_reverse(loss.map(|_| CorruptionModel::Iid { rate: 0.0 }))?;
    let copies = Copies::Target { target_loss: 1e-8, initial_loss: loss.unwrap_or(0.0).max(1e-8) };
    ends.protect(mode.map(|mode| ProtectionSettings { copies, ..ProtectionSettings::new(mode) }))?;
    Ok(())
}

fn transfer(lab: &Lab) -> Outcome<f64> {
    let options = BulkOptions {
        duration: Duration::from_millis(1_200),
        warm_up: Duration::from_millis(400),
        ..BulkOptions::default()
    };
    Ok(tcp::bulk(&TrafficPath::ipv4(lab), &options, &RunControl::default())?.goodput_bits_per_second)
}

fn forwarded(lab: &Lab, forwarder: &Path) -> Outcome<f64> {
    let mut children = Vec::new();
    for role in [Role::End1, Role::End2] {
        let mut command = std::process::Command::new(forwarder);
        command.args(["inner", "link"]).stdout(Stdio::null()).stderr(Stdio::null());
        children.push(lab.spawn(role, command)?);
    }
    let reached =
        tcp::wait_until_reachable(&TrafficPath::ipv4(lab), Duration::from_secs(5), &StopFlag::new());
    let goodput = transfer(lab);
    for mut child in children {
        child.kill()?;
        child.wait()?;
    }
    reached?;
    goodput
}

/// Measures bulk goodput (point 3).
fn goodput(lab: &Lab, forwarder: &Path, rounds: usize) -> Outcome<usize> {
    let mut plain = Vec::new();
    let mut passed = Vec::new();
    let mut unprotected = Vec::new();
    for round in 0..rounds {
        eprintln!("goodput, round {} of {rounds}", round + 1);
        plain.push(forwarded(lab, forwarder)?);
        let ends = start(lab)?;
        bring(&ends, Setup::PassThrough(0.0))?;
        passed.push(transfer(lab)?);
        bring(&ends, Setup::PassThrough(1e-2))?;
        unprotected.push(transfer(lab)?);
    }
    println!("bulk goodput (CUBIC), {rounds} connections each, in turns:");
    show(Setup::Forwarder, &mut plain);
    show(Setup::PassThrough(0.0), &mut passed);
    show(Setup::PassThrough(1e-2), &mut unprotected);
    let mut failed = hold(
        "passed through over the plainest forwarder",
        median(&mut passed) / median(&mut plain),
        true,
        0.9,
    );
    println!(
        "  unprotected at 1e-2 over passed through: {:.3}",
        median(&mut unprotected) / median(&mut passed)
    );
    failed += one_connection(lab, 2 * rounds)?;
    Ok(failed)
}

fn show(setup: Setup, goodputs: &mut [f64]) {
    let middle = median(goodputs);
    let (low, high) =
        (goodputs.first().copied().unwrap_or(f64::NAN), goodputs.last().copied().unwrap_or(f64::NAN));
    println!("  {:32} {:.2} Gb/s ({:.2} to {:.2})", setup.label(), middle / 1e9, low / 1e9, high / 1e9);
}

/// Measures one transfer over a link whose setup changes every 0.6 s: the two setups of each comparison right after one
/// another, alternating in order, and the median of the ratios of each pair. Two connections over the same setup differ
/// by a quarter, because the scheduler happens to place their threads differently, and the machine's speed drifts as
/// much within a minute; neighbouring slots of one connection are alike.
fn one_connection(lab: &Lab, pairs: usize) -> Outcome<usize> {
    let ordered = |loss| Setup::Protected(Mode::Ordered, loss);
    let non_blocking = |loss| Setup::Protected(Mode::NonBlocking, loss);
    let lanes: [(&str, Lane); 2] = [("ordered", ordered), ("non-blocking", non_blocking)];
    let mut comparisons = Vec::new();
    for (name, lane) in lanes {
        comparisons.push((format!("{name} at 1e-3 over {name} without loss"), lane(1e-3), lane(0.0), 0.97));
        comparisons.push((format!("{name} at 1e-2 over {name} without loss"), lane(1e-2), lane(0.0), 0.85));
        comparisons.push((
            format!("{name} without loss over passed through"),
            lane(0.0),
            Setup::PassThrough(0.0),
            0.9,
        ));
    }
    let ends = start(lab)?;
    let options = BulkOptions {
        duration: SLOT * (3 * comparisons.len() * pairs) as u32,
        warm_up: Duration::ZERO,
        sample_interval: Duration::from_millis(25),
        ..BulkOptions::default()
    };
    let control = RunControl::default();
    let path = TrafficPath::ipv4(lab);
    let (slots, report) = std::thread::scope(|scope| -> Outcome<_> {
        let transfer = scope.spawn(|| tcp::bulk(&path, &options, &control));
        let begun = Instant::now();
        let mut slots = Vec::new();
        for pair in 0..pairs {
            eprintln!("goodput in one connection, pair {} of {pairs}", pair + 1);
            for (index, (_, upper, lower, _)) in comparisons.iter().enumerate() {
                let upper_first = (pair + index) % 2 == 0;
                let [first, second] = if upper_first { [*upper, *lower] } else { [*lower, *upper] };
                let (first, second) = (slot(&ends, first, begun)?, slot(&ends, second, begun)?);
                slots.push((index, if upper_first { [first, second] } else { [second, first] }));
            }
        }
        control.stop.stop();
        let report = transfer.join().map_err(|_| "the transfer panicked")??;
        Ok((slots, report))
    })?;
    let goodput = |(from, to): (u64, u64)| {
        let inside =
            report.samples.iter().filter(|sample| sample.at_ns > from + 25_000_000 && sample.at_ns <= to);
        let (count, sum) =
            inside.fold((0.0, 0.0), |(count, sum), s| (count + 1.0, sum + s.goodput_bits_per_second));
        sum / count
    };
    println!("bulk goodput (CUBIC) within one connection, {pairs} pairs each, medians:");
    let mut failed = 0;
    for (index, (name, _, _, bound)) in comparisons.iter().enumerate() {
        let of_this = slots.iter().filter(|(other, _)| *other == index);
        let [mut uppers, mut lowers, mut ratios] = [Vec::new(), Vec::new(), Vec::new()];
        for (_, [upper, lower]) in of_this {
            let (upper, lower) = (goodput(*upper), goodput(*lower));
            uppers.push(upper / 1e9);
            lowers.push(lower / 1e9);
            ratios.push(upper / lower);
        }
        let name = format!("{name} ({:.2} / {:.2} Gb/s)", median(&mut uppers), median(&mut lowers));
        failed += hold(&name, median(&mut ratios), true, *bound);
    }
    Ok(failed)
}

/// Brings the link into a setup for a while. Returns its time span in ns since `begun`, without the beginning.
fn slot(ends: &LinkEnds, setup: Setup, begun: Instant) -> Outcome<(u64, u64)> {
    bring(ends, setup)?;
    std::thread::sleep(SETTLE);
    let from = begun.elapsed().as_nanos() as u64;
    std::thread::sleep(SLOT - SETTLE);
    Ok((from, begun.elapsed().as_nanos() as u64))
}

/// Measures completion times of 24,387 B flows at 1e-3 (point 4).
fn flows(lab: &Lab) -> Outcome<usize> {
    let ends = start(lab)?;
    let setups = [
        Setup::Dormant,
        Setup::PassThrough(0.0),
        Setup::PassThrough(1e-3),
        Setup::Protected(Mode::Ordered, 1e-3),
        Setup::Protected(Mode::NonBlocking, 1e-3),
    ];
    let mut samples: Vec<(Setup, Vec<u64>, u64)> =
        setups.into_iter().map(|setup| (setup, Vec::new(), 0)).collect();
    for round in 0..4 {
        eprintln!("flow completion times, round {} of 4", round + 1);
        for (setup, times, retransmitted) in &mut samples {
            bring(&ends, *setup)?;
            let options = FlowOptions {
                count: 2_500,
                congestion_control: Some("cubic".to_owned()),
                ..FlowOptions::default()
            };
            let report = tcp::flows(&TrafficPath::ipv4(lab), &options, &RunControl::default())?;
            times.extend(report.samples_ns);
            *retransmitted += report.retransmitted_segments;
        }
    }
    println!("completion times of 24,387 B flows, 10,000 each, in turns:");
    let mut p999 = Vec::new();
    for (setup, times, retransmitted) in &samples {
        let summary = Summary::from_samples(times).ok_or("no flow finished")?;
        println!(
            "  {:32} p50 {:.0} us, p99 {:.0} us, p99.9 {:.0} us, max {:.0} us, {retransmitted} segments retransmitted",
            setup.label(),
            summary.p50 as f64 / 1e3,
            summary.p99 as f64 / 1e3,
            summary.p99_9 as f64 / 1e3,
            summary.max as f64 / 1e3
        );
        p999.push(summary.p99_9 as f64);
    }
    let [dormant, passed, unprotected, ordered, non_blocking] = p999[..] else {
        return Err("five setups".into());
    };
    let mut failed = 0;
    for (name, protected) in [("ordered", ordered), ("non-blocking", non_blocking)] {
        failed += hold(&format!("p99.9 unprotected over {name}"), unprotected / protected, true, 10.0);
        failed += hold(
            &format!("p99.9 {name} over healthy, forwarded by the daemons"),
            protected / passed,
            false,
            2.0,
        );
        failed += hold(&format!("p99.9 {name} over healthy, dormant"), protected / dormant, false, 2.0);
    }
    Ok(failed)
}

/// Measures the cost of idle links (point 6) as the CPU time of this process, which runs both loops and otherwise
/// sleeps.
fn idle(lab: &Lab) -> Outcome<usize> {
    let ends = start(lab)?;
    println!("CPU time of one idle link end, in per cent of a core:");
    let mut failed = 0;
    for (setup, bound) in [(Setup::Dormant, 0.1), (Setup::Protected(Mode::Ordered, 0.0), 5.0)] {
        bring(&ends, setup)?;
        if setup != Setup::Dormant {
            ends.corrupt(None)?;
            ends.corrupt_reverse(None)?;
            ends.protect_reverse(Some(ProtectionSettings::new(Mode::Ordered)))?;
        }
        std::thread::sleep(Duration::from_secs(3));
        let before = cpu_seconds()?;
        std::thread::sleep(Duration::from_secs(10));
        let share = (cpu_seconds()? - before) / 10.0 / 2.0 * 100.0;
        let what = if setup == Setup::Dormant { "dormant" } else { "active, both directions" };
        failed += hold(what, share, false, bound);
    }
    Ok(failed)
}

/// CPU time of this process so far, in ns from the scheduler's own account (schedstat), which does not depend on ticks.
fn cpu_seconds() -> Outcome<f64> {
    let mut total = 0.0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        total += text.split_whitespace().next().ok_or("empty schedstat")?.parse::<f64>()? / 1e9;
    }
    Ok(total)
}
