//! Device features (what `ethtool -K` sets) by the kernel's names for them, over ethtool's ioctl.
//!
//! Every function here is safe to call: the buffers are as long as what the kernel may write.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Length of one name in an ethtool string set (`ETH_GSTRING_LEN`).
const FEATURE_NAME_BYTES: usize = 32;
/// More features than any kernel has. This limits what is allocated for a number that the kernel states.
const FEATURES_MAX: usize = 1024;
const ETH_SS_FEATURES: u32 = 4;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_SFEATURES: u32 = 0x3b;

/// Returns the names of all device features that this kernel knows, in bit order.
///
/// # Errors
/// Without such an interface.
pub fn feature_names(socket: BorrowedFd<'_>, interface: &str) -> io::Result<Vec<String>> {
    // struct ethtool_sset_info: cmd, reserved, 64-bit mask, then one count per set bit.
    let mut info = [ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_FEATURES, 0, 0, 0];
    ethtool(socket, interface, &mut info)?;
    let count = (info[4] as usize).min(FEATURES_MAX);
    // struct ethtool_gstrings: cmd, string set, length, then the names. The kernel writes as many names as it has,
    // whatever the length says, so the buffer always has room for the largest number that we accept.
    let mut strings = vec![0u32; 3 + FEATURES_MAX * FEATURE_NAME_BYTES / 4];
    strings[..3].copy_from_slice(&[ETHTOOL_GSTRINGS, ETH_SS_FEATURES, count as u32]);
    ethtool(socket, interface, &mut strings)?;
    let bytes: Vec<u8> = strings[3..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = |raw: &[u8]| raw.iter().take_while(|b| **b != 0).map(|b| char::from(*b)).collect();
    Ok(bytes.chunks_exact(FEATURE_NAME_BYTES).take(count).map(name).collect())
}

/// Asks the driver for features: for each word of 32 features, which bits are meant and what they should be.
///
/// # Errors
/// Without CAP_NET_ADMIN, or where the device refuses.
pub fn set_features(socket: BorrowedFd<'_>, interface: &str, words: &[(u32, u32)]) -> io::Result<()> {
    let mut request = vec![ETHTOOL_SFEATURES, words.len() as u32];
    request.extend(words.iter().flat_map(|(valid, wanted)| [*valid, *wanted]));
    ethtool(socket, interface, &mut request)
}

/// Returns the features that are active now, in words of 32.
///
/// # Errors
/// Without such an interface.
pub fn active_features(socket: BorrowedFd<'_>, interface: &str, words: usize) -> io::Result<Vec<u32>> {
    // struct ethtool_gfeatures: cmd, size, then blocks of available, requested, active, never changed.
    let mut reply = vec![0; 2 + 4 * words];
    reply[..2].copy_from_slice(&[ETHTOOL_GFEATURES, words as u32]);
    ethtool(socket, interface, &mut reply)?;
    Ok(reply[2..].chunks_exact(4).map(|block| block[2]).collect())
}

/// One `SIOCETHTOOL` call. It is private because the kernel trusts the lengths that the request states: each caller
/// above makes its buffer at least as long as what the kernel may write.
fn ethtool(socket: BorrowedFd<'_>, interface: &str, request: &mut [u32]) -> io::Result<()> {
    // SAFETY: all-zero is a valid ifreq.
    let mut parameters: libc::ifreq = unsafe { zeroed() };
    if interface.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in parameters.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    parameters.ifr_ifru.ifru_data = request.as_mut_ptr().cast::<libc::c_char>();
    // SAFETY: the ifreq and the request it points to live through the call and are long enough (see above).
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut parameters) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
