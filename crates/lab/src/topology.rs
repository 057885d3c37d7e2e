//! The laboratory as four network namespaces in a row: how it is built and removed.
//!
//! ```text
//!   h1 eth0 <--> inner g1 link <==> link g2 inner <--> eth0 h2
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::{Child, Command};

use serde::{Deserialize, Serialize};

use crate::impairments::Impairments;
use crate::ip::ip;
pub use crate::lab_error::LabError;
use crate::marker::{FolderLock, MarkedNamespace, Marker, PROCESSES_MAX, Stage};
use crate::namespace::{NAMESPACE_FOLDER, Namespace};
use crate::plumbing;
use crate::process::{self, StillRunning, TrackedProcess, end_all};
pub use crate::wires::WireInterface;

/// Name of a host's only interface.
pub const HOST_INTERFACE: &str = "eth0";
/// Name of a link end's interface that faces its host.
pub const INNER_INTERFACE: &str = "inner";
/// Name of a link end's interface that faces the corrupting link.
pub const LINK_INTERFACE: &str = "link";
/// How much larger the inner ports' MTU is than the hosts': two VLAN tags, which the hosts may add.
pub const INNER_HEADROOM_BYTES: u32 = 8;
/// How much larger the link ports' MTU is than the hosts': two VLAN tags, and the longest Linkmend header.
pub const LINK_HEADROOM_BYTES: u32 = 16;
/// The smallest MTU of a host, which IPv6 requires (RFC 8200, section 5).
pub const HOST_MTU_MIN: u32 = 1280;
/// The largest MTU of a host.
pub const HOST_MTU_MAX: u32 = 9000;
/// The longest prefix, so that the names stay readable.
pub const PREFIX_MAX: usize = 24;

/// The four places of the laboratory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The left host, `h1`.
    Host1,
    /// The left link end, `g1`.
    End1,
    /// The right link end, `g2`.
    End2,
    /// The right host, `h2`.
    Host2,
}

impl Role {
    /// All places, left to right.
    pub const ALL: [Self; 4] = [Self::Host1, Self::End1, Self::End2, Self::Host2];

    /// The suffix of the namespace's name: `h1`, `g1`, `g2` or `h2`.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Host1 => "h1",
            Self::End1 => "g1",
            Self::End2 => "g2",
            Self::Host2 => "h2",
        }
    }

    /// The interfaces of the place.
    pub fn interfaces(self) -> &'static [&'static str] {
        match self {
            Self::Host1 | Self::Host2 => &[HOST_INTERFACE],
            Self::End1 | Self::End2 => &[INNER_INTERFACE, LINK_INTERFACE],
        }
    }

    /// The MAC address of `interface`; the same in every lab, so that traces can be compared.
    pub fn mac(self, interface: &str) -> [u8; 6] {
        let port = match interface {
            INNER_INTERFACE => 1,
            LINK_INTERFACE => 2,
            _ => 0,
        };
        [0x02, b'L', b'M', 0, self as u8 + 1, port]
    }

    /// The host's IPv4 address; link ends have none.
    pub fn ipv4(self) -> Option<IpAddr> {
        match self {
            Self::Host1 => Some(Ipv4Addr::new(10, 77, 0, 1).into()),
            Self::Host2 => Some(Ipv4Addr::new(10, 77, 0, 2).into()),
            _ => None,
        }
    }

    /// The host's IPv6 address; link ends have none.
    pub fn ipv6(self) -> Option<IpAddr> {
        match self {
            Self::Host1 => Some(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1).into()),
            Self::Host2 => Some(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2).into()),
            _ => None,
        }
    }
}

