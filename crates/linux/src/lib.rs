//! Access to what the Linux kernel knows about interfaces and threads: one place for netlink, ethtool and sysfs.
//!
//! - [`route`]: facts about an interface, and its XDP program (rtnetlink);
//! - [`device_counters`]: what the kernel counts at an interface, and what waits in its queue (rtnetlink);
//! - [`veth`]: making, marking and removing a pair (rtnetlink);
//! - [`xdp_features`]: what a driver says of its XDP abilities (generic netlink);
//! - [`wire_like`]: device features off that a wire does not have (generic netlink);
//! - [`ethtool`]: driver, speed and queues (ioctl);
//! - [`features`]: all device features by name (ioctl);
//! - [`sysfs`]: a sysfs of the calling thread's network namespace;
//! - [`thread`]: the scheduling of the calling thread.
//!
//! Nothing in here knows about frames, links or the protocol. Everything acts in the network namespace of the calling
//! thread; a socket stays in the one in which it was opened. Unsafe code is confined to the four modules that make
//! system calls which no safe crate covers.

#![deny(unsafe_code)]

pub mod device_counters;
#[allow(
    unsafe_code,
    reason = "an ioctl whose argument is a pointer to a structure that depends on the command"
)]
pub mod ethtool;
#[allow(unsafe_code, reason = "the same ioctl, with buffers of a length that the kernel states")]
pub mod features;
pub mod route;
#[allow(unsafe_code, reason = "fsopen(2), fsconfig(2) and fsmount(2), which neither libc nor nix wraps")]
pub mod sysfs;
#[allow(unsafe_code, reason = "sched_setscheduler(2) and a thread's setpriority(2), which nix does not wrap")]
pub mod thread;
pub mod veth;
pub mod wire_like;
pub mod xdp_features;
