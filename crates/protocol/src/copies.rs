//! The number of copies to retransmit: Equations 1 and 2 (section 3.4).

/// Maximum number of copies of a lost frame. Beyond it, more copies no longer help a link that loses almost everything.
pub const COPIES_MAX: u8 = 16;

/// How the number of copies is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Copies {
    /// Always this number, 1 to 16.
    Fixed(u8),
    /// By Equation 2, with the loss rate that the link end measures, or `initial_loss` before the first measurement.
    Target {
        /// Effective loss rate to stay below.
        target_loss: f64,
        /// Actual loss rate assumed before the first measurement.
        initial_loss: f64,
    },
}

impl Copies {
    /// The number of copies, given the measured actual loss rate if there is one.
    pub fn number(self, measured_loss: Option<f64>) -> u8 {
        match self {
            Copies::Fixed(copies) => copies.clamp(1, COPIES_MAX),
            Copies::Target { target_loss, initial_loss } => {
                copies_for(measured_loss.unwrap_or(initial_loss), target_loss)
            }
        }
    }
}

/// Equation 2: the smallest N with `actual^(N+1) <= target`, at least 1, at most 16. It is found by Equation 1 with
/// repeated multiplication, because the rounding of a logarithm would get exact powers of ten wrong.
pub fn copies_for(actual_loss: f64, target_loss: f64) -> u8 {
    // Loss rates are given with a few digits; 1e-4 squared must count as meeting 1e-8.
    let target = target_loss * (1.0 + 1e-9);
    (1..COPIES_MAX).find(|&copies| effective_loss(actual_loss, copies) <= target).unwrap_or(COPIES_MAX)
}

/// Equation 1: the loss rate that remains when `copies` copies are retransmitted once, with independent losses.
pub fn effective_loss(actual_loss: f64, copies: u8) -> f64 {
    (0..copies).fold(actual_loss, |product, _| product * actual_loss)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_copies_is_the_papers() {
        // Section 4.1 and `copies_for_loss_rate`: 1, 1 and 2 copies for a target of 1e-8.
        assert_eq!(copies_for(1e-5, 1e-8), 1);
        assert_eq!(copies_for(1e-4, 1e-8), 1);
        assert_eq!(copies_for(1e-3, 1e-8), 2);
        assert_eq!(copies_for(1e-2, 1e-8), 3);
    }

    #[test]
    fn hopeless_links_get_the_most_copies() {
        assert_eq!(copies_for(1.0, 1e-8), COPIES_MAX);
        assert_eq!(copies_for(f64::NAN, 1e-8), COPIES_MAX);
        assert_eq!(copies_for(0.0, 1e-8), 1);
    }

    #[test]
    fn measured_loss_replaces_the_initial() {
        let copies = Copies::Target { target_loss: 1e-8, initial_loss: 1e-2 };
        assert_eq!(copies.number(None), 3);
        assert_eq!(copies.number(Some(1e-4)), 1);
        assert_eq!(Copies::Fixed(0).number(None), 1);
    }

    #[test]
    fn a_fixed_number_is_kept_within_its_bounds() {
        for (asked, given) in [(0, 1), (1, 1), (5, 5), (16, 16), (17, 16), (255, 16)] {
            assert_eq!(Copies::Fixed(asked).number(Some(0.9)), given);
        }
    }

    #[test]
    fn equations_1_and_2_agree() {
        assert_eq!([0, 1, 2, 3].map(|copies| effective_loss(0.5, copies)), [0.5, 0.25, 0.125, 0.0625]);
        // At a loss of one half, each copy halves what is left.
        for copies in 1..=COPIES_MAX {
            let target = effective_loss(0.5, copies);
            assert_eq!(copies_for(0.5, target), copies);
            assert_eq!(copies_for(0.5, target * 0.99), (copies + 1).min(COPIES_MAX));
        }
    }
}
