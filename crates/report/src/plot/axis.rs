//! An axis as the caller describes it, and as it is drawn.

use super::scale::{Scale, Spacing};
use crate::quantity::{Prefix, Unit, exponent_of, trim_zeros};

/// What an axis measures and how it is spaced. Its range follows the data unless given.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    label: String,
    unit: Unit,
    spacing: Spacing,
    with_zero: bool,
    from: Option<f64>,
    to: Option<f64>,
}

impl Axis {
    /// A linear axis for values in the base unit of `unit`.
    pub fn new(label: impl Into<String>, unit: Unit) -> Self {
        let (spacing, with_zero, from, to) = (Spacing::Linear, false, None, None);
        Axis { label: label.into(), unit, spacing, with_zero, from, to }
    }

    /// Spaces the axis logarithmically; values of zero and below are then not drawn.
    #[must_use]
    pub fn log(mut self) -> Self {
        self.spacing = Spacing::Logarithmic;
        self
    }

    /// Makes the range include zero (linear axes only).
    #[must_use]
    pub fn with_zero(mut self) -> Self {
        self.with_zero = true;
        self
    }

    /// Fixes the low end.
    #[must_use]
    pub fn from(mut self, low: f64) -> Self {
        self.from = Some(low);
        self
    }

    /// Fixes the high end.
    #[must_use]
    pub fn to(mut self, high: f64) -> Self {
        self.to = Some(high);
        self
    }

    /// Sets the ends that the caller left open.
    pub(crate) fn default_range(mut self, low: f64, high: f64) -> Self {
        self.from = self.from.or(low.is_finite().then_some(low));
        self.to = self.to.or(high.is_finite().then_some(high));
        self
    }

    pub(crate) fn tail(label: impl Into<String>, from: f64, to: f64) -> Self {
        let mut axis = Axis::new(label, Unit::Share).from(from).to(to);
        axis.spacing = Spacing::Tail;
        axis
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn unit(&self) -> Unit {
        self.unit
    }

    pub(crate) fn is_log(&self) -> bool {
        self.spacing == Spacing::Logarithmic
    }

    /// Fits the axis to the values it has to show.
    pub(crate) fn resolve(&self, values: impl IntoIterator<Item = f64>, ticks: usize) -> ResolvedAxis {
        let usable = |value: &f64| value.is_finite() && (!self.is_log() || *value > 0.0);
        let (mut low, mut high) = (f64::NAN, f64::NAN);
        for value in values.into_iter().filter(usable) {
            (low, high) = (low.min(value), high.max(value));
        }
        if self.with_zero && !self.is_log() {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        let span = (high - low).ceil();
        // Between whole numbers there is nothing to label.
        let ticks = if self.unit == Unit::Count && span >= 1.0 { ticks.min(span as usize) } else { ticks };
        let usable_end = |end: Option<f64>| end.filter(usable);
        let (from, to) = (usable_end(self.from), usable_end(self.to));
        // A fixed end beyond all data leaves nothing for the other end to follow.
        low = from.unwrap_or_else(|| to.map_or(low, |to| low.min(to)));
        high = to.unwrap_or_else(|| from.map_or(high, |from| high.max(from)));
        let scale = Scale::new(self.spacing, low, high, (from.is_some(), to.is_some()), ticks);
        ResolvedAxis::new(self, scale, ticks)
    }
}

/// An axis with a range, tick labels and a heading.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedAxis {
    pub scale: Scale,
    /// Position in 0..=1 and text of each labelled tick.
    pub ticks: Vec<(f64, String)>,
    /// Positions of the faint lines between.
    pub minor: Vec<f64>,
    /// Label with the unit that the ticks leave out.
    pub heading: String,
    unit: Unit,
    prefix: Prefix,
}

impl ResolvedAxis {
    fn new(axis: &Axis, scale: Scale, wanted: usize) -> Self {
        let prefix = axis.unit.prefix_for(scale.magnitude());
        let text = |value: f64| match scale.spacing() {
            Spacing::Linear => linear_label(value / prefix.divisor, scale.step() / prefix.divisor),
            Spacing::Logarithmic => axis.unit.tick(value),
            Spacing::Tail => tail_label(value),
        };
        let place = |value: f64| scale.position(value).map(|position| (position, text(value)));
        let ticks = scale.ticks(wanted).into_iter().filter_map(place).collect();
        let minor = scale.minor_ticks().into_iter().filter_map(|value| scale.position(value)).collect();
        let unit = match (scale.spacing(), axis.unit) {
            (Spacing::Linear, _) => prefix.symbol,
            (Spacing::Tail, _) => "%",
            (Spacing::Logarithmic, Unit::Other(symbol)) => symbol,
            (Spacing::Logarithmic, _) => "",
        };
        let heading = match (axis.label.as_str(), unit) {
            (label, "") => label.to_owned(),
            ("", unit) => unit.to_owned(),
            (label, unit) => format!("{label} ({unit})"),
        };
        ResolvedAxis { scale, ticks, minor, heading, unit: axis.unit, prefix }
    }

