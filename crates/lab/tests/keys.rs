//! Links with a key, on real interfaces: traffic, loss, and what strangers record, change and forge.
//!
//! LINKMEND_HOSTILE sets for how many seconds strangers send.

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use linkmend_control::report::{KeyTrouble, TransmitState};
use linkmend_control::{CorruptionModel, LinkReport};
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::generator::{GeneratorOptions, generate};
use linkmend_lab::{BackupLink, Cut, FramePath, FramePort, Lab, LabOptions, LinkEnds, Role, RunControl};
use linkmend_protocol::Mode;
use linkmend_random::Random;
use socket2::{Domain, Socket, Type};

const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const OTHER: &str = "00112233445566778899aabbccddeeff";
const LOSS: f64 = 0.01;
/// How long an end may take to hear its peer on two links.
const PATIENCE: Duration = Duration::from_secs(10);

fn key_file(folder: &Path, name: &str, key: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, key).expect("written");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("changed");
    path
}

/// Link ends with these keys.
fn start(lab: &Lab, ports: PortChoice, keys: [Option<&str>; 2]) -> LinkEnds {
    let folder = tempfile::tempdir().expect("a folder");
    let paths = [0, 1].map(|end| keys[end].map(|key| key_file(folder.path(), &end.to_string(), key)));
    LinkEnds::start_with(lab, |settings| {
        settings.ports = ports;
        settings.key = paths[usize::from(settings.name.ends_with('2'))].clone();
    })
    .expect("the link ends start")
}

fn protect_both(ends: &LinkEnds) {
    ends.protect(Some(ProtectionSettings::new(Mode::Ordered))).expect("it gets active");
    ends.protect_reverse(Some(ProtectionSettings::new(Mode::NonBlocking))).expect("it gets active");
}

fn both(ends: &LinkEnds) -> [LinkReport; 2] {
    let (first, second) = ends.report().expect("both loops live");
    [first, second]
}

/// Sends frames in both directions, none of which is lost, duplicated or reordered (but the non-blocking direction).
fn carries(lab: &Lab, count: u64) {
    let options = GeneratorOptions { count, frame_bytes: 300, ..GeneratorOptions::default() };
    for (path, is_ordered) in [(FramePath::forward(lab), true), (FramePath::backward(lab), false)] {
        let report = generate(&path, &options, &RunControl::default()).expect("the generator runs");
        let reordered = if is_ordered { report.reordered } else { 0 };
        assert_eq!((report.lost_on_path(), report.duplicated, reordered), (0, 0, 0), "{report:?}");
    }
}

#[test]
fn a_link_with_a_key_recovers_what_is_lost_and_believes_its_own_frames() {
    if !common::privileged("a link with a key") {
        return;
    }
    let lab = Lab::up(common::options("key")).expect("the lab comes up");
    let ends = start(&lab, PortChoice::Xdp, [Some(KEY); 2]);
    protect_both(&ends);
    for model in [None, Some(CorruptionModel::Iid { rate: LOSS })] {
        ends.corrupt(model).expect("it corrupts");
        ends.corrupt_reverse(model).expect("it corrupts");
        carries(&lab, 5_000);
    }
    for report in both(&ends) {
        let counters = &report.counters;
        assert!(report.has_key && report.peer_known && report.key_trouble.is_none());
        assert!(counters.recovered_frames > 10, "{counters:?}");
        assert_eq!((counters.forged_frames, counters.malformed_frames), (0, 0), "{counters:?}");
        assert_eq!((counters.sessions_opened, counters.peers_lost), (1, 0), "{counters:?}");
    }
}