/// How a laboratory is built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LabOptions {
    /// First part of the namespaces' names: lower-case letters, digits and dashes. Default `lm`.
    pub prefix: String,
    /// MTU of the hosts in bytes, [`HOST_MTU_MIN`] to [`HOST_MTU_MAX`]. Default 1500. Above about 3,500, the link ends'
    /// ports do not take an XDP program without multi-buffer support.
    pub host_mtu: u32,
    /// Generic receive offload at the hosts' ends. Default on, because on veth this is what switches NAPI on, and
    /// without NAPI at the far end the kernel drops what an XDP program redirects into a veth (seen on 6.18: all or
    /// nothing).
    pub host_gro: bool,
    /// `rto_min` of the hosts' routes in milliseconds; `None` for the kernel's 200. Default 1, as in the paper (section
    /// 4.1). It is a lower bound for the retransmission timeout of data. The timer itself still ticks with the kernel's
    /// HZ, and the first SYN's timeout stays 1 s.
    pub rto_min_ms: Option<u32>,
    /// Keep no metrics of finished connections, so that one flow does not affect the next. Default on.
    pub tcp_no_metrics_save: bool,
    /// Shrink the window of a connection that was idle for one retransmission timeout. Default off (the kernel's
    /// default is on), because with a timeout of milliseconds every pause between flows would count as idle.
    pub tcp_slow_start_after_idle: bool,
    /// Upper limit of the TCP send and receive buffers in bytes. Default 16 MiB.
    pub tcp_buffer_max_bytes: u32,
    /// Length of the queue in front of every port, in frames; `None` leaves veth without one. Default 1000. With a
    /// queue, a full veth slows its sender down (kernel 6.16 and later); without one it drops silently.
    pub queue_frames: Option<u32>,
    /// Rate and delays of the path. Default none. With any, the laboratory has a fifth namespace, and nothing passes
    /// until [`crate::DelayLines`] have been started.
    pub impairments: Impairments,
    /// Take the laboratory down when the [`Lab`] is dropped. Default off.
    pub remove_on_drop: bool,
}

impl Default for LabOptions {
    fn default() -> Self {
        Self {
            prefix: "lm".to_owned(),
            host_mtu: 1500,
            host_gro: true,
            rto_min_ms: Some(1),
            tcp_no_metrics_save: true,
            tcp_slow_start_after_idle: false,
            tcp_buffer_max_bytes: 16 << 20,
            queue_frames: Some(1000),
            impairments: Impairments::default(),
            remove_on_drop: false,
        }
    }
}

impl LabOptions {
    /// The name of the namespace for `role`.
    pub fn namespace_name(&self, role: Role) -> String {
        format!("{}-{}", self.prefix, role.suffix())
    }

    /// The name of the namespace of the delay lines, if there are any.
    pub fn wires_name(&self) -> Option<String> {
        (!self.impairments.is_none()).then(|| format!("{}-{}", self.prefix, crate::wires::SUFFIX))
    }

    /// The names of all namespaces.
    pub(crate) fn namespace_names(&self) -> Vec<String> {
        Role::ALL.iter().map(|role| self.namespace_name(*role)).chain(self.wires_name()).collect()
    }

    fn validate(&self) -> Result<(), LabError> {
        self.impairments.validate()?;
        let ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let prefix = &self.prefix;
        let bad = prefix.is_empty() || prefix.len() > PREFIX_MAX || prefix.starts_with('-');
        if bad || !prefix.chars().all(ok) {
            return Err(LabError::BadPrefix { prefix: prefix.clone() });
        }
        if !(HOST_MTU_MIN..=HOST_MTU_MAX).contains(&self.host_mtu) {
            return Err(LabError::BadMtu { host_mtu: self.host_mtu });
        }
        Ok(())
    }
}

/// What [`Lab::down`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownOutcome {
    /// A laboratory, or what a crash had left of one. It is gone now.
    Removed {
        /// Programs of others that ran inside and were ended: pid and program.
        ended: Vec<(u32, String)>,
    },
    /// Nothing that this program had created.
    NothingThere,
}

/// A laboratory that is up.
#[derive(Debug)]
pub struct Lab {
    options: LabOptions,
    namespaces: [Namespace; 4],
    wires: Option<Namespace>,
}

impl Lab {
    /// Builds the laboratory. An existing one with the same options is used as it is. A half-finished or different one
    /// is taken down first, unless programs run in it.
    ///
    /// # Errors
    /// [`LabError::Foreign`] if a name is taken; [`LabError::InUse`]; others name the step that failed, and leave
    /// nothing behind.
    pub fn up(options: LabOptions) -> Result<Self, LabError> {
        options.validate()?;
        let _lock = FolderLock::take()?;
        if let Some(marker) = Marker::load(&options.prefix)? {
            if marker.stage == Stage::Up && same_build(&marker.options, &options) && is_whole(&marker) {
                return Self::open(options);
            }
            if let Some(process) = marker.processes.iter().find(|process| process.is_running()) {
                let (prefix, program) = (options.prefix, process.program.clone());
                return Err(LabError::InUse { prefix, pid: process.pid, program });
            }
            tear_down(&marker)?;
        }
        refuse_foreign(&options)?;
        let mut marker = Marker::new(&options);
        match plumbing::build(&options, &mut marker) {
            Ok(()) => Self::open(options),
            Err(error) => {
                // The first error is the one to report; what cannot be removed now stays on record for `down`.
                let _ = tear_down(&marker);
                Err(error)
            }
        }
    }

