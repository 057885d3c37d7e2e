//! The format of a numbered frame, and the check that it arrived unchanged.
//!
//! ```text
//! dst(6) src(6) EtherType(2) | magic(4) run(8) run(8) | number(8) check(4) | pattern of the run ... | number(8)
//! ```
//! The number stands at both ends, so that a frame assembled from two is detected. With the EtherType of IPv4, the
//! first part has the length and the beginning of an IPv4 header, so that the kernel takes all frames of a run for one
//! flow. Several flows might be spread over processors and then overtake each other.

use linkmend_random::mix;

/// Shortest frame, as on Ethernet without its check sequence.
pub const FRAME_MIN: usize = linkmend_protocol::wire::FRAME_BYTES_MIN_IN_MEMORY;
/// Longest frame: the largest MTU and the Ethernet header.
pub const FRAME_MAX: usize = 9014;
/// The first byte is that of an IPv4 header of five words.
const MAGIC: [u8; 4] = *b"\x45LMG";
const BODY: usize = 14;
const RUN: usize = 18;
const NUMBER: usize = 34;
const CHECK: usize = 42;
const PATTERN: usize = 46;
const TRAILER: usize = 8;

const _: () = assert!(PATTERN + TRAILER <= FRAME_MIN);

/// The receiver's verdict on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A frame of this run, unchanged except for its addresses.
    Intact(u64),
    /// A frame of this run, but changed.
    Corrupted,
    /// A frame of another run, or of somebody else.
    Foreign,
}

/// The frames of one run.
#[derive(Clone, Debug)]
pub(super) struct Template {
    run: u64,
    frame: Vec<u8>,
}

impl Template {
    /// `frame_bytes` must be at least [`FRAME_MIN`].
    pub(super) fn new(
        destination: [u8; 6],
        source: [u8; 6],
        ethertype: u16,
        run: u64,
        frame_bytes: usize,
    ) -> Self {
        assert!((FRAME_MIN..=FRAME_MAX).contains(&frame_bytes), "the options were validated");
        let mut frame: Vec<u8> = destination.into_iter().chain(source).collect();
        frame.extend(ethertype.to_be_bytes());
        frame.extend(MAGIC);
        frame.extend(run.to_be_bytes());
        frame.extend(run.to_be_bytes());
        let mut state = run;
        while frame.len() < frame_bytes {
            state = mix(state);
            frame.extend(state.to_be_bytes());
        }
        frame.truncate(frame_bytes);
        Self { run, frame }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.frame
    }

    /// Turns a copy of the template into the frame with this number.
    pub(super) fn stamp(&self, frame: &mut [u8], number: u64) {
        frame[NUMBER..CHECK].copy_from_slice(&number.to_be_bytes());
        frame[CHECK..PATTERN].copy_from_slice(&check(self.run, number).to_be_bytes());
        let end = frame.len() - TRAILER;
        frame[end..].copy_from_slice(&number.to_be_bytes());
    }

    pub(super) fn verdict(&self, frame: &[u8]) -> Verdict {
        if frame.len() < PATTERN || frame[BODY..RUN] != MAGIC {
            return Verdict::Foreign;
        }
        let mut number = [0; 8];
        number.copy_from_slice(&frame[NUMBER..CHECK]);
        let number = u64::from_be_bytes(number);
        let same_run = frame[RUN..NUMBER] == self.frame[RUN..NUMBER];
        if frame[CHECK..PATTERN] != check(self.run, number).to_be_bytes() {
            return if same_run { Verdict::Corrupted } else { Verdict::Foreign };
        }
        let whole = same_run && frame.len() == self.frame.len();
        let end = self.frame.len() - TRAILER;
        let intact = whole
            && frame[12..BODY] == self.frame[12..BODY]
            && frame[PATTERN..end] == self.frame[PATTERN..end]
            && frame[end..] == number.to_be_bytes();
        if intact { Verdict::Intact(number) } else { Verdict::Corrupted }
    }
}

fn check(run: u64, number: u64) -> u32 {
    (mix(mix(run) ^ number) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(frame_bytes: usize) -> Template {
        Template::new([1; 6], [2; 6], 0x88b6, 77, frame_bytes)
    }

    #[test]
    fn a_stamped_frame_is_intact_at_every_size() {
        for size in [FRAME_MIN, 61, 64, 1514, FRAME_MAX] {
            let template = template(size);
            let mut frame = template.bytes().to_vec();
            template.stamp(&mut frame, u64::MAX - 3);
            assert_eq!(template.verdict(&frame), Verdict::Intact(u64::MAX - 3));
        }
    }

    #[test]
    fn no_single_bit_error_behind_the_addresses_goes_unnoticed() {
        let template = template(FRAME_MIN);
        let mut frame = template.bytes().to_vec();
        template.stamp(&mut frame, 5);
        for bit in 12 * 8..frame.len() * 8 {
            let mut changed = frame.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches!(template.verdict(&changed), Verdict::Intact(_)), "bit {bit}");
        }
    }

    #[test]
    fn other_lengths_and_other_runs_are_told_apart() {
        let template = template(100);
        let mut frame = template.bytes().to_vec();
        template.stamp(&mut frame, 5);
        assert_eq!(template.verdict(&frame[..99]), Verdict::Corrupted);
        frame.push(0);
        assert_eq!(template.verdict(&frame), Verdict::Corrupted);
        let other = Template::new([1; 6], [2; 6], 0x88b6, 78, 100);
        let mut frame = other.bytes().to_vec();
        other.stamp(&mut frame, 5);
        assert_eq!(template.verdict(&frame), Verdict::Foreign);
        assert_eq!(template.verdict(&[]), Verdict::Foreign);
    }
}
