//! How errors are spread over codewords.

use crate::counters::ERRORS_COUNTED;

/// Symbols of a codeword of RS(544,514): no codeword has more errors.
const SYMBOLS: u32 = 544;
/// Terms smaller than this share of their sum so far are left out.
const NEGLIGIBLE: f64 = 1e-12;
/// Shapes of the fit, as logarithms: from errors that nearly all come in bursts, up to those that are independent.
const SHAPES: (f64, f64) = (-9.0, 16.0);
/// How far the logarithm of the likelihood falls to both sides of its maximum within an interval of 95 %: half of the
/// quantile of a chi-squared distribution with one degree of freedom.
const LIKELIHOOD_DROP: f64 = 1.92;
/// Standard deviations on both sides in an interval of 95 %.
const DEVIATIONS: f64 = 1.96;
/// The halvings of an interval that leave nothing of it that matters.
const HALVINGS: u32 = 60;
/// How often the errors of uncorrectable codewords are estimated.
const EXPECTATIONS: u32 = 4;
/// Bins of which fewer codewords are expected are not compared.
const EXPECTED_LEAST: f64 = 5.0;
/// A fit is refused if it would be this far off in one of a thousand cases, in standard deviations.
const MISFIT: f64 = 3.09;

/// A negative binomial distribution: that of errors which are independent, at a rate that varies from codeword to codeword.
/// The larger its shape, the less it varies; without limit it is Poisson's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NegativeBinomial {
    pub mean: f64,
    pub shape: f64,
}

impl NegativeBinomial {
    /// The probabilities of no error, of one, and so on.
    pub fn probabilities(self) -> impl Iterator<Item = f64> {
        let NegativeBinomial { mean, shape } = self;
        let none = libm::exp(-shape * libm::log1p(mean / shape));
        let odds = mean / (shape + mean);
        (0..).scan(none, move |next, errors| {
            let probability = *next;
            *next *= odds * (shape + f64::from(errors)) / (f64::from(errors) + 1.0);
            Some(probability)
        })
    }

    /// The probability of more errors than this.
    pub fn beyond(self, correctable: u32) -> f64 {
        let mut sum = 0.0;
        let most = (SYMBOLS - correctable.min(SYMBOLS)) as usize;
        for probability in self.probabilities().skip(correctable as usize + 1).take(most) {
            sum += probability;
            if probability < sum * NEGLIGIBLE {
                break;
            }
        }
        sum.min(1.0)
    }

    /// How many errors codewords with more than so many have on average.
    fn mean_beyond(self, correctable: u32) -> f64 {
        let most = (SYMBOLS - correctable.min(SYMBOLS)) as usize;
        let beyond = (0_u32..).zip(self.probabilities()).skip(correctable as usize + 1).take(most);
        let (sum, errors) = beyond.fold((0.0, 0.0), |(sum, errors), (count, probability)| {
            (sum + probability, errors + f64::from(count) * probability)
        });
        if sum > 0.0 { errors / sum } else { f64::from(correctable) + 1.0 }
    }

    fn log_likelihood(self, codewords: &[u64; ERRORS_COUNTED], further: Option<Further>) -> f64 {
        let seen = codewords.iter().zip(self.probabilities()).filter(|&(&count, _)| count > 0);
        let log = |probability: f64| libm::log(probability.max(f64::MIN_POSITIVE));
        let counted: f64 = seen.map(|(&count, probability)| count as f64 * log(probability)).sum();
        match further.filter(|further| further.count > 0) {
            Some(Further { count, correctable }) => counted + count as f64 * log(self.beyond(correctable)),
            None => counted,
        }
    }
}

/// Codewords that had more errors than can be corrected: the last bin of a histogram, which says how many but not how bad.
#[derive(Debug, Clone, Copy)]
pub(super) struct Further {
    pub count: u64,
    pub correctable: u32,
}

/// A negative binomial distribution that was fitted, and how far it can be from the true one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    pub likely: NegativeBinomial,
    /// With the least and with the most large errors of all that are in the interval of 95 %.
    pub interval: (NegativeBinomial, NegativeBinomial),
    /// Whether what was counted is as this says.
    pub fits: bool,
}