/// Probes are sealed, too, and hellos have to be exchanged before.
#[test]
fn two_links_with_a_key_carry_frames_and_survive_a_cut_from_the_start() {
    if !common::privileged("two links with a key") {
        return;
    }
    for is_cut in [false, true] {
        let name = if is_cut { "keyc" } else { "key2" };
        let options = LabOptions { backup: Some(BackupLink::default()), ..common::options(name) };
        let lab = Lab::up(options).expect("the lab comes up");
        if is_cut {
            lab.cut(linkmend_lab::Path::Primary, Cut::Silent(linkmend_lab::Direction::Both))
                .expect("it can be cut");
        }
        let ends = start(&lab, PortChoice::Xdp, [Some(KEY); 2]);
        protect_both(&ends);
        carries(&lab, 1_000);
        for report in both(&ends) {
            assert_eq!((report.counters.forged_frames, report.counters.sessions_opened), (0, 1), "{name}");
        }
        // Not at any moment: an end that the machine does not run for 10 ms is silent on both links.
        let watches = |report: LinkReport| report.failover.is_some_and(|failover| failover.peer_watches);
        let begun = Instant::now();
        while !both(&ends).into_iter().all(watches) {
            assert!(begun.elapsed() < PATIENCE, "{name}: {:#?}", both(&ends));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn ends_of_different_keys_say_so_and_frames_pass() {
    if !common::privileged("links whose keys differ") {
        return;
    }
    let cases = [
        ("keyd", [Some(KEY), Some(OTHER)], [KeyTrouble::KeysDiffer; 2]),
        ("keyn", [Some(KEY), None], [KeyTrouble::OtherHasNone, KeyTrouble::OnlyOtherHas]),
    ];
    for (name, keys, troubles) in cases {
        let lab = Lab::up(common::options(name)).expect("the lab comes up");
        let ends = start(&lab, PortChoice::Xdp, keys);
        let wanted = Some(ProtectionSettings::new(Mode::Ordered));
        assert!(ends.protect(wanted).is_err(), "{name}: there is nobody to protect with");
        let reports = both(&ends);
        assert_eq!(reports.each_ref().map(|report| report.key_trouble), troubles.map(Some), "{name}");
        for report in reports {
            assert_ne!(report.transmit_state, TransmitState::Active);
            assert!(!report.peer_known);
        }
        carries(&lab, 500);
    }
}

/// Frames that arrive at a port from now on, as a stranger on the wire sees them.
struct Recorder(Socket);

impl Recorder {
    fn new(lab: &Lab, role: Role, interface: &str) -> Recorder {
        let open = || {
            let socket = Socket::new(Domain::PACKET, Type::RAW, None).expect("a socket");
            let index = nix::net::if_::if_nametoindex(interface).expect("the interface");
            let every = libc::ETH_P_ALL as u16;
            linkmend_linux::packet_socket::bind(std::os::fd::AsFd::as_fd(&socket), index, every)
                .expect("bound");
            let _ = socket.set_recv_buffer_size(1 << 22);
            socket.set_nonblocking(true).expect("set");
            Recorder(socket)
        };
        lab.namespace(role).run(open).expect("in the namespace")
    }

    fn frames(&self) -> Vec<Vec<u8>> {
        use std::io::Read;
        let mut buffer = [0; 2048];
        let mut frames = Vec::new();
        while let Ok(bytes) = (&self.0).read(&mut buffer) {
            frames.push(buffer[..bytes].to_vec());
        }
        frames
    }
}

/// What a stranger makes of what was recorded: the same, with one bit changed, cut off, or with other numbers.
fn mutated(frame: &[u8], random: &mut Random) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let at = |random: &mut Random, length: usize| (random.next_u64() as usize) % length;
    match random.next_u64() % 4 {
        0 => {}
        1 => {
            let bit = at(random, 8 * (frame.len() - 12).min(80));
            frame[12 + bit / 8] ^= 1 << (bit % 8);
        }
        2 => frame.truncate(60.max(at(random, frame.len()))),
        _ => frame[15..17].copy_from_slice(&(random.next_u64() as u16).to_be_bytes()),
    }
    frame
}

/// Recorded frames of an earlier start and of this one, repeated, reflected and changed, at some thousand a second.
#[test]
fn strangers_who_record_repeat_and_change_frames_are_not_believed() {
    if !common::privileged("strangers on a link with a key") {
        return;
    }
    let lab = Lab::up(common::options("keyh")).expect("the lab comes up");
    let seconds = std::env::var("LINKMEND_HOSTILE").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let recorder = Recorder::new(&lab, Role::End2, "link");
    let earlier = start(&lab, PortChoice::Packet, [Some(KEY); 2]);
    protect_both(&earlier);
    carries(&lab, 200);
    drop(earlier);
    let ours = |frame: &Vec<u8>| frame.len() >= 60 && frame[12..14] == [0x88, 0xb5];
    let mut recorded: Vec<Vec<u8>> = recorder.frames().into_iter().filter(ours).collect();
    assert!(recorded.len() > 200, "{}", recorded.len());
    let ends = start(&lab, PortChoice::Packet, [Some(KEY); 2]);
    protect_both(&ends);
    let begun = Instant::now();
    let mut random = Random::new(7, "hostile");
    let wires = [FramePort::new(&lab, Role::End1, "link"), FramePort::new(&lab, Role::End2, "link")];
    let sent = std::thread::scope(|scope| {
        let traffic = scope.spawn(|| {
            let mut rounds = 0;
            while begun.elapsed() < Duration::from_secs(seconds) {
                carries(&lab, 500);
                rounds += 1;
            }
            rounds
        });
        let mut sent = 0_usize;
        while begun.elapsed() < Duration::from_secs(seconds) {
            let burst: Vec<Vec<u8>> = (0..100)
                .map(|_| {
                    let frame = &recorded[(random.next_u64() as usize) % recorded.len()];
                    mutated(frame, &mut random)
                })
                // A frame that is no longer ours is a host's, and anybody can send that.
                .filter(|frame| ours(frame) && frame[14] >> 6 != 0b11)
                .collect();
            for wire in &wires {
                let _ = wire.inject(&burst);
            }
            sent += 2 * burst.len();
            recorded.extend(recorder.frames().into_iter().filter(ours).take(100));
            let surplus = recorded.len().saturating_sub(20_000);
            recorded.drain(..surplus);
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(traffic.join().expect("it does not panic") > 0);
        sent
    });
    let reports = both(&ends);
    for report in &reports {
        let counters = &report.counters;
        assert_eq!(report.transmit_state, TransmitState::Active);
        assert_eq!((counters.sessions_opened, counters.sessions_accepted, counters.peers_lost), (1, 1, 0));
        assert!(counters.forged_frames > 100, "{counters:?}");
        // What is lost here is what the burst crowded out.
        assert!(counters.lost_frames < 100, "{counters:?}");
    }
    let forged: u64 = reports.iter().map(|report| report.counters.forged_frames).sum();
    println!("{sent} hostile frames in {seconds} s, {forged} refused as forged");
    carries(&lab, 2_000);
}
