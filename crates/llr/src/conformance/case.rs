//! The result of a case: what was expected and what was found.

use std::fmt::Display;
use std::ops::RangeInclusive;

/// One value that a case checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The variant of the case, followed by the counter, state or measurement.
    pub what: String,
    pub expected: String,
    pub found: String,
    pub pass: bool,
}

/// The result of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseResult {
    pub id: &'static str,
    /// What was done to the link.
    pub stimulus: &'static str,
    pub checks: Vec<Check>,
    /// Where the plan says something different, or what it leaves out; empty if neither applies.
    pub note: &'static str,
}

impl CaseResult {
    /// A case that has no checks yet.
    pub(super) fn new(id: &'static str, stimulus: &'static str) -> CaseResult {
        CaseResult { id, stimulus, checks: Vec::new(), note: "" }
    }

    pub(super) fn note(mut self, note: &'static str) -> CaseResult {
        self.note = note;
        self
    }

    /// Whether every check passes.
    pub fn pass(&self) -> bool {
        self.checks.iter().all(|check| check.pass)
    }

    fn check(&mut self, what: String, expected: String, found: impl Display, pass: bool) {
        self.checks.push(Check { what, expected, found: found.to_string(), pass });
    }

    /// The value must be exactly this.
    pub(super) fn exactly<T: Display + PartialEq>(
        &mut self,
        variant: &str,
        what: &str,
        expected: T,
        found: T,
    ) {
        let pass = found == expected;
        self.check(label(variant, what), expected.to_string(), found, pass);
    }

    /// The number must be above this.
    pub(super) fn above(&mut self, variant: &str, what: &str, limit: u64, found: u64) {
        self.check(label(variant, what), format!("> {limit}"), found, found > limit);
    }

    /// The measurement must be in this range.
    pub(super) fn within(
        &mut self,
        variant: &str,
        what: &str,
        range: RangeInclusive<f64>,
        unit: &str,
        found: f64,
    ) {
        let expected = format!("{} to {}{unit}", number(*range.start()), number(*range.end()));
        let pass = range.contains(&found);
        self.check(label(variant, what), expected, format!("{}{unit}", number(found)), pass);
    }
}

/// At most three decimals, without trailing zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn label(variant: &str, what: &str) -> String {
    if variant.is_empty() { what.to_owned() } else { format!("{variant}: {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_passes_if_all_of_its_checks_do() {
        let mut result = CaseResult::new("LLR-01", "frames");
        result.exactly("64 B", "RX_OK", 1_000, 1_000);
        result.above("", "ACKs", 0, 1);
        assert!(result.pass());
        assert_eq!((result.checks[0].what.as_str(), result.checks[1].what.as_str()), ("64 B: RX_OK", "ACKs"));
        result.within("", "share", 99.0..=100.0, " %", 98.9);
        let last = &result.checks[2];
        assert_eq!((last.expected.as_str(), last.found.as_str()), ("99 to 100 %", "98.9 %"));
        assert!(!result.pass());
        result.checks.clear();
        result.above("", "ACKs", 0, 0);
        assert!(!result.pass(), "0 is not above 0");
    }
}
