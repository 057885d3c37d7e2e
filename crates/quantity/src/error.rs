//! What can be wrong with a quantity.

/// Why a text is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// A bare number.
    #[error("`{text}` has no unit; a {kind} is written like `{text}{example}`, with one of {units}")]
    NoUnit {
        /// What was written.
        text: String,
        /// What it should be, such as a size.
        kind: &'static str,
        /// A unit that would do.
        example: &'static str,
        units: String,
    },
    /// A unit that does not exist or does not belong here.
    #[error("`{text}`: there is no unit `{unit}` for a {kind}; use one of {units}")]
    UnknownUnit {
        /// What was written.
        text: String,
        unit: String,
        /// What it should be.
        kind: &'static str,
        units: String,
    },
    /// Not a number at all.
    #[error("`{text}` is not a {kind}; write a number and its unit, like `{example}`")]
    NotANumber {
        /// What was written.
        text: String,
        /// What it should be.
        kind: &'static str,
        example: &'static str,
    },
    /// Less than one base unit, or more than the type can hold.
    #[error("`{text}` is out of range for a {kind}")]
    OutOfRange {
        /// What was written.
        text: String,
        /// What it should be.
        kind: &'static str,
    },
    /// Not a share of one, whatever was written.
    #[error("not a share from 0% to 100%; it is written like 75% or 0.75")]
    NotAShare,
    /// Not a share of one.
    #[error("`{text}` is not a loss rate; write a number from 0 to 1 or a percentage, like `1e-3` or `0.1%`")]
    NotALossRate {
        /// What was written.
        text: String,
    },
}
