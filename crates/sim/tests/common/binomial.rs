//! Exact binomial tails, for counts of rare events.

/// The natural logarithm of the probability of exactly `k` successes in `n` trials with probability `p` each.
fn log_probability(n: u64, k: u64, p: f64) -> f64 {
    let (n, k) = (n as f64, k as f64);
    let choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    choose + k * libm::log(p) + (n - k) * libm::log1p(-p)
}

/// Probability of at most `k` successes. Summed term by term from the likelier side, so meant for small `k`.
pub fn at_most(n: u64, k: u64, p: f64) -> f64 {
    (0..=k.min(n)).map(|k| libm::exp(log_probability(n, k, p))).sum()
}

/// Probability of at least `k` successes.
pub fn at_least(n: u64, k: u64, p: f64) -> f64 {
    if k == 0 { 1.0 } else { 1.0 - at_most(n, k - 1, p) }
}

/// Whether `k` successes in `n` trials lie in the exact two-sided interval that `p` leaves with probability `alpha`: the
/// same as `p` lying in the Clopper-Pearson interval of `k` and `n`.
pub fn is_plausible(n: u64, k: u64, p: f64, alpha: f64) -> bool {
    at_most(n, k, p) > alpha / 2.0 && at_least(n, k, p) > alpha / 2.0
}
