//! Limits on the length of interface names.

/// Prefix that turns the host port's name into the name of Linkmend's end of the pair.
pub(super) const PEER_PREFIX: &str = "lm-";
/// Longest name of an interface (IFNAMSIZ without its terminator).
pub(super) const INTERFACE_NAME_BYTES_MAX: usize = 15;
/// Longest name of a host port, so that the name of its peer still fits.
pub(super) const HOST_PORT_NAME_BYTES_MAX: usize = INTERFACE_NAME_BYTES_MAX - PEER_PREFIX.len();
