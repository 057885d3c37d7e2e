//! Devices that send what they should, and devices that do not.

mod recorded;
mod server;
mod sessions;
mod targets;

use super::message::{Notification, Path, PathElem, TypedValue, Update, Value};

/// A path in text: `interfaces/interface[eth0]/state`.
fn path(text: &str) -> Path {
    let elem = |text: &str| match text.split_once('[') {
        Some((name, key)) => {
            let of = if name == "channel" { "id" } else { "name" };
            let key = (of.to_owned(), key.trim_end_matches(']').to_owned());
            PathElem { name: name.to_owned(), key: [key].into() }
        }
        None => PathElem { name: text.to_owned(), ..PathElem::default() },
    };
    Path { elem: text.split('/').filter(|text| !text.is_empty()).map(elem).collect(), ..Path::default() }
}

fn update(at: &str, value: Value) -> Update {
    Update { path: Some(path(at)), val: Some(TypedValue { value: Some(value) }) }
}

/// A notification of numbers beneath a prefix.
fn numbers(timestamp: i64, prefix: &str, values: &[(&str, u64)]) -> Notification {
    let update = values.iter().map(|&(at, value)| update(at, Value::Uint(value))).collect();
    Notification { timestamp, prefix: Some(path(prefix)), update, ..Notification::default() }
}

/// What a port has counted, as most devices say it.
fn counters(timestamp: i64, port: &str, good: u64, corrupted: u64) -> Notification {
    let values = [
        ("in-unicast-pkts", good),
        ("in-multicast-pkts", 0),
        ("in-broadcast-pkts", 0),
        ("in-fcs-errors", corrupted),
    ];
    numbers(timestamp, &format!("interfaces/interface[{port}]/state/counters"), &values)
}
