//! What is between the hosts, and one measurement of it.

use crate::wireguard::Tunnel;
use crate::{Outcome, processor};
use linkmend_control::CorruptionModel;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::tcp::{self, BulkOptions, TrafficPath};
use linkmend_lab::topology::HOST_INTERFACE;
use linkmend_lab::{Lab, LabOptions, LinkEnds, Role, RunControl, StopFlag};
use linkmend_protocol::Mode;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

const MEASURED: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_millis(500);
/// The MTU at which hosts' frames fit into one datagram of a path of 1,500, as the how-to page says.
const WHOLE_MTU: u32 = 1_360;
/// How long the search for the path's MTU takes at most.
const PATH_MTU_SEARCH: Duration = Duration::from_secs(1);

/// What is between the hosts.
#[derive(Clone, Copy, PartialEq)]
enum Path {
    Bridge,
    Forwarder,
    Dormant,
    /// In a mode, at a loss rate.
    Protected(Mode, f64),
    Udp {
        has_key: bool,
        loss: f64,
    },
    WireGuard,
}

/// A path, and what the hosts do.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    path: Path,
    offloads: bool,
    /// Whether their frames fit into one datagram of the path.
    is_whole: bool,
}

/// What was measured.
pub(crate) struct Measured {
    pub(crate) gigabits_per_second: f64,
    /// Processor time of both ends.
    pub(crate) ns_per_byte: f64,
}

const fn setup(path: Path, offloads: bool) -> Setup {
    Setup { path, offloads, is_whole: false }
}

const fn udp(has_key: bool, loss: f64, offloads: bool) -> Setup {
    setup(Path::Udp { has_key, loss }, offloads)
}

impl Setup {
    pub(crate) const CABLE: [Setup; 10] = [
        setup(Path::Bridge, false),
        setup(Path::Forwarder, false),
        setup(Path::Dormant, false),
        setup(Path::Protected(Mode::Ordered, 0.0), false),
        setup(Path::Bridge, true),
        setup(Path::Dormant, true),
        setup(Path::Protected(Mode::Ordered, 0.0), true),
        setup(Path::Protected(Mode::Ordered, 1e-3), true),
        setup(Path::Protected(Mode::NonBlocking, 0.0), true),
        setup(Path::Protected(Mode::NonBlocking, 1e-3), true),
    ];

    pub(crate) const UDP: [Setup; 8] = [
        setup(Path::WireGuard, true),
        udp(false, 0.0, false),
        Setup { is_whole: true, ..udp(false, 0.0, false) },
        udp(false, 0.0, true),
        udp(false, 1e-3, true),
        Setup { is_whole: true, ..udp(true, 0.0, false) },
        udp(true, 0.0, true),
        setup(Path::Protected(Mode::Ordered, 0.0), true),
    ];

    pub(crate) fn label(self) -> String {
        let path = match self.path {
            Path::Bridge => "bridge".to_owned(),
            Path::Forwarder => "bare AF_XDP forwarder".to_owned(),
            Path::Dormant => "dormant link".to_owned(),
            Path::Protected(mode, loss) => format!("protected link, {mode:?}, loss {loss:e}"),
            Path::Udp { has_key, loss } => {
                format!("UDP, {} key, loss {loss:e}", if has_key { "with" } else { "without" })
            }
            Path::WireGuard => "wireguard-go".to_owned(),
        };
        let mtu = if self.is_whole { format!(", hosts' MTU {WHOLE_MTU}") } else { String::new() };
        format!("{path}, offloads {}{mtu}", if self.offloads { "on" } else { "off" })
    }

