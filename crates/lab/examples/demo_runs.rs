//! Checks that the demo's results are stable: runs it a number of times in a row, without and with another process that
//! takes 30 % of every processor, and prints a line for each run beside the bounds.
//!
//!     cargo run --release -p linkmend-lab --example demo_runs -- [RUNS [FOLDER [calm|load]]]
//!
//! Every run is a separate process that does what `linkmend demo --json` does. With FOLDER, the results are kept there.
//! The exit code is 3 if no run misses a bound, but some say that the machine disturbed them too much to judge.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::error::Error;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use linkmend_lab::StopFlag;
use linkmend_lab::demo::{Condition, DemoOptions, DemoResult, Observer, Part, Step, run};
use linkmend_lab::unprivileged::{Privileges, ensure_privileges};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The variable that tells a copy of this program its role.
const ROLE: &str = "LINKMEND_DEMO_RUNS_ROLE";
/// How much of every period the load takes.
const LOAD_BUSY: Duration = Duration::from_millis(3);
const LOAD_PERIOD: Duration = Duration::from_millis(10);
/// The share of runs that may report that they were disturbed.
const DISTURBED_SHARE_MAX: f64 = 0.1;

/// The exit code if no run misses a bound, but some are not judged.
const NOT_JUDGED: u8 = 3;

fn main() -> Outcome<ExitCode> {
    match std::env::var(ROLE).as_deref() {
        Ok("demo") => demo().map(|()| ExitCode::SUCCESS),
        Ok("load") => load().map(|()| ExitCode::SUCCESS),
        _ => series(),
    }
}

/// Runs one demo and prints its results on standard output.
fn demo() -> Outcome<()> {
    struct Quiet;
    impl Observer for Quiet {
        fn step(&self, _: &Step<'_>) {}
    }
    let privileges = ensure_privileges()?;
    let mut options = DemoOptions::standard(Part::Link);
    options.packet_ports = privileges != Privileges::Root;
    options.seed = std::env::var("LINKMEND_DEMO_RUNS_SEED").map_or(Ok(1), |seed| seed.parse())?;
    options.prefix = format!("lmruns{}", std::process::id());
    println!("{}", serde_json::to_string(&run(&options, &StopFlag::new(), &Quiet)?)?);
    Ok(())
}

/// Keeps every processor busy for 30 % of the time, until it is killed.
fn load() -> Outcome<()> {
    let processors = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                loop {
                    let begun = Instant::now();
                    while begun.elapsed() < LOAD_BUSY {
                        std::hint::spin_loop();
                    }
                    std::thread::sleep(LOAD_PERIOD.saturating_sub(begun.elapsed()));
                }
            });
        }
    });
    Ok(())
}

fn copy_of_this(role: &str) -> Outcome<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.env(ROLE, role).stdin(Stdio::null());
    Ok(command)
}

/// Ends the load when the series ends, for whatever reason.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn series() -> Outcome<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    let runs: u32 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let folder = arguments.next();
    let only = arguments.next();
    let (mut missed, mut not_judged) = (0, 0);
    for (name, loaded) in [("calm", false), ("load", true)] {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let _load = loaded
            .then(|| copy_of_this("load")?.spawn().map(Load).map_err(Box::<dyn Error>::from))
            .transpose()?;
        println!("{}", if loaded { "with 30 % of every processor taken:" } else { "the machine as it is:" });
        println!("{}", Line::HEADING);
        let (mut disturbed, mut failed) = (0, 0);
        for number in 1..=runs {
            let output = copy_of_this("demo")?.env("LINKMEND_DEMO_RUNS_SEED", number.to_string()).output()?;
            if !output.status.success() {
                println!("{number:>3}  {}", String::from_utf8_lossy(&output.stderr).trim());
                failed += 1;
                continue;
            }
            if let Some(folder) = &folder {
                std::fs::create_dir_all(folder)?;
                std::fs::write(Path::new(folder).join(format!("{name}-{number}.json")), &output.stdout)?;
            }
            let line = Line::new(&serde_json::from_slice(&output.stdout)?);
            println!("{number:>3}  {line}");
            disturbed += u32::from(line.disturbed);
            failed += u32::from(!line.disturbed && !line.holds());
        }
        let too_many = f64::from(disturbed) > (DISTURBED_SHARE_MAX * f64::from(runs)).ceil();
        println!("{runs} runs: {failed} missed a bound, {disturbed} said that they were disturbed\n");
        missed += failed + u32::from(too_many);
        not_judged += disturbed;
    }
    match (missed, not_judged) {
        (0, 0) => Ok(ExitCode::SUCCESS),
        (0, _) => Ok(ExitCode::from(NOT_JUDGED)),
        _ => Err("the demo does not hold".into()),
    }
}

