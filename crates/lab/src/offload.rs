//! Device features (what `ethtool -K` sets) of the laboratory's interfaces.

use std::collections::BTreeMap;
use std::io;

use linkmend_diagnose::Diagnose;
use linkmend_linux::features;

use crate::namespace::{Namespace, NamespaceError};

/// Why features could not be set or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} the features of `{interface}` in `{namespace}`: {source}")]
pub struct OffloadError {
    action: &'static str,
    interface: String,
    namespace: String,
    source: io::Error,
}

impl Diagnose for OffloadError {}

/// On `interface`, switches off what a wire does not have, and sets generic receive offload to `gro`.
///
/// # Errors
/// The outer error if the namespace cannot be entered, the inner one if the device refuses.
pub fn make_wire_like(
    namespace: &Namespace,
    interface: &str,
    gro: bool,
) -> Result<Result<(), OffloadError>, NamespaceError> {
    namespace.run(|| {
        features::make_wire_like(interface, gro).map_err(|source| OffloadError {
            action: "set",
            interface: interface.to_owned(),
            namespace: namespace.name().to_owned(),
            source,
        })
    })
}

/// Returns every feature that the kernel knows, and whether it is active on `interface`.
///
/// # Errors
/// The outer error if the namespace cannot be entered, the inner one if the device does not exist.
pub fn active(
    namespace: &Namespace,
    interface: &str,
) -> Result<Result<BTreeMap<String, bool>, OffloadError>, NamespaceError> {
    namespace.run(|| {
        features::active(interface).map_err(|source| OffloadError {
            action: "read",
            interface: interface.to_owned(),
            namespace: namespace.name().to_owned(),
            source,
        })
    })
}
