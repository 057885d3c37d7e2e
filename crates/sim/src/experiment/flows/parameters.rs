//! What experiments with flows vary.

use crate::host::FlowSizes;
use crate::run::flows::{HostRecovery, SchemeKind, TransportKind};
use linkmend_experiment::{Parameters, Value};
use linkmend_quantity::{BitRate, Count, LossRate, Share, Span};
use serde::{Deserialize, Deserializer};
use std::fmt::Display;
use std::str::FromStr;

/// The parameters of a run, as files write them. Most are arguments of `linkmend sim flows` and `linkmend sim throughput`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlowParameters {
    /// The hosts' transport.
    #[serde(deserialize_with = "named")]
    pub transport: Option<TransportKind>,
    /// How the hosts recover losses, if it is not by RACK-TLP or go-back-N.
    #[serde(deserialize_with = "named")]
    pub host_recovery: Option<HostRecovery>,
    /// How the corrupting links recover.
    #[serde(deserialize_with = "named")]
    pub scheme: Option<SchemeKind>,
    /// Share of frames that they corrupt.
    pub loss: Option<LossRate>,
    /// Links that corrupt, of those between switches.
    pub corrupting_links: Option<u32>,
    /// Copies of the dummy that reveals a lost tail; 0 switches tail loss handling off.
    pub dummy_copies: Option<u8>,
    /// Size of each flow, or a published workload.
    #[serde(deserialize_with = "named")]
    pub size: Option<FlowSizes>,
    /// Speed of the default network's links.
    pub speed: Option<BitRate>,
    /// The network, if it is not the testbed's five switches in a row.
    pub topology: Option<String>,
    /// Share by which flows between all hosts load their links, instead of one flow after the other.
    pub load: Option<Share>,
    /// How long flows begin under a load; without load and trials, how long the one flow sends.
    pub duration: Option<Span>,
    /// Hosts that send to one at once, as often as there are trials.
    pub incast: Option<u32>,
    /// Flows of a run, one after the other; with an incast, its rounds.
    pub trials: Option<Count>,
}

/// A value that is read from its name.
fn named<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let name = String::deserialize(deserializer)?;
    name.parse().map(Some).map_err(serde::de::Error::custom)
}

/// Names and headings, in the order of tables.
const PARAMETERS: [(&str, &str); 13] = [
    ("transport", "transport"),
    (HOST_RECOVERY, "host recovery"),
    ("size", "flow size"),
    ("topology", "topology"),
    ("speed", "link speed"),
    ("load", "load"),
    ("incast", "senders at once"),
    (CORRUPTING_LINKS, "corrupting links"),
    ("loss", "loss rate"),
    (SCHEME, "scheme"),
    (DUMMY_COPIES, "dummy copies"),
    ("duration", "duration"),
    ("trials", "trials"),
];

pub(super) const SCHEME: &str = "scheme";
pub(super) const DUMMY_COPIES: &str = "dummy-copies";
const HOST_RECOVERY: &str = "host-recovery";
const CORRUPTING_LINKS: &str = "corrupting-links";

/// What points may differ in and still have the same flows and the same seeds.
pub(super) const PAIRED: [&str; 5] = [SCHEME, HOST_RECOVERY, DUMMY_COPIES, CORRUPTING_LINKS, "loss"];

impl Parameters for FlowParameters {
    fn keys() -> impl Iterator<Item = &'static str> {
        PARAMETERS.iter().map(|(key, _)| *key)
    }

    fn label_of(key: &str) -> &'static str {
        PARAMETERS.iter().find(|(name, _)| *name == key).map_or("", |(_, label)| label)
    }

    fn value_of(&self, key: &str) -> Option<Value> {
        match key {
            "transport" => self.transport.map(|kind| Value::word(kind.name())),
            SCHEME => self.scheme.map(|kind| Value::word(kind.name())),
            HOST_RECOVERY => self.host_recovery.map(|recovery| Value::word(recovery.name())),
            CORRUPTING_LINKS => self.corrupting_links.map(|links| Value::number(links, f64::from(links))),
            "incast" => self.incast.map(|senders| Value::number(senders, f64::from(senders))),
            "loss" => self.loss.map(|loss| Value::number(loss, loss.0)),
            DUMMY_COPIES => self.dummy_copies.map(|copies| Value::number(copies, f64::from(copies))),
            "size" => self.size.as_ref().map(|size| match size.only() {
                Some(bytes) => Value::number(size.name(), bytes as f64),
                None => Value::word(size.name()),
            }),
            "speed" => self.speed.map(|speed| Value::number(speed, speed.0 as f64)),
            "topology" => self.topology.as_ref().map(Value::word),
            "load" => self.load.map(|load| Value::number(format!("{} %", load.percent()), load.0)),
            "duration" => self.duration.map(|span| Value::number(span, span.0.as_secs_f64())),
            "trials" => self.trials.map(|trials| Value::number(trials, trials.0 as f64)),
            _ => None,
        }
    }

    fn needs_no_heading(key: &str) -> bool {
        matches!(key, "transport" | "size" | "speed" | "topology" | SCHEME | HOST_RECOVERY)
    }

    fn word(key: &str, value: String) -> String {
        match (key, value.as_str()) {
            (SCHEME, "none") => "unprotected".to_owned(),
            ("loss", "0") => "no loss".to_owned(),
            (DUMMY_COPIES, "0") => "no dummies".to_owned(),
            (CORRUPTING_LINKS, "1") => "1 corrupting link".to_owned(),
            (CORRUPTING_LINKS, _) => format!("{value} corrupting links"),
            ("incast", _) => format!("{value} senders"),
            _ if Self::needs_no_heading(key) => value,
            _ => format!("{} {value}", Self::label_of(key)),
        }
    }

    fn only_lengthens(key: &str) -> bool {
        matches!(key, "trials" | "duration")
    }
}
