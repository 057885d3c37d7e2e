//! The messages of gNMI that are sent and read here, with only the fields that are used.
//!
//! They follow `gnmi.proto` of the OpenConfig project (Apache-2.0, github.com/openconfig/gnmi/blob/master/proto/gnmi/gnmi.proto),
//! version 0.10 of the service, and are written by hand so that a build needs no compiler for protocol buffers. What is
//! left out is skipped when it arrives.

use prost::{Enumeration, Message, Oneof};
use std::collections::BTreeMap;

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(super) enum Encoding {
    Json = 0,
    Proto = 2,
    JsonIetf = 4,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CapabilityRequest {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CapabilityResponse {
    #[prost(enumeration = "Encoding", repeated, tag = "2")]
    pub supported_encodings: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SubscribeRequest {
    #[prost(message, optional, tag = "1")]
    pub subscribe: Option<SubscriptionList>,
}

/// Its mode stays at `STREAM`, which is 0.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SubscriptionList {
    #[prost(message, optional, tag = "1")]
    pub prefix: Option<Path>,
    #[prost(message, repeated, tag = "2")]
    pub subscription: Vec<Subscription>,
    #[prost(enumeration = "Encoding", tag = "8")]
    pub encoding: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Subscription {
    #[prost(message, optional, tag = "1")]
    pub path: Option<Path>,
    #[prost(enumeration = "SubscriptionMode", tag = "2")]
    pub mode: i32,
    /// How far samples are apart, in nanoseconds.
    #[prost(uint64, tag = "3")]
    pub sample_interval: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Enumeration)]
#[repr(i32)]
pub(super) enum SubscriptionMode {
    TargetDefined = 0,
    OnChange = 1,
    Sample = 2,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SubscribeResponse {
    #[prost(oneof = "Response", tags = "1, 3")]
    pub response: Option<Response>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Response {
    #[prost(message, tag = "1")]
    Update(Notification),
    /// Everything that is subscribed to was sent once.
    #[prost(bool, tag = "3")]
    SyncResponse(bool),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Notification {
    /// In nanoseconds since 1970, by the clock of the device.
    #[prost(int64, tag = "1")]
    pub timestamp: i64,
    #[prost(message, optional, tag = "2")]
    pub prefix: Option<Path>,
    #[prost(message, repeated, tag = "4")]
    pub update: Vec<Update>,
    #[prost(message, repeated, tag = "5")]
    pub delete: Vec<Path>,
    /// Whether what is beneath the prefix and not among the updates is gone.
    #[prost(bool, tag = "6")]
    pub atomic: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Update {
    #[prost(message, optional, tag = "1")]
    pub path: Option<Path>,
    #[prost(message, optional, tag = "3")]
    pub val: Option<TypedValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Path {
    #[prost(string, tag = "2")]
    pub origin: String,
    #[prost(message, repeated, tag = "3")]
    pub elem: Vec<PathElem>,
    #[prost(string, tag = "4")]
    pub target: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PathElem {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(btree_map = "string, string", tag = "2")]
    pub key: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TypedValue {
    #[prost(oneof = "Value", tags = "1, 2, 3, 4, 6, 7, 10, 11, 12, 14")]
    pub value: Option<Value>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "2")]
    Int(i64),
    #[prost(uint64, tag = "3")]
    Uint(u64),
    #[prost(bool, tag = "4")]
    Bool(bool),
    #[prost(float, tag = "6")]
    Float(f32),
    #[prost(message, tag = "7")]
    Decimal(Decimal64),
    #[prost(bytes = "vec", tag = "10")]
    Json(Vec<u8>),
    #[prost(bytes = "vec", tag = "11")]
    JsonIetf(Vec<u8>),
    #[prost(string, tag = "12")]
    Ascii(String),
    #[prost(double, tag = "14")]
    Double(f64),
}

/// `digits / 10^precision`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Decimal64 {
    #[prost(int64, tag = "1")]
    pub digits: i64,
    #[prost(uint32, tag = "2")]
    pub precision: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A notification as the reference implementation in Go (github.com/openconfig/gnmi v0.14.1) writes it:
    /// `interfaces/interface[name=eth0]/state/counters/in-pkts = 7` at 1 s.
    #[test]
    fn bytes_are_those_of_the_reference_implementation() {
        let bytes = include_bytes!("tests/reference.bin");
        let elem = |name: &str, key: &[(&str, &str)]| PathElem {
            name: name.to_owned(),
            key: key.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
        };
        let update = Update {
            path: Some(Path { elem: vec![elem("counters", &[]), elem("in-pkts", &[])], ..Path::default() }),
            val: Some(TypedValue { value: Some(Value::Uint(7)) }),
        };
        let prefix = Path {
            origin: "openconfig".to_owned(),
            elem: vec![elem("interfaces", &[]), elem("interface", &[("name", "eth0")]), elem("state", &[])],
            target: "leaf1".to_owned(),
        };
        let notification = Notification {
            timestamp: 1_000_000_000,
            prefix: Some(prefix),
            update: vec![update],
            delete: vec![Path { elem: vec![elem("interfaces", &[])], ..Path::default() }],
            atomic: true,
        };
        let response = SubscribeResponse { response: Some(Response::Update(notification)) };
        assert_eq!(SubscribeResponse::decode(&bytes[..]), Ok(response.clone()));
        assert_eq!(response.encode_to_vec(), bytes);
    }
}
