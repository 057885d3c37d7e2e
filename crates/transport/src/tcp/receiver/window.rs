//! The receive window (RFC 9293, section 3.8.6; scaling: RFC 7323, section 2).

use super::memory::ReceiveMemory;

/// Largest window without scaling, and of a SYN.
const UNSCALED_MAX: u32 = 65_535;
/// Largest shift (RFC 7323, section 2.3).
const SHIFT_MAX: u8 = 14;

/// How much the peer may send.
#[derive(Debug, Clone)]
pub struct ReceiveWindow {
    /// Bytes of buffer.
    buffer: u32,
    /// Bytes that arrived in order and were not read.
    unread: u64,
    /// Shift of what is advertised.
    shift: u8,
    /// The number after the last byte that the peer was ever allowed to send. It never falls, whatever is advertised:
    /// what has a coarse unit on the wire is rounded down, and the peer may rely on what it was told before (RFC 7323,
    /// section 2.4).
    edge: u64,
    /// The memory of packets that decides instead of the buffer, if it counts, and the window advertised last.
    memory: Option<Box<ReceiveMemory>>,
    latest: u32,
    /// The number of the next byte to be read.
    read: u64,
}

/// The shift that a SYN offers for this buffer.
pub fn offered_shift(buffer: u32) -> u8 {
    (0..SHIFT_MAX).find(|&shift| buffer >> shift <= UNSCALED_MAX).unwrap_or(SHIFT_MAX)
}

impl ReceiveWindow {
    /// The window before the handshake, which is not scaled. `next` is the first byte expected.
    pub fn new(buffer: u32, memory: Option<Box<ReceiveMemory>>, next: u64) -> ReceiveWindow {
        let mut window =
            ReceiveWindow { buffer, unread: 0, shift: 0, edge: 0, memory, latest: 0, read: next };
        window.promise(next, window.of_syn());
        window
    }

    /// The memory that packets take, if it counts.
    pub fn memory(&mut self) -> Option<&mut ReceiveMemory> {
        self.memory.as_deref_mut()
    }

    /// Whether what is free now would be a smaller window than the one advertised last.
    pub fn is_shrinking(&self, mss: u32) -> bool {
        self.memory
            .as_ref()
            .is_some_and(|memory| memory.window(self.latest, mss, self.shift) < u64::from(self.latest))
    }

    /// Both ends understand scaling.
    pub fn scale(&mut self) {
        self.shift = offered_shift(self.buffer);
    }

    /// The window of a SYN, which is never scaled (RFC 7323, section 2.2).
    pub fn of_syn(&self) -> u32 {
        self.memory.as_ref().map_or(self.buffer.min(UNSCALED_MAX), |memory| memory.of_syn())
    }

    /// The number after the last byte that may arrive.
    pub fn edge(&self) -> u64 {
        self.edge
    }

    /// Bytes arrived in order.
    pub fn arrived(&mut self, bytes: u64) {
        self.unread = self.unread.saturating_add(bytes);
    }

    /// Bytes that arrived and were not read.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// The application has read up to `bytes`; returns how many there were.
    pub fn read(&mut self, bytes: u64) -> u64 {
        let read = bytes.min(self.unread);
        self.unread -= read;
        self.read += read;
        if let Some(memory) = &mut self.memory {
            memory.read_to(self.read);
        }
        read
    }

    /// What an acknowledgement of `next` advertises. The window opens by a full segment or half the buffer at least, so
    /// that the peer is not led to send crumbs (RFC 9293, section 3.8.6.2.2).
    pub fn advertised(&self, next: u64, mss: u32) -> u32 {
        if let Some(memory) = &self.memory {
            return self.advertised_of(memory, next, mss);
        }
        let largest = UNSCALED_MAX << self.shift;
        let free = u64::from(self.buffer).saturating_sub(self.unread).min(u64::from(largest)) as u32;
        let offered = self.edge.saturating_sub(next).min(u64::from(largest)) as u32;
        let worth_it = mss.min(self.buffer / 2).max(1);
        let window = if free >= offered.saturating_add(worth_it) { free } else { offered };
        window >> self.shift << self.shift
    }

    fn advertised_of(&self, memory: &ReceiveMemory, next: u64, mss: u32) -> u32 {
        let largest = UNSCALED_MAX << self.shift;
        let promised = self.edge.saturating_sub(next).next_multiple_of(1 << self.shift);
        let window = memory.window(self.latest, mss, self.shift).max(promised);
        window.min(u64::from(largest)) as u32
    }

    /// `window` was advertised beside an acknowledgement of `next`.
    pub fn promise(&mut self, next: u64, window: u32) {
        self.latest = window;
        self.edge = self.edge.max(next.saturating_add(u64::from(window)));
    }

    /// Whether reading has opened the window so far that the peer should hear of it: it at least doubles.
    pub fn is_update_due(&self, next: u64, mss: u32) -> bool {
        let offered = self.edge.saturating_sub(next);
        let window = u64::from(self.advertised(next, mss));
        window > offered && window >= offered.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7323, section 2.3: at most 14.
    #[test]
    fn the_shift_makes_the_buffer_fit_into_16_bits() {
        assert_eq!(offered_shift(65_535), 0);
        assert_eq!(offered_shift(65_536), 1);
        assert_eq!(offered_shift(64 << 20), 11);
        assert_eq!(offered_shift(u32::MAX), 14);
    }

    #[test]
    fn a_window_on_the_wire_is_a_multiple_of_its_unit() {
        let mut window = ReceiveWindow::new(1_000_001, None, 1);
        window.scale();
        assert_eq!(window.advertised(1, 1_448) % 16, 0);
        assert_eq!(window.advertised(1, 1_448), 1_000_000);
    }

    /// RFC 9293, section 3.8.6: the right edge does not move back.
    #[test]
    fn what_was_promised_stays_promised() {
        let mut window = ReceiveWindow::new(10_000, None, 1);
        assert_eq!(window.advertised(1, 1_000), 10_000);
        window.arrived(4_000);
        assert_eq!(window.advertised(4_001, 1_000), 6_000);
        window.promise(4_001, 6_000);
        assert_eq!(window.edge(), 10_001);
    }

    /// RFC 9293, section 3.8.6.2.2 (silly window syndrome).
    #[test]
    fn a_closed_window_opens_by_a_full_segment() {
        let mut window = ReceiveWindow::new(10_000, None, 1);
        window.arrived(10_000);
        assert_eq!(window.advertised(10_001, 1_000), 0);
        window.read(999);
        assert_eq!(window.advertised(10_001, 1_000), 0);
        assert!(!window.is_update_due(10_001, 1_000));
        window.read(1);
        assert_eq!(window.advertised(10_001, 1_000), 1_000);
        assert!(window.is_update_due(10_001, 1_000));
    }

    #[test]
    fn a_small_buffer_opens_by_half_of_it() {
        let mut window = ReceiveWindow::new(1_000, None, 1);
        window.arrived(1_000);
        window.read(499);
        assert_eq!(window.advertised(1_001, 1_448), 0);
        window.read(1);
        assert_eq!(window.advertised(1_001, 1_448), 500);
    }
}