/// The figures of one run that have bounds.
struct Line {
    /// Goodput at a loss of 1e-2, ordered over unprotected: at least 5.
    better: f64,
    /// Goodput at 1e-2, ordered over healthy: at least 0.95.
    of_healthy: f64,
    /// 99.9th percentile of the short flows, unprotected over ordered: at least 10.
    flows: f64,
    /// The same without handshakes.
    flows_established: f64,
    /// Speed of the stress test, ordered over unprotected: at least 0.8.
    stress: f64,
    /// Frames lost for good in either protected mode: none.
    lost: u64,
    /// Of these, in slots that the machine disturbed.
    lost_disturbed: u64,
    /// Whether the run reports that the machine was too disturbed.
    disturbed: bool,
    seconds: f64,
    slots: String,
}

impl Line {
    const HEADING: &str = "run   x unprotected (>= 5)  of healthy (>= .95)  p99.9 x (>= 10; established)  stress (>= .8)  lost (0)  slots";

    fn new(result: &DemoResult) -> Line {
        let goodput = |condition, loss| {
            result.goodput_of("cubic", loss, condition).and_then(|row| row.goodput_bps).unwrap_or(f64::NAN)
        };
        let ordered = goodput(Condition::Ordered, 1e-2);
        let p999 = |condition| {
            let completion = result.fct_of(condition).and_then(|column| column.completion_ns.as_ref());
            completion.map_or(f64::NAN, |summary| summary.p99_9 as f64)
        };
        let established = |condition| {
            let completion = result.fct_of(condition).and_then(|column| column.established_ns.as_ref());
            completion.map_or(f64::NAN, |summary| summary.p99_9 as f64)
        };
        let protected = || {
            [Condition::Ordered, Condition::NonBlocking].map(|c| result.stress_of(c)).into_iter().flatten()
        };
        let all = result.noise.all();
        Line {
            better: ordered / goodput(Condition::Unprotected, 1e-2),
            of_healthy: ordered / goodput(Condition::Healthy, 0.0),
            flows: p999(Condition::Unprotected) / p999(Condition::Ordered),
            flows_established: established(Condition::Unprotected) / established(Condition::Ordered),
            stress: result.stress_of(Condition::Ordered).and_then(|c| c.effective_speed).unwrap_or(f64::NAN),
            lost: protected().map(|column| column.frames_lost).sum(),
            lost_disturbed: protected().map(|column| column.frames_lost_disturbed).sum(),
            disturbed: all.too_disturbed,
            seconds: result.seconds,
            slots: format!("{} of {} disturbed, {} repeated", all.disturbed, all.slots, all.repeated),
        }
    }

    fn holds(&self) -> bool {
        self.better >= 5.0
            && self.of_healthy >= 0.95
            && self.flows >= 10.0
            && self.stress >= 0.8
            && self.lost == 0
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verdict = match (self.disturbed, self.holds()) {
            (true, _) => "DISTURBED",
            (false, true) => "holds",
            (false, false) => "MISSED",
        };
        write!(
            f,
            "{:>22.1}  {:>19.3}  {:>15.1}; {:>11.1}  {:>14.3}  {:>4}+{:<3}  {}, {:.0} s: {verdict}",
            self.better,
            self.of_healthy,
            self.flows,
            self.flows_established,
            self.stress,
            self.lost,
            self.lost_disturbed,
            self.slots,
            self.seconds
        )
    }
}
