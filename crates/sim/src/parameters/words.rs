//! Parameters and their values in words, for titles, legends and tables that people read.

use super::table::Parameter;

/// Names in the words of the papers. A value that is not here is understood as files write it.
const NAMES: [(&str, &str, &str); 62] = [
    ("transport", "dctcp", "DCTCP"),
    ("transport", "cubic", "CUBIC"),
    ("transport", "reno", "Reno"),
    ("transport", "bbr", "BBR"),
    ("transport", "rdma", "RDMA"),
    ("transport", "rdma-dcqcn", "RDMA with DCQCN"),
    ("host-recovery", "rack", "RACK"),
    ("host-recovery", "rack-static", "RACK, fixed window"),
    ("host-recovery", "duplicate-acks", "3 duplicate ACKs"),
    ("host-recovery", "adaptive-duplicate-acks", "adaptive duplicate ACKs"),
    ("host-recovery", "go-back-n", "go-back-N"),
    ("host-recovery", "selective-repeat", "selective repeat"),
    ("host-kernel", "linux-5.4", "Linux 5.4"),
    ("host-kernel", "linux-4.13", "Linux 4.13"),
    ("size", "web-search", "web search"),
    ("size", "data-mining", "data mining"),
    ("size", "facebook-hadoop", "Facebook Hadoop"),
    ("size", "facebook-key-value", "Facebook key-value"),
    ("size", "alibaba-storage", "Alibaba storage"),
    ("size", "google-all-rpc", "Google all RPC"),
    ("size", "google-search-rpc", "Google search RPC"),
    ("size", "mice-and-elephants", "mice and elephants"),
    ("traffic", "full-mesh", "between all hosts"),
    ("traffic", "point-to-point", "point to point"),
    ("collective", "all-reduce-ring", "all-reduce by ring"),
    ("collective", "all-reduce-tree", "all-reduce by tree"),
    ("collective", "all-reduce-recursive-doubling", "all-reduce by recursive doubling"),
    ("collective", "all-reduce-halving-doubling", "all-reduce by halving and doubling"),
    ("collective", "reduce-scatter", "reduce-scatter"),
    ("collective", "all-gather", "all-gather"),
    ("collective", "all-to-all", "all-to-all"),
    ("rank-order", "linear", "ranks in the order of hosts"),
    ("rank-order", "across", "consecutive ranks at different switches"),
    ("rank-order", "random", "ranks at random"),
    ("scheme", "none", "unprotected"),
    ("scheme", "wharf", "Wharf"),
    ("scheme", "llr", "LLR"),
    ("scheme", "selective", "selective retry"),
    ("scheme", "parity", "repair in time"),
    ("fec", "rs-528", "RS(528,514)"),
    ("fec", "rs-544", "RS(544,514)"),
    ("fec", "rs-272", "RS(272,257)"),
    ("rdma-mechanisms", "none", "no mechanisms"),
    ("rdma-mechanisms", "nak", "NAK"),
    ("rdma-mechanisms", "twice", "Twice"),
    ("rdma-mechanisms", "dummy", "Dummy"),
    ("rdma-mechanisms", "repeat", "Repeat"),
    ("rdma-mechanisms", "all", "All"),
    ("rdma-mechanisms", "all-optimized", "All Optimized"),
    ("rdma-mechanisms", "testbed", "the testbed's mechanisms"),
    ("rdma-verb", "write", "WRITE"),
    ("rdma-verb", "read", "READ"),
    ("detection", "f10", "F10"),
    ("reroute", "sharebackup", "ShareBackup"),
    ("reroute", "local", "local rerouting"),
    ("reroute", "portland", "PortLand"),
    ("hand-off", "none", "no hand-off"),
    ("hand-off", "sqr", "SQR"),
    ("placement", "uniform", "random queues"),
    ("placement", "hashed", "queues by flow"),
    ("balance", "flow-hash", "paths by flow"),
    ("balance", "spray", "packet spraying"),
];

/// Parts of the RDMA mechanisms that are given in numbers, in their order.
const MECHANISMS: [(&str, &str); 4] = [
    ("dummy", "dummies"),
    ("NAK replica", "NAK replicas"),
    ("packet replica", "packet replicas"),
    ("tail replica", "tail replicas"),
];

/// Whether a value in words is understood without its heading.
pub(super) fn needs_no_heading(key: &str) -> bool {
    matches!(
        key,
        "transport"
            | "host-recovery"
            | "host-kernel"
            | "size"
            | "traffic"
            | "topology"
            | "speed"
            | "scheme"
            | "profile"
            | "transceiver"
            | "rdma-mechanisms"
            | "rdma-verb"
            | "hand-off"
            | "placement"
            | "collective"
            | "rank-order"
            | "balance"
            | "buffering"
            | "variant"
    )
}

/// A value as people write it, with its unit.
pub(super) fn value(key: &str, text: &str) -> String {
    let name = |text: &str| {
        NAMES.iter().find(|(of, name, _)| *of == key && *name == text).map(|(.., words)| (*words).to_owned())
    };
    if let Some(words) = name(text) {
        return words;
    }
    match key {
        "topology" => topology(text),
        "rdma-mechanisms" => mechanisms(text).unwrap_or_else(|| text.to_owned()),
        "size" => match text.split_once(':') {
            Some((workload, limit)) => {
                format!("{} up to {}", name(workload).unwrap_or_else(|| workload.to_owned()), quantity(limit))
            }
            None => quantity(text),
        },
        "speed" | "frames" | "trials" | "steps" => text.to_owned(),
        _ => quantity(text),
    }
}