/// Finds the distribution that makes these codewords likeliest; `None` without errors.
///
/// How many errors uncorrectable codewords had is not counted. It is what the distribution that was found before expects of
/// them, found again and again (expectation and maximisation; Dempster et al. 1977).
pub(super) fn fit(codewords: &[u64; ERRORS_COUNTED], further: Option<Further>) -> Option<Fit> {
    let errors_of = |further: Further| f64::from(further.correctable) + 1.0;
    let mut found = fit_with(codewords, further, further.map_or(0.0, errors_of))?;
    if let Some(further) = further.filter(|further| further.count > 0) {
        for _ in 0..EXPECTATIONS {
            found = fit_with(codewords, Some(further), found.likely.mean_beyond(further.correctable))?;
        }
    }
    Some(found)
}

/// The same, if uncorrectable codewords have so many errors on average.
fn fit_with(codewords: &[u64; ERRORS_COUNTED], further: Option<Further>, errors_of: f64) -> Option<Fit> {
    let count = further.map_or(0.0, |further| further.count as f64);
    let all: f64 = codewords.iter().map(|&count| count as f64).sum::<f64>() + count;
    let errors: f64 = (0_u32..).zip(codewords).map(|(errors, &count)| f64::from(errors) * count as f64).sum();
    let errors = errors + count * errors_of;
    if errors == 0.0 {
        return None;
    }
    // The mean of what was counted is the likeliest mean whatever the shape, so that only the shape is searched for.
    let mean = errors / all;
    let of = |log_shape: f64| NegativeBinomial { mean, shape: libm::exp(log_shape) };
    let likelihood = |log_shape: f64| of(log_shape).log_likelihood(codewords, further);
    let best = highest(&likelihood);
    let enough = likelihood(best) - LIKELIHOOD_DROP;
    let inside = |log_shape: f64| likelihood(log_shape) >= enough;
    let bursty = edge(best, SHAPES.0, &inside);
    let smooth = edge(best, SHAPES.1, &inside);
    let deviation = |shape: f64| DEVIATIONS * libm::sqrt((mean + mean * mean / shape) / all);
    let (smooth, bursty) = (of(smooth), of(bursty));
    let least = NegativeBinomial { mean: (mean - deviation(smooth.shape)).max(mean / 1e3), ..smooth };
    let most = NegativeBinomial { mean: mean + deviation(bursty.shape), ..bursty };
    let likely = of(best);
    Some(Fit { likely, interval: (least, most), fits: fits(likely, codewords, all, further) })
}

/// Where a function with one maximum has it, among [`SHAPES`].
fn highest(function: &impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = SHAPES;
    for _ in 0..HALVINGS {
        let third = (high - low) / 3.0;
        if function(low + third) < function(high - third) { low += third } else { high -= third }
    }
    f64::midpoint(low, high)
}

/// The last point from `inside` towards `end` of which this is true.
fn edge(inside: f64, end: f64, is_inside: &impl Fn(f64) -> bool) -> f64 {
    if is_inside(end) {
        return end;
    }
    let (mut inside, mut outside) = (inside, end);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(inside, outside);
        if is_inside(middle) { inside = middle } else { outside = middle }
    }
    inside
}

