//! Measures the figures that acceptance requires, and prints each beside its bound:
//!
//!     cargo run --release -p linkmend-lab --example acceptance -- FORWARDER [ROUNDS] [PREFIX]
//!
//! FORWARDER is the plainest AF_XDP forwarder, built from the dataplane's `forward` example. Configurations take turns
//! and medians are compared, so that a machine whose speed drifts treats all alike. As in the demo, measurements that the
//! machine disturbed are repeated; if too many stay disturbed, the bound is named and not judged. The exit code is 1 if
//! bounds are missed, and 3 if none is missed but some are not judged.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::error::Error;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use linkmend_control::CorruptionModel;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::demo::turns::{Turns, take_turns};
use linkmend_lab::demo::{DemoOptions, NoiseSummary, Part, TurnPlan};
use linkmend_lab::noise::{NoiseWatch, Watch};
use linkmend_lab::tcp::{self, BulkOptions, FlowOptions, TrafficPath};
use linkmend_lab::{Lab, LabOptions, LinkEnds, Role, RunControl, StopFlag, Summary};
use linkmend_protocol::{Copies, Mode};

/// A mode, as a function from loss rates to setups.
type Lane = fn(f64) -> Setup;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long a setup stays in [`one_connection`], and how much of that time is not measured.
const SLOT: Duration = Duration::from_millis(600);
const SETTLE: Duration = Duration::from_millis(150);

/// Flows of each turn, and turns of each setup: 10,000 flows, ten of which are above the 99.9th percentile.
const FLOWS: u64 = 2_500;
const FLOW_ROUNDS: usize = 4;

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

/// How many bounds do not hold.
#[derive(Default)]
struct Verdicts {
    missed: usize,
    not_judged: usize,
}

/// What the exit code says if no bound is missed, but some are not judged.
const NOT_JUDGED: u8 = 3;

fn main() -> Outcome<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    let forwarder = arguments.next().ok_or("usage: acceptance FORWARDER [ROUNDS] [PREFIX]")?;
    let rounds: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let prefix = arguments.next().unwrap_or_else(|| "lmacc".to_owned());
    let lab = Lab::up(LabOptions { prefix, remove_on_drop: true, ..LabOptions::default() })?;
    let mut verdicts = Verdicts::default();
    goodput(&lab, Path::new(&forwarder), rounds, &mut verdicts)?;
    flows(&lab, &mut verdicts)?;
    idle(&lab, &mut verdicts)?;
    let Verdicts { missed, not_judged } = verdicts;
    println!("{missed} of the bounds missed, {not_judged} not judged");
    Ok(match (missed, not_judged) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(NOT_JUDGED),
        _ => ExitCode::FAILURE,
    })
}

impl Verdicts {
    /// Prints a figure beside its bound, and judges it unless the machine was too disturbed.
    fn hold(&mut self, what: &str, value: f64, at_least: bool, bound: f64, noise: &NoiseSummary) {
        let holds = if at_least { value >= bound } else { value <= bound };
        let sign = if at_least { ">=" } else { "<=" };
        let verdict = match (noise.too_disturbed, holds) {
            (true, _) => "NOT JUDGED",
            (false, true) => "holds",
            (false, false) => "MISSED",
        };
        println!("  {verdict:<10}  {what}: {value:.3} ({sign} {bound})");
        self.not_judged += usize::from(noise.too_disturbed);
        self.missed += usize::from(!noise.too_disturbed && !holds);
    }
}

/// The demo's turns, with so many rounds.
fn turns(rounds: usize, conditions: usize) -> TurnPlan {
    DemoOptions { rounds, ..DemoOptions::standard(Part::Link) }.turns(conditions)
}

/// A measurement, and how the machine disturbed it.
fn watched<T>(
    watch: &mut NoiseWatch,
    measure: impl FnOnce() -> Outcome<T>,
) -> Outcome<(T, linkmend_lab::noise::Disturbance)> {
    watch.begin();
    let measured = measure()?;
    Ok((measured, watch.end()))
}

fn say(noise: &NoiseSummary) {
    println!("  {} of {} measurements disturbed, {} repeated", noise.disturbed, noise.slots, noise.repeated);
}

