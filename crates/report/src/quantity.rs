//! Numbers as people read them: `9.42 Gbit/s`, `1.54 kB`, `7.50 µs`, `1.0e-3`, `99.31 %`.
//!
//! Values travel through this crate in base units (bit/s, bytes, seconds, plain ratios); a [`Unit`] says which one a
//! value has, and formatting picks the prefix. A value that is not a number reads `n/a`.

use serde::Serialize;

/// What a number measures. The number itself is in the base unit named by each variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bits per second, shown as bit/s to Tbit/s.
    BitPerSecond,
    /// Bytes, shown with decimal prefixes (1 kB = 1000 B).
    Byte,
    /// Seconds, shown as ns, µs, ms, s, min, h or d.
    Second,
    /// A loss rate between 0 and 1, shown as `1.0e-3`.
    LossRate,
    /// A fraction of one, shown as a percentage.
    Share,
    /// A number of things, shown whole with thousands separators.
    Count,
    /// A bare number, four significant digits.
    #[default]
    Plain,
    /// A bare number with a unit that takes no prefix, such as `"frames"`.
    Other(&'static str),
}

/// A divisor and the symbol of the result, such as 1e9 and `Gbit/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prefix {
    /// Divide a base-unit value by this.
    pub divisor: f64,
    /// Symbol to write after the quotient; empty when there is none.
    pub symbol: &'static str,
}

/// Prefixes of one unit from large to small: the smallest value that uses the prefix, its divisor, its symbol.
type PrefixTable = &'static [(f64, f64, &'static str)];

const RATE_PREFIXES: PrefixTable = &[
    (1e12, 1e12, "Tbit/s"),
    (1e9, 1e9, "Gbit/s"),
    (1e6, 1e6, "Mbit/s"),
    (1e3, 1e3, "kbit/s"),
    (0.0, 1.0, "bit/s"),
];
const BYTE_PREFIXES: PrefixTable =
    &[(1e12, 1e12, "TB"), (1e9, 1e9, "GB"), (1e6, 1e6, "MB"), (1e3, 1e3, "kB"), (0.0, 1.0, "B")];
/// Minutes, hours and days start late, because people say "90 s" and "36 h".
const TIME_PREFIXES: PrefixTable = &[
    (172_800.0, 86_400.0, "d"),
    (7_200.0, 3_600.0, "h"),
    (600.0, 60.0, "min"),
    (1.0, 1.0, "s"),
    (1e-3, 1e-3, "ms"),
    (1e-6, 1e-6, "µs"),
    (0.0, 1e-9, "ns"),
];

/// Text in place of a number that is missing or not a number.
pub const NOT_AVAILABLE: &str = "n/a";

impl Unit {
    /// The value with its unit, for tables and prose.
    pub fn format(self, value: f64) -> String {
        if let Some(text) = special(value) {
            return text.to_owned();
        }
        match self {
            Unit::BitPerSecond | Unit::Byte | Unit::Second => self.format_prefixed(value),
            Unit::LossRate => format_loss_rate(value),
            Unit::Share => format_share(value),
            Unit::Count => format_count(value),
            Unit::Plain => trim_zeros(&significant(value, 4)),
            Unit::Other(symbol) => format!("{} {symbol}", trim_zeros(&significant(value, 4))),
        }
    }

    /// The unit of the stored number, for CSV headings and JSON; empty when the number has none.
    pub fn base_symbol(self) -> &'static str {
        match self {
            Unit::BitPerSecond => "bit/s",
            Unit::Byte => "B",
            Unit::Second => "s",
            Unit::LossRate | Unit::Share | Unit::Count | Unit::Plain => "",
            Unit::Other(symbol) => symbol,
        }
    }

    /// The prefix that suits values up to `largest` in magnitude, for the one unit of an axis.
    pub(crate) fn prefix_for(self, largest: f64) -> Prefix {
        match self.prefix_table() {
            Some(table) => pick(table, largest),
            None if self == Unit::Share => Prefix { divisor: 0.01, symbol: "%" },
            None => Prefix { divisor: 1.0, symbol: self.base_symbol() },
        }
    }

    /// The value without its unit, for a place where an axis with this prefix gives it.
    #[cfg(any(feature = "html", test))]
    pub(crate) fn bare(self, value: f64, prefix: Prefix) -> String {
        if let Some(text) = special(value) {
            return text.to_owned();
        }
        match self.prefix_table() {
            Some(_) => significant(value / prefix.divisor, 3),
            None => self.format(value).split(' ').next().unwrap_or_default().to_owned(),
        }
    }

    /// A short label for a tick of a logarithmic axis, where each tick may need its own prefix.
    #[cfg(any(feature = "html", test))]
    pub(crate) fn tick(self, value: f64) -> String {
        if let Some(text) = special(value) {
            return text.to_owned();
        }
        match self.prefix_table() {
            Some(_) if value != 0.0 && (1e-12..1e16).contains(&value.abs()) => {
                let prefix = self.prefix_for(round_significant(value, 3).abs());
                format!("{} {}", trim_zeros(&significant(value / prefix.divisor, 3)), prefix.symbol)
            }
            _ if self == Unit::Share && value.abs() >= 1e-4 => {
                format!("{} %", trim_zeros(&significant(value * 100.0, 3)))
            }
            _ if self == Unit::LossRate => power_label(value),
            _ if (1e-2..1e5).contains(&value.abs()) => trim_zeros(&significant(value, 3)),
            _ => power_label(value),
        }
    }

    fn prefix_table(self) -> Option<PrefixTable> {
        match self {
            Unit::BitPerSecond => Some(RATE_PREFIXES),
            Unit::Byte => Some(BYTE_PREFIXES),
            Unit::Second => Some(TIME_PREFIXES),
            _ => None,
        }
    }

    fn format_prefixed(self, value: f64) -> String {
        if value == 0.0 {
            return format!("0 {}", self.base_symbol());
        }
        // Round before picking the prefix: 999.9996 kbit/s is 1.00 Mbit/s, not 1000 kbit/s.
        let prefix = self.prefix_for(round_significant(value, 3).abs());
        let digits = significant(value / prefix.divisor, 3);
        let whole_bytes = self == Unit::Byte && prefix.divisor == 1.0 && value.fract() == 0.0;
        let digits = if whole_bytes { trim_zeros(&digits) } else { digits };
        format!("{digits} {}", prefix.symbol)
    }
}

