//! Protection that begins and ends again and again under bursts: daemon and kernel take the link from each other, and no frame may
//! overtake another.

#![allow(clippy::print_stdout, reason = "the figures are wanted with --nocapture")]

mod common;

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::{FramePath, FramePort, Lab, LinkEnds, LinkEndsError};
use linkmend_protocol::Mode;
use linkmend_protocol::wire::ethertype;
use linkmend_random::Random;
use socket2::{Domain, Socket, Type};

const ROUNDS: u32 = 100;
const BURST: u64 = 40;
const FRAME_BYTES: usize = 300;
/// The pauses between bursts, us: about as long as the silence after which a link without protection is handed to the kernel.
const PAUSE_US: std::ops::Range<u64> = 800..1_400;
/// How long protection stays away: for some bursts, so that one of the pauses is long enough.
const DORMANT: Duration = Duration::from_millis(5);
/// After this silence, nothing more is expected.
const SILENCE: Duration = Duration::from_secs(1);

/// What has arrived.
#[derive(Debug, Default)]
struct Arrived {
    frames: u64,
    /// Frames behind one with a higher number, and how far the worst of them was.
    reordered: u64,
    extent: u64,
}

/// A packet socket at a host's interface, which receives frames of this EtherType.
fn socket(port: &FramePort, of: u16) -> Socket {
    let open = || {
        let socket = Socket::new(Domain::PACKET, Type::RAW, None).expect("a socket");
        let index = nix::net::if_::if_nametoindex(port.interface.as_str()).expect("the interface");
        linkmend_linux::packet_socket::bind(std::os::fd::AsFd::as_fd(&socket), index, of).expect("bound");
        let _ = socket.set_recv_buffer_size(1 << 24);
        socket.set_read_timeout(Some(SILENCE)).expect("above 0");
        socket
    };
    port.namespace.run(open).expect("in the namespace")
}

/// Sends bursts of numbered frames until it is told to stop; returns the number of frames.
fn send(path: &FramePath, stop: &AtomicBool) -> u64 {
    let (socket, mut random, mut sent) = (socket(&path.from, 0), Random::new(5, "bursts"), 0_u64);
    let header = [&path.to.mac[..], &path.from.mac, &ethertype::EXPERIMENTAL_2.to_be_bytes()].concat();
    let mut frame = [&header[..], &[0; FRAME_BYTES]].concat();
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..BURST {
            frame[14..22].copy_from_slice(&sent.to_be_bytes());
            socket.send(&frame).expect("the host's queue has room");
            sent += 1;
        }
        let pause = PAUSE_US.start + random.next_u64() % (PAUSE_US.end - PAUSE_US.start);
        std::thread::sleep(Duration::from_micros(pause));
    }
    sent
}

/// Receives until nothing has arrived for a while.
fn receive(mut socket: &Socket) -> Arrived {
    let (mut arrived, mut next, mut buffer) = (Arrived::default(), 0, [0; 2 * FRAME_BYTES]);
    loop {
        match socket.read(&mut buffer) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return arrived,
        }
        let number = u64::from_be_bytes(buffer[14..22].try_into().expect("eight bytes"));
        arrived.frames += 1;
        if number < next {
            arrived.reordered += 1;
            arrived.extent = arrived.extent.max(next - 1 - number);
        }
        next = next.max(number + 1);
    }
}

/// A regression: a frame that arrived while a silent link was handed to the kernel was overtaken by those behind it.
#[test]
fn protection_that_begins_and_ends_under_bursts_reorders_nothing() {
    if !common::privileged("protection_that_begins_and_ends_under_bursts_reorders_nothing") {
        return;
    }
    let lab = Lab::up(common::options("over")).expect("the lab comes up");
    let ends = LinkEnds::start(&lab, PortChoice::Xdp, 7).expect("the link ends start");
    let path = FramePath::forward(&lab);
    let (socket, stop) = (socket(&path.to, ethertype::EXPERIMENTAL_2), AtomicBool::new(false));
    let (sent, arrived) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&socket));
        let sending = scope.spawn(|| send(&path, &stop));
        let done = (0..ROUNDS).try_for_each(|_| {
            ends.protect(Some(ProtectionSettings::new(Mode::Ordered)))?;
            ends.protect(None)?;
            std::thread::sleep(DORMANT);
            Ok::<(), LinkEndsError>(())
        });
        stop.store(true, Ordering::Relaxed);
        done.expect("protection begins and ends");
        (sending.join().expect("no panic"), receiving.join().expect("no panic"))
    });
    println!("{sent} sent, {arrived:?}");
    assert!(arrived.frames > sent / 2, "{sent} sent, {arrived:?}");
    assert_eq!(arrived.reordered, 0, "{sent} sent, {arrived:?}");
}
