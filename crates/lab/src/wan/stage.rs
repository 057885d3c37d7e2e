//! A laboratory whose link ends are joined by a path of the Internet.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use linkmend_control::{ClassField, ClassRule, ClassService, LinkReport, ProtectConfig, ProtectMode};
use linkmend_dataplane::PortChoice;
use linkmend_dataplane::config::LinkConfig;
use linkmend_protocol::Mode;
use linkmend_quantity::{BitRate, Span};

use super::path::Path;
use super::{PathReport, Repair, RepairCost, WanError, WanOptions};
use crate::link_ends::LinkEnds;
use crate::stop::RunControl;
use crate::tcp::{self, TrafficPath};
use crate::topology::{
    HOST_INTERFACE, INNER_INTERFACE, LINK_HEADROOM_BYTES, Lab, LabOptions, MARKER_FOLDER, Role,
};

/// The code point of datagrams with a deadline: expedited forwarding.
pub(super) const DSCP_IN_TIME: u8 = 46;
/// How long the first connection may take. Handshakes and address resolution are lost like anything else.
const REACH_TIMEOUT: Duration = Duration::from_secs(30);
/// MTU of the path.
const PATH_MTU: u32 = 1_500;
/// MTU of the hosts, whose frames then fit into one datagram each.
const HOST_MTU: u32 = 1_360;
/// Part of the path's rate that Linkmend sends at most, so that its own headers and copies find room.
const RATE_SHARE: f64 = 0.85;
const KEY_BYTES: usize = 16;

/// Everything that runs. Dropping it stops it all.
pub(super) struct Stage {
    // In the order in which they are taken down.
    ends: Option<LinkEnds>,
    _key: Option<KeyFile>,
    path: Path,
    pub(super) lab: Lab,
}

impl Stage {
    pub(super) fn set(options: &WanOptions, repair: Repair, control: &RunControl) -> Result<Stage, WanError> {
        let lab = Lab::up(LabOptions {
            prefix: options.prefix.clone(),
            host_mtu: PATH_MTU - LINK_HEADROOM_BYTES,
            impairments: options.impairments.clone(),
            rto_min_ms: None,
            remove_on_drop: true,
            ..LabOptions::default()
        })?;
        for host in [Role::Host1, Role::Host2] {
            lab.ip(host, &format!("link set dev {HOST_INTERFACE} mtu {HOST_MTU}"))?;
        }
        let path = Path::start(&lab, options)?;
        let (ends, key) = match repair.mode() {
            None => {
                lab.bridge()?;
                (None, None)
            }
            Some(mode) => {
                let key = KeyFile::create(&options.prefix)?;
                let deadline = (repair == Repair::InTime).then(|| options.deadline());
                (Some(start_ends(&lab, options, mode, deadline, &key)?), Some(key))
            }
        };
        tcp::wait_until_reachable(&TrafficPath::ipv4(&lab), REACH_TIMEOUT, &control.stop)?;
        if let Some(ends) = &ends {
            ends.wait_for_protection()?;
            if repair == Repair::InTime {
                ends.wait_for_deadlines()?;
            }
        }
        Ok(Stage { ends, _key: key, path, lab })
    }

    pub(super) fn path_report(&self) -> PathReport {
        self.path.report()
    }

    /// What both link ends have sent so far, if there are any.
    pub(super) fn cost(&self) -> Result<Option<RepairCost>, WanError> {
        let Some(ends) = &self.ends else { return Ok(None) };
        let (left, right) = ends.report()?;
        let (mut protected_frames, mut retransmitted_copies) = (0, 0);
        for LinkReport { counters, in_time, .. } in [left, right] {
            protected_frames += counters.protected_frames;
            retransmitted_copies += counters.retransmitted_copies;
            for class in in_time.iter().flat_map(|in_time| &in_time.sent) {
                protected_frames += class.frames;
                retransmitted_copies += class.parity_frames + class.copies;
            }
        }
        Ok(Some(RepairCost { protected_frames, retransmitted_copies }))
    }
}

/// Starts what `linkmend run --link udp:...` starts, with the same configuration.
fn start_ends(
    lab: &Lab,
    options: &WanOptions,
    mode: Mode,
    deadline: Option<Duration>,
    key: &KeyFile,
) -> Result<LinkEnds, WanError> {
    let path_bps = options.impairments.rate_bps;
    let rate = path_bps.map(|rate| BitRate((rate as f64 * RATE_SHARE) as u64));
    let rule = |deadline| ClassRule {
        field: ClassField::Dscp(DSCP_IN_TIME),
        service: ClassService::Deadline(Span(deadline)),
    };
    let classes: Vec<ClassRule> = deadline.map(rule).into_iter().collect();
    Ok(LinkEnds::start_over_udp(lab, |settings| {
        let name = settings.name.clone();
        let config = LinkConfig {
            name: Some(name.clone()),
            key: Some(key.path.clone()),
            rate,
            protect: ProtectConfig {
                mode: match mode {
                    Mode::Ordered => ProtectMode::Ordered,
                    Mode::NonBlocking => ProtectMode::NonBlocking,
                },
                classes: classes.clone(),
                ..ProtectConfig::default()
            },
            seed: Some(options.seed ^ u64::from(name.ends_with('2'))),
            ..LinkConfig::new(INNER_INTERFACE.to_owned().into(), &settings.link)
        };
        *settings = config.settings();
        settings.ports = if options.packet_ports { PortChoice::Packet } else { PortChoice::Auto };
    })?)
}

/// A key that both ends share, in a file that only they read. Removed when dropped.
struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    fn create(prefix: &str) -> Result<KeyFile, WanError> {
        let path = PathBuf::from(MARKER_FOLDER).join(format!("{prefix}.key"));
        let write = || -> io::Result<()> {
            let mut key = [0; KEY_BYTES];
            std::fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
            let text: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
            // What a crash has left behind.
            let _ = std::fs::remove_file(&path);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            writeln!(file, "{text}")
        };
        write().map_err(|source| WanError::Key { path: path.display().to_string(), source })?;
        Ok(KeyFile { path })
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        // A destructor cannot fail; the next key takes its place.
        let _ = std::fs::remove_file(&self.path);
    }
}
