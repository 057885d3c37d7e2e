//! What Prometheus is asked for, and what its answers are called.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sets that are known from the beginning.
const KNOWN: &str = include_str!("sets.toml");
/// What stands for the filter in a query.
const FILTER: &str = "$filter";
/// The longest query. Those that come with this have some hundred bytes.
const LENGTH_MOST: usize = 4096;

/// Queries (PromQL) of which each has one number for each port at a moment. `$filter` in them stands for label matchers that
/// are configured apart, because they differ from machine to machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct QuerySet {
    /// What a port is called: labels in braces, and other text, like `{instance}:{device}`.
    pub port: String,
    /// Frames received intact since counting began.
    pub good_frames: String,
    /// Frames received with errors of the line since counting began. Ports without this are not judged.
    pub corrupted_frames: String,
    /// 0 while the port is down, and another number while it is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<String>,
    /// A number that changes whenever the carrier comes or goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier_changes: Option<String>,
    /// Bit/s; that of a port without a series is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<String>,
    /// Frames with invalid symbols. `corrupted-frames` counts most of them as well, so the larger of the two is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol_errors: Option<String>,
    /// Codewords with errors that were corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_codewords: Option<String>,
    /// Codewords with too many errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncorrectable_codewords: Option<String>,
    /// Bits that forward error correction has corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected_bits: Option<String>,
}

impl QuerySet {
    /// Sets for exporters that are known, by name.
    ///
    /// # Panics
    /// Never: the file that comes with this has the right form.
    pub fn known() -> BTreeMap<String, QuerySet> {
        toml::from_str(KNOWN).unwrap_or_else(|error| unreachable!("the file is part of the program: {error}"))
    }

    /// Why these queries cannot be used. Whether they are PromQL is for Prometheus to say.
    pub(crate) fn fault(&self) -> Option<String> {
        if let Err(why) = NamePattern::new(&self.port) {
            return Some(why);
        }
        let all = self.each();
        all.iter().find_map(|(what, query)| {
            let query = (*query)?;
            let fits = !query.trim().is_empty() && query.len() <= LENGTH_MOST;
            (!fits).then(|| format!("needs 1 to {LENGTH_MOST} bytes in `{what}`"))
        })
    }

    /// Every query with the name of its field.
    fn each(&self) -> [(&'static str, Option<&String>); 9] {
        [
            ("good-frames", Some(&self.good_frames)),
            ("corrupted-frames", Some(&self.corrupted_frames)),
            ("up", self.up.as_ref()),
            ("carrier-changes", self.carrier_changes.as_ref()),
            ("speed", self.speed.as_ref()),
            ("symbol-errors", self.symbol_errors.as_ref()),
            ("corrected-codewords", self.corrected_codewords.as_ref()),
            ("uncorrectable-codewords", self.uncorrectable_codewords.as_ref()),
            ("corrected-bits", self.corrected_bits.as_ref()),
        ]
    }

    /// What is asked for, in this order, with the filter in its place.
    pub(super) fn filled(&self, filter: &str) -> [(&'static str, Option<String>); 9] {
        self.each().map(|(what, query)| (what, query.map(|query| query.replace(FILTER, filter))))
    }
}

/// What a port is called, by the labels of its series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamePattern(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Label(String),
}

impl NamePattern {
    /// Takes labels in braces, and other text.
    pub fn new(pattern: &str) -> Result<NamePattern, String> {
        let rule = "needs a label in braces in `port`, like {device}";
        let mut parts = Vec::new();
        let mut rest = pattern;
        while let Some((text, after)) = rest.split_once('{') {
            let (label, after) = after.split_once('}').ok_or(rule)?;
            if label.is_empty() || text.contains('}') {
                return Err(rule.to_owned());
            }
            parts.extend([Part::Text(text.to_owned()), Part::Label(label.to_owned())]);
            rest = after;
        }
        if parts.is_empty() || rest.contains('}') {
            return Err(rule.to_owned());
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(NamePattern(parts))
    }

    /// The name of the port that these labels belong to.
    ///
    /// # Errors
    /// The label that is missing.
    pub fn name(&self, labels: &BTreeMap<String, String>) -> Result<String, &str> {
        let mut name = String::new();
        for part in &self.0 {
            name += match part {
                Part::Text(text) => text,
                Part::Label(label) => labels.get(label).ok_or(label.as_str())?,
            };
        }
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_set_can_be_used_and_has_the_filter_in_every_query() {
        let known = QuerySet::known();
        assert!(known.len() >= 5);
        for (name, set) in known {
            assert_eq!(set.fault(), None, "{name}");
            let queries = set.each().into_iter().filter_map(|(_, query)| query);
            assert!(queries.into_iter().all(|query| query.contains(FILTER)), "{name}");
            let filled = set.filled("instance=\"a\"");
            assert!(
                filled.iter().flat_map(|(_, query)| query).all(|query| !query.contains(FILTER)),
                "{name}"
            );
        }
    }

    #[test]
    fn a_name_is_made_of_labels_and_text() {
        let labels = |labels: &[(&str, &str)]| {
            labels.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        let both = labels(&[("device", "eth0"), ("instance", "leaf1:9100")]);
        let name =
            |pattern: &str| NamePattern::new(pattern).expect("a pattern").name(&both).map_err(str::to_owned);
        let name = |pattern: &str| name(pattern).expect("labels");
        assert_eq!(name("{device}"), "eth0");
        assert_eq!(name("{instance}/{device}x"), "leaf1:9100/eth0x");
        let pattern = NamePattern::new("{device}-{job}").expect("a pattern");
        assert_eq!(pattern.name(&both), Err("job"));
        for wrong in ["", "device", "{}", "{device", "device}", "a}{device}", "{device}}"] {
            assert!(NamePattern::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_set_needs_queries() {
        let mut set = QuerySet::known().remove("node").expect("known");
        set.speed = Some(" ".to_owned());
        assert!(set.fault().is_some_and(|fault| fault.contains("`speed`")));
        let error =
            toml::from_str::<QuerySet>("port = '{device}'\ngood-frames = 'a'").expect_err("incomplete");
        assert!(error.to_string().contains("corrupted-frames"), "{error}");
    }
}
