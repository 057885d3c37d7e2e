//! What experiments with fleets vary.

use linkmend_experiment::{Parameters, Value};
use linkmend_quantity::Share;
use serde::Deserialize;

/// The parameters of a run, as files write them. Those of the same name are arguments of `linkmend fleet simulate`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FleetParameters {
    /// The share of its paths to the top layer that every ToR must keep.
    pub constraint: Option<Share>,
    /// Pods of the paper's fabric.
    pub pods: Option<u32>,
    /// Length of a trace in days.
    pub days: Option<u32>,
}

/// Names and headings, in the order of tables.
const PARAMETERS: [(&str, &str); 3] = [(CONSTRAINT, "Paths kept"), ("pods", "pods"), ("days", "days")];

/// The parameter that every table and every plot names.
pub(super) const CONSTRAINT: &str = "constraint";

impl Parameters for FleetParameters {
    fn keys() -> impl Iterator<Item = &'static str> {
        PARAMETERS.iter().map(|(key, _)| *key)
    }

    fn label_of(key: &str) -> &'static str {
        PARAMETERS.iter().find(|(name, _)| *name == key).map_or("", |(_, label)| label)
    }

    fn value_of(&self, key: &str) -> Option<Value> {
        let number = |value: u32| Value::number(value, f64::from(value));
        match key {
            CONSTRAINT => {
                self.constraint.map(|share| Value::number(format!("{} %", share.percent()), share.0))
            }
            "pods" => self.pods.map(number),
            "days" => self.days.map(number),
            _ => None,
        }
    }

    fn word(key: &str, value: String) -> String {
        match key {
            CONSTRAINT => format!("{value} of paths"),
            _ => format!("{value} {}", Self::label_of(key)),
        }
    }

    fn needs_no_heading(_key: &str) -> bool {
        true
    }
}
