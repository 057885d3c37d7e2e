//! How the peer's probes arrive on one path: how many are lost, and how long they take.

/// Probes over which losses are counted.
const HISTORY: u32 = u128::BITS;
/// Probes of which the fastest counts.
const STRETCH: u8 = 32;

/// The latest probes of the peer on one path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arrivals {
    /// The number of the latest.
    number: Option<u32>,
    /// A bit for each, the latest lowest; set if it is lost.
    lost: u128,
    /// Whether those that are missing before the next say nothing about the path.
    excused: bool,
    /// The least time from a probe's stamp to its arrival, in us between two clocks, in the present stretch and the one before.
    way_us: [Option<u32>; 2],
    in_stretch: u8,
}

impl Arrivals {
    /// Begins to measure the way afresh, and excuses what is missing before the next: the path was interrupted, which is known
    /// otherwise.
    pub(super) fn interrupted(&mut self) {
        *self = Arrivals { number: self.number, lost: self.lost, excused: true, ..Arrivals::default() };
    }

    /// Excuses what is missing before the next: this end did not listen.
    pub(super) fn excuse(&mut self) {
        self.excused = true;
    }

    /// Notes a probe and the time it took; returns how many before it are missing.
    pub(super) fn note(&mut self, number: u32, way_us: u32) -> u32 {
        let ahead = self.number.map_or(1, |last| number.wrapping_sub(last) as i32);
        let Ok(ahead @ 1..) = u32::try_from(ahead) else { return 0 };
        self.number = Some(number);
        let missing = ahead - 1;
        let bits = if missing < HISTORY { (1_u128 << missing) - 1 } else { u128::MAX };
        let bits = if core::mem::take(&mut self.excused) { 0 } else { bits };
        self.lost = self.lost.checked_shl(ahead).unwrap_or(0) | bits << 1;
        self.note_way(way_us);
        missing
    }

    /// How many of the latest 128 are lost.
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

/// The clocks differ by an unknown number, so that only differences mean something.
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
        assert_eq!((arrivals.note(400, 0), arrivals.lost()), (270, 127), "all but this one");
        arrivals.excuse();
        assert_eq!((arrivals.note(403, 0), arrivals.lost()), (2, 124));
        arrivals.interrupted();
        assert_eq!((arrivals.note(404, 0), arrivals.lost()), (0, 123));
        assert_eq!((arrivals.note(600, 0), arrivals.lost()), (195, 127));
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
