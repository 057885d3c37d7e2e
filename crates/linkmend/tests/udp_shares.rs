//! A link over UDP beside a connection of the kernel's CUBIC on one bottleneck, and what its hosts see of its queue. Needs root,
//! iproute2, the kernel's token bucket (tc tbf), and nft for marks.
//!
//! A busy machine slows the bottleneck down. A turn in which the two did not fill it together says nothing and is repeated;
//! if too many do, the test says so and ends.

mod daemon_lab;

use daemon_lab::{Lab, PATIENCE, ip};
use linkmend_lab::Namespace;
use nix::sys::socket::{setsockopt, sockopt};
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The bottleneck, and its buffer: 40 ms.
const RATE_BPS: f64 = 20e6;
const BUFFER_BYTES: u32 = 100_000;
/// Segments that fit into a datagram each.
const SEGMENT_BYTES: u32 = 1_300;
/// Before it is measured, and meanwhile.
const WARM_UP: Duration = Duration::from_secs(4);
const MEASURED: Duration = Duration::from_secs(8);
const TURNS: usize = 3;
const TURNS_MAX: usize = 8;
/// The share of the bottleneck that payloads fill, headers aside, if nothing disturbs.
const FILLED: f64 = 0.8;

/// The two machines, with a bottleneck from the left one to the right one, and the link over UDP.
struct World {
    lab: Lab,
}

