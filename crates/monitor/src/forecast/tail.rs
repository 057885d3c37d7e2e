//! How fast codewords become fewer from one error to the next, where no distribution fits.

use crate::counters::ERRORS_COUNTED;

/// Codewords with the most errors that the ratio is taken from.
const CODEWORDS_LEAST: f64 = 100.0;
/// Standard deviations on both sides in an interval of 95 %.
const DEVIATIONS: f64 = 1.96;
/// None of some events were seen: up to this many may have been expected (97.5 %).
const NONE_SEEN: f64 = 3.69;
/// A tail that does not fall has no end.
const RATIO_MOST: f64 = 0.999;

/// The probability of more errors than can be corrected: least, likeliest, most; `None` without errors.
///
/// Of the codewords with the most errors, at least 100 of them, each further error is taken to be as likely as the one
/// before (a geometric tail). Tails of independent errors fall faster, so that this is too much rather than too little. The
/// interval of 95 % is that of the ratio of two counts, by the normal distribution. Codewords with more errors than
/// `correctable` are not counted, so that the histogram ends there.
pub(super) fn extrapolate(codewords: &[u64; ERRORS_COUNTED], correctable: u32) -> Option<[f64; 3]> {
    let last = (correctable as usize).min(ERRORS_COUNTED - 1);
    let all: f64 = codewords.iter().map(|&count| count as f64).sum();
    let counted =
        |from: usize, to: usize| codewords[from..=to].iter().map(|&count| count as f64).sum::<f64>();
    // Two numbers of errors, at least, say how fast codewords become fewer.
    let from = (1..last).rev().find(|&from| counted(from, last) >= CODEWORDS_LEAST).unwrap_or(1).min(last);
    let (fewer, more) =
        (counted(from, last.saturating_sub(1).max(from)), counted((from + 1).min(last), last));
    if fewer == 0.0 {
        return None;
    }
    let ratio = more / fewer;
    let deviation = DEVIATIONS * libm::sqrt(more * (1.0 + ratio)) / fewer;
    let further = (last + 1 - from) as f64;
    let beyond = |ratio: f64| {
        let ratio = ratio.clamp(0.0, RATIO_MOST);
        let rest = libm::pow(ratio, further);
        // What would be beyond the end is not among those that were counted.
        (counted(from, last) / all * rest / (1.0 - rest)).min(1.0)
    };
    Some([beyond(ratio - deviation), beyond(ratio), beyond(ratio + deviation + NONE_SEEN / fewer)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geometric_tail_goes_on_as_it_is() {
        let mut codewords = [0; ERRORS_COUNTED];
        let mut count = 1e12;
        for bin in &mut codewords {
            *bin = count as u64;
            count /= 10.0;
        }
        for (correctable, beyond) in [(15, 1e-16), (7, 1e-8)] {
            codewords[correctable as usize + 1..].fill(0);
            let [least, likely, most] = extrapolate(&codewords, correctable).expect("errors");
            assert!((likely / beyond - 1.0).abs() < 0.3, "{likely:e}");
            assert!(least < beyond && beyond < most, "{least:e} {most:e}");
        }
    }

    #[test]
    fn few_errors_leave_much_open() {
        let mut codewords = [0; ERRORS_COUNTED];
        (codewords[0], codewords[1]) = (1_000_000, 5);
        let [least, likely, most] = extrapolate(&codewords, 15).expect("errors");
        assert_eq!((least, likely), (0.0, 0.0));
        assert!(most > 0.0 && most < 1e-6, "{most:e}");
        codewords[1] = 0;
        assert_eq!(extrapolate(&codewords, 15), None);
        for correctable in 1..=15 {
            assert!(extrapolate(&[u64::MAX; ERRORS_COUNTED], correctable).is_some());
        }
    }
}
