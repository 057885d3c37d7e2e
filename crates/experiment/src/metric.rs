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

impl<O> Metric<O> {
    /// Its name without the unit, for columns whose heading gives the unit.
    pub fn name_without_unit(&self) -> String {
        let (name, part) = self.name.split_once('.').unwrap_or((self.name, ""));
        let unit = ["_bytes", "_ns", "_gbps", "_pct"].iter().find_map(|unit| name.strip_suffix(unit));
        let name = unit.unwrap_or(name);
        if part.is_empty() { name.to_owned() } else { format!("{name}.{part}") }
    }

    /// The measurement; `None` if there was nothing to measure, such as the mean of no delays.
    pub fn value(&self, outcome: &O) -> Option<Measurement> {
        (self.read)(outcome, self.scale)
    }
}

/// No two metrics have the same name.
impl<O> PartialEq for Metric<O> {
    fn eq(&self, other: &Metric<O>) -> bool {
        self.name == other.name
    }
}
