//! When a card interrupts its host for the frames that have arrived, if it does not at once.

mod moderation;

use super::latency::HostLatency;
use crate::random::Random;
use crate::time::Time;
use moderation::{FRAMES_MAX, Moderation};

/// After a silence of this length, what arrives is taken for a new flow. A card spreads flows over many queues, so a new one
/// is seldom received by the queue that the last one's traffic has adapted.
const SILENCE: Time = Time::from_nanos(1_000_000);

/// The interrupts of a card.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    moderation: Moderation,
    /// Before this time the card does not interrupt again.
    earliest: Time,
    /// Frames and bytes that have arrived since its last interrupt.
    frames: u32,
    bytes: u64,
}

impl Interrupts {
    /// A frame has arrived; returns when the stack takes it. `due` is when it was to run before, if at all.
    pub(crate) fn frame_arrived(
        &mut self,
        now: Time,
        bytes: u16,
        due: Time,
        latency: &HostLatency,
        random: &mut Random,
    ) -> Time {
        self.frames += 1;
        self.bytes += u64::from(bytes);
        if latency.is_moderated && now > self.earliest + SILENCE {
            self.moderation = Moderation::begin(now);
        }
        if due != Time::NEVER {
            let due = if self.frames == 2 { due + latency.draw_burst(random) } else { due };
            // A card that has gathered this many interrupts with no further delay than the stack's own.
            let is_full = latency.is_moderated && self.frames == FRAMES_MAX;
            return if is_full { due.min(now + latency.draw(random)) } else { due };
        }
        now.max(self.earliest) + latency.draw(random)
    }

    /// The stack takes all frames.
    pub(crate) fn stack_ran(&mut self, now: Time, latency: &HostLatency) {
        if latency.is_moderated {
            self.moderation.interrupted(now, self.frames, self.bytes);
            self.earliest = now + self.moderation.interval();
        }
        (self.frames, self.bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times in microseconds at which the stack takes `count` frames that arrive every `interval_us`.
    fn runs(is_moderated: bool, count: u64, interval_us: u64) -> Vec<u64> {
        let latency = HostLatency { least: Time::from_nanos(5_000), is_moderated, ..HostLatency::NONE };
        let (mut interrupts, mut random) = (Interrupts::default(), Random::new(1, "interrupts"));
        let (mut due, mut runs) = (Time::NEVER, Vec::new());
        for frame in 0..count {
            let now = Time::from_nanos(frame * interval_us * 1_000);
            if due <= now {
                runs.push(due.as_micros() as u64);
                interrupts.stack_ran(due, &latency);
                due = Time::NEVER;
            }
            due = interrupts.frame_arrived(now, 1_518, due, &latency, &mut random);
        }
        runs
    }

    fn gaps(runs: &[u64]) -> Vec<u64> {
        runs.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn steady_bulk_traffic_is_gathered_as_long_as_the_card_can() {
        let gaps = gaps(&runs(true, 400_000, 1));
        assert!(gaps[..60].iter().all(|gap| *gap <= 14), "it begins with 8 us: {:?}", &gaps[..60]);
        let late = &gaps[gaps.len() - 500..];
        // The longest interval is 256 us; 256 frames end it, here after 256 us, too.
        assert!(late.iter().filter(|gap| **gap >= 128).count() > 400, "{late:?}");
    }

    #[test]
    fn sparse_frames_are_reported_at_once() {
        let sparse = runs(true, 10_000, 300);
        assert!(sparse.iter().all(|run| run % 300 == 5), "5 us after each frame");
    }

    #[test]
    fn without_moderation_frames_wait_for_the_latency_alone() {
        let plain = gaps(&runs(false, 5_000, 1));
        assert!(plain.iter().all(|gap| (5..=6).contains(gap)), "{plain:?}");
    }
}
