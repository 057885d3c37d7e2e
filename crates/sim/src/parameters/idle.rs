//! Parameters of LinkGuardian where another scheme recovers. They have no effect there.
//!
//! A file may set them for all of its points, some of which have LinkGuardian. On a command line, which describes one run, they are
//! a mistake. Without any recovery (`none`), they are accepted, so that one word turns the protection of a command off.

use super::table::{PARAMETERS, RunParameters};
use crate::flows::SchemeKind;
use crate::link::config::ParameterError;

/// What only LinkGuardian and its switches have, and the register that LLR has instead.
const OF_LINKGUARDIAN: [(&str, Option<&str>); 16] = [
    ("profile", None),
    ("copies", Some("replay_count_max")),
    ("target", Some("replay_count_max")),
    ("recovery-timeout", Some("replay_timer_ns")),
    ("pause-threshold", None),
    ("resume-threshold", None),
    ("no-backpressure", None),
    ("dummy-copies", None),
    ("rounds", Some("replay_count_max")),
    ("window", Some("outstanding_frames_max")),
    ("buffering", None),
    ("loop-latency", None),
    ("timer-interval", None),
    ("recirculation-speed", None),
    ("recirculation-buffer", None),
    ("pipe-capacity", None),
];

impl RunParameters {
    /// Refuses parameters that have no effect because another scheme than LinkGuardian recovers.
    ///
    /// # Errors
    /// The first of them.
    pub fn check_effect(&self) -> Result<(), ParameterError> {
        let Some(scheme) = self.other_scheme() else { return Ok(()) };
        for (key, register) in OF_LINKGUARDIAN {
            let Some(value) = self.value(key).filter(|value| value.text != "no") else { continue };
            let instead = match register.filter(|_| scheme == SchemeKind::Llr) {
                Some(register) => format!("; set `{register}` in `llr` instead"),
                None => "; remove it".to_owned(),
            };
            let requirement = format!(
                "has no effect with `scheme` {}, only with ordered and non-blocking{instead}",
                scheme.name()
            );
            return Err(ParameterError::new(key, value.text, requirement));
        }
        Ok(())
    }

    /// The same run, without parameters that have no effect on it for this reason.
    #[must_use]
    pub fn with_effect(mut self) -> RunParameters {
        let is_idle = |key: &str| OF_LINKGUARDIAN.iter().any(|(idle, _)| *idle == key);
        if self.other_scheme().is_some() {
            PARAMETERS
                .iter()
                .filter(|parameter| is_idle(parameter.key))
                .for_each(|idle| (idle.clear)(&mut self));
        }
        self
    }

    /// The scheme that recovers, if it is not LinkGuardian.
    fn other_scheme(&self) -> Option<SchemeKind> {
        let scheme = self.scheme();
        (!matches!(scheme, SchemeKind::None | SchemeKind::Ordered | SchemeKind::NonBlocking))
            .then_some(scheme)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_without_effect_are_refused_by_name() {
        for (key, text) in [
            ("profile", "daemon"),
            ("copies", "3"),
            ("target", "1e-9"),
            ("recovery-timeout", "9us"),
            ("pause-threshold", "50kB"),
            ("resume-threshold", "40kB"),
            ("no-backpressure", "yes"),
            ("dummy-copies", "2"),
            ("rounds", "3"),
            ("window", "512"),
            ("buffering", "direct"),
            ("loop-latency", "1us"),
            ("timer-interval", "1us"),
            ("recirculation-speed", "400G"),
            ("recirculation-buffer", "300kB"),
            ("pipe-capacity", "1G"),
        ] {
            for scheme in SchemeKind::ALL {
                let mut parameters = RunParameters { scheme: Some(scheme), ..RunParameters::default() };
                parameters.set(key, text).expect(key);
                let has_effect = parameters.check_effect().map_err(|error| error.to_string());
                let is_other =
                    [SchemeKind::Wharf, SchemeKind::Llr, SchemeKind::Selective, SchemeKind::Parity]
                        .contains(&scheme);
                assert_eq!(has_effect.is_err(), is_other, "{key} {}", scheme.name());
                if let Err(error) = has_effect {
                    let says = format!("{key} = {text}: has no effect with `scheme` {}", scheme.name());
                    assert!(error.starts_with(&says), "{error}");
                }
                let kept = parameters.with_effect();
                assert_eq!(kept.check_effect(), Ok(()), "{key}");
                assert_eq!(kept.value(key).is_none(), is_other, "{key}");
            }
        }
    }

    #[test]
    fn the_register_of_llr_is_named() {
        let mut parameters = RunParameters { scheme: Some(SchemeKind::Llr), ..RunParameters::default() };
        parameters.set("window", "512").expect("known");
        let error = parameters.check_effect().expect_err("refused").to_string();
        assert!(error.ends_with("set `outstanding_frames_max` in `llr` instead"), "{error}");
    }
}
