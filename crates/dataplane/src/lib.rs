//! Linkmend on a real Linux link.
//!
//! From the kernel up:
//!
//! - [`frame_pool`]: the memory of all frames of a link end, shared with the kernel;
//! - [`port`]: ports on one interface each: AF_XDP, AF_PACKET, and for hosts that leave segmentation to their interface
//!   (`offload` cuts and joins their segments); and the port of a link over UDP ([`udp_link`]);
//! - [`bypass`]: the programs that forward between the ports in the kernel without the daemon;
//! - [`port_pair`]: all of these opened together; a link end starts here.
//!
//! Around them:
//!
//! - [`Daemon`] supervises the link ends of a machine; a [`LinkEndHandle`] starts one and talks to its loop.
//! - [`config`] is what people set, [`settings`] what a link end gets; [`command`], [`control`] and [`metrics`] are its
//!   ways to the outside. What requests and answers contain is in `linkmend-control`.
//! - [`capture`] copies frames out of the loop; `corruption` drops some for tests.
//!
//! Questions to the kernel about interfaces and threads, and packet sockets, are in `linkmend-linux`. Unsafe code is
//! confined to one private module, `sys`.
//!
//! # One frame through the daemon
//!
//! **Start.** [`Daemon::start`] starts each link. Each link end gets a thread ([`LinkEndHandle::start`]), which opens the ports ([`open`](crate::engine::Engine::open)) and runs the loop
//! ([`run`](crate::engine::Engine::run)): [`round`](crate::engine::Engine::round) after round, and
//! [`wait`](crate::engine::Engine::wait) when there is nothing to do.
//!
//! **From the host.** A host's frame arrives on the inner port, for example an AF_XDP socket
//! ([`receive`](Port::receive)). The port returns a handle, and the bytes stay in the memory of the
//! [`FramePool`] ([`head`](FramePool::head)). [`take_from_inner`](crate::engine::Engine::take_from_inner) asks the protocol for
//! its lane and queues the frame, marks it or drops it.
//!
//! **To the link.** [`send_to_link`](crate::engine::Engine::send_to_link) asks the protocol's schedule for the next frame as
//! long as the port has room ([`link_room`](crate::engine::Engine::link_room)).
//! [`send_normal`](crate::engine::Engine::send_normal) has the frame numbered, [`wrap`](crate::engine::Engine::wrap) writes its
//! header into the headroom, and [`post`](crate::engine::Engine::post) hands it to the link port.
//!
//! **From the link.** At the other end, [`take_from_link`](crate::engine::Engine::take_from_link) reads the port.
//! [`handle_link_frame`](crate::engine::Engine::handle_link_frame) recognises the frame,
//! [`restore`](crate::engine::Engine::restore) removes the header, and [`take_data`](crate::engine::Engine::take_data) passes its
//! number to the protocol. [`deliver`](crate::engine::Engine::deliver) sends the frame out of the inner port. What waited behind a
//! hole follows in [`deliver_buffered`](crate::engine::Engine::deliver_buffered). Control frames that are not the peer's are
//! ignored ([`is_from_peer`](crate::engine::Engine::is_from_peer)). If every frame arrives on two links, the first copy is taken in
//! [`merge_data`](crate::engine::Engine::merge_data).
//!
//! The state machines in between are described by the documentation of `linkmend-protocol`.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the walk through the code names private functions, so that rustdoc finds it outdated"
)]
#![deny(unsafe_code)]
// A log line that cannot be written must not end a link.
#![warn(clippy::print_stderr)]

pub mod bypass;
pub mod capture;
mod clock;
pub mod command;
pub mod config;
pub mod control;
mod corruption;
mod daemon;
mod engine;
pub mod frame_pool;
pub mod handle;
mod interface_watch;
pub mod kernel_support;
mod key_file;
mod link_use;
mod loss_script;
pub mod metrics;
mod offload;
mod parameter_keys;
pub mod port;
pub mod port_pair;
mod protocol_log;
mod saved_protection;
pub mod settings;
#[allow(unsafe_code, reason = "system calls need it; no other module has any")]
mod sys;
pub mod udp_link;

pub use bypass::{Bypass, BypassCounters, BypassMode, BypassOptions};
pub use command::{Command, CommandError, CommandResult};
pub use daemon::{Daemon, DaemonError};
#[cfg(feature = "bench")]
pub use engine::bench;
pub use engine::{ExitReason, StartError};
pub use frame_pool::{FrameHandle, FramePool, PoolOptions};
pub use handle::LinkEndHandle;
pub use linkmend_linux::route::XdpMode;
pub use loss_script::LossScript;
pub use port::{Port, PortCounters, PortError, QueueFull};
pub use port_pair::{PortChoice, PortPair, PortPairOptions};
pub use saved_protection::SavedProtection;
pub use settings::{BackupSettings, LinkSettings, ProtectionSettings};
