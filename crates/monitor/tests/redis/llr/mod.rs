//! Link Layer Retry (LLR) of a SONiC switch: what its counters say, and how it is switched.

mod actuator;
mod both_ends;
mod source;

/// What such a switch has in its Redis.
const TABLES: &str = include_str!("../../data/sonic-llr.redis");
/// The counters of Ethernet0.
const OBJECT: &str = "COUNTERS:oid:0x1000000000002";
