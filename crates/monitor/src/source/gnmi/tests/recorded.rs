//! Messages of real devices, which others have recorded (streams/README.md).

use super::super::message::{Notification, Path, PathElem, TypedValue, Update, Value};
use super::super::subscription::Group;
use super::super::target::Target;
use crate::source::complaints::Complaints;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Deserialize)]
struct Message {
    update: Body,
}

#[derive(Deserialize)]
struct Body {
    timestamp: serde_json::Value,
    prefix: Place,
    update: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Place {
    origin: String,
    elem: Vec<Elem>,
    target: String,
}

#[derive(Deserialize)]
struct Elem {
    name: String,
    #[serde(default)]
    key: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Entry {
    path: Place,
    val: BTreeMap<String, serde_json::Value>,
}

/// A number of 64 bits, which protobuf writes as a text in JSON, and some programs as a number.
fn whole(value: &serde_json::Value) -> i128 {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned).parse().expect("a whole number")
}

fn path(place: Place) -> Path {
    let elem = place.elem.into_iter().map(|Elem { name, key }| PathElem { name, key });
    Path { origin: place.origin, elem: elem.collect(), target: place.target }
}

fn notifications(json: &str) -> Vec<Notification> {
    let messages: Vec<Message> = serde_json::from_str(json).expect("a recording");
    let update = |Entry { path: place, val }: Entry| {
        let (kind, value) = val.into_iter().next().expect("a value");
        let value = match kind.as_str() {
            "uintVal" => Value::Uint(whole(&value).try_into().expect("a count")),
            "stringVal" => Value::Text(value.as_str().expect("a text").to_owned()),
            other => panic!("{other}"),
        };
        Update { path: Some(path(place)), val: Some(TypedValue { value: Some(value) }) }
    };
    let notification = |Message { update: body }: Message| Notification {
        timestamp: whole(&body.timestamp).try_into().expect("a time"),
        prefix: Some(path(body.prefix)),
        update: body.update.into_iter().map(update).collect(),
        ..Notification::default()
    };
    messages.into_iter().map(notification).collect()
}

/// What is read of a recording, and what is said about it.
fn read(json: &str) -> (Vec<(String, crate::counters::Reading)>, Vec<String>) {
    let mut target = Target::new("device", &[], "");
    target.handle_connected();
    for notification in notifications(json) {
        target.handle_notification(Duration::from_secs(1), Group::Counters, &notification);
    }
    let mut complaints = Complaints::default();
    let readings = target.poll(Duration::from_secs(2), &mut complaints).unwrap_or_default();
    (readings, complaints.take())
}

#[test]
fn counters_of_an_eos_switch_are_read() {
    let (readings, said) = read(include_str!("streams/issue_14530.json"));
    assert_eq!(said, Vec::<String>::new());
    assert_eq!(readings.len(), 1);
    let (name, reading) = &readings[0];
    assert_eq!((name.as_str(), reading.good_frames, reading.corrupted_frames), ("Ethernet35", 0, Some(0)));
}

/// It names the port in a leaf beside the counters only, so that two of them could not be told apart.
#[test]
fn counters_without_a_port_are_refused_loudly() {
    let (readings, said) = read(include_str!("streams/issue_16476.json"));
    assert_eq!(readings, []);
    assert_eq!(said, ["device: sends counters without the names of their ports, which are ignored"]);
}
