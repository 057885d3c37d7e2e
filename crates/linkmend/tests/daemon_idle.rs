//! The cost of a protected link while it is idle. Needs root and iproute2.

mod daemon_lab;

use daemon_lab::Lab;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Share of one core, for each direction that is protected, on a core on which a bare wake-up costs [`BARE_WAKE_S`].
/// Measured on a core that another process shares: 1.1 % at the sending end (202 wake-ups a second, for a keepalive every
/// 10 ms and its answer) and 0.8 % at the receiving one (103) with optimisation; 1.2 to 1.9 % and 1.1 to 1.4 % without; dormant 0.1 % (6).
const SHARE_MAX: f64 = 0.02;
/// The factor that unoptimised code may take; measured: up to 1.7.
const UNOPTIMISED: f64 = 2.0;
/// Wake-ups per second and direction, which are the cost of an idle link in any build and on any machine.
const WAKES_MAX: f64 = 500.0;
/// Share of one core for a dormant daemon.
const DORMANT_SHARE_MAX: f64 = 0.002;
/// What a thread that only sleeps and wakes takes for each wake-up there. A slower core is judged by its own: at 41 us, the same
/// daemon takes 2.8 to 4.0 % without optimisation, and 0.2 % while dormant.
const BARE_WAKE_S: f64 = 20e-6;
const WINDOW: Duration = Duration::from_secs(1);
/// A busy machine makes the same work more expensive (cold caches, a sibling on the same core), never cheaper, so the
/// cheapest window counts.
const WINDOWS: u32 = 6;

/// The resources that a process has used so far.
#[derive(Clone, Copy)]
struct Used {
    at: Instant,
    processor_s: f64,
    wakes: f64,
}

/// Processor time and voluntary switches of all threads of a process (proc(5)). No wall time: a thread that waits for a
/// core uses none.
fn used(process: u32) -> Used {
    let (mut processor_s, mut wakes) = (0.0, 0.0);
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let threads: Vec<PathBuf> = threads.map(|thread| thread.expect("a thread").path()).collect();
    for thread in threads {
        let schedstat = fs::read_to_string(thread.join("schedstat")).expect("the kernel counts");
        let ns: f64 = schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds");
        processor_s += ns / 1e9;
        let status = fs::read_to_string(thread.join("status")).expect("the kernel counts");
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        wakes += line.and_then(|count| count.trim().parse::<f64>().ok()).expect("a count");
    }
    Used { at: Instant::now(), processor_s, wakes }
}

/// The share of a core and the wake-ups per second of each process, in the cheapest of several windows.
fn cheapest(processes: [u32; 2]) -> [(f64, f64); 2] {
    let mut least = [(f64::INFINITY, f64::INFINITY); 2];
    for _ in 0..WINDOWS {
        let before = processes.map(used);
        std::thread::sleep(WINDOW);
        for ((least, before), process) in least.iter_mut().zip(before).zip(processes) {
            let after = used(process);
            let seconds = (after.at - before.at).as_secs_f64();
            let share = (after.processor_s - before.processor_s) / seconds;
            let wakes = (after.wakes - before.wakes) / seconds;
            *least = (least.0.min(share), least.1.min(wakes));
        }
    }
    least
}

/// The processor time of one wake-up of a thread that does nothing else, in the cheapest of several windows.
fn bare_wake_s() -> f64 {
    const WAKES: u32 = 200;
    let used = || -> f64 {
        let schedstat = fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts");
        schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds")
    };
    let window = |_| {
        let before = used();
        (0..WAKES).for_each(|_| std::thread::sleep(WINDOW / WAKES));
        (used() - before) / 1e9 / f64::from(WAKES)
    };
    (0..WINDOWS).map(window).fold(f64::INFINITY, f64::min)
}

#[test]
fn an_idle_link_takes_less_than_2_percent_of_a_core_for_each_protected_direction() {
    let Some(mut lab) = Lab::new("idle") else { return };
    let (left, right) = (lab.left.clone(), lab.right.clone());
    let first = lab.start(&left, "left", "--mode off");
    let second = lab.start(&right, "right", "--mode off");
    let bare = bare_wake_s();
    let _ = std::io::stderr().write_all(format!("a bare wake-up: {:.1} us\n", bare * 1e6).as_bytes());
    let build = if cfg!(debug_assertions) { UNOPTIMISED } else { 1.0 } * (bare / BARE_WAKE_S).max(1.0);
    let control = lab.socket("left").display().to_string();
    let check = |state: &str, share_max: f64, wakes_max: f64| {
        let costs = cheapest([first, second].map(|daemon| lab.daemons[daemon].id()));
        for (end, (share, wakes)) in ["left", "right"].into_iter().zip(costs) {
            let line =
                format!("{state}, {end}: {:.2} % of a core, {wakes:.0} wake-ups a second\n", share * 100.0);
            let _ = std::io::stderr().write_all(line.as_bytes());
            assert!(share < share_max * build && wakes < wakes_max, "{line}");
        }
    };
    check("dormant", DORMANT_SHARE_MAX, WAKES_MAX / 10.0);
    assert_eq!(lab.ask(&format!("protect left --control {control}")).0, 0);
    lab.wait_for_log("right", "the peer protects its frames");
    check("one direction protected", SHARE_MAX, WAKES_MAX);
    let control = lab.socket("right").display().to_string();
    assert_eq!(lab.ask(&format!("protect right --control {control}")).0, 0);
    lab.wait_for_log("left", "the peer protects its frames");
    check("both directions protected", 2.0 * SHARE_MAX, 2.0 * WAKES_MAX);
}
