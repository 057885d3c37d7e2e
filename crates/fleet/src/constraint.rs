//! What must be left of a network, whatever is disabled.

use linkmend_quantity::Share;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::str::FromStr;

/// What disabling links must leave of a network: a share of each ToR's paths, and that ToRs can reach each other.
///
/// Written `75%`, and `paper=75%` for the paper's constraint (section 2): a share of the paths, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constraint {
    /// Share of its paths to the top layer that each ToR must keep; 0 to 1.
    pub paths: f64,
    /// Whether ToRs that can reach each other must still be able to.
    pub connected: bool,
}

/// Why a text is not a constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` {why}; write a share of paths, such as 75%, or the paper's constraint, which lets ToRs lose each other, such as \
     paper=75%"
)]
pub struct ConstraintError {
    text: String,
    why: &'static str,
}

impl Constraint {
    /// A share of the paths, and all ToRs stay connected.
    pub fn connected(paths: f64) -> Constraint {
        Constraint { paths, connected: true }
    }

    /// The paper's constraint: a share of the paths.
    pub fn paper(paths: f64) -> Constraint {
        Constraint { paths, connected: false }
    }
}

impl FromStr for Constraint {
    type Err = ConstraintError;

    fn from_str(text: &str) -> Result<Constraint, ConstraintError> {
        let error = |why| ConstraintError { text: text.to_owned(), why };
        let share = |text: &str| {
            text.parse().map(|Share(share)| share).map_err(|_| error("is not a share from 0% to 100%"))
        };
        match text.split_once('=') {
            None => share(text).map(Constraint::connected),
            Some((name, value)) if name.trim() == "paper" => share(value).map(Constraint::paper),
            Some(_) => Err(error("names something other than the paper's constraint")),
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = Share(self.paths);
        f.pad(&if self.connected { share.to_string() } else { format!("paper={share}") })
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
                f.write_str("a constraint, like \"75%\" or \"paper=75%\"")
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
            ("paper=75%", Constraint::paper(0.75)),
        ] {
            assert_eq!(text.parse(), Ok(constraint));
            assert_eq!(constraint.to_string(), text);
        }
        assert_eq!("0.5".parse(), Ok(Constraint::connected(0.5)));
        assert_eq!("paper = 0.5".parse(), Ok(Constraint::paper(0.5)));
    }

    #[test]
    fn errors_name_the_text_and_say_what_to_write() {
        for (text, why) in [
            ("150%", "not a share"),
            ("paper=x", "not a share"),
            ("speed=50%", "other than the paper's"),
            ("", "not a share"),
        ] {
            let error = text.parse::<Constraint>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("`{text}` ")) && error.contains(why), "{error}");
            assert!(error.contains("paper=75%"), "{error}");
        }
    }
}
