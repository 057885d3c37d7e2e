//! Converts values to positions: linear, logarithmic and tail scales, with their ticks.

#![expect(
    clippy::disallowed_methods,
    reason = "a drawing is rounded to tenths of a pixel, far above the last digit"
)]

use crate::quantity::{exponent_of, power_of_ten};

/// Values beyond this are drawn at it; sums and differences below stay finite.
const LARGEST: f64 = 1e300;
/// Positive values below this count as zero on a linear scale and as this on a logarithmic one.
const SMALLEST: f64 = 1e-300;
/// The largest number of major ticks of an axis.
const MAX_TICKS: usize = 24;
/// The end of the tail scale: more nines than any run has samples for.
const MAX_NINES: f64 = 12.0;
/// A tail scale with fewer nines than this has ticks between them.
const FEW_NINES: f64 = 2.0;
/// A logarithmic scale whose ends have a smaller ratio has the ticks of a linear one.
const NARROW: f64 = 4.0;

/// How distance along an axis relates to value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// Equal steps for equal differences.
    #[default]
    Linear,
    /// Equal steps for equal ratios.
    Logarithmic,
    /// Equal steps for each further nine of a fraction: 0, 0.9, 0.99, 0.999.
    Tail,
}

/// A spacing and the values at its two ends, `low < high` after the transformation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    spacing: Spacing,
    low: f64,
    high: f64,
    /// Distance of two linear ticks; unused otherwise.
    step: f64,
}

impl Scale {
    /// A scale that holds every finite value of `low..=high`, rounded outwards to its ticks unless an end is fixed.
    /// Ends that are reversed, equal, infinite or not a number are replaced by something drawable.
    pub fn new(spacing: Spacing, low: f64, high: f64, fixed: (bool, bool), ticks: usize) -> Scale {
        match spacing {
            Spacing::Linear => Scale::linear(low, high, fixed, ticks),
            Spacing::Logarithmic => Scale::logarithmic(low, high, fixed),
            Spacing::Tail => Scale::tail(low, high),
        }
    }

    fn linear(low: f64, high: f64, fixed: (bool, bool), ticks: usize) -> Scale {
        let (mut low, mut high) = ordered(drawable(low), drawable(high), 0.0, 1.0);
        let magnitude = low.abs().max(high.abs());
        if magnitude == 0.0 {
            (low, high) = (0.0, 1.0);
        } else if high - low <= magnitude * 1e-9 {
            // Equal values are centred in a range of their own size.
            let pad = magnitude * 0.1;
            (low, high) = if low == 0.0 { (0.0, pad) } else { (low - pad, high + pad) };
        }
        let step = nice_step((high - low) / ticks.clamp(1, MAX_TICKS) as f64);
        if !fixed.0 {
            low = (low / step + 1e-9).floor() * step;
        }
        if !fixed.1 {
            high = (high / step - 1e-9).ceil() * step;
        }
        Scale { spacing: Spacing::Linear, low, high, step }
    }

    fn logarithmic(low: f64, high: f64, fixed: (bool, bool)) -> Scale {
        let positive = |value: f64| if value > 0.0 { value.clamp(SMALLEST, LARGEST) } else { f64::NAN };
        let (mut low, mut high) = ordered(positive(low), positive(high), 1.0, 10.0);
        if high / low < 1.01 {
            (low, high) = (low / 2.0, high * 2.0);
        }
        let whole_decades = high / low > 50.0;
        if !fixed.0 {
            low = round_log(low, whole_decades, false);
        }
        if !fixed.1 {
            high = round_log(high, whole_decades, true);
        }
        Scale { spacing: Spacing::Logarithmic, low, high, step: 1.0 }
    }

    fn tail(low: f64, high: f64) -> Scale {
        let fraction = |value: f64| if value.is_nan() { f64::NAN } else { value.clamp(0.0, 1.0 - 1e-12) };
        let (low, mut high) = ordered(fraction(low), fraction(high), 0.0, 0.99);
        // Leave room for one more nine above.
        let low = low.min(1.0 - 1e-10);
        if nines(high) - nines(low) < 0.3 {
            high = 1.0 - (1.0 - low) / 10.0;
        }
        Scale { spacing: Spacing::Tail, low, high, step: 1.0 }
    }

