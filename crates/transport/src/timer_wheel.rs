//! When a timer of the Linux kernel expires: its timer wheel (`kernel/time/timer.c`).

/// Ticks that one level of the wheel covers. Linux keeps one of its 64 buckets free.
const LEVEL_TICKS: u64 = 63;
/// Each level is eight times as coarse as the one below it.
const LEVEL_SHIFT: u32 = 3;
/// Levels of a kernel that ticks more than 100 times a second. The last one takes all timers that are longer.
const LEVELS: u32 = 9;

/// When a timer that is set at `now` for `at` expires, in nanoseconds since a tick whose number is a multiple of 64,
/// with a tick every `tick` nanoseconds.
///
/// Its length is rounded up to ticks. A timer never expires early, so it always waits for the next boundary of its level: with
/// the tick after its last one if it is shorter than 63 ticks, at a multiple of 8 ticks if it is shorter than 504, and so on. One
/// that is set exactly at a tick is set by another timer, and the wheel has moved on by then: its level is that of a timer one
/// tick shorter.
///
/// # Panics
/// If `tick` is zero.
#[must_use]
pub fn expiry(now: u64, at: u64, tick: u64) -> u64 {
    let length = at.saturating_sub(now).div_ceil(tick);
    let from_the_wheel = length.saturating_sub(u64::from(now.is_multiple_of(tick)));
    let level = (0..LEVELS - 1).find(|level| from_the_wheel < LEVEL_TICKS << (LEVEL_SHIFT * level));
    let shift = LEVEL_SHIFT * level.unwrap_or(LEVELS - 1);
    let ticks = ((now / tick).saturating_add(length) >> shift).saturating_add(1).saturating_mul(1 << shift);
    ticks.saturating_mul(tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In ticks of 10, set a little after the tick `now`.
    fn ticks(now: u64, length: u64) -> u64 {
        let set_at = now * 10 + 1;
        expiry(set_at, set_at + length * 10, 10) / 10
    }

    #[test]
    fn short_timers_expire_with_the_tick_after_their_last_one() {
        assert_eq!([ticks(100, 0), ticks(100, 1), ticks(100, 62)], [101, 102, 163]);
        assert_eq!(
            [expiry(9, 10, 10), expiry(9, 19, 10), expiry(9, 20, 10)],
            [20, 20, 30],
            "rounded up to ticks"
        );
    }

    #[test]
    fn longer_timers_wait_for_a_boundary_of_their_level() {
        // 63 ticks and more: multiples of 8; 504 and more: of 64.
        assert_eq!([ticks(100, 63), ticks(96, 64), ticks(100, 503)], [168, 168, 608]);
        assert_eq!([ticks(0, 504), ticks(8, 504), ticks(0, 4_032)], [512, 576, 4_096]);
    }

    #[test]
    fn a_timer_that_another_one_sets_has_the_level_of_a_shorter_one() {
        assert_eq!([expiry(1_000, 1_630, 10), expiry(1_001, 1_631, 10)], [1_640, 1_680]);
    }

    #[test]
    fn no_timer_expires_early_or_later_than_its_level_is_coarse() {
        for now in [0, 1, 7, 8, 63, 511, 512, 99_991] {
            for length in 0..10_000 {
                let late = ticks(now, length) - (now + length);
                assert!((1..=length.max(8) / 7 + 1).contains(&late), "{now} + {length}: {late} ticks late");
            }
        }
        assert_eq!([expiry(u64::MAX, 1, 1), expiry(0, u64::MAX, 1 << 40)], [u64::MAX; 2], "no overflow");
    }
}
