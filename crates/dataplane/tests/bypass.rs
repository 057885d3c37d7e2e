//! The bypass program under real frames: the daemon alive, dormant, stalled, dead and restarted.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use linkmend_control::Side;
use linkmend_control::report::Steering;
use linkmend_dataplane::bypass;
use linkmend_dataplane::port::Interface;
use linkmend_dataplane::{BypassMode, BypassOptions, PortChoice, PortPair, PortPairOptions, XdpMode};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{Host, Lab, SILENCE, collect, heartbeat, test_frame, wait_for};

/// A machine may take a tenth of a second from a daemon that is to count as alive.
const STALL_AFTER: Duration = Duration::from_millis(500);

fn ordinary(seed: u8) -> Vec<u8> {
    test_frame(&[0x08, 0x00], 200, seed)
}

/// A data frame in the transparent format, and what it carries.
fn protected(seed: u8) -> (Vec<u8>, Vec<u8>) {
    let original = ordinary(seed);
    let mut frame = original[..12].to_vec();
    frame.extend([0x88, 0xb5, 0x01, 0x00, seed]);
    frame.extend(&original[14..]);
    (frame, original)
}

fn retransmitted(seed: u8) -> Vec<u8> {
    let mut frame = protected(seed).0;
    frame[14] |= 1 << 3;
    frame
}

fn options(mode: BypassMode, xdp_mode: Option<XdpMode>) -> PortPairOptions {
    PortPairOptions {
        choice: PortChoice::Xdp,
        bypass: BypassOptions {
            xdp_mode,
            mode,
            stall_after: STALL_AFTER,
            known_until_ns: u64::MAX,
            tag_bytes: 0,
            offloads: false,
        },
        ..PortPairOptions::default()
    }
}

/// Runs a test in both XDP modes; `None` is the default.
fn each_mode(what: &str, mtu: u32, test: impl Fn(&Lab, Option<XdpMode>, Host, Host)) {
    for xdp_mode in [None, Some(XdpMode::Native)] {
        let Some(lab) = Lab::new(what, mtu) else {
            return;
        };
        if let Some((host1, host2)) = lab.hosts(xdp_mode) {
            test(&lab, xdp_mode, host1, host2);
        }
    }
}

/// Checks that `to` receives these frames in this order, and no others.
fn arrive(to: &mut Host, expected: &[Vec<u8>]) {
    let mut received = to.wait_for(expected.len());
    std::thread::sleep(SILENCE);
    received.extend(to.received());
    assert!(received == expected, "{} of {} frames", received.len(), expected.len());
}

/// Checks what happens to frames of every kind at the link end of a dead or stalled daemon.
fn everything_is_bypassed(host1: &mut Host, host2: &mut Host) {
    let (frame, original) = protected(7);
    for frame in [ordinary(1), frame, retransmitted(8), ordinary(2)] {
        host2.send(&frame);
    }
    arrive(host1, &[ordinary(1), original, ordinary(2)]);
    // A host's own frame of our EtherType would be decapsulated by the peer, and nobody escapes it.
    for frame in [ordinary(3), protected(9).0] {
        host1.send(&frame);
    }
    arrive(host2, &[ordinary(3)]);
}

#[test]
fn active_daemon_gets_every_frame_and_the_hosts_none() {
    each_mode("bypass, active", 1500, |lab, xdp_mode, mut host1, mut host2| {
        let PortPair { mut inner, mut links, bypass, mut pool, .. } =
            lab.open(&options(BypassMode::Active, xdp_mode)).unwrap();
        let bypass = bypass.unwrap();
        bypass.set_stall_after(Duration::MAX);
        host1.send(&ordinary(1));
        host2.send(&protected(2).0);
        assert_eq!(wait_for(1, || collect(&mut inner, &mut pool)), [ordinary(1)]);
        assert_eq!(wait_for(1, || collect(&mut links[0], &mut pool)), [protected(2).0]);
        arrive(&mut host1, &[]);
        arrive(&mut host2, &[]);
    });
}

