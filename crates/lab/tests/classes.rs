//! Two classes on one real link: what happens to one does not affect the other.

#![allow(clippy::print_stdout, reason = "the figures are wanted with --nocapture")]

mod common;

use std::net::{IpAddr, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use linkmend_dataplane::{LinkSettings, LossScript, ProtectionSettings};
use linkmend_lab::noise::{NoiseWatch, Watch};
use linkmend_lab::{Lab, LinkEnds, Role};
use linkmend_protocol::{Copies, Mode};

const PORT: u16 = 4_791;
/// Expedited forwarding: the class that is not the default.
const DSCP: u8 = 46;
/// After this silence, nothing more is expected.
const SILENCE: Duration = Duration::from_secs(1);
/// One laboratory at a time, because they would disturb each other.
static ALONE: Mutex<()> = Mutex::new(());

/// The first byte of a datagram names its class, the next two its number.
#[derive(Debug, Clone, Copy)]
struct Datagram {
    default_class: bool,
    number: u16,
    at: Instant,
}

impl Datagram {
    fn is_tail(&self, number: u16) -> bool {
        !self.default_class && self.number == number
    }
}

struct Host {
    default_class: UdpSocket,
    other_class: UdpSocket,
}

impl Host {
    fn connect(lab: &Lab) -> Host {
        let to = (address(Role::Host2), PORT);
        let socket = |dscp: u8| {
            let socket = UdpSocket::bind((address(Role::Host1), 0)).expect("an address of the host");
            socket2::SockRef::from(&socket).set_tos_v4(u32::from(dscp) << 2).expect("any host may");
            socket.connect(to).expect("an address of the link");
            socket
        };
        let sockets = || Host { default_class: socket(0), other_class: socket(DSCP) };
        lab.namespace(Role::Host1).run(sockets).expect("the namespace is there")
    }

    fn send(&self, default_class: bool, number: u16, bytes: usize) -> Datagram {
        let mut payload = vec![u8::from(default_class); bytes];
        payload[1..3].copy_from_slice(&number.to_be_bytes());
        let socket = if default_class { &self.default_class } else { &self.other_class };
        socket.send(&payload).expect("the host's own queue has room");
        Datagram { default_class, number, at: Instant::now() }
    }
}

fn address(host: Role) -> IpAddr {
    host.ipv4().expect("a host has one")
}

fn receiver(lab: &Lab) -> UdpSocket {
    let bind = || UdpSocket::bind((address(Role::Host2), PORT)).expect("an address of the host");
    let socket = lab.namespace(Role::Host2).run(bind).expect("the namespace is there");
    socket.set_read_timeout(Some(SILENCE)).expect("a second");
    socket
}

/// Returns everything that arrives until nothing does.
fn receive(socket: &UdpSocket) -> Vec<Datagram> {
    let mut buffer = [0; 2_000];
    let mut arrived = Vec::new();
    while let Ok(length) = socket.recv(&mut buffer) {
        assert!(length > 3);
        let number = u16::from_be_bytes([buffer[1], buffer[2]]);
        arrived.push(Datagram { default_class: buffer[0] == 1, number, at: Instant::now() });
    }
    arrived
}

/// The same, but the frame of the other class must be among it: a machine that runs nobody for a while makes silences.
fn receive_with_tail(socket: &UdpSocket, number: u16) -> Vec<Datagram> {
    let (begun, mut arrived) = (Instant::now(), Vec::new());
    while !arrived.iter().any(|datagram: &Datagram| datagram.is_tail(number)) && begun.elapsed() < SILENCE {
        arrived.extend(receive(socket));
    }
    arrived
}

/// A laboratory whose first link end protects `default` and, for the marked class, the other mode. Both hosts know each
/// other's addresses, so nothing else is sent.
fn prepare(
    name: &str,
    default: Mode,
    adjust: impl Fn(&mut LinkSettings) + Sync,
) -> (Lab, LinkEnds, Host, UdpSocket) {
    let lab = Lab::up(common::options(name)).expect("the lab comes up");
    for host in [Role::Host1, Role::Host2] {
        let off = || std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        lab.namespace(host).run(off).expect("the namespace is there").expect("IPv6 can be switched off");
    }
    let ends = LinkEnds::start_with(&lab, |settings| {
        settings.seed = Some(3);
        adjust(settings);
    })
    .expect("the link ends start");
    let mut protection = ProtectionSettings::new(default);
    let other = if default == Mode::Ordered { Mode::NonBlocking } else { Mode::Ordered };
    assert!(protection.classifier.set_dscp(DSCP, other.into()));
    protection.copies = Copies::Fixed(1);
    ends.protect(Some(protection)).expect("it gets active");
    let (host, socket) = (Host::connect(&lab), receiver(&lab));
    host.send(true, u16::MAX, 100);
    assert_eq!(receive(&socket).len(), 1, "the path is up");
    (lab, ends, host, socket)
}

/// How long the other class sends.
const LOAD_LASTS: Duration = Duration::from_millis(10);

/// The marked class is ordered, sends one frame, which is lost, and then nothing more; the other class keeps sending.
/// Measures how long it takes until that frame arrives, as the median of the attempts in which no thread waited for a
/// processor: schedulers delay whoever brings the frame, and make gaps in which any dummy would leave.
fn lost_tail(name: &str, rate_bps: Option<u64>, gap: Duration) {
    const UNDISTURBED: usize = 9;
    const TRIES_MAX: u16 = 80;
    const WAIT_MAX_NS: u64 = 1_000_000;
    let adjust = |settings: &mut LinkSettings| settings.rate_bps = rate_bps;
    let (_lab, ends, host, socket) = prepare(name, Mode::NonBlocking, adjust);
    socket.set_read_timeout(Some(Duration::from_millis(30))).expect("above 0");
    let mut watch = NoiseWatch::start();
    let (mut undisturbed, mut disturbed) = (Vec::new(), Vec::new());
    for number in 0..TRIES_MAX {
        if undisturbed.len() == UNDISTURBED {
            break;
        }
        ends.corrupt_by_script(LossScript { originals: vec![0], copies: vec![] }).expect("allowed");
        watch.begin();
        let (sent, noise, arrived) = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| receive_with_tail(&socket, number));
            let sent = host.send(false, number, 200);
            go_on(&host, sent.at, gap);
            let noise = watch.end();
            (sent, noise, receiving.join().expect("no panic"))
        });
        assert!(arrived.len() > 20, "{} frames of load", arrived.len());
        let tail = arrived.iter().find(|datagram| datagram.is_tail(number)).expect("it is recovered");
        let took = tail.at.duration_since(sent.at);
        let waited_ns = noise.worst_loop_ns.max(noise.worst_thread_ns).max(noise.worst_wakeup_ns);
        if waited_ns <= WAIT_MAX_NS { &mut undisturbed } else { &mut disturbed }.push(took);
    }
    println!("{name}: a lost tail arrived after {undisturbed:?}, in disturbed tries after {disturbed:?}");
    // Even a machine that is always busy shows in its better moments what the link does.
    let alone = undisturbed.len() >= UNDISTURBED / 3;
    let (mut took, judged) = if alone { (undisturbed, 2) } else { (disturbed, 4) };
    took.sort();
    // The bound is 400 us and a round trip; without it the tail would wait until the load ends.
    assert!(took[took.len() / judged] < LOAD_LASTS * 3 / 10, "{took:?}");
}