impl World {
    fn new(test: &str, more: &str) -> Option<World> {
        let mut lab = Lab::new(test)?;
        for (namespace, address) in [(&lab.left, "10.77.0.1/24"), (&lab.right, "10.77.0.2/24")] {
            assert!(ip(&format!("-n {namespace} link set lo up")));
            assert!(ip(&format!("-n {namespace} address add {address} dev l0")));
        }
        let bucket = format!("qdisc add dev l0 root tbf rate 20mbit burst 3100 limit {BUFFER_BYTES}");
        let tc = Command::new("ip").args(["netns", "exec", &lab.left, "tc"]).args(bucket.split(' ')).status();
        assert!(tc.is_ok_and(|status| status.success()), "no token bucket");
        for (namespace, end, link, address) in [
            (lab.right.clone(), "right", "udp:listen", "10.99.0.2/24"),
            (lab.left.clone(), "left", "udp:10.77.0.2", "10.99.0.1/24"),
        ] {
            let options = format!("--inner create:host --name {end} --link {link} {more}");
            lab.start_alone(&namespace, end, &options);
            assert!(ip(&format!("-n {namespace} address add {address} dev host")));
        }
        let begun = Instant::now();
        while !lab.status("left").contains("active") {
            assert!(begun.elapsed() < PATIENCE, "no protection: {}", lab.read_log("left"));
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(World { lab })
    }

    /// A connection from the left machine to the right one, beside or through the tunnel.
    fn connect(&self, address: &'static str) -> (TcpStream, TcpStream) {
        let [left, right] =
            [&self.lab.left, &self.lab.right].map(|name| Namespace::open(name).expect("a namespace"));
        let listener = right.run(|| TcpListener::bind((address, 0)).expect("an address")).expect("it");
        let to: SocketAddr = listener.local_addr().expect("bound");
        setsockopt(&listener, sockopt::TcpMaxSeg, &SEGMENT_BYTES).expect("a socket");
        let out = left.run(|| TcpStream::connect(to).expect("it answers")).expect("the namespace");
        setsockopt(&out, sockopt::TcpCongestion, &OsString::from("cubic")).expect("the kernel has CUBIC");
        (out, listener.accept().expect("connected").0)
    }

    /// The payload that each connection carries in the time that is measured, in bit/s.
    fn run(&self, addresses: &[&'static str], meanwhile: impl FnOnce()) -> Vec<f64> {
        let is_over = AtomicBool::new(false);
        let counts: Vec<AtomicU64> = addresses.iter().map(|_| AtomicU64::new(0)).collect();
        let pairs: Vec<_> = addresses.iter().map(|address| self.connect(address)).collect();
        std::thread::scope(|scope| {
            for ((mut out, mut back), count) in pairs.into_iter().zip(&counts) {
                let is_over = &is_over;
                out.set_write_timeout(Some(Duration::from_millis(200))).expect("a socket");
                back.set_read_timeout(Some(Duration::from_millis(200))).expect("a socket");
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let _ = out.write(&[0; 16_384]);
                    }
                });
                scope.spawn(move || {
                    let mut buffer = [0; 65_536];
                    while !is_over.load(Ordering::Relaxed) {
                        count.fetch_add(back.read(&mut buffer).unwrap_or(0) as u64, Ordering::Relaxed);
                    }
                });
            }
            std::thread::sleep(WARM_UP);
            let read = || counts.iter().map(|count| count.load(Ordering::Relaxed)).collect::<Vec<_>>();
            let (before, begun) = (read(), Instant::now());
            meanwhile();
            std::thread::sleep(MEASURED.saturating_sub(begun.elapsed()));
            let (after, took) = (read(), begun.elapsed().as_secs_f64());
            is_over.store(true, Ordering::Relaxed);
            before.iter().zip(after).map(|(before, after)| (after - before) as f64 * 8.0 / took).collect()
        })
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Repeats turns until enough were undisturbed. `None`, loudly, if the machine is too busy.
fn turns(mut turn: impl FnMut() -> Option<f64>) -> Option<Vec<f64>> {
    let mut good = Vec::new();
    for _ in 0..TURNS_MAX {
        good.extend(turn());
        if good.len() == TURNS {
            return Some(good);
        }
    }
    let _ = writeln!(std::io::stderr(), "\n######## NOT MEASURED: the machine is too busy ########\n");
    None
}

const BESIDE: &str = "10.77.0.2";
const THROUGH: &str = "10.99.0.2";

#[test]
fn a_link_over_udp_shares_a_bottleneck_with_cubic() {
    let Some(world) = World::new("shares", "") else { return };
    let shares = turns(|| {
        let rates = world.run(&[BESIDE, THROUGH], || ());
        eprintln!("beside {:.1} Mbit/s, through the link {:.1} Mbit/s", rates[0] / 1e6, rates[1] / 1e6);
        eprintln!("{}", world.lab.status("left"));
        (rates[0] + rates[1] > FILLED * RATE_BPS).then_some(rates[1] / rates[0])
    });
    let Some(mut shares) = shares else { return };
    eprintln!("shares {shares:.2?}");
    let share = median(&mut shares);
    assert!((0.5..=2.0).contains(&share), "{share:.2} of CUBIC's share: {shares:.2?}");
}

#[test]
fn hosts_see_no_long_queue_beside_a_bulk_transfer() {
    let Some(world) = World::new("bloat", "") else { return };
    let waits = turns(|| {
        let mut wait_ms = f64::NAN;
        let rates = world.run(&[THROUGH], || wait_ms = ping_ms(&world.lab.left));
        eprintln!("{:.1} Mbit/s, ping {wait_ms:.1} ms", rates[0] / 1e6);
        (rates[0] > FILLED * RATE_BPS && wait_ms.is_finite()).then_some(wait_ms)
    });
    let Some(mut waits) = waits else { return };
    let wait_ms = median(&mut waits);
    assert!(wait_ms < 40.0, "{wait_ms} ms: {waits:.1?}");
}

/// Instead of a queue that marks, which this kernel may not have.
const MARKS: &str = "table ip marks { chain out { type filter hook output priority mangle; \
    udp dport 34997 ip ecn ect0 limit rate over 1250 kbytes/second burst 20 kbytes ip ecn set ce; }; }";

/// What becomes of marks is tested in virtual time: four datagrams in this path's round trip are more than what is not marked.
#[test]
fn what_may_be_marked_is_and_is_counted() {
    for (name, more, is_marked) in [("marks", "", true), ("unmarked", "--congestion none", false)] {
        let Some(world) = World::new(name, more) else { return };
        let nft = Command::new("ip").args(["netns", "exec", &world.lab.left, "nft", MARKS]).status();
        if !nft.is_ok_and(|status| status.success()) {
            let _ = writeln!(std::io::stderr(), "\n######## SKIPPED: nft cannot mark here ########\n");
            return;
        }
        let rates = world.run(&[THROUGH], || ());
        let control = world.lab.socket("right");
        let (_, out, err) = world.lab.ask(&format!("status right --json --control {}", control.display()));
        let report: serde_json::Value = serde_json::from_str(&out).expect(&err);
        let marked = report["link"]["udp"]["marked_datagrams"].as_u64().expect("a number");
        eprintln!("{more}: {:.1} Mbit/s, {marked} marked", rates[0] / 1e6);
        assert_eq!(marked >= 100, is_marked, "{marked}");
        assert!(is_marked || marked == 0, "{marked}");
    }
}

/// The median of what `ping` reports.
fn ping_ms(namespace: &str) -> f64 {
    let ping = format!("netns exec {namespace} ping -i 0.05 -W 2 -c 120 {THROUGH}");
    let output = Command::new("ip").args(ping.split_whitespace()).output().expect("ping");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let time = |line: &str| line.split_once("time=")?.1.split(' ').next()?.parse().ok();
    let mut times: Vec<f64> = text.lines().filter_map(time).collect();
    if times.is_empty() { f64::NAN } else { median(&mut times) }
}