    /// Takes the laboratory with this prefix down: ends every process inside, whoever started it, except the caller and
    /// its ancestors, and removes its namespaces and its record. Also finishes what a crashed `up` or `down` left.
    ///
    /// # Errors
    /// [`LabError::Foreign`] if namespaces of these names exist that are not ours.
    pub fn down(prefix: &str) -> Result<DownOutcome, LabError> {
        let options = LabOptions { prefix: prefix.to_owned(), ..LabOptions::default() };
        options.validate()?;
        let _lock = FolderLock::take()?;
        let Some(marker) = Marker::load(prefix)? else {
            refuse_foreign(&options)?;
            return Ok(DownOutcome::NothingThere);
        };
        let ended = tear_down(&marker)?;
        Ok(DownOutcome::Removed {
            ended: ended.into_iter().map(|process| (process.pid, process.program)).collect(),
        })
    }

    /// Attaches to an existing laboratory, whoever built it.
    ///
    /// # Errors
    /// [`LabError::NotUp`] if it is not on record, whatever namespaces of these names exist.
    pub fn attach(prefix: &str) -> Result<Self, LabError> {
        LabOptions { prefix: prefix.to_owned(), ..LabOptions::default() }.validate()?;
        let marker = Marker::load(prefix)?.filter(|marker| marker.stage == Stage::Up && is_whole(marker));
        let marker = marker.ok_or_else(|| LabError::NotUp { prefix: prefix.to_owned() })?;
        Self::open(LabOptions { remove_on_drop: false, ..marker.options })
    }

    /// The options it was built with.
    pub fn options(&self) -> &LabOptions {
        &self.options
    }

    /// The namespace of `role`.
    pub fn namespace(&self, role: Role) -> &Namespace {
        &self.namespaces[role as usize]
    }

    /// The namespace of the delay lines; `None` in a laboratory without impairments.
    pub fn wires(&self) -> Option<&Namespace> {
        self.wires.as_ref()
    }

    /// Starts `command` in the namespace of `role`, in a separate process group (so that a Ctrl-C at the terminal does
    /// not reach it), and records it so that [`Lab::down`] can end it. The caller waits for the child.
    ///
    /// # Errors
    /// [`LabError::Spawn`] if it cannot be started, [`LabError::NotUp`] if the laboratory is gone.
    pub fn spawn(&self, role: Role, command: Command) -> Result<Child, LabError> {
        self.spawn_in(self.namespace(role), command)
    }

    /// Does the same as [`Lab::spawn`] in any namespace of the laboratory, such as [`Lab::wires`].
    ///
    /// # Errors
    /// See [`Lab::spawn`].
    pub fn spawn_in(&self, namespace: &Namespace, mut command: Command) -> Result<Child, LabError> {
        use std::os::unix::process::CommandExt;
        let program = command.get_program().to_string_lossy().into_owned();
        let _lock = FolderLock::take()?;
        let prefix = &self.options.prefix;
        let marker = Marker::load(prefix)?;
        let mut marker = marker.ok_or_else(|| LabError::NotUp { prefix: prefix.clone() })?;
        if marker.processes.iter().filter(|process| process.is_running()).count() >= PROCESSES_MAX {
            return Err(LabError::TooManyProcesses { prefix: prefix.clone() });
        }
        namespace.enter_with(&mut command);
        let child = command.process_group(0).spawn().map_err(|source| LabError::Spawn {
            program: program.clone(),
            namespace: namespace.name().to_owned(),
            source,
        })?;
        if let Some(process) = TrackedProcess::of(child.id(), &program) {
            marker.track(process);
            marker.save()?;
        }
        Ok(child)
    }

    /// Joins the two ports of each link end by a plain Linux bridge in place of the daemons: the path without Linkmend,
    /// for comparison and for tests of the tools.
    ///
    /// # Errors
    /// [`LabError::Ip`] if the kernel has no bridges.
    pub fn bridge(&self) -> Result<(), LabError> {
        [Role::End1, Role::End2].iter().try_for_each(|role| plumbing::bridge(self.namespace(*role)))
    }

    /// Removes the bridges that [`Lab::bridge`] created.
    ///
    /// # Errors
    /// [`LabError::Ip`] if there are no bridges.
    pub fn unbridge(&self) -> Result<(), LabError> {
        [Role::End1, Role::End2].iter().try_for_each(|role| plumbing::unbridge(self.namespace(*role)))
    }

    fn open(options: LabOptions) -> Result<Self, LabError> {
        let open = |role| Namespace::open(&options.namespace_name(role));
        let [h1, g1, g2, h2] = Role::ALL;
        let namespaces = [open(h1)?, open(g1)?, open(g2)?, open(h2)?];
        let wires = options.wires_name().map(|name| Namespace::open(&name)).transpose()?;
        Ok(Self { options, namespaces, wires })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.options.remove_on_drop {
            // A destructor cannot fail; what is left stays on record for `down`.
            let _ = Self::down(&self.options.prefix);
        }
    }
}

