//! Measured values by name.

use crate::{Measurement, Quantity};

/// Something that the runs of an experiment measure.
#[derive(Debug)]
pub struct Metric<O> {
    /// Its name in experiment files, which ends in its unit.
    pub name: &'static str,
    /// Its name in tables and on axes.
    pub label: &'static str,
    /// The quantity that it measures.
    pub quantity: Quantity,
    /// Factor from the unit of the name to the unit of the quantity.
    pub scale: f64,
    /// Reads it from an outcome, in the unit of the quantity; the number is the scale.
    pub read: fn(&O, f64) -> Option<Measurement>,
}

/// Ends of names, and the units that they stand for.
const UNITS: [(&str, &str); 5] =
    [("_bytes", "B"), ("_ns", "ns"), ("_us", "µs"), ("_gbps", "Gbit/s"), ("_pct", "%")];

impl<O> Metric<O> {
    /// Its name without the unit, for columns whose heading gives the unit.
    pub fn name_without_unit(&self) -> String {
        let (name, part) = self.name.split_once('.').unwrap_or((self.name, ""));
        let name = UNITS.iter().find_map(|(ending, _)| name.strip_suffix(ending)).unwrap_or(name);
        if part.is_empty() { name.to_owned() } else { format!("{name}.{part}") }
    }

    /// The unit that its name ends in, or that of its quantity.
    pub fn unit_of_name(&self) -> &'static str {
        let name = self.name.split_once('.').map_or(self.name, |(name, _)| name);
        let unit = UNITS.iter().find(|(ending, _)| name.ends_with(ending));
        unit.map_or(self.quantity.unit().base_symbol(), |(_, unit)| unit)
    }

    /// A measurement in the unit of the name.
    pub fn in_unit_of_name(&self, measured: Measurement) -> Measurement {
        let scaled = |value: f64| value / self.scale;
        let interval = measured.interval.map(|(low, high)| (scaled(low), scaled(high)));
        Measurement { value: scaled(measured.value), interval }
    }

    /// The distribution of which it is a part: `fct_us` of `fct_us.p99`.
    pub fn distribution(&self) -> Option<&'static str> {
        self.name.split_once('.').map(|(distribution, _)| distribution)
    }

    /// The part of a distribution, in words: `99.9 %` of `fct_us.p99_9`. The whole name if it is no part.
    pub fn part_in_words(&self) -> String {
        let part = self.name.split_once('.').map_or(self.name, |(_, part)| part);
        let number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
        match part.strip_prefix('p') {
            Some("50") => "median".to_owned(),
            Some(digits) if !digits.is_empty() && number(digits) => {
                format!("{} %", digits.replacen('_', ".", 1))
            }
            _ => part.replace('_', " "),
        }
    }

    /// The measurement; `None` if there was nothing to measure, such as the mean of no delays.
    pub fn value(&self, outcome: &O) -> Option<Measurement> {
        let measured = (self.read)(outcome, self.scale)?;
        Some(Measurement {
            interval: measured.interval.map(|ends| self.possible(measured.value, ends)),
            ..measured
        })
    }

    /// An interval without what the quantity cannot be: Student's does not know that no time is below 0, and no share of a
    /// whole above 1.
    fn possible(&self, value: f64, (low, high): (f64, f64)) -> (f64, f64) {
        let (least, most) = match self.quantity {
            Quantity::Share | Quantity::LossRate => (0.0, 1.0),
            Quantity::Rate | Quantity::Size | Quantity::Time | Quantity::Distance | Quantity::Count => {
                (0.0, f64::INFINITY)
            }
            Quantity::Attenuation | Quantity::Plain | Quantity::Word => (f64::NEG_INFINITY, f64::INFINITY),
        };
        // A share of something else may be beyond 1, and a difference below 0.
        if (least..=most).contains(&value) { (low.max(least), high.min(most)) } else { (low, high) }
    }
}

/// No two metrics have the same name.
impl<O> PartialEq for Metric<O> {
    fn eq(&self, other: &Metric<O>) -> bool {
        self.name == other.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interval_of_a_time_or_a_share_contains_what_it_cannot_be() {
        let interval = |quantity, values: &[f64]| {
            let metric = Metric::<Vec<f64>> {
                name: "some",
                label: "",
                quantity,
                scale: 1.0,
                read: |values, _| Measurement::mean(values),
            };
            metric.value(&values.to_vec()).and_then(|measured| measured.interval).expect("several values")
        };
        assert_eq!(interval(Quantity::Time, &[0.1, 3.0]).0, 0.0);
        assert!(interval(Quantity::Time, &[0.1, 3.0]).1 > 3.0);
        assert_eq!(interval(Quantity::Share, &[0.02, 0.94]), (0.0, 1.0));
        assert!(interval(Quantity::Plain, &[0.1, 3.0]).0 < 0.0, "a difference may be below 0");
        assert!(interval(Quantity::Share, &[1.1, 1.9]).1 > 1.9, "a share of something else");
    }

    #[test]
    fn a_part_of_a_distribution_is_named_in_words() {
        for (name, distribution, words) in [
            ("fct_us.p99", Some("fct_us"), "99 %"),
            ("fct_us.p99_99", Some("fct_us"), "99.99 %"),
            ("fct_us.p50", Some("fct_us"), "median"),
            ("fct_us.max", Some("fct_us"), "max"),
            ("fct_us.pauses", Some("fct_us"), "pauses"),
            ("flows", None, "flows"),
        ] {
            let metric =
                Metric::<()> { name, label: "", quantity: Quantity::Time, scale: 1e-6, read: |(), _| None };
            assert_eq!(
                (metric.distribution(), metric.part_in_words().as_str()),
                (distribution, words),
                "{name}"
            );
        }
    }
}
