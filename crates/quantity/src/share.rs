//! Shares of one.

use crate::QuantityError;
use std::str::FromStr;

/// A share of a whole, 0 to 1: `75%`, `0.75`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Share, QuantityError> {
        let share = number_or_percentage(text).filter(|share| (0.0..=1.0).contains(share));
        share.map(Share).ok_or(QuantityError::NotAShare)
    }
}

/// A number as it is, a percentage as a share of one.
pub(crate) fn number_or_percentage(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, divisor) = match text.strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text, 1.0),
    };
    number.parse::<f64>().ok().map(|value| value / divisor)
}
