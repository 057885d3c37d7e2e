//! How the peer's probes arrive on one path: how many are lost, and how long they take.

/// Probes over which losses are counted.
const HISTORY: u32 = u128::BITS;
/// This many missing in a row count as an interruption of the path, which is detected in other ways, and not as losses.
/// On a path that loses 70 %, this happens by chance in one of 90,000 cases.
const INTERRUPTION: u32 = 32;
/// Number of probes of which the fastest counts.
const STRETCH: u8 = 32;

/// The latest probes of the peer on one path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arrivals {
    /// The number of the latest.
    number: Option<u32>,
    /// A bit for each of the latest probes that say something about losses, the latest in the lowest bit; set if it was
    /// lost.
    lost: u128,
    /// Whether probes missing before the next one say nothing about the path.
    excused: bool,
    /// The minimum time from a probe's stamp to its arrival, in us between two clocks, in the current stretch and the
    /// previous one.
    way_us: [Option<u32>; 2],
    in_stretch: u8,
}

impl Arrivals {
    /// Starts measuring the delay again, and excuses probes missing before the next one: the path was interrupted.
    pub(super) fn interrupted(&mut self) {
        *self = Arrivals { number: self.number, lost: self.lost, excused: true, ..Arrivals::default() };
    }

    /// Excuses probes missing before the next one: this end was not listening.
    pub(super) fn excuse(&mut self) {
        self.excused = true;
    }

    /// Whether so many probes are missing before this one that the path must have been interrupted.
    pub(super) fn is_interruption(&self, number: u32) -> bool {
        self.ahead(number) > INTERRUPTION
    }

    /// How far a number is ahead of the latest one; 0 if it is not ahead.
    fn ahead(&self, number: u32) -> u32 {
        let ahead = self.number.map_or(1, |last| number.wrapping_sub(last) as i32);
        u32::try_from(ahead).unwrap_or(0)
    }

    /// Records a probe and the time it took; returns how many before it are missing.
    pub(super) fn note(&mut self, number: u32, way_us: u32) -> u32 {
        let Some(missing) = self.ahead(number).checked_sub(1) else { return 0 };
        self.number = Some(number);
        // What is excused is not an arrival either, which would dilute the losses.
        let counted = if core::mem::take(&mut self.excused) { 0 } else { missing.min(HISTORY - 1) };
        self.lost = self.lost.checked_shl(counted + 1).unwrap_or(0) | ((1_u128 << counted) - 1) << 1;
        self.note_way(way_us);
        missing
    }

    /// How many of the latest 128 probes were lost.
    pub(super) fn lost(&self) -> u8 {
        self.lost.count_ones() as u8
    }

    /// How much longer a probe takes here than there, in us.
    pub(super) fn later_us(&self, there: &Arrivals) -> u32 {
        let least = |arrivals: &Arrivals| arrivals.way_us.into_iter().flatten().reduce(shorter);
        let (Some(here), Some(there)) = (least(self), least(there)) else { return 0 };
        u32::try_from(here.wrapping_sub(there) as i32).unwrap_or(0)
    }

    fn note_way(&mut self, way_us: u32) {
        if self.in_stretch == STRETCH {
            (self.way_us, self.in_stretch) = ([None, self.way_us[0]], 0);
        }
        self.in_stretch += 1;
        self.way_us[0] = Some(self.way_us[0].map_or(way_us, |least| shorter(least, way_us)));
    }
}

/// The clocks differ by an unknown offset, so only differences are meaningful.
fn shorter(one: u32, other: u32) -> u32 {
    if (one.wrapping_sub(other) as i32) < 0 { one } else { other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_those_of_the_latest_128_probes() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.note(u32::MAX - 1, 0), 0, "the first one shows nothing");
        assert_eq!((arrivals.note(2, 0), arrivals.lost()), (3, 3));
        assert_eq!((arrivals.note(2, 0), arrivals.note(1, 0), arrivals.lost()), (0, 0, 3), "again, and late");
        for number in 3..127 {
            assert_eq!((arrivals.note(number, 0), arrivals.lost()), (0, 3));
        }
        assert_eq!((arrivals.note(129, 0), arrivals.lost()), (2, 2), "the three before are forgotten");
        assert_eq!((arrivals.note(161, 0), arrivals.lost()), (31, 33), "as many as chance makes");
        arrivals.excuse();
        assert_eq!((arrivals.note(164, 0), arrivals.lost()), (2, 33), "neither lost nor there");
        arrivals.interrupted();
        assert_eq!((arrivals.note(165, 0), arrivals.note(167, 0), arrivals.lost()), (0, 1, 34));
        assert!(!arrivals.is_interruption(199) && arrivals.is_interruption(200));
        assert_eq!((arrivals.note(600, 0), arrivals.lost()), (432, 127), "all but this one");
    }

    #[test]
    fn the_fastest_of_many_probes_counts_whatever_the_clocks_say() {
        let [mut here, mut there] = [Arrivals::default(); 2];
        assert_eq!(here.later_us(&there), 0, "nothing is known");
        here.note(1, 100);
        there.note(1, u32::MAX - 49);
        assert_eq!((here.later_us(&there), there.later_us(&here)), (150, 0));
        here.note(2, 10);
        assert_eq!(here.later_us(&there), 60);
        // A queue that stays counts once the fast one is two stretches old.
        for number in 3..=96 {
            here.note(number, 700);
            assert_eq!(here.later_us(&there), if number <= 64 { 60 } else { 750 }, "{number}");
        }
    }
}
