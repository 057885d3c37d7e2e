//! Parameters as text: what files and command lines write, and tables show.

use super::table::{PARAMETERS, Parameter, RunParameters};
use super::words;
use linkmend_experiment::{Parameters, Value};
use serde::de::{self, Deserializer, MapAccess};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use std::fmt;

impl Parameter {
    /// The parameter of this name.
    pub fn named(key: &str) -> Option<&'static Parameter> {
        PARAMETERS.iter().find(|parameter| parameter.key == key)
    }
}

impl RunParameters {
    /// Sets a parameter to what the text says.
    ///
    /// # Errors
    /// If there is no such parameter, or the text is none of its values.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
        let parameter = Parameter::named(key).ok_or_else(|| {
            let known: Vec<&str> = Self::keys().collect();
            format!("unknown key `{key}`, expected one of {}", known.join(", "))
        })?;
        (parameter.read)(self, text)
    }

    /// The same parameters; those that are not set have these values. A loss rate is not one of them if something else says
    /// what is corrupted.
    ///
    /// # Panics
    /// If there is no such parameter or value.
    #[must_use]
    pub fn or(mut self, defaults: &[(&str, &str)]) -> RunParameters {
        let is_corrupted_otherwise = self.bit_error_rate.is_some()
            || self.transceiver.is_some()
            || self.attenuation.is_some()
            || self.losses.is_some();
        for (key, text) in defaults {
            let has_no_meaning = is_corrupted_otherwise && matches!(*key, "loss" | "mean-burst");
            if self.value(key).is_none()
                && !has_no_meaning
                && let Err(error) = self.set(key, text)
            {
                panic!("{key} = {text}: {error}");
            }
        }
        self
    }

    /// The value of a parameter, if it is set.
    pub fn value(&self, key: &str) -> Option<Value> {
        Parameter::named(key).and_then(|parameter| (parameter.value)(self))
    }

    /// The same as text; empty if it is not set.
    pub fn text(&self, key: &str) -> String {
        self.value(key).map_or_else(String::new, |value| value.text)
    }

    /// The arguments of a command that set what is set.
    pub fn arguments(&self) -> Vec<String> {
        let set =
            PARAMETERS.iter().filter_map(|parameter| Some((parameter, self.value(parameter.key)?.text)));
        set.filter(|(parameter, text)| !parameter.is_flag || text == "yes")
            .map(|(parameter, text)| match parameter.is_flag {
                true => format!("--{}", parameter.key),
                false => format!("--{} {}", parameter.key, text.replace(' ', "")),
            })
            .collect()
    }
}

impl Parameters for RunParameters {
    fn keys() -> impl Iterator<Item = &'static str> {
        PARAMETERS.iter().map(|parameter| parameter.key)
    }

    fn label_of(key: &str) -> &'static str {
        Parameter::named(key).map_or("", |parameter| parameter.label)
    }

    fn value_of(&self, key: &str) -> Option<Value> {
        self.value(key)
    }

    fn needs_no_heading(key: &str) -> bool {
        words::needs_no_heading(key)
    }

    fn in_words(key: &str, value: &str) -> String {
        words::value(key, value)
    }

    fn word(key: &str, value: String) -> String {
        words::phrase(key, &value)
    }

    fn only_lengthens(key: &str) -> bool {
        matches!(key, "frames" | "trials" | "duration")
    }
}

impl Serialize for RunParameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for key in Self::keys() {
            if let Some(value) = self.value(key) {
                map.serialize_entry(key, &value.text)?;
            }
        }
        map.end()
    }
}

/// A value as files write it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Written::Flag(flag) => flag.fmt(f),
            Written::Integer(integer) => integer.fmt(f),
            Written::Number(number) => number.fmt(f),
            Written::Text(text) => text.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for RunParameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RunParameters, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RunParameters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("parameters of a run")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RunParameters, A::Error> {
                let mut parameters = RunParameters::default();
                while let Some((key, value)) = map.next_entry::<String, Written>()? {
                    parameters.set(&key, &value.to_string()).map_err(de::Error::custom)?;
                }
                Ok(parameters)
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_value_reads_as_that_value() {
        for (key, text) in [
            ("speed", "400G"),
            ("loss", "1e-3"),
            ("load", "50 %"),
            ("size", "web-search:100kB"),
            ("size", "143B"),
            ("frames", "10M"),
            ("detection", "squelch"),
            ("reroute", "65ms"),
            ("rdma-mechanisms", "2/1/2/1"),
            ("no-backpressure", "yes"),
            ("attenuation", "3.5dB"),
            ("mean-burst", "4"),
        ] {
            let mut parameters = RunParameters::default();
            parameters.set(key, text).unwrap_or_else(|error| panic!("{key}: {error}"));
            assert_eq!(parameters.text(key), text, "{key}");
        }
    }

    #[test]
    fn parameters_are_told_apart_and_described() {
        for parameter in PARAMETERS {
            let key = parameter.key;
            assert_eq!(PARAMETERS.iter().filter(|other| other.key == key).count(), 1, "{key}");
            assert!(!parameter.label.is_empty() && !parameter.help.is_empty(), "{key}");
            assert!(parameter.is_flag == parameter.value_name.is_empty(), "{key}");
            assert!(key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{key}");
        }
    }

    #[test]
    fn files_may_write_numbers_flags_and_texts() {
        let text = "loss = 1e-3\nframes = 10_000\nfull = true\nspeed = \"100G\"\nmean-burst = 4.5";
        let parameters: RunParameters = toml::from_str(text).expect("parameters");
        assert_eq!(
            parameters.arguments(),
            ["--frames 10k", "--speed 100G", "--loss 1e-3", "--mean-burst 4.5", "--full"]
        );
        let error = toml::from_str::<RunParameters>("speeed = 1").expect_err("no parameter").to_string();
        assert!(error.contains("unknown key `speeed`"), "{error}");
        let error = toml::from_str::<RunParameters>("scheme = \"off\"").expect_err("no scheme").to_string();
        assert!(error.contains("must be one of none, ordered, non-blocking, wharf"), "{error}");
    }
}
