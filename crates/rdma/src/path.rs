//! The links that packets cross, and what of a packet arrives.

use linkmend_diagnose::ParameterError;

/// What a corruption rate must be.
pub const CORRUPTION_REQUIREMENT: &str = "must be above 0 and below 1";
/// Longest path: networks have fewer layers.
const LINKS_MAX: u32 = 64;
const BITS_PER_BYTE: f64 = 8.0;

/// Links in a row. Each corrupts with the same probability, independently of the others and of what goes the other way;
/// one that does corrupts each bit independently (Theorem 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// Number of links, 1 to 64 (the paper's L).
    pub links: u32,
    /// Probability that a link corrupts, 0 to 1 (omega).
    pub corrupting: f64,
    /// Probability that a corrupting link corrupts a bit (alpha).
    pub bit_error_rate: f64,
}

impl Path {
    /// A path whose corrupting links lose this share of packets of so many bytes (the paper's beta for its full packets).
    pub fn losing(links: u32, corrupting: f64, loss: f64, packet_bytes: u32) -> Path {
        let bits = f64::from(packet_bytes) * BITS_PER_BYTE;
        Path { links, corrupting, bit_error_rate: -libm::expm1(libm::log1p(-loss) / bits) }
    }

    /// # Errors
    /// The first parameter that is out of its range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        if !(1..=LINKS_MAX).contains(&self.links) {
            return Err(ParameterError::new("links", self.links, "must be 1 to 64"));
        }
        if !(self.corrupting > 0.0 && self.corrupting <= 1.0) {
            return Err(ParameterError::new("corrupting", self.corrupting, "must be above 0 and at most 1"));
        }
        if !(self.bit_error_rate > 0.0 && self.bit_error_rate < 1.0) {
            let requirement = CORRUPTION_REQUIREMENT;
            return Err(ParameterError::new("bit error rate", self.bit_error_rate, requirement));
        }
        Ok(())
    }

    /// Probability that a corrupting link corrupts a frame of this length (Theorem 1).
    pub fn link_loss(&self, bytes: u32) -> f64 {
        -libm::expm1(self.log_survival(bytes))
    }

    /// Probability that the path loses a frame of this length (Theorem 3, exactly).
    pub fn loss(&self, bytes: u32) -> f64 {
        self.all_lost(&[(bytes, 1)])
    }

    /// Probability that all of these frames are lost: lengths, and how many there are of each. They cross the same links,
    /// so that one loss makes others likelier where not all links corrupt.
    pub fn all_lost(&self, frames: &[(u32, u32)]) -> f64 {
        self.expected(|corrupting| {
            frames.iter().map(|&(bytes, count)| self.loss_at(corrupting, bytes, count)).product()
        })
    }

    /// Mean over how many links of the path corrupt.
    fn expected(&self, value: impl Fn(u32) -> f64) -> f64 {
        self.corrupting_links().map(|(corrupting, probability)| probability * value(corrupting)).sum()
    }

    /// How many links of the path may corrupt, and how probable that is.
    pub(crate) fn corrupting_links(&self) -> impl Iterator<Item = (u32, f64)> {
        let (links, share) = (f64::from(self.links), self.corrupting);
        let certain = share >= 1.0;
        let mut probability = if certain { 1.0 } else { libm::pow(1.0 - share, links) };
        (if certain { self.links } else { 0 }..=self.links).map(move |corrupting| {
            let here = probability;
            let number = f64::from(corrupting + 1);
            probability *= (links - number + 1.0) / number * share / (1.0 - share);
            (corrupting, here)
        })
    }

    /// Probability that all of `count` frames of this length are lost where so many links corrupt.
    pub(crate) fn loss_at(&self, corrupting: u32, bytes: u32, count: u32) -> f64 {
        let one = -libm::expm1(f64::from(corrupting) * self.log_survival(bytes));
        libm::pow(one, f64::from(count))
    }

    /// Logarithm of the probability that a corrupting link leaves a frame of this length alone.
    fn log_survival(&self, bytes: u32) -> f64 {
        f64::from(bytes) * BITS_PER_BYTE * libm::log1p(-self.bit_error_rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand: a bit in a thousand, frames of a byte and of two, on one link.
    #[test]
    fn a_frame_is_lost_if_any_bit_is() {
        let path = Path { links: 1, corrupting: 1.0, bit_error_rate: 1e-3 };
        assert!((path.loss(1) - (1.0 - 0.999_f64.powi(8))).abs() < 1e-15);
        let both = path.all_lost(&[(1, 1), (2, 1)]);
        assert!((both - (1.0 - 0.999_f64.powi(8)) * (1.0 - 0.999_f64.powi(16))).abs() < 1e-15);
    }

    /// Two links, each of which corrupts with probability a quarter.
    #[test]
    fn one_loss_makes_another_likelier_where_few_links_corrupt() {
        let path = Path { links: 2, corrupting: 0.25, bit_error_rate: 1e-3 };
        let (one, two) = (1.0 - 0.999_f64.powi(80), 1.0 - 0.999_f64.powi(160));
        let expected = 2.0 * 0.25 * 0.75 * one * one + 0.25 * 0.25 * two * two;
        assert!((path.all_lost(&[(10, 2)]) / expected - 1.0).abs() < 1e-12);
        assert!(path.all_lost(&[(10, 2)]) > 2.0 * path.loss(10) * path.loss(10));
        let theorem_3 = 1.0 - (1.0 - 0.25 * one).powi(2);
        assert!((path.loss(10) / theorem_3 - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_rate_of_a_packet_gives_back_the_rate_of_its_bits(
            loss in 1e-9..0.5, bytes in 1_u32..9_000, links in 1_u32..10, corrupting in 0.01..1.0
        ) {
            let path = Path::losing(links, corrupting, loss, bytes);
            prop_assert!((path.link_loss(bytes) / loss - 1.0).abs() < 1e-9);
            let theorem_3 = -libm::expm1(f64::from(links) * libm::log1p(-corrupting * loss));
            prop_assert!((path.loss(bytes) / theorem_3 - 1.0).abs() < 1e-9);
            prop_assert!((path.expected(|_| 1.0) - 1.0).abs() < 1e-9);
        }
    }
}