    pub(crate) fn measure(self, program: &str, streams: usize, number: usize) -> Outcome<Measured> {
        let prefix = format!("thr{}-{number}", std::process::id());
        let options = LabOptions {
            prefix,
            remove_on_drop: true,
            host_offloads: self.offloads,
            ..LabOptions::default()
        };
        let lab = Lab::up(options)?;
        let path = TrafficPath::ipv4(&lab);
        if self.is_whole {
            for host in [Role::Host1, Role::Host2] {
                lab.ip(host, &format!("link set dev {HOST_INTERFACE} mtu {WHOLE_MTU}"))?;
            }
        }
        let reachable =
            || tcp::wait_until_reachable(&path, Duration::from_secs(5), &StopFlag::new()).map_err(Box::new);
        match self.path {
            Path::Bridge => {
                lab.bridge()?;
                reachable()?;
                transfer(&path, streams, || 0.0)
            }
            Path::Forwarder => {
                let mut forwarders = Vec::new();
                for role in [Role::End1, Role::End2] {
                    let mut command = std::process::Command::new(program);
                    command
                        .args(["inner", "link"])
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .stderr(Stdio::null());
                    forwarders.push(lab.spawn(role, command)?);
                }
                let ids: Vec<u32> = forwarders.iter().map(std::process::Child::id).collect();
                let measured = reachable()
                    .map_err(Into::into)
                    .and_then(|_| transfer(&path, streams, || processor::of_processes(&ids)));
                for mut forwarder in forwarders {
                    forwarder.kill()?;
                    forwarder.wait()?;
                }
                measured
            }
            Path::WireGuard => {
                let tunnel = Tunnel::start(&lab, program)?;
                reachable()?;
                transfer(&path, streams, || processor::of_processes(&tunnel.processes()))
            }
            Path::Udp { has_key, loss } => {
                let key = has_key.then(KeyFile::create).transpose()?;
                let ends = LinkEnds::start_over_udp(&lab, |settings| {
                    settings.key = key.as_ref().map(|key| key.0.clone());
                })?;
                reachable()?;
                protect(&ends, Mode::Ordered, loss)?;
                std::thread::sleep(PATH_MTU_SEARCH);
                transfer(&path, streams, processor::of_link_ends)
            }
            Path::Dormant | Path::Protected(..) => {
                let ends = LinkEnds::start(&lab, PortChoice::Auto, 1)?;
                reachable()?;
                if let Path::Protected(mode, loss) = self.path {
                    protect(&ends, mode, loss)?;
                }
                transfer(&path, streams, processor::of_link_ends)
            }
        }
    }
}

fn protect(ends: &LinkEnds, mode: Mode, loss: f64) -> Outcome<()> {
    ends.protect(Some(ProtectionSettings::new(mode)))?;
    ends.protect_reverse(Some(ProtectionSettings::new(mode)))?;
    ends.corrupt((loss > 0.0).then_some(CorruptionModel::Iid { rate: loss }))?;
    Ok(())
}

/// So many connections together. `seconds` is the processor time of both ends so far.
fn transfer(path: &TrafficPath, streams: usize, seconds: impl Fn() -> f64) -> Outcome<Measured> {
    let options = BulkOptions { duration: MEASURED, warm_up: WARM_UP, ..BulkOptions::default() };
    let one = || tcp::bulk(path, &options, &RunControl::default());
    let before = seconds();
    let reports = std::thread::scope(|scope| {
        let streams: Vec<_> = (0..streams).map(|_| scope.spawn(one)).collect();
        streams.into_iter().map(|stream| stream.join()).collect::<Vec<_>>()
    });
    let spent = seconds() - before;
    let mut bits_per_second = 0.0;
    for report in reports {
        bits_per_second += report.map_err(|_| "a stream panicked")??.goodput_bits_per_second;
    }
    // What was transferred while the connections warmed up has cost as much.
    let bytes = bits_per_second / 8.0 * (MEASURED + WARM_UP).as_secs_f64();
    Ok(Measured { gigabits_per_second: bits_per_second / 1e9, ns_per_byte: spent * 1e9 / bytes })
}

/// A key for a laboratory, in a file that only its owner reads. It is removed when dropped.
struct KeyFile(PathBuf);

impl KeyFile {
    fn create() -> Outcome<KeyFile> {
        let path = std::env::temp_dir().join(format!("linkmend-throughput-{}.key", std::process::id()));
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        writeln!(file, "8c5e1f0a9b7d3642c1e0f9a8b7d6c5e4")?;
        Ok(KeyFile(path))
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        // The next one takes its place.
        let _ = std::fs::remove_file(&self.0);
    }
}