/// Pearson's chi-squared test, with the cube root of Wilson and Hilferty (1931) for its quantile.
fn fits(
    likely: NegativeBinomial,
    codewords: &[u64; ERRORS_COUNTED],
    all: f64,
    further: Option<Further>,
) -> bool {
    let (mut sum, mut bins) = (0.0, 0_u32);
    let (mut rest_seen, mut rest_expected) = (0.0, 0.0);
    // Beyond what can be corrected, a histogram has no bins.
    let bins_most = further.map_or(ERRORS_COUNTED, |further| further.correctable as usize + 1);
    for (&seen, probability) in codewords.iter().zip(likely.probabilities()).take(bins_most) {
        let (seen, expected) = (seen as f64, probability * all);
        if expected < EXPECTED_LEAST {
            rest_seen += seen;
            rest_expected += expected;
        } else {
            sum += (seen - expected) * (seen - expected) / expected;
            bins += 1;
        }
    }
    if let Some(Further { count, correctable }) = further {
        rest_seen += count as f64;
        rest_expected += likely.beyond(correctable) * all;
    }
    // Bins of which little was expected are compared together, and count for no less than one codeword.
    let rest = (rest_seen - rest_expected) * (rest_seen - rest_expected) / rest_expected.max(1.0);
    let free = f64::from(bins.saturating_sub(2).max(1));
    let cube = libm::cbrt((sum + rest) / free);
    (cube - (1.0 - 2.0 / (9.0 * free))) / libm::sqrt(2.0 / (9.0 * free)) <= MISFIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_bursts_are_between_poisson_and_geometric() {
        let poisson = NegativeBinomial { mean: 1.0, shape: 1e9 };
        // 1 - (1 + 1 + 1/2 + 1/6) / e.
        assert!((poisson.beyond(3) - 0.018_988_157).abs() < 1e-8, "{}", poisson.beyond(3));
        let geometric = NegativeBinomial { mean: 1.0, shape: 1.0 };
        assert!((geometric.beyond(3) - 1.0 / 16.0).abs() < 1e-12);
        assert!((geometric.beyond(15) * 65_536.0 - 1.0).abs() < 1e-9);
    }

    /// What is counted of so many codewords, without chance.
    fn counted(of: NegativeBinomial, all: f64) -> [u64; ERRORS_COUNTED] {
        let mut codewords = [0; ERRORS_COUNTED];
        for (count, probability) in codewords.iter_mut().zip(of.probabilities()) {
            *count = libm::round(probability * all) as u64;
        }
        codewords
    }

    #[test]
    fn what_was_counted_gives_its_distribution_back() {
        for (mean, shape) in [(0.1, 0.5), (1.0, 3.0), (0.01, 0.1), (2.0, 20.0)] {
            let truth = NegativeBinomial { mean, shape };
            let fit = fit(&counted(truth, 1e9), None).expect("errors");
            assert!((fit.likely.shape / shape - 1.0).abs() < 0.01, "{fit:?}");
            let (least, most) = (fit.interval.0.beyond(15), fit.interval.1.beyond(15));
            let true_rate = truth.beyond(15);
            assert!(least < true_rate && true_rate < most, "{least:e} {true_rate:e} {most:e}");
            assert!(most / least < 1.5, "{least:e} {most:e}");
            assert!(fit.fits);
        }
    }

    #[test]
    fn independent_errors_have_no_bursts() {
        let truth = NegativeBinomial { mean: 0.5, shape: 1e12 };
        let fit = fit(&counted(truth, 1e6), None).expect("errors");
        let (least, most) = (fit.interval.0.beyond(15), fit.interval.1.beyond(15));
        assert!(least <= truth.beyond(15) * 1.01 && truth.beyond(15) < most, "{least:e} {most:e}");
    }

    #[test]
    fn uncorrectable_codewords_narrow_what_a_histogram_leaves_open() {
        let truth = NegativeBinomial { mean: 0.2, shape: 0.3 };
        let all = 1e7;
        let mut codewords = counted(truth, all);
        codewords[8..].fill(0);
        let count = libm::round(truth.beyond(7) * all) as u64;
        assert!(count > 100, "{count}");
        let width = |further| {
            let fit = fit(&codewords, further).expect("errors");
            let (least, most) = (fit.interval.0.beyond(7), fit.interval.1.beyond(7));
            assert!(further.is_none() || fit.fits && least < truth.beyond(7) && truth.beyond(7) < most);
            most / least
        };
        assert!(width(Some(Further { count, correctable: 7 })) <= width(None) * 1.001);
        let many = Further { count: 100 * count, correctable: 7 };
        assert!(!fit(&codewords, Some(many)).expect("errors").fits, "a histogram does not say so many");
    }

    #[test]
    fn two_kinds_of_codewords_do_not_fit() {
        let mut codewords = counted(NegativeBinomial { mean: 0.01, shape: 1e9 }, 1e9);
        codewords[12] += 100;
        assert!(!fit(&codewords, None).expect("errors").fits);
        assert!(fit(&[1_000; ERRORS_COUNTED], None).is_some());
        assert!(fit(&[u64::MAX; ERRORS_COUNTED], None).is_some());
        assert!(
            fit(
                &{
                    let mut none = [0; ERRORS_COUNTED];
                    none[0] = 9;
                    none
                },
                None
            )
            .is_none()
        );
    }
}
