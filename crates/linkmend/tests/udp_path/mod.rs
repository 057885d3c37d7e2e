//! A path of the Internet: a relay of UDP datagrams that delays, loses, reorders and duplicates them, and translates the
//! address of the end behind it, as a NAT does.

use linkmend_lab::Namespace;
use linkmend_random::Random;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The number of datagrams of the caller that are kept, to be sent again.
const KEPT: usize = 200;

/// What the path does to each datagram, in either direction.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// From one end to the other.
    pub delay: Duration,
    pub loss: f64,
    /// The share of datagrams that are delayed by up to `late` more.
    pub reordered: f64,
    pub late: Duration,
    pub duplicated: f64,
    /// Longer datagrams are dropped.
    pub bytes_max: usize,
    /// As if a router were down.
    pub is_cut: bool,
}

impl Path {
    /// Half of a round trip of 100 ms, and nothing else.
    pub const LONG: Path = Path {
        delay: Duration::from_millis(50),
        loss: 0.0,
        reordered: 0.0,
        late: Duration::from_millis(10),
        duplicated: 0.0,
        bytes_max: 1472,
        is_cut: false,
    };
}

/// A datagram on its way.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due: Instant,
    number: u64,
    is_from_caller: bool,
    bytes: Vec<u8>,
}

/// What the relay shares with the test.
struct Shared {
    path: Mutex<Path>,
    /// Where the caller's datagrams leave, and where they go.
    outside: Mutex<Arc<UdpSocket>>,
    kept: Mutex<Vec<Vec<u8>>>,
    is_over: AtomicBool,
}

/// A running path, ended when dropped.
pub struct Relay {
    /// Where the caller finds it.
    pub address: SocketAddr,
    namespace: Namespace,
    peer: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// A path from the namespace of the caller to a peer outside.
    pub fn start(namespace: &str, peer: SocketAddr, path: Path) -> Relay {
        let namespace = Namespace::open(namespace).expect("a namespace");
        let open = |address: &'static str| {
            let socket = namespace.run(|| UdpSocket::bind(address).expect("an address"));
            let socket = socket.expect("the namespace");
            socket.set_nonblocking(true).expect("a socket");
            socket
        };
        let inside = open("127.0.0.1:0");
        let shared = Arc::new(Shared {
            path: Mutex::new(path),
            outside: Mutex::new(Arc::new(open("0.0.0.0:0"))),
            kept: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let address = inside.local_addr().expect("bound");
        let running = Arc::clone(&shared);
        let thread = std::thread::spawn(move || run(&running, &inside, peer));
        Relay { address, namespace, peer, shared, thread: Some(thread) }
    }

    /// Changes the path. Datagrams that are on their way stay.
    pub fn set(&self, path: Path) {
        *self.shared.path.lock().expect("no panic") = path;
    }

    /// Forgets the translation: the caller's datagrams come from another address from now on, and what goes to the former
    /// one is lost.
    pub fn forget(&self, from: &str) {
        let socket = self.namespace.run(|| UdpSocket::bind(from).expect("an address"));
        let socket = socket.expect("the namespace");
        socket.set_nonblocking(true).expect("a socket");
        *self.shared.outside.lock().expect("no panic") = Arc::new(socket);
    }

    /// Datagrams that the caller has sent.
    pub fn kept(&self) -> Vec<Vec<u8>> {
        self.shared.kept.lock().expect("no panic").clone()
    }

    /// Sends datagrams to the peer from the caller's own address.
    pub fn inject(&self, datagrams: &[Vec<u8>]) {
        let outside = Arc::clone(&self.shared.outside.lock().expect("no panic"));
        for datagram in datagrams {
            let _ = outside.send_to(datagram, self.peer);
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, inside: &UdpSocket, peer: SocketAddr) {
    let mut random = Random::new(1, "path");
    let mut waiting: BinaryHeap<Reverse<Waiting>> = BinaryHeap::new();
    let (mut number, mut caller) = (0, None);
    let mut buffer = [0; 9000];
    while !shared.is_over.load(Ordering::Relaxed) {
        let path = *shared.path.lock().expect("no panic");
        let outside = Arc::clone(&shared.outside.lock().expect("no panic"));
        let now = Instant::now();
        for (socket, is_from_caller) in [(inside, true), (&*outside, false)] {
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                let bytes = &buffer[..length];
                if is_from_caller {
                    caller = Some(from);
                    // One that the path does not take is not led around it.
                    if length <= path.bytes_max {
                        keep(shared, bytes);
                    }
                }
                if path.is_cut || length > path.bytes_max || random.uniform() < path.loss {
                    continue;
                }
                let copies = 1 + u32::from(random.uniform() < path.duplicated);
                for _ in 0..copies {
                    let late = if random.uniform() < path.reordered { random.uniform() } else { 0.0 };
                    number += 1;
                    let due = now + path.delay + path.late.mul_f64(late);
                    waiting.push(Reverse(Waiting { due, number, is_from_caller, bytes: bytes.to_vec() }));
                }
            }
        }
        while waiting.peek().is_some_and(|Reverse(next)| next.due <= Instant::now()) {
            let Some(Reverse(Waiting { is_from_caller, bytes, .. })) = waiting.pop() else { break };
            let _ = match (is_from_caller, caller) {
                (true, _) => outside.send_to(&bytes, peer),
                (false, Some(caller)) => inside.send_to(&bytes, caller),
                (false, None) => continue,
            };
        }
        let until = waiting.peek().map(|Reverse(next)| next.due.saturating_duration_since(Instant::now()));
        let sleep = until.unwrap_or(Duration::from_millis(20)).min(Duration::from_millis(20));
        let timeout = PollTimeout::try_from(sleep.as_micros().div_ceil(1000) as i32).expect("short");
        let mut ready = [inside.as_fd(), outside.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let _ = poll(&mut ready, timeout);
    }
}

fn keep(shared: &Shared, bytes: &[u8]) {
    let mut kept = shared.kept.lock().expect("no panic");
    if kept.len() == KEPT {
        kept.remove(0);
    }
    kept.push(bytes.to_vec());
}
