//! A host, a gateway with the two ports of a link end, and a second host, each in a network namespace of its own:
//!
//!     host1 eth0 ---- inner gateway link ---- eth0 host2

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it, and fails where something is missing"
)]

use std::fs::File;
use std::io::Write;
use std::os::linux::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use linkmend_dataplane::port::{Interface, PacketPort};
use linkmend_dataplane::{FramePool, PoolOptions, Port, PortError, PortPair, PortPairOptions, XdpMode};
use nix::sched::{CloneFlags, setns};

const DEADLINE: Duration = Duration::from_secs(5);
/// How long to look for frames that should not arrive.
pub const SILENCE: Duration = Duration::from_millis(150);

/// Source addresses of test frames begin with this, which distinguishes them from the kernels' own frames.
const MARK: [u8; 3] = [0x02, 0x4c, 0x4d];

/// Writes directly, because the test harness swallows what passing tests print.
pub fn skipped(what: &str) {
    let _ =
        writeln!(std::io::stderr(), "\n######## SKIPPED: {what}; run as root: sudo -E make test ########\n");
}

pub fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn ip(arguments: &str) {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let output = Command::new("ip").args(&words).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments}: {error}");
}

/// Removes its namespaces when dropped, also when the test fails.
pub struct Lab {
    prefix: String,
}

impl Lab {
    /// `None` without the privilege, with a message on standard error.
    pub fn new(what: &str, mtu: u32) -> Option<Lab> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if std::fs::metadata("/proc/self").unwrap().st_uid() != 0 {
            skipped(what);
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let lab = Lab { prefix: format!("lmtest-{}-{number}", std::process::id()) };
        let [host1, gateway, host2] = [lab.host1(), lab.gateway(), lab.host2()];
        for namespace in [&host1, &gateway, &host2] {
            ip(&format!("netns add {namespace}"));
        }
        for (host, port) in [(&host1, "inner"), (&host2, "link")] {
            ip(&format!(
                "-n {host} link add name eth0 mtu {mtu} type veth \
                 peer name {port} netns {gateway} mtu {mtu}"
            ));
            for (namespace, name) in [(host, "eth0"), (&gateway, port)] {
                ip(&format!("-n {namespace} link set dev {name} addrgenmode none"));
                ip(&format!("-n {namespace} link set dev {name} up"));
            }
        }
        lab.steer_inner("1");
        Some(lab)
    }

    /// Sets which processors the frames that arrive at the inner port go to (receive packet steering), and returns the
    /// resulting setting, empty for none. A new lab has one processor there, as if an operator had set it, because the
    /// tests' frames belong to many flows and must arrive in the order in which they were sent.
    pub fn steer_inner(&self, mask: &str) -> String {
        self.steer("inner", mask)
    }

    /// The same at either port.
    pub fn steer(&self, port: &str, mask: &str) -> String {
        let file = format!("/sys/class/net/{port}/queues/rx-0/rps_cpus");
        self.in_gateway_shell(&format!("echo {mask} > {file}; cat {file}"))
    }

    /// The current setting.
    pub fn inner_steering(&self) -> String {
        self.steering("inner")
    }

    /// The current setting of either port.
    pub fn steering(&self, port: &str) -> String {
        self.in_gateway_shell(&format!("cat /sys/class/net/{port}/queues/rx-0/rps_cpus"))
    }

    /// Runs a script in the gateway, with a /sys that shows the gateway's interfaces.
    fn in_gateway_shell(&self, script: &str) -> String {
        let command = ["netns", "exec", &self.gateway(), "sh", "-c", script];
        let output = Command::new("ip").args(command).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().trim_start_matches(['0', ',']).to_owned()
    }

    pub fn host1(&self) -> String {
        format!("{}-h1", self.prefix)
    }

    pub fn gateway(&self) -> String {
        format!("{}-g", self.prefix)
    }

    pub fn host2(&self) -> String {
        format!("{}-h2", self.prefix)
    }

    /// Adds a second link, `backup`, to the second host, which has it as `eth1`.
    pub fn add_backup(&self, mtu: u32) {
        let (gateway, host) = (self.gateway(), self.host2());
        ip(&format!(
            "-n {host} link add name eth1 mtu {mtu} type veth peer name backup netns {gateway} mtu {mtu}"
        ));
        for (namespace, name) in [(&host, "eth1"), (&gateway, "backup")] {
            ip(&format!("-n {namespace} link set dev {name} addrgenmode none"));
            ip(&format!("-n {namespace} link set dev {name} up"));
        }
    }

    /// Sets an interface of the second host up or down, and with it the carrier of the gateway's port.
    pub fn set_host2(&self, interface: &str, state: &str) {
        ip(&format!("-n {} link set dev {interface} {state}", self.host2()));
    }

    /// Removes the second link.
    pub fn remove_backup(&self) {
        ip(&format!("-n {} link del dev backup", self.gateway()));
    }

    /// Opens the second host's end of the second link.
    pub fn backup_host(&self) -> Host {
        inside(&self.host2(), || Host::here("eth1"))
    }

    /// Opens the link end in the gateway with both links.
    pub fn open_with_backup(&self, options: &PortPairOptions) -> Result<PortPair, PortError> {
        inside(&self.gateway(), || PortPair::open("inner", &["link", "backup"], options))
    }