fn usable(turns: &Turns<f64>, condition: usize) -> Vec<f64> {
    turns.usable(condition).copied().collect()
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
fn goodput(lab: &Lab, forwarder: &Path, rounds: usize, verdicts: &mut Verdicts) -> Outcome<()> {
    let setups = [Setup::Forwarder, Setup::PassThrough(0.0), Setup::PassThrough(1e-2)];
    let mut watch = NoiseWatch::start();
    let (turns, noise) = take_turns(&turns(rounds, setups.len()), setups.len(), |index, round| {
        eprintln!("goodput, round {} of {rounds}", round + 1);
        if setups[index] == Setup::Forwarder {
            return watched(&mut watch, || forwarded(lab, forwarder));
        }
        let ends = start(lab)?;
        bring(&ends, setups[index])?;
        watched(&mut watch, || transfer(lab))
    })?;
    println!("bulk goodput (CUBIC), {rounds} connections each, in turns:");
    say(&noise);
    let [mut plain, mut passed, mut unprotected] = [0, 1, 2].map(|index| usable(&turns, index));
    for (setup, goodputs) in setups.into_iter().zip([&mut plain, &mut passed, &mut unprotected]) {
        show(setup, goodputs);
    }
    let ratio = median(&mut passed) / median(&mut plain);
    verdicts.hold("passed through over the plainest forwarder", ratio, true, 0.9, &noise);
    println!(
        "  unprotected at 1e-2 over passed through: {:.3}",
        median(&mut unprotected) / median(&mut passed)
    );
    one_connection(lab, 2 * rounds, &mut watch, verdicts)
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
fn one_connection(lab: &Lab, pairs: usize, watch: &mut NoiseWatch, verdicts: &mut Verdicts) -> Outcome<()> {
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
    let plan = turns(pairs, comparisons.len());
    let options = BulkOptions {
        // It is stopped after the last slot.
        duration: SLOT * (3 * (comparisons.len() * pairs + plan.repeats)) as u32,
        warm_up: Duration::ZERO,
        sample_interval: Duration::from_millis(25),
        ..BulkOptions::default()
    };
    let control = RunControl::default();
    let path = TrafficPath::ipv4(lab);
    let (taken, noise, report) = std::thread::scope(|scope| -> Outcome<_> {
        let transfer = scope.spawn(|| tcp::bulk(&path, &options, &control));
        let begun = Instant::now();
        let taken = take_turns(&plan, comparisons.len(), |index, pair| {
            eprintln!("goodput in one connection, pair {} of {pairs}", pair + 1);
            let (_, upper, lower, _) = comparisons[index];
            let upper_first = (pair + index) % 2 == 0;
            let [first, second] = if upper_first { [upper, lower] } else { [lower, upper] };
            watched(watch, || {
                let (first, second) = (slot(&ends, first, begun)?, slot(&ends, second, begun)?);
                Ok(if upper_first { [first, second] } else { [second, first] })
            })
        });
        control.stop.stop();
        let report = transfer.join().map_err(|_| "the transfer panicked")??;
        let (taken, noise) = taken?;
        Ok((taken, noise, report))
    })?;
    let goodput = |(from, to): (u64, u64)| {
        let inside =
            report.samples.iter().filter(|sample| sample.at_ns > from + 25_000_000 && sample.at_ns <= to);
        let (count, sum) =
            inside.fold((0.0, 0.0), |(count, sum), s| (count + 1.0, sum + s.goodput_bits_per_second));
        sum / count
    };
    println!("bulk goodput (CUBIC) within one connection, {pairs} pairs each, medians:");
    say(&noise);
    for (index, (name, _, _, bound)) in comparisons.iter().enumerate() {
        let of_this = taken.usable(index).map(|pair| pair.map(goodput));
        let (mut uppers, mut lowers): (Vec<f64>, Vec<f64>) =
            of_this.map(|[upper, lower]| (upper, lower)).unzip();
        let mut ratios: Vec<f64> = uppers.iter().zip(&lowers).map(|(upper, lower)| upper / lower).collect();
        let name =
            format!("{name} ({:.2} / {:.2} Gb/s)", median(&mut uppers) / 1e9, median(&mut lowers) / 1e9);
        verdicts.hold(&name, median(&mut ratios), true, *bound, &noise);
    }
    Ok(())
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
fn flows(lab: &Lab, verdicts: &mut Verdicts) -> Outcome<()> {
    let ends = start(lab)?;
    let setups = [
        Setup::Dormant,
        Setup::PassThrough(0.0),
        Setup::PassThrough(1e-3),
        Setup::Protected(Mode::Ordered, 1e-3),
        Setup::Protected(Mode::NonBlocking, 1e-3),
    ];
    let mut watch = NoiseWatch::start();
    let (turns, noise) = take_turns(&turns(FLOW_ROUNDS, setups.len()), setups.len(), |index, round| {
        eprintln!("flow completion times, round {} of {FLOW_ROUNDS}", round + 1);
        bring(&ends, setups[index])?;
        let options = FlowOptions {
            count: FLOWS,
            congestion_control: Some("cubic".to_owned()),
            ..FlowOptions::default()
        };
        watched(&mut watch, || {
            let report = tcp::flows(&TrafficPath::ipv4(lab), &options, &RunControl::default())?;
            Ok((report.samples_ns, report.retransmitted_segments))
        })
    })?;
    println!("completion times of 24,387 B flows, in {FLOW_ROUNDS} turns of {FLOWS} each:");
    say(&noise);
    let mut p999 = Vec::new();
    for (index, setup) in setups.into_iter().enumerate() {
        let times: Vec<u64> = turns.usable(index).flat_map(|(times, _)| times).copied().collect();
        let retransmitted: u64 = turns.usable(index).map(|(_, retransmitted)| retransmitted).sum();
        let summary = Summary::from_samples(&times).ok_or("no flow finished")?;
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
    for (name, protected) in [("ordered", ordered), ("non-blocking", non_blocking)] {
        let over_unprotected = format!("p99.9 unprotected over {name}");
        verdicts.hold(&over_unprotected, unprotected / protected, true, 10.0, &noise);
        let over_healthy = format!("p99.9 {name} over healthy, forwarded by the daemons");
        verdicts.hold(&over_healthy, protected / passed, false, 2.0, &noise);
        let over_dormant = format!("p99.9 {name} over healthy, dormant");
        verdicts.hold(&over_dormant, protected / dormant, false, 2.0, &noise);
    }
    Ok(())
}

/// Measures the cost of idle links (point 6) as the CPU time of this process, which runs both loops and otherwise
/// sleeps. What the machine does besides takes no CPU time of this process, so nothing is watched here.
fn idle(lab: &Lab, verdicts: &mut Verdicts) -> Outcome<()> {
    let ends = start(lab)?;
    println!("CPU time of one idle link end, in per cent of a core:");
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
        verdicts.hold(what, share, false, bound, &NoiseSummary::default());
    }
    Ok(())
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
