//! Hostile hosts behind both link ends and a hostile stranger between them, at once, beside honest traffic on a link that
//! corrupts frames, on real interfaces. In virtual time, `hostile` of the dataplane judges far more frames.
//!
//! LINKMEND_HOSTILE sets for how many seconds they send.

#![allow(clippy::print_stdout, reason = "a long run says what it has counted")]

mod common;

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use linkmend_control::CorruptionModel;
use linkmend_control::report::TransmitState;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::generator::{GeneratorOptions, generate};
use linkmend_lab::{FramePath, FramePort, Lab, LinkEnds, Role, RunControl};
use linkmend_protocol::wire::{CONTROL_FRAME_MAX, emit_control};
use linkmend_protocol::{Control, Format, Mode, SessionNumber};
use linkmend_random::Random;
use socket2::{Domain, Socket, Type};

const LOSS: f64 = 0.01;
/// How the source addresses of hostile hosts begin. The fourth byte is the host's.
const HOSTILE: [u8; 3] = [2, b'H', b'O'];
const ADDRESSES: usize = 12;

fn pick(random: &mut Random, count: u64) -> u64 {
    random.next_u64() % count
}

/// A host's frame under an EtherType of ours, with any header (`hostile_host` also has tags in front). Its source address and its end are its number.
fn from_host(random: &mut Random, host: u8, number: u32) -> Vec<u8> {
    let mut frame = [&[0xff; 6][..], &HOSTILE, &[host], &number.to_be_bytes()[2..]].concat();
    frame.extend([[0x88, 0xb5], [0xab, 0xcd]][pick(random, 2) as usize]);
    frame.push(random.next_u64() as u8);
    if pick(random, 2) == 0 {
        frame.extend(b"LM1");
    }
    frame.extend(random.next_u64().to_be_bytes());
    let bytes = 60 + pick(random, 1_459) as usize;
    frame.resize(bytes, number as u8);
    frame[bytes - 4..].copy_from_slice(&number.to_be_bytes());
    frame
}

/// What a stranger says who has not heard anything.
fn from_stranger(random: &mut Random) -> Vec<u8> {
    let session = SessionNumber(random.next_u64() as u32);
    let (format, nonce) = (Format::Transparent, random.next_u64() as u32);
    let control = match pick(random, 6) {
        0 => Control::Hello { nonce: random.next_u64(), echo: random.next_u64() },
        1 => Control::Init { session, format },
        2 => Control::InitEcho { session, nonce, window_frames: 1, format },
        3 => Control::Start { session, nonce },
        4 => Control::Fin { session },
        _ => Control::FinEcho { session },
    };
    let mut buffer = [0; CONTROL_FRAME_MAX];
    let length = emit_control(&control, [2, 0, 0, 0, 0, pick(random, 64) as u8], &mut buffer);
    buffer[..length].to_vec()
}

/// What arrives at an interface.
struct Recorder(Socket);

impl Recorder {
    fn new(lab: &Lab, role: Role, interface: &str) -> Recorder {
        let open = || {
            let socket = Socket::new(Domain::PACKET, Type::RAW, None).expect("a socket");
            let index = nix::net::if_::if_nametoindex(interface).expect("the interface");
            linkmend_linux::packet_socket::bind(socket.as_fd(), index, libc::ETH_P_ALL as u16)
                .expect("bound");
            let _ = socket.set_recv_buffer_size(1 << 24);
            socket.set_nonblocking(true).expect("set");
            Recorder(socket)
        };
        lab.namespace(role).run(open).expect("in the namespace")
    }

    /// Up to so many frames that wait.
    fn frames(&self, most: usize) -> Vec<Vec<u8>> {
        let mut buffer = [0; 2048];
        let mut frames = Vec::new();
        while frames.len() < most
            && let Ok(bytes) = (&self.0).read(&mut buffer)
        {
            frames.push(buffer[..bytes].to_vec());
        }
        frames
    }
}

/// A hostile host, what it has sent, and what has arrived of it at the other host.
struct Host {
    number: u8,
    port: FramePort,
    arrivals: Recorder,
    sent: BTreeSet<Vec<u8>>,
    count: u32,
    arrived: u64,
}

impl Host {
    fn new(lab: &Lab, number: u8, [role, other]: [Role; 2]) -> Host {
        Host {
            number,
            port: FramePort::new(lab, role, "eth0"),
            arrivals: Recorder::new(lab, other, "eth0"),
            sent: BTreeSet::new(),
            count: 0,
            arrived: 0,
        }
    }

    fn send(&mut self, random: &mut Random) {
        let mut burst = Vec::new();
        for _ in 0..50 {
            self.count += 1;
            // Source addresses are used again once their frames have long arrived.
            burst.push(from_host(random, self.number, self.count));
        }
        self.sent.extend(burst.iter().cloned());
        // Frames longer than the MTU are refused by the host's own interface.
        let _ = self.port.inject(&burst);
    }

