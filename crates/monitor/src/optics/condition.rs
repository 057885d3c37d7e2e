//! What is abnormal about a quantity.

use serde::{Deserialize, Serialize};
use std::fmt;

/// In which direction a value is out of the ordinary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Low,
    High,
}

/// What a value is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reference {
    /// The module's own thresholds.
    Warning,
    Alarm,
    /// The median of the last hours.
    Median {
        hours: u32,
    },
}

/// A quantity that is out of the ordinary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Deviation {
    pub side: Side,
    /// The lane that deviates most, counted from 1, and how many do of how many. 0 if lanes do not have the quantity.
    pub lane: u8,
    pub lanes: u8,
    pub of_lanes: u8,
    pub value: f32,
    pub reference: Reference,
    pub reference_value: f32,
    /// Seconds since it began.
    pub for_s: u64,
}

/// Whether a quantity is out of the ordinary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Within the module's thresholds, or near its median.
    Normal,
    Abnormal(Deviation),
}

impl Condition {
    /// How it deviates to this side, if it does.
    pub fn to(&self, side: Side) -> Option<&Deviation> {
        match self {
            Condition::Abnormal(deviation) if deviation.side == side => Some(deviation),
            _ => None,
        }
    }
}

/// What is known of a port's optics, in short. `None` stands for what is not measured, or cannot be judged yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OpticsFinding {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Condition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Condition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias: Option<Condition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Condition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voltage: Option<Condition>,
}

/// Names and units of the quantities of [`OpticsFinding::all`].
const QUANTITIES: [(&str, &str); 5] = [
    ("receive power", "dBm"),
    ("transmit power", "dBm"),
    ("laser bias", "mA"),
    ("temperature", "°C"),
    ("supply voltage", "V"),
];

impl OpticsFinding {
    fn all(&self) -> [Option<Condition>; 5] {
        [self.received, self.sent, self.bias, self.temperature, self.voltage]
    }

    /// All that is out of the ordinary, in words.
    pub fn abnormalities(&self) -> Vec<String> {
        let named = QUANTITIES.iter().zip(self.all());
        let told = named.filter_map(|(&(name, unit), condition)| match condition? {
            Condition::Abnormal(deviation) => Some(Told { deviation, name, unit }.to_string()),
            Condition::Normal => None,
        });
        told.collect()
    }

    /// Whether the same quantities are out of the ordinary to the same sides.
    pub fn is_like(&self, other: &OpticsFinding) -> bool {
        let sides = |finding: &OpticsFinding| {
            finding.all().map(|condition| match condition {
                Some(Condition::Abnormal(deviation)) => Some(deviation.side),
                _ => None,
            })
        };
        sides(self) == sides(other)
    }
}

/// A deviation of a named quantity.
struct Told {
    deviation: Deviation,
    name: &'static str,
    unit: &'static str,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told { deviation, name, unit } = self;
        let Deviation { side, lane, lanes, of_lanes, value, reference, reference_value, for_s } = deviation;
        write!(f, "{name}")?;
        match (lanes, of_lanes) {
            (0, _) | (_, 1) => {}
            (1, _) => write!(f, " of lane {lane} of {of_lanes}")?,
            _ => write!(f, " of {lanes} of {of_lanes} lanes (worst: lane {lane})")?,
        }
        write!(f, " {value:.1} {unit}, ")?;
        let (beyond, low) = match side {
            Side::Low => ("below", "low"),
            Side::High => ("above", "high"),
        };
        match reference {
            Reference::Warning => write!(f, "{beyond} the {low} warning of {reference_value:.1} {unit}")?,
            Reference::Alarm => write!(f, "{beyond} the {low} alarm of {reference_value:.1} {unit}")?,
            Reference::Median { hours } => {
                let difference = (value - reference_value).abs();
                let unit = if *unit == "dBm" { "dB" } else { unit };
                let over = if *hours < 48 { format!("{hours} h") } else { format!("{} days", hours / 24) };
                write!(f, "{difference:.1} {unit} {beyond} its median over {over}")?;
            }
        }
        match for_s {
            0..=119 => Ok(()),
            120..=7_199 => write!(f, ", for {} min", for_s / 60),
            7_200..=172_799 => write!(f, ", for {} h", for_s / 3_600),
            _ => write!(f, ", for {} days", for_s / 86_400),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_is_told_with_what_it_is_compared_with() {
        let low = Deviation {
            side: Side::Low,
            lane: 3,
            lanes: 1,
            of_lanes: 4,
            value: -5.3,
            reference: Reference::Median { hours: 168 },
            reference_value: -2.2,
            for_s: 4 * 86_400,
        };
        let hot = Deviation {
            side: Side::High,
            lane: 0,
            lanes: 0,
            of_lanes: 0,
            value: 76.0,
            reference: Reference::Alarm,
            reference_value: 75.0,
            for_s: 60,
        };
        let finding = OpticsFinding {
            received: Some(Condition::Abnormal(low)),
            sent: Some(Condition::Normal),
            temperature: Some(Condition::Abnormal(hot)),
            ..OpticsFinding::default()
        };
        assert_eq!(
            finding.abnormalities(),
            [
                "receive power of lane 3 of 4 -5.3 dBm, 3.1 dB below its median over 7 days, for 4 days",
                "temperature 76.0 °C, above the high alarm of 75.0 °C"
            ]
        );
        let colder = OpticsFinding { temperature: Some(Condition::Normal), ..finding };
        let longer =
            OpticsFinding { received: Some(Condition::Abnormal(Deviation { for_s: 9, ..low })), ..finding };
        assert!(!finding.is_like(&colder) && finding.is_like(&longer));
        let text = serde_json::to_string(&finding).expect("JSON");
        assert_eq!(serde_json::from_str::<OpticsFinding>(&text).expect("the same"), finding);
    }
}
