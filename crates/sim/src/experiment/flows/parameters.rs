//! What experiments with flows vary.

use crate::host::{FlowSizes, RdmaVerb};
use crate::link::config::ProfileName;
use crate::network::Balance;
use crate::run::flows::{
    Detection, HandOffKind, HostRecovery, PlacementKind, RdmaMechanisms, Reroute, SchemeKind, TrafficKind,
    TransportKind,
};
use linkmend_experiment::{Parameters, Value};
use linkmend_quantity::{BitRate, ByteSize, Count, LossRate, Share, Span};
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
    /// Whose parameters their link ends have.
    #[serde(deserialize_with = "named")]
    pub profile: Option<ProfileName>,
    /// Share of frames that they corrupt.
    pub loss: Option<LossRate>,
    /// Whether that is of full packets, and bits are corrupted independently, so that shorter frames lose less.
    pub bit_errors: Option<bool>,
    /// Mean length of the bursts in which frames are lost, in frames.
    pub mean_burst: Option<f64>,
    /// Links that corrupt, of those between switches.
    pub corrupting_links: Option<u32>,
    /// Whether they corrupt in both directions.
    pub both_directions: Option<bool>,
    /// Copies of the dummy that reveals a lost tail; 0 switches tail loss handling off.
    pub dummy_copies: Option<u8>,
    /// Size of each flow, or a published workload.
    #[serde(deserialize_with = "named")]
    pub size: Option<FlowSizes>,
    /// Speed of the default network's links.
    pub speed: Option<BitRate>,
    /// The network, if it is not the testbed's five switches in a row.
    pub topology: Option<String>,
    /// Which hosts send to which, if it is not what the rest implies.
    #[serde(deserialize_with = "named")]
    pub traffic: Option<TrafficKind>,
    /// Share by which flows load the links of the hosts that send, instead of one flow after the other.
    pub load: Option<Share>,
    /// How long flows begin under a load; without load and trials, how long the one flow sends.
    pub duration: Option<Span>,
    /// Hosts that send to one at once, as often as there are trials.
    pub incast: Option<u32>,
    /// Flows of a run; with an incast or a ping-pong, its rounds.
    pub trials: Option<Count>,
    /// Connections of RDMA from each host to each other that its flows share.
    pub queue_pairs: Option<u32>,
    /// What hosts and switches add to RDMA.
    #[serde(deserialize_with = "named")]
    pub rdma_mechanisms: Option<RdmaMechanisms>,
    /// Send dummies after a flow only if the flow before it on the same connection was written longer ago than this.
    pub dummy_gap: Option<Span>,
    /// How flows are transferred by RDMA: `write` or `read`.
    #[serde(deserialize_with = "named")]
    pub rdma_verb: Option<RdmaVerb>,
    /// Exponent of RDMA's transport timer, 4.096 us x 2^t.
    pub timeout_exponent: Option<u8>,
    /// Payload of RDMA's full packets, bytes.
    pub mtu: Option<u16>,
    /// Most packets of RDMA outstanding.
    pub window: Option<u32>,
    /// Whether flows of TCP begin with a handshake.
    pub handshake: Option<bool>,
    /// Minimum retransmission timeout of TCP.
    pub rto_min: Option<Span>,
    /// Median of what a host adds to the time of a frame.
    pub host_latency: Option<Span>,
    /// From one failure of a link to the next.
    pub failure_every: Option<Span>,
    /// Links that fail, of those between switches.
    pub failing_links: Option<u32>,
    /// How long a failed link that has a backup stays down.
    pub down_for: Option<Span>,
    /// From a failure until the switches know.
    #[serde(deserialize_with = "named")]
    pub detection: Option<Detection>,
    /// What gives frames another way.
    #[serde(deserialize_with = "named")]
    pub reroute: Option<Reroute>,
    /// What switches do about frames that a failed link lost or cannot take.
    #[serde(deserialize_with = "named")]
    pub hand_off: Option<HandOffKind>,
    /// Most bytes that a switch keeps for one port with SQR.
    pub sqr_buffer: Option<ByteSize>,
    /// How much longer than detection takes copies are kept with SQR.
    pub sqr_margin: Option<Span>,
    /// Whether all copies of SQR are in the queue of the port itself.
    pub sqr_one_queue: Option<bool>,
    /// Queues in parallel before the middle link.
    pub parallel_queues: Option<u32>,
    /// How frames are distributed over them: `uniform` or `hashed`.
    #[serde(deserialize_with = "named")]
    pub placement: Option<PlacementKind>,
    /// How much longer frames take in the other direction of that link.
    pub reverse_delay: Option<Span>,
    /// How switches choose among equal paths: `static`, `flow-hash` or `spray`.
    #[serde(deserialize_with = "named")]
    pub balance: Option<Balance>,
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
const PARAMETERS: [(&str, &str); 41] = [
    ("transport", "transport"),
    (HOST_RECOVERY, "host recovery"),
    ("size", "flow size"),
    ("topology", "topology"),
    ("speed", "link speed"),
    ("traffic", "traffic"),
    ("load", "load"),
    ("incast", "senders at once"),
    (CORRUPTING_LINKS, "corrupting links"),
    ("loss", "loss rate"),
    ("bit-errors", "bit errors"),
    ("mean-burst", "mean burst"),
    (BOTH_DIRECTIONS, "both directions"),
    (SCHEME, "scheme"),
    (PROFILE, "profile"),
    (DUMMY_COPIES, "dummy copies"),
    ("duration", "duration"),
    ("trials", "trials"),
    ("queue-pairs", "queue pairs"),
    (RDMA_MECHANISMS, "mechanisms"),
    (DUMMY_GAP, "dummy gap"),
    (RDMA_VERB, "verb"),
    ("timeout-exponent", "timeout exponent"),
    ("mtu", "MTU"),
    ("window", "window"),
    ("handshake", "handshake"),
    ("rto-min", "least timeout"),
    ("host-latency", "host latency"),
    (FAILURE_EVERY, "failure every"),
    (FAILING_LINKS, "failing links"),
    ("down-for", "down for"),
    (DETECTION, "detection"),
    (REROUTE, "reroute"),
    (HAND_OFF, "hand-off"),
    (SQR_BUFFER, "SQR buffer"),
    (SQR_MARGIN, "margin"),
    (SQR_ONE_QUEUE, "one queue"),
    ("parallel-queues", "parallel queues"),
    (PLACEMENT, "placement"),
    ("reverse-delay", "reverse delay"),
    (BALANCE, "balance"),
];