/// A value in words that need no heading.
pub(super) fn phrase(key: &str, text: &str) -> String {
    let words = value(key, text);
    let label = Parameter::named(key).map_or("", |parameter| parameter.label);
    let counted = |one: &str, many: &str| match text {
        "0" => format!("no {many}"),
        "1" => format!("1 {one}"),
        _ => format!("{text} {many}"),
    };
    let is_flag = Parameter::named(key).is_some_and(|parameter| parameter.is_flag);
    match (key, text) {
        ("loss", "0") => "no loss".to_owned(),
        ("no-backpressure", "no") => "backpressure".to_owned(),
        ("bit-errors", "no") => "frame errors".to_owned(),
        ("both-directions", "no") => "one direction".to_owned(),
        _ if is_flag && text == "yes" => label.to_owned(),
        _ if is_flag => format!("no {label}"),
        ("dummy-copies", _) => counted("dummy", "dummies"),
        ("rounds", _) => counted("round", "rounds"),
        ("copies", _) => counted("copy", "copies"),
        ("mean-burst", "1") => "single losses".to_owned(),
        ("mean-burst", _) => format!("bursts of {text} frames"),
        ("incast", _) => counted("sender", "senders"),
        ("parallel-queues", _) => counted("parallel queue", "parallel queues"),
        ("corrupting-links", _) => counted("corrupting link", "corrupting links"),
        ("failing-links", _) => counted("failing link", "failing links"),
        ("ranks", _) => counted("rank", "ranks"),
        ("groups", _) => counted("group", "groups"),
        ("channels", _) => counted("channel", "channels"),
        ("queue-pairs", _) => counted("queue pair", "queue pairs"),
        ("rdma-mtu", _) => format!("MTU {text} B"),
        ("rdma-window", _) => format!("window of {text} packets"),
        ("reroute", _) if text.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("rerouted after {words}")
        }
        ("reroute", _) => words,
        _ if needs_no_heading(key) => words,
        _ => format!("{label} {words}"),
    }
}

/// `100us` as `100 µs`, `24387B` as `24,387 B`. What is not a number with such a unit stays as it is.
fn quantity(text: &str) -> String {
    let end = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit {
        "us" => "µs",
        "ns" if number == "0" => "s",
        "ns" | "ms" | "s" | "min" | "h" | "d" | "B" | "kB" | "MB" | "GB" | "KiB" | "MiB" | "m" | "km"
        | "dB" => unit,
        _ => return text.to_owned(),
    };
    if number.is_empty() { text.to_owned() } else { format!("{} {unit}", grouped(number)) }
}

/// Thousands apart in whole numbers of five digits and more.
fn grouped(number: &str) -> String {
    if number.contains('.') || number.len() < 5 {
        return number.to_owned();
    }
    let mut text = String::new();
    for (index, digit) in number.chars().enumerate() {
        if index > 0 && (number.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `line:switches=2,hosts=16,speed=1G,host-speed=1G` as `line, 2 switches, 16 hosts, 1G`; a file by its name.
fn topology(text: &str) -> String {
    let Some((kind, parts)) = text.split_once(':') else { return text.to_owned() };
    let part = |part: &str| match part.split_once('=') {
        Some(("host-speed", _)) => None,
        Some(("speed", speed)) => Some(speed.to_owned()),
        Some(("k", ports)) => Some(format!("k = {ports}")),
        Some((what, "1")) => Some(format!("1 {}", what.trim_end_matches('s'))),
        Some((what, count)) => Some(format!("{count} {what}")),
        None => Some(part.to_owned()),
    };
    let parts = parts.split(',').filter_map(part);
    [kind.replace('-', " ")].into_iter().chain(parts).collect::<Vec<_>>().join(", ")
}

/// `2/1/0/0` as `2 dummies + 1 NAK replica`.
fn mechanisms(text: &str) -> Option<String> {
    let counts: Vec<u32> = text.split('/').map(|count| count.parse().ok()).collect::<Option<_>>()?;
    let named = counts.iter().zip(MECHANISMS).filter(|(count, _)| **count > 0);
    let named = named.map(|(count, (one, many))| format!("{count} {}", if *count == 1 { one } else { many }));
    let words: Vec<String> = named.collect();
    Some(if words.is_empty() { "no mechanisms".to_owned() } else { words.join(" + ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::RunParameters;

    #[test]
    fn values_are_shown_in_words_with_units() {
        for (key, text, shown) in [
            ("transport", "dctcp", "DCTCP"),
            ("size", "24387B", "24,387 B"),
            ("size", "web-search:100kB", "web search up to 100 kB"),
            ("reroute", "170us", "rerouted after 170 µs"),
            ("reroute", "sharebackup", "ShareBackup"),
            ("mean-burst", "4", "bursts of 4 frames"),
            ("sqr-margin", "0ns", "margin 0 s"),
            ("loss", "1e-3", "loss rate 1e-3"),
            ("no-backpressure", "no", "backpressure"),
            ("second-link", "yes", "second link"),
            ("dummy-copies", "1", "1 dummy"),
            ("rdma-mechanisms", "2/1/0/0", "2 dummies + 1 NAK replica"),
            ("topology", "line:switches=2,hosts=1,speed=1G,host-speed=1G", "line, 2 switches, 1 host, 1G"),
            ("topology", "my/network.yaml", "my/network.yaml"),
            ("speed", "100G", "100G"),
        ] {
            assert_eq!(phrase(key, text), shown, "{key}");
        }
    }

    #[test]
    fn names_are_those_of_values() {
        for (key, text, _) in NAMES {
            let mut parameters = RunParameters::default();
            parameters.set(key, text).unwrap_or_else(|error| panic!("{key}: {error}"));
            assert_eq!(parameters.text(key), text, "{key}");
        }
    }
}
