//! A store of values by number.

/// Values with numbers; freed numbers are reused.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slots<T> {
    pub(crate) const fn new() -> Slots<T> {
        Slots { values: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(crate) fn put(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.values[slot as usize] = value;
            return slot;
        }
        self.values.push(value);
        (self.values.len() - 1) as u32
    }

    /// The number that the next value will have.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.values.len() as u32)
    }

    #[inline]
    pub(crate) fn free(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.values[slot as usize]
    }

    #[inline]
    pub(crate) fn at(&mut self, slot: u32) -> &mut T {
        &mut self.values[slot as usize]
    }

    pub(crate) fn get(&self, slot: u32) -> &T {
        &self.values[slot as usize]
    }

    pub(crate) fn used(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// All values, including those of freed numbers.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut()
    }
}