pub(super) const SCHEME: &str = "scheme";
const PROFILE: &str = "profile";
pub(super) const DUMMY_COPIES: &str = "dummy-copies";
pub(super) const RDMA_MECHANISMS: &str = "rdma-mechanisms";
const RDMA_VERB: &str = "rdma-verb";
pub(super) const FAILURE_EVERY: &str = "failure-every";
const FAILING_LINKS: &str = "failing-links";
const DETECTION: &str = "detection";
const REROUTE: &str = "reroute";
const HAND_OFF: &str = "hand-off";
const SQR_BUFFER: &str = "sqr-buffer";
const SQR_MARGIN: &str = "sqr-margin";
const PLACEMENT: &str = "placement";
const BALANCE: &str = "balance";
const SQR_ONE_QUEUE: &str = "sqr-one-queue";
const DUMMY_GAP: &str = "dummy-gap";
const BOTH_DIRECTIONS: &str = "both-directions";
const HOST_RECOVERY: &str = "host-recovery";
const CORRUPTING_LINKS: &str = "corrupting-links";

/// What points may differ in and still have the same flows and the same seeds.
pub(super) const PAIRED: [&str; 20] = [
    SCHEME,
    PROFILE,
    HOST_RECOVERY,
    DUMMY_COPIES,
    CORRUPTING_LINKS,
    BOTH_DIRECTIONS,
    RDMA_MECHANISMS,
    DUMMY_GAP,
    RDMA_VERB,
    FAILURE_EVERY,
    FAILING_LINKS,
    DETECTION,
    REROUTE,
    HAND_OFF,
    SQR_BUFFER,
    SQR_MARGIN,
    SQR_ONE_QUEUE,
    PLACEMENT,
    BALANCE,
    "loss",
];

fn span(span: Span) -> Value {
    Value::number(span, span.0.as_secs_f64())
}

