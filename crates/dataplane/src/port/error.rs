//! Why a port cannot be opened or used.

use super::limits::QUEUES_MAX;
use crate::sys::xsk::{BIND_SEVERAL_CHUNKS, REGISTER_MEMORY};
use linkmend_diagnose::Diagnose;
use std::io;

/// Why a port cannot be opened or used. Every message names the interface and the value that is wrong.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// There is no interface of this name in this network namespace.
    #[error("interface {interface}: no such interface in this network namespace")]
    UnknownInterface {
        /// The name asked for.
        interface: String,
    },
    /// Another process serves this interface.
    #[error("interface {interface}: already served by another Linkmend process")]
    InUse {
        /// Name of the interface.
        interface: String,
    },
    /// The interface is not an Ethernet interface.
    #[error("interface {interface}: not an Ethernet interface")]
    NotEthernet {
        /// Name of the interface.
        interface: String,
    },
    /// Frames of queues without a socket would pass unprotected.
    #[error("interface {interface}: has {queues} receive queues, and a port serves at most {QUEUES_MAX}")]
    TooManyQueues {
        /// Name of the interface.
        interface: String,
        /// Receive queues in use.
        queues: u32,
    },
    /// Frames of this MTU do not fit the longest chain of the pool.
    #[error("interface {interface}: MTU {mtu} is above {limit}")]
    MtuTooLarge {
        /// Name of the interface.
        interface: String,
        /// Its MTU, bytes.
        mtu: u32,
        /// The largest MTU that works, bytes.
        limit: u32,
    },
    /// Somebody else's XDP program is attached.
    #[error("interface {interface}: carries a foreign XDP program (`{name}`, id {id})")]
    ForeignProgram {
        /// Name of the interface.
        interface: String,
        /// Kernel id of the program.
        id: u32,
        /// Name of the program; empty if it has none.
        name: String,
    },
    /// An XDP program is attached, and the kernel does not let us see whose it is.
    #[error("interface {interface}: cannot tell whether the XDP program there (id {id}) is Linkmend's")]
    UnknownProgram {
        /// Name of the interface.
        interface: String,
        /// Kernel id of the program.
        id: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// The verifier refused the bypass program, because the kernel is too old or because of a mistake of ours.
    #[error("interface {interface}: kernel refused the bypass program: {verifier_log}")]
    ProgramRefused {
        /// Name of the interface.
        interface: String,
        /// What the verifier said; empty if the program did not get that far.
        verifier_log: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A system call failed.
    #[error("interface {interface}: {step} failed")]
    System {
        /// Name of the interface.
        interface: String,
        /// What was tried.
        step: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The frame pool cannot be created.
    #[error(transparent)]
    Pool(#[from] crate::frame_pool::PoolError),
}

impl PortError {
    pub(crate) fn system(interface: &str, step: &'static str) -> impl FnOnce(io::Error) -> PortError {
        move |source| PortError::System { interface: interface.to_owned(), step, source }
    }

    /// The interface that it is about; empty if it is about none.
    pub fn interface(&self) -> &str {
        match self {
            PortError::System { interface, .. } => interface,
            _ => "",
        }
    }

    /// The system's error number behind this error, if there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            PortError::System { source, .. } | PortError::ProgramRefused { source, .. } => {
                source.raw_os_error()
            }
            _ => None,
        }
    }
}

/// What to use instead of an interface without Ethernet frames.
pub(crate) const NOT_ETHERNET_HINT: &str = "choose one that `ip link` shows as link/ether: a TAP device instead of a TUN \
     device, or the interface that a tunnel runs over";

impl Diagnose for PortError {
    fn hint(&self) -> Option<String> {
        match self {
            PortError::UnknownInterface { .. } => Some("list the interfaces with `ip link`".to_owned()),
            PortError::InUse { .. } => {
                Some("stop the other process first; one link end is served by one process".to_owned())
            }
            PortError::NotEthernet { .. } => Some(NOT_ETHERNET_HINT.to_owned()),
            PortError::TooManyQueues { interface, .. } => Some(format!(
                "reduce them with `ethtool -L {interface} combined {QUEUES_MAX}` (or `rx {QUEUES_MAX}`)"
            )),
            PortError::MtuTooLarge { interface, limit, .. } => {
                Some(format!("lower it with `ip link set {interface} mtu {limit}`"))
            }
            PortError::ForeignProgram { interface, .. } => Some(format!(
                "stop whatever attached it, or choose another interface; if nothing needs it, remove it with \
                 `ip link set {interface} xdp off` (or `xdpgeneric off`)"
            )),
            PortError::UnknownProgram { interface, .. } => Some(format!(
                "leave it where it is: if it is Linkmend's, it forwards the link until the next start, and \
                 without it the link is cut. Start with CAP_BPF and CAP_PERFMON, which suffice on a kernel that \
                 describes its types (/sys/kernel/btf/vmlinux), or else with CAP_SYS_ADMIN (in a unit: a line \
                 `CapabilityBoundingSet=CAP_SYS_ADMIN` by `systemctl edit`, which adds it). `bpftool net show dev {interface}` shows whose it is"
            )),
            PortError::System { step, source, .. } if step.starts_with(AF_XDP) => {
                source.raw_os_error().and_then(|errno| af_xdp_hint(step, errno))
            }
            PortError::System { step, source, .. } if *step == OPEN_UDP => {
                (source.kind() == io::ErrorKind::AddrInUse).then(|| {
                    "another program receives at this UDP port: stop it, or choose another port at both ends \
                     (`udp:listen:PORT`, `udp:HOST:PORT`)"
                        .to_owned()
                })
            }
            PortError::System { step, .. } if step.starts_with(TAP) => {
                Some("`--offloads` requires /dev/net/tun (`modprobe tun`) and CAP_NET_ADMIN".to_owned())
            }
            _ => self.errno().and_then(errno_hint),
        }
    }
}