#[test]
fn dormant_daemon_gets_only_linkmends_frames() {
    each_mode("bypass, dormant", 1500, |lab, xdp_mode, mut host1, mut host2| {
        let mut pair = lab.open(&options(BypassMode::Dormant, xdp_mode)).unwrap();
        pair.bypass.as_ref().unwrap().set_stall_after(Duration::MAX);
        let compact = test_frame(&[0xab, 0xcd, 0x00, 0x00, 0x01, 0x45], 100, 5);
        host2.send(&ordinary(1));
        host2.send(&protected(2).0);
        host2.send(&compact);
        arrive(&mut host1, &[ordinary(1)]);
        let received = wait_for(2, || collect(&mut pair.links[0], &mut pair.pool));
        assert!(received == [protected(2).0, compact]);
        host1.send(&ordinary(3));
        arrive(&mut host2, &[ordinary(3)]);
        let [from_inner, from_link] =
            [Side::Inner, Side::Link].map(|side| pair.bypass.as_ref().unwrap().counters(side));
        assert!(from_inner.bypassed_frames >= 1 && from_link.bypassed_frames >= 1);
        assert!(from_link.bypassed_bytes >= 200);
        assert_eq!(from_link.decapsulated + from_link.dropped, 0);
    });
}

/// A frame that comes at the wrong moment goes to the daemon, and so do those behind it.
#[test]
fn frames_are_handed_to_the_kernel_only_if_none_arrives_meanwhile() {
    each_mode("bypass, handed over", 1500, |lab, xdp_mode, mut host1, mut host2| {
        let PortPair { mut inner, bypass, mut pool, .. } =
            lab.open(&options(BypassMode::Active, xdp_mode)).unwrap();
        let bypass = bypass.unwrap();
        bypass.set_stall_after(Duration::MAX);
        assert!(!bypass.hand_over(|| true), "the daemon still holds frames");
        let mut arrived = Vec::new();
        let interrupted = bypass.hand_over(|| {
            host1.send(&ordinary(1));
            arrived = wait_for(1, || collect(&mut inner, &mut pool));
            false
        });
        assert!(!interrupted, "a frame has come");
        assert_eq!(arrived, [ordinary(1)]);
        host1.send(&ordinary(2));
        assert_eq!(wait_for(1, || collect(&mut inner, &mut pool)), [ordinary(2)]);
        // Another attempt may meet a frame of the kernel's own.
        assert!((0..100).any(|_| bypass.hand_over(|| false)));
        host1.send(&ordinary(3));
        arrive(&mut host2, &[ordinary(3)]);
    });
}

#[test]
fn stalled_daemon_is_bypassed_until_its_heart_beats_again() {
    each_mode("bypass, stalled", 1500, |lab, xdp_mode, mut host1, mut host2| {
        let mut pair = lab.open(&options(BypassMode::Active, xdp_mode)).unwrap();
        heartbeat(&pair);
        std::thread::sleep(STALL_AFTER + SILENCE);
        everything_is_bypassed(&mut host1, &mut host2);
        let from_link = pair.bypass.as_ref().unwrap().counters(Side::Link);
        assert_eq!((from_link.decapsulated, from_link.dropped), (1, 1));

        pair.bypass.as_ref().unwrap().set_stall_after(Duration::from_secs(60));
        heartbeat(&pair);
        host1.send(&ordinary(4));
        assert_eq!(wait_for(1, || collect(&mut pair.inner, &mut pair.pool)), [ordinary(4)]);
        arrive(&mut host2, &[]);
    });
}

#[test]
fn jumbo_frames_are_bypassed() {
    each_mode("bypass, jumbo frames", 9000, |lab, xdp_mode, mut host1, mut host2| {
        let _pair = lab.open(&options(BypassMode::Dormant, xdp_mode)).unwrap();
        let jumbo = test_frame(&[0x08, 0x00], 9014, 1);
        host1.send(&jumbo);
        arrive(&mut host2, std::slice::from_ref(&jumbo));
        host2.send(&jumbo);
        arrive(&mut host1, std::slice::from_ref(&jumbo));
    });
}

#[test]
fn unknown_peers_frames_pass_unchanged() {
    each_mode("bypass, unknown peer", 1500, |lab, xdp_mode, mut host1, mut host2| {
        let pair = lab.open(&options(BypassMode::Active, xdp_mode)).unwrap();
        pair.bypass.as_ref().unwrap().set_known_until(0);
        drop(pair);
        host2.send(&protected(1).0);
        host2.send(&retransmitted(2));
        arrive(&mut host1, &[protected(1).0, retransmitted(2)]);
    });
}

#[test]
fn detached_program_forwards_nothing() {
    each_mode("bypass, detached", 1500, |lab, xdp_mode, mut host1, mut host2| {
        let mut pair = lab.open(&options(BypassMode::Dormant, xdp_mode)).unwrap();
        host1.send(&ordinary(1));
        arrive(&mut host2, &[ordinary(1)]);
        let bypass = pair.bypass.take().unwrap();
        lab.in_gateway(|| bypass.detach().unwrap());
        host1.send(&ordinary(2));
        arrive(&mut host2, &[]);
    });
}

