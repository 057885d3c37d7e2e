//! What people configure, from the text to settings that can be relied on.
//!
//! 1. [`DaemonConfig::read`] parses a file; [`DaemonConfig::of_arguments`] takes one link from the command line. Both
//!    fill the same structs, whose documentation is also the help.
//! 2. [`DaemonConfig::validate`] checks everything that can be checked without a device; an error names the file, the
//!    line and the key, or the option.
//! 3. [`check_devices`] and [`device_problems`] look at the interfaces without changing them.
//! 4. [`HostPort::make`] makes the veth pair of an `inner = "create:NAME"`; [`LinkConfig::settings`] is what the link
//!    end is started with.

mod daemon;
mod devices;
mod error;
mod fallback;
mod host_port;
mod link;
mod parameters;
mod protect;
#[cfg(test)]
mod tests;
mod validate;

pub use daemon::{CONTROL_FOLDER, DaemonConfig};
pub use devices::{DeviceError, check_devices, device_problems};
pub use error::{ConfigError, Place, Problem};
pub use fallback::FallbackLimits;
pub use host_port::{HostPort, HostPortError};
pub use link::{EcnThreshold, HeaderFormat, InnerPort, LinkConfig, PortKind};
pub use linkmend_quantity::{BitRate, ByteSize, LossRate, QuantityError, Span};
pub use parameters::ParametersConfig;
pub(crate) use parameters::parameter_key;
pub use protect::{
    ClassError, ClassField, ClassRule, INITIAL_LOSS_DEFAULT, ProtectConfig, ProtectMode, TARGET_LOSS_DEFAULT,
};
