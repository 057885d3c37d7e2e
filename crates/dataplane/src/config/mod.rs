//! The configuration, from the text that people write to settings that can be relied on.
//!
//! 1. [`DaemonConfig::read`] parses a file; [`DaemonConfig::with_link`] takes one link from the command line. Both
//!    fill the same structs, whose documentation is also the help.
//! 2. [`DaemonConfig::validate`] checks everything that can be checked without a device; an error names the file, the
//!    line and the key, or the option.
//! 3. [`check_devices`], [`check_all_devices`] and [`device_problems`] look at the interfaces without changing them.
//! 4. [`HostPort::make`] creates the veth pair of an `inner = "create:NAME"`; [`LinkConfig::settings`] returns what the
//!    link end is started with.

mod bounds;
mod daemon;
mod devices;
mod error;
mod failover;
mod fallback;
mod header_format;
mod host_port;
mod interface_name;
mod link;
mod parameters;
mod protect;
#[cfg(test)]
mod tests;
mod udp;
mod validate;

pub use crate::link_use::LinkUse;
pub use daemon::DaemonConfig;
pub use devices::{DeviceError, DeviceErrors, check_all_devices, check_devices, device_problems};
pub(crate) use devices::{uses_behind_bypass, uses_that_end};
pub use error::{ConfigError, Place, Problem};
pub use failover::FailoverConfig;
pub use fallback::FallbackLimits;
pub use header_format::HeaderFormat;
pub use host_port::{HostPort, HostPortError};
pub use link::{CongestionControl, EcnThreshold, InnerPort, LinkConfig, PortKind};
pub use linkmend_quantity::{BitRate, ByteSize, LossRate, QuantityError, Span};
pub use parameters::ParametersConfig;
pub(crate) use protect::{protection, validate_protection};