    /// Where `value` stands between the low end (0) and the high end (1). Values off the scale stand a little outside;
    /// `None` for what has no place, such as zero on a logarithmic scale.
    pub fn position(&self, value: f64) -> Option<f64> {
        let (value, low, high) =
            (self.transform(value)?, self.transform(self.low)?, self.transform(self.high)?);
        let position = (value - low) / (high - low);
        position.is_finite().then(|| position.clamp(-2.0, 3.0))
    }

    /// The value at the high end.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// The larger magnitude of the two ends.
    pub fn magnitude(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Distance of two linear ticks.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Kind of the scale.
    pub fn spacing(&self) -> Spacing {
        self.spacing
    }

    /// Values to label, ascending, about as many as requested.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        match self.spacing {
            Spacing::Linear => self.linear_ticks(),
            Spacing::Logarithmic => self.logarithmic_ticks(wanted.clamp(2, MAX_TICKS)),
            Spacing::Tail => self.tail_ticks(),
        }
    }

    /// Values for faint lines between the ticks.
    pub fn minor_ticks(&self) -> Vec<f64> {
        let decades = self.decades();
        if self.spacing != Spacing::Logarithmic || decades.1 - decades.0 > 8 {
            return Vec::new();
        }
        let (first, last) = decades;
        let mantissas = |exponent| (2..=9).map(move |digit| f64::from(digit) * power_of_ten(exponent));
        (first..=last).flat_map(mantissas).filter(|value| self.contains(*value)).collect()
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let first = (self.low / self.step - 1e-9).ceil();
        let tick = |index: usize| {
            let value = (first + index as f64) * self.step;
            // 3 × 0.1 is not 0.3; the label should not show it.
            format!("{value:.12e}").parse().unwrap_or(value)
        };
        let end = self.high + self.step * 1e-6;
        (0..=MAX_TICKS * 2).map(tick).take_while(|value| *value <= end).collect()
    }

    fn logarithmic_ticks(&self, wanted: usize) -> Vec<f64> {
        if self.high / self.low < NARROW {
            let even = Scale { step: nice_step((self.high - self.low) / wanted as f64), ..self.clone() };
            return even.linear_ticks().into_iter().filter(|value| self.contains(*value)).collect();
        }
        let (first, last) = self.decades();
        let mantissas: &[f64] = match last - first {
            ..=1 => &[1.0, 2.0, 3.0, 5.0, 7.0],
            2 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let stride = usize::try_from(last - first).unwrap_or(0) / wanted + 1;
        (first..=last)
            .filter(|exponent| exponent.rem_euclid(stride as i32) == 0)
            .flat_map(|exponent| mantissas.iter().map(move |mantissa| mantissa * power_of_ten(exponent)))
            .filter(|value| self.contains(*value))
            .collect()
    }

    fn tail_ticks(&self) -> Vec<f64> {
        // A scale with few nines is labelled between them as well: 95, 98.
        let few = nines(self.high) - nines(self.low) < FEW_NINES;
        let above: &[f64] = if few { &[1.0, 0.5, 0.2] } else { &[1.0] };
        let of_nine = |count: i32| above.iter().map(move |above| 1.0 - above * power_of_ten(-count));
        let fractions = [0.0, 0.5].into_iter().chain((1..=MAX_NINES as i32).flat_map(of_nine));
        fractions.filter(|fraction| self.contains(*fraction)).collect()
    }

    /// Exponents of the decades that the scale touches.
    fn decades(&self) -> (i32, i32) {
        (exponent_of(self.low), exponent_of(self.high))
    }

    fn contains(&self, value: f64) -> bool {
        self.position(value).is_some_and(|position| (-1e-6..=1.0 + 1e-6).contains(&position))
    }

    fn transform(&self, value: f64) -> Option<f64> {
        match self.spacing {
            Spacing::Linear if value.is_nan() => None,
            Spacing::Linear => Some(drawable(value)),
            Spacing::Logarithmic if value > 0.0 => Some(value.clamp(SMALLEST, LARGEST).log10()),
            Spacing::Logarithmic => None,
            Spacing::Tail if value.is_nan() => None,
            Spacing::Tail => Some(nines(value)),
        }
    }
}

/// Number of nines of a fraction: 3 for 0.999.
fn nines(fraction: f64) -> f64 {
    (-(1.0 - fraction.clamp(0.0, 1.0)).log10()).clamp(0.0, MAX_NINES)
}

