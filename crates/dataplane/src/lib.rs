//! Linkmend on a real Linux link.
//!
//! From the kernel up:
//!
//! - [`frame_pool`]: the memory of all frames of a link end, shared with the kernel;
//! - [`port`]: AF_XDP and AF_PACKET ports, one interface each;
//! - [`bypass`]: the programs that forward between the ports in the kernel without the daemon;
//! - [`port_pair`]: all of these opened together; a link end starts here.
//!
//! Questions to the kernel about interfaces and threads, and packet sockets, are in `linkmend-linux`. Unsafe code is
//! confined to one private module, `sys`.

#![deny(unsafe_code)]
// A log line that cannot be written must not end a link.
#![warn(clippy::print_stderr)]

pub mod bypass;
pub mod capture;
mod clock;
pub mod command;
pub mod config;
pub mod control;
pub mod corruption;
mod daemon;
mod engine;
pub mod frame_pool;
pub mod handle;
pub mod health;
mod interface_watch;
mod key_file;
mod loss_script;
pub mod metrics;
mod parameter_keys;
pub mod port;
pub mod port_pair;
mod protocol_log;
pub mod report;
mod saved_protection;
pub mod settings;
#[allow(unsafe_code, reason = "system calls need it; no other module has any")]
mod sys;

pub use bypass::{Bypass, BypassCounters, BypassMode, BypassOptions};
pub use command::{Command, CommandError, CommandResult};
pub use corruption::CorruptionModel;
pub use daemon::{Daemon, DaemonError};
#[cfg(feature = "bench")]
pub use engine::bench;
pub use engine::{ExitReason, StartError};
pub use frame_pool::{FrameHandle, FramePool, PoolOptions};
pub use handle::LinkEndHandle;
pub use health::DaemonHealth;
pub use linkmend_linux::route::XdpMode;
pub use loss_script::LossScript;
pub use port::{Port, PortCounters, PortError, QueueFull};
pub use port_pair::{PortChoice, PortPair, PortPairOptions};
pub use report::LinkReport;
pub use saved_protection::SavedProtection;
pub use settings::{BackupSettings, LinkSettings, Overrides, ProtectionSettings};
