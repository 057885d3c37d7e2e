//! Access to the Linux kernel: what it knows about interfaces and threads, and packet sockets. One place for netlink,
//! ethtool, sysfs and the rings of packet sockets.
//!
//! - [`route`]: facts about an interface, and its XDP program (rtnetlink);
//! - [`interface_use`]: what this machine uses an interface for (rtnetlink, procfs);
//! - [`login`]: the login over which this process was started (procfs);
//! - [`announcements`]: which interfaces have changed (rtnetlink);
//! - [`device_counters`]: the kernel's counters of an interface, and the length of its queue (rtnetlink);
//! - [`interface_counters`]: errors and frames of all interfaces in one request (rtnetlink);
//! - [`link_statistics`]: symbol errors, check sequence errors and error correction of links (generic netlink);
//! - [`module_eeprom`]: the memory of a transceiver (generic netlink);
//! - [`udp_socket`]: UDP sockets that take and give many datagrams in one call;
//! - [`veth`]: creating, marking and removing a pair (rtnetlink);
//! - [`xdp_features`]: the XDP features that a driver reports (generic netlink);
//! - [`ethtool`]: driver, speed and queues (ioctl);
//! - [`driver_statistics`]: counters that a driver has under its own names (ioctl);
//! - [`features`]: device features by name, for example the offloads that a wire does not have (ioctl);
//! - [`packet_socket`]: packet sockets, and sending many frames in one call;
//! - [`packet_ring`]: their receive ring, in memory shared with the kernel;
//! - [`private_file`]: files that only their owner may read, opened without following symbolic links;
//! - [`tap`]: TAP devices that carry large segments (ioctl);
//! - [`sysfs`]: a sysfs of the calling thread's network namespace;
//! - [`thread`]: the scheduling of the calling thread;
//! - [`kernel_types`]: where the kernel keeps members of its structures (BTF);
//! - [`clock`]: the time;
//! - [`dump`]: netlink requests for all objects of a kind.
//!
//! Nothing in here knows about link ends or the protocol. Everything acts in the network namespace of the calling thread;
//! a socket stays in the one in which it was opened. Unsafe code is confined to the modules that make system calls
//! which no safe crate covers.

#![deny(unsafe_code)]

pub mod announcements;
pub mod clock;
pub mod device_counters;
pub mod driver_statistics;
pub mod dump;
#[allow(
    unsafe_code,
    reason = "an ioctl whose argument is a pointer to a structure that depends on the command"
)]
pub mod ethtool;
#[allow(unsafe_code, reason = "the same ioctl, with buffers of a length that the kernel states")]
pub mod features;
mod generic_netlink;
pub mod interface_counters;
pub mod interface_use;
pub mod kernel_types;
pub mod link_statistics;
pub mod login;
pub mod module_eeprom;
mod netlink;
#[allow(unsafe_code, reason = "memory that the kernel shares with us")]
pub mod packet_ring;
#[allow(
    unsafe_code,
    reason = "bind(2) to a sockaddr_ll, the options of packet sockets, and sendmmsg(2) of frames in several pieces"
)]
pub mod packet_socket;
pub mod private_file;
pub mod route;
#[allow(unsafe_code, reason = "the same ioctl, which writes as much as it has into memory that a guard ends")]
mod string_sets;
#[allow(unsafe_code, reason = "fsopen(2), fsconfig(2) and fsmount(2), which neither libc nor nix wraps")]
pub mod sysfs;
#[allow(unsafe_code, reason = "the ioctls that make a TAP device")]
pub mod tap;
#[allow(unsafe_code, reason = "sched_setscheduler(2) and a thread's setpriority(2), which nix does not wrap")]
pub mod thread;
#[allow(unsafe_code, reason = "control messages lie in memory that is described by pointers and lengths")]
mod udp_control;
#[allow(unsafe_code, reason = "system calls need it")]
pub mod udp_socket;
pub mod veth;
pub mod xdp_features;