fn same_build(one: &LabOptions, other: &LabOptions) -> bool {
    LabOptions { remove_on_drop: false, ..one.clone() }
        == LabOptions { remove_on_drop: false, ..other.clone() }
}

fn exists(name: &str) -> bool {
    Path::new(NAMESPACE_FOLDER).join(name).exists()
}

fn refuse_foreign(options: &LabOptions) -> Result<(), LabError> {
    let taken = options.namespace_names().into_iter().find(|name| exists(name));
    taken.map_or(Ok(()), |name| Err(LabError::Foreign { name }))
}

fn is_whole(marker: &Marker) -> bool {
    let alive = |name: &str| Namespace::open(name).and_then(|namespace| namespace.inode()).ok();
    marker.namespaces.len() == marker.options.namespace_names().len()
        && marker
            .namespaces
            .iter()
            .all(|marked| marked.inode.is_some() && alive(&marked.name) == marked.inode)
}

/// How often to look for processes that were started while others were being ended; a program that forks faster is
/// left.
const SEARCHES_MAX: usize = 5;

/// Removes everything that the record names, then the record. Returns the other processes that ran inside: a namespace
/// continues to exist without a name, with the traffic of a forgotten generator, as long as anything runs in it.
fn tear_down(marker: &Marker) -> Result<Vec<TrackedProcess>, LabError> {
    let end = |processes: &[TrackedProcess]| {
        end_all(processes).map_err(|StillRunning { process, source }| LabError::StillRunning {
            prefix: marker.options.prefix.clone(),
            pid: process.pid,
            program: process.program,
            reason: source.map(|error| format!(": {error}")).unwrap_or_default(),
        })
    };
    end(&marker.processes)?;
    let ours = |marked: &MarkedNamespace| {
        let inode = Namespace::open(&marked.name).and_then(|namespace| namespace.inode()).ok();
        inode.filter(|inode| Some(*inode) == marked.inode)
    };
    let inodes: Vec<u64> = marker.namespaces.iter().filter_map(ours).collect();
    let mut ended = Vec::new();
    for _ in 0..SEARCHES_MAX {
        let found = process::inside(&inodes);
        if found.is_empty() {
            break;
        }
        end(&found)?;
        ended.extend(found);
    }
    let mut foreign = None;
    for marked in marker.namespaces.iter().filter(|marked| exists(&marked.name)) {
        let name = &marked.name;
        // A namespace that cannot be opened is a name without a namespace, left by a crash in `ip netns add`.
        if let Ok(namespace) = Namespace::open(name) {
            if marked.inode.is_some() && namespace.inode().ok() != marked.inode && is_mounted(&namespace) {
                foreign = Some(LabError::Foreign { name: name.clone() });
                continue;
            }
            plumbing::remove_links(&namespace);
        }
        ip(&format!("netns del {name}"))?;
    }
    Marker::remove(&marker.options.prefix)?;
    foreign.map_or(Ok(ended), Err)
}

/// Whether the name still leads to a namespace, and not to the empty file on which it was mounted.
fn is_mounted(namespace: &Namespace) -> bool {
    namespace.run(|| ()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_prefixes_and_sizes_are_refused_before_anything_is_touched() {
        for prefix in ["", "-x", "a/b", "..", "Upper", "with space", "a-very-very-long-prefix-here"] {
            let options = LabOptions { prefix: prefix.to_owned(), ..LabOptions::default() };
            assert!(matches!(Lab::up(options), Err(LabError::BadPrefix { .. })), "{prefix}");
            assert!(matches!(Lab::down(prefix), Err(LabError::BadPrefix { .. })), "{prefix}");
        }
        for host_mtu in [0, 1279, 9001] {
            let options = LabOptions { host_mtu, ..LabOptions::default() };
            assert!(matches!(Lab::up(options), Err(LabError::BadMtu { .. })), "{host_mtu}");
        }
    }

    #[test]
    fn all_addresses_differ() {
        let macs = Role::ALL.map(|role| role.interfaces().iter().map(move |name| role.mac(name)));
        let mut macs: Vec<_> = macs.into_iter().flatten().collect();
        use WireInterface::{End1, Host1, Link1, Link2};
        macs.extend([Host1, End1, Link1, Link2].map(WireInterface::mac));
        macs.sort_unstable();
        macs.dedup();
        assert_eq!(macs.len(), 10);
    }
}
