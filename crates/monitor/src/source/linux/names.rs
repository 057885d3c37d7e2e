//! What drivers call their counters.

use crate::counters::{ERRORS_COUNTED, FecReading, LANES_MOST, Lanes, Reading};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Names of the drivers that are known from the beginning.
const KNOWN: &str = include_str!("drivers.toml");

/// The names of a driver's counters, as `ethtool -S` shows them. Those of a list are added up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CounterNames {
    /// Frames that were received intact. All of these must be there.
    pub good_frames: Vec<String>,
    /// Frames that were received with errors of the line. One of these must be there.
    pub corrupted_frames: Vec<String>,
    /// Frames with invalid symbols. `corrupted-frames` counts most of them as well, so the larger of the two is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symbol_errors: Vec<String>,
    /// Codewords with errors that were corrected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrected_codewords: Vec<String>,
    /// Codewords with too many errors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncorrectable_codewords: Vec<String>,
    /// Bits that were corrected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrected_bits: Vec<String>,
    /// Bits that were corrected on the first lane, the second, and so on; at most 8, which are not added up. Fewer lanes have
    /// fewer of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lane_corrected_bits: Vec<String>,
    /// Codewords with no wrong symbol, with one, and so on; at most 16, which are not added up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub codewords: Vec<String>,
}

/// [`CounterNames`] by the names of drivers.
pub type DriverNames = BTreeMap<String, CounterNames>;

/// The drivers that are known, and those that somebody has added or knows better.
///
/// # Panics
/// Never: the file that comes with this has the right form.
pub(super) fn with_known(added: &DriverNames) -> DriverNames {
    let known: DriverNames = toml::from_str(KNOWN)
        .unwrap_or_else(|error| unreachable!("the file is part of the program: {error}"));
    let mut all = known;
    all.extend(added.clone());
    all
}

impl CounterNames {
    /// Why these names cannot be used.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.good_frames.is_empty() || self.corrupted_frames.is_empty() {
            return Some("needs names in `good-frames` and in `corrupted-frames`");
        }
        if self.lane_corrected_bits.len() > LANES_MOST {
            return Some("can have at most 8 names in `lane-corrected-bits`");
        }
        (self.codewords.len() > ERRORS_COUNTED).then_some("can have at most 16 names in `codewords`")
    }

    /// Whether a driver with these counters has what is needed.
    pub(super) fn fit(&self, value: &impl Fn(&str) -> Option<u64>) -> bool {
        let there = |name: &String| value(name).is_some();
        self.good_frames.iter().all(there) && self.corrupted_frames.iter().any(there)
    }

    /// The counters that these names have. A name that is missing adds nothing, and a list of which all are missing is
    /// unknown.
    pub(super) fn reading(&self, value: &impl Fn(&str) -> Option<u64>) -> Reading {
        let sum = |names: &[String]| {
            names.iter().filter_map(|name| value(name)).reduce(|sum, count| sum.saturating_add(count))
        };
        let codewords = (!self.codewords.is_empty()
            && self.codewords.iter().all(|name| value(name).is_some()))
        .then(|| {
            let mut codewords = [0; ERRORS_COUNTED];
            for (place, name) in codewords.iter_mut().zip(&self.codewords) {
                *place = value(name).unwrap_or_default();
            }
            codewords
        });
        let fec = FecReading {
            corrected_codewords: sum(&self.corrected_codewords),
            uncorrectable_codewords: sum(&self.uncorrectable_codewords),
            corrected_bits: sum(&self.corrected_bits),
            lane_corrected_bits: Lanes::new(self.lane_corrected_bits.iter().map_while(|name| value(name))),
            codewords,
        };
        Reading {
            good_frames: sum(&self.good_frames).unwrap_or_default(),
            corrupted_frames: sum(&self.corrupted_frames),
            symbol_errors: sum(&self.symbol_errors),
            fec: (fec != FecReading::default()).then_some(fec),
            ..Reading::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<'a>(values: &'a [(&str, u64)]) -> impl Fn(&str) -> Option<u64> + 'a {
        |name| values.iter().find(|(of, _)| *of == name).map(|&(_, value)| value)
    }

    #[test]
    fn counters_of_the_port_are_added_up() {
        let names = &with_known(&DriverNames::new())["mlx5_core"];
        let recorded = [
            ("rx_packets", 1_000),
            ("rx_packets_phy", 5_000),
            ("rx_crc_errors_phy", 3),
            ("rx_symbol_err_phy", 4),
            ("rx_corrected_bits_phy", 77),
            ("rx_err_lane_0_phy", 70),
            ("rx_err_lane_1_phy", 7),
        ];
        assert!(names.fit(&values(&recorded)));
        let lane_corrected_bits = Lanes::new([70, 7]);
        let fec = FecReading { corrected_bits: Some(77), lane_corrected_bits, ..FecReading::default() };
        let expected = Reading {
            good_frames: 5_000,
            corrupted_frames: Some(3),
            symbol_errors: Some(4),
            fec: Some(fec),
            ..Reading::default()
        };
        assert_eq!(names.reading(&values(&recorded)), expected);
        // An older kernel has fewer of them.
        let older = &recorded[..3];
        assert!(names.fit(&values(older)));
        assert_eq!(names.reading(&values(older)).corrupted_frames, Some(3));
        // A virtual function has none.
        assert!(!names.fit(&values(&recorded[..1])));
    }

    #[test]
    fn every_known_driver_has_what_is_needed_and_can_be_replaced() {
        let known = with_known(&DriverNames::new());
        assert!(known.values().all(|names| names.fault().is_none()));
        let own = CounterNames { good_frames: vec!["a".to_owned()], ..CounterNames::default() };
        assert!(own.fault().is_some());
        let all = with_known(&DriverNames::from([("ice".to_owned(), own.clone())]));
        assert_eq!((all.len(), &all["ice"]), (known.len(), &own));
    }

    #[test]
    fn a_histogram_is_there_whole_or_not_at_all() {
        let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let names = CounterNames { codewords: texts(&["s0", "s1", "s2"]), ..CounterNames::default() };
        let codewords = |recorded: &[(&str, u64)]| {
            names.reading(&values(recorded)).fec.and_then(|fec| fec.codewords).map(|bins| bins[..4].to_vec())
        };
        assert_eq!(codewords(&[("s0", 9), ("s1", 8), ("s2", 7)]), Some(vec![9, 8, 7, 0]));
        assert_eq!(codewords(&[("s0", 9), ("s2", 7)]), None);
    }
}
