//! One memory region for all frames of a link end.
//!
//! The region is cut into chunks of equal size. Both ports of the link end register it with the kernel, so a frame that
//! was received on one port is sent on the other without being copied, and a retransmission only posts a descriptor
//! again. A frame longer than a chunk is a chain.
//!
//! Every chunk is in one of three states: *free*, *kernel* (on a fill ring, for receiving), or *owned* (part of a
//! frame, with counted references). Only owned chunks can be read, so a wrong handle fails an assertion instead of
//! corrupting a frame.

use crate::sys::memory::Memory;
use linkmend_protocol::wire;

/// A frame in a [`FramePool`]: the number of its first chunk.
pub use linkmend_protocol::FrameHandle;

/// Free bytes in front of every frame, received or allocated. This is what AF_XDP reserves (`XDP_PACKET_HEADROOM`), far
/// more than the 8 bytes that a header may need.
pub const HEADROOM_BYTES: u32 = 256;

/// The largest number of chunks in a frame: a 9 KB jumbo frame takes three of 4096 bytes, and AF_XDP takes at most 18
/// descriptors a frame.
pub const MAX_CHAIN: u32 = 16;

const NO_CHUNK: u32 = u32::MAX;

/// Size of a [`FramePool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Number of chunks.
    pub chunks: u32,
    /// Bytes of one chunk, headroom included: 2048 or 4096 (what AF_XDP takes).
    pub chunk_bytes: u32,
}

impl PoolOptions {
    /// The chunk size that best fits frames of `mtu` (bytes, without the Ethernet header): 2048 if a frame fits one
    /// such chunk, which keeps more of them in the cache, and 4096 otherwise.
    pub fn for_mtu(mtu: u32, chunks: u32) -> Self {
        let one_small_chunk = mtu + FRAME_OVERHEAD_BYTES + HEADROOM_BYTES <= 2048;
        PoolOptions { chunks, chunk_bytes: if one_small_chunk { 2048 } else { 4096 } }
    }

    /// Larger chunks, for zero-copy: some cards (igb) take the room for a frame in whole kilobytes, so a chunk of 2048 bytes,
    /// headroom included, holds only 1 KiB, and they would cut longer frames in two.
    #[must_use]
    pub fn for_zero_copy(self) -> Self {
        PoolOptions { chunk_bytes: 4096, ..self }
    }
}

/// Longest Linkmend header.
pub const HEADER_BYTES: u32 = wire::HEADER_GROWTH_MAX as u32;

/// The bytes that a frame may have beyond the MTU: Ethernet header, two VLAN tags, our header.
pub const FRAME_OVERHEAD_BYTES: u32 =
    (wire::ETHERNET_HEADER_BYTES + wire::VLAN_TAGS_MAX * wire::VLAN_TAG_BYTES) as u32 + HEADER_BYTES;

/// Why a pool cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// AF_XDP takes chunks of 2048 or 4096 bytes.
    #[error("frame pool: chunk size {0} is neither 2048 nor 4096 bytes")]
    ChunkSize(u32),
    /// The number of chunks is 0, or they exceed 4 GiB.
    #[error("frame pool: {0} chunks are outside 1..={max}", max = MAX_POOL_BYTES / 4096)]
    ChunkCount(u32),
    /// The memory is not available.
    #[error("frame pool: mapping {bytes} bytes failed")]
    Memory {
        /// The size asked for.
        bytes: usize,
        /// The system's reason.
        source: std::io::Error,
    },
}

const MAX_POOL_BYTES: u64 = 4 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChunkState {
    Free,
    Kernel,
    Owned,
}

#[derive(Clone, Copy)]
struct Chunk {
    /// Start of the data, from the beginning of the chunk.
    offset: u32,
    length: u32,
    next: u32,
    references: u32,
    state: ChunkState,
}

const FREE_CHUNK: Chunk =
    Chunk { offset: HEADROOM_BYTES, length: 0, next: NO_CHUNK, references: 0, state: ChunkState::Free };

/// The pool; see the module documentation.
pub struct FramePool {
    memory: Memory,
    chunks: Vec<Chunk>,
    /// Last in, first out, because the chunk that was used last is still in the cache.
    free: Vec<u32>,
    chunk_bytes: u32,
    chunk_shift: u32,
}

impl FramePool {
    /// Maps the memory. No frame is allocated yet.
    ///
    /// # Errors
    /// An impossible size, or memory that the system does not provide.
    pub fn new(options: PoolOptions) -> Result<Self, PoolError> {
        let PoolOptions { chunks, chunk_bytes } = options;
        if chunk_bytes != 2048 && chunk_bytes != 4096 {
            return Err(PoolError::ChunkSize(chunk_bytes));
        }
        if chunks == 0 || u64::from(chunks) > MAX_POOL_BYTES / 4096 {
            return Err(PoolError::ChunkCount(chunks));
        }
        let bytes = chunks as usize * chunk_bytes as usize;
        let memory = Memory::new(bytes).map_err(|source| PoolError::Memory { bytes, source })?;
        Ok(FramePool {
            memory,
            chunks: vec![FREE_CHUNK; chunks as usize],
            free: (0..chunks).rev().collect(),
            chunk_bytes,
            chunk_shift: chunk_bytes.trailing_zeros(),
        })
    }

