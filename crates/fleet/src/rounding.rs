//! Shares of whole numbers, rounded up.

/// The smallest number of members that make up at least a share, from 0 to 1, of `whole`.
///
/// For example, 55 % of 100 is 55, although 0.55 times 100 is a little more than 55 in floating point.
pub fn share_of(whole: u64, share: f64) -> u64 {
    let members = (whole as f64 * share).ceil() as u64;
    if members > 0 && (members - 1) as f64 / whole as f64 >= share { members - 1 } else { members }
}