/// A rate in bits per second: `9.42 Gbit/s`.
pub fn rate(bits_per_second: f64) -> String {
    Unit::BitPerSecond.format(bits_per_second)
}

/// A size in bytes: `1.54 kB`.
pub fn bytes(bytes: f64) -> String {
    Unit::Byte.format(bytes)
}

/// A duration in seconds: `7.50 µs`.
pub fn duration(seconds: f64) -> String {
    Unit::Second.format(seconds)
}

/// A loss rate between 0 and 1: `1.0e-3`.
pub fn loss_rate(ratio: f64) -> String {
    Unit::LossRate.format(ratio)
}

/// A fraction of one as a percentage: 0.9931 reads `99.31 %`.
pub fn percent(fraction: f64) -> String {
    Unit::Share.format(fraction)
}

/// A number of things: `31,000,000`.
pub fn count(number: f64) -> String {
    Unit::Count.format(number)
}

/// The power of ten with this exponent, correctly rounded, unlike `powi` on every platform.
#[cfg(any(feature = "html", test))]
pub(crate) fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(if exponent < 0 { 0.0 } else { f64::MAX })
}

/// The decimal exponent of a finite value other than zero: 2 for 345.6.
pub(crate) fn exponent_of(value: f64) -> i32 {
    let text = format!("{value:e}");
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

/// `text` without the zeros that end its fraction: `1.50` becomes `1.5`, `2.00` becomes `2`.
pub(crate) fn trim_zeros(text: &str) -> String {
    if !text.contains('.') || text.contains('e') {
        return text.to_owned();
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn pick(table: PrefixTable, magnitude: f64) -> Prefix {
    let last = table[table.len() - 1];
    let (_, divisor, symbol) = table.iter().copied().find(|(from, ..)| magnitude >= *from).unwrap_or(last);
    Prefix { divisor, symbol }
}

fn special(value: f64) -> Option<&'static str> {
    match value {
        v if v.is_nan() => Some(NOT_AVAILABLE),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

fn round_significant(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// Fixed notation with at least this many significant digits, or scientific notation if fixed would be long.
fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let rounded = round_significant(value, digits);
    let exponent = exponent_of(rounded);
    if !(-4..=8).contains(&exponent) {
        return format!("{value:.*e}", digits - 1);
    }
    // Digits before the point are never rounded away: 123456 is not 123500.
    let decimals = digits as i32 - 1 - exponent;
    if decimals < 0 { format!("{value:.0}") } else { format!("{rounded:.*}", decimals as usize) }
}

fn format_loss_rate(ratio: f64) -> String {
    match ratio.abs() {
        0.0 => "0".to_owned(),
        0.1..=1.0 => trim_zeros(&format!("{ratio:.3}")),
        _ => format!("{ratio:.1e}"),
    }
}

fn format_share(fraction: f64) -> String {
    let percent = fraction * 100.0;
    if percent == 0.0 {
        return "0 %".to_owned();
    }
    if percent.abs() < 0.01 || percent.abs() >= 1e6 {
        return format!("{} %", significant(percent, 2));
    }
    // "100 %" must mean all of it: give 99.9999 % the decimals it needs.
    let mut text = format!("{percent:.2}");
    for decimals in 3..=9 {
        if !(text.starts_with("100.0") && fraction < 1.0) {
            break;
        }
        text = format!("{percent:.decimals$}");
    }
    format!("{text} %")
}

fn format_count(number: f64) -> String {
    if number.abs() >= 1e15 {
        return format!("{number:.2e}");
    }
    let text = if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.1}") };
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

/// `10⁻³`, `2×10⁻³`, or the number itself where that is as short.
#[cfg(any(feature = "html", test))]
fn power_label(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let rounded = round_significant(value, 2);
    let exponent = exponent_of(rounded);
    if (0..=2).contains(&exponent) {
        return trim_zeros(&significant(rounded, 2));
    }
    let digits: String = exponent.to_string().chars().map(superscript).collect();
    let mantissa = trim_zeros(&format!("{:.1}", rounded / power_of_ten(exponent)));
    match mantissa.as_str() {
        "1" => format!("10{digits}"),
        _ => format!("{mantissa}×10{digits}"),
    }
}

#[cfg(any(feature = "html", test))]
fn superscript(digit: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_take_the_prefix_that_fits() {
        let cases = [
            (0.0, "0 bit/s"),
            (0.25, "0.250 bit/s"),
            (1.0, "1.00 bit/s"),
            (56_000.0, "56.0 kbit/s"),
            (999_999.6, "1.00 Mbit/s"),
            (9.4163e9, "9.42 Gbit/s"),
            (1e11, "100 Gbit/s"),
            (4e14, "400 Tbit/s"),
            (-2.5e6, "-2.50 Mbit/s"),
        ];
        for (value, text) in cases {
            assert_eq!(rate(value), text);
        }
    }

    #[test]
    fn bytes_are_whole_below_a_kilobyte() {
        let cases = [(0.0, "0 B"), (512.0, "512 B"), (0.5, "0.500 B"), (1538.0, "1.54 kB"), (2e6, "2.00 MB")];
        for (value, text) in cases {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn durations_go_from_nanoseconds_to_days() {
        let cases = [
            (0.0, "0 s"),
            (4e-10, "0.400 ns"),
            (1.2e-7, "120 ns"),
            (7.5e-6, "7.50 µs"),
            (1e-3, "1.00 ms"),
            (90.0, "90.0 s"),
            (1800.0, "30.0 min"),
            (36.0 * 3600.0, "36.0 h"),
            (365.0 * 86_400.0, "365 d"),
        ];
        for (value, text) in cases {
            assert_eq!(duration(value), text);
        }
    }

    #[test]
    fn loss_rates_are_scientific_unless_large() {
        let cases = [
            (0.0, "0"),
            (1e-3, "1.0e-3"),
            (9.97e-4, "1.0e-3"),
            (1.3e-9, "1.3e-9"),
            (0.25, "0.25"),
            (1.0, "1"),
        ];
        for (value, text) in cases {
            assert_eq!(loss_rate(value), text);
        }
    }

    #[test]
    fn a_hundred_percent_means_all() {
        let cases = [
            (0.0, "0 %"),
            (0.9931, "99.31 %"),
            (1.0, "100.00 %"),
            (0.999_999, "99.9999 %"),
            (1.6e-5, "0.0016 %"),
            (1.25, "125.00 %"),
        ];
        for (value, text) in cases {
            assert_eq!(percent(value), text);
        }
    }

    #[test]
    fn counts_have_separators() {
        let cases =
            [(0.0, "0"), (999.0, "999"), (31e6, "31,000,000"), (-1234.5, "-1,234.5"), (1e15, "1.00e15")];
        for (value, text) in cases {
            assert_eq!(count(value), text);
        }
    }

    #[test]
    fn other_units_follow_the_number() {
        assert_eq!(Unit::Other("frames").format(17.0), "17 frames");
        assert_eq!(Unit::Plain.format(1.23456), "1.235");
        assert_eq!(Unit::Plain.format(123_456.0), "123456");
    }

    #[test]
    fn numbers_that_are_none_say_so() {
        for unit in [Unit::BitPerSecond, Unit::Byte, Unit::Second, Unit::LossRate, Unit::Share, Unit::Count] {
            assert_eq!(unit.format(f64::NAN), "n/a");
            assert_eq!(unit.format(f64::INFINITY), "∞");
            assert_eq!(unit.format(f64::NEG_INFINITY), "-∞");
            assert_eq!(unit.tick(f64::NAN), "n/a");
        }
    }

    #[test]
    fn bare_values_keep_the_prefix_of_their_axis() {
        let axis = Unit::BitPerSecond.prefix_for(9.4e9);
        assert_eq!(Unit::BitPerSecond.bare(7.78e8, axis), "0.778");
        assert_eq!(Unit::Share.bare(0.9931, Unit::Share.prefix_for(1.0)), "99.31");
        assert_eq!(Unit::Count.bare(31e6, Unit::Count.prefix_for(31e6)), "31,000,000");
    }

    #[test]
    fn ticks_are_short() {
        let cases = [
            (Unit::Second, 1e-5, "10 µs"),
            (Unit::LossRate, 1e-3, "10⁻³"),
            (Unit::LossRate, 2e-3, "2×10⁻³"),
            (Unit::Plain, 1e6, "10⁶"),
            (Unit::Plain, 200.0, "200"),
            (Unit::Share, 0.1, "10 %"),
            (Unit::BitPerSecond, 1e300, "10³⁰⁰"),
        ];
        for (unit, value, text) in cases {
            assert_eq!(unit.tick(value), text);
        }
    }
}
