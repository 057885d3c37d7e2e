//! Speeds as people and other tools write them.

use linkmend_quantity::BitRate;

/// `100G`, `100 Gbps`, `2.5Gbit/s`, `40GbE`, `10GE`: a number with a unit. `None` for everything else, also for a number
/// alone, whose unit nobody knows.
pub(super) fn parse(text: &str) -> Option<BitRate> {
    let text: String = text.trim().chars().filter(|c| !c.is_whitespace()).collect();
    let end = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(end);
    let unit = unit.to_ascii_lowercase();
    let endings = ["bit/s", "bits/s", "bps", "b/s", "be", "e", "b", "ige", "bit", "bits", "base", ""];
    let exponent = match &unit[..1] {
        "k" => 3,
        "m" => 6,
        "g" => 9,
        "t" => 12,
        _ if unit == "bps" || unit == "bit/s" => 0,
        _ => return None,
    };
    let has_prefix = exponent > 0;
    if has_prefix && !endings.contains(&&unit[1..]) {
        return None;
    }
    scaled(number, 10_f64.powi(exponent))
}

/// A number of a unit that its place says: megabits, for SONiC.
pub(super) fn scaled(number: &str, unit: f64) -> Option<BitRate> {
    let number: f64 = number.trim().parse().ok()?;
    let rate = number * unit;
    // Values above the limit of a link are refused with the link's name.
    (rate.is_finite() && (1.0..1e18).contains(&rate)).then_some(BitRate(rate as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_have_units() {
        for (text, expected) in [
            ("100G", Some(100_000_000_000)),
            ("100 Gbps", Some(100_000_000_000)),
            ("2.5Gbit/s", Some(2_500_000_000)),
            ("40GbE", Some(40_000_000_000)),
            ("10GE", Some(10_000_000_000)),
            ("155 Mbps", Some(155_000_000)),
            ("9600bps", Some(9600)),
            ("100", None),
            ("fast", None),
            ("10-20Gbps", None),
            ("1mile", None),
            ("inf G", None),
            ("-1G", None),
        ] {
            assert_eq!(parse(text).map(|rate| rate.0), expected, "{text}");
        }
    }
}