    /// Chunks that are neither part of a frame nor lent to the kernel.
    pub fn available(&self) -> usize {
        self.free.len()
    }

    /// The number of all chunks.
    pub fn capacity(&self) -> usize {
        self.chunks.len()
    }

    /// Bytes of one chunk, headroom included.
    pub fn chunk_bytes(&self) -> u32 {
        self.chunk_bytes
    }

    /// How many chunks a frame of `length` bytes takes.
    pub fn chunks_for(&self, length: usize) -> usize {
        length.div_ceil(self.room() as usize).max(1)
    }

    /// Allocates an empty frame with one reference; `None` if the pool is exhausted.
    pub fn allocate(&mut self) -> Option<FrameHandle> {
        let index = self.free.pop()?;
        self.chunks[index as usize] = Chunk { references: 1, state: ChunkState::Owned, ..FREE_CHUNK };
        Some(FrameHandle(index))
    }

    /// Adds a reference to the frame.
    pub fn retain(&mut self, frame: FrameHandle) {
        let mut index = frame.0;
        while index != NO_CHUNK {
            let chunk = self.owned_mut(index);
            chunk.references += 1;
            index = chunk.next;
        }
    }

    /// Drops a reference; the last one frees the frame.
    pub fn release(&mut self, frame: FrameHandle) {
        let mut index = frame.0;
        while index != NO_CHUNK {
            let next = self.owned_mut(index).next;
            self.release_chunk(index);
            index = next;
        }
    }

    /// The number of references to the frame, including those of ports that have it in flight.
    pub fn references(&self, frame: FrameHandle) -> u32 {
        self.owned(frame.0).references
    }

    /// The length of the whole frame in bytes.
    pub fn frame_length(&self, frame: FrameHandle) -> usize {
        let mut length = 0;
        let mut index = frame.0;
        while index != NO_CHUNK {
            let chunk = self.owned(index);
            length += chunk.length as usize;
            index = chunk.next;
        }
        length
    }

    /// The first segment: the whole frame unless it is a chain, and always enough for the headers.
    pub fn head(&self, frame: FrameHandle) -> &[u8] {
        self.chunk_data(frame.0)
    }

    /// The first segment, writable. It must not be changed while a port has the frame in flight.
    pub fn head_mut(&mut self, frame: FrameHandle) -> &mut [u8] {
        let chunk = *self.owned(frame.0);
        let start = self.start(frame.0, &chunk);
        self.memory.bytes_mut(start, chunk.length as usize)
    }

    /// The segments of the frame in order.
    pub fn segments(&self, frame: FrameHandle) -> impl Iterator<Item = &[u8]> {
        let mut index = frame.0;
        std::iter::from_fn(move || {
            if index == NO_CHUNK {
                return None;
            }
            let data = self.chunk_data(index);
            index = self.owned(index).next;
            Some(data)
        })
    }

    /// The whole frame, unless it is a chain.
    pub(crate) fn in_one_piece(&self, frame: FrameHandle) -> Option<&[u8]> {
        (self.owned(frame.0).next == NO_CHUNK).then(|| self.head(frame))
    }

    /// Grows the frame by `count` bytes at the front and returns the new first segment.
    ///
    /// # Panics
    /// If the headroom (at least [`HEADROOM_BYTES`] after a receive) is used up.
    pub fn push_front(&mut self, frame: FrameHandle, count: u32) -> &mut [u8] {
        let chunk = self.owned_mut(frame.0);
        assert!(chunk.offset >= count, "headroom of frame used up");
        chunk.offset -= count;
        chunk.length += count;
        self.head_mut(frame)
    }

    /// Removes `count` bytes from the front and returns what is left of the first segment.
    ///
    /// # Panics
    /// If the first segment is shorter than `count`.
    pub fn pull_front(&mut self, frame: FrameHandle, count: u32) -> &mut [u8] {
        let chunk = self.owned_mut(frame.0);
        assert!(chunk.length >= count, "frame shorter than what is removed");
        chunk.offset += count;
        chunk.length -= count;
        self.head_mut(frame)
    }

    /// Creates a frame with these bytes, as a chain if they do not fit one chunk. `None` if the pool is exhausted or
    /// the chain would be longer than [`MAX_CHAIN`].
    pub fn copy_in(&mut self, bytes: &[u8]) -> Option<FrameHandle> {
        let room = self.room() as usize;
        let needed = self.chunks_for(bytes.len());
        if needed > MAX_CHAIN as usize || needed > self.free.len() {
            return None;
        }
        let head = self.allocate()?;
        self.write_chunk(head.0, &bytes[..bytes.len().min(room)]);
        let mut tail = head;
        for part in bytes.chunks(room).skip(1) {
            let next = self.allocate()?;
            self.write_chunk(next.0, part);
            self.owned_mut(tail.0).next = next.0;
            tail = next;
        }
        Some(head)
    }