fn yes_or_no(value: bool) -> Value {
    Value::word(if value { "yes" } else { "no" })
}

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
            PROFILE => self.profile.map(|profile| Value::word(profile.name())),
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
            "duration" => self.duration.map(span),
            "trials" => self.trials.map(|trials| Value::number(trials, trials.0 as f64)),
            "traffic" => self.traffic.map(|kind| Value::word(kind.name())),
            "bit-errors" => self.bit_errors.map(yes_or_no),
            "mean-burst" => self.mean_burst.map(|frames| Value::number(frames, frames)),
            BOTH_DIRECTIONS => self.both_directions.map(yes_or_no),
            "queue-pairs" => self.queue_pairs.map(|count| Value::number(count, f64::from(count))),
            RDMA_MECHANISMS => self.rdma_mechanisms.map(Value::word),
            DUMMY_GAP => self.dummy_gap.map(span),
            RDMA_VERB => self.rdma_verb.map(|verb| Value::word(verb.name())),
            "timeout-exponent" => self.timeout_exponent.map(|t| Value::number(t, f64::from(t))),
            "mtu" => self.mtu.map(|mtu| Value::number(mtu, f64::from(mtu))),
            "handshake" => self.handshake.map(yes_or_no),
            "rto-min" => self.rto_min.map(span),
            "host-latency" => self.host_latency.map(span),
            FAILURE_EVERY => self.failure_every.map(span),
            FAILING_LINKS => self.failing_links.map(|links| Value::number(links, f64::from(links))),
            "down-for" => self.down_for.map(span),
            DETECTION => self.detection.map(|of| Value::number(of, of.time().as_secs())),
            REROUTE => self.reroute.map(|of| Value::number(of, of.time().as_secs())),
            HAND_OFF => self.hand_off.map(|kind| Value::word(kind.name())),
            SQR_MARGIN => self.sqr_margin.map(span),
            "parallel-queues" => self.parallel_queues.map(|queues| Value::number(queues, f64::from(queues))),
            PLACEMENT => self.placement.map(|kind| Value::word(kind.name())),
            "reverse-delay" => self.reverse_delay.map(span),
            BALANCE => self.balance.map(|balance| Value::word(balance.name())),
            SQR_ONE_QUEUE => self.sqr_one_queue.map(yes_or_no),
            SQR_BUFFER => self.sqr_buffer.map(|size| Value::number(size, size.0 as f64)),
            "window" => self.window.map(|packets| Value::number(packets, f64::from(packets))),
            _ => None,
        }
    }

    fn needs_no_heading(key: &str) -> bool {
        matches!(
            key,
            "transport"
                | "size"
                | "speed"
                | "topology"
                | "traffic"
                | SCHEME
                | PROFILE
                | HOST_RECOVERY
                | RDMA_MECHANISMS
                | RDMA_VERB
                | REROUTE
                | BALANCE
        )
    }

    fn word(key: &str, value: String) -> String {
        match (key, value.as_str()) {
            (SCHEME, "none") => "unprotected".to_owned(),
            ("loss", "0") => "no loss".to_owned(),
            (DUMMY_COPIES, "0") => "no dummies".to_owned(),
            (CORRUPTING_LINKS, "1") => "1 corrupting link".to_owned(),
            (CORRUPTING_LINKS, _) => format!("{value} corrupting links"),
            ("incast", _) => format!("{value} senders"),
            (RDMA_MECHANISMS, "none") => "no mechanisms".to_owned(),
            ("bit-errors", "yes") => "bit errors".to_owned(),
            ("bit-errors", _) => "frame errors".to_owned(),
            (BOTH_DIRECTIONS, "yes") => "both directions".to_owned(),
            (BOTH_DIRECTIONS, _) => "one direction".to_owned(),
            (RDMA_VERB, _) => value.to_uppercase(),
            (HAND_OFF, "none") => "no hand-off".to_owned(),
            (HAND_OFF, "sqr") => "SQR".to_owned(),
            (HAND_OFF, _) => "acknowledged".to_owned(),
            (FAILING_LINKS, "1") => "1 failing link".to_owned(),
            (FAILING_LINKS, _) => format!("{value} failing links"),
            ("queue-pairs", "1") => "1 queue pair".to_owned(),
            ("queue-pairs", _) => format!("{value} queue pairs"),
            _ if Self::needs_no_heading(key) => value,
            _ => format!("{} {value}", Self::label_of(key)),
        }
    }

    fn only_lengthens(key: &str) -> bool {
        matches!(key, "trials" | "duration")
    }
}
