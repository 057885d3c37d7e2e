//! What the seeds of an experiment's runs are derived from.

use super::table::RunParameters;
use linkmend_experiment::Parameters;

/// Of line-rate traffic: all parameters by the names that they had when seeds were first derived from them, in this order. A
/// name or an order that changed would change every number of every experiment. Newer parameters follow.
const LINE_RATE: [(&str, &str); 32] = [
    ("variant", "variant"),
    ("speed", "speed"),
    ("mode", "scheme"),
    ("profile", "profile"),
    ("buffering", "buffering"),
    ("loss", "loss"),
    ("burst", "mean-burst"),
    ("bit-error-rate", "bit-error-rate"),
    ("transceiver", "transceiver"),
    ("attenuation", "attenuation"),
    ("losses", "losses"),
    ("reverse-loss", "reverse-loss"),
    ("copy-loss", "copy-loss"),
    ("frame-size", "frame-size"),
    ("distance", "distance"),
    ("copies", "copies"),
    ("target", "target"),
    ("recovery-timeout", "recovery-timeout"),
    ("pause-threshold", "pause-threshold"),
    ("resume-threshold", "resume-threshold"),
    ("dummy-copies", "dummy-copies"),
    ("rounds", "rounds"),
    ("window", "window"),
    ("frames", "frames"),
    ("seed", "seed"),
    ("egress-latency", "egress-latency"),
    ("ingress-latency", "ingress-latency"),
    ("loop-latency", "loop-latency"),
    ("timer-interval", "timer-interval"),
    ("recirculation-speed", "recirculation-speed"),
    ("recirculation-buffer", "recirculation-buffer"),
    ("pipe-capacity", "pipe-capacity"),
];
/// The last of these: on or off.
const LINE_RATE_FLAGS: [&str; 2] = ["no-backpressure", "full"];

/// The same of flows.
const FLOWS: [(&str, &str); 21] = [
    ("transport", "transport"),
    ("size", "size"),
    ("topology", "topology"),
    ("speed", "speed"),
    ("traffic", "traffic"),
    ("load", "load"),
    ("incast", "incast"),
    ("bit-errors", "bit-errors"),
    ("mean-burst", "mean-burst"),
    ("duration", "duration"),
    ("trials", "trials"),
    ("queue-pairs", "queue-pairs"),
    ("timeout-exponent", "timeout-exponent"),
    ("mtu", "rdma-mtu"),
    ("window", "rdma-window"),
    ("handshake", "handshake"),
    ("rto-min", "rto-min"),
    ("host-latency", "host-latency"),
    ("down-for", "down-for"),
    ("parallel-queues", "parallel-queues"),
    ("reverse-delay", "reverse-delay"),
];

/// What points of experiments with flows may differ in and still have the same flows and the same seeds: what recovers losses, or
/// causes them.
pub(crate) const PAIRED: [&str; 44] = [
    "scheme",
    "llr",
    "deadline",
    "parity-code",
    "parity-overhead",
    "profile",
    "host-recovery",
    "dummy-copies",
    "corrupting-links",
    "drained-links",
    "spread-links",
    "both-directions",
    "rdma-mechanisms",
    "dummy-gap",
    "rdma-verb",
    "failure-every",
    "failing-links",
    "failures",
    "first-failure",
    "detection",
    "reroute",
    "hand-off",
    "sqr-buffer",
    "sqr-margin",
    "sqr-one-queue",
    "placement",
    "balance",
    "loss",
    "bit-error-rate",
    "fec",
    "copies",
    "target",
    "recovery-timeout",
    "pause-threshold",
    "resume-threshold",
    "no-backpressure",
    "rounds",
    "window",
    "buffering",
    "second-link",
    "cut",
    "noticed",
    "silence",
    "return-after",
];

impl RunParameters {
    /// What tells the seeds of points apart: parameters and their values.
    pub(crate) fn seed_text(&self) -> String {
        let named = |(name, key): &(&str, &str)| {
            let text = self.value(key)?.text;
            let text = if (*name, text.as_str()) == ("mode", "none") { "off".to_owned() } else { text };
            Some(format!("{name}={text}"))
        };
        let known: &[(&str, &str)] = if self.has_hosts() { &FLOWS } else { &LINE_RATE };
        let flags: &[&str] = if self.has_hosts() { &[] } else { &LINE_RATE_FLAGS };
        let flag = |key: &&str| format!("{key}={}", if self.text(key) == "yes" { "on" } else { "off" });
        let is_new = |key: &&str| {
            !PAIRED.contains(key) && !flags.contains(key) && known.iter().all(|(_, known)| known != key)
        };
        let new = Self::keys().filter(is_new).map(|key| (key, key));
        let texts: Vec<String> = known
            .iter()
            .filter_map(named)
            .chain(flags.iter().map(flag))
            .chain(new.filter_map(|pair| named(&pair)))
            .collect();
        texts.join(" ")
    }
}
