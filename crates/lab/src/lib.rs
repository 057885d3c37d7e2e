//! A laboratory: two hosts, two link ends and the link between them, as network namespaces of one machine, with tools
//! that send traffic through them and measure it.
//!
//! ```text
//!   lm-h1            lm-g1                     lm-g2            lm-h2
//!   eth0 <-- veth --> inner   link <-- veth --> link   inner <-- veth --> eth0
//!   10.77.0.1         (the daemon)   corrupting  (the daemon)         10.77.0.2
//!   fd77::1                            link                            fd77::2
//! ```
//!
//! - [`topology`] builds the laboratory and removes it, and touches nothing else: [`Lab`], [`LabOptions`], [`Role`]. With a
//!   second link between the link ends ([`BackupLink`]), either link can be cut ([`Cut`]). [`process`] starts programs and
//!   ends them; [`offload`] makes the ports behave like a wire.
//! - [`impairments`] describes the path's rate and delays; [`delay_line`] applies them to frames.
//! - [`namespace`] runs closures and programs inside: [`Namespace`].
//! - [`unprivileged`] gives ordinary users a laboratory.
//! - [`tcp`] measures what applications notice: goodput, flow completion times, round-trip times.
//! - [`transfers`] runs the kernel's TCP over a path with given losses, to be compared with a simulated one.
//! - [`generator`] sends numbered frames as fast as possible and counts which are lost, duplicated, reordered or
//!   changed.
//! - [`datagrams`] sends numbered UDP datagrams at a steady rate, also through routers.
//! - [`frames`] sends unusual frames and compares each with what arrives.
//! - [`link_ends`] runs the two link ends inside this process; [`demo`] has the experiments of `linkmend demo`.
//! - [`unattended`] runs `corruptd` on a link that starts to corrupt frames and is repaired.
//! - [`failover`] cuts one of two links during traffic, over Linkmend and over the kernel's own failover.
//! - [`wan`] joins the link ends by a path of the Internet, without and with Linkmend over UDP.
//! - [`hog`] occupies the processors for a moment.
//! - [`stop`] ends and follows any of these; [`summary`] turns a sample into percentiles, [`statistics`] adds
//!   intervals, and [`noise`] measures how the machine disturbed a measurement.
//!
//! The traffic tools do not depend on the daemon: they work over whatever connects the ports of the link ends, such as
//! [`Lab::bridge`]. Their reports are plain data for `serde`; times are in nanoseconds unless a name says otherwise.
//!
//! ```no_run
//! use linkmend_lab::{Lab, LabOptions, RunControl, tcp};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let lab = Lab::up(LabOptions { remove_on_drop: true, ..LabOptions::default() })?;
//! lab.bridge()?;
//! let path = tcp::TrafficPath::ipv4(&lab);
//! let report = tcp::flows(&path, &tcp::FlowOptions::default(), &RunControl::default())?;
//! assert_eq!(report.retransmitted_segments, 0);
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

pub mod datagrams;
pub mod delay_line;
pub mod demo;
pub mod failover;
pub mod frames;
pub mod generator;
pub mod hog;
pub mod impairments;
pub mod link_ends;
pub mod namespace;
pub mod noise;
pub mod offload;
pub mod packet;
mod passing;
pub mod process;
pub mod statistics;
pub mod stop;
pub mod summary;
mod sys;
pub mod tcp;
pub mod topology;
pub mod transfers;
pub mod unattended;
pub mod unprivileged;
pub mod wan;

pub use delay_line::{DelayLineError, DelayLines, LineReport};
pub use impairments::{BackupLink, Impairments};
pub use link_ends::{LinkEnds, LinkEndsError};
pub use linkmend_protocol::paths::Path;
pub use namespace::{Namespace, NamespaceError};
pub use packet::{FramePath, FramePort, PacketError};
pub use stop::{Progress, RunControl, StopFlag};
pub use summary::Summary;
pub use topology::{Cut, Direction, DownOutcome, IpError, Lab, LabError, LabOptions, Role};

/// The release of this kernel; empty if it does not say.
fn kernel_release() -> String {
    let name = nix::sys::utsname::uname();
    name.map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default()
}
