//! The process, over all models.

use super::*;

fn process(corruption: &Corruption, seed: u64) -> CorruptionProcess {
    CorruptionProcess::new(corruption, Random::new(seed, "corruption")).expect("valid parameters")
}

#[test]
fn iid_loss_has_its_rate() {
    let mut process = process(&Corruption::iid(1e-2), 1);
    let lost = (0..1_000_000).filter(|_| process.corrupts(1518)).count() as f64;
    // Five standard deviations of a binomial number.
    assert!((lost - 1e4).abs() < 5.0 * libm::sqrt(1e4 * 0.99), "{lost}");
}