    /// Opens the link end in the gateway.
    pub fn open(&self, options: &PortPairOptions) -> Result<PortPair, PortError> {
        inside(&self.gateway(), || PortPair::open("inner", &["link"], options))
    }

    /// Runs `work` in the gateway.
    pub fn in_gateway<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        inside(&self.gateway(), work)
    }

    /// Opens the hosts' ends. With native XDP, also prepares them for it: with GRO on, frames that are redirected to
    /// them arrive; with TSO off, frames that they send reach the program at all. Returns `None`, with a message, if
    /// that cannot be done.
    pub fn hosts(&self, xdp_mode: Option<XdpMode>) -> Option<(Host, Host)> {
        let hosts = (Host::new(&self.host1()), Host::new(&self.host2()));
        let native = xdp_mode == Some(XdpMode::Native);
        let ready = [self.host1(), self.host2()].iter().all(|host| {
            let command = ["netns", "exec", host, "ethtool", "-K", "eth0", "gro", "on", "tso", "off"];
            !native || run("ip", &command)
        });
        if !ready {
            skipped("native XDP, for want of ethtool");
        }
        ready.then_some(hosts)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for namespace in [self.host1(), self.gateway(), self.host2()] {
            run("ip", &["netns", "del", &namespace]);
        }
    }
}

/// Runs `work` in a network namespace, on a thread of its own.
fn inside<R: Send>(namespace: &str, work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let namespace = File::open(format!("/run/netns/{namespace}")).unwrap();
            setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
            work()
        });
        worker.join().unwrap()
    })
}

/// The far end of a port's cable.
pub struct Host {
    port: Port,
    pool: FramePool,
}

impl Host {
    fn new(namespace: &str) -> Host {
        inside(namespace, || Host::here("eth0"))
    }

    pub fn here(interface: &str) -> Host {
        let interface = Interface::acquire(interface).unwrap();
        let options = PoolOptions { chunks: 4096, chunk_bytes: 4096 };
        Host {
            port: Port::Packet(PacketPort::open(interface, "test").unwrap()),
            pool: FramePool::new(options).unwrap(),
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        let frame = self.pool.copy_in(bytes).unwrap();
        self.port.send(&mut self.pool, frame).unwrap();
        self.pool.release(frame);
        self.port.flush(&mut self.pool).unwrap();
    }

    /// Test frames that have arrived.
    pub fn received(&mut self) -> Vec<Vec<u8>> {
        collect(&mut self.port, &mut self.pool)
    }

    /// Waits for `count` test frames.
    pub fn wait_for(&mut self, count: usize) -> Vec<Vec<u8>> {
        wait_for(count, || self.received())
    }
}

/// Test frames that have arrived at a port.
pub fn collect(port: &mut Port, pool: &mut FramePool) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut out = Vec::new();
    port.reclaim(pool);
    port.receive(pool, &mut frames, 1024);
    for frame in frames {
        let mut bytes = Vec::new();
        pool.copy_out(frame, &mut bytes);
        pool.release(frame);
        if bytes.len() >= 14 && bytes[6..9] == MARK {
            out.push(bytes);
        }
    }
    out
}

/// Calls `receive` until it has returned `count` frames, or until the time is up.
pub fn wait_for(count: usize, mut receive: impl FnMut() -> Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let deadline = Instant::now() + DEADLINE;
    let mut frames = Vec::new();
    while frames.len() < count && Instant::now() < deadline {
        frames.extend(receive());
        std::thread::sleep(Duration::from_micros(200));
    }
    frames
}

/// Forwards between the ports until `to` has `count` frames, then for a while longer, so that a surplus frame is
/// noticed.
pub fn forward_until(pair: &mut PortPair, to: &mut Host, count: usize) -> Vec<Vec<u8>> {
    let mut frames = wait_for(count, || {
        forward_round(pair);
        to.received()
    });
    let end = Instant::now() + SILENCE;
    while Instant::now() < end {
        forward_round(pair);
        frames.extend(to.received());
    }
    frames
}

fn forward_round(pair: &mut PortPair) {
    heartbeat(pair);
    let PortPair { inner, links, pool, .. } = pair;
    let mut frames = Vec::new();
    for reverse in [false, true] {
        let (from, to) = match reverse {
            false => (&mut *inner, &mut links[0]),
            true => (&mut links[0], &mut *inner),
        };
        to.reclaim(pool);
        from.reclaim(pool);
        from.receive(pool, &mut frames, 256);
        for frame in frames.drain(..) {
            to.send(pool, frame).unwrap();
            pool.release(frame);
        }
        to.flush(pool).unwrap();
    }
}

pub fn heartbeat(pair: &PortPair) {
    if let Some(bypass) = &pair.bypass {
        bypass.heartbeat(linkmend_linux::clock::monotonic_ns());
    }
}

/// A test frame of `length` bytes: `header` is what follows the MAC addresses.
pub fn test_frame(header: &[u8], length: usize, seed: u8) -> Vec<u8> {
    let mut frame = vec![0x02, 0x11, 0x22, 0x33, 0x44, seed];
    frame.extend(MARK);
    frame.extend([0x55, 0x66, seed]);
    frame.extend(header);
    let mut next = usize::from(seed);
    while frame.len() < length {
        next = next * 31 + 7;
        frame.push((next >> 3) as u8);
        next &= 0xffff;
    }
    frame
}
