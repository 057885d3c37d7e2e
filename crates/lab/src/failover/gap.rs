//! The longest time without delivery.

/// The longest time without delivery that ends between `from_ns` and `to_ns`, or lasts until then, given the ends of intervals
/// and whether anything was delivered in each. It is exact to an interval.
pub(super) fn longest(delivered: impl IntoIterator<Item = (u64, bool)>, from_ns: u64, to_ns: u64) -> u64 {
    let (mut longest, mut last) = (0, None);
    for (at_ns, any) in delivered {
        if at_ns >= to_ns {
            break;
        }
        // What lay between two intervals with deliveries.
        let since = at_ns.saturating_sub(*last.get_or_insert(at_ns));
        if at_ns >= from_ns {
            longest = longest.max(since);
        }
        if any {
            last = Some(at_ns);
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_several_gaps_within_the_time() {
        let at = |silent: &[u64]| (0..100).map(|ms| (ms, !silent.contains(&ms))).collect::<Vec<_>>();
        assert_eq!(longest(at(&[]), 10, 90), 1, "one interval");
        assert_eq!(longest(at(&[20, 21, 22, 50]), 10, 90), 4);
        assert_eq!(longest(at(&[20, 21, 22, 50]), 30, 90), 2, "the first one is over");
        let dead: Vec<u64> = (40..100).collect();
        assert_eq!(longest(at(&dead), 10, 90), 50, "it lasts until the end");
    }
}