    fn judge(&mut self) {
        for frame in self.arrivals.frames(usize::MAX) {
            if frame[6..9] == HOSTILE {
                // What the other host sends leaves through the same interface.
                if frame[9] != self.number {
                    continue;
                }
                assert!(self.sent.remove(&frame), "not sent, or twice: {:02x?}", &frame[..40]);
                self.arrived += 1;
            } else {
                let ours = [[0x88, 0xb5], [0xab, 0xcd]].contains(&[frame[ADDRESSES], frame[ADDRESSES + 1]]);
                assert!(!ours, "no host sent it: {:02x?}", &frame[..40]);
            }
        }
    }
}

/// No session has been lost.
fn unharmed(ends: &LinkEnds) {
    let (first, second) = ends.report().expect("both loops live");
    for report in [&first, &second] {
        let counters = &report.counters;
        assert_eq!(report.transmit_state, TransmitState::Active);
        let sessions = (counters.sessions_opened, counters.sessions_accepted, counters.peers_lost);
        assert_eq!(sessions, (1, 1, 0), "{counters:?}");
        assert!(counters.recovered_frames > 0, "{counters:?}");
    }
}

/// Link ends that protect both directions of a link that corrupts.
fn protected(lab: &Lab, has_key: bool) -> LinkEnds {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    fs::write(&key, "000102030405060708090a0b0c0d0e0f").expect("written");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("changed");
    let ends = LinkEnds::start_with(lab, |settings| {
        settings.ports = PortChoice::Xdp;
        settings.key = has_key.then(|| key.clone());
    })
    .expect("the link ends start");
    ends.protect(Some(ProtectionSettings::new(Mode::Ordered))).expect("it gets active");
    ends.protect_reverse(Some(ProtectionSettings::new(Mode::Ordered))).expect("it gets active");
    ends.corrupt(Some(CorruptionModel::Iid { rate: LOSS })).expect("it corrupts");
    ends.corrupt_reverse(Some(CorruptionModel::Iid { rate: LOSS })).expect("it corrupts");
    ends
}

fn endure(name: &str, has_key: bool) {
    if !common::privileged("hostile hosts and strangers") {
        return;
    }
    let seconds = std::env::var("LINKMEND_HOSTILE").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let lab = Lab::up(common::options(name)).expect("the lab comes up");
    let ends = protected(&lab, has_key);
    let wires = [Role::End1, Role::End2].map(|role| FramePort::new(&lab, role, "link"));
    let ears = [Role::End1, Role::End2].map(|role| Recorder::new(&lab, role, "link"));
    let mut hosts =
        [Host::new(&lab, 1, [Role::Host1, Role::Host2]), Host::new(&lab, 2, [Role::Host2, Role::Host1])];
    let mut random = Random::new(7, "hostile");
    let begun = Instant::now();
    let lasts = || begun.elapsed() < Duration::from_secs(seconds);
    let (mut strange, mut heard) = (0, Vec::new());
    let rounds = std::thread::scope(|scope| {
        let honest = scope.spawn(|| {
            let options = GeneratorOptions { count: 500, frame_bytes: 300, ..GeneratorOptions::default() };
            let mut rounds = 0;
            while lasts() {
                for path in [FramePath::forward(&lab), FramePath::backward(&lab)] {
                    let report = generate(&path, &options, &RunControl::default()).expect("it runs");
                    let wrong = (report.lost_on_path(), report.duplicated, report.reordered);
                    assert_eq!(wrong, (0, 0, 0), "{report:?}");
                }
                rounds += 1;
            }
            rounds
        });
        while lasts() {
            for host in &mut hosts {
                host.send(&mut random);
                host.judge();
            }
            for (wire, ear) in wires.iter().zip(&ears) {
                let mut burst: Vec<Vec<u8>> = (0..25).map(|_| from_stranger(&mut random)).collect();
                // Who hears a link without a key is believed.
                heard.extend(ear.frames(50).into_iter().filter(|frame| has_key && is_sealed(frame)));
                if !heard.is_empty() {
                    burst.extend(
                        (0..25).map(|_| heard[pick(&mut random, heard.len() as u64) as usize].clone()),
                    );
                }
                strange += burst.len();
                let _ = wire.inject(&burst);
            }
            heard.drain(..heard.len().saturating_sub(10_000));
            std::thread::sleep(Duration::from_millis(20));
        }
        honest.join().expect("it does not panic")
    });
    std::thread::sleep(Duration::from_millis(200));
    hosts.iter_mut().for_each(Host::judge);
    unharmed(&ends);
    let [one, other] = &hosts;
    let sent = one.count + other.count;
    println!(
        "{seconds} s, {rounds} rounds of honest frames; {sent} frames of hostile hosts, {} arrived; {strange} of strangers",
        one.arrived + other.arrived
    );
    assert!(one.arrived > 100 && other.arrived > 100 && rounds > 0);
}

/// Whether a frame is a protected one or a control frame: what a host gets of others, anybody may send.
fn is_sealed(frame: &[u8]) -> bool {
    frame[ADDRESSES..ADDRESSES + 2] == [0x88, 0xb5] && frame[14] >> 6 != 0b11
}

#[test]
fn a_link_without_a_key_endures_hosts_and_a_stranger_who_hears_nothing() {
    endure("hsn", false);
}

#[test]
fn a_link_with_a_key_endures_hosts_and_a_stranger_who_hears_everything() {
    endure("hsk", true);
}