    /// Replaces the content of `out` with the whole frame.
    pub fn copy_out(&self, frame: FrameHandle, out: &mut Vec<u8>) {
        out.clear();
        for segment in self.segments(frame) {
            out.extend_from_slice(segment);
        }
    }
}

/// What the ports need in addition to the public part.
impl FramePool {
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Takes a free chunk for a fill ring and returns its address there.
    pub(crate) fn lend_to_kernel(&mut self) -> Option<u64> {
        let index = self.free.pop()?;
        self.chunks[index as usize].state = ChunkState::Kernel;
        Some(u64::from(index) << self.chunk_shift)
    }

    /// Takes back a chunk that found no room on the fill ring.
    pub(crate) fn return_from_kernel(&mut self, address: u64) {
        let index = (address >> self.chunk_shift) as u32;
        let chunk = &mut self.chunks[index as usize];
        assert!(chunk.state == ChunkState::Kernel, "chunk {index} was not lent");
        *chunk = FREE_CHUNK;
        self.free.push(index);
    }

    /// Writes a frame into a chunk that was lent, as the kernel does on receiving. Returns where the frame begins.
    #[cfg(feature = "bench")]
    pub(crate) fn write_lent(&mut self, address: u64, bytes: &[u8]) -> u64 {
        let address = address + u64::from(HEADROOM_BYTES);
        assert!(bytes.len() <= self.room() as usize, "a frame of a benchmark fits a chunk");
        self.memory.bytes_mut(address as usize, bytes.len()).copy_from_slice(bytes);
        address
    }

    /// Turns a received descriptor into a one-chunk frame. `None` if it does not describe bytes inside a chunk that the
    /// kernel had.
    pub(crate) fn take_from_kernel(&mut self, address: u64, length: u32) -> Option<FrameHandle> {
        let index = u32::try_from(address >> self.chunk_shift).ok()?;
        let offset = (address & u64::from(self.chunk_bytes - 1)) as u32;
        let chunk = self.chunks.get_mut(index as usize)?;
        if chunk.state != ChunkState::Kernel || length > self.chunk_bytes - offset {
            return None;
        }
        *chunk = Chunk { offset, length, next: NO_CHUNK, references: 1, state: ChunkState::Owned };
        Some(FrameHandle(index))
    }

    /// Appends a frame of one chunk to the chain that ends in `tail`. Each has one reference.
    pub(crate) fn link(&mut self, tail: FrameHandle, next: FrameHandle) {
        self.owned_mut(tail.0).next = next.0;
    }

    /// Calls `visit` with the address and length of each segment, and whether more follow.
    #[inline]
    pub(crate) fn for_each_descriptor(&self, frame: FrameHandle, mut visit: impl FnMut(u64, u32, bool)) {
        let mut index = frame.0;
        while index != NO_CHUNK {
            let chunk = self.owned(index);
            let start = self.start(index, chunk) as u64;
            visit(start, chunk.length, chunk.next != NO_CHUNK);
            index = chunk.next;
        }
    }

    /// Drops the reference that a transmission held on the chunk at `address`. Returns `false` if the address is not
    /// that of a chunk in use.
    pub(crate) fn complete(&mut self, address: u64) -> bool {
        let index = address >> self.chunk_shift;
        let owned = usize::try_from(index)
            .ok()
            .and_then(|index| self.chunks.get(index))
            .is_some_and(|chunk| chunk.state == ChunkState::Owned);
        if owned {
            self.release_chunk(index as u32);
        }
        owned
    }

    fn room(&self) -> u32 {
        self.chunk_bytes - HEADROOM_BYTES
    }

    fn start(&self, index: u32, chunk: &Chunk) -> usize {
        ((index as usize) << self.chunk_shift) + chunk.offset as usize
    }

    #[inline]
    fn owned(&self, index: u32) -> &Chunk {
        let chunk = &self.chunks[index as usize];
        assert!(chunk.state == ChunkState::Owned, "frame {index} is not in use");
        chunk
    }

    #[inline]
    fn owned_mut(&mut self, index: u32) -> &mut Chunk {
        let chunk = &mut self.chunks[index as usize];
        assert!(chunk.state == ChunkState::Owned, "frame {index} is not in use");
        chunk
    }

    fn chunk_data(&self, index: u32) -> &[u8] {
        let chunk = self.owned(index);
        self.memory.bytes(self.start(index, chunk), chunk.length as usize)
    }

    fn write_chunk(&mut self, index: u32, bytes: &[u8]) {
        self.owned_mut(index).length = bytes.len() as u32;
        self.head_mut(FrameHandle(index)).copy_from_slice(bytes);
    }

    fn release_chunk(&mut self, index: u32) {
        let chunk = self.owned_mut(index);
        chunk.references -= 1;
        if chunk.references == 0 {
            *chunk = FREE_CHUNK;
            self.free.push(index);
        }
    }
}

#[cfg(test)]
#[path = "frame_pool_tests.rs"]
mod tests;
