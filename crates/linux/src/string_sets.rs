//! Sets of names that the kernel has for an interface, and the values of its statistics, over ethtool's ioctl. The
//! kernel writes as many as it has at that moment, whatever length it is told; behind the memory for its answers is
//! some that cannot be written.

use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use crate::ethtool;

// Commands (`linux/ethtool.h`).
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GSSET_INFO: u32 = 0x37;

/// Length of one name (`ETH_GSTRING_LEN`).
const NAME_BYTES: usize = 32;
/// `struct ethtool_gstrings` before its names: command, set, number.
const STRINGS_HEADER_BYTES: usize = 12;
/// `struct ethtool_stats` before its values: command, number.
const VALUES_HEADER_BYTES: usize = 8;
/// At least one page of any kernel, and a multiple of it.
const GUARD_BYTES: usize = 64 << 10;

/// A set of names (`enum ethtool_stringset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StringSet {
    /// `ETH_SS_STATS`: what the driver counts.
    Statistics,
    /// `ETH_SS_FEATURES`, in the order of their bits.
    Features,
}

impl StringSet {
    fn number(self) -> u32 {
        match self {
            StringSet::Statistics => 1,
            StringSet::Features => 4,
        }
    }

    /// How many names it has for an interface; 0 if the driver has no such set.
    pub(crate) fn count(self, interface: &str) -> io::Result<usize> {
        // struct ethtool_sset_info: cmd, reserved, 64-bit mask, then one count per set bit.
        let mut info: [u32; 6] = [ETHTOOL_GSSET_INFO, 0, 1 << self.number(), 0, 0, 0];
        // SAFETY: the mask names one set, so the kernel writes one count behind it.
        unsafe { ethtool::call(interface, info.as_mut_ptr().cast()) }?;
        Ok(info[4] as usize)
    }

    /// Its names; there must be at most `max`.
    pub(crate) fn names(self, interface: &str, max: usize) -> io::Result<Vec<String>> {
        let count = bounded(self.count(interface)?, max)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut answer = Guarded::new(STRINGS_HEADER_BYTES + count * NAME_BYTES)?;
        answer.ask(interface, &[ETHTOOL_GSTRINGS, self.number(), count as u32])?;
        // The number may have changed in between; then not all names have been written, or more than fit.
        let written = answer.word(2) as usize;
        let names = answer.bytes().get(STRINGS_HEADER_BYTES..).unwrap_or_default();
        let name = |raw: &[u8]| raw.iter().take_while(|b| **b != 0).map(|b| char::from(*b)).collect();
        Ok(names.chunks_exact(NAME_BYTES).take(written.min(count)).map(name).collect())
    }
}

/// The values of [`StringSet::Statistics`], in the order of their names, of which there are `count`. `None` if the
/// driver no longer has as many.
pub(crate) fn values(interface: &str, count: usize, max: usize) -> io::Result<Option<Vec<u64>>> {
    if StringSet::Statistics.count(interface)? != bounded(count, max)? {
        return Ok(None);
    }
    if count == 0 {
        return Ok(Some(Vec::new()));
    }
    let mut answer = Guarded::new(VALUES_HEADER_BYTES + count * size_of::<u64>())?;
    match answer.ask(interface, &[ETHTOOL_GSTATS, count as u32]) {
        // It has become more since, and they met the end of the memory.
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) => return Ok(None),
        other => other?,
    }
    // Newer kernels write none if the number is another than they have, and say 0.
    if answer.word(1) as usize != count {
        return Ok(None);
    }
    let values = answer.bytes().get(VALUES_HEADER_BYTES..).unwrap_or_default();
    let (values, _) = values.as_chunks();
    Ok(Some(values.iter().map(|value| u64::from_ne_bytes(*value)).collect()))
}

fn bounded(count: usize, max: usize) -> io::Result<usize> {
    if count <= max { Ok(count) } else { Err(io::Error::other(format!("{count} names are more than {max}"))) }
}

/// Memory for an answer. What the kernel would write beyond it meets memory that cannot be written, and the call fails.
struct Guarded {
    start: NonNull<c_void>,
    /// Asked for, of those that can be written.
    bytes: usize,
    mapped: NonZeroUsize,
}

impl Guarded {
    fn new(bytes: usize) -> io::Result<Guarded> {
        let writable = bytes.max(1).next_multiple_of(GUARD_BYTES);
        let mapped = NonZeroUsize::MIN.saturating_add(writable + GUARD_BYTES - 1);
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, at a place of the kernel's choice.
        let start = unsafe { mmap_anonymous(None, mapped, access, MapFlags::MAP_PRIVATE)? };
        let memory = Guarded { start, bytes, mapped };
        // SAFETY: the guard is the last part of the mapping, of which nothing has a reference.
        unsafe { mprotect(start.byte_add(writable), GUARD_BYTES, ProtFlags::PROT_NONE)? };
        Ok(memory)
    }

    /// Writes a request to the beginning, and lets the kernel answer in its place.
    fn ask(&mut self, interface: &str, request: &[u32]) -> io::Result<()> {
        for (word, bytes) in request.iter().zip(self.bytes_mut().chunks_exact_mut(4)) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        // SAFETY: the kernel writes from the beginning on, without gaps. What is more than there is room for comes to
        // the guard, where it fails.
        unsafe { ethtool::call(interface, self.start.as_ptr()) }
    }

    fn word(&self, place: usize) -> u32 {
        let (words, _) = self.bytes().as_chunks();
        words.get(place).map_or(0, |word| u32::from_ne_bytes(*word))
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped, zeroed or written by the kernel, and of this length.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the mapping is ours alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.bytes) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.start, self.mapped.get()) };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn loopback_has_features_and_no_statistics() {
        let features = StringSet::Features.names("lo", 1_024).unwrap();
        assert_eq!(features.len(), StringSet::Features.count("lo").unwrap());
        assert!(features.iter().any(|name| name == "rx-gro"), "{features:?}");
        assert_eq!(StringSet::Statistics.names("lo", 1_024).unwrap(), [""; 0]);
        assert_eq!(values("lo", 0, 1_024).unwrap(), Some(Vec::new()));
        assert_eq!(values("lo", 3, 1_024).unwrap(), None, "another number");
    }

    #[test]
    fn more_names_than_allowed_are_refused_before_any_is_read() {
        let count = StringSet::Features.count("lo").unwrap();
        assert!(StringSet::Features.names("lo", count - 1).is_err());
        assert!(StringSet::Features.names("lo", count).is_ok());
        assert!(values("lo", 9, 8).is_err());
    }

    #[test]
    fn the_kernel_cannot_write_behind_the_memory_for_its_answer() {
        let mut memory = Guarded::new(GUARD_BYTES).unwrap();
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        // SAFETY: the kernel writes from the beginning of the mapping, and no further than its end.
        let written = unsafe { libc::read(zeros.as_raw_fd(), memory.start.as_ptr(), memory.mapped.get()) };
        assert_eq!(written.cast_unsigned(), GUARD_BYTES);
        memory.bytes_mut().fill(1);
    }
}
