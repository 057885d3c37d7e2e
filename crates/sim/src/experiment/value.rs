//! Parameters by name: what they measure, and their values as text and as numbers.

use super::parameters::StressParameters;
use linkmend_experiment::{Parameters, Quantity, Value};
use serde::Serialize;

/// A parameter of a stress run.
pub struct Parameter {
    /// Its name in experiment files; on the command line two hyphens stand before it.
    pub key: &'static str,
    /// Its name in tables and on axes.
    pub label: &'static str,
    /// What it measures.
    pub quantity: Quantity,
    read: fn(&StressParameters) -> Option<Value>,
}

impl Parameter {
    /// The parameter of this name.
    pub fn named(key: &str) -> Option<&'static Parameter> {
        PARAMETERS.iter().find(|parameter| parameter.key == key)
    }

    /// Its value, if it is set.
    pub fn of(&self, parameters: &StressParameters) -> Option<Value> {
        (self.read)(parameters)
    }
}

/// The value of a choice, as files spell it.
fn word_of(name: &impl Serialize) -> Value {
    let spelled = toml::Value::try_from(name).ok();
    Value::word(spelled.as_ref().and_then(toml::Value::as_str).unwrap_or_default())
}

macro_rules! parameters {
    ($($key:expr, $label:literal, $quantity:ident, $field:ident, $value:expr;)*) => {
        &[$(Parameter {
            key: $key,
            label: $label,
            quantity: Quantity::$quantity,
            read: |parameters| parameters.$field.as_ref().map($value),
        }),*]
    };
}

/// The parameter that only names a combination of others.
pub const VARIANT: &str = "variant";

/// All parameters, in the order in which tables show them.
pub static PARAMETERS: &[Parameter] = parameters! {
    VARIANT, "variant", Word, variant, Value::word;
    "speed", "link speed", Rate, speed, |v| Value::number(v, v.0 as f64);
    "mode", "mode", Word, mode, word_of;
    "profile", "profile", Word, profile, word_of;
    "buffering", "buffering", Word, buffering, word_of;
    "loss", "loss rate", LossRate, loss, |v| Value::number(v, v.0);
    "burst", "mean burst", Count, burst, |v| Value::number(v, *v);
    "bit-error-rate", "bit error rate", LossRate, bit_error_rate, |v| Value::number(v, v.0);
    "transceiver", "transceiver", Word, transceiver, word_of;
    "attenuation", "attenuation", Attenuation, attenuation, |v| Value::number(v, v.0);
    "losses", "losses", Word, losses, |v| Value::word(v.display());
    "reverse-loss", "loss rate in reverse", LossRate, reverse_loss, |v| Value::number(v, v.0);
    "copy-loss", "loss rate of copies", LossRate, copy_loss, |v| Value::number(v, v.0);
    "frame-size", "frame size", Size, frame_size, |v| Value::number(v, v.0 as f64);
    "distance", "distance", Distance, distance, |v| Value::number(v, v.0 as f64);
    "copies", "copies", Count, copies, |v| Value::number(v, f64::from(*v));
    "target", "target loss rate", LossRate, target, |v| Value::number(v, v.0);
    "recovery-timeout", "ackNoTimeout", Time, recovery_timeout, |v| Value::number(v, v.0.as_secs_f64());
    "pause-threshold", "pauseThreshold", Size, pause_threshold, |v| Value::number(v, v.0 as f64);
    "resume-threshold", "resumeThreshold", Size, resume_threshold, |v| Value::number(v, v.0 as f64);
    "dummy-copies", "dummy copies", Count, dummy_copies, |v| Value::number(v, f64::from(*v));
    "rounds", "rounds", Count, rounds, |v| Value::number(v, f64::from(*v));
    "window", "window", Count, window, |v| Value::number(v, f64::from(*v));
    "frames", "frames", Count, frames, |v| Value::number(v, v.0 as f64);
    "seed", "seed", Count, seed, |v| Value::number(v, *v as f64);
    "egress-latency", "egress latency", Time, egress_latency, |v| Value::number(v, v.0.as_secs_f64());
    "ingress-latency", "ingress latency", Time, ingress_latency, |v| Value::number(v, v.0.as_secs_f64());
    "loop-latency", "loop latency", Time, loop_latency, |v| Value::number(v, v.0.as_secs_f64());
    "timer-interval", "timer interval", Time, timer_interval, |v| Value::number(v, v.0.as_secs_f64());
    "recirculation-speed", "recirculation speed", Rate, recirculation_speed, |v| Value::number(v, v.0 as f64);
    "recirculation-buffer", "recirculation buffer", Size, recirculation_buffer, |v| Value::number(v, v.0 as f64);
    "pipe-capacity", "pipe capacity", Count, pipe_capacity, |v| Value::number(v, v.0 as f64);
};

/// A parameter that is on or off and has no value.
pub struct Switch {
    pub key: &'static str,
    /// Its name in tables.
    pub label: &'static str,
    read: fn(&StressParameters) -> bool,
}

/// All parameters that are on or off.
pub static SWITCHES: [Switch; 2] = [
    Switch {
        key: "no-backpressure",
        label: "no backpressure",
        read: |parameters| parameters.no_backpressure,
    },
    Switch { key: "full", label: "every event simulated", read: |parameters| parameters.full },
];

/// The names of all parameters and switches, in the order of tables.
pub fn keys() -> impl Iterator<Item = &'static str> {
    PARAMETERS.iter().map(|parameter| parameter.key).chain(SWITCHES.iter().map(|switch| switch.key))
}

/// The value of a parameter or a switch; a switch that is off has one too.
pub fn value_of(key: &str, parameters: &StressParameters) -> Option<Value> {
    if let Some(switch) = SWITCHES.iter().find(|switch| switch.key == key) {
        return Some(Value::word(if (switch.read)(parameters) { "on" } else { "off" }));
    }
    Parameter::named(key)?.of(parameters)
}

/// Whether there is a parameter or a switch of this name.
pub fn is_parameter(key: &str) -> bool {
    keys().any(|known| known == key)
}

/// The name of a parameter or a switch in tables.
pub fn label_of(key: &str) -> &'static str {
    let switch = SWITCHES.iter().find(|switch| switch.key == key).map(|switch| switch.label);
    switch.or_else(|| Parameter::named(key).map(|parameter| parameter.label)).unwrap_or("")
}

impl Parameters for StressParameters {
    fn keys() -> impl Iterator<Item = &'static str> {
        keys()
    }

    fn label_of(key: &str) -> &'static str {
        label_of(key)
    }

    fn value_of(&self, key: &str) -> Option<Value> {
        value_of(key, self)
    }

    fn word(key: &str, value: String) -> String {
        match key {
            "no-backpressure" if value == "on" => "no backpressure".to_owned(),
            "no-backpressure" => "backpressure".to_owned(),
            _ if Self::needs_no_heading(key) => value,
            _ => format!("{} {value}", label_of(key)),
        }
    }

    fn only_lengthens(key: &str) -> bool {
        key == "frames"
    }

    fn needs_no_heading(key: &str) -> bool {
        [VARIANT, "speed", "mode", "profile", "buffering", "transceiver"].contains(&key)
    }
}
