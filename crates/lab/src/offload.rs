//! Sets device features as `ethtool -K` does, without needing ethtool.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

use linkmend_diagnose::Diagnose;
use linkmend_linux::features;
use socket2::{Domain, Socket, Type};

use crate::namespace::{Namespace, NamespaceError};

/// Features that must be off on every port of the lab, by the prefixes of the kernel's names. A frame must be complete,
/// as on a wire, when it leaves the host: no segmentation, no checksum left to hardware that is not there, no VLAN tag
/// kept beside the frame.
const OFF: [&str; 7] = [
    "tx-checksum-",
    "rx-checksum",
    "tx-scatter-gather",
    "tx-vlan-",
    "rx-vlan-hw-parse",
    "rx-vlan-stag-hw-parse",
    "rx-udp-gro-forwarding",
];
/// The suffix of every segmentation offload: TCP's, UDP's and tunnels'.
const OFF_SUFFIX: &str = "-segmentation";
/// Generic receive offload. On veth it also switches on NAPI, without which frames that XDP redirects into the device
/// are dropped.
const GRO: &str = "rx-gro";

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
        set(interface, gro).map_err(|source| OffloadError {
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
        read(interface).map_err(|source| OffloadError {
            action: "read",
            interface: interface.to_owned(),
            namespace: namespace.name().to_owned(),
            source,
        })
    })
}

fn set(interface: &str, gro: bool) -> io::Result<()> {
    let socket = Socket::new(Domain::UNIX, Type::DGRAM, None)?;
    let names = features::feature_names(socket.as_fd(), interface)?;
    let mut words = vec![(0u32, 0u32); names.len().div_ceil(32)];
    for (index, name) in names.iter().enumerate() {
        let off = OFF.iter().any(|prefix| name.starts_with(prefix)) || name.ends_with(OFF_SUFFIX);
        let bit = 1 << (index % 32);
        if off || name == GRO {
            words[index / 32].0 |= bit;
        }
        if name == GRO && gro {
            words[index / 32].1 |= bit;
        }
    }
    features::set_features(socket.as_fd(), interface, &words)
}

fn read(interface: &str) -> io::Result<BTreeMap<String, bool>> {
    let socket = Socket::new(Domain::UNIX, Type::DGRAM, None)?;
    let names = features::feature_names(socket.as_fd(), interface)?;
    let active = features::active_features(socket.as_fd(), interface, names.len().div_ceil(32))?;
    let on = |index: usize| active.get(index / 32).is_some_and(|word| word & (1 << (index % 32)) != 0);
    let named = names.into_iter().enumerate().filter(|(_, name)| !name.is_empty());
    Ok(named.map(|(index, name)| (name, on(index))).collect())
}