/// Sends a frame of the default class every `gap`. It does not sleep, which would take too long.
fn go_on(host: &Host, began: Instant, gap: Duration) {
    let mut next = began;
    for number in 0.. {
        host.send(true, number, 1_000);
        next += gap;
        while Instant::now() < next {
            std::hint::spin_loop();
        }
        if began.elapsed() > LOAD_LASTS {
            return;
        }
    }
}

#[test]
fn a_lost_tail_is_found_while_the_other_class_trickles() {
    if !common::privileged("two classes on one link") {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    lost_tail("clt", None, Duration::from_micros(100));
}

#[test]
fn a_lost_tail_is_found_while_the_other_class_fills_a_slow_link() {
    if !common::privileged("two classes on one slow link") {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // A frame lasts 171 us, and one is sent every 100 us: the queue is never empty.
    lost_tail("cls", Some(50_000_000), Duration::from_micros(100));
}

/// The ordered class waits for one frame that stays lost through many rounds, and is paused.
#[test]
fn a_paused_ordered_class_does_not_hold_the_other() {
    const ROUNDS_LOST: u64 = 240;
    // In the end all frames arrive together, and a receiver's socket holds 92 of this size.
    const ORDERED: u16 = 60;
    const OTHERS: u16 = 20;
    if !common::privileged("a paused class beside another") {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (_lab, ends, host, socket) = prepare("clp", Mode::Ordered, |settings| {
        settings.overrides.pause_bytes = Some(20_000);
        settings.overrides.resume_bytes = Some(10_000);
        settings.overrides.recovery_timeout = Some(Duration::from_secs(5));
        settings.overrides.max_rounds = Some(u8::MAX);
    });
    let script = LossScript { originals: vec![0], copies: (0..ROUNDS_LOST).collect() };
    ends.corrupt_by_script(script).expect("allowed");
    let (sent, arrived) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&socket));
        (0..ORDERED).for_each(|number| _ = host.send(true, number, 1_200));
        // The pause has arrived by now.
        std::thread::sleep(Duration::from_millis(5));
        let sent: Vec<Datagram> = (0..OTHERS)
            .map(|number| {
                std::thread::sleep(Duration::from_millis(1));
                host.send(false, number, 200)
            })
            .collect();
        (sent, receiving.join().expect("no panic"))
    });
    assert_eq!(arrived.len(), usize::from(ORDERED + OTHERS), "nothing is lost");
    let resumed = arrived.iter().find(|datagram| datagram.default_class).expect("they all arrived").at;
    let arrival = |number: u16| {
        let of = |datagram: &&Datagram| !datagram.default_class && datagram.number == number;
        arrived.iter().find(of).expect("they all arrived").at
    };
    let mut meanwhile = 0;
    for datagram in &sent {
        // Frames of the last milliseconds may have been in flight.
        if datagram.at + Duration::from_millis(20) < resumed {
            meanwhile += 1;
            assert!(arrival(datagram.number) < resumed, "{datagram:?} waited for the ordered class");
        }
    }
    let report = ends.report().expect("a report").0;
    println!("{meanwhile} frames passed in a pause of {} ms", report.counters.paused_ns / 1_000_000);
    assert!(report.counters.pauses_received > 0, "the class was paused");
    assert!(meanwhile >= 10, "{meanwhile} were sent well before the ordered class went on");
}
