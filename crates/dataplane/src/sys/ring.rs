//! One ring of an AF_XDP socket: a queue with one writer and one reader that do not wait for each other.
//!
//! Writer and reader each count, modulo 2^32, the entries that they have written or read, in a word that only they change.
//! An entry belongs to the side that may count it next: the writer fills it before it releases its count, and the reader takes it
//! after it has acquired that count; the reader's count gives the place back in the same way. A count that has not moved is
//! not stored again, because the other side would lose its cache line for nothing. Of each ring the kernel is one side and
//! [`Writer`] or [`Reader`] the other. Nothing in here calls the kernel, so that tests can be both.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the parts of a ring lie.
pub(crate) struct Places<T> {
    /// How many entries its writer has released, modulo 2^32.
    pub(crate) written: NonNull<AtomicU32>,
    /// How many of them its reader has given back, modulo 2^32.
    pub(crate) read: NonNull<AtomicU32>,
    /// What the kernel tells of itself ([`Places::needs_wakeup`]).
    pub(crate) flags: NonNull<AtomicU32>,
    pub(crate) entries: NonNull<T>,
    /// How many entries there are; a power of two.
    pub(crate) size: u32,
}

impl<T> Places<T> {
    fn written(&self) -> &AtomicU32 {
        // SAFETY: the code that made a `Writer` or `Reader` of these places promised that they live as long as it.
        unsafe { self.written.as_ref() }
    }

    fn read(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.read.as_ref() }
    }

    /// Whether the kernel sleeps until it is called. It may fall asleep while we ask, so ask again as long as entries wait.
    fn needs_wakeup(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.flags.as_ref() }.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// The entry that is counted after `count` others.
    fn entry(&self, count: u32) -> NonNull<T> {
        // SAFETY: the mask keeps the index below the size.
        unsafe { self.entries.add((count & (self.size - 1)) as usize) }
    }
}

// SAFETY: the words are shared between threads by atomic operations, and an entry has one owner at a time.
unsafe impl<T: Send> Send for Places<T> {}

/// Our side of a ring that the kernel reads: fill and transmit.
pub(crate) struct Writer<T> {
    places: Places<T>,
    written: u32,
}

impl<T: Copy> Writer<T> {
    /// # Safety
    /// The places are those of one ring of `size` entries, live as long as the value, and nobody else writes to the ring.
    pub(crate) unsafe fn new(places: Places<T>) -> Self {
        assert!(places.size.is_power_of_two());
        let written = places.written().load(Ordering::Relaxed);
        Writer { places, written }
    }

    /// Writes as many of `entries` as there is room for, and says how many.
    pub(crate) fn write(&mut self, entries: impl ExactSizeIterator<Item = T>) -> usize {
        let room = self.places.size.saturating_sub(self.pending());
        let taken = entries.len().min(room as usize);
        if taken == 0 {
            return 0;
        }
        for entry in entries.take(taken) {
            // SAFETY: the reader has given the place back, and takes it again only when the count below says so.
            unsafe { self.places.entry(self.written).write(entry) };
            self.written = self.written.wrapping_add(1);
        }
        self.places.written().store(self.written, Ordering::Release);
        taken
    }

    /// Entries that the reader has not taken yet.
    pub(crate) fn pending(&self) -> u32 {
        self.written.wrapping_sub(self.places.read().load(Ordering::Acquire))
    }

    /// Whether the reader sleeps until it is called.
    pub(crate) fn needs_wakeup(&self) -> bool {
        self.places.needs_wakeup()
    }
}

/// Our side of a ring that the kernel writes: receive and completion.
pub(crate) struct Reader<T> {
    places: Places<T>,
    read: u32,
}

impl<T: Copy> Reader<T> {
    /// # Safety
    /// The places are those of one ring of `size` entries, live as long as the value, and nobody else reads from the ring.
    pub(crate) unsafe fn new(places: Places<T>) -> Self {
        assert!(places.size.is_power_of_two());
        let read = places.read().load(Ordering::Relaxed);
        Reader { places, read }
    }