/// How the step of making a TAP device begins.
pub(super) const TAP: &str = "TAP device for large segments";
/// The step of opening the socket of a link over UDP.
pub(super) const OPEN_UDP: &str = "opening the UDP socket";
/// How the steps of opening an AF_XDP socket begin.
const AF_XDP: &str = "AF_XDP: ";

/// What an error of a step of AF_XDP means: mostly that the kernel is older than what the step needs.
fn af_xdp_hint(step: &str, errno: i32) -> Option<String> {
    match errno {
        libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT => Some(
            "this kernel has no AF_XDP (Linux 5.4 with CONFIG_XDP_SOCKETS); choose AF_PACKET ports (`--ports packet`)"
                .to_owned(),
        ),
        libc::EINVAL | libc::ENOPROTOOPT | libc::EOPNOTSUPP if step == BIND_SEVERAL_CHUNKS => Some(
            "frames of this MTU take several chunks, for which this kernel is too old (XDP_USE_SG, Linux 6.6); lower the \
             MTU, or choose AF_PACKET ports (`--ports packet`)"
                .to_owned(),
        ),
        libc::EINVAL | libc::ENOPROTOOPT | libc::EOPNOTSUPP => Some(
            "this kernel's AF_XDP is too old (Linux 5.4 has all of it), or the driver refuses it; choose AF_PACKET ports \
             (`--ports packet`)"
                .to_owned(),
        ),
        libc::EPERM if step == REGISTER_MEMORY => Some(
            "the frame memory is locked: raise the locked-memory limit (`ulimit -l unlimited`, LimitMEMLOCK=), and run \
             as root or with CAP_IPC_LOCK"
                .to_owned(),
        ),
        _ => errno_hint(errno),
    }
}

fn errno_hint(errno: i32) -> Option<String> {
    let hint = match errno {
        libc::EPERM | libc::EACCES => {
            "needs CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF (run as root), \
             or AF_PACKET ports inside a user namespace; before Linux 5.11 also a higher locked-memory limit \
             (`ulimit -l unlimited`, LimitMEMLOCK=)"
        }
        libc::EAFNOSUPPORT => "this kernel has no AF_XDP (CONFIG_XDP_SOCKETS); choose AF_PACKET ports",
        libc::ENOBUFS => "raise the locked-memory limit (`ulimit -l unlimited`, LimitMEMLOCK=)",
        libc::ENOMEM => "the frame pool does not fit into the memory of this machine; make it smaller",
        libc::EBUSY => "another AF_XDP socket holds a receive queue; stop the program that owns it",
        libc::ENETDOWN => "bring the interface up with `ip link set ... up`",
        libc::ENODEV | libc::ENXIO => "the interface is gone",
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::xsk::{BIND, MAP_RINGS, OPEN, RING_OFFSETS, RINGS};

    fn hint(step: &'static str, errno: i32) -> String {
        let error = PortError::system("eth2", step)(io::Error::from_raw_os_error(errno));
        error.hint().unwrap_or_else(|| panic!("no hint for {error}, errno {errno}"))
    }

    #[test]
    fn what_old_kernels_lack_and_limits_forbid_has_a_way_out() {
        for step in [REGISTER_MEMORY, RINGS, RING_OFFSETS, MAP_RINGS, BIND, BIND_SEVERAL_CHUNKS] {
            for errno in [libc::EINVAL, libc::ENOPROTOOPT, libc::EOPNOTSUPP] {
                let hint = hint(step, errno);
                let since = if step == BIND_SEVERAL_CHUNKS { "Linux 6.6" } else { "Linux 5.4" };
                assert!(hint.contains(since) && hint.contains("--ports packet"), "{step}: {hint}");
            }
        }
        for errno in [libc::EAFNOSUPPORT, libc::EPROTONOSUPPORT, libc::ESOCKTNOSUPPORT] {
            assert!(hint(OPEN, errno).contains("CONFIG_XDP_SOCKETS"), "{errno}");
        }
        for (step, errno) in [
            (REGISTER_MEMORY, libc::EPERM),
            (REGISTER_MEMORY, libc::ENOBUFS),
            ("creating the bypass socket map", libc::EPERM),
        ] {
            assert!(hint(step, errno).contains("LimitMEMLOCK"), "{step}");
        }
        assert!(hint(BIND, libc::EBUSY).contains("a receive queue"));
    }
}
