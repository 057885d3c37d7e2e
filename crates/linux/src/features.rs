//! Device features (what `ethtool -K` sets), by the kernel's names for them, over ethtool's ioctl.

use std::collections::BTreeMap;
use std::io;

use crate::ethtool;
use crate::string_sets::StringSet;

/// More features than any kernel has. This limits what is allocated for a number that the kernel states.
const FEATURES_MAX: usize = 1024;
/// Features in one word of a request or an answer.
const WORD_BITS: usize = u32::BITS as usize;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;

/// Features that a wire does not have, by the beginnings of their names: checksums left to hardware that is not there,
/// frames in several pieces, VLAN tags kept beside the frame, datagrams merged on the way.
const NOT_OF_A_WIRE: [&str; 7] = [
    "tx-checksum-",
    "rx-checksum",
    "tx-scatter-gather",
    "tx-vlan-",
    "rx-vlan-hw-parse",
    "rx-vlan-stag-hw-parse",
    "rx-udp-gro-forwarding",
];
/// The suffix of every segmentation offload: TCP's, UDP's and tunnels'.
const SEGMENTATION: &str = "-segmentation";
/// Generic receive offload. On veth it also switches on NAPI, without which frames that XDP redirects into the device
/// are dropped.
const GRO: &str = "rx-gro";
/// Large receive offload.
const LRO: &str = "rx-lro";
/// VLAN tags are taken out of received frames.
const RECEIVE_VLAN: &str = "rx-vlan-hw-parse";
const RECEIVE_SERVICE_VLAN: &str = "rx-vlan-stag-hw-parse";

/// Switches off what a wire does not have, so that a frame looks as it would on one: complete, with its checksum and
/// its VLAN tag in it. Sets generic receive offload to `gro`.
///
/// # Errors
/// As [`set`].
pub fn make_wire_like(interface: &str, gro: bool) -> io::Result<()> {
    let of_no_wire = |name: &str| {
        name.ends_with(SEGMENTATION) || NOT_OF_A_WIRE.iter().any(|beginning| name.starts_with(beginning))
    };
    set(interface, |name| if name == GRO { Some(gro) } else { of_no_wire(name).then_some(false) })
}

/// Makes the interface deliver frames as they were on the wire: not merged (GRO, LRO), and with their VLAN tags in
/// place. This is best effort; an interface that refuses does not do such things. Returns the features that are now off
/// and were on, for [`switch_on`].
pub fn deliver_frames_unchanged(interface: &str) -> Vec<&'static str> {
    let before = active(interface).unwrap_or_default();
    let on = |name: &&str| before.get(*name).copied().unwrap_or(true);
    let features: Vec<&str> = [GRO, LRO, RECEIVE_VLAN, RECEIVE_SERVICE_VLAN].into_iter().filter(on).collect();
    let _ = set(interface, |name| features.contains(&name).then_some(false));
    let after = active(interface).unwrap_or_default();
    features
        .into_iter()
        .filter(|name| after.get(*name) == Some(&false) && before.contains_key(*name))
        .collect()
}

/// Whether the interface takes VLAN tags out of received frames, and shows only the rest.
pub fn strips_vlan_tags(interface: &str) -> bool {
    let active = active(interface).unwrap_or_default();
    [RECEIVE_VLAN, RECEIVE_SERVICE_VLAN].iter().any(|name| active.get(*name) == Some(&true))
}

/// Switches features on again. This is best effort, because the interface may be gone.
pub fn switch_on(interface: &str, features: &[&str]) {
    if !features.is_empty() {
        let _ = set(interface, |name| features.contains(&name).then_some(true));
    }
}

/// Switches features on and off: `wanted` says what a feature should be, and `None` leaves it as it is. What the device
/// cannot change stays as it is.
///
/// # Errors
/// Without such an interface, without CAP_NET_ADMIN, or where the device refuses.
pub fn set(interface: &str, wanted: impl Fn(&str) -> Option<bool>) -> io::Result<()> {
    let names = names(interface)?;
    // struct ethtool_sfeatures: cmd, size, then for each word which bits are meant, and what they should be.
    let words = names.len().div_ceil(WORD_BITS);
    let mut request = vec![0; 2 + 2 * words];
    request[..2].copy_from_slice(&[ETHTOOL_SFEATURES, words as u32]);
    for (index, name) in names.iter().enumerate() {
        if let Some(on) = wanted(name) {
            let (word, bit) = (2 + index / WORD_BITS * 2, 1 << (index % WORD_BITS));
            request[word] |= bit;
            request[word + 1] |= if on { bit } else { 0 };
        }
    }
    // SAFETY: the kernel reads as many words as the request states, which are there, and writes nothing.
    unsafe { ethtool::call(interface, request.as_mut_ptr().cast()) }
}

/// Returns every feature that the kernel knows, and whether it is active on the interface.
///
/// # Errors
/// Without such an interface.
pub fn active(interface: &str) -> io::Result<BTreeMap<String, bool>> {
    let names = names(interface)?;
    // struct ethtool_gfeatures: cmd, size, then blocks of available, requested, active, never changed.
    let words = names.len().div_ceil(WORD_BITS);
    let mut reply = vec![0; 2 + 4 * words];
    reply[..2].copy_from_slice(&[ETHTOOL_GFEATURES, words as u32]);
    // SAFETY: the kernel writes no more blocks than the request has room for, and states.
    unsafe { ethtool::call(interface, reply.as_mut_ptr().cast()) }?;
    let on = |index: usize| reply[2 + index / WORD_BITS * 4 + 2] & (1 << (index % WORD_BITS)) != 0;
    let named = names.into_iter().enumerate().filter(|(_, name)| !name.is_empty());
    Ok(named.map(|(index, name)| (name, on(index))).collect())
}

/// Returns the names of all features that this kernel knows, in bit order.
fn names(interface: &str) -> io::Result<Vec<String>> {
    StringSet::Features.names(interface, FEATURES_MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;

    #[test]
    fn loopback_has_features_by_name_and_nothing_else_has() {
        let features = active("lo").unwrap();
        assert!(
            features.contains_key(GRO) && features.contains_key("tx-checksum-ip-generic"),
            "{features:?}"
        );
        for unknown in ["no-such-thing", "a-name-that-is-too-long-for-an-interface"] {
            let error = active(unknown).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{unknown}");
        }
    }
}
