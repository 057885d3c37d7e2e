//! The duration of repairs.

use linkmend_diagnose::{Diagnose, Fault};
use linkmend_random::Random;
use std::fmt;
use std::str::FromStr;

/// Repair times and how often each happens, written `2d:0.8,4d:0.2`.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairDelays {
    /// Seconds, and the share of repairs that take them.
    delays: Vec<(u64, f64)>,
}

/// Why a repair distribution was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("repair {written}: {reason}")]
pub struct RepairError {
    written: String,
    reason: String,
}

impl Diagnose for RepairError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        Some("a repair is written like 2d:0.8,4d:0.2 (s, m, h or d)".to_owned())
    }
}

/// How far from 1 the sum of the shares may be, because thirds are written with only a few digits.
const SUM_TOLERANCE: f64 = 1e-3;
/// The longest repair: ten years.
const MAX_DELAY_S: f64 = 10.0 * 366.0 * 86_400.0;

impl RepairDelays {
    /// Two days for 80 % of the links, four days for the others (section 4.8).
    pub fn paper() -> RepairDelays {
        RepairDelays { delays: vec![(2 * 86_400, 0.8), (4 * 86_400, 0.2)] }
    }

    /// The possible delays, in seconds.
    pub(crate) fn delays_s(&self) -> impl Iterator<Item = u64> {
        self.delays.iter().map(|(delay_s, _)| *delay_s)
    }

    /// Draws the index of a delay. Uses no random number if there is only one.
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        if self.delays.len() == 1 {
            return 0;
        }
        let total: f64 = self.delays.iter().map(|(_, weight)| weight).sum();
        let mut left = random.uniform() * total;
        for (index, (_, weight)) in self.delays.iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        self.delays.len() - 1
    }
}

impl FromStr for RepairDelays {
    type Err = RepairError;

    fn from_str(written: &str) -> Result<RepairDelays, RepairError> {
        let error = |reason: String| RepairError { written: written.to_owned(), reason };
        let mut delays = Vec::new();
        for part in written.split(',') {
            let (delay, weight) =
                part.split_once(':').ok_or_else(|| error(format!("{part:?} has no colon")))?;
            let weight: f64 =
                weight.trim().parse().map_err(|_| error(format!("{weight:?} is not a share")))?;
            if !(weight > 0.0 && weight.is_finite()) {
                return Err(error(format!("share {weight} is not above 0")));
            }
            delays.push((seconds(delay.trim()).map_err(error)?, weight));
        }
        let sum = delays.iter().map(|(_, weight)| weight).sum::<f64>();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            let sum = (sum * 1e6).round() / 1e6;
            return Err(error(format!("the shares add up to {sum}, but must add up to 1")));
        }
        Ok(RepairDelays { delays })
    }
}

impl fmt::Display for RepairDelays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (delay_s, weight)) in self.delays.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{delay_s}s:{weight}")?;
        }
        Ok(())
    }
}

fn seconds(written: &str) -> Result<u64, String> {
    let units = [("d", 86_400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
    let (number, unit_s) = units
        .iter()
        .find_map(|(unit, seconds)| Some((written.strip_suffix(unit)?, *seconds)))
        .ok_or_else(|| format!("{written:?} has no unit"))?;
    let number: f64 = number.parse().map_err(|_| format!("{number:?} is not a number"))?;
    let delay_s = (number * unit_s).round();
    if !(1.0..=MAX_DELAY_S).contains(&delay_s) {
        return Err(format!("{written:?} is not from 1s to 10 years"));
    }
    Ok(delay_s as u64)
}
