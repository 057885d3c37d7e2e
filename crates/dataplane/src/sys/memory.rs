//! Anonymous memory that the kernel may share with us.

use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap_anonymous, munmap};

/// A page-aligned, zeroed, populated region; unmapped when dropped.
pub(crate) struct Memory {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the region is owned by this value alone; access follows the borrow of it.
unsafe impl Send for Memory {}

impl Memory {
    /// Maps `length` bytes.
    pub(crate) fn new(length: usize) -> io::Result<Self> {
        let size = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: a new anonymous mapping aliases nothing.
        let base = unsafe {
            mmap_anonymous(
                None,
                size,
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE,
            )?
        };
        // Huge pages spare TLB misses on the frame path; a kernel without them works as well.
        // SAFETY: the range is the mapping just made.
        let _ = unsafe { madvise(base, length, MmapAdvise::MADV_HUGEPAGE) };
        let mut memory = Memory { base: base.cast(), length };
        // Frames are nothing to a child of this process. It would get a copy of every page that a socket has registered,
        // and as long as that takes, the loop could not touch any other.
        // SAFETY: the range is the mapping just made, and no child of this process uses it before it executes a program.
        unsafe { madvise(base, length, MmapAdvise::MADV_DONTFORK)? };
        // Touched here, so that no page fault happens on the frame path.
        memory.bytes_mut(0, length).fill(0);
        Ok(memory)
    }

    /// Returns bytes `offset..offset + length`. Panics if they are outside the region.
    #[inline]
    pub(crate) fn bytes(&self, offset: usize, length: usize) -> &[u8] {
        assert!(offset <= self.length && length <= self.length - offset);
        // SAFETY: inside the mapping, which lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(offset), length) }
    }

    /// Like [`Memory::bytes`], but writable.
    #[inline]
    pub(crate) fn bytes_mut(&mut self, offset: usize, length: usize) -> &mut [u8] {
        assert!(offset <= self.length && length <= self.length - offset);
        // SAFETY: inside the mapping, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().add(offset), length) }
    }

    /// The whole region in the form in which the kernel registers it.
    pub(crate) fn region(&self) -> NonNull<[u8]> {
        NonNull::slice_from_raw_parts(self.base, self.length)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; the kernel holds its own references to the pages.
        let _ = unsafe { munmap(self.base.cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flags that the kernel has for the mapping of an address.
    fn flags(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux has it");
        let mut inside = false;
        for line in maps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((from, to)) = range
                && let (Ok(from), Ok(to)) = (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16))
            {
                inside = (from..to).contains(&address);
            } else if inside && let Some(flags) = line.strip_prefix("VmFlags: ") {
                return flags.to_owned();
            }
        }
        panic!("no mapping has {address:#x}, or the kernel says no flags:\n{maps}")
    }

    #[test]
    fn a_child_of_this_process_gets_no_copy_of_the_frames() {
        let memory = Memory::new(1 << 20).expect("a megabyte");
        let flags = flags(memory.bytes(0, 1).as_ptr() as usize);
        assert!(flags.split(' ').any(|flag| flag == "dc"), "{flags}");
    }
}