fn drawable(value: f64) -> f64 {
    let value = value.clamp(-LARGEST, LARGEST);
    if value.abs() < SMALLEST { 0.0 } else { value }
}

/// Orders the two values; a missing one is derived from the other or from the defaults.
fn ordered(low: f64, high: f64, default_low: f64, default_high: f64) -> (f64, f64) {
    match (low.is_nan(), high.is_nan()) {
        (true, true) => (default_low, default_high),
        (true, false) => (high, high),
        (false, true) => (low, low),
        (false, false) => (low.min(high), low.max(high)),
    }
}

/// 1, 2 or 5 times a power of ten, at least `raw`.
fn nice_step(raw: f64) -> f64 {
    let base = power_of_ten(exponent_of(raw));
    let candidates = [1.0, 2.0, 5.0, 10.0];
    candidates.iter().map(|factor| factor * base).find(|step| *step >= raw * (1.0 - 1e-9)).unwrap_or(raw)
}

/// The next decade, or the next 1, 2 or 5 of one, outwards.
fn round_log(value: f64, whole_decades: bool, up: bool) -> f64 {
    let base = power_of_ten(exponent_of(value));
    let mantissas: &[f64] = if whole_decades { &[1.0, 10.0] } else { &[1.0, 2.0, 5.0, 10.0] };
    let stops = mantissas.iter().map(|mantissa| mantissa * base);
    let rounded = if up {
        stops.into_iter().find(|stop| *stop >= value * (1.0 - 1e-9))
    } else {
        stops.into_iter().rfind(|stop| *stop <= value * (1.0 + 1e-9))
    };
    rounded.unwrap_or(value).clamp(SMALLEST, LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(spacing: Spacing, low: f64, high: f64) -> Scale {
        Scale::new(spacing, low, high, (false, false), 5)
    }

    #[test]
    fn linear_ends_on_ticks() {
        assert_eq!(scale(Spacing::Linear, 0.0, 9.4).ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(scale(Spacing::Linear, 0.0, 0.3).ticks(5), [0.0, 0.1, 0.2, 0.3]);
        assert_eq!(scale(Spacing::Linear, -3.0, 3.0).ticks(5), [-4.0, -2.0, 0.0, 2.0, 4.0]);
    }

    #[test]
    fn logarithmic_ticks_are_decades_or_their_parts() {
        assert_eq!(scale(Spacing::Logarithmic, 2e-6, 5e-3).ticks(5), [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]);
        assert_eq!(scale(Spacing::Logarithmic, 1.2, 4.0).ticks(5), [1.0, 2.0, 3.0, 5.0]);
        assert!(scale(Spacing::Logarithmic, 1e-200, 1e200).ticks(6).len() <= 8);
    }

    #[test]
    fn tail_ticks_are_nines() {
        assert_eq!(scale(Spacing::Tail, 0.9, 0.9999).ticks(5).len(), 4);
        assert_eq!(scale(Spacing::Tail, 0.0, 0.9999).ticks(5), [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999]);
    }

    #[test]
    fn a_tail_with_few_nines_and_a_narrow_logarithmic_axis_have_ticks_between() {
        let labelled = |ticks: Vec<f64>| ticks.iter().map(|tick| format!("{tick:.3}")).collect::<Vec<_>>();
        let tail = scale(Spacing::Tail, 0.95, 0.995).ticks(5);
        assert_eq!(labelled(tail), ["0.950", "0.980", "0.990", "0.995"]);
        let narrow = scale(Spacing::Logarithmic, 100.0, 200.0).ticks(5);
        assert_eq!(labelled(narrow), ["100.000", "120.000", "140.000", "160.000", "180.000", "200.000"]);
    }

    #[test]
    fn degenerate_ranges_stay_drawable() {
        let values =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MIN_POSITIVE, f64::MAX, 1.0, 5e-324];
        for spacing in [Spacing::Linear, Spacing::Logarithmic, Spacing::Tail] {
            for low in values {
                for high in values {
                    for fixed in [(false, false), (true, true)] {
                        let scale = Scale::new(spacing, low, high, fixed, 5);
                        let ticks = scale.ticks(5);
                        assert!(
                            !ticks.is_empty() && ticks.len() <= 50,
                            "{spacing:?} {low} {high}: {ticks:?}"
                        );
                        assert!(scale.position(scale.low).is_some(), "{spacing:?} {low} {high}");
                    }
                }
            }
        }
    }
}