    /// A value as short as the axis allows: in the unit of the heading if there is one, with its own unit otherwise.
    pub fn short(&self, value: f64) -> String {
        match self.scale.spacing() {
            Spacing::Logarithmic => self.unit.tick(value),
            // Beside shares of whole percents, more than hundredths of one are noise.
            Spacing::Linear if self.unit == Unit::Share && self.scale.magnitude() >= 0.01 && value != 0.0 => {
                let text = format!("{:.2}", value * 100.0);
                if text == "-0.00" { "0.00".to_owned() } else { text.replace('-', "−") }
            }
            Spacing::Linear | Spacing::Tail => self.unit.bare(value, self.prefix),
        }
    }
}

/// As many decimals as the step needs.
fn linear_label(value: f64, step: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() >= 1e7 || step.abs() < 1e-6 {
        return format!("{value:.2e}").replace('-', "−");
    }
    let decimals = (-exponent_of(step)).max(0) as usize;
    format!("{value:.decimals$}").replace('-', "−")
}

fn tail_label(fraction: f64) -> String {
    trim_zeros(&format!("{:.10}", fraction * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64]) -> (String, Vec<String>) {
        let resolved = axis.resolve(values.iter().copied(), 5);
        (resolved.heading, resolved.ticks.into_iter().map(|(_, text)| text).collect())
    }

    #[test]
    fn linear_axes_share_one_prefix() {
        let (heading, ticks) = labels(&Axis::new("Goodput", Unit::BitPerSecond).with_zero(), &[9.4e9]);
        assert_eq!(heading, "Goodput (Gbit/s)");
        assert_eq!(ticks, ["0", "2", "4", "6", "8", "10"]);
    }

    #[test]
    fn log_axes_label_each_tick() {
        let (heading, ticks) = labels(&Axis::new("Time", Unit::Second).log(), &[3e-6, 2e-3, 0.0, f64::NAN]);
        assert_eq!(heading, "Time");
        assert_eq!(ticks, ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]);
    }

    #[test]
    fn values_are_as_precise_as_their_axis() {
        let axis = Axis::new("Speed", Unit::Share).resolve([0.0, 0.4], 5);
        let short = [0.3137, 3e-6, -2e-5, -1e-4, 0.0].map(|value| axis.short(value));
        assert_eq!(short, ["31.37", "0.00", "0.00", "−0.01", "0"]);
        let small = Axis::new("Speed", Unit::Share).resolve([0.0, 4e-6], 5);
        assert_eq!(small.short(3e-6), "0.00030");
    }

    #[test]
    fn tail_axes_count_nines() {
        let (heading, ticks) = labels(&Axis::tail("Percentile", 0.9, 0.9999), &[]);
        assert_eq!(heading, "Percentile (%)");
        assert_eq!(ticks, ["90", "99", "99.9", "99.99"]);
    }
}
