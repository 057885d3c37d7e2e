//! What must be left of a network, whatever is disabled.

use linkmend_quantity::Share;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// What disabling links must leave of a network: shares of each ToR's paths and capacity, and that ToRs can reach each other.
///
/// Written `75%`, for both shares; `paths=75%`, `capacity=50%` or `paths=75%,capacity=50%`; and `paper=75%` for the paper's
/// constraint (section 2): a share of the paths, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constraint {
    /// Share of its paths to the top layer that each ToR must keep; 0 to 1.
    pub paths: f64,
    /// Share of its capacity to the top layer that each ToR must keep (see [`linkmend_topology::speeds`]); 0 to 1.
    pub capacity: f64,
    /// Whether ToRs that can reach each other must still be able to.
    pub connected: bool,
}

/// Why a text is not a constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` {why}; write one share of paths and capacity, like 75%, one for each, like paths=75%,capacity=50%, \
     or the paper's constraint, which lets ToRs lose contact with each other, like paper=75%"
)]
pub struct ConstraintError {
    text: String,
    why: &'static str,
}

impl Constraint {
    /// The same share of paths and of capacity, and all ToRs stay connected.
    pub fn connected(share: f64) -> Constraint {
        Constraint { paths: share, capacity: share, connected: true }
    }

    /// The paper's constraint: a share of the paths.
    pub fn paper(paths: f64) -> Constraint {
        Constraint { paths, capacity: 0.0, connected: false }
    }

    /// What every ToR keeps, as a phrase: `75 % of its paths and capacity, and none loses contact with another`.
    pub fn phrase(&self) -> String {
        let kept = match (self.paths, self.capacity) {
            (paths, capacity) if paths == capacity => format!("{} of its paths and capacity", percent(paths)),
            (paths, 0.0) => format!("{} of its paths", percent(paths)),
            (0.0, capacity) => format!("{} of its capacity", percent(capacity)),
            (paths, capacity) => {
                format!("{} of its paths and {} of its capacity", percent(paths), percent(capacity))
            }
        };
        kept + if self.connected { ", and none loses contact with another" } else { "" }
    }
}

/// A share for people, in whole percent or as many decimals as it takes, at most two.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 100.0)
}

impl FromStr for Constraint {
    type Err = ConstraintError;

    fn from_str(text: &str) -> Result<Constraint, ConstraintError> {
        let error = |why| ConstraintError { text: text.to_owned(), why };
        let share = |text: &str| {
            text.parse().map(|Share(share)| share).map_err(|_| error("is not a share from 0% to 100%"))
        };
        if !text.contains('=') {
            return share(text).map(Constraint::connected);
        }
        let mut parts = BTreeMap::new();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let name = name.trim();
            if !["paths", "capacity", "paper"].contains(&name) {
                return Err(error(
                    "contains something other than paths, capacity and the paper's constraint",
                ));
            }
            if parts.insert(name, share(value)?).is_some() {
                return Err(error("contains something twice"));
            }
        }
        match (parts.get("paper"), parts.get("paths"), parts.get("capacity")) {
            (Some(&paths), None, None) => Ok(Constraint::paper(paths)),
            (Some(_), ..) => Err(error("combines the paper's constraint with something else")),
            (None, paths, capacity) => Ok(Constraint {
                paths: paths.copied().unwrap_or(0.0),
                capacity: capacity.copied().unwrap_or(0.0),
                connected: true,
            }),
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (paths, capacity) = (Share(self.paths), Share(self.capacity));
        f.pad(&match self {
            Constraint { connected: false, .. } => format!("paper={paths}"),
            _ if self.paths == self.capacity => paths.to_string(),
            Constraint { capacity: 0.0, .. } => format!("paths={paths}"),
            Constraint { paths: 0.0, .. } => format!("capacity={capacity}"),
            _ => format!("paths={paths},capacity={capacity}"),
        })
    }
}

impl Serialize for Constraint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Constraint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Constraint;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a constraint, like \"75%\", \"paths=75%,capacity=50%\" or \"paper=75%\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Constraint, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Constraint, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Constraint, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Constraint, E> {
                self.visit_str(&value.to_string())
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::Constraint;

    #[test]
    fn constraints_are_written_as_they_are_read() {
        for (text, constraint) in [
            ("75%", Constraint::connected(0.75)),
            ("0%", Constraint::connected(0.0)),
            ("paths=75%", Constraint { paths: 0.75, capacity: 0.0, connected: true }),
            ("capacity=75%", Constraint { paths: 0.0, capacity: 0.75, connected: true }),
            ("paths=75%,capacity=50%", Constraint { paths: 0.75, capacity: 0.5, connected: true }),
            ("paper=75%", Constraint::paper(0.75)),
        ] {
            assert_eq!(text.parse(), Ok(constraint));
            assert_eq!(constraint.to_string(), text);
        }
        assert_eq!("0.5".parse(), Ok(Constraint::connected(0.5)));
        assert_eq!("paper = 0.5".parse(), Ok(Constraint::paper(0.5)));
        assert_eq!("capacity=50%, paths=50%".parse(), Ok(Constraint::connected(0.5)));
    }

    #[test]
    fn errors_name_the_text_and_say_what_to_write() {
        for (text, why) in [
            ("150%", "not a share"),
            ("paper=x", "not a share"),
            ("speed=50%", "other than paths, capacity"),
            ("paths=50%,paths=60%", "twice"),
            ("paper=50%,capacity=60%", "something else"),
            ("paths=50%,60%", "other than paths"),
            ("paths=", "not a share"),
            ("", "not a share"),
        ] {
            let error = text.parse::<Constraint>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("`{text}` ")) && error.contains(why), "{error}");
            assert!(error.contains("paper=75%"), "{error}");
        }
    }
}
