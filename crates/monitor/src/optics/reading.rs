//! What a transceiver measures at one moment.

use serde::{Deserialize, Serialize};

/// Lanes of a module: 8 in QSFP-DD and OSFP.
pub const LANES_MOST: usize = 8;
/// What is taken for no light at all, in dBm: the smallest power that modules can tell from none (0.1 µW).
pub const NO_LIGHT_DBM: f32 = -40.0;
/// Longest part of a module's names, in bytes: they have 16.
const NAME_MOST: usize = 32;

/// Who made a module.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Module {
    pub vendor: String,
    pub part: String,
    pub serial: String,
}

impl Module {
    /// A module with these names, without what is not printable.
    pub fn new(vendor: &str, part: &str, serial: &str) -> Module {
        let short = |text: &str| {
            let printable = text.chars().filter(|letter| letter.is_ascii_graphic() || *letter == ' ');
            let text: String = printable.take(NAME_MOST).collect();
            let text = text.trim();
            if text == "N/A" { String::new() } else { text.to_owned() }
        };
        Module { vendor: short(vendor), part: short(part), serial: short(serial) }
    }
}

/// What belongs to one lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Lane {
    /// Received and transmitted power in dBm, at least [`NO_LIGHT_DBM`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_dbm: Option<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_dbm: Option<f32>,
    /// Current through the laser in mA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias_ma: Option<f32>,
}

/// Thresholds of a quantity, as the maker of the module has set them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    pub low_alarm: Option<f32>,
    pub low_warning: Option<f32>,
    pub high_warning: Option<f32>,
    pub high_alarm: Option<f32>,
}

impl Limits {
    /// The same without pairs that contradict themselves: modules without thresholds have zeros there.
    #[must_use]
    pub fn plausible(self) -> Limits {
        let pair = |low: Option<f32>, high: Option<f32>| match (low, high) {
            (Some(low), Some(high)) if low >= high => (None, None),
            pair => pair,
        };
        let (low_alarm, high_alarm) = pair(self.low_alarm, self.high_alarm);
        let (low_warning, high_warning) = pair(self.low_warning, self.high_warning);
        Limits { low_alarm, low_warning, high_warning, high_alarm }
    }
}

/// All thresholds of a module.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Thresholds {
    pub temperature: Limits,
    pub voltage: Limits,
    pub received: Limits,
    pub sent: Limits,
    pub bias: Limits,
}

/// See the module's documentation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpticsReading {
    pub module: Module,
    pub temperature_c: Option<f32>,
    pub voltage_v: Option<f32>,
    /// At most [`LANES_MOST`]; none if the module measures no light, such as a copper cable.
    pub lanes: Vec<Lane>,
    pub thresholds: Thresholds,
}

/// A power in dBm.
pub fn dbm_of_milliwatts(milliwatts: f32) -> f32 {
    // The logarithm of zero is minus infinity, which the maximum replaces.
    (10.0 * milliwatts.log10()).max(NO_LIGHT_DBM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_printable_and_short_and_limits_do_not_contradict_themselves() {
        let module = Module::new("FINISAR CORP.   ", "N/A", &"x\u{1b}[1m".repeat(20));
        assert_eq!((module.vendor.as_str(), module.part.as_str()), ("FINISAR CORP.", ""));
        assert!(module.serial.len() <= NAME_MOST && !module.serial.contains('\u{1b}'));
        let zeros = Limits { low_alarm: Some(0.0), high_alarm: Some(0.0), ..Limits::default() };
        assert_eq!(zeros.plausible(), Limits::default());
        let usual = Limits { low_warning: Some(-10.0), high_warning: Some(2.0), ..zeros };
        assert_eq!((usual.plausible().low_warning, usual.plausible().high_alarm), (Some(-10.0), None));
    }

    #[test]
    fn a_milliwatt_is_0_dbm_and_darkness_is_the_least() {
        assert_eq!(dbm_of_milliwatts(1.0), 0.0);
        assert!((dbm_of_milliwatts(0.5) + 3.01).abs() < 0.01);
        assert_eq!(dbm_of_milliwatts(0.0), NO_LIGHT_DBM);
    }
}