/// A process that serves the gateway's ports; killed when dropped.
struct Daemon(Child);

impl Daemon {
    fn start(lab: &Lab, xdp_mode: Option<XdpMode>) -> Daemon {
        let mut child = Command::new("ip")
            .args(["netns", "exec", &lab.gateway()])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "daemon_process", "--ignored", "--nocapture"])
            .env("Side::LinkMEND_TEST_NATIVE", if xdp_mode.is_some() { "1" } else { "0" })
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // `ip netns exec` becomes the process it starts, so that signals reach it.
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let ready = stdout.lines().map_while(Result::ok).any(|line| line.contains("READY"));
        let daemon = Daemon(child);
        assert!(ready, "daemon did not start");
        daemon
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
    }

    fn die(mut self) {
        self.signal(Signal::SIGKILL);
        self.0.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Swallows every frame, so that only the kernel can have forwarded what arrives.
#[test]
#[ignore = "run by the tests below"]
fn daemon_process() {
    let native = std::env::var("Side::LinkMEND_TEST_NATIVE").is_ok_and(|native| native == "1");
    let xdp_mode = native.then_some(XdpMode::Native);
    let mut pair = PortPair::open("inner", &["link"], &options(BypassMode::Active, xdp_mode)).unwrap();
    heartbeat(&pair);
    println!("READY");
    // The number of rounds is bounded, in case the test that started the process is gone.
    for _ in 0..30_000 {
        heartbeat(&pair);
        let PortPair { inner, links, pool, .. } = &mut pair;
        collect(inner, pool);
        collect(&mut links[0], pool);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn program_survives_a_killed_daemon_and_is_replaced_by_the_next() {
    each_mode("bypass, killed daemon", 1500, |lab, xdp_mode, mut host1, mut host2| {
        for _ in 0..2 {
            let daemon = Daemon::start(lab, xdp_mode);
            host1.send(&ordinary(1));
            arrive(&mut host2, &[]);
            daemon.die();
            everything_is_bypassed(&mut host1, &mut host2);
        }
        // The next daemon runs the program in the other mode.
        let other = match xdp_mode {
            None => Some(XdpMode::Native),
            Some(_) => None,
        };
        let daemon = Daemon::start(lab, other);
        host1.send(&ordinary(1));
        arrive(&mut host2, &[]);
        drop(daemon);
    });
}

#[test]
fn stopped_daemon_is_bypassed_and_comes_back() {
    each_mode("bypass, stopped daemon", 1500, |lab, xdp_mode, mut host1, mut host2| {
        let daemon = Daemon::start(lab, xdp_mode);
        daemon.signal(Signal::SIGSTOP);
        std::thread::sleep(STALL_AFTER + SILENCE);
        everything_is_bypassed(&mut host1, &mut host2);
        daemon.signal(Signal::SIGCONT);
        std::thread::sleep(STALL_AFTER);
        host1.send(&ordinary(5));
        arrive(&mut host2, &[]);
    });
}

#[test]
fn native_mode_is_chosen_where_drivers_say_it_forwards() {
    let Some(lab) = Lab::new("bypass, choice of mode", 1500) else {
        return;
    };
    let gateway = lab.gateway();
    for tap in ["tap1", "tap2"] {
        if !support::run("ip", &["-n", &gateway, "tuntap", "add", "name", tap, "mode", "tap"]) {
            return support::skipped("choice of native mode, for want of tap interfaces");
        }
        assert!(support::run("ip", &["-n", &gateway, "link", "set", "dev", tap, "up"]));
    }
    let mode = |inner: &str, link: &str| {
        let options = options(BypassMode::Dormant, None);
        let pair = lab.in_gateway(|| PortPair::open(inner, &[link], &options)).unwrap();
        pair.bypass.unwrap().xdp_mode()
    };
    assert_eq!(mode("tap1", "tap2"), XdpMode::Native);
    assert_eq!(mode("inner", "link"), XdpMode::Generic);
    // One veth is enough, and the previous native program is replaced.
    assert_eq!(mode("tap1", "link"), XdpMode::Generic);
}

#[test]
fn af_packet_ports_remove_a_program_left_behind() {
    let Some(lab) = Lab::new("bypass, program left behind", 1500) else {
        return;
    };
    Daemon::start(&lab, None).die();
    let packet = PortPairOptions { choice: PortChoice::Packet, ..options(BypassMode::Active, None) };
    let mut pair = lab.open(&packet).unwrap();
    let (mut host1, mut host2) = lab.hosts(None).unwrap();
    host1.send(&ordinary(1));
    assert_eq!(wait_for(1, || collect(&mut pair.inner, &mut pair.pool)), [ordinary(1)]);
    arrive(&mut host2, &[]);
}

/// Whether flows can be steered here. If not, a message says so.
fn has_two_processors() -> bool {
    let has = std::thread::available_parallelism().map_or(1, usize::from) >= 2;
    if !has {
        support::skipped("steering, for want of a second processor");
    }
    has
}

fn remove_bypass(lab: &Lab) {
    lab.in_gateway(|| {
        for name in ["link", "inner"] {
            bypass::remove(&Interface::acquire(name).unwrap()).unwrap();
        }
    });
}

#[test]
fn flows_of_a_veth_keep_to_one_processor_until_the_bypass_is_removed() {
    let Some(lab) = Lab::new("bypass, steering", 1500) else { return };
    if !has_two_processors() {
        return;
    }
    assert_eq!(lab.steer_inner("0"), "");
    for _ in 0..2 {
        Daemon::start(&lab, None).die();
        assert_ne!(lab.inner_steering(), "", "a killed daemon's bypass needs it still");
    }
    let pair = lab.open(&options(BypassMode::Dormant, None)).unwrap();
    assert_eq!(pair.bypass.as_ref().unwrap().steering(), Some(Steering::Linkmend), "taken over");
    drop(pair);
    remove_bypass(&lab);
    assert_eq!(lab.inner_steering(), "");
    // Ports without a bypass need no steering.
    Daemon::start(&lab, None).die();
    let packet = PortPairOptions { choice: PortChoice::Packet, ..options(BypassMode::Active, None) };
    let _pair = lab.open(&packet).unwrap();
    assert_eq!(lab.inner_steering(), "");
}

#[test]
fn the_link_follows_its_loop_until_the_kernel_forwards_or_somebody_else_steers() {
    let Some(lab) = Lab::new("bypass, steering of the link", 1500) else { return };
    if !has_two_processors() {
        return;
    }
    let open = || lab.open(&options(BypassMode::Active, None)).unwrap();
    let follow = |pair: &mut PortPair| pair.bypass.as_mut().unwrap().follow_loop(u64::MAX / 2, || true);
    let mut pair = open();
    assert_eq!(lab.steering("link"), "");
    follow(&mut pair);
    assert_ne!(lab.steering("link"), "");
    pair.bypass.as_mut().unwrap().leave_loop();
    assert_eq!(lab.steering("link"), "");
    drop(pair);
    // As if killed.
    let mut pair = open();
    follow(&mut pair);
    drop(pair);
    assert_ne!(lab.steering("link"), "");
    let mut pair = open();
    assert_eq!(lab.steering("link"), "", "undone by the next run");
    follow(&mut pair);
    assert_ne!(lab.steering("link"), "");
    drop(pair);
    remove_bypass(&lab);
    assert_eq!(lab.steering("link"), "", "undone with the bypass");
    assert_eq!(lab.steer("link", "3"), "3");
    let mut pair = open();
    follow(&mut pair);
    drop(pair);
    remove_bypass(&lab);
    assert_eq!(lab.steering("link"), "3", "an operator's");
}

#[test]
fn steering_that_somebody_has_set_is_left_alone() {
    let Some(lab) = Lab::new("bypass, operator's steering", 1500) else { return };
    if !has_two_processors() {
        return;
    }
    assert_eq!(lab.steer_inner("2"), "2");
    let pair = lab.open(&options(BypassMode::Dormant, None)).unwrap();
    assert_eq!(pair.bypass.as_ref().unwrap().steering(), Some(Steering::Operator));
    drop(pair);
    remove_bypass(&lab);
    assert_eq!(lab.inner_steering(), "2");
    // The same when it is set while the link runs.
    lab.steer_inner("0");
    let pair = lab.open(&options(BypassMode::Dormant, None)).unwrap();
    assert_eq!(pair.bypass.as_ref().unwrap().steering(), Some(Steering::Linkmend));
    lab.steer_inner("1");
    drop(pair);
    remove_bypass(&lab);
    assert_eq!(lab.inner_steering(), "1");
}