    /// Gives the next entries to `take`, at most `budget` of them, in order.
    pub(crate) fn read(&mut self, budget: usize, mut take: impl FnMut(T)) {
        let waiting =
            self.places.written().load(Ordering::Acquire).wrapping_sub(self.read).min(self.places.size);
        let taken = budget.min(waiting as usize);
        if taken == 0 {
            return;
        }
        for _ in 0..taken {
            // SAFETY: the writer has released the entry, and takes its place again only when the count below says so.
            take(unsafe { self.places.entry(self.read).read() });
            self.read = self.read.wrapping_add(1);
        }
        self.places.read().store(self.read, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u32 = 8;

    /// A ring in plain memory, whose two sides may run in two threads.
    struct Plain {
        written: AtomicU32,
        read: AtomicU32,
        flags: AtomicU32,
        entries: NonNull<[u64; SIZE as usize]>,
    }

    impl Plain {
        /// An empty ring after `count` entries.
        fn after(count: u32) -> Self {
            let entries = NonNull::from(Box::leak(Box::new([0; SIZE as usize])));
            Plain { written: count.into(), read: count.into(), flags: 0.into(), entries }
        }

        fn places(&self) -> Places<u64> {
            Places {
                written: NonNull::from(&self.written),
                read: NonNull::from(&self.read),
                flags: NonNull::from(&self.flags),
                entries: self.entries.cast(),
                size: SIZE,
            }
        }

        fn writer(&self) -> Writer<u64> {
            // SAFETY: each test makes one, and the ring outlives it.
            unsafe { Writer::new(self.places()) }
        }

        fn reader(&self) -> Reader<u64> {
            // SAFETY: as above.
            unsafe { Reader::new(self.places()) }
        }
    }

    impl Drop for Plain {
        fn drop(&mut self) {
            // SAFETY: leaked by `after`, and no side of the ring is left.
            drop(unsafe { Box::from_raw(self.entries.as_ptr()) });
        }
    }

    fn read(reader: &mut Reader<u64>, budget: usize) -> Vec<u64> {
        let mut entries = Vec::new();
        reader.read(budget, |entry| entries.push(entry));
        entries
    }

    #[test]
    fn it_takes_no_more_than_its_size_and_gives_it_back_in_order() {
        let ring = Plain::after(0);
        let (mut writer, mut reader) = (ring.writer(), ring.reader());
        assert_eq!(writer.write([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].into_iter()), 8);
        assert_eq!((writer.pending(), writer.write([99].into_iter())), (8, 0));
        assert_eq!(read(&mut reader, 3), [0, 1, 2]);
        assert_eq!((writer.pending(), writer.write([8, 9].into_iter())), (5, 2));
        assert_eq!(read(&mut reader, 100), [3, 4, 5, 6, 7, 8, 9]);
        assert_eq!((writer.pending(), read(&mut reader, 100)), (0, vec![]));
    }

    #[test]
    fn counts_wrap_and_start_where_the_ring_stands() {
        let ring = Plain::after(u32::MAX - 2);
        let (mut writer, mut reader) = (ring.writer(), ring.reader());
        for round in 0..4u64 {
            assert_eq!(writer.write([round, round + 10, round + 20].into_iter()), 3);
            assert_eq!(read(&mut reader, 100), [round, round + 10, round + 20]);
        }
        assert_eq!(ring.read.load(Ordering::Relaxed), 9);
    }

    #[test]
    fn nothing_is_written_or_read_beyond_the_ring_whatever_the_other_side_counts() {
        let ring = Plain::after(0);
        let (mut writer, mut reader) = (ring.writer(), ring.reader());
        ring.written.store(1000, Ordering::Relaxed);
        assert_eq!(read(&mut reader, 5000).len(), SIZE as usize);
        ring.read.store(1, Ordering::Relaxed);
        assert_eq!(writer.write([1].into_iter()), 0);
    }

    #[test]
    fn the_kernel_asks_to_be_woken() {
        let ring = Plain::after(0);
        let writer = ring.writer();
        assert!(!writer.needs_wakeup());
        ring.flags.store(libc::XDP_RING_NEED_WAKEUP, Ordering::Relaxed);
        assert!(writer.needs_wakeup());
    }

    /// Two threads, also under Miri (`make miri`), which takes a missing acquire or release for the data race it is.
    #[test]
    fn two_sides_in_two_threads_lose_and_double_nothing() {
        const ENTRIES: u64 = if cfg!(miri) { 300 } else { 200_000 };
        let ring = Plain::after(u32::MAX - 5);
        let (mut writer, mut reader) = (ring.writer(), ring.reader());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut next = 0;
                while next < ENTRIES {
                    let batch: Vec<u64> = (next..ENTRIES).take(1 + next as usize % 11).collect();
                    next += writer.write(batch.iter().copied()) as u64;
                    std::thread::yield_now();
                }
            });
            scope.spawn(move || {
                let mut expected = 0;
                while expected < ENTRIES {
                    let before = expected;
                    reader.read(1 + expected as usize % 5, |entry| {
                        assert_eq!(entry, expected);
                        expected += 1;
                    });
                    if expected == before {
                        std::thread::yield_now();
                    }
                }
            });
        });
    }
}
